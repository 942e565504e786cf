"""Noise is a pure function of text, settings and seed, has the stated rate, and never empties a text."""

import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from command_line import run_command
from tiny import write_pairs
from tongsa.data.keyboards import jamo_slips, key_slips
from tongsa.data.noise import MASK, NoiseConfig, add_noise, text_seed
from tongsa.data.normalize import normalize

RATES = ("word_drop", "word_swap", "word_mask", "case", "spacing", "typos", "jamo_slips")
SAMPLES = ["나는", "학교에", "갔다", "Hello", "WORLD", "a", "값", "않네", "3.5"]
WORDS = st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=12)
NOISE = st.fixed_dictionaries({name: st.floats(0, 1) for name in ("share", *RATES)}).map(
    lambda rates: NoiseConfig(**rates)
)


@given(WORDS, NOISE, st.integers(0, 2**40), st.sampled_from(["", "<2ko> ", "<2ko> <bible> "]))
def test_noise_depends_on_text_settings_and_seed_only_and_keeps_tags(
    words: list[str], noise: NoiseConfig, seed: int, tags: str
) -> None:
    text = tags + " ".join(words)
    noised = add_noise(text, noise, seed)
    assert noised == add_noise(text, noise, seed)
    assert noised.startswith(tags) and noised != tags
    assert noised == normalize(noised)


@given(st.text(max_size=40).map(normalize), st.integers(0, 2**40))
def test_without_noise_a_text_stays_as_it_is(text: str, seed: int) -> None:
    assert add_noise(text, NoiseConfig(), seed) == text
    assert add_noise(text, NoiseConfig(typos=1, word_drop=1, share=0), seed) == text


def changed_fraction(noise: NoiseConfig, text: str, count: int = 400) -> float:
    """Return the mean fraction of the units, words or letters, that differ at their position."""
    units = str.split if noise.word_mask or noise.case else list
    pairs = [(units(text), units(add_noise(text, noise, text_seed(1, 0, i)))) for i in range(count)]
    assert all(len(before) == len(after) for before, after in pairs)
    return sum(a != b for before, after in pairs for a, b in zip(before, after, strict=True)) / sum(
        len(before) for before, _ in pairs
    )


def test_noise_has_the_stated_rate() -> None:
    """8,000 units or more: four standard deviations of a rate of 0.2 are below 0.02."""
    english, korean = "abcdefghijklmnopqrst", "개네계예웨의까따빠싸짜않값닭개네계예웨의"
    for noise, text in (
        (NoiseConfig(typos=0.2), english),
        (NoiseConfig(typos=0.2), korean),
        (NoiseConfig(jamo_slips=0.2), korean),
        (NoiseConfig(word_mask=0.2), " ".join(english)),
        (NoiseConfig(case=0.2), " ".join(english)),
    ):
        assert abs(changed_fraction(noise, text) - 0.2) < 0.02, noise
    kept = [len(add_noise(" ".join(english), NoiseConfig(word_drop=0.2), i).split()) for i in range(400)]
    assert abs(sum(kept) / (400 * 20) - 0.8) < 0.02
    assert abs(changed_fraction(NoiseConfig(share=0.25, word_mask=1), "a b c d", 2000) - 0.25) < 0.04


def test_masks_survive_the_noise_of_letters_and_spaces() -> None:
    noise = NoiseConfig(word_mask=1, typos=1, jamo_slips=1, case=1, spacing=1)
    assert add_noise("나는 집에 간다", noise, 1) == " ".join([MASK] * 3)


def test_words_are_exchanged_with_their_neighbors() -> None:
    assert add_noise("a b c d e", NoiseConfig(word_swap=1), 1) == "b a d c e"


def test_neighboring_keys_of_both_keyboards() -> None:
    assert set(key_slips("g")) == set("fhtyvb") and set(key_slips("Q")) == set("WA")
    assert {"바", "나"} <= set(key_slips("마")) and {"머", "미"} <= set(key_slips("마"))
    assert "네" in jamo_slips("내") and "안" in jamo_slips("않") and "꺼" in jamo_slips("거")
    assert key_slips("3") == [] and jamo_slips("a") == []


@given(st.integers(0xAC00, 0xD7A3).map(chr))
def test_a_slip_changes_one_jamo(syllable: str) -> None:
    before = unicodedata.normalize("NFD", syllable)
    for slip in [*key_slips(syllable), *jamo_slips(syllable)]:
        after = unicodedata.normalize("NFD", slip)
        assert "가" <= slip <= "힣" and slip != syllable
        assert len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_the_command_writes_the_noise_of_all_its_settings(tmp_path: Path) -> None:
    corpus, noised = (
        write_pairs(tmp_path / "test.tsv", [("one two three four", "하나 둘"), ("five six", "다섯")]),
        tmp_path / "n.tsv",
    )
    settings = ["--set", "data.noise.typos=0.5", "--set", "data.noise.word_drop=0.3"]
    result = run_command("data", "noise", corpus, "-o", noised, *settings, "--seed", 3)
    assert result.code == 0, result.stderr
    noise = NoiseConfig(typos=0.5, word_drop=0.3)
    sources = ["one two three four", "five six"]
    expected = [add_noise(source, noise, text_seed(3, 0, i)) for i, source in enumerate(sources)]
    assert [line.split("\t")[0] for line in noised.read_text("utf-8").splitlines()] == expected
    assert run_command("data", "noise", corpus, "-o", tmp_path / "other.tsv").code == 2
    (tmp_path / "cp949.csv").write_text("하나 둘,a\n셋 넷,b\n", "cp949")
    reading = ["--columns", 2, 1, "--set", "data.encoding=cp949", "--set", "data.noise.case=1"]
    assert run_command("data", "noise", tmp_path / "cp949.csv", "-o", tmp_path / "utf8.tsv", *reading).code == 0
    assert (tmp_path / "utf8.tsv").read_text("utf-8") == "A\t하나 둘\nB\t셋 넷\n"
