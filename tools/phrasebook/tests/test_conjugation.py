"""Korean forms as a grammar book gives them."""

import pytest

from phrasebook.conjugation import (
    Stem,
    Style,
    attach,
    command,
    connective,
    desire,
    infinitive,
    modifier,
    negative,
    past,
    progressive,
    question,
    statement,
)
from phrasebook.english import Tense

PLAIN, POLITE, CASUAL = Style

VERBS = {
    # stem: plain, polite, past, future, question, command
    "가": ("간다", "가요", "갔다", "갈 것이다", "가니?", "가라"),
    "오": ("온다", "와요", "왔다", "올 것이다", "오니?", "와라"),
    "먹": ("먹는다", "먹어요", "먹었다", "먹을 것이다", "먹니?", "먹어라"),
    "마시": ("마신다", "마셔요", "마셨다", "마실 것이다", "마시니?", "마셔라"),
    "배우": ("배운다", "배워요", "배웠다", "배울 것이다", "배우니?", "배워라"),
    "보": ("본다", "봐요", "봤다", "볼 것이다", "보니?", "봐라"),
    "하": ("한다", "해요", "했다", "할 것이다", "하니?", "해라"),
    "살": ("산다", "살아요", "살았다", "살 것이다", "사니?", "살아라"),
    "만들": ("만든다", "만들어요", "만들었다", "만들 것이다", "만드니?", "만들어라"),
    "듣": ("듣는다", "들어요", "들었다", "들을 것이다", "듣니?", "들어라"),
    "걷": ("걷는다", "걸어요", "걸었다", "걸을 것이다", "걷니?", "걸어라"),
    "받": ("받는다", "받아요", "받았다", "받을 것이다", "받니?", "받아라"),
    "돕": ("돕는다", "도와요", "도왔다", "도울 것이다", "돕니?", "도와라"),
    "눕": ("눕는다", "누워요", "누웠다", "누울 것이다", "눕니?", "누워라"),
    "굽": ("굽는다", "구워요", "구웠다", "구울 것이다", "굽니?", "구워라"),
    "입": ("입는다", "입어요", "입었다", "입을 것이다", "입니?", "입어라"),
    "짓": ("짓는다", "지어요", "지었다", "지을 것이다", "짓니?", "지어라"),
    "씻": ("씻는다", "씻어요", "씻었다", "씻을 것이다", "씻니?", "씻어라"),
    "부르": ("부른다", "불러요", "불렀다", "부를 것이다", "부르니?", "불러라"),
    "고르": ("고른다", "골라요", "골랐다", "고를 것이다", "고르니?", "골라라"),
    "쓰": ("쓴다", "써요", "썼다", "쓸 것이다", "쓰니?", "써라"),
    "모으": ("모은다", "모아요", "모았다", "모을 것이다", "모으니?", "모아라"),
    "끄": ("끈다", "꺼요", "껐다", "끌 것이다", "끄니?", "꺼라"),
    "켜": ("켠다", "켜요", "켰다", "켤 것이다", "켜니?", "켜라"),
    "보내": ("보낸다", "보내요", "보냈다", "보낼 것이다", "보내니?", "보내라"),
    "쉬": ("쉰다", "쉬어요", "쉬었다", "쉴 것이다", "쉬니?", "쉬어라"),
    "되": ("된다", "돼요", "됐다", "될 것이다", "되니?", "돼라"),
    "앉": ("앉는다", "앉아요", "앉았다", "앉을 것이다", "앉니?", "앉아라"),
    "머무르": ("머무른다", "머물러요", "머물렀다", "머무를 것이다", "머무르니?", "머물러라"),
}
ADJECTIVES = {
    # stem: plain, polite, past, future, question, before a noun
    "크": ("크다", "커요", "컸다", "클 것이다", "크니?", "큰"),
    "작": ("작다", "작아요", "작았다", "작을 것이다", "작니?", "작은"),
    "예쁘": ("예쁘다", "예뻐요", "예뻤다", "예쁠 것이다", "예쁘니?", "예쁜"),
    "바쁘": ("바쁘다", "바빠요", "바빴다", "바쁠 것이다", "바쁘니?", "바쁜"),
    "춥": ("춥다", "추워요", "추웠다", "추울 것이다", "춥니?", "추운"),
    "아름답": ("아름답다", "아름다워요", "아름다웠다", "아름다울 것이다", "아름답니?", "아름다운"),
    "좁": ("좁다", "좁아요", "좁았다", "좁을 것이다", "좁니?", "좁은"),
    "길": ("길다", "길어요", "길었다", "길 것이다", "기니?", "긴"),
    "빠르": ("빠르다", "빨라요", "빨랐다", "빠를 것이다", "빠르니?", "빠른"),
    "게으르": ("게으르다", "게을러요", "게을렀다", "게으를 것이다", "게으르니?", "게으른"),
    "빨갛": ("빨갛다", "빨개요", "빨갰다", "빨갈 것이다", "빨갛니?", "빨간"),
    "하얗": ("하얗다", "하얘요", "하얬다", "하얄 것이다", "하얗니?", "하얀"),
    "좋": ("좋다", "좋아요", "좋았다", "좋을 것이다", "좋니?", "좋은"),
    "피곤하": ("피곤하다", "피곤해요", "피곤했다", "피곤할 것이다", "피곤하니?", "피곤한"),
    "시": ("시다", "셔요", "셨다", "실 것이다", "시니?", "신"),
    "얇": ("얇다", "얇아요", "얇았다", "얇을 것이다", "얇니?", "얇은"),
}


@pytest.mark.parametrize("text", VERBS)
def test_verbs_take_the_endings_of_their_class(text: str) -> None:
    stem = Stem(text)
    assert (
        statement(stem, Tense.PRESENT, PLAIN),
        statement(stem, Tense.PRESENT, POLITE),
        statement(stem, Tense.PAST, PLAIN),
        statement(stem, Tense.FUTURE, PLAIN),
        question(stem, Tense.PRESENT, PLAIN),
        command(stem, PLAIN),
    ) == VERBS[text]


@pytest.mark.parametrize("text", ADJECTIVES)
def test_adjectives_take_the_endings_of_their_class(text: str) -> None:
    stem = Stem(text, "adjective")
    assert (
        statement(stem, Tense.PRESENT, PLAIN),
        statement(stem, Tense.PRESENT, POLITE),
        statement(stem, Tense.PAST, PLAIN),
        statement(stem, Tense.FUTURE, PLAIN),
        question(stem, Tense.PRESENT, PLAIN),
        modifier(stem),
    ) == ADJECTIVES[text]


@pytest.mark.parametrize(
    ("noun", "forms"),
    [
        (
            "학생",
            ("학생이다", "학생이에요", "학생이었다", "학생이었어요", "학생이니?", "학생이 아니다", "학생이 아니에요"),
        ),
        ("의사", ("의사다", "의사예요", "의사였다", "의사였어요", "의사니?", "의사가 아니다", "의사가 아니에요")),
    ],
)
def test_the_copula_leans_on_its_noun(noun: str, forms: tuple[str, ...]) -> None:
    stem = Stem(noun, "copula")
    assert forms == (
        statement(stem, Tense.PRESENT, PLAIN),
        statement(stem, Tense.PRESENT, POLITE),
        statement(stem, Tense.PAST, PLAIN),
        statement(stem, Tense.PAST, POLITE),
        question(stem, Tense.PRESENT, PLAIN),
        statement(negative(stem), Tense.PRESENT, PLAIN),
        statement(negative(stem), Tense.PRESENT, POLITE),
    )


@pytest.mark.parametrize(
    ("stem", "plain", "polite"),
    [
        (Stem("먹"), "안 먹는다", "안 먹어요"),
        (Stem("쓰"), "안 쓴다", "안 써요"),
        (Stem("하"), "안 한다", "안 해요"),
        (Stem("공부하"), "공부하지 않는다", "공부하지 않아요"),
        (Stem("춥", "adjective"), "춥지 않다", "춥지 않아요"),
        (Stem("있", "existence"), "없다", "없어요"),
        (Stem("알"), "모른다", "몰라요"),
        (Stem("기억하"), "기억하지 못한다", "기억하지 못해요"),
        (Stem(attach("가", "(으)ㄹ 수 있"), "existence"), "갈 수 없다", "갈 수 없어요"),
        (desire(Stem("가"), speaker=True), "가고 싶지 않다", "가고 싶지 않아요"),
        (desire(Stem("가"), speaker=False), "가고 싶어 하지 않는다", "가고 싶어 하지 않아요"),
        (progressive(Stem("자")), "자고 있지 않다", "자고 있지 않아요"),
    ],
)
def test_each_class_has_its_own_negation(stem: Stem, plain: str, polite: str) -> None:
    assert statement(negative(stem), Tense.PRESENT, PLAIN) == plain
    assert statement(negative(stem), Tense.PRESENT, POLITE) == polite


@pytest.mark.parametrize(
    ("text", "ending", "form"),
    [
        ("먹", "(으)면", "먹으면"),
        ("가", "(으)면", "가면"),
        ("살", "(으)면", "살면"),
        ("춥", "(으)면", "추우면"),
        ("듣", "(으)면서", "들으면서"),
        ("짓", "(으)러", "지으러"),
        ("팔", "(으)러", "팔러"),
        ("놀", "(으)려고", "놀려고"),
        ("만들", "(으)ㄴ", "만든"),
        ("걷", "(으)ㄴ", "걸은"),
        ("굽", "(으)ㄴ", "구운"),
        ("빨갛", "(으)면", "빨가면"),
        ("열", "(으)세요", "여세요"),
        ("살", "는", "사는"),
        ("마시", "아/어서", "마셔서"),
        ("예쁘", "아/어 보이", "예뻐 보이"),
        ("서두르", "아/어야 하", "서둘러야 하"),
        ("걷", "(으)ㄹ까?", "걸을까?"),
        ("안 쓰", "아/어요", "안 써요"),
    ],
)
def test_endings_join_by_stem_and_ending(text: str, ending: str, form: str) -> None:
    assert attach(text, ending) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("가", "가세요"),
        ("앉", "앉으세요"),
        ("먹", "드세요"),
        ("마시", "드세요"),
        ("자", "주무세요"),
        ("돕", "도우세요"),
        ("걷", "걸으세요"),
    ],
)
def test_polite_commands_honour_the_hearer(text: str, form: str) -> None:
    assert command(Stem(text), POLITE) == form


@pytest.mark.parametrize(
    ("stem", "present", "past", "future", "order"),
    [
        (Stem("가"), "가", "갔어", "갈 거야", "가"),
        (Stem("먹"), "먹어", "먹었어", "먹을 거야", "먹어"),
        (Stem("사랑하"), "사랑해", "사랑했어", "사랑할 거야", "사랑해"),
        (Stem("돌아오"), "돌아와", "돌아왔어", "돌아올 거야", "돌아와"),
        (Stem("쉬"), "쉬어", "쉬었어", "쉴 거야", "쉬어"),
        (Stem("걷"), "걸어", "걸었어", "걸을 거야", "걸어"),
        (Stem("부르"), "불러", "불렀어", "부를 거야", "불러"),
    ],
)
def test_casual_forms_are_the_polite_ones_without_yo(
    stem: Stem, present: str, past: str, future: str, order: str
) -> None:
    assert statement(stem, Tense.PRESENT, CASUAL) == present
    assert statement(stem, Tense.PAST, CASUAL) == past
    assert statement(stem, Tense.FUTURE, CASUAL) == future
    assert command(stem, CASUAL) == order
    for tense in (Tense.PRESENT, Tense.PAST):
        assert statement(stem, tense, POLITE) == statement(stem, tense, CASUAL) + "요"
    assert question(stem, Tense.PRESENT, CASUAL) == present + "?"


def test_the_casual_copula_is_ya() -> None:
    forms = [
        statement(stem, tense, CASUAL)
        for stem in (Stem("아이언맨", "copula"), Stem("의사", "copula"))
        for tense in (Tense.PRESENT, Tense.PAST)
    ]
    assert forms == ["아이언맨이야", "아이언맨이었어", "의사야", "의사였어"]
    assert statement(negative(Stem("의사", "copula")), Tense.PRESENT, CASUAL) == "의사가 아니야"


def test_postures_last_in_the_progressive() -> None:
    assert progressive(Stem("앉")).text == "앉아 있"
    assert progressive(Stem("읽")).text == "읽고 있"


def test_clauses_stay_open_in_present_and_past() -> None:
    assert connective(Stem("가"), Tense.PAST, "지만") == "갔지만"
    assert connective(Stem("예쁘", "adjective"), Tense.PRESENT, "지만") == "예쁘지만"
    assert past(Stem("모르")) == "몰랐"
    assert infinitive("쉬") == "쉬어"
