"""Patterns that compare: more than, the most."""

from tongsa.phrasebook.adjectives import (
    QUALITIES,
)
from tongsa.phrasebook.clauses import (
    PRESENT,
    Pair,
    Predicate,
    asks,
    states,
)
from tongsa.phrasebook.conjugation import Stem
from tongsa.phrasebook.english import comparative
from tongsa.phrasebook.fillings import (
    POLITE,
    STYLES,
    SUBJECTS,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import Noun, nouns
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Joint, Slot, Word

COMPARISONS = Chapter()
pattern = COMPARISONS.pattern


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
        rivals("expensive", "*fruit"),
        rivals("expensive", "*meat, cheese, tofu, bread, wine, beer"),
        rivals("expensive", "*garment, *appliance, *furniture"),
        rivals("cheap", "*fruit, *vegetable"),
        rivals("delicious", "*fruit, *dish, *snack"),
        rivals("difficult", "*language, *subject"),
        rivals("easy", "*language, *subject"),
        rivals("interesting", "novel, movie, drama, comic book, soccer game"),
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


def preferred(names: str) -> list[Joint]:
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
