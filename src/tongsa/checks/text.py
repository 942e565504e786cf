"""Checks of the text: size of the corpus, markup, quotes, escapes, subword marks, invisible characters, headers."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tongsa.checks.finding import MAX_EXAMPLES, Finding, Level, format_pair, level_for_share, percent
from tongsa.data.compression import format_suffix
from tongsa.data.formats import FORMATS
from tongsa.data.inline_marks import HTML_TAG, MARKUP
from tongsa.data.language_id import LANGUAGE_NAMES
from tongsa.data.ledger import Pair

TINY_CORPUS, SMALL_CORPUS, MEDIUM_CORPUS = 20, 200, 2_000
"""Distinct pairs: below the first a fault, below the second a warning, below the third a remark."""
PATTERN_REMARK, PATTERN_WARNING = 0.005, 0.05
HEADER_WORDS = frozenset(word.casefold() for names in LANGUAGE_NAMES.items() for word in names) | {
    *("source", "target", "src", "tgt", "trg", "text", "label", "sentence", "sentence1", "sentence2", "document"),
    *("input", "output", "id", "review", "class", "category", "translation", "original", "question", "answer"),
}


def line_command(path: Path, expression: str, modules: str) -> str:
    """Return the command that applies a Python expression to each `line` of a text file."""
    code = f"import sys, {modules}; [print({expression}, end='') for line in open(sys.argv[1])]"
    target = path.with_name(f"{path.stem}-clean{path.suffix}")
    return f'python3 -X utf8 -c "{code}" {shlex.quote(str(path))} > {shlex.quote(str(target))}'


class TextPattern(NamedTuple):
    """Characters that do not belong to the text, with their meaning and the command that removes them."""

    name: str
    pattern: re.Pattern[str]
    seen: str
    means: str
    command: Callable[[Path], str]


PATTERNS = (
    TextPattern(
        "markup",
        MARKUP,
        "HTML or XML tags or entities",
        "the model learns to write tags, and sees each word with &amp; or <b> as another one",
        lambda path: line_command(path, f"html.unescape(re.sub(r'(?i){HTML_TAG}', '', line))", "html, re"),
    ),
    TextPattern(
        "quotes",
        re.compile(r'"(?:[^"]|"")*"'),
        'double quotes (") around a whole text',
        "quotes of CSV: in a file named .tsv they belong to the text; in one named .csv they do not",
        lambda path: f"cp {shlex.quote(str(path))} {shlex.quote(str(path.with_suffix('.csv')))}",
    ),
    TextPattern(
        "quotation marks",
        re.compile(r"“[^”]*”|'[^']*'|‘[^’]*’|«[^»]*»"),
        "quotation marks around a whole text",
        "marks of the program that wrote the file, or quoted speech; the model learns to write them",
        lambda path: line_command(path, r"re.sub(r'(?<![^\t])[“‘«\x27](.*?)[”’»\x27](?=[\t\n])', r'\1', line)", "re"),
    ),
    TextPattern(
        "escapes",
        re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|(?:%[0-9A-Fa-f]{2}){3}"),
        "escape sequences such as \\ud55c or %ED%95%9C",
        "these are characters in another notation; the model would learn the notation",
        lambda path: line_command(
            path,
            r"re.sub(r'\x5cu([0-9a-fA-F]{4})', lambda m: chr(int(m[1], 16)), parse.unquote(line))",
            "re, urllib.parse as parse",
        ),
    ),
    TextPattern(
        "subword marks",
        re.compile(r"\w@@(?:\s|$)|(?:^|\s)@-@\s|^_\S+(?:\s_?\S+)*\s_\S"),
        "marks of another tokenizer (@@, @-@, ▁)",
        "the text is tokenized already; outputs would have these marks, and BLEU would be wrong",
        lambda path: line_command(
            path,
            r"re.sub(r'@@ | ?@-@ ?', lambda m: '-' * ('-' in m[0]), "
            r"line.replace(' ', '').replace(chr(0x2581), ' ') if chr(0x2581) in line else line)",
            "re",
        ),
    ),
    TextPattern(
        "invisible characters",
        re.compile("[\u00ad\u200b\u200e\u200f\u2060\u202a-\u202e\u2066-\u2069]"),
        "zero-width spaces, soft hyphens or direction marks",
        "a word with such a character looks the same, but for the model it is another word",
        lambda path: line_command(
            path,
            r"re.sub(r'[\u00ad\u200b\u200e\u200f\u2060\u202a-\u202e\u2066-\u2069]', '', line)",
            "re",
        ),
    ),
)


def check_patterns(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield a finding for each pattern: the lines that have it on a side."""
    for check in PATTERNS:
        find = check.pattern.fullmatch if check.name.startswith("quot") else check.pattern.search
        hits = [pair for pair in pairs if find(pair.source) or find(pair.target)]
        yield Finding(
            name=check.name,
            level=level_for_share(len(hits) / max(1, len(pairs)), remark=PATTERN_REMARK, warning=PATTERN_WARNING),
            seen=f"{len(hits):,} of {len(pairs):,} lines ({percent(len(hits), len(pairs))}) have {check.seen}",
            means=check.means,
            remedy=_pattern_remedy(check, hits),
            examples=tuple(format_pair(pair) for pair in hits[:MAX_EXAMPLES]),
            numbers={"lines": len(pairs), "found": len(hits)},
        )


def _pattern_remedy(check: TextPattern, hits: Sequence[Pair]) -> str:
    remedy = "remove them, unless they are intended"
    path = Path(Counter(pair.file for pair in hits).most_common(1)[0][0]) if hits else Path()
    is_table = format_suffix(path) == path.suffix.lower() and path.suffix.lower() not in {*FORMATS} - {".tsv"}
    is_plain = is_table and "'" not in path.name
    return f"{remedy}: {check.command(path)}" if hits and is_plain else remedy


def check_size(pairs: Sequence[Pair], *, is_fine_tuned: bool = False) -> Finding:
    """Check that there are enough distinct pairs to learn from."""
    distinct = len({(pair.source, pair.target) for pair in pairs})
    limits: tuple[tuple[Level, int], ...] = (
        ("fault", TINY_CORPUS),
        ("warning", SMALL_CORPUS),
        ("remark", MEDIUM_CORPUS),
    )
    return Finding(
        name="size",
        level=next((level for level, limit in limits if distinct < limit), "ok"),
        seen=f"{distinct:,} distinct pairs in train",
        means="the model memorizes a small corpus and fails on other texts; translation needs tens of thousands",
        remedy="collect more pairs"
        if is_fine_tuned
        else "collect more pairs, or fine-tune a model that was trained on more: "
        "--set training.init_from=RUN (docs/guide.md)",
        numbers={"pairs": distinct},
    )


def check_header(first_lines: Iterable[Pair], pairs: Iterable[Pair]) -> Finding:
    """Find first lines that name the columns ("source", "target", "en", "Korean"), and their repetitions in `pairs`."""
    names = {(pair.source, pair.target) for pair in first_lines if _is_header(pair)}
    headers = [pair for pair in pairs if (pair.source, pair.target) in names] if names else []
    return Finding(
        name="header",
        level="warning" if headers else "ok",
        seen=f"{len(headers):,} lines look like the names of columns",
        means="a header is trained on as if it were a pair; a classifier gets one more label",
        remedy="skip the first line of each file: --set data.header=true"
        if all(pair.line == 1 for pair in headers)
        else "remove these lines from the file (grep -v)",
        examples=tuple(format_pair(pair) for pair in headers[:MAX_EXAMPLES]),
        numbers={"lines": len(headers)},
    )


def _is_header(pair: Pair) -> bool:
    cells = [cell.casefold().strip("\"'#") for cell in (pair.source, pair.target) if cell]
    return len(cells) == 2 and cells[0] != cells[1] and all(cell in HEADER_WORDS for cell in cells)
