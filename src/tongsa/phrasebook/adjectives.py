"""Adjectives of both languages, each with the nouns or persons it may describe."""

from typing import NamedTuple

from tongsa.phrasebook.conjugation import Stem, modifier
from tongsa.phrasebook.nouns import Noun, nouns


class Adjective(NamedTuple):
    english: str
    stem: Stem
    attributive: str = ""
    """The form before a noun where the stem does not give it: 새, 오래된."""

    @property
    def words(self) -> tuple[str, ...]:
        return (self.english,)

    @property
    def before(self) -> str:
        return self.attributive or modifier(self.stem)


def adjective(english: str, korean: str) -> Adjective:
    """An adjective given in dictionary form; those in 있다 conjugate as existence does."""
    stem = korean.removesuffix("다")
    return Adjective(english, Stem(stem, "existence" if stem.endswith("있") else "adjective"))


# adjective: the nouns it may describe; a star marks a class
QUALITY_TABLE = """
big 크다: *fruit, *furniture, *animal, *beast, *room, *vegetable, -egg, bag, umbrella, box, mirror, house,
    tree, television
small 작다: *fruit, *furniture, *animal, *room, *garment, *footwear, hat, bag, umbrella, box, mirror,
    house, cup, plate
long 길다: skirt, pants, dress, coat, letter, story, novel, movie, meeting
short 짧다: skirt, pants, dress, letter, story, poem, meeting, class
expensive 비싸다: *fruit, *meat, *garment, *footwear, *headwear, ring, *furniture, *appliance, *wheels,
    *instrument, bag, ticket
cheap 싸다: *fruit, *vegetable, *meat, *snack, *garment, *footwear, hat, *furniture, *stationery,
    umbrella, ticket, bicycle
pretty 예쁘다: *garment, -suit, -pants, *footwear, -socks, hat, ring, *flower, doll, card, bag, cup, umbrella
nice 멋지다: suit, jacket, coat, boots, car, bicycle, camera, house, hat, photo
heavy 무겁다: *furniture, bag, box, basket, dictionary, coat, computer, camera, blanket
light 가볍다: bag, box, basket, chair, camera, jacket, sneakers, umbrella, bicycle
clean 깨끗하다: *room, *garment, *footwear, cup, plate, towel, spoon, house, hotel, blanket, car
dirty 더럽다: *room, *garment, *footwear, cup, plate, towel, blanket, car, gloves, window
spacious 넓다: *room, house, hotel, school
narrow 좁다: room, kitchen, living room, bathroom, classroom, office
fast 빠르다: bus, train, taxi, airplane, subway, ship, car, horse
slow 느리다: bus, train, taxi, ship, computer
hot 뜨겁다: soup, coffee, tea, water, green tea, ramen
cold 차갑다: water, milk, juice, beer, noodles
warm 따뜻하다: coat, sweater, gloves, blanket, room, boots, socks, house
delicious 맛있다: *fruit, *snack, *dish, *meat, *meal, *drink, -water
sweet 달다: apple, banana, pear, peach, strawberry, watermelon, cake, chocolate, candy, cookie, juice, ice cream
salty 짜다: soup, ramen, kimchi, cheese, pizza
spicy 맵다: kimchi, ramen, soup, noodles, bibimbap
sour 시다: lemon, orange, kimchi, juice
bitter 쓰다: coffee, tea, medicine, beer, green tea
fresh 신선하다: *fruit, *vegetable, -mushroom, milk, salad, beef, pork, juice
difficult 어렵다: *language, *subject, exam, homework, question, word, problem, class, novel, poem
easy 쉽다: *language, *subject, exam, homework, question, word, problem, class, song
interesting 재미있다: *reading, -dictionary, movie, drama, story, class, soccer game, trip, festival,
    history, science
boring 지루하다: novel, magazine, movie, drama, class, meeting, soccer game, concert
important 중요하다: exam, meeting, class, letter, question, promise, problem, plan
famous 유명하다: singer, actor, doctor, song, novel, movie, school, hotel, festival, poem
quiet 조용하다: room, classroom, office, hotel, house
bright 밝다: room, living room, kitchen, office, classroom
dark 어둡다: room, living room, kitchen, bathroom, house
comfortable 편하다: sneakers, shoes, chair, bed, sofa, pants, pillow
cute 귀엽다: *animal, -cow, -chicken, -horse, child, doll, monkey
red 빨갛다: apple, strawberry, rose, flower, hat, bag, umbrella, skirt, dress, car, shoes, gloves, box
blue 파랗다: shirt, skirt, pants, hat, bag, umbrella, dress, car, cup, sneakers
yellow 노랗다: banana, flower, shirt, dress, umbrella, hat, bag, bus
white 하얗다: shirt, dress, cat, rabbit, rose, sneakers, cup, plate, horse, puppy
black 까맣다: cat, shoes, coat, hat, bag, umbrella, pants, boots, dog, car
strange 이상하다: story, dream, name, question, song, novel
special 특별하다: ring, card, song, plan, photo, trip, party
useful 유용하다: dictionary, map, computer, phone, knife, camera, bicycle
thick 두껍다: book, dictionary, coat, blanket, sweater, novel
thin 얇다: book, notebook, shirt, blanket, magazine
soft 부드럽다: bread, towel, blanket, pillow, cake, sweater
beautiful 아름답다: song, flower, rose, story, poem, tree
good 좋다: book, school, hospital, hotel, camera, plan, computer, song
sad 슬프다: song, story, movie, drama, novel, poem
dangerous 위험하다: tiger, bear, lion, knife, plan
new 새: *garment, *footwear, *furniture, *appliance, *wheels, hat, bag, umbrella, wallet, clock, house,
    dictionary, glasses
old 오래된: *furniture, *wheels, clock, house, photo, map, coin, stamp, camera, radio, piano, guitar,
    violin, church, bag
"""
ATTRIBUTIVE_ONLY = ("new", "old")


def parsed(table: str) -> dict[Adjective, tuple[Noun, ...]]:
    qualities = {}
    for line in table.strip().replace("\n    ", " ").splitlines():
        title, _, names = line.partition(": ")
        english, korean = title.split(" ")
        if english in ATTRIBUTIVE_ONLY:
            qualities[Adjective(english, Stem(""), korean)] = nouns(names)
        else:
            qualities[adjective(english, korean)] = nouns(names)
    return qualities


QUALITIES = parsed(QUALITY_TABLE)
PREDICATIVE = {quality: held for quality, held in QUALITIES.items() if quality.english not in ATTRIBUTIVE_ONLY}
FITTING: dict[str, tuple[Adjective, ...]] = {}
for _quality, _held in QUALITIES.items():
    for _noun in _held:
        FITTING[_noun.english] = (*FITTING.get(_noun.english, ()), _quality)


def adjectives(table: str) -> tuple[Adjective, ...]:
    return tuple(adjective(*entry.split(" ")) for entry in table.split(", "))


STATES = adjectives(
    "tired 피곤하다, busy 바쁘다, hungry 배고프다, thirsty 목마르다, full 배부르다, sick 아프다, happy 행복하다"
)
"""States that show: anyone may be said to be in them."""
FEELINGS = adjectives("sad 슬프다, lonely 외롭다, bored 심심하다, glad 기쁘다, cold 춥다, hot 덥다, nervous 불안하다")
"""States that only the one who has them may assert."""
TRAITS = adjectives(
    "kind 친절하다, smart 똑똑하다, diligent 부지런하다, lazy 게으르다, honest 정직하다, brave 용감하다, "
    "quiet 조용하다, young 젊다, polite 공손하다, healthy 건강하다, funny 재미있다"
)
TALL = Adjective("tall", Stem("키가 크", "adjective"))
STRONG = Adjective("strong", Stem("힘이 세", "adjective"))
WEATHER = adjectives("cold 춥다, hot 덥다, warm 따뜻하다, cool 시원하다")
SKY = adjectives("good 좋다, bad 나쁘다, cloudy 흐리다, clear 맑다")
DISTANCES = adjectives("far 멀다, close 가깝다")
TOWNS = adjectives(
    "quiet 조용하다, noisy 시끄럽다, big 크다, small 작다, clean 깨끗하다, "
    "famous 유명하다, beautiful 아름답다, safe 안전하다"
)
DEGREES = {"very": "아주", "really": "정말", "too": "너무", "a little": "조금", "quite": "꽤"}
