"""Language identification among given candidates."""

import pytest

from tongsa.data.language_id import FUNCTION_WORDS, detect_language, guess_language, has_script_of

SENTENCES = {
    "en": "The men are in the house and they have a dog.",
    "de": "Die Männer sind im Haus und sie haben einen Hund.",
    "ko": "남자들은 집에 있고 개를 키운다.",
    "ja": "男の人は家にいます。",
    "zh": "男人在家里。",
    "ru": "Мужчины в доме.",
    "fr": "Les hommes sont dans la maison et ils ont un chien.",
}


def test_the_most_probable_language_comes_first_and_probabilities_sum_to_one() -> None:
    for code, text in SENTENCES.items():
        languages = detect_language(text, SENTENCES)
        assert languages[0][0] == code
        assert abs(sum(probability for _, probability in languages) - 1) < 1e-9


def test_only_candidates_are_returned() -> None:
    assert {code for code, _ in detect_language(SENTENCES["fr"], ["ko", "en"])} == {"ko", "en"}
    assert detect_language("12 + 3", ["en", "ko"])[0][1] == 0.5
    assert detect_language("text", []) == []


LONG_ENOUGH = {
    "en": "The men are in the house and they have a dog that is not with them, or for you, as this was from her.",
    "de": "Die Männer sind im Haus und sie haben einen Hund, der nicht mit dem Kind auf das Feld und zu den Kühen ist.",
    "fr": "Les hommes sont dans la maison et ils ont un chien qui est avec une femme pour le bien de la ville.",
    "ko": "남자들은 집에 있고 Python 문서를 읽는다.",
    "ja": "男の人は家にいます。",
    "zh": "男人在家里读一本关于历史的书。",
    "th": "ผู้ชายอยู่ในบ้าน",
    "el": "Οι άντρες είναι στο σπίτι.",
    "ru": "Мужчины были в этом доме, и мы ждём вас.",
    "uk": "Її чоловік є вдома, і він читає про Україну та її міста.",
}


@pytest.mark.parametrize("code", LONG_ENOUGH)
def test_the_language_of_running_text_is_guessed(code: str) -> None:
    assert guess_language([LONG_ENOUGH[code]]) == code
    assert has_script_of(code, [LONG_ENOUGH[code]])


@pytest.mark.parametrize(
    "lines",
    [
        ["I_TURN_RIGHT I_WALK I_TURN_LEFT I_JUMP", "I_LOOK I_WALK"],
        ["jump opposite right twice and turn opposite left", "walk and look"],
        ["N AY T", "R IY D", "DH AH", "HH ER"],
        ["a b ɑ̃ d ɔ n e", "o i a e", "d e l a"],
        ["k a̠ ɡ a̠ m", "ə ŋ k"],
        ["예 나 리 스", "마 이 클"],
        ["ㄱ ㅜ ㅇ ㅁ ㅣ ㄴ"],
        ["국민", "학교"],
        ["あい", "うえお"],
        ["el", "la", "de", "que", "yo", "los", "por", "con", "más"],
        ["12 + 3 = 15"],
        ["Čovek je u kući i čita knjigu o gradu."],
        ["Мъжът е в къщата и чете книга."],
        [""],
        [],
    ],
)
def test_symbols_word_lists_and_unknown_languages_are_not_guessed(lines: list[str]) -> None:
    assert guess_language(lines) == ""


@pytest.mark.parametrize("code", FUNCTION_WORDS)
def test_no_list_of_function_words_looks_like_another(code: str) -> None:
    assert guess_language([FUNCTION_WORDS[code]]) in (code, "")
