"""Translate a document to a document of the same format: subtitles, Markdown, tables, office documents."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tongsa import storage
from tongsa.data.compression import unreadable_message
from tongsa.data.corpus import CorpusError
from tongsa.data.sentence_splitter import Span
from tongsa.decoding.engines.names import EngineName
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.results import Translation
from tongsa.decoding.sampling import SamplingConfig
from tongsa.document_formats.formats import EXTENSIONS, find_format, parse_document
from tongsa.document_formats.limits import MAX_ARCHIVE_BYTES
from tongsa.document_formats.mark_positions import WordLink
from tongsa.document_formats.translation import (
    FLAG_MEANINGS,
    DocumentReport,
    SourceText,
    TextTranslation,
    TranslatedDocument,
    advance,
    translation_steps,
)
from tongsa.errors import InputError, InterruptedRun
from tongsa.runs.reporting import MAX_REMARKS, ProgressDisplay
from tongsa.runs.translate_job import ModelSpec, TranslateJobConfig
from tongsa.tokenization.special import UNK

TEXTS_PER_CHUNK = 512
"""Texts of a document that are translated together."""
MAX_QUOTED_CHARACTERS = 60
"""Characters of a segment in a remark."""
_WORD = re.compile(r"\S+")
TextsTranslator = Callable[[Sequence[SourceText], int], list[TextTranslation]]
"""Translate texts; the second argument is the number of texts before them."""


def keeps_format(source: str, file_format: str = "auto") -> bool:
    """Return whether a file is translated as a document; others, plain text among them, are translated by lines."""
    if file_format not in ("auto", "text"):
        raise InputError(f"format {file_format!r}: unknown. Use auto or text.")
    return file_format == "auto" and source != "-" and find_format(source) not in (None, EXTENSIONS[".txt"])


def translate_document(
    run: str | Path,
    source: str | Path,
    output: str | Path,
    *,
    engine: EngineName = "auto",
    glossary: str | Path | None = None,
    sampling: SamplingConfig | None = None,
    columns: Sequence[str] = (),
    quiet: bool = False,
    **settings: float | str,
) -> DocumentReport:
    """Translate a document and keep its format, as `tongsa translate -o` does; return the numbers of its segments.

    run: Folder of a run or of a model that translates.
    source: A document: .txt .srt .vtt .md .csv .tsv .po .xlf .html .docx .odt.
    output: Output file; replaced if it exists.
    glossary: File of required terms, source<TAB>target per line.
    sampling: Draw the outputs instead of searching for the best.
    columns: Columns of CSV or TSV, by number from 1 or by name in the first row; all by default.
    quiet: Print nothing.
    settings: Fields of DecodingConfig, such as beam or alpha, that replace those of the model.
    """
    job = TranslateJobConfig(
        models=ModelSpec(run=Path(run), engine=engine),
        decoding_overrides=settings,
        glossary=Path(glossary) if glossary is not None else None,
        sampling=sampling,
    )
    return run_document_job(job, str(source), Path(output), columns=columns, quiet=quiet).report


def check_line_options(columns: Sequence[str]) -> None:
    """Raise InputError for options of documents in a translation by lines."""
    if columns:
        raise InputError("--only-columns: only for CSV and TSV whose format is kept. Leave it out.")


def run_document_job(
    job: TranslateJobConfig, source: str, output: Path | None, *, columns: Sequence[str] = (), quiet: bool = False
) -> TranslatedDocument:
    """Translate a document and write it to a file, unless `output` is None."""
    _check_job(job, source)
    if output is not None and output.exists() and Path(source).exists() and output.samefile(source):
        raise InputError(f"{output}: this is the input. Give another name.")
    document = parse_document(_read(Path(source)), source, columns)  # before the models: a wrong file is reported soon
    translate_texts = text_translator(job, ProgressDisplay(quiet=quiet).log)
    steps = translation_steps(document)
    translated = advance(steps)
    try:
        while not isinstance(translated, TranslatedDocument):
            translated = advance(steps, _translate_in_chunks(translate_texts, translated, quiet=quiet))
    except KeyboardInterrupt:
        raise InterruptedRun("stopped: no document was written. The same command begins again.") from None
    if output is not None:
        storage.write_bytes(output, translated.content)
    log_flagged(source, translated.report, quiet=quiet)
    return translated


def _check_job(job: TranslateJobConfig, source: str) -> None:
    """Raise InputError for options that make no document."""
    options = {
        "--nbest": job.nbest > 1,
        "--json": job.as_json,
        "--alignments": job.alignments,
        "--prefix": bool(job.prefix),
        "--mbr": job.mbr_samples > 0,
    }
    for option, is_set in options.items():
        if is_set:
            raise InputError(
                f"{option}: not for {source}, whose format is kept. Leave it out, or translate the lines of the file: "
                "--format text."
            )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_ARCHIVE_BYTES + 1)
    except OSError as error:
        raise CorpusError(unreadable_message(path, error)) from None


def text_translator(job: TranslateJobConfig, log: Callable[[str], None]) -> TextsTranslator:
    """Load the models of a job and return the function that translates texts with placeholders."""
    translator = job.models.build(log)
    request = job.request(translator)
    has_cross_attention = bool(translator.attention([UNK], [UNK]).get("cross"))

    def translate_texts(texts: Sequence[SourceText], first: int) -> list[TextTranslation]:
        placeholders = dict.fromkeys(placeholder for text in texts for placeholder in text.placeholders)
        terms = request.glossary.terms if request.glossary else ()
        copies = Glossary.from_pairs((), placeholders).terms
        glossary = Glossary(terms + copies) if terms or copies else None
        chunk_request = replace(request, glossary=glossary, sampling=job.sampling_at(first))
        tag = f"{job.tag} " if job.tag else ""
        translations = translator.decode([f"{tag}{text.text}" for text in texts], chunk_request)
        return [
            TextTranslation(
                translation.text,
                _word_links(translation) if text.needs_alignment and has_cross_attention else (),
                ("truncated",) if translation.truncated else (),
            )
            for text, translation in zip(texts, translations, strict=True)
        ]

    return translate_texts


def _word_links(translation: Translation) -> list[WordLink]:
    """Return the word alignment of a text."""
    links = list[WordLink]()
    for sentence in translation.sentences:
        source = _word_spans(sentence.source, sentence.start)
        target = _word_spans(sentence.text, sentence.target_start)
        links += [
            WordLink(source[i], target[j])
            for i, j in sentence.word_alignment
            if i < len(source) and j < len(target)  # a control character is a word of the text, but has no token
        ]
    return links


def _word_spans(text: str, offset: int) -> list[Span]:
    return [Span(offset + word.start(), offset + word.end()) for word in _WORD.finditer(text)]


def _translate_in_chunks(
    translate_texts: TextsTranslator, texts: Sequence[SourceText], *, quiet: bool
) -> list[TextTranslation]:
    translations = list[TextTranslation]()
    with ProgressDisplay(len(texts), 0, quiet=quiet) as display:
        for first in range(0, len(texts), TEXTS_PER_CHUNK):
            translations += translate_texts(texts[first : first + TEXTS_PER_CHUNK], first)
            display.show(len(translations), f"{len(translations):,} texts", "")
    return translations


def log_flagged(source: str, report: DocumentReport, *, quiet: bool) -> None:
    """Print the segments to look at; after MAX_REMARKS they are only counted."""
    with ProgressDisplay(quiet=quiet) as display:
        for flagged in report.flagged[:MAX_REMARKS]:
            quoted = flagged.source[:MAX_QUOTED_CHARACTERS] + "…" * (len(flagged.source) > MAX_QUOTED_CHARACTERS)
            reasons = "; ".join(FLAG_MEANINGS[flag] for flag in flagged.flags)
            display.log(f"{source}: {flagged.location}: {reasons}: {quoted}")
        if len(report.flagged) > MAX_REMARKS:
            display.log(f"… and {len(report.flagged) - MAX_REMARKS:,} more segments like these")
