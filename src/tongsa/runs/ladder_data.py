"""Data of a ladder: the same train, dev and test sets for all models, as files in its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tongsa import config, storage
from tongsa.config import Table
from tongsa.data.file_patterns import expand_patterns
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.sentence_splitter import split_sentences
from tongsa.data.text_store import PairStore
from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import check_data_files
from tongsa.runs.dev_split import DEV_SPLIT_SEED, MAX_DEV_PAIRS, train_dev_split
from tongsa.runs.grid_plan import DataFiles
from tongsa.runs.recipe import DataConfig
from tongsa.training.config import MAX_PROBE_CHARACTERS

MAX_LABELS, MIN_TEXTS_PER_LABEL = 50, 20
"""Targets are labels if there are at most this many, each with this many texts on average."""
QUICK_PAIRS = {"train": 2000, "dev": 60, "test": 150}
"""At most this many pairs of a quick ladder, evenly spaced."""
PROBE_WORDS = 8
"""Length of the sentence that all models are shown with."""
FORMAT_KEYS = ("data.columns", "data.header", "data.encoding")
"""Settings about the files that are read; the files in the folder have source and target alone."""


@dataclass(frozen=True)
class LadderData:
    """Files of the pairs and of their targets, by split."""

    task: Task
    pairs: DataFiles
    texts: DataFiles
    """The target side alone, for the language model."""
    probe: Pair
    """A test pair of medium length."""


def prepare_ladder_data(folder: Path, files: DataFiles, settings: Sequence[str], *, quick: bool) -> LadderData:
    """Read the files, split off missing dev and test sets, and write all sets as TSV and their targets as text.

    A second call writes nothing; other content is an error.
    """
    splits = _read_splits(files, settings)
    if quick:
        splits = {name: pairs[:: -(-len(pairs) // QUICK_PAIRS[name])] for name, pairs in splits.items()}
    pair_files, text_files = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for name, pairs in splits.items():
        tsv, text = folder / f"{name}.tsv", folder / f"{name}.target.txt"
        _write_once(tsv, "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs))
        _write_once(text, "".join(f"{pair.target}\n" for pair in pairs))
        pair_files[name], text_files[name] = (str(tsv),), (str(text),)
    task: Task = "classification" if _are_labels(splits["train"]) else "seq2seq"
    return LadderData(task, DataFiles(**pair_files), DataFiles(**text_files), _choose_probe(splits["test"]))


def _read_splits(files: DataFiles, settings: Sequence[str]) -> dict[str, PairStore]:
    table: Table = {"data": {}}
    for assignment in settings:
        config.override(table, assignment)
    names = {name: expand_patterns(getattr(files, name)) for name in ("train", "dev", "test")}
    data = config.build_config(DataConfig, table["data"] | names, "data")
    check_data_files(data, "")
    reader, ledger = CorpusReader(), Ledger(None)
    splits = {name: reader.read(data, "seq2seq", paths, ledger) for name, paths in names.items()}
    for number, name in enumerate(("dev", "test")):
        if not splits[name]:
            maximum = MAX_DEV_PAIRS["seq2seq"]
            train, part = train_dev_split(splits["train"], data.dev_fraction, DEV_SPLIT_SEED + number, maximum)
            if part is train:
                raise InputError(
                    f"{files.train[0]}: too few sentences to split off a {name} set. "
                    f"Give more, or a file of its own with --{name} FILE."
                )
            splits |= {"train": train, name: part}
    return splits


def _write_once(path: Path, content: str) -> None:
    if not path.exists():
        storage.write_text(path, content)
        return
    try:
        is_same = path.read_bytes() == content.encode()
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise InputError(f"{path}: {reason}. Remove it; the same command writes it again.") from None
    if not is_same:
        raise InputError(
            f"{path}: from other data than those of this command. Give the same, or another folder; "
            "if it was damaged, remove it."
        )


def _are_labels(pairs: Sequence[Pair]) -> bool:
    labels = {pair.target for pair in pairs}
    return len(labels) <= MAX_LABELS and len(labels) * MIN_TEXTS_PER_LABEL <= len(pairs)


def _choose_probe(pairs: Sequence[Pair]) -> Pair:
    """Return the first pair whose source is one sentence of about PROBE_WORDS words."""

    def distance(pair: Pair) -> tuple[bool, int]:
        is_unfit = len(pair.source) > MAX_PROBE_CHARACTERS or len(split_sentences(pair.source, "")) > 1
        return is_unfit, abs(len(pair.source.split()) - PROBE_WORDS)

    return min(pairs, key=distance)
