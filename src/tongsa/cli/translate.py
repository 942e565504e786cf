"""`tongsa translate`: translate a file or standard input, to standard output or to a resumable file."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa.cli.verbs import LINES_PER_CHUNK, model_spec, print_result, print_status
from tongsa.errors import InputError, InterruptedRun

if TYPE_CHECKING:
    from tongsa.data.chunks import Chunk, ChunkReader
    from tongsa.decoding.sampling import SamplingConfig
    from tongsa.runs.progress import TranslationDisplay
    from tongsa.runs.translate_file import ResumableOutput, TranslatedChunk
    from tongsa.runs.translate_job import TranslateJobConfig

    FileTranslator = Callable[[ChunkReader], Iterator[tuple[Chunk, TranslatedChunk]]]
    """Translate the rest of an input, chunk by chunk, in order."""

HELP = "translate text: one line out for each line in"
DESCRIPTION = """\
Translate text: one line out for each line in, in order. A file of any length is read while it is translated.

  echo 'I go home' | tongsa translate runs/mine
  tongsa translate runs/mine input.txt --beam 5 --nbest 3 --json
  tongsa translate runs/mine input.txt --glossary terms.tsv --set decoding.coverage_penalty=0.2
  tongsa translate runs/mine input.txt --sample --top-p 0.9 --nbest 5
  tongsa translate runs/mine input.txt.gz -o output.txt             if killed, it resumes where it stopped
  tongsa translate runs/mine input.txt -o output.txt --executor ray  the same on a Ray cluster (RAY_ADDRESS, or local)

With -o, lines are written to OUT.partial until all are there; OUT.journal.json records the progress. Give the same
command again to resume. Lines that were not translated yet may be corrected in between.
"""
SAMPLING_FLAGS = ("temperature", "top_k", "top_p", "min_p", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="default: standard input")
    parser.add_argument("--beam", type=int, metavar="N", help="beam size (default: the model's own)")
    parser.add_argument(
        "--alpha", type=float, metavar="A", help="strength of the length penalty (default: the model's)"
    )
    parser.add_argument("--nbest", type=int, default=1, metavar="N", help="write the N best, separated by tabs")
    parser.add_argument("--glossary", type=Path, metavar="FILE", help="terms: source<TAB>target, or a text to copy")
    parser.add_argument("--prefix", default="", metavar="TEXT", help="forced beginning of every output")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="e.g. decoding.no_repeat_ngram=3, sampling.seed=2",
    )
    parser.add_argument("--json", action="store_true", help="one object per line, with scores and tokens")
    parser.add_argument("--alignments", action="store_true", help="write word alignments as i-j after each text")
    models = parser.add_argument_group("models")
    models.add_argument("--ensemble", nargs="+", type=Path, default=(), metavar="RUN", help="average with these models")
    models.add_argument(
        "--lm", type=Path, metavar="RUN", help="language model with the same tokenizer (shallow fusion)"
    )
    models.add_argument("--lm-weight", type=float, default=0.2, metavar="W", help="its weight (default: 0.2)")
    models.add_argument(
        "--engine", choices=["auto", "torch", "ctranslate2"], default="auto", help="search engine (docs/export.md)"
    )
    sampling = parser.add_argument_group("sampling")
    sampling.add_argument("--sample", action="store_true", help="draw outputs instead of searching for the best")
    sampling.add_argument("--temperature", type=float, metavar="T", help="below 1 draws likelier tokens (default: 1)")
    sampling.add_argument("--top-k", type=int, metavar="K", help="draw from the K likeliest tokens")
    sampling.add_argument("--top-p", type=float, metavar="P", help="draw from the likeliest tokens of probability P")
    sampling.add_argument(
        "--min-p", type=float, metavar="P", help="draw from tokens at least P times as likely as the best"
    )
    sampling.add_argument("--seed", type=int, metavar="N", help="the same seed draws the same (default: 1)")
    sampling.add_argument("--mbr", type=int, default=0, metavar="N", help="minimum Bayes risk: the best of N samples")
    output = parser.add_argument_group("output file")
    output.add_argument("-o", "--output", type=Path, metavar="OUT", help="write this file; the same command resumes")
    output.add_argument("--restart", action="store_true", help="with -o: discard earlier progress and replace OUT")
    output.add_argument("--executor", choices=["local", "ray"], default="local", help="with -o: where to translate")


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.translate_job import TranslateJobConfig

    settings = _parse_settings(options.set)
    flags = {name: value for name in ("beam", "alpha") if (value := getattr(options, name)) is not None}
    job = TranslateJobConfig(
        models=model_spec(options),
        decoding_overrides=settings["decoding"] | flags,
        nbest=options.nbest,
        prefix=options.prefix,
        glossary=options.glossary,
        sampling=_sampling_config(options, settings["sampling"]),
        mbr_samples=options.mbr,
        as_json=options.json,
        alignments=options.alignments,
    )
    if options.output is not None:
        return _translate_to_file(options, job)
    if options.restart or options.executor != "local":
        raise InputError(f"{'--restart' if options.restart else '--executor ray'}: needs -o. Name the file to write.")
    return _translate_to_stdout(options.file, job)


def _parse_settings(assignments: list[str]) -> dict[str, dict[str, Any]]:
    from tongsa import config

    settings: dict[str, Any] = {}
    for assignment in assignments:
        config.override(settings, assignment)
    for section in settings:
        if section not in ("decoding", "sampling") or not isinstance(settings[section], dict):
            raise InputError(
                f"--set {section}: not a setting of translate. Write decoding.KEY=VALUE or sampling.KEY=VALUE."
            )
    return {"decoding": {}, "sampling": {}} | settings


def _sampling_config(options: argparse.Namespace, settings: dict[str, Any]) -> "SamplingConfig | None":
    from tongsa import config
    from tongsa.decoding.sampling import SamplingConfig

    flags = {name: value for name in SAMPLING_FLAGS if (value := getattr(options, name)) is not None}
    settings = settings | flags
    if options.sample or options.mbr:
        return config.build_config(SamplingConfig, settings, "sampling")
    if settings:
        raise InputError(f"sampling.{next(iter(settings))}: sampling is off. Add --sample.")
    return None


def _translate_to_stdout(file: str, job: "TranslateJobConfig") -> None:
    from tongsa.data.chunks import ChunkReader
    from tongsa.runs.progress import TranslationDisplay

    translate_lines = job.build()
    interactive = file == "-" and sys.stdin.isatty()
    with ChunkReader(file) as reader:
        show_progress = reader.total_bytes is not None and not sys.stdout.isatty()
        with TranslationDisplay(reader.total_bytes, reader.bytes_read, 0, enabled=show_progress) as display:
            for chunk in reader.chunks(1 if interactive else LINES_PER_CHUNK):
                result = translate_lines(chunk.lines, chunk.first_line)
                for line in result.lines:
                    print_result(line)
                sys.stdout.flush()
                _report_progress(chunk, result, display, reader)


def _report_progress(
    chunk: "Chunk", result: "TranslatedChunk", display: "TranslationDisplay", reader: "ChunkReader"
) -> None:
    for i in result.truncated:
        display.log(f"{chunk.name}:{chunk.first_line + i + 1}: longer than the model can read, truncated")
    display.update(reader.bytes_read, chunk.first_line + len(chunk))


def _translate_to_file(options: argparse.Namespace, job: "TranslateJobConfig") -> None:
    from tongsa.data.chunks import ChunkReader
    from tongsa.runs.translate_file import ResumableOutput

    translate_chunks = _file_translator(options.executor, job)  # before the output: wrong settings leave no files
    with (
        ChunkReader(options.file) as reader,
        ResumableOutput(options.output, job.fingerprint(), restart=options.restart) as output,
    ):
        if not output.finished:
            try:
                with _sigterm_as_interrupt():
                    _translate_into(output, reader, translate_chunks)
            except KeyboardInterrupt:
                lines = f"{output.progress.lines:,} lines are in {output.partial}"
                raise InterruptedRun(f"stopped: {lines}. The same command resumes.") from None
        output.finish()
        truncated = f", {output.progress.truncated:,} of them truncated" if output.progress.truncated else ""
        print_status(f"done: {output.progress.lines:,} lines{truncated} in {output.output}")


def _file_translator(executor: str, job: "TranslateJobConfig") -> "FileTranslator":
    translate_lines = job.build()
    if executor == "local":
        return lambda reader: ((chunk, translate_lines(chunk.lines, chunk.first_line)) for chunk in reader.chunks())
    from tongsa.runs import ray_backend

    return lambda reader: ray_backend.translate_with_ray(reader, job)


def _translate_into(output: "ResumableOutput", reader: "ChunkReader", translate_chunks: "FileTranslator") -> None:
    from tongsa.runs.progress import TranslationDisplay

    output.resume(reader)
    if output.progress.lines:
        print_status(f"resuming after line {output.progress.lines:,}")
    with TranslationDisplay(reader.total_bytes, reader.bytes_read, output.progress.lines) as display:
        for chunk, result in translate_chunks(reader):
            output.write(chunk, result)
            _report_progress(chunk, result, display, reader)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
