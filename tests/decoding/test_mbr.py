"""Minimum Bayes risk, by hand and on a model."""

from difflib import SequenceMatcher

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from table import SIZE, Table, sentences
from tongsa.batch import Padded
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.mbr import chrf, expected_utilities, mbr_decode
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator
from tongsa.interface import EncoderDecoder, Memory
from tongsa.models.rnn_attention import RNNAttentionConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer


def test_a_utility_is_the_mean_over_all_evidence() -> None:
    def same_length(candidate: str, right: str) -> float:
        return float(len(candidate) == len(right))

    assert expected_utilities(["가", "나다", "라"], ["가", "나다", "라", "마"], same_length) == [0.75, 0.25, 0.75]


def test_what_most_draws_nearly_say_beats_what_one_says_otherwise() -> None:
    texts = ["나는 책을 읽는다", "나는 책을 읽었다", "나는 책만 읽는다", "salad salad"]
    values = expected_utilities(texts, texts)
    assert max(range(4), key=values.__getitem__) == 0


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=8))
def test_utilities_are_what_every_pair_of_draws_says_in_the_mean(draws: list[str]) -> None:
    def alike(candidate: str, right: str) -> float:
        return sum(a == b for a, b in zip(candidate, right, strict=False)) - 0.5 * len(candidate)

    by_hand = [sum(alike(one, other) for other in draws) / len(draws) for one in draws]
    assert expected_utilities(draws, draws, alike) == pytest.approx(by_hand)


def test_chrf_is_one_for_the_same_and_nothing_for_strangers() -> None:
    assert chrf("고양이가 잔다", "고양이가 잔다") == pytest.approx(1.0)
    assert chrf("abc", "xyz") == 0.0


def test_the_answer_is_one_of_the_draws_and_the_one_that_agrees_best() -> None:
    torch.manual_seed(4)
    pieces = train_tokenizer(["a b c", "가 나 다"], TokenizerConfig(model="char", vocab_size=300))
    model = RNNAttentionConfig(embedding=8, width=12, maxout_width=8).build(len(pieces), len(pieces))
    translator = Translator(model, pieces, pieces, DecodingConfig(beam=2, max_extra_tokens=2))
    sampling = SamplingConfig(seed=7, temperature=0.5)
    found = mbr_decode(translator, ["a b", ""], num_samples=12, sampling=sampling)
    assert found[1].text == ""
    drawn = translator.translate(["a b", ""], nbest=12, sampling=sampling)[0]
    texts = [drawn.text, *(one.text for one in drawn.alternatives)]
    scores = expected_utilities(texts, texts)
    assert found[0].text == texts[scores.index(max(scores))]
    assert found[0].score == max(scores)


WORDS = train_tokenizer(["가 나"], TokenizerConfig(model="word", vocab_size=SIZE))


class Counted(nn.Module):
    """The sentences of a batch by their places in it; a translator asks its model where its numbers are."""

    def __init__(self) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(1))

    def forward(self, source: Padded) -> Memory:
        return sentences(len(source.tokens))


def shared(candidate: str, right: str) -> float:
    """How much of a candidate stands in the other text too, in the same order; it is not symmetric."""
    blocks = SequenceMatcher(None, candidate.split(), right.split(), autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / (1 + len(candidate.split()))


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 4))
@settings(max_examples=40)
def test_the_winner_has_the_greatest_mean_utility_of_all_draws_of_a_table(seed: int, samples: int, beyond: int) -> None:
    assert len(WORDS) == SIZE
    model = EncoderDecoder(Counted(), Table(seed), 64)  # type: ignore[arg-type]  # search needs no more than steps
    translator = Translator(model, WORDS, WORDS, DecodingConfig(beam=1, max_extra_tokens=beyond))
    texts, sampling = ["가 나", "나"], SamplingConfig(seed=seed)
    drawn = translator.translate(texts, nbest=samples, sampling=sampling)
    for first, found in zip(
        drawn, mbr_decode(translator, texts, num_samples=samples, sampling=sampling, utility=shared), strict=True
    ):
        draws = [first.text, *(one.text for one in first.alternatives)]
        means = [sum(shared(one, other) for other in draws) / samples for one in draws]
        assert len(draws) == samples
        assert found.score == pytest.approx(max(means))
        assert means[draws.index(found.text)] == pytest.approx(max(means))
