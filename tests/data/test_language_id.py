"""Language identification among given candidates."""

from tongsa.data.language_id import detect_language

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
