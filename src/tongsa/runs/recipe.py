"""A recipe: one TOML file with all that makes a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tongsa import config
from tongsa.config import ConfigError, In, Positive, Table, check_ranges
from tongsa.decoding.config import DecodingConfig
from tongsa.evaluation.metrics import MetricName
from tongsa.interface import ModelConfig
from tongsa.models import KINDS
from tongsa.data.ledger import LengthLimits
from tongsa.tokenization.subword import TokenizerConfig
from tongsa.training.config import TrainingConfig


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
    metrics: tuple[MetricName, ...] = ("bleu", "chrf", "exact_match")
    """What outputs are compared with targets by."""
    max_tokens: Positive = 256
    """Pairs with more pieces than this on a side are dropped, and written into the ledger."""
    max_length_ratio: float = 9.0
    """So are pairs where one side has this many times the pieces of the other (and 10 more); 0 keeps them."""
    dev_fraction: Annotated[float, In(0, 1, open_low=True, open_high=True)] = 0.05
    """Without a dev file: the share of the sources set aside to validate on, at most 1,000 (10,000 with labels)."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.max_length_ratio != 0 and not self.max_length_ratio >= 1:
            raise ValueError(f"max_length_ratio {self.max_length_ratio} is not 0 (any ratio) or at least 1")

    @property
    def limits(self) -> LengthLimits:
        return LengthLimits(max_tokens=self.max_tokens, max_length_ratio=self.max_length_ratio)

    def paths(self, files: Sequence[str]) -> list[Path]:
        return [Path(self.folder) / file for file in files]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    data: DataConfig
    tokenizer: TokenizerConfig
    kind: str
    model: ModelConfig
    training: TrainingConfig
    decoding: DecodingConfig

    def to_table(self) -> Table:
        """Every setting in force; reading it back gives the same recipe."""
        parts = ("data", "tokenizer", "model", "training", "decoding")
        values = {name: config.to_table(getattr(self, name)) for name in parts}
        return values | {"model": {"kind": self.kind} | values["model"]}


@dataclass(frozen=True, kw_only=True)
class _RecipeSections:
    """The sections a recipe may have."""

    data: dict[str, Any] = field(default_factory=dict)
    tokenizer: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)


def parse_recipe(values: Table, file_name: str = "") -> Recipe:
    """A recipe from its tables, or a sentence that begins with the file and names the key."""
    try:
        known = list(_RecipeSections.__dataclass_fields__)
        for name, table in values.items():
            if name not in known:
                raise ConfigError(f"[{name}]: unknown section; {config.did_you_mean(name, known)}")
            if not isinstance(table, dict):
                raise ConfigError(f"{name}: a table is wanted; write [{name}]")
        tables = _RecipeSections(**values)
        model = dict(tables.model)
        kind = model.pop("kind", "transformer")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ConfigError(f"model.kind: {kind!r} is no kind of model; {config.did_you_mean(str(kind), KINDS)}")
        if tables.decoding.get("shortlist"):
            raise ConfigError("decoding.shortlist: made of a trained model; leave it out, and see tongsa shortlist")
        return Recipe(
            data=config.build_config(DataConfig, tables.data, "data"),
            tokenizer=config.build_config(TokenizerConfig, tables.tokenizer, "tokenizer"),
            kind=kind,
            model=config.build_config(KINDS[kind], model, "model"),
            training=config.build_config(TrainingConfig, tables.training, "training"),
            decoding=config.build_config(DecodingConfig, tables.decoding, "decoding"),
        )
    except ConfigError as error:
        raise ConfigError(f"{file_name}: {error}" if file_name else str(error)) from None


def merge_tables(values: Table, changes: Table) -> Table:
    """`values` with `changes` written over them, table by table."""
    result = dict(values)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merge_tables(result[key], value) if both else value
    return result
