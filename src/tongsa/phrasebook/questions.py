"""Patterns that ask with a question word: who, what, where, when, why, how, which, whose, how many."""

from typing import NamedTuple

from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    Setting,
    asks,
    doing,
    progressing,
    said,
    wanting,
)
from tongsa.phrasebook.conjugation import Stem, negative, progressive, question
from tongsa.phrasebook.english import Tense, finite, gerund, head_and_rest, owned, spaced
from tongsa.phrasebook.fillings import (
    ACTIVE,
    ANY,
    ASKED,
    ONGOING,
    POLITE,
    STYLES,
    TOLD,
    UNNUMBERED,
    WILLED,
    WISHED,
    free,
    of,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import BUILDINGS, PLACES, Noun, Place, nouns
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, Act, Verb

QUESTIONS = Chapter()
pattern = QUESTIONS.pattern


class Open(NamedTuple):
    """A verb whose object is asked for."""

    verb: Verb

    @property
    def words(self) -> tuple[str, ...]:
        return self.verb.words

    @property
    def predicate(self) -> Predicate:
        head, rest = head_and_rest(self.verb.english)
        before, _, stem = self.verb.korean.rpartition(" ")
        person = self.verb.naming in ("person", "name")
        return Predicate(head, rest, spaced(marked("누구" if person else "무엇", self.verb.mark), before), Stem(stem))


def opened(person: bool, flags: str) -> Slot[Open]:
    """Verbs that ask for a person or for a thing, one for each English verb."""
    namings = ("person", "name") if person else ("some", "the", "any", "own")
    apart = ("earn", "save", "spend", "play", "wear", "sit on", "lie on", "feed", "catch", "see")
    verbs = {
        verb.english: Open(verb)
        for verb in reversed(ACTS)
        if verb.naming in namings and verb.english not in apart and free(verb, *flags)
    }
    things = {"play with", "wait for", "hug"} if not person else set()
    return Slot([[open_] for english, open_ in verbs.items() if english not in things])


@pattern("what", opened(False, "e"), ASKED, fixed="what")
def what(open_: Open, subject: Subject) -> Pair:
    return asks(subject, open_.predicate, PRESENT, wh="what")


@pattern("what past", opened(False, ""), ASKED, fixed="what", weight=1.5)
def what_past(open_: Open, subject: Subject) -> Pair:
    return asks(subject, open_.predicate, PAST, wh="what")


@pattern("what progressive", opened(False, "spe"), ASKED, fixed="what")
def what_progressive(open_: Open, subject: Subject) -> Pair:
    head, rest, before, stem = open_.predicate
    return asks(subject, Predicate("be", spaced(gerund(head), rest), before, progressive(stem)), PRESENT, wh="what")


@pattern("whom", opened(True, "e"), ASKED, fixed="who", weight=0.6)
def whom(open_: Open, subject: Subject) -> Pair:
    return asks(subject, open_.predicate, PRESENT, wh="who")


@pattern("whom past", opened(True, "e"), ASKED, fixed="who", weight=0.6)
def whom_past(open_: Open, subject: Subject) -> Pair:
    return asks(subject, open_.predicate, PAST, wh="who")


def who_does(act: Act, predicate: Predicate, tense: Tense, style: Word) -> Pair:
    polite = style is POLITE
    english = spaced("who", finite(predicate.head, "third", tense), owned(predicate.rest, "their"))
    return said(polite, english + "?", spaced("누가", act.before, question(predicate.stem, tense, polite)))


@pattern("who", TOLD, STYLES, fixed="who")
def who(act: Act, style: Word) -> Pair:
    return who_does(act, doing(act), PRESENT, style)


@pattern("who past", ANY, STYLES, fixed="who")
def who_past(act: Act, style: Word) -> Pair:
    return who_does(act, doing(act), PAST, style)


@pattern("who future", WILLED, STYLES, fixed="who")
def who_future(act: Act, style: Word) -> Pair:
    return who_does(act, doing(act), FUTURE, style)


@pattern("who progressive", ONGOING, STYLES, fixed="who")
def who_progressive(act: Act, style: Word) -> Pair:
    return who_does(act, progressing(act), PRESENT, style)


def generally(act: Act) -> Predicate:
    return doing(act)._replace(rest=act.general)


def definitely(act: Act) -> Predicate:
    return doing(act)._replace(rest=act.definite)


SPOTTED = Slot(ACTS[verb] for verb in ACTS if verb.where and free(verb, "e", "s"))


@pattern("where", SPOTTED, ASKED, fixed="where")
def where(act: Act, subject: Subject) -> Pair:
    return asks(subject, generally(act), PRESENT, Setting(place=("", "어디에서")), "where")


@pattern("where past", SPOTTED, ASKED, fixed="where")
def where_past(act: Act, subject: Subject) -> Pair:
    return asks(subject, definitely(act), PAST, Setting(place=("", "어디에서")), "where")


@pattern("when will", WISHED, ASKED, fixed="when")
def when(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), FUTURE, Setting(time=("", "언제")), "when")


@pattern("when past", ACTIVE, ASKED, fixed="when")
def when_past(act: Act, subject: Subject) -> Pair:
    return asks(subject, definitely(act), PAST, Setting(time=("", "언제")), "when")


ROUTINE = of(
    "get up, sleep, go, come, take a shower, exercise, start, do {own} homework, return, take a walk, "
    "wash {own} face, brush {own} teeth, feed, rest, practice, do the dishes, walk"
)


@pattern("what time", ROUTINE, ASKED, fixed="what time")
def what_time(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), PRESENT, Setting(time=("", "몇 시에")), "what time")


@pattern("why", TOLD, ASKED, fixed="why")
def why(act: Act, subject: Subject) -> Pair:
    return asks(subject, generally(act), PRESENT, Setting(time=("", "왜")), "why")


@pattern("why past", ACTIVE, ASKED, fixed="why")
def why_past(act: Act, subject: Subject) -> Pair:
    return asks(subject, definitely(act), PAST, Setting(time=("", "왜")), "why")


@pattern("why not", ACTIVE, ASKED, fixed="why")
def why_not(act: Act, subject: Subject) -> Pair:
    predicate = definitely(act)
    form = question(negative(act.stem), PAST, subject.polite)
    done = owned(predicate.rest, subject.own)
    english = spaced("why did", subject.english, "not", act.head, done) + "?"
    return said(subject.polite, english, spaced(subject.topic, "왜", predicate.before, form))


@pattern("why wish", WISHED, ASKED, fixed="why want")
def why_wish(act: Act, subject: Subject) -> Pair:
    return asks(subject, wanting(act, subject), PRESENT, Setting(time=("", "왜")), "why")


GOING = Slot([[act for act in of("go") if act.words[1] not in ("bathroom", "kitchen", "garden")]])


@pattern("how to go", GOING, ASKED, fixed="how")
def how_go(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), PRESENT, Setting(manner=("", "어떻게")), "how")


KINDS = Slot(
    [
        [
            Joint((Word(english, korean, (english,)), Open(verb)))
            for verb in {verb.english: verb for verb in reversed(ACTS)}.values()
            if verb.english in verbs.split(", ")
        ]
        for english, korean, verbs in (
            ("fruit", "과일", "eat, like, buy, sell, want"),
            ("food", "음식", "eat, like, hate, cook, order, want"),
            ("drink", "음료수", "drink, like, order, want"),
            ("book", "책", "read, like, buy, borrow, recommend"),
            ("movie", "영화", "watch, like, recommend"),
            ("music", "음악", "listen to, like"),
            ("animal", "동물", "like, raise, draw, hate"),
            ("sport", "운동", "like, learn, hate"),
            ("flower", "꽃", "like, buy, plant, draw"),
            ("song", "노래", "sing, like, practice, recommend"),
            ("color", "색", "like, hate"),
        )
    ]
)


KINDS_PAST = Slot(
    [joint for joint in group if joint.parts[1].verb.english not in ("like", "hate", "want")] for group in KINDS.groups
)


def kind_asked(joint: Joint, subject: Subject, tense: Tense) -> Pair:
    kind, open_ = joint.parts
    head, rest, _, stem = open_.predicate
    predicate = Predicate(head, rest, "무슨 " + marked(kind.korean, "을/를"), stem)
    return asks(subject, predicate, tense, wh=f"what {kind.english}")


@pattern("what kind past", KINDS_PAST, ASKED, fixed="what")
def what_kind_past(joint: Joint, subject: Subject) -> Pair:
    return kind_asked(joint, subject, PAST)


@pattern("what kind", KINDS, ASKED, fixed="what", weight=1.5)
def what_kind(joint: Joint, subject: Subject) -> Pair:
    return kind_asked(joint, subject, PRESENT)


@pattern("how many", UNNUMBERED, ASKED, fixed="how many")
def how_many(joint: Joint, subject: Subject) -> Pair:
    verb, noun = joint.parts
    before = f"{marked(noun.korean, '을/를')} 몇 {noun.counter}"
    return asks(subject, Predicate(verb.english, "", before, Stem(verb.korean)), PAST, wh=f"how many {noun.any}")


SHOWN = nouns(
    "*goods, -soap, *reading, *stationery, *garment, *footwear, *headwear, *wheels, *plaything, camera, phone"
)


@pattern("whose", Slot([SHOWN]), STYLES, fixed="whose this be")
def whose(noun: Noun, style: Word) -> Pair:
    plural_noun = noun.number == "plural"
    english = f"whose {noun.english} {'are these' if plural_noun else 'is this'}?"
    return said(
        style is POLITE, english, f"이것은 누구의 {question(Stem(noun.korean, 'copula'), PRESENT, style is POLITE)}"
    )


SOLD = nouns(
    "*fruit, *vegetable, *garment, *footwear, *headwear, *reading, *furniture, *appliance, *wheels, ring, bag, umbrella"
)


@pattern("how much", Slot([SOLD]), STYLES, fixed="how much this be")
def how_much(noun: Noun, style: Word) -> Pair:
    this = "are these" if noun.number == "plural" else "is this"
    korean = f"{marked('이 ' + noun.korean, '은/는')} {question(Stem('얼마', 'copula'), PRESENT, style is POLITE)}"
    return said(style is POLITE, f"how much {this} {noun.english}?", korean)


SITES = Slot([[PLACES[name] for name in (*BUILDINGS, "bathroom")]])


@pattern("where is", SITES, STYLES, fixed="where be")
def where_is(place: Place, style: Word) -> Pair:
    korean = f"{marked(place.korean, '은/는')} 어디에 {question(Stem('있', 'existence'), PRESENT, style is POLITE)}"
    return said(style is POLITE, f"where is {place.english}?", korean)


@pattern("how to get", SITES, STYLES, fixed="how get")
def how_get(place: Place, style: Word) -> Pair:
    korean = f"{place.korean}에 어떻게 {question(Stem('가'), PRESENT, style is POLITE)}"
    return said(style is POLITE, f"how do I get {place.to}?", korean)


@pattern("how far", SITES, STYLES, fixed="how far here be")
def how_far(place: Place, style: Word) -> Pair:
    korean = f"여기에서 {place.korean}까지 얼마나 {question(Stem('멀', 'adjective'), PRESENT, style is POLITE)}"
    return said(style is POLITE, f"how far is {place.english} from here?", korean)


@pattern("is there near", SITES, STYLES, fixed="near here be")
def is_there(place: Place, style: Word) -> Pair:
    korean = f"이 근처에 {marked(place.korean, '이/가')} {question(Stem('있', 'existence'), PRESENT, style is POLITE)}"
    site = place.english.replace("the ", "an " if place.english[4] in "aeiou" else "a ")
    return said(style is POLITE, f"is there {site} near here?", korean)


SEEN = nouns(
    "movie, drama, concert, party, exam, trip, festival, meeting, class, soccer game, novel, lunch, dinner, breakfast"
)


@pattern("how was", Slot([SEEN]), STYLES, fixed="how be", weight=0.4)
def how_was(noun: Noun, style: Word) -> Pair:
    return said(
        style is POLITE,
        f"how was the {noun.english}?" if noun.number == "count" else f"how was {noun.english}?",
        f"{marked(noun.korean, '은/는')} {'어땠어요' if style is POLITE else '어땠니'}?",
    )
