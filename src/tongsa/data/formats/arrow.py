"""Arrow tables: files of data sets that Hugging Face `datasets` saved, read by pyarrow alone (the extra `parquet`).

`Dataset.save_to_disk` writes a folder with Arrow files and state.json, which lists them. `DatasetDict.save_to_disk`
writes such a folder for each split. Nothing else of the folders is read, and no code of theirs is run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tongsa import bounded_files
from tongsa.bounded_files import UnreadableFileError
from tongsa.data.formats.parquet import seekable
from tongsa.data.formats.table_rows import BATCH_ROWS, choose_columns, describe_error, pair_records, text_records
from tongsa.data.records import CorpusError, ReadOptions, Record
from tongsa.data.source_file import SourceFile

STATE_FILE, SPLITS_FILE = "state.json", "dataset_dict.json"
FILE_MAGIC = b"ARROW1"
"""First bytes of a file with an index of its batches; others are streams of batches."""


def read_arrow_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the pairs of the columns with known names, else of the columns by number."""
    with _open_batches(file) as (schema, batches):
        columns = choose_columns(file, schema, options)
        yield from pair_records(_rows(batches, columns.names), columns, options)


def read_arrow_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    with _open_batches(file) as (schema, batches):
        columns = choose_columns(file, schema, options)
        yield from text_records(_rows(batches, columns.names), columns, options)


def is_saved_dataset(folder: Path) -> bool:
    return (folder / STATE_FILE).is_file() or (folder / SPLITS_FILE).is_file()


def saved_files(folder: Path) -> list[str]:
    """Return the names of the Arrow files of a saved data set, in order."""
    name = STATE_FILE if (folder / STATE_FILE).exists() else SPLITS_FILE
    try:
        content = bounded_files.read_json(folder / name)
    except UnreadableFileError as error:
        raise CorpusError(f"{folder / name}: {error.reason}. Save the data set again.") from None
    if name == SPLITS_FILE:
        splits = content.get("splits") if isinstance(content, dict) else None
        names = [split for split in splits if isinstance(split, str)] if isinstance(splits, list) else []
        raise CorpusError(f"{folder}: has the splits {', '.join(names)[:200]}. Name one: {folder}/SPLIT.")
    entries = content.get("_data_files") if isinstance(content, dict) else None
    listed = (
        [entry.get("filename") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
    files = [file for file in listed if isinstance(file, str) and file == Path(file).name and file.endswith(".arrow")]
    if not files or len(files) != len(listed):
        raise CorpusError(f"{folder / name}: no list of Arrow files in this folder. Save the data set again.")
    return files


@contextmanager
def _open_batches(file: SourceFile) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open a table as its schema and its batches. Errors of pyarrow are a CorpusError."""
    try:
        import pyarrow
    except ImportError:
        raise CorpusError(
            f"{file}: Arrow needs a package. Install it: pip install -e '.[parquet]' -c constraints.txt"
        ) from None
    try:
        with seekable(file) as stream:
            is_file = stream.read(len(FILE_MAGIC)) == FILE_MAGIC
            stream.seek(0)
            reader = pyarrow.ipc.open_file(stream) if is_file else pyarrow.ipc.open_stream(stream)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if is_file else iter(reader)
            yield reader.schema, batches
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError, KeyError) as error:
        raise CorpusError(f"{file}: damaged Arrow ({describe_error(error)}). Copy the file again.") from None


def _rows(batches: Iterator[Any], names: list[str]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        batch.validate(full=True)  # offsets of a hostile file may point anywhere
        selected = batch.select(names)
        for start in range(0, len(selected), BATCH_ROWS):
            yield from selected.slice(start, BATCH_ROWS).to_pylist()
