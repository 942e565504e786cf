"""What to do when the user has not said: sizes from the data, steps from the time there is."""

import copy
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

import torch

from tongsa.batch import epoch_order
from tongsa.config import Table
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import evaluate
from tongsa.runs.data import epoch_examples
from tongsa.runs.recipe import Recipe, merge_tables, parse_recipe
from tongsa.runs.run import Run
from tongsa.runs.validation import validation_pairs
from tongsa.interface import ModelConfig, Task
from tongsa.data.ledger import Pair
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel
from tongsa.training.config import TrainingConfig
from tongsa.training.micro_batches import find_micro_batch_tokens
from tongsa.training.optimizer import build_optimizers
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, unwrap_model
from tongsa.training.data_loader import iterate_batches

SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MAX_PROBE_UPDATES = 24
"""At most so many updates are made and thrown away to see how fast this machine is; the first half only warms it up."""
PROBE_BUDGET_FRACTION = 0.05
"""Share of the time that may be spent so."""
MAX_VALIDATIONS = 6
RESERVED_BUDGET_FRACTION = 0.03
"""Share of the time kept back for what was not measured."""
MIN_TOKENS_PER_THREAD = 512
"""Places that are enough for a thread by itself."""
SMALL_CORPUS_WORDS, LARGE_CORPUS_WORDS = 30_000, 5_000_000
"""Words on the target side below which data are few, and from which on they are many."""
MEDIUM_CORPUS_PRESET: Table = {
    "tokenizer": {"model": "unigram", "vocab_size": 5000, "shared": False},
    "model": {"encoder_layers": 4, "decoder_layers": 2, "tie_embeddings": "target"},
    "training": {"lr": {"hold": 0.0}},
    "decoding": {"alpha": 3.0},
}
"""What a Transformer does best with between them, given half an hour or more: benchmarks/reports/quality.md, lab-log.md."""
SHORT_BUDGET_SECONDS = 600
"""Seconds up to which a smaller one arrives further."""
SHORT_BUDGET_PRESET: Table = {
    "tokenizer": {"model": "unigram", "vocab_size": 3000, "shared": False},
    "model": {"ffn_width": 512, "encoder_layers": 3, "decoder_layers": 1, "dropout": 0.1, "tie_embeddings": "none"},
    "training": {"batch_tokens": 1280, "adam_lr_scale": 1.5, "lr": {"warmup": 20, "hold": 0.0}},
    "decoding": {"alpha": 2.4},
}
"""The same in so short a time: recipes/multi30k-short.toml."""


def parse_duration(text: str) -> float:
    """`90s`, `20m`, `1h30m`, `2d`; a plain number is minutes."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower().replace(" ", ""):
        raise InputError(f"--budget {text}: write a time such as 90s, 20m or 1h30m")
    total = sum(float(number) * SECONDS_PER_UNIT[unit or "m"] for number, unit in parts)
    if total <= 0:
        raise InputError(f"--budget {text}: that is no time at all; write for example 20m")
    return total


def choose_preset(pairs: Sequence[Pair], kind: str = "transformer", task: Task = "seq2seq", time_budget: float = inf) -> Table:
    """A recipe for this much data: little of it wants a small model and many rounds, much of it the paper's.

    With so many seconds to learn in, if they are few, a smaller model yet.
    """
    words = sum(map(_count_words, (pair.source if task == "classification" else pair.target for pair in pairs)))
    characters = sum(len(pair.source) + len(pair.target) for pair in pairs)
    alphabet = len({character for pair in pairs for character in pair.source + pair.target})
    if words < SMALL_CORPUS_WORDS:
        width, inner, layers, dropout, batch, rounds = 192, 512, 2, 0.1, 1024, 40
    elif words < LARGE_CORPUS_WORDS:
        width, inner, layers, dropout, batch, rounds = 256, 1024, 3, 0.15, 2560, 12
    else:
        width, inner, layers, dropout, batch, rounds = 512, 2048, 6, 0.1, 25_000, 10
    found: Table = {
        "tokenizer": {"model": "bpe", "vocab_size": 1500 if characters < 500_000 else 8000 if words < LARGE_CORPUS_WORDS else 32_000},
        "model": {"kind": kind} | model_preset(kind, width, inner, layers, dropout),
        "training": {
            "batch_tokens": batch,
            "optimizer": "muon",
            "adam_lr_scale": 0.5,
            "clip_grad_norm": 1.0,
            "ema": 0.99,
            "lr": {"schedule": "linear", "peak": 4e-3, "warmup": 100, "hold": 0.2},
        },
        "decoding": {"beam": 5, "alpha": 1.2},
    }
    if kind == "transformer" and SMALL_CORPUS_WORDS <= words < LARGE_CORPUS_WORDS:
        found = merge_tables(found, SHORT_BUDGET_PRESET if time_budget <= SHORT_BUDGET_SECONDS else MEDIUM_CORPUS_PRESET)
    pieces, training = max(1, round(1.25 * words)), found["training"]
    training["steps"] = max(300, min(100_000, rounds * pieces // training["batch_tokens"]))
    found["tokenizer"]["vocab_size"] = max(found["tokenizer"]["vocab_size"], 300 + 2 * alphabet)
    return found


def _count_words(text: str) -> int:
    """Where a script has no spaces, six characters count as a word."""
    return max(len(text.split()), len(text) // 6)


def model_preset(kind: str, width: int, ffn_width: int, layers: int, dropout: float) -> Table:
    """The sizes of a kind that has about as many parameters as this Transformer."""
    blocks: Table = {"width": width, "ffn_width": ffn_width, "heads": max(4, width // 64), "dropout": dropout, "norm": "pre"}
    tables: dict[str, Table] = {
        "transformer": blocks | {"encoder_layers": layers, "decoder_layers": layers},
        "transformer_classifier": blocks | {"layers": layers, "hidden": width},
        "transformer_lm": blocks | {"layers": 2 * layers},
        "conv_s2s": {
            "width": width,
            "hidden": width,
            "encoder_layers": layers + 1,
            "decoder_layers": layers + 1,
            "dropout": dropout,
        },
        "structured_self_attention": {"embedding": width, "width": width, "attention": width, "hops": 8, "hidden": width},
        "rnn_lm": {"width": 2 * width, "layers": 2, "dropout": dropout},
    }
    return tables.get(kind, {"embedding": width, "width": 2 * width, "dropout": dropout})


def fit_intervals(steps: int, training: TrainingConfig) -> TrainingConfig:
    """Validations, checkpoints and a warm-up that fit the number of steps."""
    return replace(
        training,
        steps=steps,
        validate_every=-(-steps // MAX_VALIDATIONS),
        checkpoint_every=max(1, min(training.checkpoint_every, -(-steps // 10))),
        lr=replace(training.lr, warmup=max(1, min(training.lr.warmup, steps // 8))),
    )


def fit_grad_accumulation(training: TrainingConfig, parallelism: int) -> TrainingConfig:
    """The same update as enough batches for all (workers or threads), or equally many where they compute in step."""
    if training.grad_accumulation >= parallelism and not (training.shard and training.grad_accumulation % parallelism):
        return training
    total, batches = training.batch_tokens * training.grad_accumulation, -(-training.grad_accumulation // parallelism) * parallelism
    return replace(training, grad_accumulation=batches, batch_tokens=max(1, total // batches))


def parallel_batches(training: TrainingConfig, model: ModelConfig) -> int:
    """Batches of an update that one process computes side by side: one a thread of a CPU, where each has enough to do.

    A batch norm reads the whole batch, and a limit of memory asks for smaller parts, not for several at once.
    """
    here = training.device == "cpu" and training.precision == "fp32" and not training.compile
    if not here or training.memory_limit_mib or training.micro_batch_tokens or getattr(model, "norm_kind", "") == "batch":
        return 1
    return max(1, min(training.threads, training.batch_tokens * training.grad_accumulation // MIN_TOKENS_PER_THREAD))


def fit_memory_limit(run: Run, distributed: DistributedContext = SINGLE_PROCESS) -> Recipe:
    """The recipe with batches computed in parts that keep to the memory given, as the first worker finds it."""

    def found() -> str:
        lengths = (pairs := epoch_examples(run.data, run.recipe.tokenizer, training.seed)(0)).lengths
        batches = epoch_order(lengths, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0)
        largest = max(batches, key=lambda rows: len(rows) * int(lengths[rows].max(axis=0).sum()))
        return str(find_micro_batch_tokens(run.bundle.model, pairs.batch(largest), training))

    training = run.recipe.training
    return replace(run.recipe, training=replace(training, micro_batch_tokens=int(distributed.broadcast_text(found))))


def fit_time_budget(run: Run, time_budget: float, started_at: float, distributed: DistributedContext = SINGLE_PROCESS) -> Recipe:
    """The recipe with steps, validations and decay for the time given, from a measurement on a copy of the model."""
    update = _measure_update_seconds(run, PROBE_BUDGET_FRACTION * time_budget, distributed)
    planned = distributed.broadcast_text(lambda: json.dumps(_plan_steps(run, time_budget, started_at, update).to_table()))
    return parse_recipe(json.loads(planned))


def _plan_steps(run: Run, time_budget: float, started_at: float, update_seconds: float) -> Recipe:
    training, validation = run.recipe.training, _measure_validation_seconds(run)
    left = time_budget * (1 - RESERVED_BUDGET_FRACTION) - (perf_counter() - started_at)
    validations = max(1, min(MAX_VALIDATIONS, int(left * 0.15 / max(validation, 1e-3))))
    steps = max(1, int((left - validations * validation) / update_seconds))
    planned = replace(
        fit_intervals(steps, training),
        validate_every=-(-steps // validations),
        checkpoint_every=max(1, int(60 / update_seconds)),
    )
    return replace(run.recipe, training=planned)


def _measure_update_seconds(run: Run, max_seconds: float, distributed: DistributedContext) -> float:
    """Mean time of an update."""
    training = replace(run.recipe.training, steps=MAX_PROBE_UPDATES)
    device, copied = torch.device(training.device), copy.deepcopy(run.bundle.model)
    learner = distributed.wrap_model(TrainingModel(copied, training), device, shard=training.shard, compiled=training.compile)
    optimisers = build_optimizers(unwrap_model(learner), training, distributed)
    batches = iterate_batches(
        epoch_examples(run.data, run.recipe.tokenizer, training.seed),
        batch_tokens=training.batch_tokens,
        seed=training.seed + 1,
        start=DataPosition(),
    )
    times: list[float] = []
    for step in train(learner, batches, optimisers, training.lr.build(1, MAX_PROBE_UPDATES), training, distributed=distributed):
        times.append(step.seconds)
        if distributed.any_rank(sum(times) > max_seconds and len(times) >= 4):
            break
    return sum(times[len(times) // 2 :]) / len(times[len(times) // 2 :])


def _measure_validation_seconds(run: Run) -> float:
    """Time of a validation. A model that has learnt nothing may babble to the limit, so outputs are kept short."""
    pairs = [(pair.source, pair.target) for pair in validation_pairs(run)]
    sample = pairs[:: max(1, len(pairs) // 64)]
    short = replace(run.bundle, decoding=replace(run.bundle.decoding, max_extra_tokens=0))
    began = perf_counter()
    evaluate(short.text_model(), sample, run.evaluation_config)
    return (perf_counter() - began) * len(pairs) / len(sample)
