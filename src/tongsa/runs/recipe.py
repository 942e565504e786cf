"""Recipes: the TOML file with all settings of a run."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from tongsa import config
from tongsa.config import (
    MAX_FACTOR,
    AtMost,
    ColumnNumber,
    ConfigError,
    In,
    NonNegativeFloat,
    Positive,
    Table,
    check_ranges,
)
from tongsa.data.cleaning.config import FilterConfig
from tongsa.data.ledger import LengthLimits
from tongsa.data.noise import MASK, NoiseConfig
from tongsa.data.public_sets.table import DATA_FOLDER, public_sets
from tongsa.decoding.config import DecodingConfig
from tongsa.evaluation.metrics import MetricName
from tongsa.interface import ModelConfig, PresetName
from tongsa.models import KINDS
from tongsa.models.own_kind import find_kind
from tongsa.runs.corpora import CorpusConfig, StageConfig, check_tag
from tongsa.tokenization.subword import TokenizerConfig
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import DistributedContext


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    train: tuple[str, ...] = ()
    """Files of pairs (.tsv, .csv, .jsonl, .tmx, .po, .mo, .xliff, .parquet), or a source file and a target file; each
    may end in .gz, .xz, .zst or .bz2. A name may be a pattern: corpus-*.tsv.gz."""
    dev: tuple[str, ...] = ()
    """Development set: the best model is chosen on it."""
    test: tuple[str, ...] = ()
    """Test set: scored once, at the end of training."""
    corpora: tuple[CorpusConfig, ...] = ()
    """Several corpora instead of data.train, each with files, weight, tag, columns and languages (docs/data.md)."""
    temperature: Annotated[float, In(1), AtMost(MAX_FACTOR)] = 1.0
    """Weights of corpora by size: a corpus of n pairs has a share ∝ weight · n^(1/T); 1 keeps the sizes."""
    stages: tuple[StageConfig, ...] = ()
    """First steps on short pairs, or with other weights of the corpora (docs/data.md)."""
    tag: str = ""
    """Tag before each source, such as <2ko>: one token. Corpora have their own."""
    filters: FilterConfig = field(default_factory=FilterConfig)
    """Repairs and filters of the training pairs, as of `tongsa data clean`; dev and test pairs stay as they are."""
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    """Noise in the training sources, drawn anew in each epoch."""
    folder: str = ""
    """Folder of the files, relative to the current directory; without it data/NAME for a public set of that name."""
    dataset: str = ""
    """A public data set: a name of `tongsa data get`, or name and address; for the model card and missing files."""
    license: str = ""
    """License for the model card, e.g. "cc-by-4.0", the Hugging Face Hub's name; it depends on the training data."""
    source_language: str = ""
    """Language code such as `en`; it chooses the texts of TMX. A new run guesses missing languages from its data."""
    target_language: str = ""
    """Language code such as `ko`; it also selects the tokenizer for BLEU."""
    columns: tuple[ColumnNumber, ColumnNumber] = (1, 2)
    """Columns of source and target in TSV, CSV and Parquet, counted from 1; [2, 1] reverses the direction."""
    header: bool = False
    """The first line of each TSV or CSV file names the columns."""
    encoding: str = "utf-8"
    """Encoding of the files, such as "cp949" or "utf-16"; "auto" recognizes that of each file and says so."""
    metrics: tuple[MetricName, ...] = ("bleu", "chrf", "exact_match")
    """Evaluation metrics."""
    max_tokens: Positive = 256
    """Pairs with more tokens on a side are dropped and recorded in the ledger."""
    max_length_ratio: NonNegativeFloat = 9.0
    """Pairs are dropped if one side has more than this times the tokens of the other, plus 10; 0 is no limit."""
    dev_fraction: Annotated[float, In(0, 1, open_low=True, open_high=True)] = 0.05
    """Without a dev file: fraction of the sources held out as dev set, at most 1,000 (10,000 for a classifier)."""
    term_replacement: Annotated[float, In(0, 1)] = 0.0
    """Share of the training sources in which terms are replaced by their translation, so that the model learns to
    follow a glossary (Dinu et al. 2019, section 3); 0 is off."""
    cache: str = ""
    """Folder of prepared data, shared by runs; without it large data are prepared in `.prepared` beside the run."""
    glossary: str = ""
    """Glossary of the replaced terms; without one, word pairs are found in the training data."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.glossary and not self.term_replacement:
            raise ValueError("glossary: used only for term replacement. Write term_replacement = 0.3 too.")
        check_tag(self.tag)
        if self.corpora and (self.train or self.dev):
            name = "train" if self.train else "dev"
            raise ValueError(f"{name}: not beside data.corpora. Name the files in a corpus, or leave out the corpora.")
        for stage in self.stages:
            if stage.weights and len(stage.weights) != len(self.corpora):
                counts = f"{len(stage.weights)} weights for {len(self.corpora)} corpora"
                raise ValueError(f"stages: {counts}. Write one for each corpus, or none.")
        if self.max_length_ratio != 0 and not self.max_length_ratio >= 1:
            raise ValueError(f"max_length_ratio {self.max_length_ratio} is not 0 (no limit) or at least 1")

    @property
    def limits(self) -> LengthLimits:
        return LengthLimits(max_tokens=self.max_tokens, max_length_ratio=self.max_length_ratio)

    @property
    def languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language

    @property
    def per_corpus(self) -> tuple["DataConfig", ...]:
        """The settings of each corpus as if it were the only one; these settings without corpora."""
        if not self.corpora:
            return (self,)
        return tuple(
            replace(
                self,
                corpora=(),
                stages=(),
                train=corpus.train,
                dev=corpus.dev,
                test=corpus.test,
                tag=corpus.tag,
                encoding=corpus.encoding or self.encoding,
                columns=corpus.columns,
                header=corpus.header or self.header,
                source_language=corpus.source_language or self.source_language,
                target_language=corpus.target_language or self.target_language,
            )
            for corpus in self.corpora
        )

    @property
    def train_files(self) -> list[str]:
        """The training files of all corpora."""
        return [file for corpus in self.per_corpus for file in corpus.train]

    @property
    def dev_files(self) -> list[str]:
        return [file for corpus in self.per_corpus for file in corpus.dev]

    @property
    def test_files(self) -> list[str]:
        """The test files of the run and of all corpora."""
        return [*self.test, *(file for corpus in self.corpora for file in corpus.test)]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all corpora, without repetition."""
        tags = (self.tag, *(corpus.tag for corpus in self.per_corpus))
        return tuple(dict.fromkeys(tag for tag in tags if tag))

    @property
    def source_symbols(self) -> tuple[str, ...]:
        """Tags and the mask: each is one token of the sources."""
        return (*self.tags, MASK) if self.noise.word_mask else self.tags

    @property
    def glossary_files(self) -> tuple[str, ...]:
        return (self.glossary,) if self.glossary else ()

    def paths(self, files: Sequence[str]) -> list[Path]:
        return [data_folder(self.folder, self.dataset) / file for file in files]


def data_folder(folder: str, dataset: str) -> Path:
    """Return the folder of the data files: by default that of a public set, where `tongsa data get` writes it."""
    return Path(folder or (f"{DATA_FOLDER}/{dataset}" if dataset in public_sets() else ""))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    data: DataConfig
    tokenizer: TokenizerConfig
    kind: str
    """Kind of model: a key of KINDS, or package.module:Config."""
    model: ModelConfig
    training: TrainingConfig
    decoding: DecodingConfig
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """Messages for the user about settings that were replaced."""
    preset: PresetName | None = field(default=None, compare=False)
    """The preset that the sizes come from; None for the sizes of a recipe file."""

    def to_table(self) -> Table:
        """Return all settings, defaults included. `parse_recipe` reads them back."""
        sections = ("data", "tokenizer", "model", "training", "decoding")
        values = {name: config.to_table(getattr(self, name)) for name in sections}
        return values | {"model": {"kind": self.kind} | values["model"]}


@dataclass(frozen=True, kw_only=True)
class _RecipeSections:
    """The TOML sections of a recipe."""

    data: dict[str, Any] = field(default_factory=dict)
    tokenizer: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)


def parse_recipe(values: Table, file_name: str = "") -> Recipe:
    """Build a recipe from TOML tables; raise ConfigError with the file name and the key for a wrong setting."""
    try:
        check_sections(values)
        sections = _RecipeSections(**values)
        model = dict(sections.model)
        kind = model.pop("kind", "transformer")
        config_class = find_kind(kind)
        if sections.decoding.get("shortlist"):
            raise ConfigError(
                "decoding.shortlist: needs a trained model. Leave it out, and run tongsa shortlist after the training."
            )
        return Recipe(
            data=config.build_config(DataConfig, sections.data, "data"),
            tokenizer=config.build_config(TokenizerConfig, sections.tokenizer, "tokenizer"),
            kind=kind,
            model=config.build_config(config_class, model, "model"),
            training=config.build_config(TrainingConfig, sections.training, "training"),
            decoding=config.build_config(DecodingConfig, sections.decoding, "decoding"),
        )
    except ConfigError as error:
        raise ConfigError(f"{file_name}: {error}" if file_name else str(error)) from None


def check_sections(values: Table) -> None:
    """Raise ConfigError for an unknown section, or a value where a table belongs."""
    known = list(_RecipeSections.__dataclass_fields__)
    for name, table in values.items():
        if name not in known:
            key = f"{name}.{next(iter(table))}" if isinstance(table, dict) and table else name
            if full_keys := config.keys_ending_in(key, _recipe_keys()):
                raise ConfigError(f"{key}: unknown key; {config.did_you_mean(key, full_keys)}")
            raise ConfigError(f"[{name}]: unknown section; {config.did_you_mean(name, known)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{name}: expected a table. Write [{name}].")


def _recipe_keys() -> Iterator[str]:
    """Yield the full keys of all settings, with those of every kind of model."""
    yield "model.kind"
    sections = (("data", DataConfig), ("tokenizer", TokenizerConfig), *(("model", kind) for kind in KINDS.values()))
    for section, config_class in (*sections, ("training", TrainingConfig), ("decoding", DecodingConfig)):
        yield from config.setting_keys(config_class, section)


def merge_tables(values: Table, changes: Table) -> Table:
    """Return `values` overwritten by `changes`, table by table."""
    result = dict(values)
    for key, value in changes.items():
        is_nested = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merge_tables(result[key], value) if is_nested else value
    return result


def broadcast_recipe(distributed: DistributedContext, make_recipe: Callable[[], Recipe]) -> Recipe:
    """Return the recipe of rank 0 on all ranks. `make_recipe` is called on rank 0 only."""
    if distributed.world_size == 1:
        return make_recipe()
    return parse_recipe(json.loads(distributed.broadcast_text(lambda: json.dumps(make_recipe().to_table()))))
