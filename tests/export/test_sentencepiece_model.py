"""SentencePiece alone, with an exported model, tokenizes like tongsa."""

from functools import cache
from typing import Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from tongsa.export.sentencepiece_model import portable_model
from tongsa.tokenization.subword import SubwordTokenizer, TokenizerConfig, train_tokenizer

Model = Literal["unigram", "bpe", "char"]
PARTS = [
    *"abé Å가각갔\t\n\u00a0\u3000\u0085\ufeff\u0001▁_🙂ệ\u200d",
    "e\u0301",
    "e\u0323\u0302",
    "\u1112\u1161\u11ab",
    "가\u11a8",
]
"""White space, controls, composed and decomposed letters and syllables."""


@cache
def tokenizers(model: Model, jamo: bool) -> tuple[SubwordTokenizer, SentencePieceProcessor]:
    texts = ["안녕 하세요 세계 갔다 가다 한국 hello world café naïve a b c d"]
    tokenizer = train_tokenizer(texts, TokenizerConfig(model=model, vocab_size=400, jamo=jamo))
    return tokenizer, SentencePieceProcessor(model_proto=portable_model(tokenizer))


@pytest.mark.parametrize("jamo", [False, True])
@pytest.mark.parametrize("model", get_args(Model))
@settings(deadline=None, derandomize=True, max_examples=200)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=12))
def test_text_is_encoded_and_decoded_like_ours(model: Model, jamo: bool, parts: list[str]) -> None:
    tokenizer, processor = tokenizers(model, jamo)
    tokens = tokenizer.encode("".join(parts))
    assert processor.encode("".join(parts)) == tokens
    assert processor.decode(tokens) == tokenizer.decode(tokens)


@pytest.mark.parametrize("jamo", [False, True])
@settings(deadline=None, derandomize=True, max_examples=200)
@given(words=st.lists(st.sampled_from(["▁", "▁", "a", "b", "▁a"]), max_size=12))
def test_outputs_of_a_model_are_decoded_like_ours(jamo: bool, words: list[str]) -> None:
    """A model may output what no text is encoded to, for example two spaces."""
    tokenizer, processor = tokenizers("char", jamo)
    tokens = [processor.piece_to_id(word) for word in words]
    assert processor.decode(tokens) == tokenizer.decode(tokens)
