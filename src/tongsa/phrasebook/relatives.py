"""Patterns with a clause inside: that, who; what one heard and said."""

from tongsa.phrasebook.adjectives import FITTING, PREDICATIVE, STATES, Adjective, adjectives
from tongsa.phrasebook.clauses import (
    PAST,
    PRESENT,
    Pair,
    Predicate,
    Setting,
    again,
    described,
    doing,
    english_statement,
    korean_predicate,
    progressing,
    said,
    states,
)
from tongsa.phrasebook.conjugation import (
    Stem,
    attach,
    connective,
    modifier,
    past,
    statement,
)
from tongsa.phrasebook.english import Tense, owned, spaced
from tongsa.phrasebook.fillings import (
    OTHER,
    POLITE,
    SELVES,
    STYLES,
    SUBJECTS,
    doable,
    free,
    of,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.joins import BUSY, NEVER, PAST_DAYS
from tongsa.phrasebook.nouns import Noun, nouns
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import Act

RELATIVES = Chapter()
pattern = RELATIVES.pattern


def done(names: str) -> Slot[Joint]:
    """Acts on a thing, each with an adjective that suits the thing."""
    return Slot(
        [
            Joint((act, quality))
            for act in acts
            if act.thing
            for quality in FITTING.get(act.thing.english, ())
            if quality in PREDICATIVE and quality.english != "good"
        ]
        for acts in of(names).groups
    )


def of_the_past(act: Act, subject: Subject, time: Word) -> Pair:
    """The noun with its relative clause: the hat that I bought, 내가 산 모자."""
    noun = act.thing
    assert noun is not None  # noqa: S101
    clause = english_statement(subject, Predicate(act.head, "", "", act.stem), PAST, Setting(time=time.pair))
    korean = spaced(subject.nominative, time.korean, attach(act.stem.text, "(으)ㄴ"), noun.korean)
    return f"the {noun.english} that {clause}", korean


def relative(joint: Joint, subject: Subject, time: Word, tense: Tense) -> Pair:
    act, quality = joint.parts
    english, korean = of_the_past(act, subject, time)
    topic = Subject(english, korean, act.thing.agreement, polite=subject.polite)
    return states(topic, described(quality), tense)


@pattern("relative subject", done("buy, make, borrow, choose, wear"), SUBJECTS, PAST_DAYS, fixed="that", weight=1.5)
def relative_subject(joint: Joint, subject: Subject, time: Word) -> Pair:
    return relative(joint, subject, time, PRESENT)


@pattern(
    "relative past",
    done("eat, watch, read, drink, order, sing"),
    SUBJECTS,
    PAST_DAYS,
    fixed="that",
    weight=1.5,
)
def relative_past(joint: Joint, subject: Subject, time: Word) -> Pair:
    return relative(joint, subject, time, PAST)


KEEPING = of("buy, make, borrow, choose, write, wear")
DEAR = nouns("*garment, *footwear, *headwear, *handwear, *reading, *plaything")
WORKS = Slot(
    [act for act in group if act.head != "buy" or act.thing in DEAR]
    for group in of("buy, make, recommend, watch, read, write, sing").groups
)
ATTITUDES = Slot([[word("like", "좋아하"), word("hate", "싫어하"), word("remember", "기억하")]])


@pattern("relative object", WORKS, ATTITUDES, OTHER, SUBJECTS, fixed="that", weight=1.5)
def relative_object(act: Act, attitude: Word, other: Subject, subject: Subject) -> Pair:
    english, korean = of_the_past(act, other, NEVER)
    return states(
        subject, Predicate(attitude.english, english, marked(korean, "을/를"), Stem(attitude.korean)), PRESENT
    )


@pattern("relative question", KEEPING, SUBJECTS, PAST_DAYS, fixed="where that", weight=1.5)
def relative_question(act: Act, subject: Subject, time: Word) -> Pair:
    english, korean = of_the_past(act, subject, time)
    be = "are" if act.thing and act.thing.number == "plural" else "is"
    final = "있어요?" if subject.polite else "있니?"
    return said(subject.polite, f"where {be} {english}?", f"{marked(korean, '은/는')} 어디에 {final}")


def tie(english: str, korean: str) -> Word:
    return Word(f"my {english}", korean, (english,))


ANYONE = [tie("friend", "친구"), tie("cousin", "사촌"), tie("classmate", "반 친구")]
TIES = Slot(
    [
        Crossed(nouns("man, boy"), [*ANYONE, tie("younger brother", "남동생")]),
        Crossed(nouns("woman, girl"), [*ANYONE, tie("younger sister", "여동생")]),
        Crossed(nouns("child, student"), [tie("son", "아들"), tie("cousin", "사촌"), tie("younger brother", "남동생")]),
    ]
)


@pattern("relative who", BUSY, TIES, STYLES, fixed="who", weight=1.5)
def relative_who(act: Act, joint: Joint, style: Word) -> Pair:
    who, kin = joint.parts
    mine = "제" if style is POLITE else "내"
    own = "her" if who.english in ("woman", "girl") else "his"
    predicate = progressing(act)
    korean = spaced(korean_predicate(predicate, modifier(predicate.stem)), marked(who.korean, "은/는"))
    doing_so = owned(predicate.rest, own)
    final = statement(Stem(f"{mine} {kin.korean}", "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, f"the {who.english} who is {doing_so} is {kin.english}", f"{korean} {final}")


ADULT = Slot([nouns("man, woman")])
VOCATIONS = of("teach, learn, sell, write, live in, raise, collect, play, build")


@pattern("know who", VOCATIONS, ADULT, SELVES, fixed="know who")
def know_who(act: Act, who: Noun, subject: Subject) -> Pair:
    third = Subject(f"{who.some} who", "")
    clause = english_statement(third, doing(act)._replace(rest=act.general), PRESENT)
    before = f"{spaced(act.before, attach(act.stem.text, '는'))} {marked(who.korean, '을/를')}"
    return states(subject, Predicate("know", clause, before, Stem("알")), PRESENT)


@pattern("hearsay", doable(lambda verb: free(verb, "s", "n")), OTHER, SUBJECTS, fixed="hear that", weight=1.5)
def hearsay(act: Act, other: Subject, subject: Subject) -> Pair:
    clause = english_statement(other, doing(act), PAST)
    before = f"{other.nominative} {spaced(act.before, past(act.stem))}다고"
    return states(subject, Predicate("hear", f"that {clause}", before, Stem("듣")), PAST)


@pattern(
    "saying",
    Slot([STATES, adjectives("sad 슬프다, lonely 외롭다, bored 심심하다, cold 춥다, hot 덥다")]),
    SUBJECTS,
    fixed="say that",
)
def saying(adjective: Adjective, subject: Subject) -> Pair:
    clause = english_statement(again(subject), described(adjective), PAST)
    before = connective(adjective.stem, PRESENT, "다고")
    return states(subject, Predicate("say", f"that {clause}", before, Stem("말하")), PAST)
