"""Nouns of both languages by class: what can be eaten, worn, read, ridden; where and when."""

from typing import NamedTuple

from tongsa.phrasebook.english import Tense, article, plural, spaced


class Noun(NamedTuple):
    english: str
    korean: str
    number: str = "count"
    """count, mass (no plural, no article), plural (shoes) or the (the news)."""
    counter: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return (self.english,)

    @property
    def agreement(self) -> str:
        return "plural" if self.number == "plural" else "third"

    @property
    def some(self) -> str:
        """As new to the talk: an apple, bread, shoes."""
        if self.number == "the":
            return f"the {self.english}"
        return article(self.english) if self.number == "count" else self.english

    @property
    def any(self) -> str:
        """As a kind: apples, bread, shoes."""
        return plural(self.english) if self.number == "count" else self.some


# class, counter: nouns; ~ marks a mass noun, + one that is always plural, ! one that always takes the
TABLE = """
fruit 개: apple 사과, banana 바나나, orange 오렌지, pear 배, peach 복숭아, strawberry 딸기, watermelon 수박
fruit 개: lemon 레몬
vegetable 개: tomato 토마토, potato 감자, carrot 당근, onion 양파, mushroom 버섯, egg 달걀
snack 개: cookie 쿠키, sandwich 샌드위치, hamburger 햄버거
dish: bread~ 빵, rice~ 밥, kimchi~ 김치, soup~ 국, pizza~ 피자, cake~ 케이크, chocolate~ 초콜릿, salad~ 샐러드
dish: candy~ 사탕, ice_cream~ 아이스크림, cheese~ 치즈, bibimbap~ 비빔밥, bulgogi~ 불고기, ramen~ 라면
dish: noodles+ 국수, tofu~ 두부
meat: beef~ 소고기, pork~ 돼지고기
meal: breakfast~ 아침, lunch~ 점심, dinner~ 저녁
drink 잔: coffee~ 커피, tea~ 차, milk~ 우유, juice~ 주스, water~ 물, green_tea~ 녹차
alcohol 병: beer~ 맥주, wine~ 와인
garment 벌: shirt 셔츠, skirt 치마, coat 코트, dress 원피스, sweater 스웨터, suit 양복, jacket 재킷, pants+ 바지
footwear 켤레: shoes+ 구두, socks+ 양말, sneakers+ 운동화, boots+ 부츠
headwear 개: hat 모자, glasses+ 안경
handwear 개: ring 반지, gloves+ 장갑
reading 권: book 책, magazine 잡지, novel 소설책, dictionary 사전, comic_book 만화책
stationery 개: pen 펜, eraser 지우개, notebook 공책, pencil 연필
writing 통: letter 편지
writing: poem 시, report 보고서, story 이야기, email 이메일
goods 개: bag 가방, umbrella 우산, cup 컵, clock 시계, mirror 거울, spoon 숟가락, knife 칼, plate 접시
goods 개: towel 수건
goods 개: toothbrush 칫솔, wallet 지갑, key 열쇠, box 상자, basket 바구니, pillow 베개, soap~ 비누, blanket 이불
plaything 개: toy 장난감, doll 인형, ball 공
furniture 개: chair 의자, desk 책상, table 식탁, bed 침대, sofa 소파
appliance 대: computer 컴퓨터, phone 휴대폰, camera 카메라, radio 라디오, television 텔레비전
appliance 대: refrigerator 냉장고, washing_machine 세탁기
vehicle 대: bus 버스, train 기차, taxi 택시, airplane 비행기, subway 지하철, ship 배
wheels 대: car 자동차, bicycle 자전거
instrument 대: guitar 기타, piano 피아노, violin 바이올린
flower 송이: flower 꽃, rose 장미
tree 그루: tree 나무
paper 장: ticket 표, photo 사진, map 지도, card 카드, stamp 우표
coin 개: coin 동전
animal 마리: dog 개, puppy 강아지, cat 고양이, bird 새, rabbit 토끼, horse 말, cow 소, pig 돼지, duck 오리
animal 마리: chicken 닭
mouse 마리: mouse 쥐
beast 마리: bear 곰, tiger 호랑이, lion 사자, monkey 원숭이, elephant 코끼리
person 명: boy 소년, girl 소녀, son 아들, daughter 딸, man 남자, woman 여자, friend 친구, child 아이
person 명: student 학생, doctor 의사, nurse 간호사, singer 가수, actor 배우, guest 손님
language: Korean~ 한국어, English~ 영어, Japanese~ 일본어, Chinese~ 중국어, French~ 프랑스어
subject: math~ 수학, history~ 역사, science~ 과학
sport: soccer~ 축구, baseball~ 야구, basketball~ 농구, volleyball~ 배구
racket: tennis~ 테니스, badminton~ 배드민턴
art: music~ 음악, song 노래, dance 춤
skill: taekwondo~ 태권도, yoga~ 요가, ballet~ 발레
show: movie 영화, drama 드라마, news! 뉴스, soccer_game 축구 경기
event: party 파티, meeting 회의, concert 콘서트, exam 시험, class 수업, festival 축제, trip 여행
matter: homework~ 숙제, question 질문, word 단어, name 이름, plan 계획, secret 비밀, promise 약속
matter: problem 문제, dream 꿈
room: room 방, kitchen 부엌, living_room 거실, bathroom 화장실, classroom 교실, office 사무실
opening: door 문, window 창문
building: house 집, school 학교, hospital 병원, church 교회, hotel 호텔
light: light 불
money: money~ 돈, medicine~ 약, time~ 시간
body: head 머리, stomach 배, leg 다리, arm 팔, back 허리, throat 목, eye 눈
season: spring~ 봄, summer~ 여름, fall~ 가을, winter~ 겨울
job 명: teacher 선생님, cook 요리사, writer 작가, farmer 농부, lawyer 변호사, painter 화가
job 명: police_officer 경찰관
job 명: scientist 과학자, engineer 기술자, soldier 군인, driver 운전사, pilot 조종사
"""
COUNTERS = {"notebook": "권", "pencil": "자루", "blanket": "장", "towel": "장", "ring": "개", "gloves": "켤레",
            "ship": "척", "soap": ""}  # fmt: skip


def parsed(table: str) -> dict[str, tuple[Noun, ...]]:
    classes: dict[str, tuple[Noun, ...]] = {}
    for line in table.strip().splitlines():
        title, _, entries = line.partition(": ")
        kind, _, counter = title.partition(" ")
        for entry in entries.split(", "):
            english, _, korean = entry.partition(" ")
            number = {"~": "mass", "+": "plural", "!": "the"}.get(english[-1], "count")
            english = english.rstrip("~+!").replace("_", " ")
            noun = Noun(english, korean, number, COUNTERS.get(english, counter))
            classes[kind] = (*classes.get(kind, ()), noun)
    return classes


CLASSES = parsed(TABLE)
BY_NAME = {noun.english: noun for members in CLASSES.values() for noun in members}


def nouns(names: str) -> tuple[Noun, ...]:
    """The nouns of a list of classes and single words, commas between; -word leaves one out."""
    found: dict[str, Noun] = {}
    for name in filter(None, (name.strip() for name in names.split(","))):
        if name.startswith("-"):
            found.pop(name[1:])
        elif name.startswith("*"):
            found |= {noun.english: noun for noun in CLASSES[name[1:]]}
        else:
            found[name] = BY_NAME[name]
    return tuple(found.values())


class Place(NamedTuple):
    english: str
    """With its article: the bank, school, Seoul; nothing for home."""
    korean: str
    preposition: str

    @property
    def words(self) -> tuple[str, ...]:
        return (self.english.removeprefix("the ") or "home",) if self.korean else ()

    @property
    def to(self) -> str:
        return f"to {self.english}" if self.english else "home"

    @property
    def at(self) -> str:
        return spaced(self.preposition, self.english) if self.english else "at home"


PLACE_TABLE = """
at the: bank 은행, market 시장, library 도서관, restaurant 식당, café 카페, station 역, airport 공항
at the: post_office 우체국
at the: bookstore 서점, pharmacy 약국, supermarket 슈퍼마켓, department_store 백화점, hotel 호텔, museum 박물관
at the: theater 극장, gym 체육관, zoo 동물원, swimming_pool 수영장, bakery 빵집, bus_stop 버스 정류장
at the: flower_shop 꽃집
at the: convenience_store 편의점, hospital 병원, office 사무실, beach 바닷가
in the: park 공원, garden 정원, kitchen 부엌, living_room 거실, classroom 교실, playground 놀이터, room 방
in the: bathroom 화장실
in the: sea 바다, river 강, village 마을
in: Seoul 서울, Busan 부산, Korea 한국, Japan 일본, China 중국, America 미국, France 프랑스
at: school 학교, church 교회, work 회사
"""


def placed(table: str) -> dict[str, Place]:
    places = {"home": Place("", "집", "at")}
    for line in table.strip().splitlines():
        title, _, entries = line.partition(": ")
        preposition, _, the = title.partition(" ")
        for entry in entries.split(", "):
            english, _, korean = entry.partition(" ")
            english = english.replace("_", " ")
            places[english] = Place(spaced(the, english), korean, preposition)
    return places


PLACES = placed(PLACE_TABLE)
NOWHERE = Place("", "", "")
COUNTRIES = ("Korea", "Japan", "China", "America", "France")
CITIES = ("Seoul", "Busan")
ROOMS = ("kitchen", "living room", "classroom", "room", "bathroom", "garden")
WATERS = ("sea", "river", "village", "work", "home", "school", "church", "beach")
BUILDINGS = tuple(name for name in PLACES if name not in COUNTRIES + CITIES + ROOMS + WATERS)


def places(names: str) -> tuple[Place, ...]:
    return tuple(PLACES[name.strip()] for name in names.split(",") if name)


class Time(NamedTuple):
    english: str
    korean: str
    tenses: tuple[Tense, ...]
    scale: str = ""
    """The flag a verb needs to be told of this time, or nothing: t at night, y over years."""
    parting: bool = False
    """Whether it is a part of the day."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for word in self.english.split() if word not in ("in", "the", "at", "on"))


WEEKDAYS = (("Monday", "월요일"), ("Tuesday", "화요일"), ("Wednesday", "수요일"), ("Thursday", "목요일"),
            ("Friday", "금요일"), ("Saturday", "토요일"), ("Sunday", "일요일"))  # fmt: skip
NOW, THEN, LATER = Tense.PRESENT, Tense.PAST, Tense.FUTURE
TIMES = (
    Time("today", "오늘", (THEN, LATER)),
    Time("yesterday", "어제", (THEN,)),
    Time("last night", "어젯밤에", (THEN,), "t", True),
    Time("last week", "지난주에", (THEN,)),
    Time("last year", "작년에", (THEN,), "y"),
    Time("this morning", "오늘 아침에", (THEN,), "", True),
    Time("tomorrow", "내일", (LATER,)),
    Time("next week", "다음 주에", (LATER,)),
    Time("next year", "내년에", (LATER,), "y"),
    Time("tonight", "오늘 밤에", (LATER,), "t", True),
    Time("every day", "매일", (NOW,)),
    Time("every morning", "매일 아침", (NOW,), "", True),
    Time("in the morning", "아침에", (NOW, THEN, LATER), "", True),
    Time("in the afternoon", "오후에", (NOW, THEN, LATER), "", True),
    Time("in the evening", "저녁에", (NOW, THEN, LATER), "", True),
    Time("at night", "밤에", (NOW, THEN, LATER), "t", True),
    Time("on the weekend", "주말에", (THEN, LATER)),
    Time("every year", "매년", (NOW,), "y"),
    Time("every weekend", "주말마다", (NOW,)),
    *(Time(f"on {day}", f"{korean}에", (THEN, LATER)) for day, korean in WEEKDAYS),
    *(Time(f"every {day}", f"{korean}마다", (NOW,)) for day, korean in WEEKDAYS),
)


LONG_SPANS = ("last week", "last year", "next week", "next year", "every year")


def times(tense: Tense, flags: str) -> tuple[Time, ...]:
    """The times a verb with these flags may be told of."""

    def suits(time: Time) -> bool:
        if "l" in flags:
            return time.english in LONG_SPANS
        if "d" in flags:
            return time.parting or time.english in ("yesterday", "today", "tomorrow", "every day")
        return not time.scale or time.scale in flags

    return tuple(time for time in TIMES if tense in time.tenses and suits(time))


NUMBERS = {
    "one": "한", "two": "두", "three": "세", "four": "네", "five": "다섯", "six": "여섯", "seven": "일곱",
    "eight": "여덟", "nine": "아홉", "ten": "열", "eleven": "열한", "twelve": "열두", "thirteen": "열세",
    "fourteen": "열네", "fifteen": "열다섯", "sixteen": "열여섯", "seventeen": "열일곱", "eighteen": "열여덟",
    "nineteen": "열아홉", "twenty": "스무",
}  # fmt: skip
