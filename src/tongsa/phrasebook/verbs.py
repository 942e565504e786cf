"""Verbs of both languages with the objects, places and manners that suit them."""

from typing import NamedTuple

from tongsa.phrasebook.conjugation import Stem
from tongsa.phrasebook.english import head_and_rest, owned, spaced
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import Noun, Place, nouns, places
from tongsa.phrasebook.persons import OTHER_NAMES, OTHERS

# English | Korean stem | objects | mark of the object | flags | where it is done | how it is done.
# Objects are named as new (some), known (the), a kind (any), the subject's (own), a goal (to, in), a place or a person.
# Flags: s a state, p of a moment, e an event told as past or to come, n not willed; and when: t at night too,
# y of years too, l only of long spans, d a part of every day; u nothing one wishes for;
# a one form for present and past.
TABLE = """
eat | 먹 | some: *fruit, -lemon, *snack, *dish, *meat, *meal, tomato, egg | flags: t | where: restaurant,
    home, park | how: fast, slowly, a lot
drink | 마시 | some: *drink | flags: t | where: café, home, restaurant, office | how: slowly, a
    lot
drink | 마시 | some: *alcohol | flags: t | where: home, restaurant | how: slowly, a lot
buy | 사 | some: *fruit, *vegetable, *snack, *meat, bread, cheese, tofu | where: market, supermarket,
    department store
buy | 사 | some: *garment, *footwear, *headwear, *handwear, bag, umbrella, towel, blanket | where:
    department store, market
buy | 사 | some: *goods, *plaything, *furniture, *appliance, *wheels, *flower, *stationery, ticket, card
buy | 사 | some: *reading, map, notebook, pen, card | where: bookstore
sell | 팔 | any: *fruit, *vegetable, *garment, *footwear, *flower, *goods, hat, beef | where: market
read | 읽 | some: *reading, -dictionary, letter, poem, report | flags: at | where: library, home, café |
    how: slowly, quietly, a lot
write | 쓰 | some: *writing | flags: t | where: home, café, office | how: well, slowly
watch | 보 | some: *show | flags: t | where: home | how: quietly
see | 보 | some: *beast, horse, rabbit, duck | flags: pn | where: zoo
listen to | 듣 | some: *art, -dance, story | flags: t | where: home, café, park, room | how: quietly
learn | 배우 | any: *language, *subject | flags: y | where: school | how: fast
learn | 배우 | any: *skill, *sport, *racket | flags: y | how: fast
study | 공부하 | any: *language, *subject | flags: ty | where: library, school, home, café | how: hard,
    quietly
teach | 가르치 | any: *skill, *racket, music | flags: y | how: well
teach | 가르치 | any: *language, *subject | flags: y | where: school | how: well
like | 좋아하 | any: *fruit, *snack, *dish, *meat, *drink, *alcohol, *animal, *beast, *language, *subject,
    *flower | flags: s
like | 좋아하 | any: *sport, *racket, *season, music, movie, comic book, poem, trip, party, child | flags: s
hate | 싫어하 | any: *vegetable, *dish, -cake, exam, meeting, mouse, math, winter, summer, homework | flags:
    s
want | 원하 | some: *wheels, *instrument, *appliance, *garment, puppy, cat, ring, doll, toy, bed, sofa |
    flags: s
meet | 만나 | person | where: café, park, station, library
wait for | 기다리 | person | where: café, park, station, library
wait for | 기다리 | the: bus, train, taxi, subway | where: station
help | 돕 | person
invite | 초대하 | person
call | 전화하 | person | mark: 에게 | flags: t
hug | 안 | the: child, puppy, cat, doll
visit | 방문하 | place: museum, hospital
visit | 방문하 | place: Korea, Japan, China, America, France, Seoul, Busan | flags: yl
clean | 청소하 | the: *room, house, refrigerator | flags: t | how: quickly
wash | 빨 | own: *garment, -suit, socks, sneakers, gloves, towel, blanket
wash {own} hands | 손을 씻 | flags: dt | where: bathroom, kitchen | how: quickly
wash {own} face | 세수를 하 | flags: dt | how: quickly
brush {own} teeth | 이를 닦 | flags: dt | where: bathroom | how: quickly
cook | 요리하 | any: *meat, noodles, tofu, potato, mushroom, egg | flags: t | where: kitchen | how: well, fast
make | 만들 | some: *snack, salad, kimchi, soup, doll, toy, chair, card, bread | where: home |
    how: well
open | 열 | the: *opening, box, bag, refrigerator | how: slowly, quietly
close | 닫 | the: *opening, refrigerator | how: slowly, quietly
use | 사용하 | the: *appliance, -television, -refrigerator, dictionary, umbrella, knife, towel, map, soap
look for | 찾 | own: key, wallet, phone, bag, glasses, umbrella, hat, ring, notebook, book, puppy, ticket
lose | 잃어버리 | own: key, wallet, phone, bag, umbrella, hat, ring, ticket, money, gloves, notebook | flags:
    en
forget | 잊어버리 | the: name, word, promise, dream, problem, story | flags: en
remember | 기억하 | the: name, word, promise, dream, story, song, trip | flags: sn | how: well
believe | 믿 | person | flags: s
borrow | 빌리 | some: *reading, -dictionary, umbrella, pen, eraser, camera, bicycle, pencil, knife
bring | 가져오 | some: *drink, *snack, umbrella, bag, camera, guitar, towel, blanket, cup, chair, plate,
    spoon, ball, map | flags: u
take | 타 | the: bus, train, subway, taxi, airplane, ship
ride | 타 | some: bicycle, horse | where: park | how: well
drive | 운전하 | some: car, bus, taxi | flags: t | how: well, slowly, fast
wear | 입 | some: *garment, -skirt, -dress
wear | 신 | some: *footwear
wear | 쓰 | some: *headwear
wear | 끼 | some: *handwear
take off | 벗 | own: coat, jacket, sweater, shoes, socks, hat, glasses, gloves, boots, sneakers | flags: u
    | how: quickly
sing | 부르 | some: song | flags: t | where: room | how: well
dance | 춤을 추 | flags: t | where: room, living room | how: well
play | 치 | the: piano, guitar | flags: t | where: home, church | how: well
play | 켜 | the: violin | flags: t | where: home, church | how: well
play | 하 | any: *sport | flags: t | where: school, park, playground | how: well
play | 치 | any: *racket | flags: t | where: park, gym | how: well
play with | 놀 | the: *animal, -cow, -pig, -chicken, -duck, -horse, -bird, child | mark: 와/과 | flags: t |
    where: garden, park, living room
draw | 그리 | some: *flower, tree, map, dog, cat, bird, horse, rabbit, tiger, elephant | where: home, school | how: well
take a photo | 사진을 찍 | where: park, beach, zoo, museum | how: well
cut | 자르 | the: cake, bread, watermelon, cheese, carrot, onion | flags: au | how: well, slowly
fix | 고치 | the: *wheels, *appliance, -phone, clock, door, window, chair, bed | how: fast, well
choose | 고르 | some: *garment, *footwear, *reading, *furniture, hat, card, ring, bag
throw | 던지 | the: ball, toy, pillow | flags: u | how: fast, well
catch | 잡 | the: ball, mouse, rabbit, chicken, duck | flags: u | how: well
push | 밀 | the: *furniture, -table, door, box, car | flags: u | how: slowly
pull | 당기 | the: chair, door, blanket, table | flags: u | how: slowly
carry | 나르 | the: *furniture, box, basket, refrigerator, piano | flags: u | how: slowly
raise | 키우 | some: *animal | flags: l | where: home
feed | 먹이를 주 | the: *animal, monkey, bear | mark: 에게 | where: zoo
plant | 심 | some: tree, rose, flower
build | 짓 | some: house, school | flags: l
ask | 물어보 | person | mark: 에게
answer | 대답하 | the: question | mark: 에 | flags: u | how: well, quickly, slowly
start | 시작하 | the: class, meeting, exam, party | flags: p
finish | 끝내 | the: homework, report, meeting, class | flags: pe | how: quickly
turn on | 켜 | the: light, computer, television, radio | flags: p
turn off | 끄 | the: light, computer, television, radio, phone | flags: p
earn | 벌 | any: money | flags: l | how: a lot
save | 모으 | any: money | flags: l | how: a lot
spend | 쓰 | any: money | how: a lot
collect | 모으 | any: stamp, coin, doll, toy, card, photo, stamp | flags: l | how: a lot
order | 주문하 | some: *drink, -water, beer, wine, sandwich, cookie | where: restaurant, café
order | 주문하 | some: *dish, -tofu, -bread, -rice, -candy, hamburger | where: restaurant
recommend | 추천하 | some: *reading, movie, drama, song, hotel
change | 바꾸 | the: plan, name, song | flags: p
hide | 숨기 | the: letter, money, key, ring, box, photo, doll, candy | how: well
practice | 연습하 | the: *instrument, song, dance | flags: t | where: home, school | how: hard
prepare for | 준비하 | the: party, concert, festival, trip, meeting, exam | flags: l
prepare | 준비하 | some: *meal
explain | 설명하 | the: word, plan, problem, story, question | how: well, slowly
translate | 번역하 | the: letter, novel, poem, story, report, word | flags: t | how: well, fast
memorize | 외우 | the: word, poem, song, name | how: fast, well
pack | 싸 | own: bag | how: quickly
boil | 끓이 | any: water, soup, ramen | where: kitchen
bake | 굽 | any: bread, cookie, pizza | flags: t | where: home, bakery | how: well
wake up | 깨우 | person
sleep | 자 | flags: t | where: home, hotel, room | how: well, a lot
rest | 쉬 | flags: t | where: home, park, hotel, office | how: a lot
work | 일하 | flags: ty | where: bank, hospital, post office, café, Seoul, library, market, airport | how:
    hard, a lot
study | 공부를 하 | flags: ty | where: library, school, home, café, room | how: hard, a lot, quietly
exercise | 운동을 하 | flags: t | where: gym, park, home | how: hard, a lot
swim | 수영을 하 | where: sea, river, swimming pool, beach | how: well, fast
walk | 걷 | flags: t | where: park, beach, garden | how: fast, slowly, quietly, a lot
run | 달리 | flags: t | where: park, playground, beach | how: fast, slowly, well
get up | 일어나 | flags: dt | how: early, late, slowly
laugh | 웃 | flags: n | how: a lot, quietly
cry | 울 | flags: nt | where: room, bathroom | how: a lot, quietly
cook | 요리를 하 | flags: t | where: kitchen, home, restaurant | how: well
shop | 쇼핑을 하 | where: department store, market | how: a lot
travel | 여행을 하 | flags: yl | where: Korea, Japan, France, China, America | how: a lot
take a walk | 산책을 하 | where: park, beach, garden, village
take a shower | 샤워를 하 | flags: dt | where: bathroom, home, gym | how: quickly
do {own} homework | 숙제를 하 | flags: t | where: library, home, school, classroom | how: quickly
do the dishes | 설거지를 하 | flags: t | where: kitchen | how: quickly
do the laundry | 빨래를 하 | flags: t | where: home
fish | 낚시를 하 | where: sea, river
talk with | 이야기하 | person | mark: 와/과 | flags: t | where: café, park, station, library | how: a lot,
    quietly
fight with | 싸우 | person | mark: 와/과 | flags: u
marry | 결혼하 | name | mark: 와/과 | flags: epl
sit on | 앉 | the: chair, sofa, bed | mark: 에 | flags: u | how: quietly
lie on | 눕 | the: bed, sofa | mark: 에 | flags: u | how: quietly
live in | 살 | place: Seoul, Busan, Korea, Japan, China, America, France | mark: 에 | flags: pl
stay at | 머무르 | place: hotel | mark: 에
smoke | 담배를 피우 | flags: n | how: a lot
hurry | 서두르 | flags: up
fall | 넘어지 | flags: en | where: playground, park, bathroom
catch a cold | 감기에 걸리 | flags: en
go | 가 | to: school, work, home, bank, market, library, restaurant, café, station, airport, post office,
    bookstore, pharmacy, supermarket, department store, hotel, museum, theater, gym, zoo, swimming pool,
    bakery, flower shop, convenience store, hospital, office, beach, park, garden, playground, sea, river,
    Seoul, Busan, Korea, Japan, China, America, France, church, bus stop, bathroom, kitchen | mark: 에 |
    how: early, late
come | 오 | to: school, work, home, library, park, hospital, café, Korea, Seoul, office, market, restaurant
    | mark: 에 | how: early, late
walk | 걸어가 | to: school, home, station, park, market, library, work, bank, bus stop | mark: 에 | flags: t |
    how: slowly, fast
return | 돌아가 | to: school, Korea, Japan, home, work, hotel, Seoul, village, America | mark: 에 | how: late,
    early
arrive | 도착하 | in: school, station, airport, hotel, Seoul, Busan, Korea, hospital, bus stop | mark:
    에 | flags: epn | how: early, late
leave | 떠나 | place: Seoul, Korea, Busan, Japan, village, hotel, school | flags: ep | how: early, late
move | 이사하 | to: Seoul, Busan, Japan, America, village, China, France | mark: 으로/로 | flags: epl
travel | 여행을 가 | to: Korea, Japan, China, America, France, Busan, sea | mark: 으로/로 | flags: yl
"""
GIVING_TABLE = """
give 주: *flower, *reading, *drink, *snack, ring, card, umbrella, doll, toy, key, money, map, ticket, pen, hat
send 보내: letter, email, card, photo, money, book, flower, report, ticket
show 보여 주: photo, map, letter, ring, ticket, card, report, camera
lend 빌려주: *reading, umbrella, pen, eraser, camera, bicycle, money, car, pencil
"""
ADVERBS = {
    "fast": "빨리", "quickly": "빨리", "slowly": "천천히", "a lot": "많이", "well": "잘", "hard": "열심히",
    "early": "일찍", "late": "늦게", "quietly": "조용히",
}  # fmt: skip
FREQUENCIES = {"always": "항상", "usually": "보통", "sometimes": "가끔", "often": "자주"}
SMALL_WORDS = frozenset(("a", "the", "up", "on", "off", "for", "to", "with", "at", "in", "{own}"))


class Verb(NamedTuple):
    english: str
    """With its particle or preposition: wait for, turn on."""
    korean: str
    """The stem, perhaps with what belongs to it before: 춤을 추."""
    naming: str = ""
    objects: str = ""
    mark: str = "을/를"
    flags: str = ""
    where: tuple[Place, ...] = ()
    how: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for word in self.english.split() if word not in SMALL_WORDS)


class Act(NamedTuple):
    """A verb with its object: what a subject, a tense and a style make a clause of."""

    verb: Verb
    head: str
    rest: str
    before: str
    stem: Stem
    words: tuple[str, ...]
    thing: Noun | None = None
    """The object, where it is a thing that an adjective could describe."""

    def english(self, own: str) -> str:
        """The bare predicate: eat an apple."""
        return spaced(self.head, owned(self.rest, own))

    @property
    def general(self) -> str:
        """What follows the verb when the act is meant as a kind: read books, where once it is read a book."""
        if self.thing and self.verb.naming == "some":
            return spaced(head_and_rest(self.verb.english)[1], self.thing.any)
        return self.rest

    @property
    def definite(self) -> str:
        """What follows the verb when the object is known: read the book."""
        if self.thing and self.verb.naming == "some" and self.thing.number != "mass":
            return spaced(head_and_rest(self.verb.english)[1], "the", self.thing.english)
        return self.rest


def named(noun: Noun, naming: str) -> str:
    """The English noun phrase: an apple, the apple, apples, one's own apple."""
    match naming:
        case "some":
            return noun.some
        case "any":
            return noun.any
        case "own":
            return "{own} " + noun.english
    return "the " + noun.english


def objects(verb: Verb) -> list[tuple[str, str, tuple[str, ...], Noun | None]]:
    """English, Korean, words and noun of each object the verb may take."""
    match verb.naming:
        case "":
            return [("", "", (), None)]
        case "person":
            return [(other.english, other.korean, other.words, None) for other in OTHERS]
        case "name":
            return [(other.english, other.korean, other.words, None) for other in OTHER_NAMES]
        case "to":
            return [(place.to, place.korean, place.words, None) for place in places(verb.objects)]
        case "in":
            return [(place.at, place.korean, place.words, None) for place in places(verb.objects)]
        case "place":
            return [(place.english, place.korean, place.words, None) for place in places(verb.objects)]
    return [(named(noun, verb.naming), noun.korean, noun.words, noun) for noun in nouns(verb.objects)]


def acts(verb: Verb) -> tuple[Act, ...]:
    head, rest = head_and_rest(verb.english)
    before, _, stem = verb.korean.rpartition(" ")
    if verb.korean.startswith("보여 "):
        before, stem = "", verb.korean
    return tuple(
        Act(
            verb,
            head,
            spaced(rest, english),
            spaced(marked(korean, verb.mark) if korean else "", before),
            Stem(stem),
            (head, *words, *verb.words[1:]),
            noun,
        )
        for english, korean, words, noun in objects(verb)
    )


def parsed(table: str) -> tuple[Verb, ...]:
    verbs = []
    for line in table.strip().replace("\n    ", " ").splitlines():
        english, korean, *fields = line.split(" | ")
        options = {key: value for key, _, value in (field.partition(": ") for field in fields)}
        verb = Verb(
            english,
            korean,
            mark=options.pop("mark", "을/를"),
            flags=options.pop("flags", ""),
            where=places(options.pop("where", "")),
            how=tuple(options.pop("how", "").split(", ")) if "how" in options else (),
        )
        for naming, names in options.items():
            verb = verb._replace(naming=naming, objects=names)
        verbs.append(verb)
    return tuple(verbs)


VERBS = parsed(TABLE)
ACTS: dict[Verb, tuple[Act, ...]] = {}
_said: set[str] = set()
for _verb in VERBS:
    ACTS[_verb] = tuple(act for act in acts(_verb) if act.english("") not in _said)
    _said |= {act.english("") for act in ACTS[_verb]}
