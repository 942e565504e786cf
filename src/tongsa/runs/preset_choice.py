"""Choose a preset: from the amount of text, the kind of model and the time budget.

The presets are ordered from the fastest to the largest: tiny, small, short, medium, large. The amount of text decides
which of them are candidates. Without a time budget the largest candidate is chosen. With one, the candidates are tried
from the fastest up: a few updates on random tokens measure the speed of each (no tokenizer is needed for that), and the
choice is the last one that reads the data often enough.

`presets/NAME.toml` has the settings that all kinds share; the sizes come from the kind (`ModelConfig.preset`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from math import inf
from pathlib import Path
from typing import NamedTuple

from tongsa import config
from tongsa.config import Table
from tongsa.data.ledger import Pair
from tongsa.interface import ModelConfig, PresetName, Task
from tongsa.runs.recipe import Recipe, merge_tables, parse_recipe

SMALL_CORPUS_WORDS, LARGE_CORPUS_WORDS = 30_000, 5_000_000
"""Words on the target side: limits between little, medium and much text."""
SHORT_BUDGET_SECONDS = 600
"""Time budget up to which the medium preset is no candidate."""
MIN_EPOCHS, MIN_UPDATES, ENOUGH_UPDATES = 1, 300, 2000
"""A plan is long enough with this many epochs and this many updates; ENOUGH_UPDATES are enough for any corpus."""
TRAINING_FRACTION = 0.75
"""Estimated fraction of the time budget that is left for the updates."""


@dataclass(frozen=True)
class CorpusSize:
    """The figures of a corpus that presets depend on."""

    sentences: int
    words: int
    """Words of the target side; for a classifier, of the text."""
    characters: int
    """Characters of the same side."""
    alphabet: int
    """Distinct characters of both sides."""

    @classmethod
    def of(cls, pairs: Sequence[Pair], task: Task) -> "CorpusSize":
        alphabet: set[str] = set()
        words = characters = 0
        for pair in pairs:
            text = pair.source if task == "classification" else pair.target
            words += _count_words(text)
            characters += len(text)
            alphabet.update(pair.source, pair.target)
        return cls(len(pairs), words, characters, len(alphabet))

    def tokens(self, tokenizer_model: str) -> int:
        """Return the estimated number of tokens."""
        return max(1, self.characters if tokenizer_model == "char" else round(1.25 * self.words))


def _count_words(text: str) -> int:
    """Count words; in a script without spaces six characters count as a word."""
    return max(len(text.split()), len(text) // 6)


def load_preset(name: PresetName) -> Table:
    """Read presets/NAME.toml."""
    return config.read_toml(Path(str(resources("tongsa.runs") / "presets" / f"{name}.toml")))


def candidates(words: int, time_budget: float = inf) -> tuple[PresetName, ...]:
    """Return the presets for this amount of text, the fastest first."""
    if words < SMALL_CORPUS_WORDS:
        return "tiny", "small"
    if time_budget <= SHORT_BUDGET_SECONDS:
        return "tiny", "short"
    return ("tiny", "short", "medium", "large") if words >= LARGE_CORPUS_WORDS else ("tiny", "short", "medium")


def preset_settings(name: PresetName, kind: str, model: ModelConfig, size: CorpusSize, requested: Table) -> Table:
    """Return all settings of a preset for a kind of model; `requested` are the user's, which decide the tokens."""
    preset = load_preset(name)
    epochs = preset.pop("preset")["epochs"]
    sizes: Callable[[PresetName], Table] = getattr(model, "preset", lambda _: {})
    preset = merge_tables(merge_tables(preset, {"model": {"kind": kind}}), sizes(name))
    tokenizer, training = preset["tokenizer"], preset["training"]
    tokenizer["vocab_size"] = max(tokenizer["vocab_size"], 300 + 2 * size.alphabet)
    tokens = size.tokens(requested.get("tokenizer", {}).get("model", tokenizer["model"]))
    training["steps"] = max(300, min(100_000, epochs * tokens // training["batch_tokens"]))
    return preset


class Preset(NamedTuple):
    """Name of a preset, and its settings for a corpus and a kind of model."""

    name: PresetName
    settings: Table


@dataclass(frozen=True)
class TimeBudget:
    """A time limit, and a function that measures updates."""

    seconds: float
    update_seconds: Callable[[Recipe, int], float]
    """Measures the time of an update of a recipe on sentences of a length in tokens."""


def choose_preset(
    pairs: Sequence[Pair],
    kind: str,
    model: ModelConfig,
    requested: Table,
    time_budget: TimeBudget | None = None,
    name: PresetName | None = None,
) -> Preset:
    """Return the preset for a corpus of this size, this kind of model and a time budget.

    Args:
        pairs: The training data.
        kind: Kind of model.
        model: Settings of this kind; the sizes in it do not matter.
        requested: Tables of the user's settings, which win over the preset.
        time_budget: None for no limit.
        name: The preset, if it was chosen before.

    """
    size = CorpusSize.of(pairs, model.task)
    names = (name,) if name else candidates(size.words, time_budget.seconds if time_budget else inf)
    presets = [Preset(name, preset_settings(name, kind, model, size, requested)) for name in names]
    if time_budget is None:
        return presets[-1]
    chosen = presets[0]
    for preset in presets[1:]:
        if not _is_long_enough(parse_recipe(merge_tables(preset.settings, requested)), size, time_budget):
            break
        chosen = preset
    return chosen


def _is_long_enough(recipe: Recipe, size: CorpusSize, time_budget: TimeBudget) -> bool:
    """Return whether enough updates fit into the time budget."""
    tokens = size.tokens(recipe.tokenizer.model)
    updates_per_epoch = tokens / (recipe.training.batch_tokens * recipe.training.grad_accumulation)
    needed = min(ENOUGH_UPDATES, max(MIN_UPDATES, MIN_EPOCHS * updates_per_epoch))
    length = max(1, min(recipe.data.max_tokens, tokens // max(1, size.sentences)))
    return TRAINING_FRACTION * time_budget.seconds / time_budget.update_seconds(recipe, length) >= needed
