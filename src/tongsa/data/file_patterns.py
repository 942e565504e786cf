"""Names that stand for data files: patterns such as corpus-*.tsv.gz, and folders of saved data sets."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

from tongsa.data.compression import format_suffix
from tongsa.data.formats import FORMATS
from tongsa.data.formats.arrow import is_saved_dataset, saved_files
from tongsa.data.records import CorpusError


def expand_patterns(files: Sequence[str | Path], folder: str | Path = "", *, parallel: bool = True) -> list[str]:
    """Return the names of files, with patterns replaced by the names that match, relative to the folder.

    A file whose name has the characters of a pattern is that file. `parallel` says that files without a format of
    their own are a source file and a target file: two patterns then stand for a list of such files each, in turns.
    """
    matches = [_match(str(file), Path(folder)) for file in files]
    names: list[str] = []
    waiting: tuple[str, list[str]] | None = None  # the source files
    for file, found_names in zip(map(str, files), matches, strict=True):
        if not parallel or is_saved_dataset(Path(folder) / file) or format_suffix(Path(file)) in FORMATS:
            names += found_names
        elif waiting is None:
            waiting = file, found_names
        else:
            names += _take_turns(waiting, (file, found_names))
            waiting = None
    if waiting is not None and len(waiting[1]) > 1:
        raise CorpusError(
            f"{waiting[0]}: {len(waiting[1])} files without a format in their names. "
            "Give them names that end in .tsv, or a second pattern for the target files."
        )
    return names + (waiting[1] if waiting is not None else [])


def has_pattern(name: str, folder: str | Path = "") -> bool:
    """Return whether a name stands for other files: a pattern, or the folder of a saved data set."""
    return glob.has_magic(name) or is_saved_dataset(Path(folder) / name)


def _match(file: str, folder: Path) -> list[str]:
    if is_saved_dataset(folder / file):
        return [str(Path(file) / name) for name in saved_files(folder / file)]
    if not glob.has_magic(file) or (folder / file).exists():
        return [file]
    names = sorted(glob.glob(file, root_dir=folder, recursive=True))  # noqa: PTH207 - pathlib has no absolute patterns
    names = [name for name in names if not (folder / name).is_dir()]
    if not names:
        raise CorpusError(f"{folder / file}: no file matches this pattern. Check the pattern and the folder.")
    return names


def _take_turns(sources: tuple[str, list[str]], targets: tuple[str, list[str]]) -> Iterator[str]:
    if len(sources[1]) != len(targets[1]):
        raise CorpusError(
            f"{sources[0]}, {targets[0]}: {len(sources[1])} source files and {len(targets[1])} target files. "
            "Find the missing file: the patterns must match as many files."
        )
    for source, target in zip(sources[1], targets[1], strict=True):
        yield from (source, target)
