"""Patterns of two clauses: but, and, because, when, if, before, after, while, to, that, who."""

from tongsa.phrasebook.adjectives import FITTING, PREDICATIVE, STATES, Adjective, adjectives
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
    states,
    thing,
)
from tongsa.phrasebook.conjugation import (
    Stem,
    ability,
    attach,
    command,
    connective,
    modifier,
    negative,
    past,
    statement,
)
from tongsa.phrasebook.english import Tense, gerund, spaced
from tongsa.phrasebook.fillings import (
    OTHER,
    POLITE,
    SELVES,
    STYLES,
    SUBJECTS,
    at,
    doable,
    free,
    of,
    timed,
    visits,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import TIMES, Noun, Subject, nouns, politely
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, Act

JOINS = Chapter()
pattern = JOINS.pattern


def optional(words: list[Word]) -> list[Word]:
    """Or nothing, as likely as all of them together would be in three draws."""
    return [Word("", ""), *words]


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


NONE = Slot([[Word("", "")]])
PAST_DAYS = Slot([[Word("", "")], [timed(time) for time in TIMES if time.tenses == (PAST,) and not time.scale]])


TASTE = of(
    "like", "hate", "want", "learn", "study", "teach", "play", "drink", "raise", "collect", "live in", "wear", "sell"
)


@pattern("but", contrasts(TASTE), SUBJECTS, OTHER, weight=1.5)
def but_present(joint: Joint, subject: Subject, other: Subject) -> Pair:
    return but(joint, subject, other, PRESENT, Word("", ""))


@pattern("but past", contrasts(doable(lambda verb: free(verb, "n", "u"))), SUBJECTS, OTHER, PAST_DAYS, weight=2)
def but_past(joint: Joint, subject: Subject, other: Subject, time: Word) -> Pair:
    return but(joint, subject, other, PAST, time)


FIRST = of(
    "eat", "drink", "buy", "clean", "wash {own} hands", "wash {own} face", "brush {own} teeth", "read", "write", "exercise",
    "do {own} homework", "do the dishes", "do the laundry", "take a shower", "meet", "call", "cook", "finish",
    "turn off", "pack",
)  # fmt: skip
SECOND = of(
    "go", "return", "sleep", "rest", "watch", "listen to", "play", "study", "take a walk", "run", "swim", "work", "practice",
    "draw", "talk with", "dance", "sing", "play with", "visit", "shop", "bake",
)  # fmt: skip
FUTURE_DAYS = Slot([[Word("", "")], [timed(time) for time in TIMES if time.tenses == (FUTURE,) and not time.scale]])


def and_then(one: Joint, two: Joint, time: Word, subject: Subject, tense: Tense) -> Pair:
    (first, here), (second, there) = one.parts, two.parts
    start = english_statement(subject, doing(first), tense, Setting(place=at(here)))
    silent = subject._replace(english="")
    predicate = doing(second)
    end = english_statement(silent, predicate, tense, Setting(place=at(there), time=time.pair)).removeprefix("will ")
    opening = korean_predicate(doing(first), attach(first.stem.text, "고"), Setting(time=time.pair, place=at(here)))
    close = korean_predicate(predicate, statement(second.stem, tense, subject.polite), Setting(place=at(there)))
    return said(subject.polite, f"{start} and {end}", spaced(subject.topic, opening, close))


@pattern("and past", visits(FIRST), visits(SECOND), PAST_DAYS, SUBJECTS, weight=2.5)
def and_past(one: Joint, two: Joint, time: Word, subject: Subject) -> Pair:
    return and_then(one, two, time, subject, PAST)


@pattern("and future", visits(FIRST), visits(SECOND), FUTURE_DAYS, SUBJECTS, weight=2)
def and_future(one: Joint, two: Joint, time: Word, subject: Subject) -> Pair:
    return and_then(one, two, time, subject, FUTURE)


PRONOUN = {"my": "I", "your": "you", "his": "he", "her": "she", "our": "we", "their": "they"}


def again(subject: Subject) -> Subject:
    """The pronoun for a subject already named."""
    return subject._replace(english=PRONOUN[subject.own])


CAUSES = {
    "tired 피곤하다": (("rest", ""), ("sleep", ""), ("take a shower", ""), ("go", "home"), ("drink", "coffee"), ("lie on", "bed, sofa")),
    "hungry 배고프다": (("eat", "*"), ("order", "pizza, bibimbap, bulgogi, hamburger, noodles"), ("boil", "ramen"), ("make", "sandwich")),
    "thirsty 목마르다": (("drink", "*"), ("order", "juice, green tea, beer"), ("buy", "watermelon, orange")),
    "sick 아프다": (("rest", ""), ("sleep", ""), ("go", "hospital, pharmacy, home"), ("lie on", "bed, sofa")),
    "happy 행복하다": (("laugh", ""), ("sing", "*"), ("dance", "")),
    "busy 바쁘다": (("hurry", ""), ("take", "taxi, subway"), ("order", "pizza, sandwich")),
}  # fmt: skip
INNER_CAUSES = {
    "bored 심심하다": (("watch", "*"), ("read", "*"), ("listen to", "*"), ("play", "*"), ("draw", "*"), ("take a walk", ""), ("call", "*")),
    "sad 슬프다": (("cry", ""), ("listen to", "music, song"), ("write", "letter, poem"), ("call", "*")),
    "lonely 외롭다": (("call", "*"), ("raise", "cat, dog, puppy"), ("meet", "*")),
    "cold 춥다": (("wear", "coat, sweater, gloves, boots, jacket"), ("close", "window, door"), ("drink", "tea, coffee, green tea")),
    "hot 덥다": (("swim", ""), ("open", "window, door"), ("drink", "water, juice, beer"), ("eat", "ice cream, watermelon"), ("take a shower", "")),
    "nervous 불안하다": (("take a walk", ""), ("call", "*"), ("practice", "*"), ("listen to", "music")),
}  # fmt: skip


def caused(table: dict[str, tuple[tuple[str, str], ...]]) -> Slot[Joint]:
    groups = []
    for entry, effects in table.items():
        cause = adjectives(entry)
        for verb, names in effects:
            chosen = names.split(", ")
            acts = [act for act in of(verb) if names in ("", "*") or act.words[1] in chosen]
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
    return because(subject, *joint.parts, PRESENT, Word("", ""))


@pattern("because past", EFFECTS, SUBJECTS, PAST_DAYS, weight=1.5)
def because_past(joint: Joint, subject: Subject, time: Word) -> Pair:
    return because(subject, *joint.parts, PAST, time)


@pattern("because of feeling", INNER_EFFECTS, SELVES, PAST_DAYS)
def because_feeling(joint: Joint, subject: Subject, time: Word) -> Pair:
    return because(subject, *joint.parts, PAST, time)


HINDRANCES = Slot([adjectives("busy 바쁘다, tired 피곤하다, sick 아프다")])
PLANS = of(
    "watch", "meet", "go", "exercise", "swim", "study", "visit", "shop", "clean", "cook", "practice", "do {own} homework",
    "write", "read", "play", "take a walk", "do the laundry", "travel", "call", "invite", "help",
)  # fmt: skip


@pattern("because not", PLANS, HINDRANCES, SUBJECTS, PAST_DAYS, weight=1.5)
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
FAR = ("Seoul", "Busan", "Korea", "Japan", "China", "America", "France", "bathroom", "kitchen", "home")
OUT = Slot([[act for act in of("go") if act.words[1] not in FAR]])
OUTDOORS = Slot([*OUT.groups, *of("take a walk", "run", "fish", "ride", "travel", "shop").groups])


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


FLAWS = Slot(
    Crossed([quality], nouns("*garment, *footwear, *furniture, hat, bag, umbrella, box, house, bicycle, car, computer"))
    if quality.english == "expensive"
    else Crossed([quality], [noun for noun in held if noun.english in buyable])
    for buyable in [
        {
            noun.english
            for noun in nouns("*garment, *footwear, *furniture, hat, bag, umbrella, mirror, box, blanket, camera")
        }
    ]
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
    "sweet 달다": "apple, banana, pear, peach, strawberry, watermelon, cake, chocolate, candy, cookie, juice, ice cream",
    "delicious 맛있다": "*fruit, -lemon, *snack, *dish, *meat, *drink, -water",
    "cute 귀엽다": "dog, puppy, cat, bird, rabbit, duck, monkey",
    "interesting 재미있다": "history, science, novel, movie, drama, comic book",
    "beautiful 아름답다": "flower, rose, song, spring, fall",
    "warm 따뜻하다": "spring, coat, sweater",
    "spicy 맵다": "kimchi, ramen, bibimbap",
    "fresh 신선하다": "fruit juice, salad",
}
LIKINGS = Slot(Crossed(adjectives(entry), nouns(names.replace("fruit juice, ", ""))) for entry, names in LIKED.items())


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
    return when_so(subject, *joint.parts)


@pattern("when feeling", INNER_EFFECTS, SELVES, weight=0.8)
def when_feeling(joint: Joint, subject: Subject) -> Pair:
    return when_so(subject, *joint.parts)


INDOORS = of(
    "drink", "read", "watch", "listen to", "rest", "sleep", "cook", "study", "clean", "bake", "play with", "practice"
)
SKIES = Slot([[Word("it rains", "비가 올 때", ("rain",)), Word("it snows", "눈이 올 때", ("snow",)),
               Word("it is cold", "추울 때", ("cold",)), Word("it is hot", "더울 때", ("hot",))]])  # fmt: skip


@pattern("when it rains", INDOORS, SKIES, SUBJECTS)
def when_it_rains(act: Act, sky: Word, subject: Subject) -> Pair:
    english = english_statement(subject, doing(act), PRESENT)
    korean = korean_predicate(doing(act), statement(act.stem, PRESENT, subject.polite))
    return said(subject.polite, f"{english} when {sky.english}", spaced(subject.topic, sky.korean, korean))


BUSY = of(
    "read", "write", "watch", "listen to", "study", "clean", "cook", "sing", "dance", "play", "play with", "draw", "practice",
    "sleep", "rest", "work", "exercise", "take a shower", "do {own} homework", "do the dishes", "talk with", "translate",
)  # fmt: skip
ARRIVALS = of("come", "call", "arrive")


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


CONDITIONS = Slot([[Word("the weather is good", "날씨가 좋으면", ("weather", "good")), Word("it does not rain", "비가 안 오면", ("rain",)),
                    Word("it is not cold", "춥지 않으면", ("cold",)), Word("it is warm", "따뜻하면", ("warm",))]])  # fmt: skip
DAYS = Slot([[Word("", ""), Word("tomorrow", "내일", ("tomorrow",)), Word("on the weekend", "주말에", ("weekend",)),
              Word("on Saturday", "토요일에", ("Saturday",)), Word("on Sunday", "일요일에", ("Sunday",))]])  # fmt: skip
OUTINGS = Slot(
    [*OUT.groups, *of("take a walk", "run", "fish", "swim", "ride", "take a photo", "wash", "plant", "shop").groups]
)


@pattern("if", OUTINGS, CONDITIONS, DAYS, SUBJECTS)
def if_weather(act: Act, condition: Word, day: Word, subject: Subject) -> Pair:
    english = english_statement(subject, doing(act), FUTURE) + f" if {spaced(condition.english, day.english)}"
    korean = korean_predicate(doing(act), statement(act.stem, FUTURE, subject.polite))
    return said(subject.polite, english, spaced(day.korean, condition.korean, subject.topic, korean))


@pattern("if tired", Slot([*EFFECTS.groups[:12], *INNER_EFFECTS.groups]), STYLES, fixed="you")
def if_state(joint: Joint, style: Word) -> Pair:
    act, adjective = joint.parts
    if_so = attach(adjective.stem.text, "(으)면")
    korean = spaced(if_so, act.before, command(act.stem, style is POLITE))
    return said(style is POLITE, f"{act.english('your')} if you are {adjective.english}", korean)


def sequel(one: Act, two: Act, subject: Subject, tense: Tense, link: str, ending: str) -> Pair:
    """One does the first before or after the second."""
    english = english_statement(subject, doing(one), tense)
    done = spaced(gerund(two.head), two.rest.replace("{own}", subject.own))
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


ACCOMPANIED = of(
    "walk", "study", "work", "cook", "clean", "drive", "exercise", "read", "do the dishes", "draw", "take a walk"
)
ACCOMPANYING = of("listen to", "sing", "drink")


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


ERRAND_VERBS = ("eat", "drink", "buy", "read", "watch", "see", "study", "learn", "meet", "exercise", "swim", "run", "shop",
                "take a walk", "take a photo", "fish", "rest", "play", "work", "teach")  # fmt: skip
TRIPS = Slot(
    Crossed(acts, [place for place in verb.where if place.words != ("home",) and place.words != ("room",)])
    for verb, acts in ACTS.items()
    if verb.english in ERRAND_VERBS and verb.where and any(place.words != ("home",) for place in verb.where)
)


@pattern("purpose", TRIPS, SUBJECTS, fixed="go", weight=1.5)
def purpose_past(located: Joint, subject: Subject) -> Pair:
    return purpose(located, subject, PAST)


@pattern("purpose future", TRIPS, SUBJECTS, fixed="go")
def purpose_future(located: Joint, subject: Subject) -> Pair:
    return purpose(located, subject, FUTURE)


def done(*names: str) -> Slot[Joint]:
    """Acts on a thing, each with an adjective that suits the thing."""
    return Slot(
        [
            Joint((act, quality))
            for act in acts
            if act.thing
            for quality in FITTING.get(act.thing.english, ())
            if quality in PREDICATIVE and quality.english != "good"
        ]
        for acts in of(*names).groups
    )


def of_the_past(act: Act, subject: Subject, time: Word) -> Pair:
    """The noun with its relative clause: the hat that I bought, 내가 산 모자."""
    noun = act.thing
    assert noun is not None  # noqa: S101
    clause = english_statement(subject, Predicate(act.head, "", "", act.stem), PAST, Setting(time=time.pair))
    korean = spaced(subject.nominative, time.korean, attach(act.stem.text, "(으)ㄴ"), noun.korean)
    return f"the {noun.english} that {clause}", korean


def relative(joint: Joint, subject: Subject, time: Word, tense: Tense) -> Pair:
    act, quality = joint.parts
    english, korean = of_the_past(act, subject, time)
    topic = Subject(english, korean, act.thing.agreement, polite=subject.polite)
    return states(topic, described(quality), tense)


@pattern(
    "relative subject", done("buy", "make", "borrow", "choose", "wear"), SUBJECTS, PAST_DAYS, fixed="that", weight=1.5
)
def relative_subject(joint: Joint, subject: Subject, time: Word) -> Pair:
    return relative(joint, subject, time, PRESENT)


@pattern(
    "relative past",
    done("eat", "watch", "read", "drink", "order", "sing"),
    SUBJECTS,
    PAST_DAYS,
    fixed="that",
    weight=1.5,
)
def relative_past(joint: Joint, subject: Subject, time: Word) -> Pair:
    return relative(joint, subject, time, PAST)


KEEPING = of("buy", "make", "borrow", "choose", "write", "wear")
WORKS = of("buy", "make", "recommend", "watch", "read", "write", "sing")
ATTITUDES = Slot([[word("like", "좋아하"), word("hate", "싫어하"), word("remember", "기억하")]])


@pattern("relative object", WORKS, ATTITUDES, OTHER, SUBJECTS, fixed="that", weight=1.5)
def relative_object(act: Act, attitude: Word, other: Subject, subject: Subject) -> Pair:
    english, korean = of_the_past(act, other, Word("", ""))
    return states(
        subject, Predicate(attitude.english, english, marked(korean, "을/를"), Stem(attitude.korean)), PRESENT
    )


@pattern("relative question", KEEPING, SUBJECTS, PAST_DAYS, fixed="where that", weight=1.5)
def relative_question(act: Act, subject: Subject, time: Word) -> Pair:
    english, korean = of_the_past(act, subject, time)
    be = "are" if act.thing and act.thing.number == "plural" else "is"
    final = "있어요?" if subject.polite else "있니?"
    return said(subject.polite, f"where {be} {english}?", f"{marked(korean, '은/는')} 어디에 {final}")


def tie(english: str, korean: str) -> Word:
    return Word(f"my {english}", korean, (english,))


ANYONE = [tie("friend", "친구"), tie("cousin", "사촌"), tie("classmate", "반 친구")]
TIES = Slot(
    [
        Crossed(nouns("man, boy"), [*ANYONE, tie("younger brother", "남동생")]),
        Crossed(nouns("woman, girl"), [*ANYONE, tie("younger sister", "여동생")]),
        Crossed(nouns("child, student"), [tie("son", "아들"), tie("cousin", "사촌"), tie("younger brother", "남동생")]),
    ]
)


@pattern("relative who", BUSY, TIES, STYLES, fixed="who", weight=1.5)
def relative_who(act: Act, joint: Joint, style: Word) -> Pair:
    who, kin = joint.parts
    mine = "제" if style is POLITE else "내"
    own = "her" if who.english in ("woman", "girl") else "his"
    predicate = progressing(act)
    korean = spaced(korean_predicate(predicate, modifier(predicate.stem)), marked(who.korean, "은/는"))
    doing_so = predicate.rest.replace("{own}", own)
    final = statement(Stem(f"{mine} {kin.korean}", "copula"), PRESENT, style is POLITE)
    return said(style is POLITE, f"the {who.english} who is {doing_so} is {kin.english}", f"{korean} {final}")


ADULT = Slot([nouns("man, woman")])
VOCATIONS = of("teach", "learn", "sell", "write", "live in", "raise", "collect", "play", "build")


@pattern("know who", VOCATIONS, ADULT, SELVES, fixed="know who")
def know_who(act: Act, who: Noun, subject: Subject) -> Pair:
    third = Subject(f"{who.some} who", "")
    clause = english_statement(third, doing(act)._replace(rest=act.general), PRESENT)
    before = f"{spaced(act.before, attach(act.stem.text, '는'))} {marked(who.korean, '을/를')}"
    return states(subject, Predicate("know", clause, before, Stem("알")), PRESENT)


@pattern("hearsay", doable(lambda verb: free(verb, "s", "n")), OTHER, SUBJECTS, fixed="hear that", weight=1.5)
def hearsay(act: Act, other: Subject, subject: Subject) -> Pair:
    clause = english_statement(other, doing(act), PAST)
    before = f"{other.nominative} {spaced(act.before, past(act.stem))}다고"
    return states(subject, Predicate("hear", f"that {clause}", before, Stem("듣")), PAST)


@pattern(
    "saying",
    Slot([STATES, adjectives("sad 슬프다, lonely 외롭다, bored 심심하다, cold 춥다, hot 덥다")]),
    SUBJECTS,
    fixed="say that",
)
def saying(adjective: Adjective, subject: Subject) -> Pair:
    clause = english_statement(again(subject), described(adjective), PAST)
    before = connective(adjective.stem, PRESENT, "다고")
    return states(subject, Predicate("say", f"that {clause}", before, Stem("말하")), PAST)


@pattern(
    "though tired",
    HINDRANCES,
    of("study", "exercise", "work", "clean", "cook", "go", "do {own} homework", "practice", "help", "read"),
    SUBJECTS,
    PAST_DAYS,
    weight=1.5,
)
def though(adjective: Adjective, act: Act, subject: Subject, time: Word) -> Pair:
    state = english_statement(subject, described(adjective), PAST)
    english = english_statement(again(subject), doing(act), PAST, Setting(time=time.pair))
    korean = korean_predicate(doing(act), statement(act.stem, PAST, subject.polite), Setting(time=time.pair))
    but = connective(adjective.stem, PAST, "지만")
    return said(subject.polite, f"{state} but {english}", spaced(subject.topic, but, korean))


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
