"""Sequence-level knowledge distillation (Kim and Rush 2016, section 3.2): a student learns what its teacher would say.

The teacher translates the sources of the student's recipe once, with a beam; the student learns from these outputs,
which are simpler than what people write, and needs less search. It is validated and tested on what people wrote.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tongsa import storage
from tongsa.runs.translate_file import ResumableOutput
from tongsa.decoding.results import Translation
from tongsa.errors import InputError
from tongsa.runs import resolve_recipe, train
from tongsa.runs.data import read_data
from tongsa.runs.progress import TranslationDisplay
from tongsa.runs.recipe import DataConfig
from tongsa.runs.translate_job import ModelSpec, TranslateJobConfig, LineTranslator
from tongsa.data.corpus import CorpusError
from tongsa.data.ledger import Ledger
from tongsa.data.chunks import ChunkReader
from tongsa.training.checkpoint import TrainingProgress

DISTILLED_FOLDER = "distilled"
"""In the run's folder: sources, what the teacher says of them, and both as pairs."""


def distil(
    teacher: Path,
    recipe: str | Path,
    *,
    run: Path,
    settings: Sequence[str] = (),
    budget: str | None = None,
    beam: int | None = None,
    nbest: int = 1,
    keep_references: bool = False,
    init_from_teacher: bool = False,
) -> TrainingProgress:
    """Train the recipe on the teacher's best `outputs` of each source; with `mix` on what people wrote too.

    With `begin` the student has the teacher's pieces and begins with its weights, as far as they fit: of a stack of
    layers with the first ones ("shrink and fine-tune", Shleifer and Rush 2020, who take layers spread over the stack).

    Killed while the teacher translates, the same call goes on; later, `resume` does.
    """
    if init_from_teacher:
        settings = [*settings, f"training.init_from={json.dumps(str(teacher))}"]
    data = resolve_recipe(recipe, data=(), dev=(), settings=settings).data
    if (run / "run.toml").exists():
        raise InputError(f"{run}: holds a run already; go on with: tongsa train --resume {run}")
    if not data.dev:
        raise InputError("data.dev: a student is validated on what people wrote; name a dev file in the recipe")
    order = TranslateJobConfig(models=ModelSpec(run=teacher), decoding_overrides={} if beam is None else {"beam": beam}, nbest=nbest)
    folder, sources = run / DISTILLED_FOLDER, _unique_sources(data)
    work = None if (folder / "pairs.jsonl").exists() else order.build(_teacher_record)  # what cannot be is said before all else
    _check_same_job(folder / "order.json", order.fingerprint() | {"sources": hashlib.sha256(sources.encode()).hexdigest()})
    if not (folder / "sources.txt").exists():
        storage.write_text(folder / "sources.txt", sources)
    if work:
        if not (folder / "targets.jsonl").exists():
            _run_teacher(work, folder / "sources.txt", ResumableOutput(folder / "targets.jsonl", order.fingerprint()))
        _write_pairs(folder)
    learnt = [str((folder / "pairs.jsonl").resolve())]
    if keep_references:
        learnt += [str(path.resolve()) for path in data.paths(data.train)]
    return train(recipe, run=run, settings=[*settings, f"data.train={json.dumps(learnt)}"], budget=budget)


def _unique_sources(data: DataConfig) -> str:
    """One a line, each once."""
    ledger = Ledger(None)
    found = dict.fromkeys(pair.source for pair in read_data(data, "seq2seq", data.paths(data.train), ledger))
    if not found:
        raise CorpusError(f"{data.train[0] if data.train else 'data.train'}: no usable pair: {ledger.summary()}")
    return "".join(f"{source}\n" for source in found)


def _check_same_job(path: Path, fingerprint: Mapping[str, Any]) -> None:
    """Write down what the teacher was asked for; refuse to go on with what another order has left."""
    asked = json.dumps(fingerprint, indent=1, ensure_ascii=False)
    if not path.exists():
        storage.write_text(path, asked)
    elif path.read_text("utf-8") != asked:
        raise InputError(
            f"{path.parent}: begun with another teacher, other sources or another search; give the same, remove this "
            "folder, or choose another --run"
        )


def _run_teacher(translate_lines: LineTranslator, sources: Path, output: ResumableOutput) -> None:
    with ChunkReader(str(sources)) as reader, output:
        if not output.finished:
            output.resume(reader)
            with TranslationDisplay(reader.total_bytes, reader.bytes_read, output.progress.lines) as passage:
                passage.log(f"the teacher translates {sources}")
                for chunk in reader.chunks():
                    output.write(chunk, translate_lines(chunk.lines, chunk.first_line))
                    passage.update(reader.bytes_read, output.progress.lines)
        output.finish()


def _teacher_record(source: str, translation: Translation) -> str:
    """What the teacher says of a source, best first; what it says twice, in other pieces, counts once."""
    targets = list(dict.fromkeys(one.text for one in (translation, *translation.alternatives)))
    return json.dumps({"source": source, "targets": targets}, ensure_ascii=False)


def _write_pairs(folder: Path) -> None:
    said = map(json.loads, (folder / "targets.jsonl").read_text("utf-8").split("\n")[:-1])
    pairs = ((one["source"], text) for one in said for text in one["targets"])
    lines = [json.dumps({"source": source, "target": text}, ensure_ascii=False) + "\n" for source, text in pairs]
    storage.write_text(folder / "pairs.jsonl", "".join(lines))
