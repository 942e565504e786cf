import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tongsa.tokenization.words import merge_words, word_starts, word_strings

from .readings import weights

PIECES = st.lists(
    st.sampled_from(["▁a", "b", "▁", "</s>", "<s>", "<unk>", "<0xEC>", "▁집", "에"]), min_size=1, max_size=12
)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁나", "는", "▁집", "에", "▁간다", "</s>"], ["나는", "집에", "간다", "</s>"]),
        (["<s>", "re", "open", "▁it"], ["<s>", "reopen", "it"]),
        (["▁", "<0xEC>", "<0xA7>", "<0x91>", "에"], ["집에"]),
        (["▁x", "<unk>", "y"], ["x<unk>y"]),
        (["▁", "▁of▁the"], ["▁", "of the"]),
    ],
)
def test_pieces_become_the_words_that_were_written(pieces: list[str], words: list[str]) -> None:
    assert word_strings(pieces, word_starts(pieces)) == words


def test_keys_are_summed_and_queries_averaged() -> None:
    pieces = np.array([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]])
    assert_allclose(merge_words(pieces, [0, 2], [0, 1]), [[[0.3, 0.7], [0.0, 1.0]]])


@given(PIECES, PIECES)
def test_merged_rows_still_sum_to_one(queries: list[str], keys: list[str]) -> None:
    merged = merge_words(weights((2, len(queries), len(keys))), word_starts(queries), word_starts(keys))
    assert_allclose(merged.sum(axis=2), 1)
