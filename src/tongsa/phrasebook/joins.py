"""Patterns of two clauses: but, and, because, when, if, before, after, while, to, that, who."""

from tongsa.phrasebook.adjectives import PREDICATIVE
from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    Setting,
    described,
    doing,
    english_statement,
    korean_predicate,
    progressing,
    said,
    thing,
)
from tongsa.phrasebook.conjugation import (
    Stem,
    attach,
    connective,
    statement,
)
from tongsa.phrasebook.english import Tense, gerund, owned, spaced
from tongsa.phrasebook.fillings import (
    OTHER,
    POLITE,
    STYLES,
    SUBJECTS,
    at,
    doable,
    free,
    of,
    timed,
    visits,
)
from tongsa.phrasebook.nouns import TIMES
from tongsa.phrasebook.persons import Subject, politely
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, Act

JOINS = Chapter()
pattern = JOINS.pattern


def contrasts(slot: Slot[Act]) -> Slot[Joint]:
    """One verb with two different objects."""
    return Slot([Joint((one, two)) for one in acts for two in acts if one is not two] for acts in slot.groups)


def but(joint: Joint, subject: Subject, other: Subject, tense: Tense, time: Word) -> Pair:
    one, two = joint.parts
    second = politely(other) if subject.polite else other
    setting = Setting(time=time.pair)
    english = (
        english_statement(subject, doing(one), tense, setting) + " but " + english_statement(second, doing(two), tense)
    )
    first = korean_predicate(doing(one), connective(one.stem, tense, "지만"), setting)
    last = korean_predicate(doing(two), statement(two.stem, tense, subject.polite))
    return said(subject.polite, english, spaced(subject.topic, first, second.topic, last))


NEVER = Word("", "")
RECENT = Slot(
    [[NEVER], [Word("yesterday", "어제", ("yesterday",)), Word("this morning", "오늘 아침에", ("this", "morning"))]]
)
SOON = Slot([[NEVER], [Word("tomorrow", "내일", ("tomorrow",)), Word("on the weekend", "주말에", ("weekend",))]])
PAST_DAYS = Slot([[Word("", "")], [timed(time) for time in TIMES if time.tenses == (PAST,) and not time.scale]])


TASTE = of("like, hate, want, learn, study, teach, play, drink, raise, collect, live in, wear, sell")


@pattern("but", contrasts(TASTE), SUBJECTS, OTHER, weight=1.5)
def but_present(joint: Joint, subject: Subject, other: Subject) -> Pair:
    return but(joint, subject, other, PRESENT, NEVER)


FAR = ("Seoul", "Busan", "Korea", "Japan", "China", "America", "France", "bathroom", "kitchen")
NEARBY = Slot([[act for act in of("go") if act.words[1] not in FAR]])
DONE = doable(lambda verb: free(verb, "n", "u") and verb.english != "go")


@pattern("but past", contrasts(Slot([*NEARBY.groups, *DONE.groups])), SUBJECTS, OTHER, PAST_DAYS, weight=2)
def but_past(joint: Joint, subject: Subject, other: Subject, time: Word) -> Pair:
    return but(joint, subject, other, PAST, time)


OUT = Slot([[act for act in NEARBY if act.words[1] not in ("home", "work", "school", "hospital")]])
FIRST = of(
    "eat, drink, buy, clean, wash {own} hands, wash {own} face, brush {own} teeth, read, write, exercise, "
    "do {own} homework, do the dishes, do the laundry, take a shower, meet, call, cook, finish, turn off, "
    "pack"
)
OTHERWISE = of(
    "sleep, rest, watch, listen to, play, study, take a walk, run, swim, work, practice, draw, talk with, "
    "dance, sing, play with, shop, bake"
)
SECOND = Slot([*NEARBY.groups, *OTHERWISE.groups])


def and_then(one: Joint, two: Joint, time: Word, subject: Subject, tense: Tense) -> Pair:
    (first, here), (second, there) = one.parts, two.parts
    start = english_statement(subject, doing(first), tense, Setting(place=at(here)))
    silent = subject._replace(english="")
    predicate = doing(second)
    end = english_statement(silent, predicate, tense, Setting(place=at(there), time=time.pair)).removeprefix("will ")
    opening = korean_predicate(doing(first), attach(first.stem.text, "고"), Setting(time=time.pair, place=at(here)))
    close = korean_predicate(predicate, statement(second.stem, tense, subject.polite), Setting(place=at(there)))
    return said(subject.polite, f"{start} and {end}", spaced(subject.topic, opening, close))


@pattern("and past", visits(FIRST), visits(SECOND), RECENT, SUBJECTS, weight=2.5)
def and_past(one: Joint, two: Joint, time: Word, subject: Subject) -> Pair:
    return and_then(one, two, time, subject, PAST)


@pattern("and future", visits(FIRST), visits(SECOND), SOON, SUBJECTS, weight=2)
def and_future(one: Joint, two: Joint, time: Word, subject: Subject) -> Pair:
    return and_then(one, two, time, subject, FUTURE)


INDOORS = of("drink, read, watch, listen to, rest, sleep, cook, study, clean, bake, play with, practice")
SKIES = Slot([[Word("it rains", "비가 올 때", ("rain",)), Word("it snows", "눈이 올 때", ("snow",)),
               Word("it is cold", "추울 때", ("cold",)), Word("it is hot", "더울 때", ("hot",))]])  # fmt: skip


@pattern("when it rains", INDOORS, SKIES, SUBJECTS)
def when_it_rains(act: Act, sky: Word, subject: Subject) -> Pair:
    english = english_statement(subject, doing(act), PRESENT)
    korean = korean_predicate(doing(act), statement(act.stem, PRESENT, subject.polite))
    return said(subject.polite, f"{english} when {sky.english}", spaced(subject.topic, sky.korean, korean))


BUSY = of(
    "read, write, watch, listen to, study, clean, cook, sing, dance, play, play with, draw, practice, "
    "sleep, rest, work, exercise, take a shower, do {own} homework, do the dishes, talk with, translate"
)


COMING = Slot(
    [[Word("came home", "집에 왔을 때", ("come", "home")), Word("came to school", "학교에 왔을 때", ("come", "school")),
      Word("called", "전화했을 때", ("call",)), Word("came to work", "회사에 왔을 때", ("come", "work")),
      Word("arrived", "도착했을 때", ("arrive",))]]
)  # fmt: skip


@pattern("when someone came", BUSY, COMING, OTHER, SUBJECTS, weight=1.5)
def when_came(act: Act, coming: Word, other: Subject, subject: Subject) -> Pair:
    english = english_statement(subject, progressing(act), PAST) + f" when {other.english} {coming.english}"
    predicate = progressing(act)
    korean = korean_predicate(predicate, statement(predicate.stem, PAST, subject.polite))
    return said(subject.polite, english, spaced(other.nominative, coming.korean, subject.topic, korean))


CONDITIONS = Slot(
    [
        [
            Word("the weather is good", "날씨가 좋으면", ("weather", "good")),
            Word("it does not rain", "비가 안 오면", ("rain",)),
            Word("it is not cold", "춥지 않으면", ("cold",)),
            Word("it is warm", "따뜻하면", ("warm",)),
        ]
    ]
)
DAYS = Slot(
    [
        [
            NEVER,
            Word("tomorrow", "내일", ("tomorrow",)),
            Word("on the weekend", "주말에", ("weekend",)),
            Word("on Saturday", "토요일에", ("Saturday",)),
            Word("on Sunday", "일요일에", ("Sunday",)),
        ]
    ]
)
OUTINGS = Slot([*OUT.groups, *of("take a walk, run, fish, swim, ride, take a photo, wash, plant, shop").groups])


@pattern("if", OUTINGS, CONDITIONS, DAYS, SUBJECTS)
def if_weather(act: Act, condition: Word, day: Word, subject: Subject) -> Pair:
    english = english_statement(subject, doing(act), FUTURE) + f" if {spaced(condition.english, day.english)}"
    korean = korean_predicate(doing(act), statement(act.stem, FUTURE, subject.polite))
    return said(subject.polite, english, spaced(day.korean, condition.korean, subject.topic, korean))


def sequel(one: Act, two: Act, subject: Subject, tense: Tense, link: str, ending: str) -> Pair:
    """One does the first before or after the second."""
    english = english_statement(subject, doing(one), tense)
    done = spaced(gerund(two.head), owned(two.rest, subject.own))
    linked = spaced(two.before, attach(two.stem.text, ending))
    korean = korean_predicate(doing(one), statement(one.stem, tense, subject.polite))
    return said(subject.polite, f"{english} {link} {done}", spaced(subject.topic, linked, korean))


@pattern("before", FIRST, SECOND, SUBJECTS, fixed="before", weight=1.5)
def before(one: Act, two: Act, subject: Subject) -> Pair:
    return sequel(one, two, subject, PAST, "before", "기 전에")


@pattern("after", SECOND, FIRST, SUBJECTS, fixed="after", weight=1.5)
def after(one: Act, two: Act, subject: Subject) -> Pair:
    return sequel(one, two, subject, PAST, "after", "(으)ㄴ 후에")


@pattern("after future", SECOND, FIRST, SUBJECTS, fixed="after")
def after_future(one: Act, two: Act, subject: Subject) -> Pair:
    return sequel(one, two, subject, FUTURE, "after", "(으)ㄴ 후에")


ACCOMPANIED = of("walk, study, work, cook, clean, drive, exercise, read, do the dishes, draw, take a walk")
ACCOMPANYING = of("listen to, sing, drink")


@pattern("while", ACCOMPANYING, ACCOMPANIED, SUBJECTS, fixed="while")
def while_(one: Act, two: Act, subject: Subject) -> Pair:
    english, korean = sequel(one, two, subject, PRESENT, "while", "(으)면서")
    return english, korean


def purpose(located: Joint, subject: Subject, tense: Tense) -> Pair:
    act, place = located.parts
    english = english_statement(subject, Predicate("go", place.to, "", Stem("가")), tense)
    aim = spaced(act.before, attach(act.stem.text, "(으)러"))
    korean = spaced(subject.topic, aim, place.korean + "에", statement(Stem("가"), tense, subject.polite))
    return said(subject.polite, f"{english} to {act.english(subject.own)}", korean)


ERRANDS = (
    "eat", "drink", "buy", "read", "watch", "see", "study", "learn", "meet", "exercise", "swim", "run", "shop",
    "take a walk", "take a photo", "fish", "rest", "play", "work", "teach",
)  # fmt: skip
TRIPS = Slot(
    Crossed(acts, [place for place in verb.where if place.words != ("home",) and place.words != ("room",)])
    for verb, acts in ACTS.items()
    if verb.english in ERRANDS and verb.where and any(place.words != ("home",) for place in verb.where)
)


@pattern("purpose", TRIPS, SUBJECTS, fixed="go", weight=1.5)
def purpose_past(located: Joint, subject: Subject) -> Pair:
    return purpose(located, subject, PAST)


@pattern("purpose future", TRIPS, SUBJECTS, fixed="go")
def purpose_future(located: Joint, subject: Subject) -> Pair:
    return purpose(located, subject, FUTURE)


MERITS = (
    "pretty",
    "nice",
    "delicious",
    "comfortable",
    "clean",
    "warm",
    "light",
    "soft",
    "useful",
    "interesting",
    "beautiful",
)
FAULTS = ("expensive", "heavy", "small", "long", "difficult", "salty", "spicy", "thin", "thick", "short", "slow", "big")
MIXED = Slot(
    [
        Joint((merit, fault, noun))
        for fault, held in PREDICATIVE.items()
        if fault.english in FAULTS and (merit.english, fault.english) not in (("light", "heavy"),)
        for noun in held
        if noun in held_by_merit
    ]
    for merit, held_by_merit in PREDICATIVE.items()
    if merit.english in MERITS
)


@pattern("but quality", MIXED, STYLES, weight=1.5)
def but_quality(joint: Joint, style: Word) -> Pair:
    merit, fault, noun = joint.parts
    subject = thing(noun, "this", style is POLITE)
    english = english_statement(subject, described(merit), PRESENT) + f" but {fault.english}"
    korean = f"{connective(merit.stem, PRESENT, '지만')} {statement(fault.stem, PRESENT, style is POLITE)}"
    return said(style is POLITE, english, f"{subject.topic} {korean}")
