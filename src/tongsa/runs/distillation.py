"""Sequence-level knowledge distillation (Kim and Rush 2016, section 3.2).

The teacher translates the sources of the student's recipe once, with beam search. The student is trained on these
outputs, which are more regular than human translations, and needs less search. Dev and test stay human translations.
Several teachers translate as an ensemble: the mean of their probabilities, token by token.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tongsa import storage
from tongsa.bounded_files import (
    MAX_JSON_BYTES,
    MAX_WEIGHTS_BYTES,
    MalformedTextError,
    UnreadableFileError,
    open_regular,
    parse_json,
    read_bytes,
)
from tongsa.config import Table
from tongsa.data.chunks import ChunkReader
from tongsa.data.corpus import CorpusError
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger
from tongsa.decoding.results import Translation
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import check_data_files
from tongsa.runs.planner import parse_budget, resolve_recipe
from tongsa.runs.recipe import DataConfig, Recipe, merge_tables
from tongsa.runs.reporting import ProgressDisplay, TranslationDisplay
from tongsa.runs.train import start_run
from tongsa.runs.translate_file import ResumableOutput
from tongsa.runs.translate_job import LineTranslator, ModelSpec, TranslateJobConfig
from tongsa.training.checkpoint_files import TrainingProgress

DISTILLED_FOLDER = "distilled"
"""Subfolder of the run: sources, outputs of the teacher, and both as pairs."""


def distil(
    teachers: Sequence[Path],
    recipe: str | Path,
    *,
    run: Path,
    settings: Sequence[str] = (),
    budget: str | None = None,
    beam: int | None = None,
    nbest: int = 1,
    keep_references: bool = False,
    init_from_teacher: bool = False,
    quiet: bool = False,
) -> TrainingProgress:
    """Train a student on the outputs of a teacher, or of several teachers as an ensemble.

    If killed while the teachers translate, the same call continues. After that, `resume` continues the training.

    Args:
        teachers: Folders of the teachers' runs or models; all have the same tokenizers.
        recipe: Recipe of the student.
        run: Folder of the new run.
        settings: Assignments as for `--set`.
        budget: Time limit of the training, such as "20m".
        beam: Beam size of the teachers; the default is that of the first.
        nbest: Number of outputs per source.
        keep_references: Train on the recipe's own pairs too.
        init_from_teacher: Use the first teacher's tokenizers, and copy its weights where names and shapes match: the
            first layers of each stack. ("Shrink and fine-tune", Shleifer and Rush 2020, copies evenly spaced layers.)
        quiet: Print nothing.

    """
    time_budget = parse_budget(budget, settings)
    overrides: Table = {"training": {"init_from": str(teachers[0])}} if init_from_teacher else {}
    reader = CorpusReader()
    data = resolve_recipe(recipe, settings=settings, overrides=overrides, reader=reader).data
    _check_student(run, data, recipe)
    decoding_overrides = {} if beam is None else {"beam": beam}
    models = ModelSpec(run=teachers[0], ensemble=tuple(teachers[1:]))
    job = TranslateJobConfig(models=models, decoding_overrides=decoding_overrides, nbest=nbest)
    pairs = _distil_pairs(job, run / DISTILLED_FOLDER, _unique_sources(data, reader), quiet=quiet)
    references = data.paths(data.train) if keep_references else []
    train_files = [str(path.resolve()) for path in (pairs, *references)]
    overrides = merge_tables(overrides, {"data": {"train": train_files}})

    def resolve(_: CorpusReader) -> Recipe:
        return resolve_recipe(recipe, settings=settings, overrides=overrides)

    return start_run(resolve, run, reader=reader, time_budget=time_budget, quiet=quiet)


def _check_student(run: Path, data: DataConfig, recipe: str | Path) -> None:
    if (run / "run.toml").exists():
        raise InputError(f"{run}: holds a run already. Resume it with: {format_command('train --resume {}', run)}")
    if not data.dev:
        raise InputError("data.dev: missing. Name a dev file: a student is validated on human translations.")
    check_data_files(data, str(recipe))


def _unique_sources(data: DataConfig, reader: CorpusReader) -> str:
    """Return the distinct training sources, one per line."""
    ledger = Ledger(None)
    pairs = reader.read(data, "seq2seq", data.train, ledger)
    if not pairs:
        raise CorpusError(no_pairs_message(data.paths(data.train or ("data.train",))[0], ledger, "Check data.train."))
    return "".join(f"{source}\n" for source in dict.fromkeys(pair.source for pair in pairs))


def _distil_pairs(job: TranslateJobConfig, folder: Path, sources: str, *, quiet: bool) -> Path:
    """Translate the sources into folder/pairs.jsonl, unless that was done before by the same job."""
    pairs = folder / "pairs.jsonl"
    translate_lines = job.build(ProgressDisplay(quiet=quiet).log, _teacher_record)  # a wrong setting leaves no files
    fingerprint = translate_lines.fingerprint()
    sources_sha256 = hashlib.sha256(sources.encode()).hexdigest()
    _check_same_job(folder / "job.json", fingerprint | {"sources": sources_sha256})
    if not (folder / "sources.txt").is_file():
        storage.write_text(folder / "sources.txt", sources)
    if not pairs.exists():
        if not (folder / "targets.jsonl").exists():
            output = ResumableOutput(folder / "targets.jsonl", fingerprint)
            _run_teacher(translate_lines, folder / "sources.txt", output, quiet=quiet)
        _write_pairs(folder)
    return pairs


def _check_same_job(path: Path, fingerprint: Mapping[str, Any]) -> None:
    """Record the fingerprint of the teacher's job; raise InputError if the folder holds the output of another one."""
    text = json.dumps(fingerprint, indent=1, ensure_ascii=False)
    if not path.exists():
        storage.write_text(path, text)
    elif read_bytes(path, MAX_JSON_BYTES) != text.encode("utf-8"):
        raise InputError(
            f"{path.parent}: made with another teacher, other sources or other decoding settings. "
            "Give the same ones, remove this folder, or choose another --run."
        )


def _run_teacher(translate_lines: LineTranslator, sources: Path, output: ResumableOutput, *, quiet: bool) -> None:
    with ChunkReader(str(sources)) as reader, output:
        if not output.finished:
            output.resume(reader)
            lines = output.progress.lines
            with TranslationDisplay(reader.total_bytes, reader.bytes_read, lines, quiet=quiet) as display:
                display.log(f"the teacher translates {sources}")
                for chunk in reader.chunks():
                    output.write(chunk, translate_lines(chunk.lines, chunk.first_line))
                    display.update(reader.bytes_read, output.progress.lines)
        output.finish()


def _teacher_record(source: str, translation: Translation) -> str:
    """Return a JSON line with the distinct outputs for a source, best first."""
    targets = list(dict.fromkeys(output.text for output in (translation, *translation.alternatives)))
    return json.dumps({"source": source, "targets": targets}, ensure_ascii=False)


def _write_pairs(folder: Path) -> None:
    path = folder / "targets.jsonl"
    with open_regular(path, MAX_WEIGHTS_BYTES) as file, storage.replacement_file(folder / "pairs.jsonl") as pairs:
        for line in file:
            try:
                record = parse_json(line)
                outputs = [{"source": str(record["source"]), "target": str(target)} for target in record["targets"]]
            except (MalformedTextError, KeyError, TypeError):
                raise UnreadableFileError(path, "damaged") from None
            for pair in outputs:
                pairs.write(f"{json.dumps(pair, ensure_ascii=False)}\n".encode())
