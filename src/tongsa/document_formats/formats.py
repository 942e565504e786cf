"""Table of document formats: extensions, name, parser, size limit."""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from tongsa.document_formats.delimited import parse_csv, parse_tsv
from tongsa.document_formats.html_page import parse_html
from tongsa.document_formats.limits import MAX_ARCHIVE_BYTES, MAX_TEXT_BYTES, DocumentFormatError
from tongsa.document_formats.markdown import parse_markdown
from tongsa.document_formats.office import parse_docx, parse_odt
from tongsa.document_formats.plain_text import parse_plain_text
from tongsa.document_formats.po import parse_po
from tongsa.document_formats.segment import ParsedDocument
from tongsa.document_formats.subtitles import parse_srt, parse_vtt
from tongsa.document_formats.xliff import parse_xliff


class DocumentFormat(NamedTuple):
    name: str
    extensions: tuple[str, ...]
    parse: Callable[..., ParsedDocument]
    """From the content and the name of a file; formats with columns also take the chosen ones."""
    max_bytes: int = MAX_TEXT_BYTES
    has_columns: bool = False


FORMATS = (
    DocumentFormat("plain text", (".txt",), parse_plain_text),
    DocumentFormat("SubRip subtitles", (".srt",), parse_srt),
    DocumentFormat("WebVTT subtitles", (".vtt",), parse_vtt),
    DocumentFormat("Markdown", (".md", ".markdown"), parse_markdown),
    DocumentFormat("CSV", (".csv",), parse_csv, has_columns=True),
    DocumentFormat("TSV", (".tsv",), parse_tsv, has_columns=True),
    DocumentFormat("gettext PO", (".po", ".pot"), parse_po),
    DocumentFormat("XLIFF", (".xlf", ".xliff"), parse_xliff),
    DocumentFormat("HTML", (".html", ".htm"), parse_html),
    DocumentFormat("Word document", (".docx",), parse_docx, MAX_ARCHIVE_BYTES),
    DocumentFormat("OpenDocument text", (".odt",), parse_odt, MAX_ARCHIVE_BYTES),
)
EXTENSIONS = {extension: document_format for document_format in FORMATS for extension in document_format.extensions}


def find_format(name: str) -> DocumentFormat | None:
    """Return the format of a file by the extension of its name."""
    return EXTENSIONS.get(PurePath(name).suffix.lower())


def parse_document(content: bytes, name: str, columns: Sequence[str] = ()) -> ParsedDocument:
    """Parse a document by the extension of its name. Raise DocumentFormatError if it cannot be read."""
    document_format = find_format(name)
    if document_format is None:
        raise DocumentFormatError(f"{name}: unknown format. Give a file of one of these: {' '.join(EXTENSIONS)}.")
    if len(content) > document_format.max_bytes:
        raise DocumentFormatError(
            f"{name}: {len(content):,} bytes, but at most {document_format.max_bytes:,}. Divide the document."
        )
    if columns and not document_format.has_columns:
        raise DocumentFormatError(f"{name}: columns are for CSV and TSV only. Leave them out.")
    options = (columns,) if document_format.has_columns else ()
    return document_format.parse(content, name, *options)
