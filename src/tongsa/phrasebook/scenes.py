"""Patterns of set scenes: greetings, weather, clock and calendar, the way, counting, having and being there."""

from tongsa.phrasebook.adjectives import SKY, WEATHER, Adjective
from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    Setting,
    asks,
    denies,
    doing,
    identified,
    said,
    states,
    thing,
)
from tongsa.phrasebook.conjugation import Stem, command, negative, question, statement
from tongsa.phrasebook.english import Tense, be, plural, spaced
from tongsa.phrasebook.fillings import (
    ASKED,
    NUMBERED,
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
from tongsa.phrasebook.nouns import (
    BUILDINGS,
    KIN,
    NAMES,
    OTHER_NAMES,
    PLACES,
    PRONOUNS,
    STRANGERS,
    TIMES,
    WEEKDAYS,
    Noun,
    Place,
    Subject,
    nouns,
    places,
)
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import Act

SCENES = Chapter()
pattern = SCENES.pattern

CALLED = Slot([NAMES, OTHER_NAMES])
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
    "excuse me": ("실례해", "실례해요"),
}
GREETING = Slot([[Word(english, "", tuple(english.split())) for english in GREETINGS if english != "excuse me"]])


@pattern("greeting", GREETING, STYLES, weight=0.05)
def greeting(word: Word, style: Word) -> Pair:
    return said(style is POLITE, word.english, GREETINGS[word.english][style is POLITE])


@pattern("greeting by name", GREETING, CALLED, STYLES, weight=0.8)
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
    for_ = noun.english if noun.number == "mass" else f"the {noun.english}"
    return said(
        style is POLITE, f"thank you for {for_}", f"{noun.korean} {'고마워요' if style is POLITE else '고마워'}"
    )


@pattern("name", CALLED, STYLES, fixed="name be", weight=0.1)
def name(person: Subject, style: Word) -> Pair:
    mine = "제" if style is POLITE else "내"
    korean = statement(Stem(person.korean, "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, f"my name is {person.english}", f"{mine} 이름은 {korean}")


LOVES = Slot([OTHER_NAMES, [Subject("you", "너", "plural")]])


@pattern("love", LOVES, STYLES, fixed="I love", weight=0.05)
def love(person: Subject, style: Word) -> Pair:
    if style is POLITE:
        beloved = marked("당신" if person.english == "you" else person.korean, "을/를")
        return said(True, f"I love {person.english}", f"저는 {beloved} 사랑해요")
    return said(False, f"I love {person.english}", f"나는 {marked(person.korean, '을/를')} 사랑한다")


LOVED = Slot([OTHER_NAMES, [Subject("children", "아이들", "plural")]])


@pattern("love of others", LOVED, PERSONS, fixed="love", weight=0.6)
def love_others(person: Subject, subject: Subject) -> Pair:
    return states(subject, Predicate("love", person.english, marked(person.korean, "을/를"), Stem("사랑하")), PRESENT)


@pattern("missing", Slot([OTHER_NAMES, nouns("puppy, dog, cat")]), SELVES, fixed="miss", weight=0.2)
def missing(missed: Subject | Noun, subject: Subject) -> Pair:
    english = missed.english if isinstance(missed, Subject) else f"{subject.own} {missed.english}"
    return states(
        subject, Predicate("miss", english, marked(missed.korean, "이/가"), Stem("보고 싶", "adjective")), PRESENT
    )


BODY = Slot([nouns("*body")])


@pattern("pain", BODY, STYLES, fixed="hurt", weight=0.1)
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
TENSES = {"present": PRESENT, "past": PAST, "future": FUTURE}
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


@pattern("sky", Slot([SKY, WEATHER]), DAY, STYLES, fixed="weather be", weight=0.3)
def sky(adjective: Adjective, day: Word, style: Word) -> Pair:
    tense, polite = TENSE_OF[day.english], style is POLITE
    english = f"the weather {be('third', tense)} {adjective.english} {day.english}"
    return said(polite, english, f"{day.korean} 날씨가 {statement(adjective.stem, tense, polite)}")


@pattern("sky question", Slot([SKY, WEATHER]), DAY, STYLES, fixed="weather be", weight=0.3)
def sky_question(adjective: Adjective, day: Word, style: Word) -> Pair:
    tense, polite = TENSE_OF[day.english], style is POLITE
    first, _, rest = be("third", tense).partition(" ")
    english = spaced(first, "the weather", rest, adjective.english, day.english) + "?"
    return said(polite, english, f"{day.korean} 날씨가 {question(adjective.stem, tense, polite)}")


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


@pattern("hour", HALVES, STYLES, fixed="o'clock be", weight=0.3)
def hour(joint: Joint, style: Word) -> Pair:
    number, half = joint.parts
    korean = statement(Stem(spaced(half.korean, f"{number.korean} 시"), "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, spaced("it is", number.english, "o'clock", half.english), korean)


ROUTINES = of("get up", "go", "come", "sleep", "exercise", "meet", "wait for", "eat", "arrive", "do {own} homework", "watch", "study",
              "take a shower", "take a walk", "call", "return", "take", "leave")  # fmt: skip


@pattern("at the hour", ROUTINES, HOUR, SUBJECTS, fixed="o'clock", weight=1.5)
def at_the_hour(act: Act, number: Word, subject: Subject) -> Pair:
    time = (f"at {number.english} o'clock", f"{number.korean} 시에")
    return states(subject, doing(act), PAST, Setting(time=time))


@pattern("weekday", Slot([[word(*day) for day in WEEKDAYS]]), DAY, STYLES, fixed="be", weight=0.2)
def weekday(day: Word, when: Word, style: Word) -> Pair:
    tense = TENSE_OF[when.english] if when.english == "yesterday" else PRESENT
    korean = statement(Stem(day.korean, "copula"), tense, style is POLITE)
    return said(style is POLITE, f"{when.english} {be('third', tense)} {day.english}", f"{when.korean} {korean}")


YOUNG = styled(
    PRONOUNS[:2], NAMES, [one for one in KIN if one.english.endswith(("brother", "sister", "son", "daughter"))]
)
AGES = Slot([NUMERALS[4:], NUMERALS[12:]])


def aged(number: Word) -> Predicate:
    years = f"{number.english} {'year' if number.english == 'one' else 'years'} old"
    return identified(years, f"{number.korean} 살")


@pattern("age", AGES, YOUNG, fixed="year old", weight=1.5)
def age(number: Word, subject: Subject) -> Pair:
    return states(subject, aged(number), PRESENT)


PETS = Slot([nouns("*animal, *beast")])


@pattern("age of animals", HOUR, PETS, STYLES, fixed="this year old", weight=0.7)
def age_animal(number: Word, noun: Noun, style: Word) -> Pair:
    return states(thing(noun, "this", style is POLITE), aged(number), PRESENT)


def numbered(number: Word, noun: Noun) -> Pair:
    """Three apples, 사과 세 개."""
    english = f"{number.english} {noun.english if number.english == 'one' else noun.any}"
    return english, f"{noun.korean} {number.korean} {noun.counter}"


@pattern("counting", NUMBERED, SUBJECTS, weight=3)
def counting(joint: Joint, subject: Subject) -> Pair:
    verb, noun, number = joint.parts
    english, korean = numbered(number, noun)
    return states(subject, Predicate(verb.english, english, marked(korean, "을/를"), Stem(verb.korean)), PAST)


CUPS = Slot([[Joint((noun, word("cup", "잔"))) for noun in nouns("coffee, tea, green tea")],
             [Joint((noun, word("glass", "잔"))) for noun in nouns("milk, juice, water, wine, beer")],
             [Joint((noun, word("bottle", "병"))) for noun in nouns("beer, wine, water, juice, milk")]])  # fmt: skip


GLASSES, TEN = Slot([NUMERALS[:5]]), Slot([NUMERALS[:10]])


def measured(joint: Joint, number: Word) -> Pair:
    noun, cup = joint.parts
    cups = cup.english if number.english == "one" else plural(cup.english)
    return f"{number.english} {cups} of {noun.english}", f"{noun.korean} {number.korean} {cup.korean}"


@pattern("drinks", CUPS, GLASSES, SUBJECTS, fixed="drink", weight=1.5)
def drinks(joint: Joint, number: Word, subject: Subject) -> Pair:
    english, korean = measured(joint, number)
    return states(subject, Predicate("drink", english, marked(korean, "을/를"), Stem("마시")), PAST)


@pattern("ordering", CUPS, TEN, STYLES, fixed="please give me")
def ordering(joint: Joint, number: Word, style: Word) -> Pair:
    english, korean = measured(joint, number)
    return said(style is POLITE, f"please give me {english}", f"{korean} {'주세요' if style is POLITE else '줘'}")


OWNED = nouns("*wheels, *instrument, *appliance, *animal, umbrella, dictionary, camera, ticket, pen, key, map, question, "
              "plan, secret, dream, exam, class, meeting, money, time, homework, problem, ring, house")  # fmt: skip
OWN = Slot([OWNED])


def having(noun: Noun) -> Predicate:
    return Predicate("have", noun.some, marked(noun.korean, "이/가"), Stem("있", "existence"))


@pattern("having", OWN, SUBJECTS, fixed="have", weight=1.5)
def has(noun: Noun, subject: Subject) -> Pair:
    return states(subject, having(noun), PRESENT)


@pattern("not having", OWN, SUBJECTS, fixed="have")
def has_not(noun: Noun, subject: Subject) -> Pair:
    return denies(subject, having(noun), PRESENT)


@pattern("having question", OWN, ASKED, fixed="have")
def has_question(noun: Noun, subject: Subject) -> Pair:
    return asks(subject, having(noun), PRESENT)


@pattern("having past", OWN, SUBJECTS, fixed="have")
def had(noun: Noun, subject: Subject) -> Pair:
    return states(subject, having(noun), PAST)


KEPT = Slot(
    [
        Crossed(nouns("car, bicycle, computer, camera, umbrella, son, daughter, child, dog, cat, puppy"), NUMERALS[:4]),
        Crossed(nouns("friend, chicken, duck, cow, pig, horse, book, dictionary, ticket, hat, doll, pencil"), NUMERALS),
    ]
)


@pattern("having many", KEPT, SUBJECTS, fixed="have", weight=1.5)
def has_many(joint: Joint, subject: Subject) -> Pair:
    noun, number = joint.parts
    english, _ = numbered(number, noun)
    before = f"{marked(noun.korean, '이/가')} {number.korean} {noun.counter}"
    return states(subject, Predicate("have", english, before, Stem("있", "existence")), PRESENT)


NEEDED = Slot(
    [
        nouns(
            "*money, *goods, *stationery, *garment, *footwear, *appliance, *wheels, map, ticket, plan, dictionary, friend, doctor"
        )
    ]
)


def needing(noun: Noun) -> Predicate:
    return Predicate("need", noun.some, marked(noun.korean, "이/가"), Stem("필요하", "adjective"))


@pattern("need", NEEDED, SUBJECTS, fixed="need", weight=1.5)
def need(noun: Noun, subject: Subject) -> Pair:
    return states(subject, needing(noun), PRESENT)


@pattern("need negative", NEEDED, SUBJECTS, fixed="need")
def need_negative(noun: Noun, subject: Subject) -> Pair:
    return denies(subject, needing(noun), PRESENT)


@pattern("need question", NEEDED, ASKED, fixed="need")
def need_question(noun: Noun, subject: Subject) -> Pair:
    return asks(subject, needing(noun), PRESENT)


KNOWN = Slot([OTHER_NAMES, nouns("song, word, story, secret, name, problem, singer, actor, plan, poem")])


def knowing(known: Subject | Noun) -> Predicate:
    if isinstance(known, Subject):
        return Predicate("know", known.english, marked(known.korean, "을/를"), Stem("알"))
    return Predicate("know", f"this {known.english}", f"이 {marked(known.korean, '을/를')}", Stem("알"))


@pattern("know", KNOWN, SUBJECTS, fixed="know")
def know(known: Subject | Noun, subject: Subject) -> Pair:
    return states(subject, knowing(known), PRESENT)


@pattern("know negative", KNOWN, SUBJECTS, fixed="know")
def know_negative(known: Subject | Noun, subject: Subject) -> Pair:
    return denies(subject, knowing(known), PRESENT)


@pattern("know question", KNOWN, ASKED, fixed="know")
def know_question(known: Subject | Noun, subject: Subject) -> Pair:
    return asks(subject, knowing(known), PRESENT)


CONTENTS = (
    (
        "in the refrigerator",
        "냉장고",
        "refrigerator",
        "*fruit, *vegetable, *meat, milk, juice, water, beer, cheese, kimchi, cake, tofu",
    ),
    (
        "in the bag",
        "가방",
        "bag",
        "*reading, *stationery, wallet, key, umbrella, towel, camera, phone, medicine, money",
    ),
    ("on the desk", "책상 위", "desk", "*reading, *stationery, computer, clock, cup, letter, phone, photo, glasses"),
    ("on the table", "식탁 위", "table", "*fruit, bread, cake, salad, cup, plate, spoon, knife, soup, pizza, flower"),
    (
        "in the room",
        "방",
        "room",
        "*furniture, piano, computer, clock, mirror, cat, puppy, box, radio, television, doll",
    ),
    ("in the kitchen", "부엌", "kitchen", "refrigerator, knife, plate, table, chair, basket, onion, potato, egg"),
    ("at the zoo", "동물원", "zoo", "*beast, rabbit, horse, bird, duck"),
    ("in the garden", "정원", "garden", "tree, rose, flower, bird, cat, dog, rabbit, chair"),
    ("under the bed", "침대 밑", "bed", "cat, ball, box, toy, doll, shoes, socks, mouse"),
    ("in the box", "상자", "box", "doll, toy, ball, card, photo, ring, hat, gloves, shoes, letter"),
    ("at the market", "시장", "market", "*fruit, *vegetable, *meat, chicken, duck, flower, basket"),
)
CONTAINED = Slot(
    Crossed([Word(english, korean + "에", (lemma,))], nouns(names)) for english, korean, lemma, names in CONTENTS
)


@pattern("there is", CONTAINED, STYLES, fixed="there be", weight=1.5)
def there_is(joint: Joint, style: Word) -> Pair:
    spot, noun = joint.parts
    korean = statement(Stem("있", "existence"), PRESENT, style is POLITE)
    verb = "are" if noun.number == "plural" else "is"
    return said(
        style is POLITE,
        f"there {verb} {noun.some} {spot.english}",
        f"{spot.korean} {marked(noun.korean, '이/가')} {korean}",
    )


@pattern("there is no", CONTAINED, STYLES, fixed="there be no")
def there_is_no(joint: Joint, style: Word) -> Pair:
    spot, noun = joint.parts
    korean = statement(Stem("없", "existence"), PRESENT, style is POLITE)
    verb = "is" if noun.number == "mass" else "are"
    return said(
        style is POLITE,
        f"there {verb} no {noun.any} {spot.english}",
        f"{spot.korean} {marked(noun.korean, '이/가')} {korean}",
    )


@pattern("is there", CONTAINED, STYLES, fixed="there be")
def is_there(joint: Joint, style: Word) -> Pair:
    spot, noun = joint.parts
    korean = question(Stem("있", "existence"), PRESENT, style is POLITE)
    verb = "are" if noun.number == "plural" else "is"
    return said(
        style is POLITE,
        f"{verb} there {noun.some} {spot.english}?",
        f"{spot.korean} {marked(noun.korean, '이/가')} {korean}",
    )


CROWDED = ("refrigerator", "zoo", "garden", "market", "box")
COUNTED_THERE = Slot(
    Crossed(
        [Word(english, korean + "에", (lemma,))],
        [noun for noun in nouns(names) if noun.counter and noun.number == "count"],
        NUMERALS[: 20 if lemma in CROWDED else 6],
    )
    for english, korean, lemma, names in CONTENTS
)


@pattern("there are many", COUNTED_THERE, STYLES, fixed="there be", weight=1.5)
def there_are_many(joint: Joint, style: Word) -> Pair:
    spot, noun, number = joint.parts
    english, korean = numbered(number, noun)
    verb = "is" if number.english == "one" else "are"
    final = statement(Stem("있", "existence"), PRESENT, style is POLITE)
    return said(
        style is POLITE, f"there {verb} {english} {spot.english}", f"{spot.korean} {marked(korean, '이/가')} {final}"
    )


RELATIONS = Slot(
    [[Word("on", "위"), Word("under", "밑"), Word("next to", "옆"), Word("behind", "뒤"), Word("in front of", "앞")]]
)
SMALL_THINGS = Slot(
    [
        nouns(
            "*reading, *stationery, *plaything, bag, cup, clock, umbrella, wallet, key, box, cat, phone, camera, hat, glasses"
        )
    ]
)
SUPPORTS = Slot([nouns("*furniture, television, refrigerator, computer")])


def lying(relation: Word, support: Noun) -> Predicate:
    return Predicate(
        "be",
        f"{relation.english} the {support.english}",
        f"{support.korean} {relation.korean}에",
        Stem("있", "existence"),
    )


@pattern("location", SMALL_THINGS, SUPPORTS, RELATIONS, STYLES, weight=1.5)
def location(noun: Noun, support: Noun, relation: Word, style: Word) -> Pair:
    return states(thing(noun, "the", style is POLITE), lying(relation, support), PRESENT)


@pattern("location question", SMALL_THINGS, SUPPORTS, RELATIONS, STYLES)
def location_question(noun: Noun, support: Noun, relation: Word, style: Word) -> Pair:
    return asks(thing(noun, "the", style is POLITE), lying(relation, support), PRESENT)


@pattern("where is the thing", SMALL_THINGS, STYLES, fixed="where be", weight=0.7)
def where_is_thing(noun: Noun, style: Word) -> Pair:
    verb = "are" if noun.number == "plural" else "is"
    korean = question(Stem("있", "existence"), PRESENT, style is POLITE)
    return said(style is POLITE, f"where {verb} the {noun.english}?", f"{marked(noun.korean, '은/는')} 어디에 {korean}")


ROOMS = Slot(
    [
        places(
            "kitchen, living room, classroom, room, bathroom, garden, library, park, home, school, office, hospital, work"
        )
    ]
)


@pattern("whereabouts", ROOMS, PERSONS)
def whereabouts(place: Place, subject: Subject) -> Pair:
    return states(subject, Predicate("be", place.at, place.korean + "에", Stem("있", "existence")), PRESENT)


@pattern("whereabouts past", ROOMS, SUBJECTS)
def whereabouts_past(place: Place, subject: Subject) -> Pair:
    return states(subject, Predicate("be", place.at, place.korean + "에", Stem("있", "existence")), PAST)


@pattern("where are you", PERSONS, fixed="where be", weight=0.3)
def where_are(subject: Subject) -> Pair:
    return asks(subject, Predicate("be", "", "어디에", Stem("있", "existence")), PRESENT, wh="where")


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
        Crossed(places("Seoul, Busan, Korea"), places("Japan, China, America, France"), NUMERALS[:14]),
        Crossed(
            places("airport, station, hotel"), places("beach, museum, hospital, department store, zoo"), NUMERALS[:2]
        ),
    ]
)


@pattern("duration", ENDS, STYLES, fixed="take hour")
def duration(joint: Joint, style: Word) -> Pair:
    one, other, number = joint.parts
    hours = "hour" if number.english == "one" else "hours"
    korean = statement(Stem("걸리"), PRESENT, style is POLITE)
    english = f"it takes {number.english} {hours} from {one.english} to {other.english}"
    return said(style is POLITE, english, f"{one.korean}에서 {other.korean}까지 {number.korean} 시간 {korean}")


POSSESSED = Slot(
    [
        nouns(
            "*goods, -soap, *reading, *stationery, *garment, *footwear, *headwear, *wheels, camera, phone, room, desk, bed"
        )
    ]
)
OWNERS = Slot(
    [
        [Word("my", "")],
        [Word(f"{one.english}'s", one.korean + "의", one.words) for one in (*NAMES, *OTHER_NAMES)],
    ]
)


@pattern("possession", POSSESSED, OWNERS, STYLES, fixed="this be", weight=1.5)
def possession(noun: Noun, owner: Word, style: Word) -> Pair:
    whose = owner.korean or ("제" if style is POLITE else "내")
    this = "these are" if noun.number == "plural" else "this is"
    korean = statement(Stem(noun.korean, "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, f"{this} {owner.english} {noun.english}", f"이것은 {whose} {korean}")


@pattern("possession negative", POSSESSED, OWNERS, STYLES, fixed="this be")
def possession_negative(noun: Noun, owner: Word, style: Word) -> Pair:
    whose = owner.korean or ("제" if style is POLITE else "내")
    this = "these are" if noun.number == "plural" else "this is"
    korean = statement(negative(Stem(noun.korean, "copula")), PRESENT, style is POLITE)
    return said(style is POLITE, f"{this} not {owner.english} {noun.english}", f"이것은 {whose} {korean}")
