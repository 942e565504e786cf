"""Translate a file to a file: chunk by chunk, resumable, on this machine or on a Ray cluster."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tongsa.data.chunks import Chunk, ChunkReader
from tongsa.decoding.engines.names import EngineName
from tongsa.decoding.sampling import SamplingConfig
from tongsa.errors import InputError, InterruptedRun
from tongsa.runs.document_translation import keeps_format
from tongsa.runs.reporting import ProgressDisplay, TranslationDisplay
from tongsa.runs.translate_file import ResumableOutput, TranslatedChunk, TranslationProgress
from tongsa.runs.translate_job import LineTranslator, ModelSpec, TranslateJobConfig

ChunkTranslator = Callable[[ChunkReader], Iterator[tuple[Chunk, TranslatedChunk]]]
"""Translate the rest of an input, chunk by chunk, in order."""


def translate_file(
    run: str | Path,
    source: str | Path,
    output: str | Path,
    *,
    engine: EngineName = "auto",
    nbest: int = 1,
    glossary: str | Path | None = None,
    sampling: SamplingConfig | None = None,
    as_json: bool = False,
    restart: bool = False,
    file_format: str = "auto",
    quiet: bool = False,
    **settings: float | str,
) -> TranslationProgress:
    """Translate a file line by line, as `tongsa translate -o` does; if killed, the same call resumes.

    run: Folder of a run or of a model that translates.
    source: Text file, one text per line; decompressed if its name ends in .gz. For other formats: `translate_document`.
    output: Output file with one line per line of the input; replaced if it exists.
    nbest: Number of outputs per line, separated by tabs.
    glossary: File of required terms, source<TAB>target per line.
    sampling: Draw the outputs instead of searching for the best.
    as_json: Write one JSON object per line, with scores and tokens.
    restart: Discard earlier progress and replace the output.
    file_format: "text" translates the lines of any file; "auto" raises InputError for a document such as film.srt.
    quiet: Print nothing.
    settings: Fields of DecodingConfig, such as beam or alpha, that replace those of the model.
    """
    job = TranslateJobConfig(
        models=ModelSpec(run=Path(run), engine=engine),
        decoding_overrides=settings,
        nbest=nbest,
        glossary=Path(glossary) if glossary is not None else None,
        sampling=sampling,
        as_json=as_json,
    )
    if keeps_format(str(source), file_format):
        raise InputError(
            f'{source}: a document, whose format is kept. Call translate_document, or give file_format="text" to '
            "translate its lines."
        )
    return run_job(job, str(source), Path(output), restart=restart, quiet=quiet)


def run_job(
    job: TranslateJobConfig,
    source: str,
    output_path: Path,
    *,
    executor: str = "local",
    restart: bool = False,
    quiet: bool = False,
) -> TranslationProgress:
    """Translate a file, or standard input ("-"), with the settings of a job."""
    translate_lines = job.build(ProgressDisplay(quiet=quiet).log)  # before the output: wrong settings leave no files
    fingerprint, translate_chunks = translate_lines.fingerprint(), _chunk_translator(executor, translate_lines)
    with ChunkReader(source) as reader, ResumableOutput(output_path, fingerprint, restart=restart) as output:
        if not output.finished:
            try:
                with sigterm_as_interrupt():
                    _translate_into(output, reader, translate_chunks, quiet=quiet)
            except KeyboardInterrupt:
                lines = f"{output.progress.lines:,} lines are in {output.partial}"
                raise InterruptedRun(f"stopped: {lines}. The same command resumes.") from None
        output.finish()
        return output.progress


def _chunk_translator(executor: str, translate_lines: LineTranslator) -> ChunkTranslator:
    if executor == "local":
        return lambda reader: ((chunk, translate_lines(chunk.lines, chunk.first_line)) for chunk in reader.chunks())
    from tongsa.runs import ray_backend

    return lambda reader: ray_backend.translate_with_ray(reader, translate_lines)


def _translate_into(
    output: ResumableOutput, reader: ChunkReader, translate_chunks: ChunkTranslator, *, quiet: bool
) -> None:
    output.resume(reader)
    with TranslationDisplay(reader.total_bytes, reader.bytes_read, output.progress.lines, quiet=quiet) as display:
        if output.progress.lines:
            display.log(f"resuming after line {output.progress.lines:,}")
        for chunk, result in translate_chunks(reader):
            output.write(chunk, result)
            report_chunk(chunk, result, display, reader)
        display.log_remark_count()


def report_chunk(chunk: Chunk, result: TranslatedChunk, display: TranslationDisplay, reader: ChunkReader) -> None:
    """Show the progress, and remarks on lines that were truncated or are unlike the training data."""
    for i, remark in result.remarks:
        display.log_remark(f"{chunk.name}:{chunk.first_line + i + 1}: {remark}")
    display.update(reader.bytes_read, chunk.first_line + len(chunk))


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C. Only the main thread can handle signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
