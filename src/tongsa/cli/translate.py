"""`tongsa translate`: translate documents, and lines of text to standard output or to a resumable file."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa.cli.model_arguments import (
    add_decoding_arguments,
    add_run_argument,
    add_sampling_arguments,
    add_tag_argument,
    add_text_file_argument,
    decoding_flags,
    model_spec,
    parse_tables,
    sampling_config,
    sampling_flags,
)
from tongsa.cli.output import (
    STANDARD_OUTPUT,
    add_output_argument,
    is_stream,
    print_result,
    print_status,
    redirect_results,
)
from tongsa.cli.text_input import lines_per_chunk
from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.decoding.sampling import SamplingConfig
    from tongsa.runs.translate_job import TranslateJobConfig

HELP = "translate a document, or text: one output line per input line"
DESCRIPTION = """\
Translate text: one output line per input line, in order. A line may have several sentences. Files of any length are
streamed. A document keeps its format: .srt .vtt .md .csv .tsv .po .xlf .html .docx .odt.

  echo 'I go home' | tongsa translate runs/mine
  tongsa translate runs/mine input.txt --beam 5 --nbest 3 --json
  tongsa translate runs/mine input.txt --glossary glossary.tsv --set decoding.no_repeat_ngram=4
  tongsa translate runs/mine input.txt --sample --top-p 0.9 --nbest 5
  tongsa translate runs/mine film.srt -o film.ko.srt                     timestamps and tags are kept
  tongsa translate runs/mine table.csv -o table.ko.csv --only-columns text    only this column
  tongsa translate runs/mine input.txt.gz -o output.txt                  if killed, the same command resumes
  tongsa translate runs/mine input.txt -o output.txt --executor ray      on a Ray cluster (RAY_ADDRESS, or local)

With -o, finished lines of text are in OUT.partial and the progress is in OUT.journal.json until all are translated.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_text_file_argument(parser, "a document, or text: one output line per input line")
    add_decoding_arguments(parser)
    parser.add_argument("--nbest", type=int, default=1, metavar="N", help="N best outputs, tab-separated")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, with scores and tokens")
    parser.add_argument(
        "--glossary", type=Path, metavar="FILE", help="required terms, source<TAB>target per line (or *.csv)"
    )
    add_tag_argument(parser)
    parser.add_argument("--prefix", default="", metavar="TEXT", help="begin each output with this text")
    parser.add_argument("--sample", action="store_true", help="sample instead of beam search")
    add_sampling_arguments(parser)
    parser.add_argument("--mbr", type=int, default=0, metavar="N", help="minimum Bayes risk decoding over N samples")
    parser.add_argument("--alignments", action="store_true", help="add word alignments i-j after each output")
    parser.add_argument(
        "--format", choices=["auto", "text"], default="auto", help="text: translate any file line by line"
    )
    parser.add_argument(
        "--only-columns", type=_parse_columns, default=(), metavar="A,B", help="CSV and TSV: columns by number or name"
    )
    add_output_argument(parser)
    parser.add_argument("--restart", action="store_true", help="with -o: discard the progress of an unfinished job")
    parser.add_argument("--executor", choices=["local", "ray"], default="local", help="with -o: where to translate")


def _parse_columns(text: str) -> tuple[str, ...]:
    return tuple(column.strip() for column in text.split(",") if column.strip())


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.document_translation import check_line_options, keeps_format
    from tongsa.runs.translate_job import TranslateJobConfig

    settings = parse_tables(options.set, ["decoding", "sampling"])
    job = TranslateJobConfig(
        models=model_spec(options),
        decoding_overrides=settings["decoding"] | decoding_flags(options),
        nbest=options.nbest,
        prefix=options.prefix,
        tag=options.tag,
        glossary=options.glossary,
        sampling=_sampling_config(options, settings["sampling"]),
        mbr_samples=options.mbr,
        as_json=options.json,
        alignments=options.alignments,
    )
    if keeps_format(options.file, options.format):
        return _translate_document(options, job)
    check_line_options(options.only_columns)
    if not is_stream(options.output):
        return _translate_to_file(options, job)
    if options.restart or options.executor != "local":
        flag = "--restart" if options.restart else f"--executor {options.executor}"
        raise InputError(f"{flag}: needs an output file. Add -o OUT.")
    with redirect_results(options.output):
        return _translate_to_stdout(options.file, job)


def _sampling_config(options: argparse.Namespace, settings: dict[str, Any]) -> "SamplingConfig | None":
    if options.sample or options.mbr:
        return sampling_config(options, settings)
    flags = sampling_flags(options)
    if surplus := [f"--{name.replace('_', '-')}" for name in flags] or [f"--set sampling.{key}=…" for key in settings]:
        raise InputError(f"{surplus[0]}: only for sampling. Add --sample.")
    return None


def _translate_document(options: argparse.Namespace, job: "TranslateJobConfig") -> None:
    from tongsa.runs.document_translation import run_document_job

    if options.restart or options.executor != "local":
        flag = "--restart" if options.restart else f"--executor {options.executor}"
        raise InputError(f"{flag}: only for lines of text; a document is translated at once. Leave it out.")
    output = None if is_stream(options.output) else options.output
    document = run_document_job(job, options.file, output, columns=options.only_columns)
    if options.output == STANDARD_OUTPUT:
        sys.stdout.buffer.write(document.content)
        sys.stdout.flush()
    elif output is None:
        options.output.write_bytes(document.content)
    report = document.report
    flagged = f", {len(report.flagged):,} flagged" if report.flagged else ""
    target = f" in {options.output}" if output else ""
    print_status(f"done: {report.translated:,} segments translated, {report.kept:,} kept{flagged}{target}")


def _translate_to_stdout(file: str, job: "TranslateJobConfig") -> None:
    from tongsa.data.chunks import ChunkReader
    from tongsa.runs.file_translation import report_chunk
    from tongsa.runs.reporting import TranslationDisplay

    translate_lines = job.build(print_status)
    with ChunkReader(file) as reader:
        show_progress = reader.total_bytes is not None and not sys.stdout.isatty()
        with TranslationDisplay(reader.total_bytes, reader.bytes_read, 0, enabled=show_progress) as display:
            for chunk in reader.chunks(lines_per_chunk(file)):
                result = translate_lines(chunk.lines, chunk.first_line)
                for line in result.lines:
                    print_result(line)
                sys.stdout.flush()
                report_chunk(chunk, result, display, reader)
            display.log_remark_count()


def _translate_to_file(options: argparse.Namespace, job: "TranslateJobConfig") -> None:
    from tongsa.runs.file_translation import run_job

    progress = run_job(job, options.file, options.output, executor=options.executor, restart=options.restart)
    truncated = f", {progress.truncated:,} of them truncated" if progress.truncated else ""
    remarked = f", {progress.remarked:,} with a remark" if progress.remarked else ""
    print_status(f"done: {progress.lines:,} lines{truncated}{remarked} in {options.output}")
