"""What the verbs do. torch is loaded here, when a verb needs it: --help answers at once."""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.runs.translate_job import ModelSpec
    from tongsa.training.checkpoint import TrainingProgress

LINES_PER_CHUNK = 512
"""Lines read together when they come from a file or a pipe."""


def print_status(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201


def print_result(line: str) -> None:
    print(line)  # noqa: T201


def demo(options: argparse.Namespace) -> None:
    from tongsa.demo import demo

    demo.run_demo(options.run, options.set)


def train(options: argparse.Namespace) -> int:
    from tongsa.cli import launcher

    if options.workers < 1:
        raise InputError(f"--workers {options.workers}: at least one is needed")
    if options.workers > 1 and "RANK" not in os.environ:
        return launcher.launch(options.arguments, options.workers)
    launcher.terminate_with_launcher()
    folder, progress = _train_or_resume(options)
    if os.environ.get("RANK", "0") == "0":
        print_training_summary(folder, progress)
    return 0


def print_training_summary(folder: Path, progress: "TrainingProgress") -> None:
    from tongsa import bundle

    task = bundle.load_bundle(folder).config.task
    print_status(f"done: {progress.step:,} steps; the best model (step {progress.best_step:,}) is in {folder}/model")
    print_status(f"next: {NEXT_COMMANDS[task].format(run=folder)}")


def _train_or_resume(options: argparse.Namespace) -> "tuple[Path, TrainingProgress]":
    from tongsa import runs

    if options.resume is not None:
        given = [name for name in ("recipe", "pairs", "dev", "run", "budget", "set") if getattr(options, name)]
        if given:
            raise InputError(f"--resume goes on with the settings in run.toml; leave out {', '.join(given)}")
        return options.resume, runs.resume(options.resume)
    if options.run is None:
        raise InputError("--run is missing: say where to keep this run, for example --run runs/mine")
    progress = runs.train(
        options.recipe,
        run=options.run,
        data=options.pairs,
        dev=options.dev,
        settings=options.set,
        budget=options.budget,
        resume_if_exists=options.again,
    )
    return options.run, progress


NEXT_COMMANDS = {
    "seq2seq": "echo '…' | tongsa translate {run}",
    "classification": "echo '…' | tongsa classify {run}",
    "language_model": "tongsa sample {run}",
}


def _read_chunks(file: str) -> Iterator[list[str]]:
    """Lines of a file or of stdin, many at a time; one at a time where somebody types them."""
    from tongsa.data.corpus import read_lines

    lines = read_lines(file)
    typed = file == "-" and sys.stdin.isatty()
    while chunk := list(islice(lines, 1 if typed else LINES_PER_CHUNK)):
        yield chunk
        sys.stdout.flush()


def model_spec(options: argparse.Namespace) -> "ModelSpec":
    from tongsa.runs.translate_job import ModelSpec

    ensemble = tuple(options.ensemble)
    return ModelSpec(
        run=options.run, ensemble=ensemble, lm=options.lm, lm_weight=options.lm_weight, engine=options.engine
    )


def decoding_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line says about the search; nothing stands for the model's own."""
    short = {name: value for name in ("beam", "alpha") if (value := getattr(options, name)) is not None}
    return parse_assignments(options.search, "--search") | short


def parse_assignments(assignments: Sequence[str], flag: str) -> dict[str, Any]:
    """KEY=VALUE words as a table."""
    from tongsa import config

    found: dict[str, Any] = {}
    for word in assignments:
        config.override(found, word, flag)
    return found


def classify(options: argparse.Namespace) -> None:
    from tongsa import bundle

    classifier = bundle.load_bundle(options.run).classifier()
    for chunk in _read_chunks(options.file):
        for text, answer in zip(chunk, classifier.classify(chunk), strict=True):
            if answer.truncated:
                print_status(f"longer than the model can read, cut: {text[:60]}…")
            record = {
                "text": text,
                "label": answer.label,
                "probabilities": answer.probabilities,
                "cut": answer.truncated,
            }
            line = f"{answer.label}\t{answer.probability:.4f}"
            print_result(json.dumps(record, ensure_ascii=False) if options.json else line)


def sample(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.decoding.sampling import SamplingConfig

    try:
        sampling = SamplingConfig(
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            seed=options.seed,
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    if options.count < 1 or options.longest < 1:
        raise InputError("--count and --longest are at least 1")
    writer = bundle.load_bundle(options.run).generator()
    for text, total in writer.sample(options.count, sampling, max_tokens=options.longest):
        print_result(json.dumps({"text": text, "log_probability": total}, ensure_ascii=False) if options.json else text)


def score(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.decoding.text_model import PairError

    reader = bundle.load_bundle(options.run).text_model()
    if options.rerank and reader.task == "language_model":
        raise InputError("--rerank orders candidates of a source; a language model has none: sort its scores instead")
    if options.normalise and not options.rerank:
        raise InputError("--normalise says how candidates are compared: it goes with --rerank")
    total, pieces, rows = 0.0, 0, 0
    for pairs in _read_pairs(
        options.file, needs_source=reader.task != "language_model", group_by_source=options.rerank
    ):
        try:
            found = reader.score(pairs)
        except PairError as error:
            raise InputError(f"{options.file}:{rows + error.index + 1}: {error.reason}") from None
        total, pieces = total + sum(map(sum, found)), pieces + sum(map(len, found))
        rows += len(pairs)
        scored = list(zip(pairs, found, strict=True))
        for pair, values in _rerank(scored, options) if options.rerank else scored:
            named = reader.target_tokenizer.token_strings(reader.target_tokenizer.encode_all([pair[1]])[0])
            print_result(
                _format_score(
                    pair if reader.task != "language_model" else pair[1:], values, named, as_json=options.json
                )
            )
    if pieces:
        print_status(
            f"perplexity {math.exp(min(700.0, -total / pieces)):.4f} a piece, {pieces:,} pieces, {rows:,} lines"
        )


def _read_pairs(file: str, *, needs_source: bool, group_by_source: bool = False) -> Iterator[list[tuple[str, str]]]:
    """Pairs, many at a time; with `whole` those of one source that stand one behind the other are never parted."""
    waiting: list[tuple[str, str]] = []
    number = 0
    for chunk in _read_chunks(file):
        for line in chunk:
            number += 1
            pair = _parse_pair(line, f"{file}:{number}", needs_source)
            if group_by_source and len(waiting) >= LINES_PER_CHUNK and waiting[-1][0] != pair[0]:
                yield waiting
                waiting = []
            waiting.append(pair)
        if not group_by_source:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _parse_pair(line: str, location: str, needs_source: bool) -> tuple[str, str]:
    from tongsa.data.corpus import CorpusError
    from tongsa.data.normalize import normalize

    cells = line.split("\t")
    if needs_source and len(cells) < 2:
        raise CorpusError(f"{location}: no tab; write source<TAB>target")
    source, target = (cells[0], cells[1]) if needs_source else ("", line)
    if not normalize(target):
        raise CorpusError(f"{location}: empty; there is nothing to score")
    return normalize(source), normalize(target)


ScoredPair = tuple[tuple[str, str], list[float]]


def _rerank(scored: list[ScoredPair], options: argparse.Namespace) -> list[ScoredPair]:
    def merit(one: ScoredPair) -> float:
        return sum(one[1]) / (len(one[1]) if options.normalise else 1)

    return [
        one
        for _, candidates in groupby(scored, key=lambda one: one[0][0])
        for one in sorted(candidates, key=merit, reverse=True)
    ]


def _format_score(texts: tuple[str, ...], token_log_probs: list[float], tokens: list[str], *, as_json: bool) -> str:
    if not as_json:
        return "\t".join([f"{sum(token_log_probs):.4f}", " ".join(f"{value:.3f}" for value in token_log_probs), *texts])
    named = [*tokens, "</s>"][: len(token_log_probs)]
    each = [{"piece": name, "log_probability": value} for name, value in zip(named, token_log_probs, strict=True)]
    sides = dict(zip(("source", "target") if len(texts) > 1 else ("text",), texts, strict=True))
    return json.dumps(sides | {"log_probability": sum(token_log_probs), "pieces": each}, ensure_ascii=False)


def view(options: argparse.Namespace) -> None:
    from tongsa.visualize.panels import view

    print_result(str(view(options.run, *options.texts).save(options.output)))


def evaluate(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.data.corpus import CorpusError, read_pairs, read_texts
    from tongsa.data.ledger import Ledger
    from tongsa.evaluation.evaluate import DEFAULT_METRICS, EvaluationConfig
    from tongsa.evaluation.evaluate import evaluate as score_pairs
    from tongsa.evaluation.metrics import bleu_tokenizer

    loaded = bundle.load_bundle(options.run)
    given = [
        name for name in ("scores", "ensemble", "lm", "beam", "alpha", "search", "tokenize") if getattr(options, name)
    ]
    if given and loaded.config.task != "seq2seq":
        raise InputError(f"{loaded.kind}: --{given[0].replace('_', '-')} is for models that translate; leave it out")
    ledger = Ledger(None)
    languages = (loaded.source_language, loaded.target_language)
    if loaded.config.task == "language_model":
        found = list(read_texts(options.pairs, ledger))
    else:
        columns = (options.columns[0], options.columns[1])
        found = list(read_pairs(options.pairs, ledger, columns=columns, languages=languages, header=options.header))
    if not found:
        raise CorpusError(f"{options.pairs[0]}: no usable line in it: {ledger.summary()}")
    if ledger.dropped:
        print_status(ledger.summary())
    how = EvaluationConfig(
        metrics=options.scores or loaded.metrics or DEFAULT_METRICS,
        tokenize=options.tokenize or bleu_tokenizer(loaded.target_language),
        decoding=decoding_settings(options),
    )
    reader = model_spec(options).build() if loaded.config.task == "seq2seq" else loaded.text_model()
    report = score_pairs(reader, [(pair.source, pair.target) for pair in found], how)
    if options.json:
        print_result(json.dumps(report.as_json() | {"dropped": ledger.dropped}, ensure_ascii=False))
        return
    for name, score in report.scores.items():
        print_result(f"{name:12} {score.value:8.2f}  {score.signature}")
    print_result(f"{'sentences':12} {report.sentences:8,}  in {report.seconds:.1f} s")
