"""Patterns of reason: what one does, does not or cannot do because of a state, the weather or a flaw."""

from tongsa.phrasebook.adjectives import PREDICATIVE, Adjective, adjectives
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
    said,
)
from tongsa.phrasebook.conjugation import (
    Stem,
    ability,
    attach,
    command,
    connective,
    negative,
    statement,
)
from tongsa.phrasebook.english import Tense, spaced
from tongsa.phrasebook.fillings import (
    POLITE,
    SELVES,
    STYLES,
    SUBJECTS,
    of,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.joins import NEVER, OUT, PAST_DAYS, RECENT
from tongsa.phrasebook.nouns import Noun, nouns
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, Act

CAUSATIONS = Chapter()
pattern = CAUSATIONS.pattern


CAUSES = """
tired 피곤하다: rest | sleep | take a shower | go home | drink coffee | lie on bed, sofa
hungry 배고프다: eat * | order pizza, bibimbap, bulgogi, hamburger, noodles | boil ramen | make sandwich
thirsty 목마르다: drink * | order juice, green tea, beer | buy watermelon, orange
sick 아프다: rest | sleep | go hospital, pharmacy, home | lie on bed, sofa
happy 행복하다: laugh | sing * | dance
busy 바쁘다: hurry | take taxi, subway | order pizza, sandwich
"""
INNER_CAUSES = """
bored 심심하다: watch * | read * | listen to * | play * | draw * | take a walk | call *
sad 슬프다: cry | listen to music, song | write letter, poem | call *
lonely 외롭다: call * | meet *
cold 춥다: wear coat, sweater, gloves, boots, jacket | close window, door | drink tea, coffee, green tea
hot 덥다: swim | open window, door | drink water, juice, beer | eat ice cream, watermelon | take a shower
nervous 불안하다: take a walk | call * | practice * | listen to music
"""
"""A state, and what one does for it: a verb, and the objects that make sense then."""


def caused(table: str) -> Slot[Joint]:
    groups = []
    for line in table.strip().splitlines():
        title, _, effects = line.partition(": ")
        cause = adjectives(title)
        for effect in effects.split(" | "):
            verb = max((verb.english for verb in ACTS if f"{effect} ".startswith(f"{verb.english} ")), key=len)
            names = effect.removeprefix(verb).strip().split(", ")
            acts = [act for act in of(verb) if names in ([""], ["*"]) or act.words[1] in names]
            groups.append(Crossed(acts, cause))
    return Slot(groups)


EFFECTS, INNER_EFFECTS = caused(CAUSES), caused(INNER_CAUSES)


def because(subject: Subject, act: Act, adjective: Adjective, tense: Tense, time: Word) -> Pair:
    reason = english_statement(again(subject), described(adjective), tense)
    english = english_statement(subject, doing(act), tense, Setting(time=time.pair))
    korean = korean_predicate(doing(act), statement(act.stem, tense, subject.polite))
    so = attach(adjective.stem.text, "아/어서")
    return said(subject.polite, f"{english} because {reason}", spaced(subject.topic, time.korean, so, korean))


@pattern("because", EFFECTS, SUBJECTS)
def because_present(joint: Joint, subject: Subject) -> Pair:
    act, adjective = joint.parts
    return because(subject, act, adjective, PRESENT, NEVER)


@pattern("because past", EFFECTS, SUBJECTS, RECENT, weight=1.5)
def because_past(joint: Joint, subject: Subject, time: Word) -> Pair:
    act, adjective = joint.parts
    return because(subject, act, adjective, PAST, time)


@pattern("because of feeling", INNER_EFFECTS, SELVES, RECENT)
def because_feeling(joint: Joint, subject: Subject, time: Word) -> Pair:
    act, adjective = joint.parts
    return because(subject, act, adjective, PAST, time)


HINDRANCES = Slot([adjectives("busy 바쁘다, tired 피곤하다, sick 아프다")])
PLANS = of(
    "watch, meet, go, exercise, swim, study, visit, shop, clean, cook, practice, do {own} homework, "
    "write, read, play, take a walk, do the laundry, travel, call, invite, help"
)


@pattern("because not", PLANS, HINDRANCES, SUBJECTS, RECENT, weight=1.5)
def because_not(act: Act, adjective: Adjective, subject: Subject, time: Word) -> Pair:
    english = english_statement(subject, doing(act), PAST, Setting(time=time.pair), negated=True)
    reason = english_statement(again(subject), described(adjective), PAST)
    korean = korean_predicate(doing(act), statement(negative(act.stem), PAST, subject.polite))
    so = attach(adjective.stem.text, "아/어서")
    return said(subject.polite, f"{english} because {reason}", spaced(subject.topic, time.korean, so, korean))


@pattern("because cannot", PLANS, HINDRANCES, SUBJECTS, fixed="can")
def because_cannot(act: Act, adjective: Adjective, subject: Subject) -> Pair:
    predicate = Predicate("can", spaced(act.head, act.rest), act.before, negative(ability(act.stem)))
    english = english_statement(subject, predicate, PRESENT, negated=True)
    reason = english_statement(again(subject), described(adjective), PRESENT)
    korean = korean_predicate(predicate, statement(predicate.stem, PRESENT, subject.polite))
    so = attach(adjective.stem.text, "아/어서")
    return said(subject.polite, f"{english} because {reason}", spaced(subject.topic, so, korean))


WEATHERS = Slot(
    [
        [
            Word("it rained", "비가 와서", ("rain",)),
            Word("it snowed", "눈이 와서", ("snow",)),
            Word("it was cold", "추워서", ("cold",)),
            Word("it was too hot", "너무 더워서", ("too", "hot")),
            Word("the weather was bad", "날씨가 나빠서", ("weather", "bad")),
        ]
    ]
)
OUTDOORS = Slot([*OUT.groups, *of("take a walk, run, fish, ride, shop").groups])


@pattern("because of weather", OUTDOORS, WEATHERS, SUBJECTS, PAST_DAYS)
def because_weather(act: Act, weather: Word, subject: Subject, time: Word) -> Pair:
    english = english_statement(subject, doing(act), PAST, Setting(time=time.pair), negated=True)
    korean = korean_predicate(doing(act), statement(negative(act.stem), PAST, subject.polite))
    return said(
        subject.polite,
        f"{english} because {weather.english}",
        spaced(subject.topic, time.korean, weather.korean, korean),
    )


def it(noun: Noun) -> str:
    return "they were" if noun.number == "plural" else "it was"


WARES = nouns("*garment, *footwear, *furniture, hat, bag, umbrella, mirror, box, blanket, camera, bicycle, computer")
FLAWS = Slot(
    Crossed([quality], [noun for noun in held if noun in WARES])
    for quality, held in PREDICATIVE.items()
    if quality.english in ("expensive", "big", "small", "heavy", "long", "short", "thin", "thick")
)


@pattern("because too", FLAWS, SUBJECTS, fixed="buy too", weight=1.5)
def because_too(joint: Joint, subject: Subject) -> Pair:
    adjective, noun = joint.parts
    buying = Predicate("buy", f"the {noun.english}", "", Stem("사"))
    english = english_statement(subject, buying, PAST, negated=True) + f" because {it(noun)} too {adjective.english}"
    so = f"{marked(noun.korean, '이/가')} 너무 {attach(adjective.stem.text, '아/어서')}"
    return said(
        subject.polite, english, spaced(subject.topic, so, statement(negative(Stem("사")), PAST, subject.polite))
    )


LIKED = {
    "sweet 달다": "apple, pear, peach, strawberry, watermelon, cake, chocolate, candy, cookie, juice, ice cream",
    "delicious 맛있다": "*fruit, -lemon, *snack, *dish, *meat, *drink, -water",
    "cute 귀엽다": "dog, puppy, cat, bird, rabbit, duck, monkey",
    "interesting 재미있다": "history, science, novel, movie, drama, comic book",
    "beautiful 아름답다": "flower, rose, song, spring, fall",
    "warm 따뜻하다": "spring, coat, sweater",
    "spicy 맵다": "kimchi, ramen, bibimbap",
    "fresh 신선하다": "salad, juice",
}
LIKINGS = Slot(Crossed(adjectives(entry), nouns(names)) for entry, names in LIKED.items())


@pattern("like because", LIKINGS, SUBJECTS, fixed="like")
def like_because(joint: Joint, subject: Subject) -> Pair:
    adjective, noun = joint.parts
    english = english_statement(subject, Predicate("like", noun.any, "", Stem("좋아하")), PRESENT)
    they = "it is" if noun.number == "mass" else "they are"
    so = f"{marked(noun.korean, '이/가')} {attach(adjective.stem.text, '아/어서')}"
    korean = spaced(subject.topic, so, statement(Stem("좋아하"), PRESENT, subject.polite))
    return said(subject.polite, f"{english} because {they} {adjective.english}", korean)


def when_so(subject: Subject, act: Act, adjective: Adjective) -> Pair:
    english = english_statement(subject, doing(act), PRESENT)
    state = english_statement(again(subject), described(adjective), PRESENT)
    korean = korean_predicate(doing(act), statement(act.stem, PRESENT, subject.polite))
    at_times = attach(adjective.stem.text, "(으)ㄹ 때")
    return said(subject.polite, f"{english} when {state}", spaced(subject.topic, at_times, korean))


@pattern("when", EFFECTS, SUBJECTS)
def when_state(joint: Joint, subject: Subject) -> Pair:
    act, adjective = joint.parts
    return when_so(subject, act, adjective)


@pattern("when feeling", INNER_EFFECTS, SELVES, weight=0.8)
def when_feeling(joint: Joint, subject: Subject) -> Pair:
    act, adjective = joint.parts
    return when_so(subject, act, adjective)


@pattern("if tired", Slot([*EFFECTS.groups[:12], *INNER_EFFECTS.groups]), STYLES, fixed="you")
def if_state(joint: Joint, style: Word) -> Pair:
    act, adjective = joint.parts
    if_so = attach(adjective.stem.text, "(으)면")
    korean = spaced(if_so, act.before, command(act.stem, style is POLITE))
    return said(style is POLITE, f"{act.english('your')} if you are {adjective.english}", korean)


@pattern(
    "though tired",
    HINDRANCES,
    of("study, exercise, work, clean, cook, go, do {own} homework, practice, help, read"),
    SUBJECTS,
    RECENT,
    weight=1.5,
)
def though(adjective: Adjective, act: Act, subject: Subject, time: Word) -> Pair:
    state = english_statement(subject, described(adjective), PAST)
    english = english_statement(again(subject), doing(act), PAST, Setting(time=time.pair))
    korean = korean_predicate(doing(act), statement(act.stem, PAST, subject.polite), Setting(time=time.pair))
    but = connective(adjective.stem, PAST, "지만")
    return said(subject.polite, f"{state} but {english}", spaced(subject.topic, but, korean))
