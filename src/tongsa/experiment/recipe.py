"""A recipe: one TOML file with all that makes a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tongsa import config
from tongsa.config import ConfigError, Table
from tongsa.decoding.search import SearchConfig
from tongsa.evaluation.metrics import ScoreName
from tongsa.interface import Config
from tongsa.models import KINDS
from tongsa.text import Limits, PiecesConfig
from tongsa.training.loop import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    train: tuple[str, ...] = ()
    """Files of pairs (.tsv, .jsonl), or a source and a target file; each may end in .gz."""
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    """Scored once, when training is over."""
    folder: str = ""
    """Where the files are, counted from where the command is typed."""
    source_language: str = ""
    target_language: str = ""
    columns: tuple[int, int] = (1, 2)
    """Columns of source and target in TSV, counted from 1: [2, 1] turns the direction round."""
    header: bool = False
    """Whether the first line of each TSV file names its columns."""
    scores: tuple[ScoreName, ...] = ("bleu", "chrf", "exact_match")
    """What outputs are compared with targets by."""
    longest: int = 256
    """Pairs with more pieces than this on a side are dropped, and written into the ledger."""
    ratio: float = 9.0
    """So are pairs where one side has this many times the pieces of the other (and 10 more); 0 keeps them."""
    carve: float = 0.05
    """Without a dev file: the share of the sources set aside to validate on, at most 1,000 (10,000 with labels)."""

    def __post_init__(self) -> None:
        if not 0 < self.carve < 1:
            raise ValueError(f"carve {self.carve} is not between 0 and 1")

    @property
    def limits(self) -> Limits:
        return Limits(longest=self.longest, ratio=self.ratio)

    def paths(self, files: Sequence[str]) -> list[Path]:
        return [Path(self.folder) / file for file in files]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    data: DataConfig
    pieces: PiecesConfig
    kind: str
    model: Config
    training: TrainingConfig
    decoding: SearchConfig

    def table(self) -> Table:
        """Every setting in force; reading it back gives the same recipe."""
        parts = ("data", "pieces", "model", "training", "decoding")
        values = {name: config.table(getattr(self, name)) for name in parts}
        return values | {"model": {"kind": self.kind} | values["model"]}


@dataclass(frozen=True, kw_only=True)
class _Tables:
    """The sections a recipe may have."""

    data: dict[str, Any] = field(default_factory=dict)
    pieces: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)


def parse(values: Table, where: str = "") -> Recipe:
    """A recipe from its tables, or a sentence that begins with the file and names the key."""
    try:
        known = list(_Tables.__dataclass_fields__)
        for name, table in values.items():
            if name not in known:
                raise ConfigError(f"[{name}]: unknown section; {config.nearest(name, known)}")
            if not isinstance(table, dict):
                raise ConfigError(f"{name}: a table is wanted; write [{name}]")
        tables = _Tables(**values)
        model = dict(tables.model)
        kind = model.pop("kind", "transformer")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ConfigError(f"model.kind: {kind!r} is no kind of model; {config.nearest(str(kind), KINDS)}")
        if tables.decoding.get("shortlist"):
            raise ConfigError("decoding.shortlist: made of a trained model; leave it out, and see tongsa shortlist")
        return Recipe(
            data=config.build(DataConfig, tables.data, "data"),
            pieces=config.build(PiecesConfig, tables.pieces, "pieces"),
            kind=kind,
            model=config.build(KINDS[kind], model, "model"),
            training=config.build(TrainingConfig, tables.training, "training"),
            decoding=config.build(SearchConfig, tables.decoding, "decoding"),
        )
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}" if where else str(error)) from None


def merged(values: Table, changes: Table) -> Table:
    """`values` with `changes` written over them, table by table."""
    result = dict(values)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result
