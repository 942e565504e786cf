"""Patterns of persons: how they feel, what they are like, what they do for a living."""

from tongsa.phrasebook.adjectives import (
    FEELINGS,
    STATES,
    STRONG,
    TALL,
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
)
from tongsa.phrasebook.conjugation import Stem, attach
from tongsa.phrasebook.english import comparative, spaced
from tongsa.phrasebook.fillings import (
    ADULTS,
    ASKED,
    HEARER,
    HIGH_DEGREE,
    OTHER,
    PERSONS,
    SELVES,
    SUBJECTS,
    styled,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import Noun, nouns
from tongsa.phrasebook.persons import NAMES, PRONOUNS, STRANGERS, Subject
from tongsa.phrasebook.qualities import degrees
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word

CHARACTERS = Chapter()
pattern = CHARACTERS.pattern

STATE, TRAIT = Slot([STATES]), Slot([TRAITS, TRAITS, [TALL, STRONG]])
INWARD = Slot([STATES, FEELINGS])


@pattern("feeling", INWARD, SELVES, weight=0.6)
def feeling(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PRESENT)


@pattern("feeling degree", Slot(Crossed([one], degrees(one)) for one in INWARD), SELVES)
def feeling_degree(joint: Joint, subject: Subject) -> Pair:
    adjective, degree = joint.parts
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


@pattern("look", STATE, HIGH_DEGREE, PERSONS, fixed="look")
def looks(adjective: Adjective, degree: Word, subject: Subject) -> Pair:
    stem = Stem(attach(adjective.stem.text, "아/어 보이"))
    return states(subject, Predicate("look", f"{degree.english} {adjective.english}", degree.korean, stem), PRESENT)


@pattern("trait", TRAIT, PERSONS)
def trait(adjective: Adjective, subject: Subject) -> Pair:
    return states(subject, described(adjective), PRESENT)


@pattern("trait degree", TRAIT, HIGH_DEGREE, PERSONS)
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
