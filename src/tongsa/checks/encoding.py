"""Check for mojibake: text that was decoded with a wrong encoding and saved again."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tongsa.checks.finding import MAX_EXAMPLES, Finding, level_for_share, percent
from tongsa.data.compression import compression_of, format_suffix
from tongsa.data.formats import FORMATS, PLAIN_TEXT
from tongsa.data.mojibake import restore_text
from tongsa.data.source_file import SourceFile

MOJIBAKE_WARNING, MOJIBAKE_FAULT = 0.005, 0.2
_UNDO_CP1252 = (
    "import sys; sys.stdout.buffer.write(b''.join(c.encode('latin1' if ord(c) < 256 else 'cp1252') "
    "for c in open(sys.argv[1], encoding='utf-8', newline='').read()))"
)


class DamagedText(NamedTuple):
    file: Path
    line: int
    text: str
    encoding: str
    """The encoding of the original text; "" if it cannot be restored."""
    original: str


def check_mojibake(files: Sequence[Path], max_lines: int, encoding: str = "utf-8") -> Finding:
    """Find lines with U+FFFD, with question marks only, or with UTF-8 or EUC-KR that was decoded as Latin-1."""
    damaged: dict[tuple[Path, int], DamagedText] = {}
    num_lines = 0
    for file in files:
        for line, text in _read_texts(SourceFile(file, encoding), max_lines):
            num_lines += 1
            for cell in text.split("\t"):
                if (restored := restore_text(cell)) is not None:
                    damaged.setdefault((file, line), DamagedText(file, line, cell, *restored))
    seen = f"{len(damaged):,} of {num_lines:,} lines ({percent(len(damaged), num_lines)}) contain � or ???, "
    return Finding(
        name="mojibake",
        level=level_for_share(len(damaged) / max(1, num_lines), warning=MOJIBAKE_WARNING, fault=MOJIBAKE_FAULT),
        seen=seen + "or were decoded with a wrong encoding",
        means="the text was saved with wrong characters; a model would learn to write them",
        remedy=_remedy(list(damaged.values()), encoding),
        examples=tuple(
            f"{text.file}:{text.line}: {text.text[:60]}" + (f"  = {text.original[:60]}" if text.original else "")
            for text in islice(damaged.values(), MAX_EXAMPLES)
        ),
        numbers={"lines": num_lines, "damaged": len(damaged)},
    )


def _read_texts(file: SourceFile, max_lines: int) -> Iterator[tuple[int, str]]:
    if FORMATS.get(format_suffix(file.path), PLAIN_TEXT).is_binary:
        return
    for number, raw in enumerate(islice(file.lines(), max_lines), start=1):
        if not raw.isascii() or b"??" in raw:
            yield number, raw.decode("utf-8", "ignore")  # bytes that are not UTF-8 are counted as dropped lines
        else:
            yield number, ""


def _remedy(damaged: Sequence[DamagedText], file_encoding: str) -> str:
    """Return the command that restores the first damaged file, if it restores all its damaged lines."""
    again = "create the file again from its source, with the right encoding"
    if not damaged:
        return again
    file = damaged[0].file
    encodings = {text.encoding for text in damaged if text.file == file}
    if len(encodings) > 1 or "" in encodings or compression_of(file) or file_encoding != "utf-8":
        return again
    (encoding,) = encodings
    target = shlex.quote(str(file.with_name(f"{file.stem}-restored{file.suffix}")))
    command = _restoring_command(file, [text.text for text in damaged if text.file == file])
    pipe = f" | iconv -f {encoding} -t UTF-8" if encoding != "UTF-8" else ""
    return f"{again}, or restore it: {command}{pipe} > {target}"


def _restoring_command(file: Path, texts: Iterable[str]) -> str:
    """Return the command that undoes the wrong decoding: iconv, or Python for bytes that CP1252 does not define."""
    for name in ("LATIN1", "CP1252"):
        if all(_is_encodable(text, name) for text in texts):
            return f"iconv -f UTF-8 -t {name} {shlex.quote(str(file))}"
    return f'python3 -c "{_UNDO_CP1252}" {shlex.quote(str(file))}'


def _is_encodable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
