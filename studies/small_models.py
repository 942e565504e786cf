"""Small models of the trained studies: the demo's pairs or Multi30k, a fixed number of steps."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from studies.study import ROOT
from studies.trained_runs import Evaluation
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError

MULTI30K = ROOT.parent.parent / "shared/data/multi30k"
"""Folder of Multi30k, task 1 (https://github.com/multi30k/dataset): beside the repository, not part of it."""
MULTI30K_RECIPE = ROOT.parent / "recipes/multi30k-short.toml"
SCORED_PAIRS = 100
"""Pairs of one forward pass in teacher-forced measurements."""


def step_settings(steps: int) -> tuple[str, ...]:
    """Return settings of a training with this many steps, one validation at its end, and greedy search."""
    return (
        f"training.steps={steps}",
        f"training.validate_every={steps}",
        "training.validate_sentences=20",
        f"training.checkpoint_every={steps}",
        "decoding.beam=1",
    )


def demo_settings(width: int = 96, steps: int = 300) -> tuple[str, ...]:
    """Return the settings that differ from the demo's recipe: narrower, and fewer steps."""
    return (f"model.width={width}", f"model.ffn_width={3 * width}", *step_settings(steps))


class TrainingData(NamedTuple):
    """Data of a study: a recipe with its settings, and the pairs of its test set."""

    recipe: Path | None
    settings: tuple[str, ...]
    test: list[tuple[str, str]]


def multi30k_data(steps: int) -> TrainingData:
    """Return Multi30k German → English with a vocabulary of 2000 tokens."""
    if not MULTI30K.is_dir():
        raise InputError(
            f"{MULTI30K}: not there. Put the files of Multi30k into it, see recipes/{MULTI30K_RECIPE.name}."
        )
    sides = ((MULTI30K / f"test_2016_flickr.{side}").read_text("utf-8").splitlines() for side in ("de", "en"))
    folder = f"data.folder={json.dumps(str(MULTI30K))}"
    settings = (folder, "data.test=[]", "tokenizer.vocab_size=2000", *step_settings(steps))
    return TrainingData(MULTI30K_RECIPE, settings, list(zip(*sides, strict=True)))


def quick_data(steps: int, sentences: int) -> TrainingData:
    """Return the demo's pairs, for the quick version of a study: no other files are needed."""
    from tongsa.demo import read_split

    return TrainingData(None, step_settings(steps), read_split("test")[:sentences])


def score_pairs(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Evaluation:
    """Return the metrics of the outputs, and token accuracy and log perplexity given the reference prefix."""
    import tongsa

    report = tongsa.evaluate(translator, pairs=pairs)
    scores = {name: score.value for name, score in report.scores.items()} | teacher_forced(translator, pairs)
    return scores | {"log_perplexity": math.log(scores["perplexity"])}


def evaluate_demo_test(run: Path, sentences: int = 0) -> Evaluation:
    """Return the scores of the demo's test, or of its first sentences, and the number of parameters."""
    from tongsa.demo import read_split

    translator, test = load_translator(run), read_split("test")
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    return {"test": score_pairs(translator, test[:sentences] if sentences else test), "parameters": parameters}


def load_translator(run: Path) -> Translator:
    import tongsa

    return tongsa.load(run, task="seq2seq", engine="torch")


def target_logits(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield logits (token, vocabulary) given the reference prefix, and the reference tokens (token,)."""
    import numpy as np

    examples = translator.encode_pairs(pairs)
    with torch.inference_mode():
        for start in range(0, len(pairs), SCORED_PAIRS):
            batch = examples.batch(np.arange(start, min(start + SCORED_PAIRS, len(pairs))))
            logits = translator.model(batch.source, batch.decoder_input)
            yield logits[batch.target.mask], batch.target.tokens[batch.target.mask]


def teacher_forced(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Evaluation:
    """Return perplexity and the percentage of tokens whose most probable prediction is right."""
    loss = correct = count = 0.0
    for logits, tokens in target_logits(translator, pairs):
        loss += float(torch.nn.functional.cross_entropy(logits.float(), tokens, reduction="sum"))
        correct += int((logits.argmax(-1) == tokens).sum())
        count += len(tokens)
    return {"perplexity": float(torch.tensor(loss / count).exp()), "token_accuracy": 100 * correct / count}
