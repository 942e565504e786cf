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
    states,
)
from tongsa.phrasebook.conjugation import Stem
from tongsa.phrasebook.fillings import (
    ACTIVE,
    ANY,
    ASKED,
    COMPANY,
    DAILY_VERBS,
    FREQUENCY,
    HABITUAL,
    LOCATED,
    MANNERED,
    ONE,
    ONGOING,
    PLAINLY_TOLD,
    PRESENTLY_LOCATED,
    PRESENTLY_MANNERED,
    SUBJECTS,
    TOLD,
    UNAMBIGUOUS_VERBS,
    WITH_YOU,
    at,
    of,
    when,
    where_and_when,
    with_,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import nouns, places
from tongsa.phrasebook.persons import OTHER_NAMES, Subject
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import GIVING_TABLE, Act

ACTIONS = Chapter()
pattern = ACTIONS.pattern


@pattern("present", PLAINLY_TOLD, WITH_YOU, weight=3)
def present(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), PRESENT)


@pattern("past", ANY, WITH_YOU, weight=3)
def past(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST)


@pattern("future", ACTIVE, WITH_YOU, weight=2)
def future(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), FUTURE)


@pattern("negative present", TOLD, WITH_YOU, weight=2)
def negative_present(act: Act, subject: Subject) -> Pair:
    return denies(subject, doing(act), PRESENT)


@pattern("negative past", ANY, WITH_YOU, weight=2)
def negative_past(act: Act, subject: Subject) -> Pair:
    return denies(subject, doing(act), PAST)


@pattern("negative future", ACTIVE, SUBJECTS)
def negative_future(act: Act, subject: Subject) -> Pair:
    return denies(subject, doing(act), FUTURE)


@pattern("question", TOLD, ASKED, weight=2)
def present_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), PRESENT)


@pattern("past question", ANY, ASKED, weight=2)
def past_question(act: Act, subject: Subject) -> Pair:
    return asks(subject, doing(act), PAST)


@pattern("future question", ACTIVE, ASKED)
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


@pattern("present with time", when(UNAMBIGUOUS_VERBS, PRESENT), SUBJECTS)
def present_time(timed: Joint, subject: Subject) -> Pair:
    act, time = timed.parts
    return states(subject, doing(act), PRESENT, Setting(time=time.pair))


@pattern("past with time", when(DAILY_VERBS, PAST), SUBJECTS, weight=2)
def past_time(timed: Joint, subject: Subject) -> Pair:
    act, time = timed.parts
    return states(subject, doing(act), PAST, Setting(time=time.pair))


@pattern("future with time", when(DAILY_VERBS, FUTURE), SUBJECTS, weight=2)
def future_time(timed: Joint, subject: Subject) -> Pair:
    act, time = timed.parts
    return states(subject, doing(act), FUTURE, Setting(time=time.pair))


@pattern("past question with time", when(DAILY_VERBS, PAST), ASKED)
def past_question_time(timed: Joint, subject: Subject) -> Pair:
    act, time = timed.parts
    return asks(subject, doing(act), PAST, Setting(time=time.pair))


@pattern("future question with time", when(DAILY_VERBS, FUTURE), ASKED)
def future_question_time(timed: Joint, subject: Subject) -> Pair:
    act, time = timed.parts
    return asks(subject, doing(act), FUTURE, Setting(time=time.pair))


def here(joint: Joint) -> tuple[Act, Setting]:
    act, place = joint.parts
    return act, Setting(place=at(place))


@pattern("present with place", PRESENTLY_LOCATED, SUBJECTS)
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


@pattern("past with place and time", where_and_when(DAILY_VERBS, PAST), SUBJECTS, weight=1.5)
def past_place_time(joint: Joint, subject: Subject) -> Pair:
    act, place, time = joint.parts
    return states(subject, doing(act), PAST, Setting(time=time.pair, place=at(place)))


@pattern("future with place and time", where_and_when(DAILY_VERBS, FUTURE), SUBJECTS, weight=1.5)
def future_place_time(joint: Joint, subject: Subject) -> Pair:
    act, place, time = joint.parts
    return states(subject, doing(act), FUTURE, Setting(time=time.pair, place=at(place)))


@pattern("frequency", HABITUAL, FREQUENCY, SUBJECTS)
def frequency(act: Act, often: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), PRESENT, Setting(frequency=often.pair))


@pattern("manner", PRESENTLY_MANNERED, SUBJECTS, weight=1.5)
def manner(mannered: Joint, subject: Subject) -> Pair:
    act, how = mannered.parts
    return states(subject, doing(act), PRESENT, Setting(manner=how.pair))


@pattern("past manner", MANNERED, SUBJECTS)
def past_manner(mannered: Joint, subject: Subject) -> Pair:
    act, how = mannered.parts
    return states(subject, doing(act), PAST, Setting(manner=how.pair))


@pattern("manner question", MANNERED, ASKED)
def manner_question(mannered: Joint, subject: Subject) -> Pair:
    act, how = mannered.parts
    return asks(subject, doing(act), PRESENT, Setting(manner=how.pair))


PUNCTUAL = Slot(
    [
        [act for act in group if act.head != "eat" or act.words[1] in ("breakfast", "lunch", "dinner")]
        for group in of("go, come, get up, return, arrive, leave, eat, finish").groups
    ]
)
EARLY = Slot([[Word("early", "일찍", ("early",)), Word("late", "늦게", ("late",))]])


@pattern("early", PUNCTUAL, EARLY, SUBJECTS)
def early(act: Act, hour: Word, subject: Subject) -> Pair:
    return states(subject, doing(act), FUTURE, Setting(manner=hour.pair))


@pattern("early question", PUNCTUAL, EARLY, ASKED)
def early_question(act: Act, hour: Word, subject: Subject) -> Pair:
    return asks(subject, doing(act), PAST, Setting(manner=hour.pair))


SHARED = of(
    "eat, drink, watch, study, learn, swim, exercise, take a walk, take a photo, shop, walk, cook, go, "
    "travel, sing, dance, clean, practice, prepare, prepare for, draw, bake, live in, stay at, fish, rest"
)


@pattern("past with company", SHARED, COMPANY, SUBJECTS)
def past_company(act: Act, other: Subject, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST, Setting(company=with_(other)))


@pattern("future with company", SHARED, COMPANY, SUBJECTS)
def future_company(act: Act, other: Subject, subject: Subject) -> Pair:
    return states(subject, doing(act), FUTURE, Setting(company=with_(other)))


@pattern("alone", SHARED, ONE, fixed="alone", weight=0.7)
def alone(act: Act, subject: Subject) -> Pair:
    return states(subject, doing(act), PAST, Setting(company=("alone", "혼자")))


NEAR = "school, bank, market, library, park, station, hospital, zoo, museum, department store, beach, church, theater"
RIDES = Slot(
    [
        Crossed(places(NEAR), nouns("bus, subway, taxi, car, bicycle")),
        Crossed(places("Busan, Seoul"), nouns("train, bus, airplane, car")),
        Crossed(places("Korea, Japan, China"), nouns("airplane, ship")),
    ]
)


@pattern("by vehicle", RIDES, SUBJECTS, fixed="go")
def by_vehicle(ride: Joint, subject: Subject) -> Pair:
    place, vehicle = ride.parts
    way = (f"by {vehicle.english}", marked(vehicle.korean, "으로/로"))
    return states(subject, Predicate("go", place.to, place.korean + "에", Stem("가")), PAST, Setting(place=way))


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
