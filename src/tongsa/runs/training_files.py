"""Training pairs of a trained model, read again from the files of its run and of the runs before it."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tongsa import bundle, config, storage
from tongsa.data.corpus import check_files, read_pairs, read_texts
from tongsa.data.ledger import Ledger, Pair
from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.runs.data_checksums import read_data_checksums
from tongsa.runs.recipe import DataConfig, Recipe, parse_recipe


def read_training_pairs(model_folder: Path) -> Iterator[Pair]:
    """Return the pairs of the training files; raise InputError if a file is not there."""
    pairs = [
        _read_pairs(folder, corpus, recipe.model.task)
        for folder, recipe in _training_runs(model_folder)
        for corpus in recipe.data.per_corpus
    ]
    return chain.from_iterable(pairs)


def _training_runs(model_folder: Path) -> Iterator[tuple[Path, Recipe]]:
    """Yield the run of a model and, following `training.init_from`, the runs before it."""
    seen: set[Path] = set()
    folder = bundle.artifact_folder(bundle.find_bundle(model_folder))
    while folder.resolve() not in seen:
        seen.add(folder.resolve())
        settings = folder / "run.toml"
        if not settings.is_file():
            raise InputError(
                f"{folder}: no run.toml, so the training files are unknown. Evaluate the folder of the run."
            )
        recipe = parse_recipe(config.read_folder_toml(settings), str(settings))
        yield folder, recipe
        if not recipe.training.init_from:
            return
        folder = bundle.artifact_folder(bundle.find_bundle(Path(recipe.training.init_from)))


def _read_pairs(folder: Path, data: DataConfig, task: Task) -> Iterator[Pair]:
    paths = [_find_file(folder, path) for path in data.paths(data.train)]
    check_files(paths, data.encoding)
    read = read_texts if task == "language_model" else read_pairs
    languages, header, encoding = (data.source_language, data.target_language), data.header, data.encoding
    pairs = read(paths, Ledger(None), columns=data.columns, languages=languages, header=header, encoding=encoding)
    return (pair._replace(source=f"{data.tag} {pair.source}") for pair in pairs) if data.tag else pairs


def _find_file(folder: Path, path: Path) -> Path:
    """Return a training file; if it is not there, the same file below a folder that contains the run."""
    if path.exists() or path.is_absolute():
        return path
    try:
        sha256 = read_data_checksums(folder / "data.json").get(str(path))
    except InputError:
        return path
    candidates = (parent / path for parent in folder.resolve().parents)
    return next((file for file in candidates if file.is_file() and storage.file_sha256(file) == sha256), path)
