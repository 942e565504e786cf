"""Patterns of set scenes: greetings, weather, clock and calendar, the way, counting, having and being there."""

from tongsa.phrasebook.adjectives import SKY, WEATHER, Adjective
from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    Setting,
    doing,
    said,
    states,
)
from tongsa.phrasebook.conjugation import Stem, command, question, statement
from tongsa.phrasebook.english import Tense, be, spaced
from tongsa.phrasebook.fillings import (
    NUMERALS,
    PERSONS,
    POLITE,
    SELVES,
    STYLES,
    SUBJECTS,
    of,
    styled,
    timed,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import BUILDINGS, PLACES, TIMES, WEEKDAYS, Noun, Place, nouns, places
from tongsa.phrasebook.persons import KIN, NAMES, OTHER_NAMES, RIVAL_NAMES, STRANGERS, Subject
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import Act

SCENES = Chapter()
pattern = SCENES.pattern

CALLED = Slot([NAMES, OTHER_NAMES, RIVAL_NAMES])
GREETINGS = {
    "hello": ("안녕", "안녕하세요"),
    "good morning": ("좋은 아침이야", "좋은 아침이에요"),
    "goodbye": ("잘 가", "안녕히 가세요"),
    "good night": ("잘 자", "안녕히 주무세요"),
    "thank you": ("고마워", "고마워요"),
    "I am sorry": ("미안해", "미안해요"),
    "congratulations": ("축하해", "축하해요"),
    "welcome": ("어서 와", "어서 오세요"),
    "nice to meet you": ("만나서 반가워", "만나서 반가워요"),
    "see you tomorrow": ("내일 보자", "내일 봐요"),
    "see you again": ("또 보자", "또 봐요"),
    "happy birthday": ("생일 축하해", "생일 축하해요"),
}
GREETING = Slot(
    [
        [
            Word(english, "", tuple(word for word in english.split() if word not in ("I", "am", "to", "you")))
            for english in GREETINGS
        ]
    ]
)


@pattern("greeting", GREETING, STYLES, weight=0.4)
def greeting(word: Word, style: Word) -> Pair:
    return said(style is POLITE, word.english, GREETINGS[word.english][style is POLITE])


@pattern("greeting by name", GREETING, CALLED, STYLES, weight=1.5)
def greeting_name(word: Word, person: Subject, style: Word) -> Pair:
    called = f"{person.korean} 씨" if style is POLITE else marked(person.korean, "아/야")
    return said(
        style is POLITE, f"{word.english}, {person.english}", f"{GREETINGS[word.english][style is POLITE]}, {called}"
    )


PRESENTS = Slot(
    [nouns("*flower, *reading, *handwear, *drink, card, letter, doll, hat, bag, photo, cake, umbrella, lunch, dinner")]
)


@pattern("thanks", PRESENTS, STYLES, fixed="thank you")
def thanks(noun: Noun, style: Word) -> Pair:
    for_ = noun.english if noun in nouns("*meal") else f"the {noun.english}"
    return said(
        style is POLITE, f"thank you for {for_}", f"{noun.korean} {'고마워요' if style is POLITE else '고마워'}"
    )


@pattern("name", CALLED, STYLES, fixed="name be", weight=0.4)
def name(person: Subject, style: Word) -> Pair:
    mine = "제" if style is POLITE else "내"
    korean = statement(Stem(person.korean, "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, f"my name is {person.english}", f"{mine} 이름은 {korean}")


@pattern("love", Slot([OTHER_NAMES]), STYLES, fixed="I love", weight=0.4)
def love(person: Subject, style: Word) -> Pair:
    me, verb = ("저는", "사랑해요") if style is POLITE else ("나는", "사랑한다")
    return said(style is POLITE, f"I love {person.english}", f"{me} {marked(person.korean, '을/를')} {verb}")


LOVED = Slot([OTHER_NAMES, [Subject("children", "아이들", "plural")]])


@pattern("love of others", LOVED, PERSONS, fixed="love", weight=0.6)
def love_others(person: Subject, subject: Subject) -> Pair:
    return states(subject, Predicate("love", person.english, marked(person.korean, "을/를"), Stem("사랑하")), PRESENT)


@pattern("missing", Slot[Subject | Noun]([OTHER_NAMES, nouns("puppy, dog, cat")]), SELVES, fixed="miss", weight=0.4)
def missing(missed: Subject | Noun, subject: Subject) -> Pair:
    english = missed.english if isinstance(missed, Subject) else f"{subject.own} {missed.english}"
    return states(
        subject, Predicate("miss", english, marked(missed.korean, "이/가"), Stem("보고 싶", "adjective")), PRESENT
    )


BODY = Slot([nouns("*body")])


@pattern("pain", BODY, STYLES, fixed="hurt", weight=0.4)
def pain(noun: Noun, style: Word) -> Pair:
    korean = statement(Stem("아프", "adjective"), PRESENT, style is POLITE)
    return said(style is POLITE, f"my {noun.english} hurts", f"{marked(noun.korean, '이/가')} {korean}")


SUFFERERS = styled(NAMES, KIN, STRANGERS)


@pattern("pain of others", BODY, SUFFERERS, fixed="hurt")
def pain_others(noun: Noun, subject: Subject) -> Pair:
    korean = statement(Stem("아프", "adjective"), PRESENT, subject.polite)
    english = f"{subject.english}'s {noun.english} hurts"
    return said(subject.polite, english, f"{subject.topic} {marked(noun.korean, '이/가')} {korean}")


AIR = Slot([WEATHER])
DAYS = {PRESENT: "today", PAST: "yesterday", FUTURE: "tomorrow"}
DAY_NAMES = {PRESENT: "오늘은", PAST: "어제는", FUTURE: "내일은"}
DAY = Slot([[Word(day, korean, (day,)) for day, korean in zip(DAYS.values(), DAY_NAMES.values(), strict=True)]])
TENSE_OF = {day: tense for tense, day in DAYS.items()}
SPOTS_OF_WEATHER = Slot([[Word("", "")], [Word(place.at, place.korean, place.words) for place in places(
    "Seoul, Busan, Korea, Japan, China, America, France")]])  # fmt: skip


@pattern("air", AIR, DAY, SPOTS_OF_WEATHER, STYLES)
def air(adjective: Adjective, day: Word, spot: Word, style: Word) -> Pair:
    tense, polite = TENSE_OF[day.english], style is POLITE
    english = spaced("it", be("third", tense), adjective.english, spot.english, day.english)
    korean = statement(adjective.stem, tense, polite)
    if spot.korean:
        return said(polite, english, f"{marked(spot.korean, '은/는')} {day.korean[:-1]} {korean}")
    return said(polite, english, f"{day.korean} {korean}")


@pattern("sky", Slot([SKY, WEATHER]), DAY, SPOTS_OF_WEATHER, STYLES, fixed="weather be")
def sky(adjective: Adjective, day: Word, spot: Word, style: Word) -> Pair:
    tense, polite = TENSE_OF[day.english], style is POLITE
    english = spaced("the weather", spot.english, be("third", tense), adjective.english, day.english)
    korean = spaced(day.korean, spot.korean, "날씨가", statement(adjective.stem, tense, polite))
    return said(polite, english, korean)


@pattern("sky question", Slot([SKY, WEATHER]), DAY, SPOTS_OF_WEATHER, STYLES, fixed="weather be")
def sky_question(adjective: Adjective, day: Word, spot: Word, style: Word) -> Pair:
    tense, polite = TENSE_OF[day.english], style is POLITE
    first, _, rest = be("third", tense).partition(" ")
    english = spaced(first, "the weather", spot.english, rest, adjective.english, day.english) + "?"
    return said(polite, english, spaced(day.korean, spot.korean, "날씨가", question(adjective.stem, tense, polite)))


FALLING = Slot([[Word("rain", "비", ("rain",)), Word("snow", "눈", ("snow",))]])
TOLD_TIMES = {
    tense: Slot([[timed(time) for time in TIMES if tense in time.tenses and time.scale != "y"]]) for tense in Tense
}


@pattern("rain past", FALLING, TOLD_TIMES[PAST], STYLES, weight=0.5)
def rained(what: Word, time: Word, style: Word) -> Pair:
    return said(
        style is POLITE,
        f"it {what.english}ed {time.english}",
        f"{time.korean} {what.korean}{'가' if what.korean == '비' else '이'} {'왔어요' if style is POLITE else '왔다'}",
    )


@pattern("rain future", FALLING, TOLD_TIMES[FUTURE], STYLES, weight=0.5)
def will_rain(what: Word, time: Word, style: Word) -> Pair:
    korean = statement(Stem("오"), FUTURE, style is POLITE)
    return said(
        style is POLITE,
        f"it will {what.english} {time.english}",
        f"{time.korean} {marked(what.korean, '이/가')} {korean}",
    )


@pattern("rain question", FALLING, TOLD_TIMES[FUTURE], STYLES, weight=0.5)
def rain_question(what: Word, time: Word, style: Word) -> Pair:
    korean = question(Stem("오"), FUTURE, style is POLITE)
    return said(
        style is POLITE,
        f"will it {what.english} {time.english}?",
        f"{time.korean} {marked(what.korean, '이/가')} {korean}",
    )


HOUR = Slot([NUMERALS[:12]])
HALVES = Slot(
    [
        Crossed(NUMERALS[:12], [Word("", "")]),
        Crossed(NUMERALS[4:11], [Word("in the morning", "오전", ("morning",))]),
        Crossed(NUMERALS[:6], [Word("in the afternoon", "오후", ("afternoon",))]),
    ]
)


@pattern("hour", HALVES, STYLES, fixed="o'clock be", weight=0.4)
def hour(joint: Joint, style: Word) -> Pair:
    number, half = joint.parts
    korean = statement(Stem(spaced(half.korean, f"{number.korean} 시"), "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, spaced("it is", number.english, "o'clock", half.english), korean)


ROUTINES = of(
    "get up, go, come, sleep, exercise, meet, wait for, eat, arrive, do {own} homework, watch, study, "
    "take a shower, take a walk, call, return, take, leave"
)


@pattern("at the hour", ROUTINES, HOUR, SUBJECTS, fixed="o'clock", weight=1.5)
def at_the_hour(act: Act, number: Word, subject: Subject) -> Pair:
    time = (f"at {number.english} o'clock", f"{number.korean} 시에")
    return states(subject, doing(act), PAST, Setting(time=time))


@pattern("weekday", Slot([[word(*day) for day in WEEKDAYS]]), DAY, STYLES, fixed="be", weight=0.4)
def weekday(day: Word, when: Word, style: Word) -> Pair:
    tense = TENSE_OF[when.english] if when.english == "yesterday" else PRESENT
    korean = statement(Stem(day.korean, "copula"), tense, style is POLITE)
    return said(style is POLITE, f"{when.english} {be('third', tense)} {day.english}", f"{when.korean} {korean}")


LANDMARKS = Slot([[Joint((PLACES[one], PLACES[other])) for one in BUILDINGS for other in BUILDINGS if one != other]])
BESIDE = Slot(
    [
        [
            Word("next to", "옆"),
            Word("behind", "뒤"),
            Word("in front of", "앞"),
            Word("across from", "맞은편"),
            Word("near", "근처"),
        ]
    ]
)


@pattern("landmark", LANDMARKS, BESIDE, STYLES, weight=2)
def landmark(joint: Joint, relation: Word, style: Word) -> Pair:
    one, other = joint.parts
    subject = Subject(one.english, one.korean, polite=style is POLITE)
    predicate = Predicate(
        "be", f"{relation.english} {other.english}", f"{other.korean} {relation.korean}에", Stem("있", "existence")
    )
    return states(subject, predicate, PRESENT)


CORNERS = Slot([[PLACES[name] for name in BUILDINGS]])
SIDES = Slot([[word("left", "왼쪽"), word("right", "오른쪽")]])


@pattern("turn", CORNERS, SIDES, STYLES, fixed="turn")
def turn(place: Place, side: Word, style: Word) -> Pair:
    korean = command(Stem("돌"), style is POLITE)
    return said(style is POLITE, f"turn {side.english} {place.at}", f"{place.korean}에서 {side.korean}으로 {korean}")


ENDS = Slot(
    [
        Crossed(places("Seoul, Busan, Korea"), places("Japan, China"), NUMERALS[1:4]),
        Crossed(places("Seoul, Korea"), places("America, France"), NUMERALS[10:14]),
        Crossed(places("Japan, China"), places("America, France"), NUMERALS[9:14]),
        Crossed(places("airport, station, hotel, school"), places("beach, museum, hospital, zoo"), NUMERALS[:2]),
    ]
)


@pattern("duration", ENDS, STYLES, fixed="take hour")
def duration(joint: Joint, style: Word) -> Pair:
    one, other, number = joint.parts
    hours = "hour" if number.english == "one" else "hours"
    korean = statement(Stem("걸리"), PRESENT, style is POLITE)
    english = f"it takes {number.english} {hours} from {one.english} to {other.english}"
    return said(style is POLITE, english, f"{one.korean}에서 {other.korean}까지 {number.korean} 시간 {korean}")
