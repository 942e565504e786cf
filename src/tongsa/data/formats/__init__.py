"""Formats of corpus files: the end of a name, without that of a compression, decides."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tongsa.data.formats.arrow import read_arrow_pairs, read_arrow_texts
from tongsa.data.formats.delimited import read_csv_pairs, read_csv_texts, read_tsv_pairs, read_tsv_texts
from tongsa.data.formats.gettext import read_mo_pairs, read_mo_texts, read_po_pairs, read_po_texts
from tongsa.data.formats.json_lines import read_json_pairs, read_json_texts
from tongsa.data.formats.parallel_text import read_text_lines
from tongsa.data.formats.parquet import read_parquet_pairs, read_parquet_texts
from tongsa.data.formats.tmx import read_tmx_pairs, read_tmx_texts
from tongsa.data.formats.xliff import read_xliff_pairs, read_xliff_texts
from tongsa.data.records import ReadOptions, Record
from tongsa.data.source_file import SourceFile

Reader = Callable[[SourceFile, ReadOptions], Iterator[Record]]


class Format(NamedTuple):
    """Readers of a format."""

    read_pairs: Reader
    read_texts: Reader
    """Texts for a language model: records with an empty source."""
    has_lines: bool = False
    """Each line is one record."""
    is_binary: bool = False
    uses_languages: bool = False
    """The language codes of the settings choose the texts."""


FORMATS = {
    ".tsv": Format(read_tsv_pairs, read_tsv_texts, has_lines=True),
    ".csv": Format(read_csv_pairs, read_csv_texts),
    ".jsonl": Format(read_json_pairs, read_json_texts, has_lines=True, uses_languages=True),
    ".tmx": Format(read_tmx_pairs, read_tmx_texts, uses_languages=True),
    ".po": Format(read_po_pairs, read_po_texts),
    ".mo": Format(read_mo_pairs, read_mo_texts, is_binary=True),
    ".xlf": Format(read_xliff_pairs, read_xliff_texts),
    ".xliff": Format(read_xliff_pairs, read_xliff_texts),
    ".parquet": Format(read_parquet_pairs, read_parquet_texts, is_binary=True, uses_languages=True),
    ".arrow": Format(read_arrow_pairs, read_arrow_texts, is_binary=True, uses_languages=True),
}
"""End of a name → format of a file of pairs."""
PLAIN_TEXT = Format(read_tsv_pairs, read_text_lines, has_lines=True)
"""Format of files with other names: TSV if it stands alone, one text per line for a language model."""
