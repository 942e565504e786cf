"""What to do when the user has not said: sizes from the data, steps from the time there is."""

import copy
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

import torch

from tongsa.batch import plan as batch_plan
from tongsa.config import Table
from tongsa.errors import InputError
from tongsa.evaluation.report import evaluate
from tongsa.experiment.data import examples
from tongsa.experiment.recipe import Recipe, merged, parse
from tongsa.experiment.run import Run
from tongsa.experiment.validation import validated
from tongsa.interface import Config, Task
from tongsa.text import Pair
from tongsa.training.loop import Position, TrainingConfig, train
from tongsa.training.memory import part_tokens
from tongsa.training.optimiser import build
from tongsa.training.parallel import ALONE, Workers, trained
from tongsa.training.stream import stream

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
PROBES = 24
"""At most so many updates are made and thrown away to see how fast this machine is; the first half only warms it up."""
PROBING = 0.05
"""Share of the time that may be spent so."""
VALIDATIONS = 6
RESERVE = 0.03
"""Share of the time kept back for what was not measured."""
ENOUGH = 512
"""Places that are enough for a thread by itself."""
FEW, MANY = 30_000, 5_000_000
"""Words on the target side below which data are few, and from which on they are many."""
BETWEEN: Table = {
    "pieces": {"kind": "unigram", "size": 5000, "shared": False},
    "model": {"encoder_layers": 4, "decoder_layers": 2, "share": "target"},
    "training": {"rate": {"hold": 0.0}},
    "decoding": {"alpha": 3.0},
}
"""What a Transformer does best with between them, given half an hour or more: benchmarks/LOG.md."""
SHORT = 600
"""Seconds up to which a smaller one arrives further."""
IN_SHORT: Table = {
    "pieces": {"kind": "unigram", "size": 3000, "shared": False},
    "model": {"inner": 512, "encoder_layers": 3, "decoder_layers": 1, "dropout": 0.1, "share": "none"},
    "training": {"batch_tokens": 1280, "adam_share": 1.5, "rate": {"warmup": 20, "hold": 0.0}},
    "decoding": {"alpha": 2.4},
}
"""The same in so short a time: recipes/multi30k-short.toml."""


def seconds(text: str) -> float:
    """`90s`, `20m`, `1h30m`, `2d`; a plain number is minutes."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower().replace(" ", ""):
        raise InputError(f"--budget {text}: write a time such as 90s, 20m or 1h30m")
    total = sum(float(number) * UNITS[unit or "m"] for number, unit in parts)
    if total <= 0:
        raise InputError(f"--budget {text}: that is no time at all; write for example 20m")
    return total


def sizes(pairs: Sequence[Pair], kind: str = "transformer", task: Task = "pairs", time: float = inf) -> Table:
    """A recipe for this much data: little of it wants a small model and many rounds, much of it the paper's.

    With so many seconds to learn in, if they are few, a smaller model yet.
    """
    words = sum(map(_words, (pair.source if task == "labels" else pair.target for pair in pairs)))
    characters = sum(len(pair.source) + len(pair.target) for pair in pairs)
    alphabet = len({character for pair in pairs for character in pair.source + pair.target})
    if words < FEW:
        width, inner, layers, dropout, batch, rounds = 192, 512, 2, 0.1, 1024, 40
    elif words < MANY:
        width, inner, layers, dropout, batch, rounds = 256, 1024, 3, 0.15, 2560, 12
    else:
        width, inner, layers, dropout, batch, rounds = 512, 2048, 6, 0.1, 25_000, 10
    found: Table = {
        "pieces": {"kind": "bpe", "size": 1500 if characters < 500_000 else 8000 if words < MANY else 32_000},
        "model": {"kind": kind} | shape(kind, width, inner, layers, dropout),
        "training": {
            "batch_tokens": batch,
            "optimiser": "muon",
            "adam_share": 0.5,
            "clip": 1.0,
            "ema": 0.99,
            "rate": {"schedule": "linear", "peak": 4e-3, "warmup": 100, "hold": 0.2},
        },
        "decoding": {"beam": 5, "alpha": 1.2},
    }
    if kind == "transformer" and FEW <= words < MANY:
        found = merged(found, IN_SHORT if time <= SHORT else BETWEEN)
    pieces, training = max(1, round(1.25 * words)), found["training"]
    training["steps"] = max(300, min(100_000, rounds * pieces // training["batch_tokens"]))
    found["pieces"]["size"] = max(found["pieces"]["size"], 300 + 2 * alphabet)
    return found


def _words(text: str) -> int:
    """Where a script has no spaces, six characters count as a word."""
    return max(len(text.split()), len(text) // 6)


def shape(kind: str, width: int, inner: int, layers: int, dropout: float) -> Table:
    """The sizes of a kind that has about as many parameters as this Transformer."""
    blocks: Table = {"width": width, "inner": inner, "heads": max(4, width // 64), "dropout": dropout, "norm": "pre"}
    tables: dict[str, Table] = {
        "transformer": blocks | {"encoder_layers": layers, "decoder_layers": layers},
        "transformer_classifier": blocks | {"layers": layers, "hidden": width},
        "transformer_language_model": blocks | {"layers": 2 * layers},
        "convolutional": {
            "width": width,
            "hidden": width,
            "encoder_layers": layers + 1,
            "decoder_layers": layers + 1,
            "dropout": dropout,
        },
        "self_attentive": {"embedding": width, "width": width, "attention": width, "hops": 8, "hidden": width},
        "language_model": {"width": 2 * width, "layers": 2, "dropout": dropout},
    }
    return tables.get(kind, {"embedding": width, "width": 2 * width, "dropout": dropout})


def rhythm(steps: int, training: TrainingConfig) -> TrainingConfig:
    """Validations, snapshots and a warm-up that fit the number of steps."""
    return replace(
        training,
        steps=steps,
        validate_every=-(-steps // VALIDATIONS),
        snapshot_every=max(1, min(training.snapshot_every, -(-steps // 10))),
        rate=replace(training.rate, warmup=max(1, min(training.rate.warmup, steps // 8))),
    )


def shared_out(training: TrainingConfig, among: int) -> TrainingConfig:
    """The same update as enough batches for all (workers or threads), or equally many where they compute in step."""
    if training.accumulate >= among and not (training.shard and training.accumulate % among):
        return training
    total, batches = training.batch_tokens * training.accumulate, -(-training.accumulate // among) * among
    return replace(training, accumulate=batches, batch_tokens=max(1, total // batches))


def at_once(training: TrainingConfig, model: Config) -> int:
    """Batches of an update that one process computes side by side: one a thread of a CPU, where each has enough to do.

    A batch norm reads the whole batch, and a limit of memory asks for smaller parts, not for several at once.
    """
    here = training.device == "cpu" and training.precision == "fp32" and not training.compile
    if not here or training.memory or training.part_tokens or getattr(model, "norm_kind", "") == "batch":
        return 1
    return max(1, min(training.threads, training.batch_tokens * training.accumulate // ENOUGH))


def limited(run: Run, workers: Workers = ALONE) -> Recipe:
    """The recipe with batches computed in parts that keep to the memory given, as the first worker finds it."""

    def found() -> str:
        lengths = (pairs := examples(run.data, run.recipe.pieces, training.seed)(0)).lengths
        batches = batch_plan(lengths, budget=training.batch_tokens, seed=training.seed, epoch=0)
        largest = max(batches, key=lambda rows: len(rows) * int(lengths[rows].max(axis=0).sum()))
        return str(part_tokens(run.bundle.model, pairs.batch(largest), training))

    training = run.recipe.training
    return replace(run.recipe, training=replace(training, part_tokens=int(workers.told(found))))


def within(run: Run, budget: float, began: float, workers: Workers = ALONE) -> Recipe:
    """The recipe with steps, validations and decay for the time given, from a measurement on a copy of the model."""
    update = _update_seconds(run, PROBING * budget, workers)
    planned = workers.told(lambda: json.dumps(_planned(run, budget, began, update).table()))
    return parse(json.loads(planned))


def _planned(run: Run, budget: float, began: float, update: float) -> Recipe:
    training, validation = run.recipe.training, _validation_seconds(run)
    left = budget * (1 - RESERVE) - (perf_counter() - began)
    validations = max(1, min(VALIDATIONS, int(left * 0.15 / max(validation, 1e-3))))
    steps = max(1, int((left - validations * validation) / update))
    planned = replace(
        rhythm(steps, training),
        validate_every=-(-steps // validations),
        snapshot_every=max(1, int(60 / update)),
    )
    return replace(run.recipe, training=planned)


def _update_seconds(run: Run, most: float, workers: Workers) -> float:
    """Mean time of an update."""
    training = replace(run.recipe.training, steps=PROBES)
    device, copied = torch.device(training.device), copy.deepcopy(run.bundle.model)
    learner = workers.learner(copied, device, shard=training.shard, compiled=training.compile)
    optimisers = build(trained(learner), training, workers)
    batches = stream(
        examples(run.data, run.recipe.pieces, training.seed),
        budget=training.batch_tokens,
        seed=training.seed + 1,
        start=Position(),
    )
    times: list[float] = []
    for step in train(learner, batches, optimisers, training.rate.build(1, PROBES), training, workers=workers):
        times.append(step.seconds)
        if workers.any(sum(times) > most and len(times) >= 4):
            break
    return sum(times[len(times) // 2 :]) / len(times[len(times) // 2 :])


def _validation_seconds(run: Run) -> float:
    """Time of a validation. A model that has learnt nothing may babble to the limit, so outputs are kept short."""
    pairs = [(pair.source, pair.target) for pair in validated(run)]
    sample = pairs[:: max(1, len(pairs) // 64)]
    short = replace(run.bundle, decoding=replace(run.bundle.decoding, beyond=0))
    began = perf_counter()
    evaluate(short.reader(), sample, run.how)
    return (perf_counter() - began) * len(pairs) / len(sample)
