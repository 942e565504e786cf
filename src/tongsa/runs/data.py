"""From the files of a recipe to indices, with every lost line in the ledger."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tongsa import bundle, storage
from tongsa.batch import Examples, Ragged
from tongsa.errors import InputError
from tongsa.runs.recipe import DataConfig, Recipe
from tongsa.interface import Task
from tongsa.data.corpus import CorpusError, check_files, read_pairs, read_texts
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.data.ledger import Ledger, LengthLimits, Pair
from tongsa.tokenization.subword import SubwordTokenizer, TokenizerConfig, train_tokenizer
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext

MAX_CARVED_DEV: dict[Task, int] = {"seq2seq": 1_000, "language_model": 1_000, "classification": 10_000}
"""Translating takes longer than classifying."""
MIN_SOURCES_TO_SPLIT = 20
"""With fewer sources than this, nothing is carved off: the model is validated on what it learns from."""


@dataclass(frozen=True)
class PreparedData:
    train: list[Pair]
    dev: list[Pair]
    source_tokenizer: SubwordTokenizer
    target_tokenizer: Tokenizer
    task: Task
    remarks: tuple[str, ...]
    """What a user should know: lines dropped, pairs set aside."""


def read_data(config: DataConfig, task: Task, paths: Sequence[Path], ledger: Ledger) -> list[Pair]:
    if task == "language_model":
        return list(read_texts(paths, ledger))
    languages = (config.source_language, config.target_language)
    return list(read_pairs(paths, ledger, columns=config.columns, languages=languages, header=config.header))


def prepare_data(recipe: Recipe, folder: Path, distributed: DistributedContext = SINGLE_PROCESS) -> PreparedData:
    """What each worker learns from; the first one writes the pieces and the books, the others read after it."""
    if distributed.is_main_process:
        with storage.explain_os_errors(folder), Ledger(folder / "ledger.jsonl") as ledger:
            found = prepare_with_ledger(recipe, folder, ledger)
    distributed.barrier()
    return found if distributed.is_main_process else prepare_with_ledger(recipe, folder, Ledger(None))


def prepare_with_ledger(recipe: Recipe, folder: Path, ledger: Ledger) -> PreparedData:
    """Read, carve, learn or load the pieces, drop what does not fit. Called again it gives and writes the same."""
    data, task = recipe.data, recipe.model.task
    if not data.train:
        raise CorpusError("data.train: no files to learn from; name them in the recipe or with --pairs FILE")
    check_files(data.paths(data.test))
    train, dev = (read_data(data, task, data.paths(files), ledger) for files in (data.train, data.dev))
    if not train:
        raise CorpusError(f"{data.train[0]}: no usable pair in it: {ledger.summary()}")
    remarks: list[str] = []
    labels = LabelTokenizer.from_texts(pair.target for pair in train) if task == "classification" else None
    if data.dev and not dev:
        raise CorpusError(f"{data.dev[0]}: no usable pair in it; remove data.dev to carve one from train")
    if not data.dev:
        train, dev = train_dev_split(train, data.dev_fraction, recipe.training.seed, MAX_CARVED_DEV[task])
        how = (
            "the training pairs themselves, too few to set any aside" if dev is train else "pairs set aside from train"
        )
        remarks.append(f"no dev file: validating on {how} ({len(dev):,})")
    if labels is not None:
        dev = _drop_unknown_labels(dev, labels, ledger)
    source, target = _build_tokenizers(train, recipe, labels, folder)
    limits = data.limits if task == "seq2seq" else replace(data.limits, max_length_ratio=0)
    fitting = _drop_by_length(train, source, target, limits, ledger)
    dev = fitting if dev is train else _drop_by_length(dev, source, target, limits, ledger)
    train = fitting
    if not train or not dev:
        side = "train" if not train else "dev"
        raise CorpusError(f"data.{side}: every pair is too long or too uneven; raise data.max_tokens or data.max_length_ratio")
    ledger.check()
    check_data_unchanged(recipe, folder)
    return PreparedData(train, dev, source, target, task, (ledger.summary(), *remarks))


def train_dev_split(pairs: list[Pair], dev_fraction: float, seed: int, max_dev: int) -> tuple[list[Pair], list[Pair]]:
    """Train and dev; all pairs with the same source go to the same side, chosen by a hash and not by their place."""

    def side(pair: Pair) -> str:
        return pair.source or pair.target

    sources = sorted(set(map(side, pairs)), key=lambda text: hashlib.sha256(f"{seed}\t{text}".encode()).digest())
    if len(sources) < MIN_SOURCES_TO_SPLIT:
        return pairs, pairs
    chosen = set(sources[: max(1, min(max_dev, round(dev_fraction * len(sources)), len(sources) - 1))])
    return [pair for pair in pairs if side(pair) not in chosen], [pair for pair in pairs if side(pair) in chosen]


def _drop_unknown_labels(pairs: list[Pair], labels: LabelTokenizer, ledger: Ledger) -> list[Pair]:
    """Those whose label occurs in train; the others go to the ledger."""
    kept: list[Pair] = []
    for pair in pairs:
        if pair.target in labels.labels:
            kept.append(pair)
        else:
            ledger.revoke(pair, "unknown-label", pair.target)
    return kept


def _build_tokenizers(
    train: Sequence[Pair], recipe: Recipe, labels: LabelTokenizer | None, folder: Path
) -> tuple[SubwordTokenizer, Tokenizer]:
    """Learnt or taken over once; a run that goes on loads them."""
    config, task, kept = recipe.tokenizer, recipe.model.task, folder / "tokenizer"
    sources, targets = [pair.source for pair in train], [pair.target for pair in train]
    if labels is not None:
        return _load_or_train_tokenizer(kept / "source.model", config, sources), labels
    if config.shared or task == "language_model":
        both = _load_or_train_tokenizer(kept / "source.model", config, sources + targets, "source" if task == "seq2seq" else "target")
        return both, both
    source = _load_or_train_tokenizer(kept / "source.model", config, sources)
    return source, _load_or_train_tokenizer(kept / "target.model", config.for_target, targets, side="target")


def _load_or_train_tokenizer(path: Path, config: TokenizerConfig, texts: list[str], side: Literal["source", "target"] = "source") -> SubwordTokenizer:
    if not path.exists():
        storage.write_bytes(path, _read_reused_tokenizer(config, side) if config.reuse_from else train_tokenizer(texts, config).model_bytes)
    return SubwordTokenizer.load(path, config.jamo)


def _read_reused_tokenizer(config: TokenizerConfig, side: Literal["source", "target"]) -> bytes:
    taken = bundle.load_bundle(Path(config.reuse_from))
    if taken.source_tokenizer.jamo != config.jamo:
        raise InputError(
            f"tokenizer.reuse_from {config.reuse_from}: its pieces have jamo = {taken.source_tokenizer.jamo}; write the same here"
        )
    if config.shared and taken.config.task == "seq2seq" and taken.source_tokenizer.model_bytes != taken.target_tokenizer.model_bytes and side == "source":
        raise InputError(f"tokenizer.reuse_from {config.reuse_from}: has two vocabularies; write tokenizer.shared = false here too")
    return taken.source_tokenizer.model_bytes if side == "source" or taken.config.task == "classification" else taken.target_tokenizer.model_bytes


def _drop_by_length(pairs: list[Pair], source_tokenizer: SubwordTokenizer, target_tokenizer: Tokenizer, limits: LengthLimits, ledger: Ledger) -> list[Pair]:
    sources = source_tokenizer.encode_all([pair.source for pair in pairs])
    targets = target_tokenizer.encode_all([pair.target for pair in pairs])
    kept: list[Pair] = []
    for pair, *sides in zip(pairs, sources, targets, strict=True):
        fault = limits.drop_reason(*map(len, sides))
        if fault is None:
            kept.append(pair)
        else:
            ledger.revoke(pair, *fault)
    return kept


def check_data_unchanged(recipe: Recipe, folder: Path) -> None:
    """Write down what the files were at the start; refuse to go on with others."""
    data, record = recipe.data, folder / "data.json"
    now = {str(path): storage.file_sha256(path) for path in data.paths([*data.train, *data.dev])}
    if not record.exists():
        storage.write_text(record, json.dumps(now, indent=1, ensure_ascii=False))
        return
    try:
        then = dict(json.loads(record.read_text("utf-8")))
    except (ValueError, TypeError):
        raise InputError(f"{record}: damaged; remove it if the data are still those that this run began with") from None
    changed = [path for path in now if then.get(path) != now[path]]
    if changed:
        raise InputError(f"{changed[0]}: changed since this run began; bring the file back, or begin a new run")


def epoch_examples(data: PreparedData, config: TokenizerConfig, seed: int) -> Callable[[int], Examples]:
    """The pairs of each epoch as indices: always the same, or cut anew each time (subword regularisation)."""

    def cut(epoch: int) -> Examples:
        def sampled(pieces: Tokenizer, texts: list[str], side: int) -> Ragged:
            return Ragged(pieces.sample_all(texts, config.subword_regularization, seed * 1_000_003 + 2 * epoch + side))

        sources, targets = [pair.source for pair in data.train], [pair.target for pair in data.train]
        ends = data.task != "classification"
        return Examples(sampled(data.source_tokenizer, sources, 0), sampled(data.target_tokenizer, targets, 1), ends)

    if config.subword_regularization:
        return cut
    once = cut(0)
    return lambda _: once
