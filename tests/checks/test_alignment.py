"""Pairs that belong together are told from those that do not, and a slip is finding where it is."""

import random

import pytest

from tongsa.checks.alignment import STEM_SEGMENTER, check_alignment, check_odd_pairs, measure_alignment
from tongsa.checks.finding import Finding
from tongsa.data.ledger import Pair

WORDS = 300
ENGLISH = [f"{first}{second}{third}" for first in "bdfgk" for second in "aeiou" for third in "lmnprstvwxyz"][:WORDS]
KOREAN = [chr(0xAC00 + 31 * i) + chr(0xAC00 + 17 * i) for i in range(WORDS)]


def corpus(count: int = 900) -> list[Pair]:
    """Return sentences translated word by word, in another order; some words are more frequent."""
    generator = random.Random(5)
    pairs = []
    for i in range(count):
        words = [min(generator.randrange(WORDS), generator.randrange(WORDS)) for _ in range(generator.randint(4, 9))]
        target = generator.sample(words, len(words))
        pairs.append(
            Pair(" ".join(ENGLISH[word] for word in words), " ".join(KOREAN[word] for word in target), "a.tsv", i + 1)
        )
    return pairs


def check(pairs: list[Pair]) -> Finding:
    return check_alignment(pairs, measure_alignment(pairs, STEM_SEGMENTER, STEM_SEGMENTER, 600))


def with_targets(pairs: list[Pair], targets: list[str]) -> list[Pair]:
    return [pair._replace(target=target) for pair, target in zip(pairs, targets, strict=True)]


def test_a_good_corpus_is_ok() -> None:
    finding = check(corpus())
    assert finding.level == "ok"
    assert finding.numbers["share"] > 0.95


def test_a_shuffled_side_is_a_fault_without_a_shift() -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    random.Random(1).shuffle(targets)
    finding = check(with_targets(pairs, targets))
    assert finding.level == "fault"
    assert 0.4 < finding.numbers["share"] < 0.6
    assert finding.numbers["shift"] == 0


@pytest.mark.parametrize("shift", [1, -1, 2, -3])
def test_a_shifted_file_is_detected_with_its_shift(shift: int) -> None:
    """The target of each line belongs to the source `shift` lines further."""
    pairs = corpus()
    targets = [pairs[(i + shift) % len(pairs)].target for i in range(len(pairs))]
    finding = check(with_targets(pairs, targets))
    assert finding.level == "fault"
    assert finding.numbers["shift"] == shift
    lines = "1 line" if abs(shift) == 1 else f"{abs(shift)} lines"
    assert f"source {lines} {'below' if shift > 0 else 'above'}" in finding.seen


@pytest.mark.parametrize("missing", [200, 500, 800])
def test_a_missing_line_is_located(missing: int) -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    result = measure_alignment(
        with_targets(pairs, [*targets[:missing], *targets[missing + 1 :], targets[missing]]),
        STEM_SEGMENTER,
        STEM_SEGMENTER,
        600,
    )
    assert result is not None
    assert result.line_shift is not None
    assert result.line_shift.shift == 1
    assert abs(result.test_indices[result.line_shift.first] - missing) < 20
    assert result.line_shift.last >= len(result.test_indices) - 3


def test_a_shift_ends_where_a_line_is_inserted() -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    broken = with_targets(pairs, [*targets[:300], *targets[301:600], "없음", *targets[600:]])
    result = measure_alignment(broken, STEM_SEGMENTER, STEM_SEGMENTER, 600)
    assert result is not None
    assert result.line_shift is not None
    assert abs(result.test_indices[result.line_shift.last] - 600) < 20
    assert "a.tsv:" in check(broken).seen.partition(" to ")[2]


def test_unrelated_targets_lower_the_share_without_a_shift() -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    targets[::3] = reversed(targets[::3])
    finding = check(with_targets(pairs, targets))
    assert 0.7 < finding.numbers["share"] < 0.92
    assert finding.numbers["shift"] == 0


def test_dropped_lines_do_not_hide_a_shift() -> None:
    """One line in twenty is missing (it is in dev): the neighbor is the next line, not the next pair."""
    pairs = corpus()
    targets = [pairs[(i + 1) % len(pairs)].target for i in range(len(pairs))]
    left = [pair for pair in with_targets(pairs, targets) if pair.line % 20]
    assert check(left).numbers["shift"] == 1


def test_character_tokens_fall_back_to_word_stems() -> None:
    from tongsa.checks.alignment import Segmenter
    from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

    pairs = corpus()
    letters = train_tokenizer(
        [pair.source + pair.target for pair in pairs], TokenizerConfig(model="char", vocab_size=1200)
    )
    segmenter = Segmenter(letters.encode_all, len(letters))
    assert check_alignment(pairs, measure_alignment(pairs, segmenter, segmenter, 600)).level == "ok"


def test_too_few_pairs_are_not_checked() -> None:
    pairs = corpus(150)
    shuffled = with_targets(pairs, [pair.target for pair in reversed(pairs)])
    finding = check(shuffled)
    assert finding.level == "ok"
    assert "too few to check" in finding.seen


def test_an_odd_pair_is_listed() -> None:
    pairs = corpus()
    result = measure_alignment(pairs, STEM_SEGMENTER, STEM_SEGMENTER, 600)
    assert result is not None
    i = result.test_indices[50]
    odd = [*pairs[:i], pairs[i]._replace(target=pairs[i - 40].target), *pairs[i + 1 :]]
    shown = check_odd_pairs(odd, measure_alignment(odd, STEM_SEGMENTER, STEM_SEGMENTER, 600))
    assert shown.level == "remark"
    assert any(f"a.tsv:{i + 1}:" in example for example in shown.examples)
