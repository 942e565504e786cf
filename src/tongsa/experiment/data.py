"""From the files of a recipe to indices, with every lost line in the ledger."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tongsa import bundle, files
from tongsa.batch import Examples, Ragged
from tongsa.errors import InputError
from tongsa.experiment.recipe import DataConfig, Recipe
from tongsa.interface import Task
from tongsa.text import (
    CorpusError,
    Labels,
    Ledger,
    Limits,
    Pair,
    Pieces,
    PiecesConfig,
    Vocabulary,
    check_files,
    learn,
    read_pairs,
    read_texts,
)
from tongsa.training.parallel import ALONE, Workers

MOST_CARVED: dict[Task, int] = {"pairs": 1_000, "text": 1_000, "labels": 10_000}
"""Translating takes longer than classifying."""
FEWEST = 20
"""With fewer sources than this, nothing is carved off: the model is validated on what it learns from."""


@dataclass(frozen=True)
class Data:
    train: list[Pair]
    dev: list[Pair]
    source: Pieces
    target: Vocabulary
    task: Task
    remarks: tuple[str, ...]
    """What a user should know: lines dropped, pairs set aside."""


def read(config: DataConfig, task: Task, paths: Sequence[Path], ledger: Ledger) -> list[Pair]:
    if task == "text":
        return list(read_texts(paths, ledger))
    languages = (config.source_language, config.target_language)
    return list(read_pairs(paths, ledger, columns=config.columns, languages=languages, header=config.header))


def prepared(recipe: Recipe, folder: Path, workers: Workers = ALONE) -> Data:
    """What each worker learns from; the first one writes the pieces and the books, the others read after it."""
    if workers.first:
        with files.explained(folder), Ledger(folder / "ledger.jsonl") as ledger:
            found = prepare(recipe, folder, ledger)
    workers.wait()
    return found if workers.first else prepare(recipe, folder, Ledger(None))


def prepare(recipe: Recipe, folder: Path, ledger: Ledger) -> Data:
    """Read, carve, learn or load the pieces, drop what does not fit. Called again it gives and writes the same."""
    data, task = recipe.data, recipe.model.task
    if not data.train:
        raise CorpusError("data.train: no files to learn from; name them in the recipe or with --pairs FILE")
    check_files(data.paths(data.test))
    train, dev = (read(data, task, data.paths(files), ledger) for files in (data.train, data.dev))
    if not train:
        raise CorpusError(f"{data.train[0]}: no usable pair in it: {ledger.summary()}")
    remarks: list[str] = []
    labels = Labels.learn(pair.target for pair in train) if task == "labels" else None
    if data.dev and not dev:
        raise CorpusError(f"{data.dev[0]}: no usable pair in it; remove data.dev to carve one from train")
    if not data.dev:
        train, dev = carved(train, data.carve, recipe.training.seed, MOST_CARVED[task])
        how = (
            "the training pairs themselves, too few to set any aside" if dev is train else "pairs set aside from train"
        )
        remarks.append(f"no dev file: validating on {how} ({len(dev):,})")
    if labels is not None:
        dev = _labelled(dev, labels, ledger)
    source, target = _vocabularies(train, recipe, labels, folder)
    limits = data.limits if task == "pairs" else replace(data.limits, ratio=0)
    fitting = _fitting(train, source, target, limits, ledger)
    dev = fitting if dev is train else _fitting(dev, source, target, limits, ledger)
    train = fitting
    if not train or not dev:
        side = "train" if not train else "dev"
        raise CorpusError(f"data.{side}: every pair is too long or too uneven; raise data.longest or data.ratio")
    ledger.check()
    check_unchanged(recipe, folder)
    return Data(train, dev, source, target, task, (ledger.summary(), *remarks))


def carved(pairs: list[Pair], share: float, seed: int, most: int) -> tuple[list[Pair], list[Pair]]:
    """Train and dev; all pairs with the same source go to the same side, chosen by a hash and not by their place."""

    def side(pair: Pair) -> str:
        return pair.source or pair.target

    sources = sorted(set(map(side, pairs)), key=lambda text: hashlib.sha256(f"{seed}\t{text}".encode()).digest())
    if len(sources) < FEWEST:
        return pairs, pairs
    chosen = set(sources[: max(1, min(most, round(share * len(sources)), len(sources) - 1))])
    return [pair for pair in pairs if side(pair) not in chosen], [pair for pair in pairs if side(pair) in chosen]


def _labelled(pairs: list[Pair], labels: Labels, ledger: Ledger) -> list[Pair]:
    """Those whose label occurs in train; the others go to the ledger."""
    kept: list[Pair] = []
    for pair in pairs:
        if pair.target in labels.known:
            kept.append(pair)
        else:
            ledger.revoke(pair, "unknown-label", pair.target)
    return kept


def _vocabularies(
    train: Sequence[Pair], recipe: Recipe, labels: Labels | None, folder: Path
) -> tuple[Pieces, Vocabulary]:
    """Learnt or taken over once; a run that goes on loads them."""
    config, task, kept = recipe.pieces, recipe.model.task, folder / "pieces"
    sources, targets = [pair.source for pair in train], [pair.target for pair in train]
    if labels is not None:
        return _pieces(kept / "source.model", config, sources), labels
    if config.shared or task == "text":
        both = _pieces(kept / "source.model", config, sources + targets, "source" if task == "pairs" else "target")
        return both, both
    source = _pieces(kept / "source.model", config, sources)
    return source, _pieces(kept / "target.model", config.for_target, targets, side="target")


def _pieces(path: Path, config: PiecesConfig, texts: list[str], side: Literal["source", "target"] = "source") -> Pieces:
    if not path.exists():
        files.write_bytes(path, _reused(config, side) if config.reuse else learn(texts, config).model)
    return Pieces.load(path, config.jamo)


def _reused(config: PiecesConfig, side: Literal["source", "target"]) -> bytes:
    taken = bundle.load(Path(config.reuse))
    if taken.source.jamo != config.jamo:
        raise InputError(
            f"pieces.reuse {config.reuse}: its pieces have jamo = {taken.source.jamo}; write the same here"
        )
    if config.shared and taken.config.task == "pairs" and taken.source.model != taken.target.model and side == "source":
        raise InputError(f"pieces.reuse {config.reuse}: has two vocabularies; write pieces.shared = false here too")
    return taken.source.model if side == "source" or taken.config.task == "labels" else taken.target.model


def _fitting(pairs: list[Pair], source: Pieces, target: Vocabulary, limits: Limits, ledger: Ledger) -> list[Pair]:
    sources = source.split_all([pair.source for pair in pairs])
    targets = target.split_all([pair.target for pair in pairs])
    kept: list[Pair] = []
    for pair, *sides in zip(pairs, sources, targets, strict=True):
        fault = limits.fault(*map(len, sides))
        if fault is None:
            kept.append(pair)
        else:
            ledger.revoke(pair, *fault)
    return kept


def check_unchanged(recipe: Recipe, folder: Path) -> None:
    """Write down what the files were at the start; refuse to go on with others."""
    data, record = recipe.data, folder / "data.json"
    now = {str(path): files.digest(path) for path in data.paths([*data.train, *data.dev])}
    if not record.exists():
        files.write_text(record, json.dumps(now, indent=1, ensure_ascii=False))
        return
    try:
        then = dict(json.loads(record.read_text("utf-8")))
    except (ValueError, TypeError):
        raise InputError(f"{record}: damaged; remove it if the data are still those that this run began with") from None
    changed = [path for path in now if then.get(path) != now[path]]
    if changed:
        raise InputError(f"{changed[0]}: changed since this run began; bring the file back, or begin a new run")


def examples(data: Data, config: PiecesConfig, seed: int) -> Callable[[int], Examples]:
    """The pairs of each epoch as indices: always the same, or cut anew each time (subword regularisation)."""

    def cut(epoch: int) -> Examples:
        def sampled(pieces: Vocabulary, texts: list[str], side: int) -> Ragged:
            return Ragged(pieces.sample_all(texts, config.sampling, seed * 1_000_003 + 2 * epoch + side))

        sources, targets = [pair.source for pair in data.train], [pair.target for pair in data.train]
        ends = data.task != "labels"
        return Examples(sampled(data.source, sources, 0), sampled(data.target, targets, 1), ends)

    if config.sampling:
        return cut
    once = cut(0)
    return lambda _: once
