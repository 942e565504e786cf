"""Systems of a comparison: runs, bundles and text files of outputs, and their outputs on one test set."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.corpus import check_outputs_file, group_files, has_lines, raw_lines, read_lines
from tongsa.data.file_patterns import expand_patterns
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.interface import Task
from tongsa.runs.evaluation import EvaluationSet
from tongsa.runs.setting_groups import Settings, flatten_table, read_settings
from tongsa.training.journal import read_journal
from tongsa.visualize.family import column_names

Log = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """Properties of a model that do not depend on a test set."""

    kind: str
    task: Task
    source_language: str
    target_language: str
    metrics: tuple[str, ...]
    parameters: int
    size_bytes: int
    """Size of the bundle on disk."""
    tokenizer: str
    """Checksum of the target tokenizer: perplexities of different tokenizers are not comparable."""

    @property
    def languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language


@dataclass(frozen=True, kw_only=True)
class System:
    """A run, a bundle, or a file of outputs."""

    name: str
    path: Path
    origin: Literal["run", "model", "outputs"]
    model: ModelFacts | None = None
    """None for a file of outputs."""
    settings: Settings = field(default_factory=dict)
    records: Sequence[Mapping[str, Any]] = ()
    """Journal of the training."""


@dataclass(frozen=True)
class AlignedTestSet:
    """Pairs of a test set, and the line of each among the lines of the files."""

    files: tuple[str, ...]
    pairs: list[Pair]
    positions: list[int]
    """Index of the line of each pair, over all files, headers not counted."""
    lines: int
    """Lines of the files without headers; unusable lines are among them but not among the pairs."""
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        return [pair.target for pair in self.pairs]


def open_systems(paths: Sequence[str | Path], device: str = "cpu") -> list[System]:
    """Read what is known about each system. Models are loaded to check them, and released."""
    folders = [Path(path) for path in paths]
    for path in folders:
        if not path.is_file():
            bundle.find_bundle(path)  # all of them before the first model is loaded
    for i, path in enumerate(folders):
        if path.resolve() in (other.resolve() for other in folders[:i]):
            raise InputError(f"{path}: given twice. Leave out one of them.")
    names = system_names(folders)
    return [_open_system(name, path, device) for name, path in zip(names, folders, strict=True)]


def system_names(paths: Sequence[Path]) -> list[str]:
    """Return the name of each run or file; files have no suffix unless two would be equal."""
    names = [path.stem if path.is_file() else column_names([path])[0] for path in paths]
    counts = Counter(names)
    return [name if counts[name] == 1 else str(path) for name, path in zip(names, paths, strict=True)]


def _open_system(name: str, path: Path, device: str) -> System:
    if path.is_file():
        if path.suffix == ".toml":
            raise InputError(
                f"{path}: a recipe, not a system. Add --vary KEY=VALUE,VALUE or --seeds N to train its runs first."
            )
        check_outputs_file(path)
        return System(name=name, path=path, origin="outputs")
    loaded = bundle.load_bundle(path, device)
    folder = bundle.artifact_folder(loaded.folder or path)
    settings = read_settings(folder) or _model_settings(loaded)
    origin: Literal["run", "model"] = "run" if (folder / "run.toml").is_file() else "model"
    records = read_journal(folder / "journal.jsonl")
    return System(name=name, path=path, origin=origin, model=model_facts(loaded), settings=settings, records=records)


def _model_settings(loaded: Bundle) -> dict[str, Any]:
    """Return the settings that a bundle without its run still has."""
    from tongsa import config

    tables = {"model": config.to_table(loaded.config), "decoding": config.to_table(loaded.decoding)}
    return {"model.kind": loaded.kind} | dict(flatten_table(tables))


def model_facts(loaded: Bundle) -> ModelFacts:
    files = [path for path in (loaded.folder or Path()).iterdir() if path.is_file()] if loaded.folder else []
    return ModelFacts(
        kind=loaded.kind,
        task=loaded.config.task,
        source_language=loaded.source_language,
        target_language=loaded.target_language,
        metrics=loaded.metrics,
        parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        size_bytes=sum(path.stat().st_size for path in files),
        tokenizer=hashlib.sha256(loaded.target_tokenizer.model_bytes).hexdigest(),
    )


def common_task(systems: Sequence[System]) -> Task:
    """Return the task of all models; files of outputs alone are translations."""
    models = [system for system in systems if system.model]
    tasks = {system.model.task for system in models if system.model}
    if len(tasks) > 1:
        kinds = ", ".join(f"{system.path} ({system.model.task})" for system in models if system.model)
        raise InputError(f"compare: systems of different tasks: {kinds}. Give systems of one task.")
    task = tasks.pop() if tasks else "seq2seq"
    files = [system for system in systems if system.origin == "outputs"]
    if task == "language_model" and files:
        raise InputError(f"{files[0].path}: a file, but language models have no outputs. Leave it out.")
    return task


def common_languages(systems: Sequence[System]) -> tuple[str, str]:
    """Return source and target language of all models, "" if no model says; raise InputError if they differ."""
    languages = ["", ""]
    for side in (0, 1):
        first: System | None = None
        for system in systems:
            code = system.model.languages[side] if system.model else ""
            if not code:
                continue
            if first is not None and code != languages[side]:
                translation = " → ".join(system.model.languages) if system.model else ""
                raise InputError(
                    f"{system.path}: a model for {translation}, but {first.path} is one for another language. "
                    "Compare models of the same languages."
                )
            first, languages[side] = first or system, code
    return languages[0], languages[1]


def read_test_set(evaluation_set: EvaluationSet, task: Task) -> AlignedTestSet:
    """Read a test set and remember the line of each pair, because lines that cannot be used are left out."""
    ledger = Ledger(None)
    pairs = evaluation_set.read(task, ledger)
    if len(pairs) == 1:
        where = evaluation_set.files[0] if evaluation_set.files else "pairs"
        raise InputError(
            f"{where}: one sentence only, which says nothing about others. Give a test set of at least two sentences."
        )
    if evaluation_set.pairs is not None:
        return AlignedTestSet(("pairs",), pairs, list(range(len(pairs))), len(pairs))
    files = tuple(map(str, evaluation_set.files))
    units = list(group_files([Path(name) for name in expand_patterns(files)]))
    if not all(has_lines(path) for unit in units for path in unit):  # an output for each pair
        return AlignedTestSet(files, pairs, list(range(len(pairs))), len(pairs), ledger.dropped)
    starts: dict[str, int] = {}
    lines = 0
    for unit in units:
        has_header = evaluation_set.header and len(unit) == 1
        starts[str(unit[0])] = lines - 1 - has_header
        lines += sum(1 for _ in raw_lines(unit[0], evaluation_set.encoding)) - has_header
    positions = [starts[pair.file] + pair.line for pair in pairs]
    return AlignedTestSet(files, pairs, positions, lines, ledger.dropped)


def read_outputs(path: Path, test_set: AlignedTestSet) -> list[str]:
    """Return the output of each pair from a text file: a line for each line of the test set, or for each pair."""
    lines = [normalize(line) for line in read_lines(path)]
    if len(lines) == test_set.lines:
        return [lines[position] for position in test_set.positions]
    if len(lines) == len(test_set.pairs):
        return lines
    raise InputError(
        f"{path}: {len(lines):,} lines, but the test set {', '.join(test_set.files)} has {test_set.lines:,}. "
        "Give a file whose line n is the output of line n of the test set."
    )
