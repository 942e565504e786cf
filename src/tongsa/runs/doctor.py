"""`tongsa doctor`: all checks of a run before its first step. The checks themselves are in `tongsa.checks`."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, cycle
from pathlib import Path

import numpy as np

from tongsa.batch import Batch, Examples, Ragged, epoch_order
from tongsa.checks import corpus, encoding, model, resources, scripts, text
from tongsa.checks.alignment import Segmenter, check_alignment, check_odd_pairs, measure_alignment
from tongsa.checks.finding import Finding
from tongsa.checks.misaligned_blocks import find_misaligned_blocks
from tongsa.data.ledger import Pair
from tongsa.errors import InputError
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import check_data_files, prepare_data
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.planner import PathOrPaths, resolve_recipe
from tongsa.runs.reporting import ProgressDisplay
from tongsa.runs.run import Run, create_run

MAX_SAMPLED_LINES = 20_000
"""Lines sampled for most checks; leakage, duplicates and dropped lines are counted in all lines."""
MAX_QUICK_SAMPLED_LINES, MAX_QUICK_ALIGNED_PAIRS = 1_000, 400
"""Sample sizes of the quick checks: lines, and pairs for the alignment."""
MAX_QUICK_TRAIN_LINES, MAX_HELD_OUT_LINES = 100_000, 10_000
"""Lines in which the quick checks look for leakage and duplicates, evenly spaced."""
MODEL_CHECK_ROWS = 16
"""Size of the batch for the checks of the model."""
LEVEL_STYLES = {"warning": "yellow", "fault": "red"}


def run_doctor(
    recipe: str | Path | None = None,
    *,
    data: PathOrPaths = (),
    dev: PathOrPaths = (),
    test: PathOrPaths = (),
    settings: Sequence[str] = (),
) -> list[Finding]:
    """Check the run that `train` would start with these arguments; leave no files behind."""
    reader = CorpusReader()
    resolved = resolve_recipe(recipe, data=data, dev=dev, test=test, settings=settings, reader=reader)
    check_data_files(resolved.data, str(recipe))
    resolved = replace(resolved, training=configure_hardware(resolved.training))
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(Path(folder), resolved, prepare_data(resolved, Path(folder), reader=reader))
        return list(run_checks(run))


def run_checks(run: Run) -> Iterator[Finding]:
    """Yield the findings of all checks for the task, cheap checks first."""
    data, test = run.data, run.data.test
    yield text.check_size(data.train, is_fine_tuned=bool(run.recipe.training.init_from))
    yield corpus.check_dropped(run.folder / "ledger.jsonl")
    yield from _check_leakage(run, data.train, test)
    yield corpus.check_duplicates(data.train)
    sample = corpus.evenly_spaced(data.train, MAX_SAMPLED_LINES)
    yield from _check_text(run, sample)
    yield from _check_scripts(run, sample)
    yield from _check_unknown_tokens(run, sample, test)
    if data.task == "seq2seq":
        yield corpus.check_copies(data.train)
        if not _has_several_languages(run):
            yield scripts.check_wrong_side(sample, run.recipe.data.languages)
        yield from _check_direction(run, sample)
        alignment = measure_alignment(data.train, *_alignment_encoders(run))
        is_shifted = alignment is not None and alignment.line_shift is not None
        yield check_alignment(data.train, alignment, find_misaligned_blocks(data.train) if is_shifted else ())
        yield check_odd_pairs(data.train, alignment)
    if data.task == "classification":
        yield corpus.check_label_balance(data.train)
        yield corpus.check_contradictions(data.train)
        yield corpus.check_label_in_text(sample)
        yield corpus.check_unseen_labels(data.train.targets, test, "test")
    batch = _encode_batch(run, _distinct_sources(data.train))
    yield model.check_causal_mask(run.bundle.model, batch)
    yield model.check_initial_loss(run.bundle.model, batch)
    yield model.check_overfits_one_batch(run.bundle.model, batch)
    yield from _check_resources(run)


def run_quick_checks(run: Run) -> Iterator[Finding]:
    """Yield the findings of the checks that take about a second, even on a large corpus."""
    data, test = run.data, run.data.test
    train = corpus.evenly_spaced(data.train, MAX_QUICK_TRAIN_LINES)
    yield text.check_size(train, is_fine_tuned=bool(run.recipe.training.init_from))
    yield corpus.check_dropped(run.folder / "ledger.jsonl")
    yield from _check_leakage(run, train, corpus.evenly_spaced(test, MAX_HELD_OUT_LINES))
    yield corpus.check_duplicates(train)
    sample = corpus.evenly_spaced(data.train, MAX_QUICK_SAMPLED_LINES)
    yield from _check_text(run, sample)
    yield from _check_scripts(run, sample)
    yield from _check_unknown_tokens(run, sample, corpus.evenly_spaced(test, MAX_QUICK_SAMPLED_LINES))
    if data.task == "seq2seq":
        yield corpus.check_copies(sample)
        if not _has_several_languages(run):
            yield scripts.check_wrong_side(sample, run.recipe.data.languages)
        yield from _check_direction(run, sample)
        alignment = measure_alignment(data.train, *_alignment_encoders(run), MAX_QUICK_ALIGNED_PAIRS)
        yield check_alignment(data.train, alignment)
    if data.task == "classification":
        yield corpus.check_label_balance(train)
        yield corpus.check_unseen_labels(data.train.targets, test, "test")
    batch = _encode_batch(run, _distinct_sources(data.train))
    yield model.check_causal_mask(run.bundle.model, batch)
    yield model.check_initial_loss(run.bundle.model, batch)


def warn_before_training(run: Run, display: ProgressDisplay) -> None:
    """Print the warnings and faults of the quick checks; raise InputError for a decoder that sees future tokens."""
    for finding in run_quick_checks(run):
        if finding.level in LEVEL_STYLES:
            display.log(finding.text, LEVEL_STYLES[finding.level])
        if finding.name == model.CAUSAL_MASK_CHECK and finding.level == "fault":
            raise InputError(f"{run.recipe.kind}: {finding.seen}; {finding.means}; {finding.remedy}")


def _check_leakage(run: Run, train: Sequence[Pair], test: Sequence[Pair]) -> Iterator[Finding]:
    data = run.data
    if data.dev is not data.train:
        yield corpus.check_leakage(train, corpus.evenly_spaced(data.dev, MAX_HELD_OUT_LINES), "dev")
    if test:
        yield corpus.check_leakage(train, test, "test")
    if test and data.dev is not data.train:
        yield corpus.check_leakage(data.dev, test, "test", "dev")


def _has_several_languages(run: Run) -> bool:
    """Return whether a side has texts of several languages, so that no script is the right one."""
    return len({corpus.languages for corpus in run.recipe.data.per_corpus}) > 1


def _check_scripts(run: Run, sample: Sequence[Pair]) -> Iterator[Finding]:
    if _has_several_languages(run):
        return
    sides = {"source": [pair.source for pair in sample], "target": [pair.target for pair in sample]}
    for name in {"language_model": ["target"], "classification": ["source"]}.get(run.data.task, sides):
        texts = sides[name]
        yield scripts.check_script(sample, texts, name)
        yield scripts.check_mixed_lines(sample, texts, name)
    yield scripts.check_mixed_words(sample)


def _check_text(run: Run, sample: Sequence[Pair]) -> Iterator[Finding]:
    """Yield the findings about encoding, markup and headers of the files."""
    config = run.recipe.data
    yield encoding.check_mojibake(
        config.paths([*config.train, *config.dev, *config.test]), len(sample), config.encoding
    )
    yield from text.check_patterns(sample)
    train, dev = run.data.train, run.data.dev
    yield text.check_header([*train.first_lines, *dev.first_lines], chain(train, dev))


def _check_direction(run: Run, sample: Sequence[Pair]) -> Iterator[Finding]:
    data = run.data
    held_out = {"dev": data.dev if data.dev is not data.train else [], "test": data.test}
    for name, pairs in held_out.items():
        if pairs:
            yield scripts.check_direction(sample, corpus.evenly_spaced(pairs, len(sample)), name)


def _check_unknown_tokens(run: Run, sample: Sequence[Pair], test: Sequence[Pair]) -> Iterator[Finding]:
    data = run.data
    for name, pairs in (("train", sample), ("dev", corpus.evenly_spaced(data.dev, len(sample))), ("test", test)):
        if pairs and data.task != "language_model":
            sources = [pair.source for pair in pairs]
            yield corpus.check_unknown_tokens(pairs, sources, data.source_tokenizer, f"{name} source")
        if pairs and data.task != "classification":
            targets = [pair.target for pair in pairs]
            yield corpus.check_unknown_tokens(pairs, targets, data.target_tokenizer, f"{name} target")


def _alignment_encoders(run: Run) -> tuple[Segmenter, Segmenter]:
    source, target = run.data.source_tokenizer, run.data.target_tokenizer
    return Segmenter(source.encode_all, len(source)), Segmenter(target.encode_all, len(target))


def _distinct_sources(train: Sequence[Pair]) -> Sequence[Pair]:
    """Return some pairs with distinct sources: a source with two targets cannot be memorized."""
    sample = corpus.evenly_spaced(train, 4 * MODEL_CHECK_ROWS)
    return list({pair.source or pair.target: pair for pair in sample}.values())[:MODEL_CHECK_ROWS]


def _encode_pairs(run: Run, pairs: Sequence[Pair]) -> Examples:
    source, target = run.data.source_tokenizer, run.data.target_tokenizer
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return Examples(
        Ragged(source.encode_all(sources)), Ragged(target.encode_all(targets)), run.data.task != "classification"
    )


def _encode_batch(run: Run, pairs: Sequence[Pair]) -> Batch:
    return _encode_pairs(run, pairs).batch(np.arange(len(pairs)))


def _check_resources(run: Run) -> Iterator[Finding]:
    training = run.recipe.training
    examples = _encode_pairs(run, corpus.evenly_spaced(run.data.train, 10 * MAX_SAMPLED_LINES))
    batches = epoch_order(examples.lengths, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0)
    padded_sizes = [len(rows) * int(examples.lengths[rows].max(axis=0).sum()) for rows in batches]
    largest = batches[int(np.argmax(padded_sizes))]
    typical = (examples.batch(rows) for rows in cycle(batches))
    estimate = resources.estimate_resources(run.bundle.model, examples.batch(largest), typical, training)
    yield resources.check_memory(estimate)
    yield resources.check_training_time(estimate, training)
