"""Patterns of wishing, being able, having to; commands, requests, suggestions; plans and tastes."""

from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    able,
    asks,
    denies,
    obliged,
    said,
    states,
    wanting,
)
from tongsa.phrasebook.conjugation import Stem, attach, obligation, statement
from tongsa.phrasebook.english import Tense, gerund, owned, participle, spaced
from tongsa.phrasebook.fillings import (
    ASKED,
    CAPABLE,
    FORBIDDEN,
    POLITE,
    SELVES,
    SKILLS,
    STYLES,
    SUBJECTS,
    TASTES,
    WILLED,
    WISHED,
    WITH_YOU,
    doable,
    free,
    of,
    word,
)
from tongsa.phrasebook.nouns import Place, nouns, places
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Slot, Word
from tongsa.phrasebook.verbs import Act

WISHES = Chapter()
pattern = WISHES.pattern


@pattern("desire", WISHED, SUBJECTS, fixed="want", weight=2)
def desire(act: Act, subject: Subject) -> Pair:
    return states(subject, wanting(act, subject), PRESENT)


@pattern("desire past", WISHED, SUBJECTS, fixed="want")
def desire_past(act: Act, subject: Subject) -> Pair:
    return states(subject, wanting(act, subject), PAST)


@pattern("desire negative", WISHED, SUBJECTS, fixed="want")
def desire_negative(act: Act, subject: Subject) -> Pair:
    return denies(subject, wanting(act, subject), PRESENT)


@pattern("desire question", WISHED, ASKED, fixed="want")
def desire_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, wanting(act, subject), PRESENT)


@pattern("ability", CAPABLE, WITH_YOU, fixed="can", weight=2)
def can(act: Act, subject: Subject) -> Pair:
    return states(subject, able(act), PRESENT)


@pattern("inability", CAPABLE, SUBJECTS, fixed="can")
def cannot(act: Act, subject: Subject) -> Pair:
    return denies(subject, able(act), PRESENT)


@pattern("inability past", CAPABLE, SUBJECTS, fixed="can")
def could_not(act: Act, subject: Subject) -> Pair:
    return denies(subject, able(act), PAST)


@pattern("ability question", CAPABLE, ASKED, fixed="can")
def can_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, able(act), PRESENT)


@pattern("obligation", WILLED, WITH_YOU, fixed="must", weight=2)
def must(act: Act, subject: Subject) -> Pair:
    return states(subject, obliged(act), PRESENT)


def having_to(act: Act) -> Predicate:
    return Predicate("have", spaced("to", act.head, act.rest), act.before, obligation(act.stem))


@pattern("obligation past", WILLED, SUBJECTS, fixed="have")
def had_to(act: Act, subject: Subject) -> Pair:
    return states(subject, having_to(act), PAST)


@pattern("obligation future", WILLED, SUBJECTS, fixed="have")
def will_have_to(act: Act, subject: Subject) -> Pair:
    return states(subject, having_to(act), FUTURE)


@pattern("obligation question", WILLED, ASKED, fixed="have")
def have_to_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, having_to(act), PRESENT)


@pattern("no obligation", WILLED, WITH_YOU, fixed="have")
def need_not(act: Act, subject: Subject) -> Pair:
    predicate = Predicate("have", spaced("to", act.head, act.rest), act.before, Stem(act.stem.text + "지 않아도 되"))
    english, _ = denies(subject, predicate, PRESENT)
    return english, states(subject, predicate, PRESENT)[1]


@pattern("prohibition", FORBIDDEN, WITH_YOU, fixed="must")
def must_not(act: Act, subject: Subject) -> Pair:
    english, _ = denies(subject, obliged(act), PRESENT)
    forbidden = Predicate("must", "", act.before, Stem(attach(act.stem.text, "(으)면 안 되")))
    return english, states(subject, forbidden, PRESENT)[1]


def ended(subject: Subject, act: Act, ending: str, stem: Stem, tense: Tense) -> str:
    """A Korean clause: the act with an ending that leads to another verb."""
    final = statement(stem, tense, subject.polite)
    return spaced(subject.topic, act.before, attach(act.stem.text, ending), final)


INTENDED = doable(lambda verb: free(verb, "s", "n", "u") and verb.english != "work")


@pattern("intention", INTENDED, SUBJECTS, fixed="be go")
def going_to(act: Act, subject: Subject) -> Pair:
    predicate = Predicate("be", f"going to {act.head} {act.rest}".strip(), "", Stem(""))
    english, _ = states(subject, predicate._replace(stem=Stem("하")), PRESENT)
    return english, ended(subject, act, "(으)려고", Stem("하"), PRESENT)


@pattern("decision", WISHED, SUBJECTS, fixed="decide")
def decided(act: Act, subject: Subject) -> Pair:
    predicate = Predicate(
        "decide", spaced("to", act.head, act.rest), act.before, Stem(attach(act.stem.text, "기로 하"))
    )
    return states(subject, predicate, PAST)


PROMISED = of(
    "call, buy, bring, clean, write, study, exercise, do {own} homework, do the dishes, do the laundry, "
    "meet, help, wait for, visit, go, come, teach, return, fix, make, feed, invite, prepare"
)
ERRANDS = of(
    "call, buy, bring, close, turn on, turn off, wash, brush {own} teeth, clean, feed, write, do {own} "
    "homework, do the dishes, do the laundry, pack, wake up, prepare for, memorize, practice, invite, "
    "explain, fix, wash {own} hands, borrow, order, translate, finish"
)


@pattern("promise", PROMISED, SUBJECTS, fixed="promise")
def promised(act: Act, subject: Subject) -> Pair:
    stem = Stem(attach(act.stem.text, "기로 약속하"))
    return states(subject, Predicate("promise", spaced("to", act.head, act.rest), act.before, stem), PAST)


BEGUN = of(
    "read, write, watch, listen to, learn, study, teach, clean, cook, make, sing, dance, play, draw, "
    "build, collect, practice, translate, memorize, walk, run, work, exercise, cry, laugh, swim, save, "
    "prepare, fix, raise, do {own} homework, talk with, fight with, pack"
)


@pattern("beginning", BEGUN, SUBJECTS, fixed="start")
def started(act: Act, subject: Subject) -> Pair:
    stem = Stem(attach(act.stem.text, "기 시작하"))
    return states(subject, Predicate("start", spaced("to", act.head, act.rest), act.before, stem), PAST)


@pattern("forgetting", ERRANDS, SUBJECTS, fixed="forget")
def forgot(act: Act, subject: Subject) -> Pair:
    stem = Stem(attach(act.stem.text, "는 것을 잊어버리"))
    return states(subject, Predicate("forget", spaced("to", act.head, act.rest), act.before, stem), PAST)


def tasting(verb: str, korean: str, act: Act) -> Predicate:
    return Predicate(
        verb, spaced(gerund(act.head), act.general), act.before, Stem(attach(act.stem.text, "는 것을 " + korean))
    )


@pattern("taste", TASTES, SUBJECTS, fixed="like")
def likes(act: Act, subject: Subject) -> Pair:
    return states(subject, tasting("like", "좋아하", act), PRESENT)


@pattern("taste negative", TASTES, SUBJECTS, fixed="like")
def dislikes(act: Act, subject: Subject) -> Pair:
    return denies(subject, tasting("like", "좋아하", act), PRESENT)


@pattern("taste question", TASTES, ASKED, fixed="like")
def likes_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, tasting("like", "좋아하", act), PRESENT)


@pattern("enjoyment", TASTES, SUBJECTS, fixed="enjoy")
def enjoys(act: Act, subject: Subject) -> Pair:
    return states(subject, tasting("enjoy", "즐기", act), PRESENT)


HOBBIES = Slot(group for group in TASTES.groups if group[0].head not in ("study", "learn", "teach", "sleep"))


@pattern("hobby", HOBBIES, SELVES, fixed="hobby be")
def hobby(act: Act, subject: Subject) -> Pair:
    owner = {"나": "내", "저": "제"}.get(subject.korean, subject.korean)
    korean = statement(Stem(attach(act.stem.text, "는 것"), "copula"), PRESENT, subject.polite)
    english = f"{subject.own} hobby is {spaced(gerund(act.head), act.general)}"
    return said(subject.polite, owned(english, subject.own), spaced(f"{owner} 취미는", act.before, korean))


@pattern("skill", SKILLS, SUBJECTS, fixed="know how")
def knows_how(act: Act, subject: Subject) -> Pair:
    stem = Stem(attach(act.stem.text, "(으)ㄹ 줄 알"))
    return states(subject, Predicate("know", spaced("how to", act.head, act.rest), act.before, stem), PRESENT)


@pattern("skill question", SKILLS, ASKED, fixed="know how")
def knows_how_question(act: Act, subject: Subject) -> Pair:
    stem = Stem(attach(act.stem.text, "(으)ㄹ 줄 알"))
    return asks(subject, Predicate("know", spaced("how to", act.head, act.rest), act.before, stem), PRESENT)


RARE = {noun.english for noun in nouns("*dish, -bread, -rice, *meat, *alcohol, green tea")}
EXPERIENCES = Slot(
    [act for act in group if act.head not in ("eat", "drink") or act.words[1] in RARE]
    for group in of("eat, drink, ride, learn, visit, drive, bake, plant, raise").groups
)


def experienced(act: Act) -> Predicate:
    """-아/어 본 적이 있다; have is the finite verb, the participle follows."""
    stem = Stem(attach(act.stem.text, "아/어 본 적이 있"), "existence")
    return Predicate("have", spaced(participle(act.head), act.rest), act.before, stem)


@pattern("experience", EXPERIENCES, SUBJECTS, fixed="have before")
def experience(act: Act, subject: Subject) -> Pair:
    english, korean = states(subject, experienced(act), PRESENT)
    return f"{english} before", korean


@pattern("no experience", EXPERIENCES, SUBJECTS, fixed="have never")
def no_experience(act: Act, subject: Subject) -> Pair:
    predicate = experienced(act)
    none = Stem(predicate.stem.text[:-1] + "없", "existence")
    return states(subject, predicate._replace(rest="never " + predicate.rest, stem=none), PRESENT)


@pattern("experience question", EXPERIENCES, ASKED, fixed="have ever")
def experience_question(act: Act, subject: Subject) -> Pair:
    _, korean = asks(subject, experienced(act), PRESENT)
    have = "has" if subject.agreement == "third" else "have"
    done = spaced(participle(act.head), act.rest)
    return said(subject.polite, f"{have} {subject.english} ever {done}?", korean)


GOALS = Slot([places("Korea, Japan, China, America, France, Seoul, Busan, museum, zoo, airport")])


@pattern("been", GOALS, SUBJECTS, fixed="have be")
def been(place: Place, subject: Subject) -> Pair:
    stem = Stem("가 본 적이 있", "existence")
    return states(subject, Predicate("have", f"been {place.to}", place.korean + "에", stem), PRESENT)


VALUES = Slot([[word("difficult", "어렵"), word("easy", "쉽"), word("important", "중요하"), word("good", "좋")]])


EFFORTS = of("learn, teach, exercise, swim, save, read, play, study, practice")


@pattern("judgement", EFFORTS, VALUES, STYLES, fixed="be")
def judged(act: Act, value: Word, style: Word) -> Pair:
    final = statement(Stem(value.korean, "adjective"), PRESENT, style is POLITE)
    korean = spaced(act.before, attach(act.stem.text, "는 것은"), final)
    return said(style is POLITE, spaced(f"it is {value.english} to", act.head, act.general), korean)
