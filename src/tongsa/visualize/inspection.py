"""Inspection of one or more models over many sentences: heads, dropout, norms, weights, embeddings.

    file ─► padded batches ─► recorded once without dropout and N times with it ─► statistics ─► page or JSON

Every statistic has four modes: dropout off, one draw, and mean and spread (standard deviation) of all draws.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tongsa.bundle import Bundle
from tongsa.data.ledger import Pair
from tongsa.errors import InputError
from tongsa.visualize.inspection_attention import OFFSETS, HeadStatistics, RoleStatistics
from tongsa.visualize.inspection_batch import (
    Array,
    RecordedBatch,
    draw_seed,
    dropout_rates,
    keep_short_pairs,
    make_batches,
    read_data,
    record_draws,
)
from tongsa.visualize.inspection_draws import MODES, Draws, summarize_draws
from tongsa.visualize.inspection_states import STATISTICS, StateStatistics
from tongsa.visualize.inspection_weights import weight_data
from tongsa.visualize.mechanism import attention_mechanisms
from tongsa.visualize.packing import pack_uint16
from tongsa.visualize.page import Page
from tongsa.visualize.panels import AnyTextModel, load_text_model
from tongsa.visualize.trace_stages import TITLES

VERSION = 1
MAX_SENTENCES = 200
MAX_DRAWS = 200
MISSING = 65_535
"""Packed value of a number that does not exist."""
DIGITS = 6
"""Significant digits of numbers in JSON."""
AnyModel = str | Path | Bundle | AnyTextModel


@dataclass(frozen=True, kw_only=True)
class InspectionSettings:
    """Number of sentences, number of draws of dropout, and the seed of the draws."""

    sentences: int = 50
    draws: int = 20
    seed: int = 1

    def __post_init__(self) -> None:
        for name, limit in (("sentences", MAX_SENTENCES), ("draws", MAX_DRAWS)):
            value = getattr(self, name)
            if not 1 <= value <= limit:
                raise InputError(f"{name} {value}: not from 1 to {limit}. Give a number in this range.")
        if self.seed < 0:
            raise InputError(f"seed {self.seed}: negative. Write 0 or more.")


@dataclass(frozen=True)
class ModelInspection:
    """Statistics of one model."""

    model: AnyTextModel
    heads: Mapping[str, RoleStatistics]
    states: StateStatistics
    log_probs: Draws  # (sentence,)
    weights: Mapping[str, Any]


def inspect_model(model: AnyTextModel, pairs: Sequence[Pair], settings: InspectionSettings) -> ModelInspection:
    """Record a model over all pairs, batch by batch, and compute its statistics."""
    batches = make_batches(model, pairs)
    heads = HeadStatistics(attention_mechanisms(model.model))
    states = StateStatistics(settings.draws)
    log_probs: list[list[Array]] = []  # for each batch, for each draw (sentence,)
    for number, batch in enumerate(batches):
        recordings: list[RecordedBatch] = []

        def read(recording: RecordedBatch, recordings: list[RecordedBatch] = recordings) -> None:
            states.add(len(recordings), recording)
            recordings.append(dataclasses.replace(recording, tensors=()))  # the states are measured: free them

        record_draws(model.model, batch, [draw_seed(settings.seed, i, number) for i in range(settings.draws)], read)
        heads.add(recordings)
        log_probs.append([recording.log_probs for recording in recordings])
    by_draw = [np.concatenate(parts) for parts in zip(*log_probs, strict=True)]
    return ModelInspection(model, heads.roles, states, summarize_draws(by_draw), weight_data(model, batches))


class Inspection:
    """Statistics of several models over the same sentences; a notebook displays them as a page."""

    def __init__(
        self, models: Sequence[ModelInspection], pairs: Sequence[Pair], skipped: int, settings: InspectionSettings
    ) -> None:
        self.models, self.pairs, self.skipped, self.settings = models, pairs, skipped, settings

    @property
    def page(self) -> Page:
        """The inspection as one HTML page."""
        names = ", ".join(run["name"] or run["kind"] for run in self.data["runs"])
        return Page(f"{names}: {Path(self.pairs[0].file).name}", {"inspect": pack_arrays(self.data)})

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        return self.page.save(path)

    def as_json(self) -> str:
        """Return all statistics as one JSON object."""
        return json.dumps(list_arrays(self.data), ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        return self.page._repr_html_()

    def __repr__(self) -> str:
        return f"<Inspection: {len(self.models)} models, {len(self.pairs)} sentences, {self.settings.draws} draws>"

    @cached_property
    def data(self) -> dict[str, Any]:
        """All statistics; large arrays are NumPy arrays."""
        return {
            "version": VERSION,
            "file": Path(self.pairs[0].file).name,
            "draws": self.settings.draws,
            "seed": self.settings.seed,
            "skipped": self.skipped,
            "statistics": list(STATISTICS),
            "sentences": [{"source": pair.source, "target": pair.target} for pair in self.pairs],
            "runs": [model_data(model) for model in self.models],
        }


def model_data(inspected: ModelInspection) -> dict[str, Any]:
    model = inspected.model
    folder = model.info.run_folder
    return {
        "name": folder.name if folder else "",
        "kind": model.info.kind,
        "task": model.task,
        "parameters": sum(parameter.numel() for parameter in model.model.parameters()),
        "dropout": dropout_rates(model.model),
        "log_probs": {mode: round_array(getattr(inspected.log_probs, mode)) for mode in MODES},
        "roles": [role_data(statistics) for statistics in inspected.heads.values()],
        "states": state_data(inspected.states),
        **inspected.weights,
    }


def role_data(role: RoleStatistics) -> dict[str, Any]:
    """Return the heads of a role: a summary over all sentences, and the numbers of each sentence."""
    entropy, weights = role.mean_entropy(), role.mean_weights()
    labels = sorted({name for s in role.sentences for names in s.patterns.values() for name in names})
    return {
        "role": role.role,
        "layers": role.layers,
        "heads": role.heads,
        "offsets": list(OFFSETS[role.role]),
        "labels": labels,
        "findings": {mode: role.findings(mode) for mode in ("off", "draw", "mean")},
        "mean_entropy": {mode: round_array(getattr(entropy, mode)) for mode in MODES},
        "mean_weights": {mode: round_array(getattr(weights, mode)) for mode in MODES},
        "patterns": {  # (sentence, head), index into labels
            mode: np.array([[labels.index(name) for name in s.patterns[mode]] for s in role.sentences], np.int64)
            for mode in ("off", "draw", "mean")
        },
        "entropy": {mode: np.stack([getattr(s.entropy, mode) for s in role.sentences]) for mode in MODES},
        "weights": {mode: np.stack([getattr(s.weights, mode) for s in role.sentences]) for mode in MODES},
    }


def state_data(states: StateStatistics) -> list[dict[str, Any]]:
    """Return the statistics of each site: {"after": {mode: [mean, deviation, largest, norm]}}, norms also "before"."""
    return [
        {
            "name": site.name,
            "path": site.path,
            "side": site.side,
            "layer": site.layer,
            "title": list(TITLES.get(states.parts[site], (states.parts[site],) * 2)),
            **{part: {mode: round_array(getattr(draws, mode)) for mode in MODES} for part, draws in parts.items()},
        }
        for site, parts in states.results().items()
    ]


def round_array(values: Array) -> Any:
    """Return numbers as lists with a few significant digits; None for a number that does not exist."""
    if isinstance(values, np.ndarray) and values.ndim:
        return [round_array(value) for value in values]
    return float(f"{values:.{DIGITS}g}") if np.isfinite(values) else None


SCALES = {"entropy": 1000.0, "weights": 10_000.0, "patterns": 1.0, "neighbors": 1.0, "cosines": 30_000.0}
"""Arrays of the page: integers, multiplied by this; cosines are shifted by one first."""


def pack_arrays(value: Any, key: str = "") -> Any:
    """Replace arrays in nested data by {"shape", "scale", "values"}."""
    if isinstance(value, Mapping):
        return {name: pack_arrays(inner, key if name in MODES else name) for name, inner in value.items()}
    if isinstance(value, list):
        return [pack_arrays(inner, key) for inner in value]
    if not isinstance(value, np.ndarray):
        return value
    shift = 1.0 if key == "cosines" else 0.0
    numbers = np.where(np.isfinite(value), (value + shift) * SCALES[key], MISSING)
    return {"shape": list(value.shape), "scale": SCALES[key], "values": pack_uint16(numbers)}


def list_arrays(value: Any) -> Any:
    """Replace arrays in nested data by lists of numbers."""
    if isinstance(value, Mapping):
        return {name: list_arrays(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [list_arrays(inner) for inner in value]
    if not isinstance(value, np.ndarray):
        return value
    return value.tolist() if value.dtype.kind == "i" else round_array(value)


def inspect(
    models: AnyModel | Sequence[AnyModel],
    *,
    data: str | Path | Sequence[str | Path],
    columns: tuple[int, int] = (1, 2),
    header: bool = False,
    sentences: int = 50,
    draws: int = 20,
    seed: int = 1,
) -> Inspection:
    """Compare models over the first sentences of a file: heads, dropout, norms, weights, embeddings.

    models: Runs, bundles or models from `tongsa.load`, of the same task; or a single one.
    data: File of pairs, two parallel files, or texts for language models; `columns` and `header` as in `evaluate`.
    sentences: Number of sentences, up to 200. Sentences that are too long for a model are skipped.
    draws: Number of draws of dropout, for mean and spread.
    seed: Seed of the draws: the same seed gives the same numbers.

    A notebook displays the result; `.save("page.html")` writes the page, `.as_json()` returns all statistics.
    """
    settings = InspectionSettings(sentences=sentences, draws=draws, seed=seed)
    listed = [models] if isinstance(models, str | Path | Bundle | AnyTextModel) else list(models)
    text_models = [load_text_model(model) for model in listed]
    check_tasks(text_models)
    files = [data] if isinstance(data, str | Path) else list(data)
    pairs = read_data(files, text_models[0], settings.sentences, columns=columns, header=header)
    short = keep_short_pairs(pairs, text_models)
    inspected = [inspect_model(model, short, settings) for model in text_models]
    return Inspection(inspected, short, len(pairs) - len(short), settings)


def check_tasks(models: Sequence[AnyTextModel]) -> None:
    """Raise InputError unless there are models, all of one task: they read the same file."""
    if not models:
        raise InputError("inspect: no model. Give at least one run.")
    for model in models[1:]:
        if model.task != models[0].task:
            name = model.info.run_folder or model.info.kind
            raise InputError(
                f"{name}: its task is {model.task}, that of the first model is {models[0].task}. "
                "Give models of one task: they read the same file."
            )
