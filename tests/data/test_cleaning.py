"""Repairs, filters and duplicates of pairs."""

import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.data.array_files import ArrayFiles
from tongsa.data.cleaning.clean import CleanedPairs, CleaningHooks, clean_pairs
from tongsa.data.cleaning.config import FILTER_NAMES, REPAIR_NAMES, FilterConfig
from tongsa.data.cleaning.duplicates import near_rows
from tongsa.data.cleaning.filters import FILTERS, Limits
from tongsa.data.cleaning.minhash import signatures, similarity
from tongsa.data.cleaning.plan import CleaningPlan
from tongsa.data.cleaning.repairs import repair_text
from tongsa.data.cleaning.report import corpus_report
from tongsa.data.cleaning.report_data import CorpusReport, MisalignedBlock
from tongsa.data.cleaning.thresholds import learnt_limits
from tongsa.data.ledger import Ledger, Pair

WORDS = [
    "한국어",
    "ㅎㅏㄴ",
    "ㅋㅋ",
    "ㅠㅠ",
    "&amp;",
    "&#0;",
    "<b>",
    "</b>",
    "<br/>",
    "<",
    "&",
    "Ã©",
    "é",
    "ëÑ",
    "???",
    "가",
]
MARKS = ["http://a.b/c", "{name}", "%s", "2024", "1,000", "\x00", "\x85", "\u2028", "\ufffd", "\ud800", " "]
PIECES = st.sampled_from([*WORDS, *MARKS])
TEXTS = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=8).map("".join))
ALL_ON = dict.fromkeys(set(FILTER_NAMES) - {"language", "alignment", "model_score"}, True)


def clean(pairs: list[tuple[str, str]], **filters: Any) -> CleanedPairs:
    plan = CleaningPlan(filters=FilterConfig(**filters), languages=("en", "ko"))
    raw = [Pair(source, target, "a.tsv", line) for line, (source, target) in enumerate(pairs, 1)]
    return clean_pairs(raw, plan, ArrayFiles())


def kept_texts(cleaned: CleanedPairs) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in cleaned.pairs.select(cleaned.kept_rows)]


def reason_names(cleaned: CleanedPairs) -> list[set[str]]:
    return [{reason.name for reason in cleaned.reasons(row)} for row in range(len(cleaned.drops))]


@pytest.mark.parametrize(
    ("raw", "repaired", "repair"),
    [
        ("ㅎㅏㄴㄱㅜㄱㅇㅓ", "한국어", "compatibility_jamo"),
        ("ㄷㅏㄹㄱ ㅇㅣㄹㄱㄷㅏ", "닭 읽다", "compatibility_jamo"),
        ("정말 ㅈㅐ밌었다", "정말 재밌었다", "compatibility_jamo"),
        (unicodedata.normalize("NFD", "한국어 café"), "한국어 café", "nfc"),
        ("한국어 문장".encode("euc_kr").decode("latin1"), "한국어 문장", "mojibake"),
        (
            "찦차를 타고 온 펲시맨과 쑛다리 똠방각하".encode("cp949").decode("latin1"),
            "찦차를 타고 온 펲시맨과 쑛다리 똠방각하",
            "mojibake",
        ),
        ("한국어".encode().decode("latin1"), "한국어", "mojibake"),
        ("â€œQuoteâ€\x9d", "“Quote”", "mojibake"),
        ("a\x00b\x07", "ab", "control_characters"),
        ("<b>굵은</b> 글자<br/>줄 &amp;lt;", "굵은 글자 줄 <", "markup"),
    ],
)
def test_each_repair_repairs_its_damage(raw: str, repaired: str, repair: str) -> None:
    assert repair_text(raw, REPAIR_NAMES, "ko") == (repaired, (repair,))
    assert repair_text(raw, [repair], "ko")[1] == (repair,)  # type: ignore[list-item]


KOREAN_SLANG = ("ㅋㅋ", "ㅋㅋㅋㅋ ㅠㅠ", "ㅎㅡㅎ", "ㅋㅡㅋ", "ㅇㅋ", "ㅏ, ㅓ", "ㄱㄴㄷㅏㅑㅓ", "하ㅋㅋ")
OTHERS = (
    "1 < 2 && a > b",
    "AT&T",
    "naïve café",
    "Ängstlich",
    "<polite> <2ko>",
    "&#0;",
    "Änderung der Übung",
    "«CAFÉ» ",
)


@pytest.mark.parametrize("text", [*KOREAN_SLANG, *OTHERS])
def test_sound_texts_stay(text: str) -> None:
    assert repair_text(text, REPAIR_NAMES, "ko") == (text, ())


def test_only_korean_text_is_restored_from_a_korean_encoding() -> None:
    text = "INFORMAÇÃO"
    assert repair_text(text, REPAIR_NAMES, "pt") == (text, ())


@given(TEXTS)
@example("<" * 9 + "b" + ">b" * 8 + ">")
@example("&amp;" * 3 + "amp;lt;b>")
def test_a_repaired_text_needs_no_repair(text: str) -> None:
    repaired, _ = repair_text(text, REPAIR_NAMES, "ko")
    assert repair_text(repaired, REPAIR_NAMES, "ko") == (repaired, ())


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12))
def test_each_drop_has_all_its_reasons_and_cleaning_twice_is_cleaning_once(pairs: list[tuple[str, str]]) -> None:
    together = clean(pairs, **ALL_ON)
    names = reason_names(together)
    for name in FILTERS.keys() & ALL_ON.keys():
        alone = reason_names(clean(pairs, **{name: True}))
        assert [name in reasons for reasons in names] == [name in reasons for reasons in alone]
    assert len(together.kept_rows) + sum(map(bool, names)) == len(pairs)
    once = kept_texts(clean(pairs, repairs=REPAIR_NAMES, **ALL_ON))
    again = clean(once, repairs=REPAIR_NAMES, **ALL_ON)
    assert kept_texts(again) == once and not again.repair_bits.any()


@pytest.mark.parametrize(
    ("name", "bad", "good", "threshold"),
    [
        ("length", ("a b c", "가나다라마"), ("a b", "가나다라"), [1, 4]),
        ("ratio", ("a" * 90, "가" * 10), ("a" * 60, "가" * 10), 4),
        ("copies", ("Same Words!", "same words"), ("same words", "another one"), 9),
        ("script", ("a house of mine", "a house of mine"), ("a house of mine", "나의 집 한 채가 있다"), 0.5),
        ("markup", ("a <b> tag", "가"), ("a <b> tag", "<b> 가"), True),
        ("mojibake", ("a \ufffd", "가"), ("a", "가"), True),
        ("numbers", ("12 and 2024", "3000과 40"), ("1,200 in 2024", "2024년 1200"), 0.5),
        ("urls", ("see http://a.b/c", "보라"), ("see http://a.b/c", "http://a.b/ko 보라"), 0),
        ("placeholders", ("{name} %s", "{name}"), ("{name} %s", "%s의 {name}"), 0),
    ],
)
def test_a_filter_drops_what_is_outside_its_threshold(
    name: str, bad: tuple[str, str], good: tuple[str, str], threshold: object
) -> None:
    value = tuple(threshold) if isinstance(threshold, list) else threshold
    cleaned = clean([bad, good], **{name: value})
    assert reason_names(cleaned) == [{name}, set()]
    assert cleaned.detail(name, 0) and cleaned.detail(name, 1)


def test_good_korean_pairs_pass_the_default_filters() -> None:
    pairs = [("Yes.", "네."), ("Python", "파이썬"), ("LOL", "ㅋㅋ"), ("print(1)", "print(1)"), ("CD-ROM", "CD-ROM")]
    pairs += [("It costs 30 million won.", "3000만 원이다."), ("See https://a.b/en/c.", "https://a.b/ko/c 참고.")]
    pairs += [("Use %s and {0}.", "{0} 및 %s를 쓴다."), ("AT&T", "AT&T"), ("'&lt;' is a mark", "'&lt;'는 기호다")]
    assert not any(reason_names(clean(pairs, defaults=True)))


def test_of_equal_pairs_the_first_that_passes_is_kept() -> None:
    pairs = [("A house", "집 \ufffd"), ("a house.", "집!"), ("A HOUSE", "집"), ("a house", "가옥")]
    cleaned = clean(pairs, duplicates=True, mojibake=True)
    assert reason_names(cleaned) == [{"mojibake", "duplicates"}, set(), {"duplicates"}, set()]
    assert cleaned.detail("duplicates", 2) == "as a.tsv:2"


def test_of_several_sources_the_one_with_the_usual_length_is_kept() -> None:
    pairs = [("x" * 40, "가나다라"), ("abcdefgh", "가나다라"), *((f"{i:08}", f"{i:04}") for i in range(9))]
    assert reason_names(clean(pairs, same_target=True))[:2] == [{"same_target"}, set()]
    scores = np.arange(len(pairs), 0, -1, dtype=np.float32)
    plan = CleaningPlan(filters=FilterConfig(same_target=True, model_score=-1.0))
    raw = [Pair(*pair, "a", line) for line, pair in enumerate(pairs)]
    cleaned = clean_pairs(raw, plan, ArrayFiles(), hooks=CleaningHooks(score_pairs=lambda _: scores))
    assert reason_names(cleaned)[:2] == [set(), {"same_target"}]


SENTENCE = (
    "The parliament of the small republic met yesterday to discuss the new law on forests and rivers in the north"
)


def test_near_duplicates_are_dropped_and_one_of_them_is_kept() -> None:
    variants = [
        SENTENCE,
        SENTENCE + "s",
        "Yesterday it rained in the capital all day long",
        SENTENCE.replace("small", "smal"),
    ]
    cleaned = clean([(text, "숲과 강에 관한 새 법") for text in variants], near_duplicates=0.7)
    assert reason_names(cleaned) == [set(), {"near_duplicates"}, set(), {"near_duplicates"}]


def test_the_ends_of_a_chain_of_near_duplicates_are_kept() -> None:
    """The first and the last text are less similar than the threshold."""
    middle = SENTENCE.replace("in the north", "of the east")
    chain = [SENTENCE, middle, middle.replace("The parliament", "A senate")]
    cleaned = clean([(text, "숲과 강에 관한 새 법") for text in chain], near_duplicates=0.7)
    assert reason_names(cleaned) == [set(), {"near_duplicates"}, set()]
    assert cleaned.detail("near_duplicates", 1) == "as a.tsv:1"


def test_every_second_row_of_a_long_chain_of_near_duplicates_is_kept() -> None:
    numbers = np.arange(64, dtype=np.uint16)
    chain = np.stack([np.where(np.arange(64) < 5 * i, numbers + 100, numbers) for i in range(12)])
    originals = near_rows(chain, np.zeros(len(chain), bool), 0.9)
    assert originals.tolist() == [-1, 0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10]


near_families = st.lists(st.tuples(st.integers(0, 9), st.sets(st.integers(0, 63), max_size=16), st.booleans()))


@given(near_families, st.sampled_from([0.6, 0.8, 0.9]))
def test_a_near_duplicate_is_near_a_kept_row_and_a_second_cleaning_drops_nothing(
    family: list[tuple[int, set[int], bool]], threshold: float
) -> None:
    """Each row of a family is an earlier one with other numbers at some positions."""
    table = [np.arange(64, dtype=np.uint16)]
    for number, (parent, positions, _) in enumerate(family, start=1):
        table.append(table[parent % number].copy())
        table[-1][list(positions)] = 100 + number
    rows, is_dropped = np.stack(table), np.array([False, *(dropped for *_, dropped in family)])
    originals = near_rows(rows, is_dropped, threshold)
    dropped, kept = np.flatnonzero(originals >= 0), np.flatnonzero(originals < 0)
    assert (originals[originals[dropped]] < 0).all()
    assert (similarity(rows[dropped], rows[originals[dropped]]) >= threshold).all()
    assert (near_rows(rows[kept], is_dropped[kept], threshold) < 0).all()


def test_signatures_estimate_the_jaccard_similarity() -> None:
    def ngrams(text: str) -> set[str]:
        letters = "".join(filter(str.isalnum, text.casefold()))
        return {letters[i : i + 5] for i in range(len(letters) - 4)}

    texts = [SENTENCE[:i] + "X" * 40 for i in range(20, 100, 4)]
    exact = [len(ngrams(text) & ngrams(SENTENCE)) / len(ngrams(text) | ngrams(SENTENCE)) for text in texts]
    estimated = similarity(signatures(texts), np.repeat(signatures([SENTENCE]), len(texts), axis=0))
    assert np.abs(estimated - exact).mean() < 0.06  # the standard error with 64 permutations is at most 0.0625


def test_learnt_thresholds_are_values_of_the_corpus() -> None:
    values = np.arange(1000, dtype=np.float32)
    assert learnt_limits(values, (1, 99)) == Limits(9, 990)
    pairs = [("word " * (i + 1), "가" * 10) for i in range(100)]
    cleaned = clean(pairs, length="learn", percentiles=(5, 95))
    assert 5 <= sum(map(bool, reason_names(cleaned))) <= 10
    assert {str(limits.low) for limits in cleaned.limits} == {"5.0", "10.0"}


def test_lines_of_a_misaligned_block_are_dropped() -> None:
    plan = CleaningPlan(filters=FilterConfig(alignment=True))
    raw = [Pair(f"source {line}", f"target {line}", file, line) for file in ("a", "b") for line in range(1, 6)]
    block = MisalignedBlock(file="b", first_line=2, last_line=3, shift=1)
    cleaned = clean_pairs(raw, plan, ArrayFiles(), hooks=CleaningHooks(find_blocks=lambda _: [block]))
    assert np.flatnonzero(cleaned.drops).tolist() == [6, 7]
    assert cleaned.detail("alignment", 6) == "lines 2 to 3 slip by 1"


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12))
def test_the_report_adds_up_and_is_json(pairs: list[tuple[str, str]]) -> None:
    ledger = Ledger(None)
    for _ in pairs:
        ledger.count_read("a.tsv")
    cleaned = clean(pairs, defaults=True)
    report = corpus_report(cleaned, ledger, 0.0)
    assert report.kept + report.dropped == report.read
    for row in report.filters:
        assert row.alone <= row.dropped <= report.dropped
        assert row.histogram is None or sum(row.histogram.counts) in (len(pairs), 2 * len(pairs))
    for lengths in (report.source_lengths, report.target_lengths, report.ratios):
        assert [sum(part.counts) for part in lengths] == [report.kept, report.dropped]
    assert CorpusReport.from_json(report.as_json()) == report


def test_settings_say_which_filters_run() -> None:
    assert not FilterConfig().is_on
    assert FilterConfig(ratio=4.0).filter_names == ("ratio",) and not FilterConfig(ratio=4.0).repair_names
    defaults = FilterConfig(defaults=True, ratio=False)
    assert "ratio" not in defaults.filter_names and "near_duplicates" not in defaults.filter_names
    assert defaults.repair_names == REPAIR_NAMES
    labels = CleaningPlan(filters=FilterConfig(**ALL_ON), sides=(0,))  # type: ignore[arg-type]
    assert not {"ratio", "copies", "numbers", "same_target"} & set(labels.filter_names)
