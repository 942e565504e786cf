"""`tongsa translate`: to standard output, or with -o a job that can be killed and goes on."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tongsa.cli.verbs import (
    LINES_PER_CHUNK,
    decoding_settings,
    model_spec,
    parse_assignments,
    print_result,
    print_status,
)
from tongsa.errors import InputError, InterruptedRun

if TYPE_CHECKING:
    from tongsa.data.chunks import Chunk, ChunkReader
    from tongsa.decoding.sampling import SamplingConfig
    from tongsa.runs.progress import TranslationDisplay
    from tongsa.runs.translate_file import ResumableOutput, TranslatedChunk
    from tongsa.runs.translate_job import TranslateJobConfig

    FileTranslator = Callable[[ChunkReader], Iterator[tuple[Chunk, TranslatedChunk]]]
    """From what is left of an input to what becomes of it, chunk by chunk, in order."""


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.translate_job import TranslateJobConfig

    order = TranslateJobConfig(
        models=model_spec(options),
        decoding_overrides=decoding_settings(options),
        nbest=options.nbest,
        prefix=options.prefix,
        glossary=options.terms,
        sampling=_sampling_config(options),
        mbr_samples=options.mbr,
        as_json=options.json,
        alignments=options.alignments,
    )
    if options.output is not None:
        return _translate_to_file(options, order)
    if options.restart or options.on != "here":
        raise InputError(f"{'--restart' if options.restart else '--on ray'} goes with -o: name the file to write")
    return _translate_to_stdout(options.file, order)


def _sampling_config(options: argparse.Namespace) -> "SamplingConfig | None":
    from tongsa import config
    from tongsa.decoding.sampling import SamplingConfig

    if options.sample is None and not options.mbr:
        return None
    return config.build_config(SamplingConfig, parse_assignments(options.sample or [], "--sample"))


def _translate_to_stdout(file: str, job_config: "TranslateJobConfig") -> None:
    from tongsa.data.chunks import ChunkReader
    from tongsa.runs.progress import TranslationDisplay

    work = job_config.build()
    typed = file == "-" and sys.stdin.isatty()
    with ChunkReader(file) as reader:
        shown = reader.total_bytes is not None and not sys.stdout.isatty()
        with TranslationDisplay(reader.total_bytes, reader.bytes_read, 0, enabled=shown) as passage:
            for chunk in reader.chunks(1 if typed else LINES_PER_CHUNK):
                translated = work(chunk.lines, chunk.first_line)
                for line in translated.lines:
                    print_result(line)
                sys.stdout.flush()
                _report_progress(chunk, translated, passage, reader)


def _report_progress(
    chunk: "Chunk", result: "TranslatedChunk", progress_bar: "TranslationDisplay", reader: "ChunkReader"
) -> None:
    for at in result.truncated:
        progress_bar.log(f"{chunk.name}:{chunk.first_line + at + 1}: longer than the model can read, cut")
    progress_bar.update(reader.bytes_read, chunk.first_line + len(chunk))


def _translate_to_file(options: argparse.Namespace, job_config: "TranslateJobConfig") -> None:
    from tongsa.data.chunks import ChunkReader
    from tongsa.runs.translate_file import ResumableOutput

    work = _file_translator(options.on, job_config)  # what cannot be done at all leaves no job behind
    with (
        ChunkReader(options.file) as reader,
        ResumableOutput(options.output, job_config.fingerprint(), restart=options.restart) as job,
    ):
        if not job.finished:
            try:
                with _sigterm_as_interrupt():
                    _translate_into(job, reader, work)
            except KeyboardInterrupt:
                told = f"{job.progress.lines:,} lines are in {job.partial}"
                raise InterruptedRun(f"stopped: {told}; the same command goes on") from None
        job.finish()
        cut = f", {job.progress.truncated:,} of them cut" if job.progress.truncated else ""
        print_status(f"done: {job.progress.lines:,} lines{cut} in {job.output}")


def _file_translator(executor: str, job_config: "TranslateJobConfig") -> "FileTranslator":
    translate = job_config.build()
    if executor == "here":
        return lambda reader: ((chunk, translate(chunk.lines, chunk.first_line)) for chunk in reader.chunks())
    from tongsa.runs import ray_backend

    return lambda reader: ray_backend.translate_with_ray(reader, job_config)


def _translate_into(output: "ResumableOutput", reader: "ChunkReader", translate_chunks: "FileTranslator") -> None:
    from tongsa.runs.progress import TranslationDisplay

    output.resume(reader)
    if output.progress.lines:
        print_status(f"going on behind line {output.progress.lines:,}")
    with TranslationDisplay(reader.total_bytes, reader.bytes_read, output.progress.lines) as passage:
        for chunk, translated in translate_chunks(reader):
            output.write(chunk, translated)
            _report_progress(chunk, translated, passage, reader)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
