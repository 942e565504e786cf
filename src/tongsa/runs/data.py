"""Data of a run: read the files, split off a dev set, build the tokenizers, drop pairs that are too long."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tongsa import bundle, storage
from tongsa.batch import Examples, Ragged
from tongsa.config import read_toml
from tongsa.data.corpus import CorpusError, check_files
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger, LengthLimits, Pair
from tongsa.decoding.glossary import Glossary
from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data_checksums import read_data_checksums
from tongsa.runs.recipe import DataConfig, Recipe
from tongsa.runs.term_replacement import TermReplacer
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer, TokenizerConfig, train_tokenizer
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext

MAX_DEV_PAIRS: dict[Task, int] = {"seq2seq": 1_000, "language_model": 1_000, "classification": 10_000}
"""Maximum size of a dev set split off from train; translating takes longer than classifying."""
DEV_SPLIT_SEED = 1
"""Seed of the dev split: not that of the run, so that runs with different seeds have the same dev set."""
MIN_SOURCES_TO_SPLIT = 20
"""With fewer sources no dev set is split off: the model is validated on the training pairs."""
_CHECK_COLUMNS = (
    "Check the format and data.columns. Keys of JSON lines may also be data.source_language and data.target_language."
)


@dataclass(frozen=True)
class PreparedData:
    """Pairs and tokenizers of a run."""

    train: list[Pair]
    dev: list[Pair]
    """The same list as `train` if no dev set was split off."""
    test: list[Pair]
    """Empty without a test set, and on ranks other than 0."""
    source_tokenizer: SubwordTokenizer
    target_tokenizer: Tokenizer
    task: Task
    remarks: tuple[str, ...]
    """Messages for the user: dropped lines, the origin of the dev set."""
    term_replacer: TermReplacer | None = None
    """Makes the training sources with replaced terms (data.term_replacement)."""


def check_data_files(data: DataConfig, origin: str) -> None:
    """Raise CorpusError for the first file that cannot be opened; `origin` is the recipe that names it."""
    for path in data.paths([*data.train, *data.dev, *data.test, *data.glossary_files]):
        if data.dataset and not path.exists():
            raise CorpusError(f"{origin}: {path}: no such file. Get {data.dataset} and pass --set data.folder=DIR.")
        check_files([path], data.encoding)


def prepare_data(
    recipe: Recipe, folder: Path, distributed: DistributedContext = SINGLE_PROCESS, reader: CorpusReader | None = None
) -> PreparedData:
    """Return the data on each rank. Rank 0 writes tokenizers and ledgers; the other ranks wait and load them."""
    reader = reader or CorpusReader()
    if distributed.is_main_process:
        with storage.explain_os_errors(folder), Ledger(folder / "ledger.jsonl") as ledger:
            prepared = _prepare(recipe, folder, ledger, reader)
        prepared = replace(prepared, test=_read_test(recipe, folder, reader))
    distributed.barrier()
    return prepared if distributed.is_main_process else _prepare(recipe, folder, Ledger(None), reader)


def _prepare(recipe: Recipe, folder: Path, ledger: Ledger, reader: CorpusReader) -> PreparedData:
    """Read, split, tokenize and filter. A second call gives the same data and writes the same files."""
    data, task = recipe.data, recipe.model.task
    if not data.train:
        raise CorpusError("data.train: no training files. Name them in the recipe or with --data FILE.")
    check_files(data.paths(data.test), data.encoding)
    train = reader.read(data, task, data.train, ledger)
    dev = reader.read(data, task, data.dev, ledger)
    if not train:
        raise CorpusError(no_pairs_message(data.paths(data.train)[0], ledger, _CHECK_COLUMNS))
    if data.dev and not dev:
        raise CorpusError(f"{data.dev[0]}: no usable pair. Remove data.dev to split a dev set off from train.")
    labels = LabelTokenizer.from_texts(pair.target for pair in train) if task == "classification" else None
    remarks: list[str] = []
    if not data.dev:
        train, dev = train_dev_split(train, data.dev_fraction, DEV_SPLIT_SEED, MAX_DEV_PAIRS[task])
        origin = "the training pairs, too few to split" if dev is train else "pairs split off from train"
        remarks.append(f"no dev file: validating on {origin} ({len(dev):,})")
    if labels is not None:
        dev = _drop_unknown_labels(dev, labels, ledger)
    source, target = _build_tokenizers(train, recipe, labels, folder)
    limits = data.limits if task == "seq2seq" else replace(data.limits, max_length_ratio=0)
    kept = _drop_by_length(train, source, target, limits, ledger)
    dev = kept if dev is train else _drop_by_length(dev, source, target, limits, ledger)
    if not kept or not dev:
        name = "dev" if kept else "train"
        raise CorpusError(
            f"data.{name}: no pair is within the length limits. Raise data.max_tokens or data.max_length_ratio."
        )
    ledger.check()
    check_data_unchanged(recipe, folder)
    replacer = _term_replacer(kept, recipe)
    return PreparedData(kept, dev, [], source, target, task, (ledger.summary(), *remarks), replacer)


def _term_replacer(train: Sequence[Pair], recipe: Recipe) -> TermReplacer | None:
    data = recipe.data
    if not data.term_replacement:
        return None
    if recipe.model.task != "seq2seq":
        raise InputError("data.term_replacement: only a model that translates can learn it. Leave it out.")
    glossary = Glossary.read(data.paths(data.glossary_files)[0]) if data.glossary else None
    replacer = TermReplacer(train, data.term_replacement, recipe.training.seed, glossary)
    if not any(replacer.replacements):
        raise InputError(
            "data.term_replacement: no training pair contains a term and its translation. "
            + ("Check data.glossary, or leave it out." if glossary else "Leave it out, or add training pairs.")
        )
    return replacer


def _read_test(recipe: Recipe, folder: Path, reader: CorpusReader) -> list[Pair]:
    data = recipe.data
    if not data.test:
        return []
    with storage.explain_os_errors(folder), Ledger(folder / "test-ledger.jsonl") as ledger:
        pairs = reader.read(data, recipe.model.task, data.test, ledger)
    if not pairs:
        raise CorpusError(no_pairs_message(data.paths(data.test)[0], ledger, _CHECK_COLUMNS))
    return pairs


def train_dev_split(pairs: list[Pair], dev_fraction: float, seed: int, max_dev: int) -> tuple[list[Pair], list[Pair]]:
    """Split by a hash of the source: pairs with the same source stay together, and the order does not matter."""

    def text(pair: Pair) -> str:
        return pair.source or pair.target

    sources = sorted(set(map(text, pairs)), key=lambda source: hashlib.sha256(f"{seed}\t{source}".encode()).digest())
    if len(sources) < MIN_SOURCES_TO_SPLIT:
        return pairs, pairs
    dev_sources = set(sources[: max(1, min(max_dev, round(dev_fraction * len(sources)), len(sources) - 1))])
    train = [pair for pair in pairs if text(pair) not in dev_sources]
    return train, [pair for pair in pairs if text(pair) in dev_sources]


def _drop_unknown_labels(pairs: list[Pair], labels: LabelTokenizer, ledger: Ledger) -> list[Pair]:
    """Return the pairs whose label occurs in train; record the others in the ledger."""
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
    """Load the tokenizers of the run; the first time, train them or copy them from another run."""
    config, task, saved = recipe.tokenizer, recipe.model.task, folder / "tokenizer"
    sources, targets = [pair.source for pair in train], [pair.target for pair in train]
    if recipe.data.term_replacement:  # the sources will contain words of the target language
        sources = sources + targets
    if labels is not None:
        return _load_or_train_tokenizer(saved / "source.model", config, sources), labels
    if config.shared or task == "language_model":
        side: Literal["source", "target"] = "source" if task == "seq2seq" else "target"
        tokenizer = _load_or_train_tokenizer(saved / "source.model", config, sources + targets, side)
        return tokenizer, tokenizer
    source = _load_or_train_tokenizer(saved / "source.model", config, sources)
    return source, _load_or_train_tokenizer(saved / "target.model", config.for_target, targets, side="target")


def _load_or_train_tokenizer(
    path: Path, config: TokenizerConfig, texts: list[str], side: Literal["source", "target"] = "source"
) -> SubwordTokenizer:
    if not path.exists():
        reused = config.reuse_from
        model_bytes = _read_reused_tokenizer(config, side) if reused else train_tokenizer(texts, config).model_bytes
        storage.write_bytes(path, model_bytes)
    return SubwordTokenizer.load(path, config.jamo)


def _read_reused_tokenizer(config: TokenizerConfig, side: Literal["source", "target"]) -> bytes:
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
        jamo = read_toml(folder / "run.toml").get("tokenizer", {}).get("jamo", False)
        target_path = saved / "target.model"
        source = SubwordTokenizer.load(saved / "source.model", jamo)
        return source, SubwordTokenizer.load(target_path, jamo) if target_path.is_file() else source
    other = bundle.load_bundle(folder)
    target = other.target_tokenizer
    return other.source_tokenizer, target if isinstance(target, SubwordTokenizer) else other.source_tokenizer


def _drop_by_length(
    pairs: list[Pair],
    source_tokenizer: SubwordTokenizer,
    target_tokenizer: Tokenizer,
    limits: LengthLimits,
    ledger: Ledger,
) -> list[Pair]:
    """Return the pairs within the length limits; record the others in the ledger."""
    sources = source_tokenizer.encode_all([pair.source for pair in pairs])
    targets = target_tokenizer.encode_all([pair.target for pair in pairs])
    kept: list[Pair] = []
    for pair, source, target in zip(pairs, sources, targets, strict=True):
        reason = limits.drop_reason(len(source), len(target))
        if reason is None:
            kept.append(pair)
        else:
            ledger.revoke(pair, *reason)
    return kept


def check_data_unchanged(recipe: Recipe, folder: Path) -> None:
    """Record the checksums of the files in data.json; raise InputError if they changed since the run started."""
    data, record = recipe.data, folder / "data.json"
    files = data.paths([*data.train, *data.dev, *data.glossary_files])
    checksums = {str(path): storage.file_sha256(path) for path in files}
    if not record.exists():
        storage.write_text(record, json.dumps(checksums, indent=1, ensure_ascii=False))
        return
    recorded = read_data_checksums(record)
    changed = [path for path in checksums if recorded.get(path) != checksums[path]]
    if changed:
        raise InputError(f"{changed[0]}: changed since this run started. Restore the file, or start a new run.")


def epoch_examples(data: PreparedData, config: TokenizerConfig, seed: int) -> Callable[[int], Examples]:
    """Return a function from epoch to tokenized pairs.

    Epochs differ only with subword regularization or term replacement.
    """
    sources, targets = [pair.source for pair in data.train], [pair.target for pair in data.train]
    replacer = data.term_replacer
    appends_eos = data.task != "classification"

    def tokenize(epoch: int) -> Examples:
        def sample(tokenizer: Tokenizer, texts: list[str], side: int) -> Ragged:
            side_seed = seed * 1_000_003 + 2 * epoch + side
            return Ragged(tokenizer.sample_all(texts, config.subword_regularization, side_seed))

        texts = replacer.replaced_sources(epoch) if replacer else sources
        return Examples(sample(data.source_tokenizer, texts, 0), sample(data.target_tokenizer, targets, 1), appends_eos)

    if config.subword_regularization or replacer:
        return tokenize
    examples = tokenize(0)
    return lambda _: examples
