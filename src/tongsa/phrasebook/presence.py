"""Patterns of having, needing, knowing, being there, and where things and persons are."""

from tongsa.phrasebook.clauses import (
    PAST,
    PRESENT,
    Pair,
    Predicate,
    asks,
    denies,
    said,
    states,
    thing,
)
from tongsa.phrasebook.conjugation import Stem, negative, question, statement
from tongsa.phrasebook.fillings import (
    ASKED,
    PERSONS,
    POLITE,
    STYLES,
    SUBJECTS,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import Noun, Place, nouns, places
from tongsa.phrasebook.persons import NAMES, OTHER_NAMES, Subject
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word

PRESENCE = Chapter()
pattern = PRESENCE.pattern

OWN = Slot(
    [
        nouns(
            "*wheels, *instrument, *appliance, *animal, umbrella, dictionary, ticket, pen, key, map, question, plan, "
            "secret, dream, exam, class, meeting, money, time, homework, problem, ring, house"
        )
    ]
)


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


NEEDED = Slot(
    [
        nouns(
            "*money, *goods, *stationery, *garment, *footwear, *appliance, *wheels, map, ticket, "
            "plan, dictionary, friend, doctor"
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


KNOWN = Slot[Subject | Noun](
    [OTHER_NAMES, nouns("song, word, story, secret, name, problem, singer, actor, plan, poem")]
)


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


RELATIONS = Slot(
    [[Word("on", "위"), Word("under", "밑"), Word("next to", "옆"), Word("behind", "뒤"), Word("in front of", "앞")]]
)
SMALL_THINGS = Slot(
    [
        nouns(
            "*reading, *stationery, *plaything, bag, cup, clock, umbrella, wallet, key, box, cat, "
            "phone, camera, hat, glasses"
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
            "kitchen, living room, classroom, room, bathroom, garden, library, park, "
            "home, school, office, hospital, work"
        )
    ]
)


@pattern("whereabouts", ROOMS, PERSONS)
def whereabouts(place: Place, subject: Subject) -> Pair:
    return states(subject, Predicate("be", place.at, place.korean + "에", Stem("있", "existence")), PRESENT)


@pattern("whereabouts past", ROOMS, SUBJECTS)
def whereabouts_past(place: Place, subject: Subject) -> Pair:
    return states(subject, Predicate("be", place.at, place.korean + "에", Stem("있", "existence")), PAST)


@pattern("where are you", PERSONS, fixed="where be", weight=0.4)
def where_are(subject: Subject) -> Pair:
    return asks(subject, Predicate("be", "", "어디에", Stem("있", "existence")), PRESENT, wh="where")


POSSESSED = Slot(
    [nouns("*goods, -soap, *reading, *stationery, *garment, *footwear, *headwear, *wheels, camera, phone, desk, bed")]
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
