"""Translator: requests, batches, threads, prefixes, alternatives, samples and errors, with random weights."""

import math
import random
from typing import Any

import numpy as np
import pytest
import torch

from tongsa.batch import Padded
from tongsa.decoding.batches import SearchBatch
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.models.rnn import RNNConfig
from tongsa.models.transformer.decoder import TransformerDecoder, TransformerState
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.special import EOS
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.tokenization.words import word_alignment

TEXTS = ["the cat sleeps", "I like New York and the York of old", "나는 고양이를 좋아한다", "", "a dog reads"]
WORDS = ["고양이는 잔다", "뉴욕이 좋다", "개가 책을 읽는다", "the cat sleeps", "I like New York", "GitHub"]
TOKENIZER = train_tokenizer([*TEXTS, *WORDS], TokenizerConfig(model="bpe", vocab_size=330))


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(2)
    config = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = config.build(len(TOKENIZER), len(TOKENIZER)).eval()
    decoding = DecodingConfig(beam=4, max_extra_tokens=6)
    return Translator(model, TOKENIZER, TOKENIZER, decoding)


def test_translate_and_decode_give_the_same(translator: Translator) -> None:
    request = DecodeRequest(config=translator.config_with({"beam": 3, "alpha": 1.0}), nbest=2, prefixes=["고양이"] * 5)
    by_keywords = translator.translate(TEXTS, nbest=2, prefixes=["고양이"] * 5, beam=3, alpha=1.0)
    assert translator.decode(TEXTS, request) == by_keywords


def test_a_record_has_the_names_of_the_attributes(translator: Translator) -> None:
    translation = translator.translate(["the cat sleeps"], nbest=2)[0]
    record = translation.record
    assert list(record) == [
        *("text", "score", "log_prob", "tokens", "token_log_probs", "source_tokens", "truncated", "terms", "nbest"),
        *("sentences", "unseen_words", "low_score", "longer_than_training"),
    ]
    for name in ("text", "score", "log_prob", "truncated"):
        assert record[name] == getattr(translation, name)
    for name in ("tokens", "token_log_probs", "source_tokens"):
        assert tuple(record[name]) == getattr(translation, name)
    assert [hypothesis["text"] for hypothesis in record["nbest"]] == [
        hypothesis.text for hypothesis in translation.nbest
    ]


@pytest.mark.parametrize("beam", [1, 4])
def test_continuous_batching_saves_steps_and_changes_no_output(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a model whose outputs for sources of similar length have different lengths."""
    torch.manual_seed(5)
    config = TransformerConfig(
        width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=2, tie_embeddings="none"
    )
    model = config.build(len(TOKENIZER), len(TOKENIZER)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "output" in name and parameter.shape[:1] == (len(TOKENIZER),):
                parameter[EOS] *= 15
    decoding = DecodingConfig(beam=beam, max_extra_tokens=40)
    translator = Translator(model, TOKENIZER, TOKENIZER, decoding, batch_tokens=400)
    rows: list[int] = []
    step = TransformerDecoder.step

    def count_rows(decoder: TransformerDecoder, token: torch.Tensor, state: TransformerState) -> Any:
        rows.append(len(token))
        return step(decoder, token, state)

    monkeypatch.setattr(TransformerDecoder, "step", count_rows)
    generator = random.Random(1)
    texts = [" ".join(generator.choices(" ".join(TEXTS).split(), k=6)) for _ in range(200)]
    continuous = translator.translate(texts)
    num_steps, num_rows = len(rows), sum(rows)
    rows.clear()
    batched = translator.translate(texts, no_repeat_ngram=99)  # a rule without effect switches refilling off
    assert num_steps < 0.8 * len(rows) and num_rows == sum(rows)
    assert [translation.text for translation in continuous] == [translation.text for translation in batched]
    scores = [translation.score for translation in batched]
    assert [translation.score for translation in continuous] == pytest.approx(scores, abs=1e-4)


def record_batches(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> list[SearchBatch]:
    """Return a list to which each batch of the torch engine will be added."""
    batches: list[SearchBatch] = []
    decode = translator.torch_engine.decode

    def record(batch: SearchBatch, *rest: Any, **others: Any) -> list[list[Hypothesis]]:
        batches.append(batch)
        return decode(batch, *rest, **others)

    monkeypatch.setattr(translator.torch_engine, "decode", record)
    return batches


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 5, 23])
def test_threads_get_similar_numbers_of_tokens_and_change_no_output(
    translator: Translator, threads: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [" ".join(TEXTS[0].split() * (1 + i % 4)) for i in range(count)]
    expected = [translator(text).text for text in texts]
    batches = record_batches(translator, monkeypatch)
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        translations = translator.translate(texts)
    finally:
        torch.set_num_threads(threads_before)
    assert [translation.text for translation in translations] == expected
    tokens = [sum(len(source) for group in batch.sources for source in group) for batch in batches]
    assert len(tokens) == min(threads, count)
    longest_source = max((len(TOKENIZER.encode(text)) + 1 for text in texts), default=0)
    assert max(tokens, default=0) - min(tokens, default=0) <= 2 * longest_source


def test_a_long_text_does_not_pad_many_short_ones(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sleeps " * 30, *["cat"] * 120]
    small = Translator(translator.model, TOKENIZER, TOKENIZER, translator.config, batch_tokens=256)
    batches = record_batches(small, monkeypatch)
    threads_before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        small.translate(texts, beam=1)
    finally:
        torch.set_num_threads(threads_before)
    groups = [group for batch in batches for group in batch.sources]
    assert max(len(group) * max(map(len, group)) for group in groups) <= 256


@pytest.mark.parametrize("max_source_length", [10, 1000])
def test_an_engine_gets_all_texts_in_one_call_or_the_batches_that_it_supports(
    translator: Translator, max_source_length: int
) -> None:
    class ShortSourceEngine:
        name = "short sources only"

        def __init__(self) -> None:
            self.batch_sizes: list[int] = []

        def supports(self, source: Padded, config: DecodingConfig) -> bool:
            return config.beam > 0 and int(source.lengths.max()) <= max_source_length

        def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
            self.batch_sizes.append(len(source.lengths))
            return translator.torch_engine.search(source, config, nbest)

    texts = [" ".join(TEXTS[0].split() * (1 + i % 4)) for i in range(40)]
    engine = ShortSourceEngine()
    with_engine = Translator(translator.model, TOKENIZER, TOKENIZER, translator.config, engine=engine, batch_tokens=64)
    expected = [translation.text for translation in translator.translate(texts)]
    assert [translation.text for translation in with_engine.translate(texts)] == expected
    assert engine.batch_sizes == [40] if max_source_length == 1000 else 0 < sum(engine.batch_sizes) < 40


def test_min_tokens_above_the_maximum_length_is_an_error_with_a_remedy(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"min_tokens 90: .* Lower it, or raise max_extra_tokens"):
        translator.translate(["the cat sleeps"], min_tokens=90)
    assert translator.translate(["the cat sleeps"], min_tokens=90, max_extra_tokens=200)


def test_outputs_begin_with_their_prefix(translator: Translator) -> None:
    first, second = translator.translate(["the cat sleeps", "a dog reads"], prefixes=["고양이는", ""], nbest=3)
    assert all(hypothesis.text.startswith("고양이는") for hypothesis in first.nbest)
    assert second.text == translator("a dog reads").text
    with pytest.raises(InputError, match="1 prefixes for 2 texts"):
        translator.translate(["the cat", "a dog"], prefixes=["고양이"])


def test_a_prefix_that_is_too_long_is_an_error_with_a_remedy(translator: Translator) -> None:
    prefix = "고양이는 " * 30
    with pytest.raises(InputError, match=r"prefix: longer than the translation.*max_extra_tokens=200"):
        translator.translate(["a dog reads"], prefixes=[prefix])
    assert translator.translate(["a dog reads"], prefixes=[prefix], max_extra_tokens=200)


def test_alternatives_continue_a_prefix_with_different_tokens(translator: Translator) -> None:
    alternatives = translator.alternatives("the cat sleeps", "고양이는", count=4)
    prefix_length = len(TOKENIZER.encode_all(["고양이는"])[0])
    next_tokens = [alternative.tokens[prefix_length] for alternative in alternatives]
    assert len(set(next_tokens)) == len(next_tokens) >= 3
    assert all(alternative.text.startswith("고양이는") for alternative in alternatives)
    log_probs = [sum(alternative.token_log_probs[: prefix_length + 1]) for alternative in alternatives]
    assert log_probs == sorted(log_probs, reverse=True), "the likeliest next token comes first"
    assert translator.alternatives("", "고양이는") == []


def test_alternatives_include_the_end_if_it_is_likely(translator: Translator) -> None:
    text, prefix, length = "the cat sleeps", "고양이는", len(TOKENIZER.encode("고양이는"))
    alternatives = translator.alternatives(text, prefix, count=len(TOKENIZER), beam=1)
    (end,) = (alternative for alternative in alternatives if len(alternative.tokens) == length)
    (token_log_probs,) = translator.score([(text, prefix)])
    assert end.text == prefix and end.log_prob == pytest.approx(sum(token_log_probs), abs=1e-4)
    next_log_probs = [alternative.token_log_probs[length] for alternative in alternatives]
    assert next_log_probs == sorted(next_log_probs, reverse=True), "the end is ranked like any token"
    longer = translator.alternatives(text, prefix, count=len(TOKENIZER), beam=1, min_tokens=length + 1)
    assert end.text not in [alternative.text for alternative in longer if len(alternative.tokens) == length]


def test_at_the_maximum_length_the_end_is_the_only_alternative(translator: Translator) -> None:
    text, prefix = "the cat sleeps", "고양이는 잔다"
    extra = len(TOKENIZER.encode(prefix)) - len(TOKENIZER.encode(text)) - 1
    (end,) = translator.alternatives(text, prefix, max_extra_tokens=extra)
    assert end.text == prefix
    assert translator.alternatives(text, prefix + " 뉴욕", max_extra_tokens=extra) == []
    assert all(alternative.tokens for alternative in translator.alternatives(text, "", count=len(TOKENIZER)))


def test_samples_depend_on_the_seed(translator: Translator) -> None:
    def sample(seed: int) -> list[str]:
        (translation,) = translator.translate(["the cat sleeps"], nbest=6, sampling=SamplingConfig(seed=seed))
        return [hypothesis.text for hypothesis in translation.nbest]

    assert sample(1) == sample(1) != sample(2)
    assert len(set(sample(1))) > 1


def test_token_log_probs_equal_teacher_forcing(translator: Translator) -> None:
    (translation,) = translator.translate(["the cat sleeps"], nbest=4)
    for hypothesis in translation.nbest:
        assert len(hypothesis.token_log_probs) == len(hypothesis.tokens) + 1
        (scored,) = translator.score([("the cat sleeps", hypothesis.text)])
        assert math.isclose(sum(hypothesis.token_log_probs), hypothesis.log_prob, abs_tol=1e-4)
        if len(scored) == len(hypothesis.token_log_probs):  # the text may be tokenized in another way
            np.testing.assert_allclose(hypothesis.token_log_probs, scored, atol=1e-4)


def test_every_output_word_is_aligned_to_a_source_word(translator: Translator) -> None:
    translation = translator("I like New York and the York of old")
    targets = sorted(target for _, target in translation.word_alignment)
    assert targets == [*range(len(translation.text.split()))]
    assert {source for source, _ in translation.word_alignment} <= {*range(9)}
    assert translator("").word_alignment == []


def test_words_are_aligned_by_the_sum_over_their_tokens() -> None:
    source, target = ["▁the", "▁sleep", "ing", "▁cat"], ["▁자는", "▁고", "양이"]
    weights = np.array([[0.4, 0.3, 0.25, 0.05], [0.1, 0.1, 0.1, 0.7], [0.45, 0.1, 0.1, 0.35]])
    # 자는 attends most to "the", but more to the two tokens of "sleeping" together; 고양이 to "cat" on average
    assert word_alignment(weights, target, source) == [(1, 0), (2, 1)]


def test_wrong_settings_are_refused_with_their_name(translator: Translator) -> None:
    with pytest.raises(InputError, match="bream"):
        translator.translate(["the cat"], bream=3)
    with pytest.raises(InputError, match="beam_groups 3"):
        translator.translate(["the cat"], beam_groups=3)
    with pytest.raises(InputError, match="between 1 and the beam"):
        translator.translate(["the cat"], nbest=5)
    with pytest.raises(InputError, match="Use 1 to 1000 samples"):
        translator.translate(["the cat"], nbest=1001, sampling=SamplingConfig())


def test_a_coverage_penalty_without_attention_is_refused() -> None:
    model = RNNConfig(width=16, embedding=8).build(len(TOKENIZER), len(TOKENIZER)).eval()
    translator = Translator(model, TOKENIZER, TOKENIZER, DecodingConfig(beam=2, max_extra_tokens=3))
    with pytest.raises(InputError, match="no attention"):
        translator.translate(["the cat"], coverage_penalty=0.2)


def test_a_string_instead_of_a_list_is_refused(translator: Translator) -> None:
    with pytest.raises(InputError, match=r"Write \['a dog reads'\]"):
        translator.translate("a dog reads")
    with pytest.raises(InputError, match="not a list of texts"):
        translator.translate(["a", "b"], prefixes="고양")
    with pytest.raises(InputError, match=r"pair 1: 'ab' is not a pair. Write \(source, target\)"):
        translator.score(("ab", "cd"))  # type: ignore[arg-type]
    generator = TextGenerator(translator.model, TOKENIZER, TOKENIZER)
    with pytest.raises(InputError, match="not a list of texts"):
        generator.score_texts("a dog reads")
    with pytest.raises(InputError, match="not a list of texts"):
        TextClassifier(translator.model, TOKENIZER, TOKENIZER).classify("a dog reads")
