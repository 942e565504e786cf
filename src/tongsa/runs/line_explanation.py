"""Explanation of one line of a corpus: repairs, and value, threshold and verdict of each filter."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tongsa.data.array_files import ArrayFiles
from tongsa.data.cleaning.clean import CleanedPairs
from tongsa.data.ledger import Ledger, Pair
from tongsa.errors import InputError
from tongsa.runs.cleaning import Cleaning


class FilterVerdict(NamedTuple):
    """Judgement of one filter about one pair."""

    name: str
    dropped: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class LineExplanation:
    """All that happens to a record of a corpus when it is cleaned."""

    file: str
    line: int
    reader: str = ""
    """Why the reader drops it; then no filter sees it."""
    raw: tuple[str, str] = ("", "")
    repaired: tuple[str, str] = ("", "")
    repairs: tuple[str, ...] = ()
    """Repairs as side and name."""
    verdicts: tuple[FilterVerdict, ...] = ()

    @property
    def dropped(self) -> bool:
        return bool(self.reader) or any(verdict.dropped for verdict in self.verdicts)


def explain_line(cleaning: Cleaning, line: int, arrays: ArrayFiles) -> list[LineExplanation]:
    """Return the explanations of a line, one for each file that has it. The files are cleaned as a corpus.

    Duplicates and percentiles depend on the other lines, so all of them are read.
    """
    ledger, raw = Ledger(None), dict[int, Pair]()

    def remember() -> Iterator[Pair]:
        for row, pair in enumerate(cleaning.raw_pairs(ledger)):
            if pair.line == line:
                raw[row] = pair
            yield pair

    cleaned = cleaning.run_on(remember(), arrays, None)
    explanations = [explain_row(cleaned, row, raw[row]) for row in sorted(raw)]
    explanations += [
        LineExplanation(
            file=entry["file"], line=line, reader=": ".join(filter(None, (entry["reason"], entry.get("detail"))))
        )
        for entry in map(json.loads, ledger.entry_lines())
        if entry["line"] == line
    ]
    if not explanations:
        name, last = cleaning.data.train[0], int(cleaned.pairs[-1].line) if len(cleaned.pairs) else 0
        raise InputError(f"{name}: no record begins in line {line:,}. Give another line; the last one is {last:,}.")
    return explanations


def explain_row(cleaned: CleanedPairs, row: int, raw: Pair) -> LineExplanation:
    """Return the explanation of a pair; `raw` has its texts as they are in the file."""
    pair, bits = cleaned.pairs[row], int(cleaned.drops[row])
    verdicts = [
        FilterVerdict(name, bool(bits & cleaned.plan.bit(name)), cleaned.detail(name, row))
        for name in cleaned.plan.reasons
    ]
    return LineExplanation(
        file=pair.file,
        line=pair.line,
        raw=(raw.source, raw.target),
        repaired=(pair.source, pair.target),
        repairs=tuple(f"{side} {name}" for side, names in cleaned.repairs(row).items() for name in names),
        verdicts=tuple(verdict for verdict in verdicts if verdict.name != "empty" or verdict.dropped),
    )
