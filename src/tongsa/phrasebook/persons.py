"""Persons of both languages: who acts, who is met, who is called by name."""

from typing import NamedTuple

from tongsa.phrasebook.hangul import marked


class Subject(NamedTuple):
    """Who speaks or is spoken of, in one style."""

    english: str
    korean: str
    """Nothing where Korean leaves the person unsaid: you, in polite style."""
    agreement: str = "third"
    own: str = "his"
    speaker: bool = False
    """Whether feelings and wishes are the speaker's or the hearer's own."""
    polite: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return (self.english.removeprefix("the ").removeprefix("my ").removeprefix("you and "),)

    @property
    def topic(self) -> str:
        return marked(self.korean, "은/는") if self.korean else ""

    @property
    def nominative(self) -> str:
        special = {"나": "내가", "저": "제가", "너": "네가"}
        return special.get(self.korean) or (marked(self.korean, "이/가") if self.korean else "")


ME, WE, YOU = (
    Subject("I", "나", "first", "my", True),
    Subject("we", "우리", "plural", "our", True),
    Subject("you", "너", "plural", "your", True),
)
PRONOUNS = (Subject("he", "그"), Subject("she", "그녀", own="her"), Subject("they", "그들", "plural", "their"))

# English, Korean; a star marks a woman
TABLE = """
names: Minsu 민수, Jimin* 지민, Hyunwoo 현우, Sora* 소라, Dongmin 동민, Eunji* 은지
other names: Yuna* 유나, Junho 준호, Sujin* 수진, Taehyun 태현, Minji* 민지, Jaewon 재원
rival names: Seoyeon* 서연, Woojin 우진, Kyungho 경호, Hyeri* 혜리
kin: Mom* 엄마, Dad 아빠, my_friend* 내 친구, my_younger_brother 내 남동생, my_younger_sister* 내 여동생
kin: my_wife* 내 아내, my_husband 내 남편, my_son 내 아들, my_daughter* 내 딸
strangers: the_student 그 학생, the_nurse* 그 간호사, the_woman* 그 여자, the_man 그 남자
acquaintances: my_cousin 사촌, my_uncle 삼촌, my_aunt* 이모, the_neighbor 이웃, my_classmate 반 친구, the_guest 손님
"""


def parsed(table: str) -> dict[str, tuple[Subject, ...]]:
    groups: dict[str, tuple[Subject, ...]] = {}
    for line in table.strip().splitlines():
        title, _, entries = line.partition(": ")
        for entry in entries.split(", "):
            english, _, korean = entry.partition(" ")
            own = "her" if english.endswith("*") else "his"
            person = Subject(english.rstrip("*").replace("_", " "), korean, own=own)
            groups[title] = (*groups.get(title, ()), person)
    return groups


GROUPS = parsed(TABLE)
NAMES, KIN, STRANGERS = GROUPS["names"], GROUPS["kin"], GROUPS["strangers"]
OTHER_NAMES = GROUPS["other names"]
RIVAL_NAMES = GROUPS["rival names"]
"""Subjects of a second clause, so that no one meets himself."""
OTHERS = OTHER_NAMES + GROUPS["acquaintances"]


def politely(subject: Subject) -> Subject:
    """The same person in polite style: 저 for 나, 제 for 내; the hearer goes unsaid."""
    korean = {"나": "저", "너": ""}.get(subject.korean, subject.korean)
    if korean.startswith("내 "):
        korean = "제 " + korean[2:]
    return subject._replace(korean=korean, polite=True)
