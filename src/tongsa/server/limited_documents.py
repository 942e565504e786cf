"""Documents within the limits of the server: parsed, and translated step by step."""

from collections.abc import Sequence

from tongsa.document_formats.formats import DocumentFormat, find_format, parse_document
from tongsa.document_formats.limits import MAX_ARCHIVE_BYTES, MAX_TEXT_BYTES
from tongsa.document_formats.segment import ParsedDocument
from tongsa.document_formats.translation import TextTranslation, TranslationStep, advance, translation_steps
from tongsa.server.api.validation import has_too_many_marks
from tongsa.server.config import RequestLimits
from tongsa.server.errors import bad_request_error, too_long_error

BYTES_PER_CHARACTER = 10
"""Bytes of a text format for each character of its text that is allowed: markup, and letters of several bytes."""
MAX_DETECTED_CHARACTERS = 2000
"""Beginning of a document whose language is detected."""


class LimitedDocument:
    """A document whose texts go out, their translations come in, and at last the new document goes out."""

    def __init__(self, content: bytes, name: str, limits: RequestLimits, columns: Sequence[str]) -> None:
        document = parse_limited_document(content, name, limits, columns)
        self.beginning = " ".join(slot.segment.text for slot in document.slots)[:MAX_DETECTED_CHARACTERS]
        self._steps = translation_steps(document)

    def advance(self, translations: Sequence[TextTranslation] | None = None) -> TranslationStep:
        """Take the translations of the last texts, if any; return the next texts, or the new document."""
        return advance(self._steps, translations)


def max_bytes(document_format: DocumentFormat, limits: RequestLimits) -> int:
    """Return the size limit of a format. Parsing takes seconds for a megabyte of text; an archive may hold pictures."""
    max_text_bytes = BYTES_PER_CHARACTER * limits.document_characters
    is_text = document_format.max_bytes == MAX_TEXT_BYTES
    return min(document_format.max_bytes, limits.document_bytes, max_text_bytes if is_text else MAX_ARCHIVE_BYTES)


def parse_limited_document(
    content: bytes, name: str, limits: RequestLimits, columns: Sequence[str] = ()
) -> ParsedDocument:
    """Parse a document and check the size of its texts."""
    document_format, max_characters = find_format(name), limits.document_characters
    if document_format and len(content) > (limit := max_bytes(document_format, limits)):
        raise too_long_error(f"{name}: {len(content):,} bytes, but at most {limit:,} in this format. Divide it.")
    document = parse_document(content, name, columns)
    texts = [slot.segment.text for slot in document.slots if not slot.is_kept]
    if (characters := sum(map(len, texts))) > max_characters:  # first: looking for marks takes longer
        raise too_long_error(
            f"{name}: {characters:,} characters, but at most {max_characters:,} in one document. Divide it."
        )
    if any(has_too_many_marks(slot.segment.text) for slot in document.slots):
        raise bad_request_error(f"{name}: too many combining marks on one letter. Remove them.")
    return document
