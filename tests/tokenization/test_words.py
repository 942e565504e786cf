import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tongsa.tokenization.words import merge_words, word_starts, word_strings

TOKENS = st.lists(
    st.sampled_from(["▁a", "b", "▁", "</s>", "<s>", "<unk>", "<0xEC>", "▁집", "에"]), min_size=1, max_size=12
)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["▁나", "는", "▁집", "에", "▁간다", "</s>"], ["나는", "집에", "간다", "</s>"]),
        (["<s>", "re", "open", "▁it"], ["<s>", "reopen", "it"]),
        (["▁", "<0xEC>", "<0xA7>", "<0x91>", "에"], ["집에"]),
        (["▁x", "<unk>", "y"], ["x<unk>y"]),
        (["▁", "▁of▁the"], ["▁", "of the"]),
    ],
)
def test_tokens_are_merged_into_words(tokens: list[str], words: list[str]) -> None:
    assert word_strings(tokens, word_starts(tokens)) == words


def test_keys_are_summed_and_queries_averaged() -> None:
    weights = np.array([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]])
    assert_allclose(merge_words(weights, [0, 2], [0, 1]), [[[0.3, 0.7], [0.0, 1.0]]])


@given(TOKENS, TOKENS)
def test_merged_rows_still_sum_to_one(queries: list[str], keys: list[str]) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(len(keys)), size=(2, len(queries)))
    merged = merge_words(weights, word_starts(queries), word_starts(keys))
    assert_allclose(merged.sum(axis=2), 1)
