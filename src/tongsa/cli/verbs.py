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
    from tongsa.experiment.translation import Models
    from tongsa.training.snapshot import Progress

CHUNK = 512
"""Lines read together when they come from a file or a pipe."""


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr)  # noqa: T201


def out(line: str) -> None:
    print(line)  # noqa: T201


def demo(options: argparse.Namespace) -> None:
    from tongsa.demo import demo

    demo.show(options.run, options.set)


def train(options: argparse.Namespace) -> int:
    from tongsa.cli import launcher

    if options.workers < 1:
        raise InputError(f"--workers {options.workers}: at least one is needed")
    if options.workers > 1 and "RANK" not in os.environ:
        return launcher.launch(options.arguments, options.workers)
    launcher.end_with_launcher()
    folder, progress = _trained(options)
    if os.environ.get("RANK", "0") == "0":
        finished(folder, progress)
    return 0


def finished(folder: Path, progress: "Progress") -> None:
    from tongsa import bundle

    task = bundle.load(folder).config.task
    say(f"done: {progress.step:,} steps; the best model (step {progress.best_step:,}) is in {folder}/model")
    say(f"next: {NEXT[task].format(run=folder)}")


def _trained(options: argparse.Namespace) -> "tuple[Path, Progress]":
    from tongsa import experiment

    if options.resume is not None:
        given = [name for name in ("recipe", "pairs", "dev", "run", "budget", "set") if getattr(options, name)]
        if given:
            raise InputError(f"--resume goes on with the settings in run.toml; leave out {', '.join(given)}")
        return options.resume, experiment.resume(options.resume)
    if options.run is None:
        raise InputError("--run is missing: say where to keep this run, for example --run runs/mine")
    progress = experiment.train(
        options.recipe,
        run=options.run,
        pairs=options.pairs,
        dev=options.dev,
        settings=options.set,
        budget=options.budget,
        again=options.again,
    )
    return options.run, progress


NEXT = {
    "pairs": "echo '…' | tongsa translate {run}",
    "labels": "echo '…' | tongsa classify {run}",
    "text": "tongsa sample {run}",
}


def _chunks(file: str) -> Iterator[list[str]]:
    """Lines of a file or of stdin, many at a time; one at a time where somebody types them."""
    from tongsa.text import read_lines

    lines = read_lines(file)
    typed = file == "-" and sys.stdin.isatty()
    while chunk := list(islice(lines, 1 if typed else CHUNK)):
        yield chunk
        sys.stdout.flush()


def models(options: argparse.Namespace) -> "Models":
    from tongsa.experiment.translation import Models

    ensemble = tuple(options.ensemble)
    return Models(run=options.run, ensemble=ensemble, lm=options.lm, lm_weight=options.lm_weight, engine=options.engine)


def search_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line says about the search; nothing stands for the model's own."""
    short = {name: value for name in ("beam", "alpha") if (value := getattr(options, name)) is not None}
    return assigned(options.search, "--search") | short


def assigned(words: Sequence[str], option: str) -> dict[str, Any]:
    """KEY=VALUE words as a table."""
    from tongsa import config

    found: dict[str, Any] = {}
    for word in words:
        config.override(found, word, option)
    return found


def classify(options: argparse.Namespace) -> None:
    from tongsa import bundle

    classifier = bundle.load(options.run).classifier()
    for chunk in _chunks(options.file):
        for text, answer in zip(chunk, classifier.classify(chunk), strict=True):
            if answer.cut:
                say(f"longer than the model can read, cut: {text[:60]}…")
            record = {"text": text, "label": answer.label, "probabilities": answer.probabilities, "cut": answer.cut}
            line = f"{answer.label}\t{answer.probability:.4f}"
            out(json.dumps(record, ensure_ascii=False) if options.json else line)


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
    writer = bundle.load(options.run).writer()
    for text, total in writer.sample(options.count, sampling, longest=options.longest):
        out(json.dumps({"text": text, "log_probability": total}, ensure_ascii=False) if options.json else text)


def score(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.decoding.text_model import PairError

    reader = bundle.load(options.run).reader()
    if options.rerank and reader.task == "text":
        raise InputError("--rerank orders candidates of a source; a language model has none: sort its scores instead")
    if options.normalise and not options.rerank:
        raise InputError("--normalise says how candidates are compared: it goes with --rerank")
    total, pieces, rows = 0.0, 0, 0
    for pairs in _together(options.file, needs_source=reader.task != "text", whole=options.rerank):
        try:
            found = reader.score(pairs)
        except PairError as error:
            raise InputError(f"{options.file}:{rows + error.at + 1}: {error.why}") from None
        total, pieces = total + sum(map(sum, found)), pieces + sum(map(len, found))
        rows += len(pairs)
        scored = list(zip(pairs, found, strict=True))
        for pair, values in _reranked(scored, options) if options.rerank else scored:
            named = reader.target.names(reader.target.split_all([pair[1]])[0])
            out(_as_score(pair if reader.task != "text" else pair[1:], values, named, as_json=options.json))
    if pieces:
        say(f"perplexity {math.exp(min(700.0, -total / pieces)):.4f} a piece, {pieces:,} pieces, {rows:,} lines")


def _together(file: str, *, needs_source: bool, whole: bool = False) -> Iterator[list[tuple[str, str]]]:
    """Pairs, many at a time; with `whole` those of one source that stand one behind the other are never parted."""
    waiting: list[tuple[str, str]] = []
    number = 0
    for chunk in _chunks(file):
        for line in chunk:
            number += 1
            pair = _pair(line, f"{file}:{number}", needs_source)
            if whole and len(waiting) >= CHUNK and waiting[-1][0] != pair[0]:
                yield waiting
                waiting = []
            waiting.append(pair)
        if not whole:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _pair(line: str, where: str, needs_source: bool) -> tuple[str, str]:
    from tongsa.text import CorpusError, normalise

    cells = line.split("\t")
    if needs_source and len(cells) < 2:
        raise CorpusError(f"{where}: no tab; write source<TAB>target")
    source, target = (cells[0], cells[1]) if needs_source else ("", line)
    if not normalise(target):
        raise CorpusError(f"{where}: empty; there is nothing to score")
    return normalise(source), normalise(target)


Scored = tuple[tuple[str, str], list[float]]


def _reranked(scored: list[Scored], options: argparse.Namespace) -> list[Scored]:
    def merit(one: Scored) -> float:
        return sum(one[1]) / (len(one[1]) if options.normalise else 1)

    return [
        one
        for _, candidates in groupby(scored, key=lambda one: one[0][0])
        for one in sorted(candidates, key=merit, reverse=True)
    ]


def _as_score(texts: tuple[str, ...], values: list[float], pieces: list[str], *, as_json: bool) -> str:
    if not as_json:
        return "\t".join([f"{sum(values):.4f}", " ".join(f"{value:.3f}" for value in values), *texts])
    named = [*pieces, "</s>"][: len(values)]
    each = [{"piece": name, "log_probability": value} for name, value in zip(named, values, strict=True)]
    sides = dict(zip(("source", "target") if len(texts) > 1 else ("text",), texts, strict=True))
    return json.dumps(sides | {"log_probability": sum(values), "pieces": each}, ensure_ascii=False)


def view(options: argparse.Namespace) -> None:
    from tongsa.view.panels import view

    out(str(view(options.run, *options.texts).save(options.output)))


def evaluate(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.evaluation.metrics import tokenisation
    from tongsa.evaluation.report import SCORES, How
    from tongsa.evaluation.report import evaluate as score_pairs
    from tongsa.text import CorpusError, Ledger, read_pairs, read_texts

    loaded = bundle.load(options.run)
    given = [
        name for name in ("scores", "ensemble", "lm", "beam", "alpha", "search", "tokenize") if getattr(options, name)
    ]
    if given and loaded.config.task != "pairs":
        raise InputError(f"{loaded.kind}: --{given[0].replace('_', '-')} is for models that translate; leave it out")
    ledger = Ledger(None)
    languages = (loaded.source_language, loaded.target_language)
    if loaded.config.task == "text":
        found = list(read_texts(options.pairs, ledger))
    else:
        columns = (options.columns[0], options.columns[1])
        found = list(read_pairs(options.pairs, ledger, columns=columns, languages=languages, header=options.header))
    if not found:
        raise CorpusError(f"{options.pairs[0]}: no usable line in it: {ledger.summary()}")
    if ledger.dropped:
        say(ledger.summary())
    how = How(
        scores=options.scores or loaded.scores or SCORES,
        tokenise=options.tokenize or tokenisation(loaded.target_language),
        settings=search_settings(options),
    )
    reader = models(options).build() if loaded.config.task == "pairs" else loaded.reader()
    report = score_pairs(reader, [(pair.source, pair.target) for pair in found], how)
    if options.json:
        out(json.dumps(report.as_json() | {"dropped": ledger.dropped}, ensure_ascii=False))
        return
    for name, score in report.scores.items():
        out(f"{name:12} {score.value:8.2f}  {score.signature}")
    out(f"{'sentences':12} {report.sentences:8,}  in {report.seconds:.1f} s")
