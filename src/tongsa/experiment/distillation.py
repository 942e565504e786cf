"""Sequence-level knowledge distillation (Kim and Rush 2016, section 3.2): a student learns what its teacher would say.

The teacher translates the sources of the student's recipe once, with a beam; the student learns from these outputs,
which are simpler than what people write, and needs less search. It is validated and tested on what people wrote.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tongsa import files
from tongsa.decoding.bulk import Job
from tongsa.decoding.translation import Translation
from tongsa.errors import InputError
from tongsa.experiment import gathered, train
from tongsa.experiment.data import read
from tongsa.experiment.progress import Passage
from tongsa.experiment.recipe import DataConfig
from tongsa.experiment.translation import Models, Order, Work
from tongsa.text import CorpusError, Ledger
from tongsa.text.chunks import ChunkReader
from tongsa.training.snapshot import Progress

PLACE = "distilled"
"""In the run's folder: sources, what the teacher says of them, and both as pairs."""


def distil(
    teacher: Path,
    recipe: str | Path,
    *,
    run: Path,
    settings: Sequence[str] = (),
    budget: str | None = None,
    beam: int | None = None,
    outputs: int = 1,
    mix: bool = False,
    begin: bool = False,
) -> Progress:
    """Train the recipe on the teacher's best `outputs` of each source; with `mix` on what people wrote too.

    With `begin` the student has the teacher's pieces and begins with its weights, as far as they fit: of a stack of
    layers with the first ones ("shrink and fine-tune", Shleifer and Rush 2020, who take layers spread over the stack).

    Killed while the teacher translates, the same call goes on; later, `resume` does.
    """
    if begin:
        settings = [*settings, f"training.begin={json.dumps(str(teacher))}"]
    data = gathered(recipe, pairs=(), dev=(), settings=settings).data
    if (run / "run.toml").exists():
        raise InputError(f"{run}: holds a run already; go on with: tongsa train --resume {run}")
    if not data.dev:
        raise InputError("data.dev: a student is validated on what people wrote; name a dev file in the recipe")
    order = Order(models=Models(run=teacher), settings={} if beam is None else {"beam": beam}, nbest=outputs)
    folder, sources = run / PLACE, _sources(data)
    work = None if (folder / "pairs.jsonl").exists() else order.build(_said)  # what cannot be is said before all else
    _check_same(folder / "order.json", order.fingerprint() | {"sources": hashlib.sha256(sources.encode()).hexdigest()})
    if not (folder / "sources.txt").exists():
        files.write_text(folder / "sources.txt", sources)
    if work:
        if not (folder / "targets.jsonl").exists():
            _translate(work, folder / "sources.txt", Job(folder / "targets.jsonl", order.fingerprint()))
        _write_pairs(folder)
    learnt = [str((folder / "pairs.jsonl").resolve())]
    if mix:
        learnt += [str(path.resolve()) for path in data.paths(data.train)]
    return train(recipe, run=run, settings=[*settings, f"data.train={json.dumps(learnt)}"], budget=budget)


def _sources(data: DataConfig) -> str:
    """One a line, each once."""
    ledger = Ledger(None)
    found = dict.fromkeys(pair.source for pair in read(data, "pairs", data.paths(data.train), ledger))
    if not found:
        raise CorpusError(f"{data.train[0] if data.train else 'data.train'}: no usable pair: {ledger.summary()}")
    return "".join(f"{source}\n" for source in found)


def _check_same(path: Path, order: Mapping[str, Any]) -> None:
    """Write down what the teacher was asked for; refuse to go on with what another order has left."""
    asked = json.dumps(order, indent=1, ensure_ascii=False)
    if not path.exists():
        files.write_text(path, asked)
    elif path.read_text("utf-8") != asked:
        raise InputError(
            f"{path.parent}: begun with another teacher, other sources or another search; give the same, remove this "
            "folder, or choose another --run"
        )


def _translate(work: Work, sources: Path, job: Job) -> None:
    with ChunkReader(str(sources)) as reader, job:
        if not job.finished:
            job.go_on(reader)
            with Passage(reader.size, reader.reached, job.position.lines) as passage:
                passage.say(f"the teacher translates {sources}")
                for chunk in reader.chunks():
                    job.write(chunk, work(chunk.lines, chunk.first))
                    passage.reach(reader.reached, job.position.lines)
        job.finish()


def _said(source: str, best: Translation) -> str:
    """What the teacher says of a source, best first; what it says twice, in other pieces, counts once."""
    targets = list(dict.fromkeys(one.text for one in (best, *best.alternatives)))
    return json.dumps({"source": source, "targets": targets}, ensure_ascii=False)


def _write_pairs(folder: Path) -> None:
    said = map(json.loads, (folder / "targets.jsonl").read_text("utf-8").split("\n")[:-1])
    pairs = ((one["source"], text) for one in said for text in one["targets"])
    lines = [json.dumps({"source": source, "target": text}, ensure_ascii=False) + "\n" for source, text in pairs]
    files.write_text(folder / "pairs.jsonl", "".join(lines))
