"""Encodings of text: recognition of UTF-16, UTF-32 and legacy encodings, and conversion of a stream to UTF-8."""

import codecs
import io
import re
from typing import Any, BinaryIO, cast

HEAD_BYTES = 1 << 16
"""Bytes at the start of a file by which its format and its encoding are recognized."""
MIN_BAD_LINES, MIN_BAD_SHARE = 10, 0.9
"""Lines that are not UTF-8 in the head of a file that is refused, and their share of the non-ASCII lines."""
MIN_SCRIPT_SHARE = 0.7
"""Share of the decoded non-ASCII characters that must be common letters in the script of an encoding."""
MIN_ZERO_SHARE = 0.02
"""Share of zero bytes in UTF-16: each character of ASCII, such as a space or a line end, has one."""
AUTO, UTF_8 = "auto", "utf-8"

_ENCODINGS = {
    "CP949": ("[가-힣]", "iso2022_kr"),
    "SHIFT_JIS": ("[ぁ-ヾ一-鿿]", "shift_jis"),
    "EUC-JP": ("[ぁ-ヾ一-鿿]", "shift_jis"),
    "CP1251": ("[А-я]", "cp1251"),
    "GB18030": ("[一-鿿]", "gb2312"),
    "BIG5": ("[一-鿿]", "big5"),
}
"""Encoding → letters of its script, and a character set of the common ones. The first of two that fit alike wins."""
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: UTF_8,
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_NO_TEXT_ENCODINGS = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"})
_DECLARED = re.compile(
    rb"""^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.-]{1,40})["']|"Content-Type:[^"\n]{0,200}?charset=([\w.-]{1,40})"""
)
_BAD_BYTE = "\udcff"
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")


def is_text_encoding(name: str) -> bool:
    """Return whether a name is an encoding of text that can be converted to UTF-8."""
    try:
        is_known = isinstance(b" ".decode(name, "ignore"), str)
        return is_known and codecs.lookup(name).name not in _NO_TEXT_ENCODINGS
    except (LookupError, ValueError, UnicodeError):
        return False


def is_utf8_name(name: str) -> bool:
    return codecs.lookup(name).name in ("utf-8", "utf-8-sig", "ascii")


def marked_encoding(head: bytes) -> str:
    """Return the encoding of the byte order mark; "" without one."""
    return next((encoding for mark, encoding in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), "")


def declared_encoding(head: bytes) -> str:
    """Return the encoding that an XML declaration or the header of a PO file names; "" if it is not known."""
    match = _DECLARED.search(head)
    name = (match[1] or match[2]).decode() if match else ""
    is_false = name.upper().startswith(("UTF-16", "UTF-32")) and b"\0" not in head
    return name if name and not is_false and is_text_encoding(name) else ""


def with_byte_order(name: str, head: bytes) -> str:
    """Return an encoding that needs no byte order mark: UTF-16 is UTF-16LE unless the text looks otherwise."""
    codec = codecs.lookup(name).name
    return (unicode_encoding(head, 1) or f"{codec}-le") if codec in ("utf-16", "utf-32") else name


def recognized_encoding(head: bytes, min_lines: int = 1) -> str:
    """Return the encoding of the head of a file that is not UTF-8; "" for UTF-8, and if none fits."""
    if encoding := unicode_encoding(head, min_lines):
        return encoding
    lines = head.split(b"\n")
    lines = lines[:-1] if len(head) >= HEAD_BYTES else lines
    bad_lines = [line for line in lines if not is_utf8(line)]
    non_ascii = sum(not line.isascii() for line in lines)
    if not bad_lines or len(bad_lines) < max(min_lines, MIN_BAD_SHARE * non_ascii):
        return ""  # the lines that are UTF-8 would be damaged
    return guess_encoding(b"\n".join(bad_lines))


def unicode_encoding(head: bytes, min_zeros: int = MIN_BAD_LINES) -> str:
    """Return UTF-16 or UTF-32 by the byte order mark or by the zero bytes."""
    marked = marked_encoding(head)
    if marked:
        return marked if marked != UTF_8 else ""
    zeros = head.count(b"\0")
    if zeros < max(min_zeros, MIN_ZERO_SHARE * len(head)):
        return ""
    if zeros > len(head) / 4 and (name := next((name for name in ("UTF-32LE", "UTF-32BE") if _fits(head, name)), "")):
        return name
    odd = head[1::2].count(b"\0")  # the high bytes of little-endian characters
    name = "UTF-16LE" if odd > zeros / 2 else "UTF-16BE"
    return name if max(odd, zeros - odd) >= 0.95 * zeros and _fits(head, name) else ""


def _fits(head: bytes, encoding: str) -> bool:
    """Return whether the head can be decoded without control characters; a character at its end may be cut."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(text)


def is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def guess_encoding(raw: bytes) -> str:
    """Return the encoding in which most non-ASCII characters are common letters of its script; "" if none fits."""
    if encoding := unicode_encoding(raw):
        return encoding
    runs = re.findall(rb"[\x80-\xff]+", raw)
    if sum(len(run) == 1 for run in runs) > len(runs) / 2:  # accented letters in ASCII words
        return "CP1252"
    shares = {encoding: _common_letter_share(raw, encoding) for encoding in _ENCODINGS}
    best = max(shares, key=lambda encoding: round(shares[encoding], 1))
    return best if shares[best] >= MIN_SCRIPT_SHARE else ""


def _common_letter_share(raw: bytes, encoding: str) -> float:
    """Return the share of common letters of the script among the non-ASCII characters; 0 if it cannot be decoded."""
    letters, character_set = _ENCODINGS[encoding]
    try:
        decoded = "".join(character for character in raw.decode(encoding) if ord(character) > 0x7F)
    except UnicodeDecodeError:
        return 0.0
    common = decoded.encode(character_set, "ignore").decode(character_set)
    return len(re.findall(letters, common)) / max(1, len(decoded))


class _Utf8Stream(io.RawIOBase):
    """A stream converted to UTF-8. Bytes that cannot be decoded become 0xFF, so that their line is not UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream, self._pending, self._is_at_end = stream, b"", False
        self._decoder = codecs.getincrementaldecoder(encoding)("tongsa.bad-byte")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending and not self._is_at_end:
            block = self._stream.read(HEAD_BYTES)
            self._is_at_end = not block
            text = self._decoder.decode(block, final=self._is_at_end)
            self._pending = text.encode("utf-8", "surrogateescape")
        count = min(len(buffer), len(self._pending))
        buffer[:count], self._pending = self._pending[:count], self._pending[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _mark_bad_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _BAD_BYTE, error.end


codecs.register_error("tongsa.bad-byte", _mark_bad_bytes)


def convert_to_utf8(stream: BinaryIO, encoding: str) -> BinaryIO:
    """Return a stream of UTF-8 with the text of a stream in another encoding."""
    return stream if is_utf8_name(encoding) else cast(BinaryIO, io.BufferedReader(_Utf8Stream(stream, encoding)))
