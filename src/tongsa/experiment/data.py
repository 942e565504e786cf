"""From the files of a recipe to indices, with every lost line in the ledger."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tongsa import files
from tongsa.batch import Examples, Ragged
from tongsa.errors import InputError
from tongsa.experiment.recipe import DataConfig, Recipe
from tongsa.text import CorpusError, Ledger, Limits, Pair, Pieces, PiecesConfig, learn, read_pairs

MOST_CARVED = 1000
FEWEST = 20
"""With fewer sources than this, nothing is carved off: the model is validated on what it learns from."""


@dataclass(frozen=True)
class Data:
    train: list[Pair]
    dev: list[Pair]
    source: Pieces
    target: Pieces
    remarks: tuple[str, ...]
    """What a user should know: lines dropped, pairs set aside."""


def read(config: DataConfig, paths: Sequence[Path], ledger: Ledger) -> list[Pair]:
    languages = (config.source_language, config.target_language)
    return list(read_pairs(paths, ledger, columns=config.columns, languages=languages))


def prepare(recipe: Recipe, folder: Path) -> Data:
    """Read, carve, learn or load the pieces, drop what does not fit. Called again it gives and writes the same."""
    data = recipe.data
    if not data.train:
        raise CorpusError("data.train: no files to learn from; name them in the recipe or with --pairs FILE")
    with files.explained(folder), Ledger(folder / "ledger.jsonl") as ledger:
        train, dev = read(data, data.paths(data.train), ledger), read(data, data.paths(data.dev), ledger)
        if not train:
            raise CorpusError(f"{data.train[0]}: no usable pair in it: {ledger.summary()}")
        remarks: list[str] = []
        if data.dev and not dev:
            raise CorpusError(f"{data.dev[0]}: no usable pair in it; remove data.dev to carve one from train")
        if not data.dev:
            train, dev = carved(train, data.carve, recipe.training.seed)
            how = (
                "the training pairs themselves, too few to set any aside"
                if dev is train
                else "pairs set aside from train"
            )
            remarks.append(f"no dev file: validating on {how} ({len(dev):,})")
        source, target = _pieces(train, recipe.pieces, folder)
        fitting = _fitting(train, source, target, data.limits, ledger)
        dev = fitting if dev is train else _fitting(dev, source, target, data.limits, ledger)
        train = fitting
        if not train or not dev:
            side = "train" if not train else "dev"
            raise CorpusError(f"data.{side}: every pair is too long or too uneven; raise data.longest or data.ratio")
        ledger.check()
    check_unchanged(recipe, folder)
    return Data(train, dev, source, target, (ledger.summary(), *remarks))


def carved(pairs: list[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Train and dev; all pairs with the same source go to the same side, chosen by a hash and not by their place."""
    sources = sorted(
        {pair.source for pair in pairs}, key=lambda text: hashlib.sha256(f"{seed}\t{text}".encode()).digest()
    )
    if len(sources) < FEWEST:
        return pairs, pairs
    chosen = set(sources[: max(1, min(MOST_CARVED, round(share * len(sources))))])
    return [pair for pair in pairs if pair.source not in chosen], [pair for pair in pairs if pair.source in chosen]


def _pieces(train: Sequence[Pair], config: PiecesConfig, folder: Path) -> tuple[Pieces, Pieces]:
    """Learnt once; a run that goes on loads them."""
    paths = folder / "pieces" / "source.model", folder / "pieces" / "target.model"
    sources, targets = [pair.source for pair in train], [pair.target for pair in train]
    texts = [sources + targets] if config.shared else [sources, targets]
    learnt: list[Pieces] = []
    for path, lines in zip(paths, texts, strict=False):
        if not path.exists():
            files.write_bytes(path, learn(lines, config).model)
        learnt.append(Pieces.load(path, config.jamo))
    return learnt[0], learnt[-1]


def _fitting(pairs: list[Pair], source: Pieces, target: Pieces, limits: Limits, ledger: Ledger) -> list[Pair]:
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
    now = {str(path): digest(path) for path in data.paths([*data.train, *data.dev])}
    if not record.exists():
        files.write_text(record, json.dumps(now, indent=1, ensure_ascii=False))
        return
    then = json.loads(record.read_text("utf-8"))
    changed = [path for path in now if then.get(path) != now[path]]
    if changed:
        raise InputError(f"{changed[0]}: changed since this run began; bring the file back, or begin a new run")


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def examples(data: Data, config: PiecesConfig, seed: int) -> Callable[[int], Examples]:
    """The pairs of each epoch as indices: always the same, or cut anew each time (subword regularisation)."""

    def cut(epoch: int) -> Examples:
        def sampled(pieces: Pieces, texts: list[str], side: int) -> Ragged:
            return Ragged(pieces.sample_all(texts, config.sampling, seed * 1_000_003 + 2 * epoch + side))

        sources, targets = [pair.source for pair in data.train], [pair.target for pair in data.train]
        return Examples(sampled(data.source, sources, 0), sampled(data.target, targets, 1))

    if config.sampling:
        return cut
    once = cut(0)
    return lambda _: once
