"""Pairs that belong together are told from those that do not, and a slip is found where it is."""

import random

import pytest

from tongsa.checks.alignment import STEM_SEGMENTER, check_alignment, check_odd_pairs, measure_alignment
from tongsa.checks.finding import Finding
from tongsa.data.ledger import Pair

WORDS = 300
ENGLISH = [f"{first}{second}{third}" for first in "bdfgk" for second in "aeiou" for third in "lmnprstvwxyz"][:WORDS]
KOREAN = [chr(0xAC00 + 31 * at) + chr(0xAC00 + 17 * at) for at in range(WORDS)]


def corpus(count: int = 900) -> list[Pair]:
    """Words translated one by one, in another order, some more often than others."""
    generator = random.Random(5)
    pairs = []
    for at in range(count):
        words = [min(generator.randrange(WORDS), generator.randrange(WORDS)) for _ in range(generator.randint(4, 9))]
        target = generator.sample(words, len(words))
        pairs.append(
            Pair(" ".join(ENGLISH[word] for word in words), " ".join(KOREAN[word] for word in target), "a.tsv", at + 1)
        )
    return pairs


def judged(pairs: list[Pair]) -> Finding:
    return check_alignment(pairs, measure_alignment(pairs, STEM_SEGMENTER, STEM_SEGMENTER, 600))


def with_targets(pairs: list[Pair], targets: list[str]) -> list[Pair]:
    return [pair._replace(target=target) for pair, target in zip(pairs, targets, strict=True)]


def test_a_good_corpus_is_fine() -> None:
    found = judged(corpus())
    assert found.level == "ok"
    assert found.numbers["share"] > 0.95


def test_a_shuffled_side_is_a_coin_toss_without_a_slip() -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    random.Random(1).shuffle(targets)
    found = judged(with_targets(pairs, targets))
    assert found.level == "fault"
    assert 0.4 < found.numbers["share"] < 0.6
    assert found.numbers["shift"] == 0


@pytest.mark.parametrize("shift", [1, -1, 2, -3])
def test_a_shifted_file_is_found_with_its_shift(shift: int) -> None:
    """The target of each line belongs to the source `shift` lines further."""
    pairs = corpus()
    targets = [pairs[(at + shift) % len(pairs)].target for at in range(len(pairs))]
    found = judged(with_targets(pairs, targets))
    assert found.level == "fault"
    assert found.numbers["shift"] == shift
    assert f"{abs(shift)} lines {'below' if shift > 0 else 'above'}" in found.seen


@pytest.mark.parametrize("lost", [200, 500, 800])
def test_a_lost_line_is_found_about_where_it_was_lost(lost: int) -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    found = measure_alignment(
        with_targets(pairs, [*targets[:lost], *targets[lost + 1 :], targets[lost]]), STEM_SEGMENTER, STEM_SEGMENTER, 600
    )
    assert found is not None
    assert found.line_shift is not None
    assert found.line_shift.shift == 1
    assert abs(found.test_indices[found.line_shift.first] - lost) < 20
    assert found.line_shift.last >= len(found.test_indices) - 3


def test_a_slip_that_is_made_good_again_ends_there() -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    broken = with_targets(pairs, [*targets[:300], *targets[301:600], "없음", *targets[600:]])
    found = measure_alignment(broken, STEM_SEGMENTER, STEM_SEGMENTER, 600)
    assert found is not None
    assert found.line_shift is not None
    assert abs(found.test_indices[found.line_shift.last] - 600) < 20
    assert "a.tsv:" in judged(broken).seen.partition(" to ")[2]


def test_a_third_of_strangers_lowers_the_share_without_a_slip() -> None:
    pairs = corpus()
    targets = [pair.target for pair in pairs]
    targets[::3] = reversed(targets[::3])
    found = judged(with_targets(pairs, targets))
    assert 0.7 < found.numbers["share"] < 0.92
    assert found.numbers["shift"] == 0


def test_lines_missing_from_the_corpus_do_not_hide_a_slip() -> None:
    """One in twenty is set aside to validate on: the neighbour is the next line, not the next pair."""
    pairs = corpus()
    targets = [pairs[(at + 1) % len(pairs)].target for at in range(len(pairs))]
    left = [pair for pair in with_targets(pairs, targets) if pair.line % 20]
    assert judged(left).numbers["shift"] == 1


def test_pieces_of_one_character_fall_back_on_words() -> None:
    from tongsa.checks.alignment import Segmenter
    from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

    pairs = corpus()
    letters = train_tokenizer(
        [pair.source + pair.target for pair in pairs], TokenizerConfig(model="char", vocab_size=1200)
    )
    cut = Segmenter(letters.encode_all, len(letters))
    assert check_alignment(pairs, measure_alignment(pairs, cut, cut, 600)).level == "ok"


def test_too_few_pairs_are_not_judged() -> None:
    pairs = corpus(150)
    shuffled = with_targets(pairs, [pair.target for pair in reversed(pairs)])
    found = judged(shuffled)
    assert found.level == "ok"
    assert "too few to tell" in found.seen


def test_the_odd_pair_is_shown() -> None:
    pairs = corpus()
    found = measure_alignment(pairs, STEM_SEGMENTER, STEM_SEGMENTER, 600)
    assert found is not None
    at = found.test_indices[50]
    odd = [*pairs[:at], pairs[at]._replace(target=pairs[at - 40].target), *pairs[at + 1 :]]
    shown = check_odd_pairs(odd, measure_alignment(odd, STEM_SEGMENTER, STEM_SEGMENTER, 600))
    assert shown.level == "remark"
    assert any(f"a.tsv:{at + 1}:" in example for example in shown.examples)
