"""Data of a run: read the files, split off a dev set, build the tokenizers, drop pairs that are too long."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tongsa import storage
from tongsa.batch import Examples
from tongsa.data.corpus import CorpusError, check_files
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger
from tongsa.data.public_sets.table import public_sets
from tongsa.data.text_store import PairStore
from tongsa.decoding.glossary import Glossary
from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.program import format_command
from tongsa.runs.cleaning import clean_training_pairs
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data_checksums import read_data_checksums
from tongsa.runs.dev_split import split_corpora
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import DataConfig, Recipe
from tongsa.runs.term_replacement import TermReplacer
from tongsa.runs.tokenized_pairs import PairTokenizer
from tongsa.runs.tokenizers import build_tokenizers
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext

_CHECK_COLUMNS = (
    "Check the format and data.columns. Keys of JSON lines may also be data.source_language and data.target_language."
)


@dataclass(frozen=True)
class PreparedData:
    """Pairs and tokenizers of a run."""

    train: PairStore
    examples: Examples
    """Token ids of `train`, without noise, subword regularization and term replacement."""
    corpus_sizes: tuple[int, ...]
    """Number of pairs of each corpus in `train`, one corpus after the other."""
    dev: PairStore
    """The same object as `train` if no dev set was split off."""
    test: PairStore
    """Empty without a test set, and on ranks other than 0."""
    corpus_tests: tuple[tuple[DataConfig, PairStore], ...]
    """Test set of each corpus that has one, with the settings of the corpus; empty on ranks other than 0."""
    source_tokenizer: SubwordTokenizer
    target_tokenizer: Tokenizer
    task: Task
    remarks: tuple[str, ...]
    """Messages for the user: dropped lines, the origin of the dev set."""
    preparation: Preparation
    """Keeps what is made from these data, for other runs."""
    term_replacer: TermReplacer | None = None
    """Makes the training sources with replaced terms (data.term_replacement)."""


def check_data_files(data: DataConfig, origin: str) -> None:
    """Raise CorpusError for the first file that cannot be opened; `origin` is the recipe that names it."""
    per_corpus = [(file, corpus.encoding) for corpus in data.per_corpus for file in (*corpus.train, *corpus.dev)]
    tests = [(file, corpus.encoding) for corpus in data.per_corpus for file in corpus.test]
    shared = [(file, data.encoding) for file in (*data.test, *data.glossary_files)]
    for file, encoding in [*per_corpus, *tests, *shared]:
        path = data.paths([file])[0]
        if data.dataset and not path.exists():
            name = _public_set_of(file) or data.dataset
            is_public = name in public_sets()
            remedy = "Run " + format_command("data get {}", name) if is_public else f"Get {name}"
            raise CorpusError(f"{origin}: {path}: no such file. {remedy}, or pass --set data.folder=DIR.")
        check_files([path], encoding)


def _public_set_of(file: str) -> str:
    """Return the public set of a file that a recipe for several sets names as SET/FILE, or ""."""
    name, _, rest = file.partition("/")
    public_set = public_sets().get(name)
    return name if public_set and rest in {set_file.name for set_file in public_set.files} else ""


def prepare_data(
    recipe: Recipe, folder: Path, distributed: DistributedContext = SINGLE_PROCESS, reader: CorpusReader | None = None
) -> PreparedData:
    """Return the data on each rank. Rank 0 writes tokenizers and ledgers; the other ranks wait and load them."""
    reader = reader or CorpusReader(Preparation.beside_run(folder))
    if distributed.is_main_process:
        with storage.explain_os_errors(folder), Ledger(folder / "ledger.jsonl") as ledger:
            prepared = _prepare(recipe, folder, ledger, reader)
        test, corpus_tests = _read_tests(recipe, folder, reader)
        prepared = replace(prepared, test=test, corpus_tests=corpus_tests)
    distributed.barrier()
    return prepared if distributed.is_main_process else _prepare(recipe, folder, Ledger(None), reader)


class _Texts(NamedTuple):
    """Pairs before they are tokenized."""

    corpora: list[PairStore]
    """Training pairs of each corpus."""
    train: PairStore
    dev: PairStore
    """`train` itself if that is too small to split."""
    labels: LabelTokenizer | None
    remarks: list[str]


def _prepare(recipe: Recipe, folder: Path, ledger: Ledger, reader: CorpusReader) -> PreparedData:
    """Read, split, clean, tokenize and filter. A second call gives the same data and writes the same files."""
    data, task = recipe.data, recipe.model.task
    preparation = reader.preparation.with_cache(data.cache)
    _check_task(data, task)
    texts = _read_texts(data, task, ledger, reader, preparation)
    source, target = build_tokenizers(texts.train, recipe, texts.labels, folder, preparation)
    limits = data.limits if task == "seq2seq" else replace(data.limits, max_length_ratio=0)
    tokenizer = PairTokenizer(source, target, limits, appends_eos=task != "classification")
    kept, examples = tokenizer.tokenize(texts.train, ledger, preparation)
    dev = kept if texts.dev is texts.train else tokenizer.tokenize(texts.dev, ledger, preparation)[0]
    if not kept or not dev:
        name = "dev" if kept else "train"
        raise CorpusError(
            f"data.{name}: no pair is within the length limits. Raise data.max_tokens or data.max_length_ratio."
        )
    ledger.check()
    check_data_unchanged(recipe, folder)
    cache = [f"prepared data: {preparation.folder} (shared by runs; can be deleted)"] if kept.key else []
    return PreparedData(
        train=kept,
        examples=examples,
        corpus_sizes=_corpus_sizes(texts.corpora, kept),
        dev=dev,
        test=PairStore([]),
        corpus_tests=(),
        source_tokenizer=source,
        target_tokenizer=target,
        task=task,
        remarks=(ledger.summary(), *texts.remarks, *cache),
        preparation=preparation,
        term_replacer=_term_replacer(kept, recipe),
    )


def _read_texts(data: DataConfig, task: Task, ledger: Ledger, reader: CorpusReader, preparation: Preparation) -> _Texts:
    """Read all corpora, split off what is missing of the dev set, and clean what is left for training."""
    corpora = data.per_corpus
    if not data.train_files:
        raise CorpusError("data.train: no training files. Name them in the recipe or with --data FILE.")
    for config in (data, *corpora):
        check_files(data.paths(config.test), config.encoding)
    stores = [reader.read(corpus, task, corpus.train, ledger) for corpus in corpora]
    dev = PairStore.concatenate([reader.read(corpus, task, corpus.dev, ledger) for corpus in corpora])
    for store, corpus in zip(stores, corpora, strict=True):
        if not store:
            raise CorpusError(no_pairs_message(data.paths(corpus.train)[0], ledger, _CHECK_COLUMNS))
    if data.dev_files and not dev:
        raise CorpusError(f"{data.dev_files[0]}: no usable pair. Remove data.dev to split a dev set off from train.")
    labels = LabelTokenizer.from_texts(PairStore.concatenate(stores).targets) if task == "classification" else None
    remarks: list[str] = []
    stores, split_off = split_corpora(stores, data, task, preparation)
    stores = [
        clean_training_pairs(corpus, task, store, ledger, preparation) if corpus.filters.is_on else store
        for store, corpus in zip(stores, corpora, strict=True)
    ]
    train = PairStore.concatenate(stores)
    if not data.dev_files:
        origin = "the training pairs, too few to split" if split_off is None else "pairs split off from train"
        dev = train if split_off is None else split_off
        remarks.append(f"no dev file: validating on {origin} ({len(dev):,})")
    elif split_off is not None:
        dev = PairStore.concatenate([dev, split_off])
        remarks.append(f"{len(split_off):,} of {len(dev):,} dev pairs split off from train")
    if labels is not None:
        dev = _drop_unknown_labels(dev, labels, ledger)
    return _Texts(stores, train, dev, labels, remarks)


def _check_task(data: DataConfig, task: Task) -> None:
    if task == "language_model" and (data.tags or data.noise.is_on):
        name = "tag" if data.tags else "noise"
        raise InputError(f"data.{name}: a language model has no source. Leave it out.")


def _corpus_sizes(stores: Sequence[PairStore], train: PairStore) -> tuple[int, ...]:
    """Return how many of the training pairs belong to each corpus."""
    if len(stores) == 1:
        return (len(train),)
    starts = np.cumsum([0, *(int(store.starts[-1]) for store in stores)])
    counts = np.diff(np.searchsorted(train.absolute(np.arange(len(train))), starts))
    return tuple(counts.tolist())


def _term_replacer(train: PairStore, recipe: Recipe) -> TermReplacer | None:
    data = recipe.data
    if not data.term_replacement:
        return None
    if recipe.model.task != "seq2seq":
        raise InputError("data.term_replacement: only a model that translates can learn it. Leave it out.")
    glossary = Glossary.read(data.paths(data.glossary_files)[0]) if data.glossary else None
    replacer = TermReplacer(train, data.term_replacement, glossary)
    if not any(replacer.replacements):
        raise InputError(
            "data.term_replacement: no training pair contains a term and its translation. "
            + ("Check data.glossary, or leave it out." if glossary else "Leave it out, or add training pairs.")
        )
    return replacer


def _read_tests(
    recipe: Recipe, folder: Path, reader: CorpusReader
) -> tuple[PairStore, tuple[tuple[DataConfig, PairStore], ...]]:
    """Return the test set of the run and those of its corpora."""
    data, task = recipe.data, recipe.model.task
    if not data.test_files:
        return PairStore([]), ()
    corpora = [corpus for corpus in data.per_corpus if data.corpora and corpus.test]
    with storage.explain_os_errors(folder), Ledger(folder / "test-ledger.jsonl") as ledger:
        stores = [reader.read(config, task, config.test, ledger) for config in (data, *corpora)]
    for config, store in zip((data, *corpora), stores, strict=True):
        if config.test and not store:
            raise CorpusError(no_pairs_message(data.paths(config.test)[0], ledger, _CHECK_COLUMNS))
    return stores[0], tuple(zip(corpora, stores[1:], strict=True))


def _drop_unknown_labels(pairs: PairStore, labels: LabelTokenizer, ledger: Ledger) -> PairStore:
    """Return the pairs whose label occurs in train; record the others in the ledger."""
    known = set(labels.labels)
    is_known = np.array([target in known for target in pairs.targets], dtype=bool)
    if is_known.all():
        return pairs
    for row in np.flatnonzero(~is_known):
        pair = pairs[int(row)]
        ledger.revoke(pair, "unknown-label", pair.target)
    return pairs.select(np.flatnonzero(is_known))


def check_data_unchanged(recipe: Recipe, folder: Path) -> None:
    """Record the checksums of the files in data.json; raise InputError if they changed since the run started."""
    data, record = recipe.data, folder / "data.json"
    files = data.paths([*data.train_files, *data.dev_files, *data.glossary_files])
    checksums = {str(path): storage.file_sha256(path) for path in files}
    if not record.exists():
        storage.write_text(record, json.dumps(checksums, indent=1, ensure_ascii=False))
        return
    recorded = read_data_checksums(record)
    changed = [path for path in checksums if recorded.get(path) != checksums[path]]
    if changed:
        raise InputError(f"{changed[0]}: changed since this run started. Restore the file, or start a new run.")
