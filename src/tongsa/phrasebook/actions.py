"""Patterns of doing: tenses, negation, questions, and where, when, how, how often and with whom."""

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
    progressing,
    said,
    states,
)
from tongsa.phrasebook.conjugation import Stem, connective, question, statement
from tongsa.phrasebook.english import Tense, spaced
from tongsa.phrasebook.fillings import (
    ANY,
    ASKED,
    COMPANY,
    FREQUENCY,
    HABITUAL,
    HEARER,
    LOCATED,
    MANNERED,
    ONGOING,
    STYLES,
    SUBJECTS,
    TOLD,
    WILLED,
    WITH_YOU,
    at,
    of,
    whens,
    with_,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import OTHER_NAMES, Subject, nouns
from tongsa.phrasebook.slots import Chapter, Joint, Slot, Word
from tongsa.phrasebook.verbs import GIVING_TABLE, Act

ACTIONS = Chapter()
pattern = ACTIONS.pattern


@pattern("present", TOLD, WITH_YOU, weight=3)
def present(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), PRESENT)


@pattern("past", ANY, WITH_YOU, weight=3)
def past(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST)


@pattern("future", ANY, WITH_YOU, weight=2)
def future(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), FUTURE)


@pattern("negative present", TOLD, WITH_YOU, weight=2)
def negative_present(act: Act, subject: Subject) -> Pair:
    return denies(subject, doing(act), PRESENT)


@pattern("negative past", ANY, WITH_YOU, weight=2)
def negative_past(act: Act, subject: Subject) -> Pair:
    return denies(subject, doing(act), PAST)


@pattern("negative future", ANY, SUBJECTS)
def negative_future(act: Act, subject: Subject) -> Pair:
    return denies(subject, doing(act), FUTURE)


@pattern("question", TOLD, ASKED, weight=2)
def present_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), PRESENT)


@pattern("past question", ANY, ASKED, weight=2)
def past_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), PAST)


@pattern("future question", ANY, ASKED)
def future_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), FUTURE)


@pattern("progressive", ONGOING, SUBJECTS, weight=2)
def progressive(act: Act, subject: Subject) -> Pair:
    return states(subject, progressing(act), PRESENT)


@pattern("past progressive", ONGOING, SUBJECTS)
def past_progressive(act: Act, subject: Subject) -> Pair:
    return states(subject, progressing(act), PAST)


@pattern("progressive negative", ONGOING, SUBJECTS)
def progressive_negative(act: Act, subject: Subject) -> Pair:
    return denies(subject, progressing(act), PRESENT)


@pattern("progressive question", ONGOING, ASKED)
def progressive_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, progressing(act), PRESENT)


@pattern("present with time", HABITUAL, whens(PRESENT), SUBJECTS)
def present_time(act: Act, time: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), PRESENT, Setting(time=time.pair))


@pattern("past with time", HABITUAL, whens(PAST), SUBJECTS, weight=2)
def past_time(act: Act, time: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST, Setting(time=time.pair))


@pattern("future with time", HABITUAL, whens(FUTURE), SUBJECTS, weight=2)
def future_time(act: Act, time: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), FUTURE, Setting(time=time.pair))


@pattern("past question with time", HABITUAL, whens(PAST), ASKED)
def past_question_time(act: Act, time: Word, subject: Subject) -> Pair:
    return asks(subject, doing(act), PAST, Setting(time=time.pair))


@pattern("future question with time", HABITUAL, whens(FUTURE), ASKED)
def future_question_time(act: Act, time: Word, subject: Subject) -> Pair:
    return asks(subject, doing(act), FUTURE, Setting(time=time.pair))


def here(joint: Joint) -> tuple[Act, Setting]:
    act, place = joint.parts
    return act, Setting(place=at(place))


@pattern("present with place", LOCATED, SUBJECTS)
def present_place(located: Joint, subject: Subject) -> Pair:
    act, setting = here(located)
    return states(subject, doing(act), PRESENT, setting)


@pattern("past with place", LOCATED, SUBJECTS, weight=2)
def past_place(located: Joint, subject: Subject) -> Pair:
    act, setting = here(located)
    return states(subject, doing(act), PAST, setting)


@pattern("question with place", LOCATED, ASKED)
def question_place(located: Joint, subject: Subject) -> Pair:
    act, setting = here(located)
    return asks(subject, doing(act), PAST, setting)


@pattern("past with place and time", LOCATED, whens(PAST), SUBJECTS, weight=1.5)
def past_place_time(located: Joint, time: Word, subject: Subject) -> Pair:
    act, setting = here(located)
    return states(subject, doing(act), PAST, setting._replace(time=time.pair))


@pattern("future with place and time", LOCATED, whens(FUTURE), SUBJECTS, weight=1.5)
def future_place_time(located: Joint, time: Word, subject: Subject) -> Pair:
    act, setting = here(located)
    return states(subject, doing(act), FUTURE, setting._replace(time=time.pair))


@pattern("frequency", HABITUAL, FREQUENCY, SUBJECTS)
def frequency(act: Act, often: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), PRESENT, Setting(frequency=often.pair))


@pattern("manner", MANNERED, SUBJECTS, weight=1.5)
def manner(mannered: Joint, subject: Subject) -> Pair:
    act, how = mannered.parts
    return states(subject, doing(act), PRESENT, Setting(manner=how.pair))


@pattern("past manner", MANNERED, SUBJECTS)
def past_manner(mannered: Joint, subject: Subject) -> Pair:
    act, how = mannered.parts
    return states(subject, doing(act), PAST, Setting(manner=how.pair))


@pattern("manner negative", MANNERED, SUBJECTS)
def manner_negative(mannered: Joint, subject: Subject) -> Pair:
    act, how = mannered.parts
    return denies(subject, doing(act), PAST, Setting(manner=how.pair))


SHARED = of(
    "eat", "drink", "watch", "study", "learn", "swim", "exercise", "take", "shop", "walk", "cook", "go", "travel",
    "sing", "dance", "clean", "practice", "prepare", "draw", "bake", "live", "stay", "fish", "rest",
)  # fmt: skip


@pattern("past with company", SHARED, COMPANY, SUBJECTS)
def past_company(act: Act, other: Subject, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST, Setting(company=with_(other)))


@pattern("future with company", SHARED, COMPANY, SUBJECTS)
def future_company(act: Act, other: Subject, subject: Subject) -> Pair:
    return states(subject, doing(act), FUTURE, Setting(company=with_(other)))


@pattern("alone", SHARED, SUBJECTS, fixed="alone", weight=0.7)
def alone(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST, Setting(company=("alone", "혼자")))


RIDES = nouns("bus, train, subway, taxi, airplane, ship, car, bicycle")
SPEEDS = of("go")
RIDE = Slot([RIDES])


@pattern("by vehicle", SPEEDS, RIDE, SUBJECTS)
def by_vehicle(act: Act, ride: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST, Setting(place=(f"by {ride.english}", marked(ride.korean, "으로/로"))))


RECEIVERS = Slot([OTHER_NAMES])
GIFTS = Slot(
    [Joint((Word(title.split()[0], title.partition(" ")[2], (title.split()[0],)), noun)) for noun in nouns(names)]
    for title, _, names in (line.partition(": ") for line in GIVING_TABLE.strip().splitlines())
)


def giving(gift: Joint, receiver: str, korean: str) -> Predicate:
    verb, noun = gift.parts
    return Predicate(
        verb.english, f"{receiver} {noun.some}", f"{korean}에게 {marked(noun.korean, '을/를')}", Stem(verb.korean)
    )


@pattern("give", GIFTS, RECEIVERS, SUBJECTS, weight=1.5)
def give(gift: Joint, receiver: Subject, subject: Subject) -> Pair:
    return states(subject, giving(gift, receiver.english, receiver.korean), PAST)


@pattern("give future", GIFTS, RECEIVERS, SUBJECTS)
def give_future(gift: Joint, receiver: Subject, subject: Subject) -> Pair:
    return states(subject, giving(gift, receiver.english, receiver.korean), FUTURE)


@pattern("give me", GIFTS, Slot([group for group in SUBJECTS.groups if all(one.agreement != "first" for one in group)]))
def give_me(gift: Joint, subject: Subject) -> Pair:
    return states(subject, giving(gift, "me", "저" if subject.polite else "나"), PAST)
