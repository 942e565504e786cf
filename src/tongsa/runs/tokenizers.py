"""Tokenizers of a run: trained on its data, copied from another run, or those that the run has already."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import sentencepiece

from tongsa import bounded_files, bundle, storage
from tongsa.config import read_folder_toml
from tongsa.data.array_files import ArrayFiles
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import BLOCK_ROWS, PairStore, TextView
from tongsa.errors import InputError
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import Recipe
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer, TokenizerConfig, sample_rows, train_tokenizer
from tongsa.tokenization.tokenizer import Tokenizer

Side = Literal["source", "target"]
MAX_CHECKSUM_BYTES = 1000


def build_tokenizers(
    train: PairStore, recipe: Recipe, labels: LabelTokenizer | None, folder: Path, preparation: Preparation
) -> tuple[SubwordTokenizer, Tokenizer]:
    """Load the tokenizers of the run; the first time, train them or copy them from another run."""
    config, task, saved = recipe.tokenizer, recipe.model.task, folder / "tokenizer"
    trainer = _TokenizerTrainer(train, preparation.for_pairs(train), recipe.data.source_symbols)
    sources: tuple[Side, ...] = ("source",)
    if recipe.data.term_replacement:  # the sources will contain words of the target language
        sources = ("source", "target")
    if labels is not None:
        return trainer.load_or_train(saved / "source.model", config, sources), labels
    if config.shared or task == "language_model":
        side: Side = "source" if task == "seq2seq" else "target"
        tokenizer = trainer.load_or_train(saved / "source.model", config, (*sources, "target"), side)
        return tokenizer, tokenizer
    source = trainer.load_or_train(saved / "source.model", config, sources)
    return source, trainer.load_or_train(saved / "target.model", config.for_target, ("target",), side="target")


class _TokenizerTrainer:
    """Training of tokenizers on some sides of the training pairs."""

    def __init__(self, train: PairStore, preparation: Preparation, symbols: Sequence[str] = ()) -> None:
        """`symbols` become tokens of the tokenizer that reads the sources."""
        self.train, self.preparation, self.symbols = train, preparation, tuple(symbols)

    def load_or_train(
        self, path: Path, config: TokenizerConfig, trained_on: Sequence[Side], side: Side = "source"
    ) -> SubwordTokenizer:
        """Return the tokenizer in a file; if it is missing, train it, or copy that of `side` from another run."""
        if not path.exists():
            reused = config.reuse_from
            content = _read_reused_tokenizer(config, side) if reused else self._train(config, trained_on)
            storage.write_bytes(_checksum_path(path), _sha256_line(content))
            storage.write_bytes(path, content)
        tokenizer = SubwordTokenizer.load(path, config.jamo)
        _check_unchanged(path, tokenizer.model_bytes)
        for symbol in self.symbols if side == "source" else ():
            if symbol not in tokenizer.symbols:
                raise InputError(f"tokenizer.reuse_from {config.reuse_from}: no token for {symbol}. Leave it out.")
        return tokenizer

    def _train(self, config: TokenizerConfig, trained_on: Sequence[Side]) -> bytes:
        sides = [self.train.sources if side == "source" else self.train.targets for side in trained_on]

        symbols = self.symbols if "source" in trained_on else ()

        def fill(arrays: ArrayFiles) -> None:
            arrays.restore_progress()
            if self.preparation.folder is not None:
                count = min(config.training_texts, sum(map(len, sides)))
                self.preparation.display.log(f"training the tokenizer on {count:,} texts")
            texts = _sampled_texts(sides, config.training_texts)
            arrays.append("tokenizer.model", train_tokenizer(texts, config, symbols).model_bytes)

        settings = [config.model, config.vocab_size, config.jamo, config.byte_fallback, config.training_texts, *symbols]
        key = content_key("tokenizer", self.train.key, trained_on, settings, sentencepiece.__version__)
        return self.preparation.prepare(f"tokenizer-{key}", fill).read("tokenizer.model", "u1").tobytes()


def write_checksum(path: Path) -> None:
    """Write the checksum of a file beside it; `has_checksum` reads it."""
    content = bounded_files.read_bytes(path, bounded_files.MAX_TOKENIZER_BYTES)
    storage.write_bytes(_checksum_path(path), _sha256_line(content))


def _checksum_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _check_unchanged(path: Path, content: bytes) -> None:
    """Raise InputError if a tokenizer is not the one that was written: with another, training would go on silently."""
    if not has_checksum(path, content):
        raise InputError(f"{path}: changed since this run started. Restore the file, or start a new run.")


def has_checksum(path: Path, content: bytes) -> bool:
    """Return whether the content of a file has the checksum beside it; runs of older versions have none."""
    checksum = _checksum_path(path)
    return not checksum.exists() or bounded_files.read_bytes(checksum, MAX_CHECKSUM_BYTES) == _sha256_line(content)


def _sha256_line(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode("ascii")


def _sampled_texts(sides: Sequence[TextView], count: int) -> Iterator[str]:
    """Yield a uniform sample of the texts of all sides."""
    total = sum(map(len, sides))
    if total <= count:
        yield from chain.from_iterable(sides)
        return
    rows, start = np.array(sample_rows(total, count)), 0
    for side in sides:
        own_rows = rows[(rows >= start) & (rows < start + len(side))] - start
        for i in range(0, len(own_rows), BLOCK_ROWS):
            yield from side.take(own_rows[i : i + BLOCK_ROWS])
        start += len(side)


def _read_reused_tokenizer(config: TokenizerConfig, side: Side) -> bytes:
    source, target = _reusable_tokenizers(Path(config.reuse_from))
    if source.jamo != config.jamo:
        raise InputError(
            f"tokenizer.reuse_from {config.reuse_from}: that tokenizer has another jamo setting. "
            f"Write tokenizer.jamo = {str(source.jamo).lower()}."
        )
    if config.shared and source.model_bytes != target.model_bytes and side == "source":
        raise InputError(
            f"tokenizer.reuse_from {config.reuse_from}: that run has two vocabularies. Write tokenizer.shared = false."
        )
    return (source if side == "source" else target).model_bytes


def _reusable_tokenizers(folder: Path) -> tuple[SubwordTokenizer, SubwordTokenizer]:
    """Return the tokenizers of source and target of a model, or of a run without a model yet; equal if it has one."""
    saved = folder / "tokenizer"
    if (folder / "run.toml").is_file() and (saved / "source.model").is_file() and not (folder / "model").exists():
        table = read_folder_toml(folder / "run.toml").get("tokenizer", {})
        jamo = isinstance(table, dict) and table.get("jamo") is True
        target_path = saved / "target.model"
        source = SubwordTokenizer.load(saved / "source.model", jamo)
        return source, SubwordTokenizer.load(target_path, jamo) if target_path.is_file() else source
    other = bundle.load_bundle(folder)
    target = other.target_tokenizer
    return other.source_tokenizer, target if isinstance(target, SubwordTokenizer) else other.source_tokenizer
