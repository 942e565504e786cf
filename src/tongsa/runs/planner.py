"""Planner: resolve a recipe from a file, the command line and a preset for the size of the data."""

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files as resources
from math import inf
from pathlib import Path

from tongsa import bundle, config
from tongsa.config import ConfigError, Table
from tongsa.data.ledger import Ledger, Pair
from tongsa.errors import InputError
from tongsa.interface import ModelConfig, Task
from tongsa.runs.data import CorpusReader
from tongsa.runs.recipe import Recipe, check_sections, merge_tables, parse_recipe
from tongsa.training.config import TrainingConfig

PathOrPaths = Sequence[str | Path] | str | Path

SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SMALL_CORPUS_WORDS, LARGE_CORPUS_WORDS = 30_000, 5_000_000
"""Words on the target side: limits between the small, medium and large presets."""
SMALL_TEXT_CHARACTERS, SMALL_TEXT_VOCAB_SIZE = 500_000, 1500
"""With fewer characters of text, a BPE vocabulary has this size."""
SHORT_BUDGET_SECONDS = 600
"""Time budget up to which the short preset is used."""
MAX_VALIDATIONS = 6
"""Validations in a run whose length is planned."""
MIN_TOKENS_PER_THREAD = 512
"""Batch size in tokens that keeps a CPU thread busy."""


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `20m`, `1h30m` or `2d`; a plain number is minutes."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower().replace(" ", ""):
        raise InputError(f"--budget {text}: not a time. Write for example 90s, 20m or 1h30m.")
    seconds = sum(float(number) * SECONDS_PER_UNIT[unit or "m"] for number, unit in parts)
    if seconds <= 0:
        raise InputError(f"--budget {text}: no time. Write for example 20m.")
    return seconds


def resolve_recipe(
    recipe: str | Path | None,
    *,
    data: PathOrPaths = (),
    dev: PathOrPaths = (),
    settings: Sequence[str] | str = (),
    overrides: Table | None = None,
    time_budget: float = inf,
    reader: CorpusReader | None = None,
) -> Recipe:
    """Return the recipe of a run. Later sources win: preset, initial model, recipe file, files, settings, overrides.

    Args:
        recipe: TOML file; without it a preset is chosen for the size of the data.
        data: Training files, instead of the recipe's; relative to the current directory, not to `data.folder`.
        dev: Development files, together with `data`.
        settings: Assignments as for `--set`.
        overrides: Tables of settings.
        time_budget: Seconds; a short budget selects a smaller preset.
        reader: Keeps the training pairs that a preset needs, so that the run need not read them again.

    """
    values = config.read_toml(Path(recipe)) if recipe is not None else {}
    requested: Table = {}
    for assignment in as_strings(settings):
        config.override(requested, assignment)
    requested = merge_tables(requested, overrides or {})
    if data:
        values = merge_tables(values, {"data": {"train": as_strings(data), "dev": as_strings(dev), "folder": ""}})
        for key in ("test", "dataset"):  # of the recipe's own data
            values["data"].pop(key, None)
    elif dev:
        raise InputError("--dev: only together with --data. To change the dev set of a recipe: --set data.dev=FILE")
    elif recipe is None:
        raise InputError("no training data. Give a recipe (a .toml file) or your own files (--data FILE).")
    try:
        init_from = merge_tables(values, requested).get("training", {}).get("init_from")
        if init_from:
            values = merge_tables(_inherited_settings(Path(str(init_from)), with_model=recipe is None), values)
        if recipe is None:  # the sizes of an initial model are fixed: no smaller preset for a short budget
            budget = inf if init_from else time_budget
            preset = _preset_settings(merge_tables(values, requested), budget, reader or CorpusReader())
            values = merge_tables(preset, values)
        return parse_recipe(merge_tables(values, requested))
    except ConfigError as error:
        raise ConfigError(f"{_error_origin(values, str(error), recipe)}: {error}") from None


def _error_origin(values: Table, message: str, recipe: str | Path | None) -> str:
    """Return the origin of a wrong setting: the recipe if it gives the same error without `--set`, else "--set"."""
    try:
        parse_recipe(values)
    except ConfigError as error:
        if recipe is not None and str(error) == message:
            return str(recipe)
    return "--set"


def _preset_settings(requested: Table, time_budget: float, reader: CorpusReader) -> Table:
    """Return the preset for the training data, with intervals that fit the requested number of steps."""
    check_sections(requested)
    model = {key: value for key, value in requested.get("model", {}).items() if key in ("kind", "head")}
    partial = parse_recipe({"data": requested.get("data", {}), "model": model})  # the sizes are not known yet
    task = partial.model.task
    train = reader.read(partial.data, task, partial.data.train, Ledger(None))
    preset = choose_preset(train, partial.kind, task, time_budget)
    training = parse_recipe(merge_tables(preset, requested)).training
    return merge_tables(preset, {"training": config.to_table(fit_intervals(training.steps, training))})


def _inherited_settings(init_from: Path, *, with_model: bool) -> Table:
    """Return the settings that a run takes from its initial model: the tokenizers and, without a recipe, the sizes."""
    initial = bundle.load_bundle(init_from)
    shared = initial.target_tokenizer is initial.source_tokenizer
    jamo = getattr(initial.source_tokenizer, "jamo", False)
    settings: Table = {"tokenizer": {"reuse_from": str(init_from), "shared": shared, "jamo": jamo}}
    if with_model:
        languages = {"source_language": initial.source_language, "target_language": initial.target_language}
        settings["data"] = {name: value for name, value in languages.items() if value}
        settings["model"] = {"kind": initial.kind} | config.to_table(initial.config)
        settings["decoding"] = config.to_table(initial.decoding)
    return settings


def as_strings(values: PathOrPaths) -> list[str]:
    """Return a list; a single string or path is one item."""
    return [str(value) for value in ([values] if isinstance(values, str | Path) else values)]


def load_preset(name: str) -> Table:
    """Read presets/NAME.toml."""
    return config.read_toml(Path(str(resources("tongsa.runs") / "presets" / f"{name}.toml")))


def choose_preset(
    pairs: Sequence[Pair], kind: str = "transformer", task: Task = "seq2seq", time_budget: float = inf
) -> Table:
    """Return the settings for a corpus of this size, this kind of model and a time budget in seconds."""
    words = sum(map(_count_words, (pair.source if task == "classification" else pair.target for pair in pairs)))
    characters = sum(len(pair.source) + len(pair.target) for pair in pairs)
    alphabet_size = len({character for pair in pairs for character in pair.source + pair.target})
    preset = load_preset(_preset_name(words, kind, time_budget))
    epochs, tokenizer, training = preset.pop("preset")["epochs"], preset["tokenizer"], preset["training"]
    preset["model"] = {"kind": kind} | model_preset(kind, preset["model"])
    if tokenizer["model"] == "bpe" and characters < SMALL_TEXT_CHARACTERS:
        tokenizer["vocab_size"] = SMALL_TEXT_VOCAB_SIZE
    tokenizer["vocab_size"] = max(tokenizer["vocab_size"], 300 + 2 * alphabet_size)
    tokens = max(1, round(1.25 * words))
    training["steps"] = max(300, min(100_000, epochs * tokens // training["batch_tokens"]))
    return preset


def _preset_name(words: int, kind: str, time_budget: float) -> str:
    if words < SMALL_CORPUS_WORDS:
        return "small"
    if words >= LARGE_CORPUS_WORDS:
        return "large"
    if kind != "transformer":
        return "medium-other-kinds"
    return "short" if time_budget <= SHORT_BUDGET_SECONDS else "medium"


def _count_words(text: str) -> int:
    """Count words; in a script without spaces six characters count as a word."""
    return max(len(text.split()), len(text) // 6)


def model_preset(kind: str, transformer: Table) -> Table:
    """Return the sizes of a kind with about as many parameters as a Transformer of these sizes."""
    width, layers, dropout = transformer["width"], transformer["encoder_layers"], transformer["dropout"]
    blocks: Table = {key: transformer[key] for key in ("width", "ffn_width", "heads", "dropout", "norm")}
    tables: dict[str, Table] = {
        "transformer": transformer,
        "transformer_classifier": blocks | {"layers": layers, "hidden": width},
        "transformer_lm": blocks | {"layers": 2 * layers},
        "conv_s2s": {
            "width": width,
            "hidden": width,
            "encoder_layers": layers + 1,
            "decoder_layers": layers + 1,
            "dropout": dropout,
        },
        "structured_self_attention": {
            "embedding": width,
            "width": width,
            "attention": width,
            "hops": 8,
            "hidden": width,
        },
        "rnn_lm": {"width": 2 * width, "layers": 2, "dropout": dropout},
    }
    return tables.get(kind, {"embedding": width, "width": 2 * width, "dropout": dropout})


def fit_intervals(steps: int, training: TrainingConfig) -> TrainingConfig:
    """Return settings with validations, checkpoints and a warm-up that fit the number of steps."""
    return replace(
        training,
        steps=steps,
        validate_every=-(-steps // MAX_VALIDATIONS),
        checkpoint_every=max(1, min(training.checkpoint_every, -(-steps // 10))),
        lr=replace(training.lr, warmup=max(1, min(training.lr.warmup, steps // 8))),
    )


def fit_grad_accumulation(training: TrainingConfig, parallelism: int) -> TrainingConfig:
    """Split an update into enough batches for all ranks or threads; with sharding, into as many for each rank."""
    batches = training.grad_accumulation
    if batches >= parallelism and not (training.shard and batches % parallelism):
        return training
    total_tokens, batches = training.batch_tokens * batches, -(-batches // parallelism) * parallelism
    return replace(training, grad_accumulation=batches, batch_tokens=max(1, total_tokens // batches))


def parallel_batches(training: TrainingConfig, model: ModelConfig) -> int:
    """Return the number of batches of an update that one process computes in parallel, one per CPU thread.

    It is 1 for batch normalization, which needs the whole batch, and with a memory limit.
    """
    is_supported = training.device == "cpu" and training.precision == "fp32" and not training.compile
    is_limited = training.memory_limit_mib or training.micro_batch_tokens
    if not is_supported or is_limited or getattr(model, "norm_kind", "") == "batch":
        return 1
    return max(1, min(training.threads, training.batch_tokens * training.grad_accumulation // MIN_TOKENS_PER_THREAD))
