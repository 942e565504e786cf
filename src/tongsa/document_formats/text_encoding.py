"""Text files: UTF-8 with or without a byte order mark, and UTF-16 with one. Written back in the same encoding."""

import codecs
from typing import NamedTuple

from tongsa.data.encoding import guess_encoding
from tongsa.document_formats.limits import DocumentFormatError

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
MAX_GUESSED_BYTES = 1 << 16
"""Bytes by which another encoding is guessed."""


class DecodedText(NamedTuple):
    text: str
    byte_order_mark: bytes

    def encode(self, text: str) -> bytes:
        """Return a text in the encoding of this one."""
        encoding = BYTE_ORDER_MARKS.get(self.byte_order_mark, "utf-8")
        return self.byte_order_mark + text.encode(encoding)


def decode_text(content: bytes, name: str) -> DecodedText:
    """Decode a text file. Raise DocumentFormatError for other encodings and for binary files."""
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), b"")
    try:
        text = content[len(mark) :].decode(BYTE_ORDER_MARKS.get(mark, "utf-8"))
    except UnicodeDecodeError as error:
        guess = guess_encoding(content[:MAX_GUESSED_BYTES]) or "ITS_ENCODING"
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentFormatError(
            f"{name}:{line}: not UTF-8 ({error.reason}). Convert the file with iconv -f {guess} -t UTF-8."
        ) from None
    if "\0" in text:
        raise DocumentFormatError(f"{name}: not a text file (it has null bytes). Give a file of text in UTF-8.")
    return DecodedText(text, mark)
