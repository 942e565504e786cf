"""Cleaning of corpora: of files for `tongsa data clean`, and of the training pairs of a run (`[data.filters]`)."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from time import monotonic

import numpy as np

from tongsa import storage
from tongsa.bundle import load_bundle
from tongsa.checks.misaligned_blocks import find_misaligned_blocks
from tongsa.data.array_files import ArrayFiles
from tongsa.data.cleaning.clean import CleanedPairs, CleaningHooks, clean_pairs
from tongsa.data.cleaning.language import check_identifier
from tongsa.data.cleaning.plan import CleaningPlan
from tongsa.data.cleaning.report import corpus_report
from tongsa.data.cleaning.report_data import CorpusReport
from tongsa.data.cleaning.workers import available_cores
from tongsa.data.corpus import CorpusError, read_pairs, read_raw_pairs, read_raw_texts, read_texts
from tongsa.data.ledger import Ledger, Pair, Reason
from tongsa.data.normalize import normalize
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import PairStore, open_pairs, write_pairs
from tongsa.decoding.text_model import TextModel
from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.runs.languages import MAX_SAMPLED_PAIRS, guess_from_sample
from tongsa.runs.model_scores import model_key, score_pairs
from tongsa.runs.preparation import Preparation, PreparationDisplay
from tongsa.runs.recipe import DataConfig

TASK_SIDES: dict[Task, tuple[int, ...]] = {"seq2seq": (0, 1), "classification": (0,), "language_model": (1,)}
"""Sides with text: labels are no text."""
ENTRIES, FILES = "entries.jsonl", "files.json"
RULES_VERSION = 2
"""Part of the hash of cleaned pairs: other rules of the filters keep other pairs."""


@dataclass(frozen=True)
class Cleaning:
    """Settings of a cleaning: the files of [data], the task and the display."""

    data: DataConfig
    task: Task = "seq2seq"
    display: PreparationDisplay = field(default_factory=lambda: Preparation().display)
    scores: Preparation = field(default_factory=Preparation)
    """Keeps the finished blocks of model scores, for a cleaning that was interrupted."""

    @property
    def plan(self) -> CleaningPlan:
        """The plan; raise InputError for a filter that cannot run."""
        plan = CleaningPlan(filters=self.data.filters, languages=self.data.languages, sides=TASK_SIDES[self.task])
        if "language" in plan.filter_names:
            check_identifier()
        if "model_score" in plan.filter_names and not self.data.filters.model:
            raise InputError("data.filters.model_score: no model. Name a run with data.filters.model.")
        return plan

    @cached_property
    def scoring_model(self) -> TextModel | None:
        """The model of the filter `model_score`, if it is on."""
        if "model_score" not in self.plan.filter_names:
            return None
        return load_bundle(Path(self.data.filters.model)).text_model()

    def raw_pairs(self, ledger: Ledger) -> Iterator[Pair]:
        """Return the usable pairs of the files as they are there."""
        return _read(self.data, self.task, ledger, raw=True)

    def with_languages(self) -> tuple["Cleaning", str]:
        """Return the cleaning with guessed languages for the missing ones, and a message."""
        sample = list(islice(_read(self.data, self.task, Ledger(None)), MAX_SAMPLED_PAIRS))
        data, remark = guess_from_sample(self.data, self.task, sample)
        return replace(self, data=data), remark

    def run(self, ledger: Ledger, arrays: ArrayFiles) -> CleanedPairs:
        """Clean all pairs of the files. Afterwards the ledger has what the reader dropped."""
        return self.run_on(self.raw_pairs(ledger), arrays, None)

    def run_on(self, raw_pairs: Iterator[Pair], arrays: ArrayFiles, total: int | None) -> CleanedPairs:
        with self.display.for_steps(total, 0) as display:
            return clean_pairs(
                raw_pairs,
                self.plan,
                arrays,
                processes=available_cores(),
                report=lambda count: display.show(count, "cleaning", f"{count:,} pairs"),
                hooks=self._hooks(),
            )

    def _hooks(self) -> CleaningHooks:
        model = self.scoring_model
        return CleaningHooks(
            find_misaligned_blocks, partial(score_pairs, model, preparation=self.scores) if model else None
        )


def _read(data: DataConfig, task: Task, ledger: Ledger, *, raw: bool = False) -> Iterator[Pair]:
    is_text = task == "language_model"
    read = (read_raw_texts if is_text else read_raw_pairs) if raw else (read_texts if is_text else read_pairs)
    header, encoding = data.header, data.encoding
    paths = data.paths(data.train)
    return read(paths, ledger, columns=data.columns, languages=data.languages, header=header, encoding=encoding)


def clean_corpus(cleaning: Cleaning, output: Path) -> CorpusReport:
    """Write the kept pairs to a file, and each drop and repair to its ledger."""
    started = monotonic()
    with (
        storage.lock_replacement(output),
        Ledger(output.with_name(f"{output.name}.ledger.jsonl")) as ledger,
        work_folder(output) as work,
    ):
        cleaned = cleaning.run(ledger, work)
        if not len(cleaned.drops):
            raise CorpusError(f"{cleaning.data.train[0]}: no usable pair. Check the format and --columns.")
        report = corpus_report(cleaned, ledger, monotonic() - started)
        record_entries(cleaned, ledger)
        ledger.check()
        write_corpus(output, cleaned.pairs.select(cleaned.kept_rows), cleaning.task)
    return replace(report, seconds=round(monotonic() - started, 3))


@contextmanager
def work_folder(output: Path) -> Iterator[ArrayFiles]:
    """Yield arrays in a folder beside the output. It is removed at the end, and first if a killed command left one."""
    folder = output.with_name(f".{output.name}.work")
    with storage.explain_os_errors(folder):
        storage.remove(folder)  # it may also be a link
        folder.mkdir(parents=True)
        arrays = ArrayFiles(folder)
        try:
            yield arrays
        finally:
            arrays.close()
            shutil.rmtree(folder, ignore_errors=True)


def record_entries(cleaned: CleanedPairs, ledger: Ledger) -> None:
    """Record the repairs and the drops of pairs that the ledger has as kept."""
    for row in np.flatnonzero((cleaned.drops > 0) | (cleaned.repair_bits > 0)).tolist():
        pair = cleaned.pairs[row]
        if repairs := cleaned.repairs(row):
            ledger.repair(pair.file, pair.line, repairs)
        if reasons := cleaned.reasons(row):
            ledger.revoke_for_all(pair, reasons)


def write_corpus(path: Path, pairs: PairStore, task: Task) -> None:
    """Write pairs as the suffix says, JSON lines or tab-separated; monolingual texts one per line."""
    format_line = _json_line if path.suffix.lower() == ".jsonl" else _tab_line
    storage.write_lines(path, (format_line(pair, task) for pair in pairs))


def _json_line(pair: Pair, task: Task) -> str:
    texts = {"source": pair.source, "target": pair.target}
    return json.dumps({"text": pair.target} if task == "language_model" else texts, ensure_ascii=False) + "\n"


def _tab_line(pair: Pair, task: Task) -> str:
    return f"{pair.target}\n" if task == "language_model" else f"{pair.source}\t{pair.target}\n"


def clean_training_pairs(
    data: DataConfig, task: Task, train: PairStore, ledger: Ledger, preparation: Preparation
) -> PairStore:
    """Return the training pairs of one corpus, repaired and without those that a filter drops.

    The files are read again, because the repairs need the texts as they are there. Pairs of a dev set that was split
    off are not in `train` and are left out.
    """
    scores = Preparation(preparation.for_pairs(train).folder)  # without a display: the cleaning has one
    cleaning = Cleaning(data, task, preparation.display, scores)
    plan = cleaning.plan
    names = [str(path) for path in data.paths(data.train)]
    model = cleaning.scoring_model
    key = content_key(
        "clean", RULES_VERSION, train.key, plan.as_json(), data.tag, names, model_key(model) if model else ""
    )
    preparation = preparation.for_pairs(train)

    def fill(arrays: ArrayFiles) -> None:
        arrays.restore_progress()  # an interrupted cleaning starts again, apart from the model scores
        if arrays.folder is None:
            _fill_cleaned(cleaning, train, arrays, ArrayFiles())
            return
        with work_folder(arrays.folder) as work:
            _fill_cleaned(cleaning, train, arrays, work)

    arrays = preparation.prepare(f"clean-{key}", fill)
    for line in arrays.lines(ENTRIES):
        row, repairs, reasons = json.loads(line)
        pair = train[row]
        if repairs:
            ledger.repair(pair.file, pair.line, repairs)
        if reasons:
            ledger.revoke_for_all(pair, [Reason(*reason) for reason in reasons])
    files = [(row, name) for row, name in json.loads(b"".join(arrays.lines(FILES)))]
    if not files:
        raise CorpusError(f"{names[0]}: the filters drop all pairs. Loosen data.filters; the ledger has the reasons.")
    return PairStore([open_pairs(arrays, files, key if train.key else "")])


def _fill_cleaned(cleaning: Cleaning, train: PairStore, arrays: ArrayFiles, work: ArrayFiles) -> None:
    tag = cleaning.data.tag
    cleaned = cleaning.run_on(_raw_training_pairs(cleaning, train), work, len(train))
    kept = cleaned.pairs.select(cleaned.kept_rows)
    tagged = (pair._replace(source=f"{tag} {pair.source}") for pair in kept) if tag else kept
    arrays.append(FILES, json.dumps(write_pairs(tagged, arrays)).encode())
    for row in np.flatnonzero((cleaned.drops > 0) | (cleaned.repair_bits > 0)).tolist():
        entry = json.dumps([row, cleaned.repairs(row), cleaned.reasons(row)], ensure_ascii=True)
        arrays.append(ENTRIES, entry.encode() + b"\n")


def _raw_training_pairs(cleaning: Cleaning, train: PairStore) -> Iterator[Pair]:
    """Yield the raw texts of the pairs of `train`, which are some rows of the files, ascending.

    Raise CorpusError if the files are no longer those that were read.
    """
    rows = chain.from_iterable(block.tolist() for block in train.row_blocks())
    known, prefix = iter(train), f"{cleaning.data.tag} " if cleaning.data.tag else ""
    row, pair = next(rows, -1), next(known, None)
    for index, raw in enumerate(cleaning.raw_pairs(Ledger(None))):
        if index == row and pair:
            texts = f"{prefix}{normalize(raw.source)}", normalize(raw.target)
            if (*texts, raw.line) != (pair.source, pair.target, pair.line):
                break
            yield raw
            row, pair = next(rows, -1), next(known, None)
    if pair:
        raise CorpusError(f"{pair.file}: changed while it was read. Start again when it is complete.")
