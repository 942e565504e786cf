"""Before step 1: all that can be known about a run without training it. The parts are in text/ and training/."""

from collections.abc import Iterator, Sequence
from itertools import cycle

import numpy as np

from tongsa.batch import Batch, Examples, Ragged, plan
from tongsa.errors import InputError
from tongsa.experiment.data import read
from tongsa.experiment.progress import Display
from tongsa.experiment.run import Run
from tongsa.text import Ledger, Pair, doctor, scripts
from tongsa.text.alignment import Cut, alignment, answer, odd_pairs
from tongsa.text.finding import Finding
from tongsa.training import footprint, preflight

LINES = 20_000
"""Lines looked at for what shows in a sample; leaks, repetitions and lost lines are looked for in all of them."""
GLANCE, GLANCED_PAIRS = 1_000, 400
"""The same for the fast subset, and pairs whose alignment is looked at."""
GLANCED_TRAIN, GLANCED_HELD = 100_000, 10_000
"""Of larger sets, the fast subset looks for leaks and repetitions among so many lines, evenly spread."""
SHOWN_BATCH = 16
"""Rows of the batch that the model is tried on."""
STYLES = {"warning": "yellow", "fault": "red"}


def examination(run: Run) -> Iterator[Finding]:
    """Every check that fits the task, the cheap ones first."""
    data, test = run.data, _test(run)
    yield doctor.dropped(run.folder / "ledger.jsonl")
    yield from _leaks(run, data.train, test)
    yield doctor.duplicates(data.train)
    sample = doctor.spread(data.train, LINES)
    yield from _letters(run, sample)
    yield from _unknown(run, sample, test)
    if data.task == "pairs":
        yield doctor.copies(data.train)
        yield scripts.strays(sample)
        found = answer(data.train, *_cuts(run))
        yield alignment(data.train, found)
        yield odd_pairs(data.train, found)
    if data.task == "labels":
        yield doctor.balance(data.train)
        yield doctor.contradictions(data.train)
        yield doctor.given_away(sample)
        yield doctor.strange_labels([pair.target for pair in data.train], test, "test")
    batch = _batch(run, _few(data.train))
    yield preflight.causal_leak(run.bundle.model, batch)
    yield preflight.start_loss(run.bundle.model, batch)
    yield preflight.overfits(run.bundle.model, batch)
    yield from _needs(run)


def glance(run: Run) -> Iterator[Finding]:
    """What can be seen in a moment, on however much data."""
    data, test = run.data, _test(run)
    train = doctor.spread(data.train, GLANCED_TRAIN)
    yield doctor.dropped(run.folder / "ledger.jsonl")
    yield from _leaks(run, train, doctor.spread(test, GLANCED_HELD))
    yield doctor.duplicates(train)
    sample = doctor.spread(data.train, GLANCE)
    yield from _letters(run, sample)
    yield from _unknown(run, sample, doctor.spread(test, GLANCE))
    if data.task == "pairs":
        yield doctor.copies(sample)
        yield scripts.strays(sample)
        yield alignment(data.train, answer(data.train, *_cuts(run), GLANCED_PAIRS))
    if data.task == "labels":
        yield doctor.balance(train)
        yield doctor.strange_labels([pair.target for pair in data.train], test, "test")
    batch = _batch(run, _few(data.train))
    yield preflight.causal_leak(run.bundle.model, batch)
    yield preflight.start_loss(run.bundle.model, batch)


def warn(run: Run, display: Display) -> None:
    """Say what a glance finds wrong; only a model that sees its answer is stopped, for no training can mend that."""
    for finding in glance(run):
        if finding.level in STYLES:
            display.say(finding.text, STYLES[finding.level])
        if finding.name == preflight.CAUSAL and finding.level == "fault":
            raise InputError(f"{run.recipe.kind}: {finding.seen}; {finding.means}; {finding.remedy}")


def _test(run: Run) -> list[Pair]:
    data = run.recipe.data
    return read(data, run.data.task, data.paths(data.test), Ledger(None)) if data.test else []


def _leaks(run: Run, train: Sequence[Pair], test: Sequence[Pair]) -> Iterator[Finding]:
    data = run.data
    if data.dev is not data.train:
        yield doctor.leakage(train, doctor.spread(data.dev, GLANCED_HELD), "dev")
    if test:
        yield doctor.leakage(train, test, "test")
    if test and data.dev is not data.train:
        yield doctor.leakage(data.dev, test, "test", "dev")


def _letters(run: Run, sample: Sequence[Pair]) -> Iterator[Finding]:
    sides = {"source": [pair.source for pair in sample], "target": [pair.target for pair in sample]}
    for name in {"text": ["target"], "labels": ["source"]}.get(run.data.task, sides):
        texts = sides[name]
        yield scripts.wrong_script(sample, texts, name)
        yield scripts.mixed_lines(sample, texts, name)
    yield scripts.mixed_words(sample)
    yield scripts.damaged(sample)


def _unknown(run: Run, sample: Sequence[Pair], test: Sequence[Pair]) -> Iterator[Finding]:
    data = run.data
    for name, pairs in (("train", sample), ("dev", doctor.spread(data.dev, len(sample))), ("test", test)):
        if pairs and data.task != "text":
            yield doctor.unknown(pairs, [pair.source for pair in pairs], data.source, f"{name} source")
        if pairs and data.task != "labels":
            yield doctor.unknown(pairs, [pair.target for pair in pairs], data.target, f"{name} target")


def _cuts(run: Run) -> tuple[Cut, Cut]:
    source, target = run.data.source, run.data.target
    return Cut(source.split_all, len(source)), Cut(target.split_all, len(target))


def _few(train: Sequence[Pair]) -> Sequence[Pair]:
    """Distinct sources: one that has two targets cannot be learnt by heart."""
    sample = doctor.spread(train, 4 * SHOWN_BATCH)
    return list({pair.source or pair.target: pair for pair in sample}.values())[:SHOWN_BATCH]


def _examples(run: Run, pairs: Sequence[Pair]) -> Examples:
    source, target = run.data.source, run.data.target
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return Examples(Ragged(source.split_all(sources)), Ragged(target.split_all(targets)), run.data.task != "labels")


def _batch(run: Run, pairs: Sequence[Pair]) -> Batch:
    return _examples(run, pairs).batch(np.arange(len(pairs)))


def _needs(run: Run) -> Iterator[Finding]:
    training = run.recipe.training
    examples = _examples(run, doctor.spread(run.data.train, 10 * LINES))
    batches = plan(examples.lengths, budget=training.batch_tokens, seed=training.seed, epoch=0)
    places = [len(rows) * int(examples.lengths[rows].max(axis=0).sum()) for rows in batches]
    largest = batches[int(np.argmax(places))]
    ordinary = (examples.batch(rows) for rows in cycle(batches))
    found = footprint.need(run.bundle.model, examples.batch(largest), ordinary, training)
    yield footprint.memory(found)
    yield footprint.duration(found, training)
