"""`tongsa translate`: to standard output, or with -o a job that can be killed and goes on."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tongsa.cli.verbs import CHUNK, assigned, models, out, say, search_settings
from tongsa.errors import InputError, InterruptedRun

if TYPE_CHECKING:
    from tongsa.decoding.bulk import Job, Translated
    from tongsa.decoding.sampling import SamplingConfig
    from tongsa.experiment.progress import Passage
    from tongsa.experiment.translation import Order
    from tongsa.text.chunks import Chunk, ChunkReader

    Work = Callable[[ChunkReader], Iterator[tuple[Chunk, Translated]]]
    """From what is left of an input to what becomes of it, chunk by chunk, in order."""


def translate(options: argparse.Namespace) -> None:
    from tongsa.experiment.translation import Order

    order = Order(
        models=models(options),
        settings=search_settings(options),
        nbest=options.nbest,
        prefix=options.prefix,
        terms=options.terms,
        sampling=_sampling(options),
        consensus=options.mbr,
        json=options.json,
        alignments=options.alignments,
    )
    if options.output is not None:
        return _to_file(options, order)
    if options.restart or options.on != "here":
        raise InputError(f"{'--restart' if options.restart else '--on ray'} goes with -o: name the file to write")
    return _to_stdout(options.file, order)


def _sampling(options: argparse.Namespace) -> "SamplingConfig | None":
    from tongsa import config
    from tongsa.decoding.sampling import SamplingConfig

    if options.sample is None and not options.mbr:
        return None
    return config.build(SamplingConfig, assigned(options.sample or [], "--sample"))


def _to_stdout(file: str, order: "Order") -> None:
    from tongsa.experiment.progress import Passage
    from tongsa.text.chunks import ChunkReader

    work = order.build()
    typed = file == "-" and sys.stdin.isatty()
    with ChunkReader(file) as reader:
        shown = reader.size is not None and not sys.stdout.isatty()
        with Passage(reader.size, reader.reached, 0, shown=shown) as passage:
            for chunk in reader.chunks(1 if typed else CHUNK):
                translated = work(chunk.lines, chunk.first)
                for line in translated.lines:
                    out(line)
                sys.stdout.flush()
                _tell(chunk, translated, passage, reader)


def _tell(chunk: "Chunk", translated: "Translated", passage: "Passage", reader: "ChunkReader") -> None:
    for at in translated.cut:
        passage.say(f"{chunk.name}:{chunk.first + at + 1}: longer than the model can read, cut")
    passage.reach(reader.reached, chunk.first + len(chunk))


def _to_file(options: argparse.Namespace, order: "Order") -> None:
    from tongsa.decoding.bulk import Job
    from tongsa.text.chunks import ChunkReader

    work = _work(options.on, order)  # what cannot be done at all leaves no job behind
    with ChunkReader(options.file) as reader, Job(options.output, order.fingerprint(), restart=options.restart) as job:
        if not job.finished:
            try:
                with _told_to_stop():
                    _do(job, reader, work)
            except KeyboardInterrupt:
                told = f"{job.position.lines:,} lines are in {job.partial}"
                raise InterruptedRun(f"stopped: {told}; the same command goes on") from None
        job.finish()
        cut = f", {job.position.cut:,} of them cut" if job.position.cut else ""
        say(f"done: {job.position.lines:,} lines{cut} in {job.output}")


def _work(place: str, order: "Order") -> "Work":
    translate = order.build()
    if place == "here":
        return lambda reader: ((chunk, translate(chunk.lines, chunk.first)) for chunk in reader.chunks())
    from tongsa.experiment import cluster

    return lambda reader: cluster.translated(reader, order)


def _do(job: "Job", reader: "ChunkReader", work: "Work") -> None:
    from tongsa.experiment.progress import Passage

    job.go_on(reader)
    if job.position.lines:
        say(f"going on behind line {job.position.lines:,}")
    with Passage(reader.size, reader.reached, job.position.lines) as passage:
        for chunk, translated in work(reader):
            job.write(chunk, translated)
            _tell(chunk, translated, passage, reader)


@contextmanager
def _told_to_stop() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
