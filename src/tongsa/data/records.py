"""Records of a corpus file: a pair of texts with its line, or the reason why it is dropped."""

from dataclasses import dataclass
from typing import NamedTuple

from tongsa.errors import InputError

MAX_RECORD_BYTES = 1 << 20
"""Maximum size of a line, of a CSV record and of the texts of a unit. Longer ones are dropped as `too-long-line`."""


class CorpusError(InputError):
    """A file that cannot be read as a corpus."""


class BadRecordError(Exception):
    """A record to be dropped, with reason and detail for the ledger."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


class Record(NamedTuple):
    """Texts of one record, not normalized. A record with a reason is dropped."""

    line: int
    """Line where the record starts; in files without lines (MO, Parquet) its number."""
    source: str
    target: str
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Choice of the texts in a file. Each format uses the options that apply to it."""

    columns: tuple[int, int] = (1, 2)
    """Columns of source and target in CSV, TSV and Parquet, counted from 1; (2, 1) exchanges the sides of PO, MO and
    XLIFF."""
    languages: tuple[str, str] = ("", "")
    """Language codes of source and target: languages of TMX, keys of JSON lines, columns of Parquet."""
    header: bool = False
    """The first line of CSV and TSV names the columns."""

    @property
    def is_reversed(self) -> bool:
        return self.columns == (2, 1)


def dropped_record(line: int, reason: str, detail: str = "") -> Record:
    return Record(line, "", "", reason, detail)


def too_long_record(line: int) -> Record:
    return dropped_record(line, "too-long-line", f"more than {MAX_RECORD_BYTES:,} bytes")
