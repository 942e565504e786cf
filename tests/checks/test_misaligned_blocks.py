"""Misaligned blocks: the line of each slip is named, and an aligned corpus has no block."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongsa.checks.alignment import STEM_SEGMENTER, check_alignment, measure_alignment
from tongsa.checks.misaligned_blocks import find_misaligned_blocks
from tongsa.data.ledger import Pair
from tongsa.data.text_store import PairStore
from tongsa.demo import read_split

PAIRS = read_split("train")[:1500]
MIN_BLOCK = 40
"""Lines between two slips, and from the last one to the end."""


def store(sources: list[str], targets: list[str], missing: int = 0) -> PairStore:
    """Return the lines of two sides, without each line whose number is divisible by `missing`."""
    lines = enumerate(zip(sources, targets, strict=False), start=1)
    return PairStore.from_pairs(
        Pair(source, target, "corpus.tsv", line) for line, (source, target) in lines if not missing or line % missing
    )


@st.composite
def slips(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Return places in the targets, each with the number of lines deleted (positive) or inserted (negative) there."""
    cuts = sorted(draw(st.sets(st.integers(MIN_BLOCK, len(PAIRS) - 2 * MIN_BLOCK), min_size=1, max_size=4)))
    far = [cut for before, cut in pairwise([-MIN_BLOCK, *cuts]) if cut - before >= MIN_BLOCK]
    return [(cut, draw(st.sampled_from([-2, -1, 1, 2]))) for cut in far]


def with_slips(targets: list[str], cuts: list[tuple[int, int]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the targets after the slips, and for each slip the line and the shift from there on."""
    lines, expected, done, shift = list[str](), list[tuple[int, int]](), 0, 0
    generator = random.Random(0)
    for cut, deleted in cuts:
        lines += targets[done:cut]
        shift += deleted
        expected.append((len(lines) + 1, shift))
        lines += generator.choices(targets, k=max(0, -deleted))
        done = cut + max(0, deleted)
    return lines + targets[done:], expected


@pytest.mark.slow
@settings(max_examples=10, deadline=None, derandomize=True)
@given(slips(), st.sampled_from([0, 7]))
def test_each_slip_is_named_within_one_line(cuts: list[tuple[int, int]], missing: int) -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    lines, expected = with_slips(targets, cuts)
    blocks = find_misaligned_blocks(store(sources, lines, missing))
    shifted = [(line, shift) for line, shift in expected if shift]
    assert [block.shift for block in blocks] == [shift for _, shift in shifted]
    for block, (line, _) in zip(blocks, shifted, strict=True):
        assert abs(block.first_line - line) <= 1, (blocks, expected)
    for block, (line, _) in zip(blocks, expected[1:], strict=False):
        if len(shifted) == len(expected):
            assert abs(block.last_line + 1 - line) <= 1


def test_an_aligned_corpus_has_no_block() -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    assert find_misaligned_blocks(store(sources, targets)) == []
    assert find_misaligned_blocks(store(sources[:150], targets[1:151])) == []  # too few to know


def test_a_block_ends_where_the_sides_are_aligned_again() -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    (block,) = find_misaligned_blocks(store(sources, targets[:400] + targets[430:900] + targets[:30] + targets[900:]))
    assert abs(block.first_line - 401) <= 1
    assert block.shift == 30
    assert abs(block.last_line - 900) <= 1


def test_shuffled_targets_have_no_block() -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    random.Random(2).shuffle(targets)
    assert find_misaligned_blocks(store(sources, targets)) == []


def test_a_file_that_is_shifted_from_its_first_line_on() -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    block, *others = find_misaligned_blocks(store(sources, targets[5:]))
    assert not others
    assert (block.shift, block.first_line) == (5, 1)


def test_each_file_has_lines_of_its_own() -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    first, second = store(sources[:700], targets[:700]), store(sources[700:], targets[700:900] + targets[901:])
    (block,) = find_misaligned_blocks(PairStore.concatenate([first, second]))
    assert abs(block.first_line - 201) <= 1
    assert block.shift == 1


def test_the_doctor_names_the_line() -> None:
    sources, targets = map(list, zip(*PAIRS, strict=True))
    pairs = store(sources, targets[:500] + targets[501:])
    blocks = find_misaligned_blocks(pairs)
    finding = check_alignment(pairs, measure_alignment(pairs, STEM_SEGMENTER, STEM_SEGMENTER), blocks)
    assert abs(blocks[0].first_line - 501) <= 1
    line = f"from corpus.tsv:{blocks[0].first_line} to line 1499, a target belongs to the source 1 line below"
    assert line in finding.seen
