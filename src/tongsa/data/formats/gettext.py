r"""gettext catalogs: PO (text) and MO (binary).

A message with plurals gives several pairs: msgid with msgstr[0], and msgid_plural with each further msgstr[n]. Fuzzy
and obsolete messages, the header and messages without a translation are dropped; contexts are ignored.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tongsa.data.encoding import declared_encoding
from tongsa.data.records import (
    MAX_RECORD_BYTES,
    BadRecordError,
    CorpusError,
    ReadOptions,
    Record,
    dropped_record,
    too_long_record,
)
from tongsa.data.source_file import SourceFile

MAX_MO_BYTES = 1 << 28
"""Maximum size of an MO file, which is read at once."""
_LINE = re.compile(r'\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,3}\])?)?\s*"((?:[^"\\]|\\.)*)"\s*')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|([^\r\n]))")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unescape(text: str) -> str:
    """Return the text between the quotes of a PO string."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return chr(int(match[1], 8) if match[1] else int(match[2], 16))
    return ESCAPES.get(match[3], match[3])


@dataclass
class _Message:
    """A message of a PO file while it is read."""

    line: int = 0
    """Line of its first keyword; 0 before that."""
    texts: dict[str, str] = field(default_factory=dict)
    name: str = ""
    """Keyword whose string is being read."""
    reason: str = ""
    detail: str = ""
    size: int = 0

    def add(self, name: str, text: str) -> None:
        self.name, self.size = name, self.size + len(text)
        if self.size <= MAX_RECORD_BYTES:
            self.texts[name] = self.texts.get(name, "") + unescape(text)

    def drop(self, line: int, reason: str, detail: str = "") -> None:
        self.line = self.line or line
        self.reason, self.detail = self.reason or reason, self.detail or detail

    def records(self) -> Iterator[Record]:
        if self.size > MAX_RECORD_BYTES:
            yield too_long_record(self.line)
        elif self.reason and self.line and not (self.reason == "fuzzy" and _is_header(self.texts)):
            yield dropped_record(self.line, self.reason, self.detail)
        elif self.line:
            yield from _pairs(self.line, self.texts)


def _pairs(line: int, texts: Mapping[str, str]) -> Iterator[Record]:
    forms = [name for name in texts if name.startswith("msgstr")]
    if "msgid" not in texts or not forms:
        yield dropped_record(line, "bad-entry", "no msgid" if "msgid" not in texts else "no msgstr")
    elif _is_header(texts):
        yield dropped_record(line, "header")
    else:
        for name in forms:
            is_singular = name in ("msgstr", "msgstr[0]")
            yield Record(line, texts["msgid" if is_singular else "msgid_plural"], texts[name])


def _is_header(texts: Mapping[str, str]) -> bool:
    return texts.get("msgid") == "" and not texts.get("msgctxt")


def read_po_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    message = _Message()
    for number, raw in enumerate(file.lines(), start=1):
        try:
            line = file.decode(raw).strip()
        except BadRecordError as bad:
            if not raw.lstrip().startswith(b"#") or raw.startswith(b"#~"):
                message.drop(number, bad.reason, bad.detail)
            continue
        obsolete = line.startswith("#~")
        match = _LINE.fullmatch(line[2:] if obsolete else line)
        if _starts_message(message, line, match):
            yield from _orient(message.records(), options)
            message = _Message()
        if match and not line.startswith("#~|"):
            _read_string(message, number, match)
            if obsolete:
                message.reason = "obsolete"
        elif line.startswith("#,") and re.search(r"\bfuzzy\b", line):
            message.reason = "fuzzy"
        elif line and not line.startswith("#"):
            message.drop(number, "bad-entry", "not a keyword and a quoted string")
    yield from _orient(message.records(), options)


def _starts_message(message: _Message, line: str, match: re.Match[str] | None) -> bool:
    """Return whether a line begins the next message: a comment or an empty line, or a keyword that is there already."""
    if not message.line:
        return False
    if match:
        keyword = match[1]
        is_repeated = keyword in message.texts or (keyword in ("msgctxt", "msgid") and "msgid" in message.texts)
        return bool(keyword) and (is_repeated or (message.name.startswith("msgstr") and keyword[:6] != "msgstr"))
    is_complete = message.name.startswith("msgstr") or message.reason not in ("", "fuzzy", "obsolete")
    return is_complete and (not line or line.startswith("#"))


def _read_string(message: _Message, number: int, match: re.Match[str]) -> None:
    name = match[1] or message.name
    if not name:
        message.drop(number, "bad-entry", "a string without a keyword")
        return
    if name not in message.texts and name.startswith("msgstr[") and "msgid_plural" not in message.texts:
        message.drop(number, "bad-entry", "msgstr[n] without msgid_plural")
    message.line = message.line or number
    message.add(name, match[2])


def read_mo_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    for number, (key, value) in enumerate(_mo_strings(file), start=1):
        try:
            texts = [file.decode(text) if isinstance(text, bytes) else text for text in (key, value)]
        except BadRecordError as bad:
            yield dropped_record(number, bad.reason, bad.detail)
            continue
        context, has_context, message = texts[0].rpartition("\x04")
        singular, _, plural = message.partition("\0")
        first, *others = texts[1].split("\0")
        entry = {"msgid": singular} | ({"msgctxt": context} if has_context else {})
        forms = {f"msgstr[{i}]": text for i, text in enumerate([first, *(others if plural else ())])}
        yield from _orient(_pairs(number, entry | {"msgid_plural": plural} | forms), options)


def _mo_strings(file: SourceFile) -> Iterator[tuple[bytes | str, bytes | str]]:
    """Yield the original and the translation of each message, decoded if the header names another encoding."""
    with file.open_bytes() as stream:
        content = stream.read(MAX_MO_BYTES + 1)
    if len(content) > MAX_MO_BYTES:
        raise CorpusError(f"{file}: more than {MAX_MO_BYTES:,} bytes. Give the PO file it was made from.")
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(content[:4])
    if order is None or len(content) < 28:
        raise CorpusError(f"{file}: not an MO file. Give a file that msgfmt wrote, or a PO file.")
    count, originals, translations = struct.unpack_from(f"{order}III", content, 8)
    if max(originals, translations) + 8 * count > len(content):
        raise _damaged_mo(file)
    tables = [struct.unpack_from(f"{order}{2 * count}I", content, offset) for offset in (originals, translations)]
    if sum(sum(table[::2]) for table in tables) > len(content):  # strings that overlap could be many times larger
        raise _damaged_mo(file)
    encoding = "utf-8"
    for i in range(2 * count)[::2]:
        key, value = (content[table[i + 1] : table[i + 1] + table[i]] for table in tables)
        if not key:
            encoding = declared_encoding(b'"' + value.replace(b"\n", b'"\n"')) or encoding
        yield (key, value) if encoding.lower() == "utf-8" else (_decode(key, encoding), _decode(value, encoding))


def _decode(raw: bytes, encoding: str) -> bytes | str:
    """Return the text, or the bytes if they are not in this encoding."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return raw


def _damaged_mo(file: SourceFile) -> CorpusError:
    return CorpusError(f"{file}: damaged (a string outside the file). Copy it again, or give the PO file.")


def _orient(records: Iterator[Record], options: ReadOptions) -> Iterator[Record]:
    for record in records:
        yield record._replace(source=record.target, target=record.source) if options.is_reversed else record


def read_po_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the translations."""
    return (record._replace(source="") for record in read_po_pairs(file, options))


def read_mo_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the translations."""
    return (record._replace(source="") for record in read_mo_pairs(file, options))
