"""Words of the training data are never unseen; other words are; Korean endings do not make a word unseen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongsa.data.normalize import normalize
from tongsa.data.training_profile import TrainingProfile, low_score_threshold
from tongsa.data.words import split_words, word_stem

LETTERS = st.text(st.sampled_from("abcäßЖж가간갔다는을漢あไทยा0 -.'\u0301"), max_size=20)


def profile(*sources: str, language: str = "") -> TrainingProfile:
    return TrainingProfile.from_pairs([(source, "") for source in sources], 10, language)


@settings(max_examples=200)
@given(st.lists(LETTERS, max_size=5), LETTERS, st.sampled_from(["", "ko", "tr"]))
def test_exactly_the_words_with_other_stems_are_unseen(sources: list[str], text: str, language: str) -> None:
    sources = [normalize(source) for source in sources]
    profiled = profile(*sources, language=language)
    assert not any(profiled.unseen_words(source) for source in sources)
    stems = {word_stem(word, language) for source in sources for word in split_words(source)}
    unseen = profiled.unseen_words(text)
    assert {word_stem(word, language) for word in unseen} == {
        word_stem(word, language) for word in split_words(normalize(text))
    } - stems
    assert len(set(unseen)) == len(unseen)
    assert all(word in normalize(text) for word in unseen)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't pay 3,000 won (x86)!", ["Don", "pay", "won"]),
        ("GitHub에서 3개를 갔다.", ["GitHub", "개를", "갔다"]),
        ("漢字かな ไทย", ["漢", "字", "か", "な", "ไ", "ท", "ย"]),
        ("हिन्दी", ["हिन्दी"]),
    ],
)
def test_words_are_runs_of_letters_of_one_script(text: str, words: list[str]) -> None:
    assert list(split_words(text)) == words


@pytest.mark.parametrize(
    ("seen", "also_seen"),
    [
        ("학교에서", ["학교", "학교만은", "학교에서부터는"]),
        ("간다", ["갔다", "갑니다", "가면서"]),
        ("배운다", ["배웠습니다", "배워요"]),
        ("공부한다", ["공부했습니다", "공부를"]),
    ],
)
def test_a_korean_word_with_a_known_stem_is_seen(seen: str, also_seen: list[str]) -> None:
    profiled = profile(seen)
    assert [profiled.unseen_words(word) for word in also_seen] == [()] * len(also_seen)
    assert profiled.unseen_words("컴퓨터를 병원에서 찾았다") == ("컴퓨터를", "병원에서", "찾았다")


def test_case_changes_nothing_and_words_are_reported_as_written() -> None:
    profiled = profile("the Cat sleeps")
    assert profiled.unseen_words("The cat LOVES The Loves AI.") == ("LOVES", "AI")


def test_the_threshold_is_below_nearly_all_values() -> None:
    values = [-i / 100 for i in range(1000)]
    threshold = low_score_threshold(values)
    assert sum(value < threshold for value in values) == 10
    assert low_score_threshold(values[:5]) == float("-inf")


def test_a_profile_is_read_back_from_its_bytes() -> None:
    profiled = profile("나는 집에 간다", "I go home")
    read = TrainingProfile.from_bytes(profiled.to_bytes())
    assert read.stem_hashes.tolist() == profiled.stem_hashes.tolist()
    assert (read.longest_source, read.min_log_prob) == (10, float("-inf"))
    assert read.is_much_longer(16) and not read.is_much_longer(15)


def test_unseen_words_of_a_shape_that_is_copied_are_copied() -> None:
    names = [f"Get{letter}Name" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    profiled = TrainingProfile.from_pairs(
        [(f"{word} {name}", f"{name}의 단어") for word, name in zip(words, names, strict=True)], 10
    )
    assert profiled.copied_words("call PyObject and GetAName") == ("PyObject",)
    assert TrainingProfile.from_bytes(profiled.to_bytes()).copied_words("call PyObject now") == ("PyObject",)
    assert profile(*names).copied_words("call PyObject") == ()
