"""A folder with data and models for the tests of remedies."""

from pathlib import Path

import pytest

from jobs import write_model
from tiny import reversing, write_pairs
from tongsa import bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.models.transformer.language_model import TransformerLMConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data, a translation model and a language model, both untrained."""
    path = tmp_path_factory.mktemp("remedies")
    write_pairs(path / "pairs.tsv", reversing(60))
    write_pairs(path / "recipe.txt", reversing(60))
    (path / "texts.txt").write_text("a b c\n", "utf-8")
    write_model(path / "model")
    tokenizer = train_tokenizer(["a b c 가 나 다"] * 3, TokenizerConfig(vocab_size=300))
    config = TransformerLMConfig(width=16, ffn_width=32, heads=4, layers=1)
    model = config.build(len(tokenizer), len(tokenizer)).eval()
    language_model = bundle.Bundle(
        kind="transformer_lm",
        config=config,
        model=model,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        decoding=DecodingConfig(),
    )
    bundle.save_bundle(path / "lm", language_model, "")
    return path
