"""Minimum Bayes risk decoding: small examples and a table of scores."""

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


def test_expected_utility_is_the_mean_over_all_references() -> None:
    def same_length(candidate: str, reference: str) -> float:
        return float(len(candidate) == len(reference))

    assert expected_utilities(["가", "나다", "라"], ["가", "나다", "라", "마"], same_length) == [0.75, 0.25, 0.75]


def test_a_text_similar_to_most_samples_wins() -> None:
    texts = ["나는 책을 읽는다", "나는 책을 읽었다", "나는 책만 읽는다", "salad salad"]
    utilities = expected_utilities(texts, texts)
    assert max(range(4), key=utilities.__getitem__) == 0


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=8))
def test_expected_utilities_equal_a_loop_over_all_pairs(samples: list[str]) -> None:
    def utility(candidate: str, reference: str) -> float:
        return sum(a == b for a, b in zip(candidate, reference, strict=False)) - 0.5 * len(candidate)

    expected = [sum(utility(text, other) for other in samples) / len(samples) for text in samples]
    assert expected_utilities(samples, samples, utility) == pytest.approx(expected)


def test_chrf_is_one_for_equal_texts_and_zero_for_disjoint_ones() -> None:
    assert chrf("고양이가 잔다", "고양이가 잔다") == pytest.approx(1.0)
    assert chrf("abc", "xyz") == 0.0


def test_the_sample_with_the_highest_expected_utility_is_selected() -> None:
    torch.manual_seed(4)
    tokenizer = train_tokenizer(["a b c", "가 나 다"], TokenizerConfig(model="char", vocab_size=300))
    model = RNNAttentionConfig(embedding=8, width=12, maxout_width=8).build(len(tokenizer), len(tokenizer))
    translator = Translator(model, tokenizer, tokenizer, DecodingConfig(beam=2, max_extra_tokens=2))
    sampling = SamplingConfig(seed=7, temperature=0.5)
    selected = mbr_decode(translator, ["a b", ""], num_samples=12, sampling=sampling)
    assert selected[1].text == ""
    sampled = translator.translate(["a b", ""], nbest=12, sampling=sampling)[0]
    texts = [sample.text for sample in sampled.nbest]
    scores = expected_utilities(texts, texts)
    assert selected[0].text == texts[scores.index(max(scores))]
    assert selected[0].score == max(scores)


TOKENIZER = train_tokenizer(["가 나"], TokenizerConfig(model="word", vocab_size=SIZE))


class IndexEncoder(nn.Module):
    """Memory of each sentence is its index in the batch; the parameter tells the device."""

    def __init__(self) -> None:
        super().__init__()
        self.parameter = nn.Parameter(torch.zeros(1))

    def forward(self, source: Padded) -> Memory:
        return sentences(len(source.tokens))


def overlap(candidate: str, reference: str) -> float:
    """Return the fraction of a candidate that the reference has in the same order; it is not symmetric."""
    blocks = SequenceMatcher(None, candidate.split(), reference.split(), autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / (1 + len(candidate.split()))


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 4))
@settings(max_examples=40)
def test_the_selected_sample_has_the_highest_mean_utility_of_all_samples(
    seed: int, num_samples: int, max_extra_tokens: int
) -> None:
    assert len(TOKENIZER) == SIZE
    model = EncoderDecoder(IndexEncoder(), Table(seed), 64)  # type: ignore[arg-type]  # search needs steps only
    translator = Translator(model, TOKENIZER, TOKENIZER, DecodingConfig(beam=1, max_extra_tokens=max_extra_tokens))
    texts, sampling = ["가 나", "나"], SamplingConfig(seed=seed)
    sampled = translator.translate(texts, nbest=num_samples, sampling=sampling)
    for first, selected in zip(
        sampled, mbr_decode(translator, texts, num_samples=num_samples, sampling=sampling, utility=overlap), strict=True
    ):
        samples = [sample.text for sample in first.nbest]
        means = [sum(overlap(text, other) for other in samples) / num_samples for text in samples]
        assert len(samples) == num_samples
        assert selected.score == pytest.approx(max(means))
        assert means[samples.index(selected.text)] == pytest.approx(max(means))
