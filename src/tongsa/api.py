"""The functions of `import tongsa`: load, train, evaluate, compare and export models. Each imports what it needs."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from tongsa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongsa.decoding.engines.names import EngineName
    from tongsa.decoding.generator import TextGenerator
    from tongsa.decoding.text_classifier import TextClassifier
    from tongsa.decoding.translator import Translator
    from tongsa.evaluation.evaluate import EvaluationReport
    from tongsa.interface import Task
    from tongsa.runs.comparison import Comparison

    PathLike: TypeAlias = str | Path
    Paths: TypeAlias = Sequence[PathLike] | PathLike
    AnyModel: TypeAlias = Translator | TextClassifier | TextGenerator


@overload
def load(
    path: "PathLike",
    *,
    task: Literal["seq2seq"],
    engine: "EngineName" = ...,
    ensemble: "Sequence[PathLike]" = ...,
    lm: "PathLike | None" = ...,
    lm_weight: float = ...,
    quiet: bool = ...,
) -> "Translator": ...
@overload
def load(path: "PathLike", *, task: Literal["classification"], quiet: bool = ...) -> "TextClassifier": ...
@overload
def load(path: "PathLike", *, task: Literal["language_model"], quiet: bool = ...) -> "TextGenerator": ...
@overload
def load(
    path: "PathLike",
    *,
    engine: "EngineName" = ...,
    ensemble: "Sequence[PathLike]" = ...,
    lm: "PathLike | None" = ...,
    lm_weight: float = ...,
    quiet: bool = ...,
) -> "AnyModel": ...
def load(
    path: "PathLike",
    *,
    task: "Task | None" = None,
    engine: "EngineName" = "auto",
    ensemble: "Sequence[PathLike]" = (),
    lm: "PathLike | None" = None,
    lm_weight: float = 0.2,
    quiet: bool = False,
) -> "AnyModel":
    """Load a trained model: return a Translator, TextClassifier or TextGenerator, by its task.

    path: Folder of a run or of a bundle. InputError is raised if it holds no model.
    task: "seq2seq", "classification" or "language_model": InputError is raised for a model of another task. A type
        checker then knows the class of the result.
    engine: Decoding engine of a Translator: "torch", "ctranslate2", "torch-int8" or "ctranslate2-int8" (8-bit
        weights), or "auto": CTranslate2 where it is installed and supports the model, which is converted for it once.
    ensemble: Other models that translate; the probabilities of all are averaged.
    lm: Language model for shallow fusion, with the weight `lm_weight`.
    quiet: Print nothing about the conversion.
    """
    from tongsa import bundle
    from tongsa.export.ctranslate2_cache import load_engine
    from tongsa.runs.reporting import ProgressDisplay
    from tongsa.runs.translate_job import ModelSpec

    log = ProgressDisplay(quiet=quiet).log
    if ensemble or lm or task == "seq2seq":
        others = tuple(Path(other) for other in ensemble)
        lm_folder = Path(lm) if lm is not None else None
        return ModelSpec(run=Path(path), ensemble=others, lm=lm_folder, lm_weight=lm_weight, engine=engine).build(log)
    loaded = bundle.load_bundle(Path(path))
    if task == "classification":
        return loaded.classifier()
    if task == "language_model":
        return loaded.generator()
    if task is not None:
        raise InputError(f"task {task!r}: unknown. Use seq2seq, classification or language_model.")
    if loaded.config.task == "seq2seq":
        return loaded.translator(engine=load_engine(loaded, engine, log))
    return loaded.text_model()


def train(
    recipe: "PathLike | None" = None,
    *,
    run: "PathLike",
    data: "Paths" = (),
    dev: "Paths" = (),
    test: "Paths" = (),
    settings: "Sequence[str]" = (),
    budget: str | None = None,
    resume_if_exists: bool = False,
    quiet: bool = False,
) -> "AnyModel":
    """Train a model as `tongsa train` does, and return it as `load` does.

    recipe: TOML file with the settings. Without it, a preset is chosen by the data and the budget.
    run: New folder for the run.
    data: Training data instead of the recipe's: a file of pairs, or two parallel files.
    dev: Development data instead of the recipe's.
    test: Test data, scored once at the end with the best model.
    settings: Single settings as for `--set`, for example ["training.steps=1000"].
    budget: Time limit such as "30m"; the number of steps is chosen to fit.
    resume_if_exists: Resume the run if the folder holds one.
    quiet: Print no progress.

    Ctrl-C saves a checkpoint and raises InterruptedRun; `resume` continues.
    """
    from tongsa import runs

    runs.train(
        recipe,
        run=Path(run),
        data=data,
        dev=dev,
        test=test,
        settings=settings,
        budget=budget,
        resume_if_exists=resume_if_exists,
        quiet=quiet,
    )
    return load(run, quiet=quiet)


def resume(
    run: "PathLike", *, settings: "Sequence[str]" = (), budget: str | None = None, quiet: bool = False
) -> "AnyModel":
    """Continue a run from its last checkpoint, and return the model; same bytes as an uninterrupted run.

    settings: Changes as for `--resume RUN --set`, for example ["training.steps=9000"] to train longer.
    budget: Train this much longer, for example "20m".
    """
    from tongsa import runs

    runs.resume(Path(run), settings=settings, budget=budget, quiet=quiet)
    return load(run, quiet=quiet)


def train_demo(run: "PathLike" = "runs/demo", *, settings: "Sequence[str]" = (), quiet: bool = False) -> "Translator":
    """Train English → Korean on the embedded pairs, about three minutes; resume an unfinished demo."""
    from tongsa.demo import demo

    demo.train_demo(Path(run), settings, quiet=quiet)
    return load(run, task="seq2seq", quiet=quiet)


def distil(
    teacher: "Paths",
    recipe: "PathLike",
    *,
    run: "PathLike",
    settings: "Sequence[str]" = (),
    budget: str | None = None,
    beam: int | None = None,
    nbest: int = 1,
    keep_references: bool = False,
    init_from_teacher: bool = False,
    quiet: bool = False,
) -> "Translator":
    """Train a student on the outputs of a teacher (Kim and Rush 2016), as `tongsa distil` does, and return it.

    Several teachers translate as an ensemble. The other arguments are described in `tongsa.runs.distillation.distil`.
    """
    from tongsa.runs import distillation
    from tongsa.runs.planner import as_strings

    distillation.distil(
        [Path(folder) for folder in as_strings(teacher)],
        recipe,
        run=Path(run),
        settings=settings,
        budget=budget,
        beam=beam,
        nbest=nbest,
        keep_references=keep_references,
        init_from_teacher=init_from_teacher,
        quiet=quiet,
    )
    return load(run, task="seq2seq", quiet=quiet)


def evaluate(
    model: "PathLike | AnyModel",
    data: "Paths" = (),
    *,
    pairs: "Sequence[tuple[str, str]] | None" = None,
    columns: tuple[int, int] = (1, 2),
    header: bool = False,
    encoding: str = "utf-8",
    tag: str = "",
    metrics: "Sequence[str]" = (),
    tokenize: str = "",
    comet_model: "PathLike" = "",
    by: "Sequence[str]" = (),
    **settings: float | str,
) -> "EvaluationReport":
    """Evaluate a model on a test set, as `tongsa evaluate` does.

    model: Folder of a run, or a model from `load`.
    data: Test file, or two parallel files; `columns`, `header` and `encoding` as in `data.*`.
    pairs: Pairs (source, target) instead of files.
    tag: Tag before each source, such as "<2ko>", for a model that was trained with tags.
    metrics: "bleu", "chrf", "ter", "exact_match", "wer", "per"; by default those of the model.
    tokenize: SacreBLEU's tokenizer for BLEU; by default chosen by the target language.
    comet_model: Checkpoint file of a COMET model, for the score "comet"; needs the package unbabel-comet.
    by: Slices of the test set: "length", "frequency", "position"; in `report.slices`.
    settings: Fields of DecodingConfig, such as beam or alpha, that replace those of the model.

    The report has scores with signatures and 95 % intervals (`report.scores["bleu"].interval`), the outputs,
    `summary()` and `as_json()`; printed, it is a table.
    """
    from tongsa.runs.evaluation import EvaluationOptions, EvaluationSet, evaluate_on
    from tongsa.runs.planner import as_strings

    return evaluate_on(
        load(model) if isinstance(model, str | Path) else model,
        EvaluationSet(files=as_strings(data), columns=columns, header=header, encoding=encoding, tag=tag, pairs=pairs),
        EvaluationOptions(
            metrics=metrics,
            tokenize=tokenize,
            decoding=settings,
            comet_model=str(comet_model),
            by=(by,) if isinstance(by, str) else by,
        ),
    )


def compare(
    systems: "Sequence[PathLike]",
    data: "Paths" = (),
    *,
    pairs: "Sequence[tuple[str, str]] | None" = None,
    columns: tuple[int, int] = (1, 2),
    header: bool = False,
    encoding: str = "utf-8",
    metrics: "Sequence[str]" = (),
    tokenize: str = "",
    comet_model: "PathLike" = "",
    group_seeds: bool = True,
    **settings: float | str,
) -> "Comparison":
    """Compare systems on one test set, as `tongsa compare` does.

    systems: Folders of runs or bundles, or text files with one output per line.
    data: Test file, or two parallel files; `columns`, `header` and `encoding` as in `data.*`.
    pairs: Pairs (source, target) instead of files.
    metrics: "bleu", "chrf", "ter", "exact_match", "wer", "per"; by default those of the first model.
    tokenize: SacreBLEU's tokenizer for BLEU; by default chosen by the target language.
    comet_model: Checkpoint file of a COMET model; adds the score "comet".
    group_seeds: False compares also the runs of one setting, which differ only in their seed, with each other.
    settings: Fields of DecodingConfig, such as beam or alpha, that replace those of the models.

    The comparison has `metrics` with scores, intervals and tests of all pairs, `verdicts()` in words, `page` and
    `save`; printed, it is a table.
    """
    from tongsa.runs.compared_systems import ComparisonOptions
    from tongsa.runs.comparison import compare_systems
    from tongsa.runs.evaluation import EvaluationSet
    from tongsa.runs.planner import as_strings
    from tongsa.runs.system_outputs import DecodingOptions

    return compare_systems(
        as_strings(systems),
        EvaluationSet(files=as_strings(data), columns=columns, header=header, encoding=encoding, pairs=pairs),
        ComparisonOptions(
            metrics=metrics,
            tokenize=tokenize,
            comet_model=str(comet_model),
            decoding=DecodingOptions(settings=settings),
            group_seeds=group_seeds,
        ),
    )


def export_model(
    run: "PathLike",
    to: Literal["ctranslate2", "huggingface", "onnx"],
    folder: "PathLike | None" = None,
    *,
    int8: bool = False,
) -> Path:
    """Export the model of a run as `tongsa export` does; return the folder, by default the format's name in the run."""
    from tongsa.export import export

    return export(Path(run), to, Path(folder) if folder is not None else None, int8=int8)
