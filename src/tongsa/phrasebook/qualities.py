"""Patterns of being: how things and persons are, what they are, and how they compare."""

from collections.abc import Sequence

from tongsa.phrasebook.adjectives import (
    DISTANCES,
    FEELINGS,
    FITTING,
    PREDICATIVE,
    QUALITIES,
    STATES,
    STRONG,
    TALL,
    TOWNS,
    TRAITS,
    Adjective,
)
from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    asks,
    denies,
    described,
    identified,
    states,
    thing,
)
from tongsa.phrasebook.conjugation import Stem, attach, connective
from tongsa.phrasebook.english import article, comparative, spaced
from tongsa.phrasebook.fillings import (
    ADULTS,
    ASKED,
    DEGREE,
    HEARER,
    OTHER,
    PERSONS,
    POLITE,
    SELVES,
    STYLES,
    SUBJECTS,
    styled,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import BUILDINGS, NAMES, PLACES, PRONOUNS, STRANGERS, Noun, Place, Subject, nouns, places
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS

ESSENCES = Chapter()
pattern = ESSENCES.pattern

NAMED_KINDS = nouns("*language, *subject")
DESCRIBED = Slot(
    Crossed([quality], [noun for noun in held if noun not in NAMED_KINDS]) for quality, held in PREDICATIVE.items()
)
DETERMINERS = Slot([[word("the", "")], [word("this", "이"), word("that", "그")]])


@pattern("quality", DESCRIBED, DETERMINERS, STYLES, weight=3)
def quality(joint: Joint, determiner: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, determiner.english, style is POLITE), described(adjective), PRESENT)


@pattern("quality past", DESCRIBED, STYLES, weight=1.5)
def quality_past(joint: Joint, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, "the", style is POLITE), described(adjective), PAST)


@pattern("quality negative", DESCRIBED, DETERMINERS, STYLES, weight=2)
def quality_negative(joint: Joint, determiner: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return denies(thing(noun, determiner.english, style is POLITE), described(adjective), PRESENT)


@pattern("quality question", DESCRIBED, DETERMINERS, STYLES, weight=2)
def quality_question(joint: Joint, determiner: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return asks(thing(noun, determiner.english, style is POLITE), described(adjective), PRESENT)


@pattern("quality degree", DESCRIBED, DEGREE, STYLES, weight=2)
def quality_degree(joint: Joint, degree: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, "this", style is POLITE), described(adjective, degree.pair), PRESENT)


ATTRIBUTED = Slot(Crossed([quality], held) for quality, held in QUALITIES.items())


def noun_phrase(adjective: Adjective, noun: Noun) -> Pair:
    """A noun with its adjective, as new: a big box, 큰 상자."""
    english = f"{adjective.english} {noun.english}"
    return (article(english) if noun.number == "count" else english), f"{adjective.before} {noun.korean}"


@pattern("this is", ATTRIBUTED, STYLES, fixed="this be")
def this_is(joint: Joint, style: Word) -> Pair:
    english, korean = noun_phrase(*joint.parts)
    plural = joint.parts[1].number == "plural"
    subject = Subject("these" if plural else "this", "이것", "plural" if plural else "third", polite=style is POLITE)
    return states(subject, identified(english, korean), PRESENT)


TAKERS = ("buy", "see", "want", "wear", "draw", "eat", "drink", "borrow", "read", "choose", "watch", "make")
HELD = Slot(
    [
        Joint((act, adjective))
        for act in acts
        if act.thing and verb.naming == "some"
        for adjective in FITTING.get(act.thing.english, ())
        if not (adjective.english in ("delicious", "good", "strange") and verb.english in ("choose", "draw", "make"))
    ]
    for verb, acts in ACTS.items()
    if verb.english in TAKERS
)


def holding(joint: Joint) -> Predicate:
    """An act with its object described: buy a red hat."""
    act, adjective = joint.parts
    english, korean = noun_phrase(adjective, act.thing)
    return Predicate(act.head, english, marked(korean, "을/를"), act.stem)


@pattern("described object", HELD, SUBJECTS, weight=2)
def described_object(joint: Joint, subject: Subject) -> Pair:
    return states(subject, holding(joint), PAST)


@pattern("described object future", HELD, SUBJECTS)
def described_object_future(joint: Joint, subject: Subject) -> Pair:
    return states(subject, holding(joint), FUTURE)


@pattern("described object negative", HELD, SUBJECTS)
def described_object_negative(joint: Joint, subject: Subject) -> Pair:
    return denies(subject, holding(joint), PAST)


@pattern("described object question", HELD, ASKED)
def described_object_question(joint: Joint, subject: Subject) -> Pair:
    return asks(subject, holding(joint), PAST)


STATE, TRAIT = Slot([STATES]), Slot([TRAITS, TRAITS, [TALL, STRONG]])
INWARD = Slot([STATES, FEELINGS])


@pattern("feeling", INWARD, SELVES, weight=0.6)
def feeling(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PRESENT)


@pattern("feeling degree", INWARD, DEGREE, SELVES)
def feeling_degree(adjective: Adjective, degree: Word, subject: Subject) -> Pair:
    return states(subject, described(adjective, degree.pair), PRESENT)


@pattern("feeling past", INWARD, SELVES, weight=0.6)
def feeling_past(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PAST)


@pattern("feeling negative", INWARD, SELVES, weight=0.6)
def feeling_negative(adjective: Adjective, subject: Subject) -> Pair:
    return denies(subject, described(adjective), PRESENT)


@pattern("feeling question", INWARD, HEARER, weight=0.5)
def feeling_question(adjective: Adjective, subject: Subject) -> Pair:
    return asks(subject, described(adjective), PRESENT)


@pattern("state", STATE, PERSONS, weight=0.8)
def state(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PRESENT)


@pattern("state past", STATE, PERSONS)
def state_past(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PAST)


@pattern("look", STATE, DEGREE, PERSONS, fixed="look")
def looks(adjective: Adjective, degree: Word, subject: Subject) -> Pair:
    stem = Stem(attach(adjective.stem.text, "아/어 보이"))
    return states(subject, Predicate("look", f"{degree.english} {adjective.english}", degree.korean, stem), PRESENT)


@pattern("trait", TRAIT, PERSONS)
def trait(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PRESENT)


@pattern("trait degree", TRAIT, DEGREE, PERSONS)
def trait_degree(adjective: Adjective, degree: Word, subject: Subject) -> Pair:
    return states(subject, described(adjective, degree.pair), PRESENT)


@pattern("trait negative", TRAIT, PERSONS)
def trait_negative(adjective: Adjective, subject: Subject) -> Pair:
    return denies(subject, described(adjective), PRESENT)


@pattern("trait question", TRAIT, ASKED)
def trait_question(adjective: Adjective, subject: Subject) -> Pair:
    return asks(subject, described(adjective), PRESENT)


@pattern("trait comparison", TRAIT, OTHER, SUBJECTS, fixed="than", weight=1.5)
def trait_comparison(adjective: Adjective, other: Subject, subject: Subject) -> Pair:
    before, _, stem = adjective.stem.text.rpartition(" ")
    than = f"{comparative(adjective.english)} than {other.english}"
    predicate = Predicate("be", than, spaced(other.korean + "보다", before, "더"), Stem(stem, adjective.stem.kind))
    return states(subject, predicate, PRESENT)


@pattern("trait equality", TRAIT, OTHER, SUBJECTS, fixed="as")
def trait_equality(adjective: Adjective, other: Subject, subject: Subject) -> Pair:
    predicate = described(adjective)
    same = f"as {adjective.english} as {other.english}"
    return states(
        subject, predicate._replace(rest=same, before=spaced(other.korean + "만큼", predicate.before)), PRESENT
    )


def rivals(adjective: str, names: str) -> list[Joint]:
    """An adjective with two different things that it may compare."""
    found = next(quality for quality in QUALITIES if quality.english == adjective)
    held = nouns(names)
    return [Joint((found, one, other)) for one in held for other in held if one != other]


def ranked(adjective: str, names: str) -> list[Joint]:
    """The same where the order is known: the first has most of it."""
    order = nouns(names)
    return [joint for joint in rivals(adjective, names) if order.index(joint.parts[1]) < order.index(joint.parts[2])]


COMPARED = Slot(
    [
        ranked("big", "watermelon, pear, apple, orange, peach, lemon, strawberry"),
        ranked("big", "elephant, bear, horse, lion, tiger, pig, dog, cat, rabbit, mouse"),
        ranked("fast", "airplane, train, subway, taxi, bus, ship, bicycle"),
        rivals("expensive", "*fruit, *meat, cheese, wine, beer"),
        rivals("expensive", "*garment, *appliance, *furniture"),
        rivals("cheap", "*fruit, *vegetable"),
        rivals("delicious", "*fruit, *dish, *snack"),
        rivals("difficult", "*language, *subject"),
        rivals("easy", "*language, *subject"),
        rivals("interesting", "novel, movie, drama, comic book, soccer game, history, science"),
        rivals("cute", "puppy, cat, rabbit, bird, duck, monkey"),
        rivals("warm", "coat, sweater, jacket, blanket"),
        ranked("heavy", "piano, refrigerator, bed, desk, chair, box, bag"),
        rivals("spacious", "room, living room, kitchen, office, classroom"),
        rivals("comfortable", "chair, sofa, bed"),
    ]
)


def the(noun: Noun) -> str:
    return noun.english if noun.number == "mass" else f"the {noun.english}"


@pattern("comparison", COMPARED, STYLES, fixed="than", weight=2)
def comparison(joint: Joint, style: Word) -> Pair:
    adjective, one, other = joint.parts
    subject = Subject(the(one), one.korean, one.agreement, polite=style is POLITE)
    than = f"{comparative(adjective.english)} than {the(other)}"
    return states(subject, Predicate("be", than, f"{other.korean}보다 더", adjective.stem), PRESENT)


@pattern("comparison question", COMPARED, STYLES, fixed="than")
def comparison_question(joint: Joint, style: Word) -> Pair:
    adjective, one, other = joint.parts
    subject = Subject(the(one), one.korean, one.agreement, polite=style is POLITE)
    than = f"{comparative(adjective.english)} than {the(other)}"
    return asks(subject, Predicate("be", than, f"{other.korean}보다 더", adjective.stem), PRESENT)


def preferred(names: str) -> Sequence[Joint]:
    held = nouns(names)
    return [Joint((one, other)) for one in held for other in held if one != other]


PREFERRED = Slot([preferred(names) for names in ("*fruit", "*dish, *meat", "*drink, *alcohol", "*sport, *racket",
                                                 "*animal", "*season", "*language, *subject")])  # fmt: skip


@pattern("preference", PREFERRED, SUBJECTS, fixed="like more than", weight=1.5)
def preference(joint: Joint, subject: Subject) -> Pair:
    one, other = joint.parts
    before = f"{other.korean}보다 {marked(one.korean, '을/를')} 더"
    return states(subject, Predicate("like", f"{one.any} more than {other.any}", before, Stem("좋아하")), PRESENT)


@pattern("favourite", Slot([[noun for group in PREFERRED.groups for noun in dict.fromkeys(j.parts[0] for j in group)]]),
         SUBJECTS, fixed="like most")  # fmt: skip
def favourite(noun: Noun, subject: Subject) -> Pair:
    before = f"{marked(noun.korean, '을/를')} 제일"
    return states(subject, Predicate("like", f"{noun.any} the most", before, Stem("좋아하")), PRESENT)


ABSTRACT = Slot(
    Crossed([quality], [noun for noun in held if noun in NAMED_KINDS])
    for quality, held in PREDICATIVE.items()
    if any(noun in NAMED_KINDS for noun in held)
)


@pattern("study quality", ABSTRACT, DEGREE, STYLES)
def study_quality(joint: Joint, degree: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, "", style is POLITE), described(adjective, degree.pair), PRESENT)


@pattern("study question", ABSTRACT, STYLES, weight=0.3)
def study_question(joint: Joint, style: Word) -> Pair:
    adjective, noun = joint.parts
    return asks(thing(noun, "", style is POLITE), described(adjective), PRESENT)


JOBS = Slot([nouns("*job, student, doctor, nurse, singer, actor")])


def job_of(noun: Noun, subject: Subject) -> Predicate:
    """I am a teacher, they are teachers."""
    return identified(noun.any if subject.agreement == "plural" else noun.some, noun.korean)


@pattern("job", JOBS, ADULTS)
def job(noun: Noun, subject: Subject) -> Pair:
    return states(subject, job_of(noun, subject), PRESENT)


@pattern("job past", JOBS, ADULTS)
def job_past(noun: Noun, subject: Subject) -> Pair:
    return states(subject, job_of(noun, subject), PAST)


@pattern("job negative", JOBS, ADULTS)
def job_negative(noun: Noun, subject: Subject) -> Pair:
    return denies(subject, job_of(noun, subject), PRESENT)


SINGULAR = styled(PRONOUNS[:2], NAMES, STRANGERS[2:])


@pattern("job question", JOBS, SINGULAR)
def job_question(noun: Noun, subject: Subject) -> Pair:
    return asks(subject, identified(noun.some, noun.korean), PRESENT)


def becoming(noun: Noun, subject: Subject) -> Predicate:
    return Predicate("become", job_of(noun, subject).rest, marked(noun.korean, "이/가"), Stem("되"))


@pattern("become", JOBS, ADULTS, fixed="become")
def become(noun: Noun, subject: Subject) -> Pair:
    return states(subject, becoming(noun, subject), PAST)


@pattern("become future", JOBS, ADULTS, fixed="become")
def become_future(noun: Noun, subject: Subject) -> Pair:
    return states(subject, becoming(noun, subject), FUTURE)


OPINIONS = Slot(
    group
    for group in DESCRIBED.groups
    if group[0].parts[0].english not in ("red", "blue", "yellow", "white", "black", "hot", "cold", "big")
)


@pattern("opinion", OPINIONS, SUBJECTS, fixed="think that", weight=1.5)
def opinion(joint: Joint, subject: Subject) -> Pair:
    adjective, noun = joint.parts
    clause = f"that this {noun.english} is" if noun.number != "plural" else f"that these {noun.english} are"
    before = f"{marked('이 ' + noun.korean, '이/가')} {connective(adjective.stem, PRESENT, '다고')}"
    return states(subject, Predicate("think", f"{clause} {adjective.english}", before, Stem("생각하")), PRESENT)


TOWN = Slot(
    Crossed([adjective], places(names))
    for adjective, names in zip(
        TOWNS,
        (
            "park, library, café, village, museum",
            "market, restaurant, café, Seoul, playground",
            "Seoul, Busan, park, market, library, museum, hotel, hospital, airport",
            "village, park, café, library, museum",
            "restaurant, hotel, beach, park, hospital, swimming pool",
            "restaurant, hotel, museum, beach, market, Busan, bakery",
            "Busan, park, beach, village, garden, sea, river",
            "village, Seoul, park, playground, swimming pool",
        ),
        strict=True,
    )
)


def site(place: Place, style: Word) -> Subject:
    return Subject(place.english, place.korean, polite=style is POLITE)


@pattern("place quality", TOWN, STYLES, weight=0.7)
def place_quality(joint: Joint, style: Word) -> Pair:
    adjective, place = joint.parts
    return states(site(place, style), described(adjective), PRESENT)


@pattern("place degree", TOWN, DEGREE, STYLES)
def place_degree(joint: Joint, degree: Word, style: Word) -> Pair:
    adjective, place = joint.parts
    return states(site(place, style), described(adjective, degree.pair), PRESENT)


@pattern("place question", TOWN, STYLES, weight=0.6)
def place_question(joint: Joint, style: Word) -> Pair:
    adjective, place = joint.parts
    return asks(site(place, style), described(adjective), PRESENT)


AWAY = Slot(Crossed([adjective], [PLACES[name] for name in BUILDINGS]) for adjective in DISTANCES)


@pattern("distance", AWAY, STYLES, fixed="here")
def distance(joint: Joint, style: Word) -> Pair:
    adjective, place = joint.parts
    rest = "far from here" if adjective.english == "far" else "close to here"
    return states(site(place, style), Predicate("be", rest, "여기에서", adjective.stem), PRESENT)
