"""Scores of pairs by a model: as of each pair alone, for texts of any length, and resumed after an interruption."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tongsa.data.array_files import ArrayFiles
from tongsa.data.ledger import Pair
from tongsa.data.text_store import PairStore, open_pairs, write_pairs
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs import model_scores
from tongsa.runs.model_scores import score_pairs
from tongsa.runs.preparation import Preparation
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

PAIRS = [Pair(f"the cat {i}", f"고양이 {i * i}", "a.tsv", i + 1) for i in range(23)]
LONG = Pair("word " * 3000, "단어 " * 3000, "a.tsv", 24)
TOKENIZER = train_tokenizer([pair.source + pair.target for pair in PAIRS], TokenizerConfig(model="bpe", vocab_size=330))


@pytest.fixture(scope="module")
def translator() -> Translator:
    torch.manual_seed(2)
    config = TransformerConfig(
        width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0, max_positions=64
    )
    model = config.build(len(TOKENIZER), len(TOKENIZER)).eval()
    return Translator(model, TOKENIZER, TOKENIZER, DecodingConfig())


def test_a_score_is_the_mean_of_the_pair_alone(translator: Translator) -> None:
    scores = score_pairs(translator, PairStore.from_pairs(PAIRS))
    alone = [np.mean(translator.score([(pair.source, pair.target)])[0]) for pair in PAIRS]
    np.testing.assert_allclose(scores, alone, rtol=1e-4)


def test_a_text_longer_than_the_model_has_the_score_of_its_first_tokens(translator: Translator) -> None:
    scores = score_pairs(translator, PairStore.from_pairs([PAIRS[0], LONG]))
    assert np.isfinite(scores).all()
    assert scores[0] == pytest.approx(score_pairs(translator, PairStore.from_pairs(PAIRS[:1]))[0], rel=1e-4)


def test_a_language_model_does_not_read_the_source() -> None:
    torch.manual_seed(3)
    model = RNNLMConfig(width=16, layers=1).build(len(TOKENIZER), len(TOKENIZER)).eval()
    generator = TextGenerator(model, TOKENIZER, TOKENIZER)
    scores = score_pairs(generator, PairStore.from_pairs(PAIRS))
    others = score_pairs(generator, PairStore.from_pairs(pair._replace(source="another") for pair in PAIRS))
    np.testing.assert_array_equal(scores, others)


def test_a_classifier_is_refused(translator: Translator) -> None:
    with pytest.raises(InputError, match="Name a translation or a language model"):
        score_pairs(TextClassifier(translator.model, TOKENIZER, TOKENIZER), PairStore.from_pairs(PAIRS))


class StoppedDisplay:
    """Display that interrupts the work after some blocks, like Ctrl-C."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks

    def __enter__(self) -> "StoppedDisplay":
        return self

    def __exit__(self, *_: object) -> None: ...

    def log(self, message: str, style: str = "") -> None: ...

    def for_steps(self, total: int | None, completed: int) -> "StoppedDisplay":  # noqa: ARG002
        return self

    def show(self, completed: int, label: str, figures: str) -> None:  # noqa: ARG002
        self.blocks -= 1
        if not self.blocks:
            raise KeyboardInterrupt


def test_an_interrupted_scoring_goes_on(
    translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_scores, "SCORED_BLOCK_PAIRS", 5)
    arrays = ArrayFiles()
    pairs = PairStore([open_pairs(arrays, write_pairs(PAIRS, arrays), key="pairs")])
    with pytest.raises(KeyboardInterrupt):
        score_pairs(translator, pairs, Preparation(tmp_path, StoppedDisplay(3)))
    (partial,) = tmp_path.glob("scores-*.part")
    assert (partial / "scores").stat().st_size == 3 * 5 * 4
    scores = score_pairs(translator, pairs, Preparation(tmp_path, StoppedDisplay(3)))  # two blocks are left
    np.testing.assert_allclose(scores, score_pairs(translator, pairs), rtol=1e-5)
    np.testing.assert_array_equal(score_pairs(translator, pairs, Preparation(tmp_path)), scores)
