"""The command line: few verbs, few options each. Results go to stdout, progress and messages to stderr."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa import __version__
from tongsa.errors import InputError, InterruptedRun

if TYPE_CHECKING:
    from tongsa.decoding.translator import Translation

ABOUT = """\
tongsa 통사: sequence-to-sequence models of your own.

  tongsa demo                                    learn English → Korean in some three minutes and look inside
  tongsa train --pairs my.tsv --run runs/mine    learn from your own pairs: source<TAB>target, one a line
  tongsa translate runs/mine < input.txt         one line out for each line in
  tongsa evaluate runs/mine --pairs test.tsv     BLEU, chrF, exact match, perplexity, with signatures
  tongsa view runs/mine 'a sentence'             what every head looked at, as a page for your browser
"""
TRAIN = """\
Learn a model. Sizes come from a recipe, or from the data where there is none.

  tongsa train recipes/multi30k-de-en.toml --run runs/de-en
  tongsa train --pairs train.tsv --dev dev.tsv --run runs/mine --budget 20m
  tongsa train --pairs train.de train.en --run runs/mine --set training.steps=5000
  tongsa train --resume runs/mine

Files: .tsv (source<TAB>target), .jsonl ({"source": …, "target": …}), or two parallel files; each may end in .gz.
Ctrl-C saves and says how to go on; so does SIGTERM. A killed run resumes to the same bytes.
"""
CHUNK = 512
"""Lines translated together when they come from a file or a pipe."""
DONE, OURS, THEIRS, INTERRUPTED = 0, 1, 2, 130


def parser() -> argparse.ArgumentParser:
    top = _parser("tongsa", ABOUT)
    top.add_argument("--version", action="version", version=f"tongsa {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)

    demo = _verb(verbs, "demo", "learn the embedded English–Korean phrasebook, score it, look inside", _demo)
    demo.add_argument("--run", type=Path, default=Path("runs/demo"), metavar="FOLDER", help="default: runs/demo")
    demo.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.steps=300")

    train = _verb(verbs, "train", "learn a model from a recipe or from your own pairs", _train, TRAIN)
    train.add_argument("recipe", nargs="?", type=Path, metavar="RECIPE", help="a TOML file, see recipes/")
    train.add_argument(
        "--pairs", nargs="+", default=(), metavar="FILE", help="learn from these instead of the recipe's"
    )
    train.add_argument(
        "--dev", nargs="+", default=(), metavar="FILE", help="validate on these (else a part of --pairs)"
    )
    train.add_argument("--run", type=Path, metavar="FOLDER", help="where everything about this run is kept")
    train.add_argument("--budget", metavar="TIME", help="plan the run for this time, e.g. 90s, 20m, 1h30m")
    train.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.steps=5000")
    train.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with the run in this folder")

    translate = _verb(verbs, "translate", "text in, text out: one line for each line, in order", _translate)
    translate.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")
    translate.add_argument("file", nargs="?", default="-", metavar="FILE", help="default: standard input")
    translate.add_argument("--beam", type=int, metavar="N", help="width of the search (default: the model's own)")
    translate.add_argument("--alpha", type=float, metavar="A", help="length penalty (default: the model's own)")
    translate.add_argument("--nbest", type=int, default=1, metavar="N", help="the N best, tab-separated on the line")
    translate.add_argument("--json", action="store_true", help="one object a line, with scores and pieces")

    view = _verb(verbs, "view", "draw what every head looked at, as a page that needs no network", _view)
    view.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")
    view.add_argument("texts", nargs="+", metavar="TEXT", help="sentences to translate and look into")
    view.add_argument("-o", "--output", type=Path, default=Path("attention.html"), metavar="FILE")

    evaluate = _verb(verbs, "evaluate", "score a model on pairs it has not seen", _evaluate)
    evaluate.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")
    evaluate.add_argument(
        "--pairs", nargs="+", required=True, metavar="FILE", help="a file of pairs, or two parallel ones"
    )
    evaluate.add_argument(
        "--columns", nargs=2, type=int, default=(1, 2), metavar="N", help="columns in TSV (default: 1 2)"
    )
    evaluate.add_argument("--beam", type=int, metavar="N", help="width of the search (default: the model's own)")
    evaluate.add_argument("--alpha", type=float, metavar="A", help="length penalty (default: the model's own)")
    evaluate.add_argument(
        "--tokenize", metavar="NAME", help="sacreBLEU's tokeniser (default: 13a; char for ko, ja, zh, th)"
    )
    evaluate.add_argument("--json", action="store_true", help="one JSON object")
    return top


def _parser(name: str, about: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def _verb(
    verbs: Any, name: str, summary: str, do: Callable[[argparse.Namespace], None], about: str = ""
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name, help=summary, description=about or summary, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verb.set_defaults(do=do)
    return verb


def _demo(options: argparse.Namespace) -> None:
    from tongsa.experiment import demo

    demo.show(options.run, options.set)


def _train(options: argparse.Namespace) -> None:
    from tongsa import experiment

    if options.resume is not None:
        given = [name for name in ("recipe", "pairs", "dev", "run", "budget", "set") if getattr(options, name)]
        if given:
            raise InputError(f"--resume goes on with the settings in run.toml; leave out {', '.join(given)}")
        folder, progress = options.resume, experiment.resume(options.resume)
    elif options.run is None:
        raise InputError("--run is missing: say where to keep this run, for example --run runs/mine")
    else:
        folder = options.run
        progress = experiment.train(
            options.recipe,
            run=folder,
            pairs=options.pairs,
            dev=options.dev,
            settings=options.set,
            budget=options.budget,
        )
    _say(f"done: {progress.step:,} steps; the best model (step {progress.best_step:,}) is in {folder}/model")
    _say(f"next: echo '…' | tongsa translate {folder}")


def _translate(options: argparse.Namespace) -> None:
    import tongsa
    from tongsa.text import read_lines

    translator = tongsa.load(options.run)
    lines = read_lines(options.file)
    typed = options.file == "-" and sys.stdin.isatty()
    while chunk := list(islice(lines, 1 if typed else CHUNK)):
        results = translator.translate(chunk, beam=options.beam, alpha=options.alpha, nbest=options.nbest)
        for source, result in zip(chunk, results, strict=True):
            if result.cut:
                _say(f"longer than the model can read, cut: {source[:60]}…")
            print(_as_json(source, result) if options.json else "\t".join(one.text for one in _ranked(result)))  # noqa: T201
        sys.stdout.flush()


def _ranked(result: "Translation") -> Iterator["Translation"]:
    yield result
    yield from result.alternatives


def _as_json(source: str, result: "Translation") -> str:
    nbest = [
        {"text": one.text, "score": one.score, "log_probability": one.total, "pieces": one.pieces}
        for one in _ranked(result)
    ]
    record = {"source": source, "text": result.text, "score": result.score, "cut": result.cut, "nbest": nbest}
    return json.dumps(record, ensure_ascii=False)


def _view(options: argparse.Namespace) -> None:
    import tongsa
    from tongsa.text import normalise
    from tongsa.view import write_page
    from tongsa.view.readings import reading

    if not all(map(normalise, options.texts)):
        raise InputError("view: an empty text has nothing to look at; give a sentence")
    results = tongsa.load(options.run).translate(options.texts)
    readings = [reading(result, text) for result, text in zip(results, options.texts, strict=True)]
    write_page(options.output, f"{options.run.name}: {options.texts[0]}", readings)
    print(options.output)  # noqa: T201


def _evaluate(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.evaluation.metrics import tokenisation
    from tongsa.evaluation.report import evaluate
    from tongsa.text import CorpusError, Ledger, read_pairs

    loaded = bundle.load(options.run)
    ledger = Ledger(None)
    languages = (loaded.source_language, loaded.target_language)
    pairs = list(read_pairs(options.pairs, ledger, columns=tuple(options.columns), languages=languages))
    if not pairs:
        raise CorpusError(f"{options.pairs[0]}: no usable pair in it: {ledger.summary()}")
    if ledger.dropped:
        _say(ledger.summary())
    report = evaluate(
        loaded.translator(),
        [(pair.source, pair.target) for pair in pairs],
        tokenise=options.tokenize or tokenisation(loaded.target_language),
        beam=options.beam,
        alpha=options.alpha,
    )
    if options.json:
        print(json.dumps(report.as_json() | {"dropped": ledger.dropped}, ensure_ascii=False))  # noqa: T201
        return
    for name, score in report.scores.items():
        print(f"{name:12} {score.value:8.2f}  {score.signature}")  # noqa: T201
    print(f"{'sentences':12} {len(report.translations):8,}  in {report.seconds:.1f} s")  # noqa: T201


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    # before torch is loaded: threads that spin for long while they wait make a shared machine many times slower
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    for stream in (sys.stdout, sys.stderr):  # Hangul and emoji, whatever the locale says
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    options = parser().parse_args(arguments)
    try:
        options.do(options)
    except InputError as error:
        _say(f"tongsa: {error}")
        return THEIRS
    except InterruptedRun as stopped:
        _say(f"\n{stopped}")
        return INTERRUPTED
    except KeyboardInterrupt:
        _say("\ninterrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return DONE


if __name__ == "__main__":
    sys.exit(main())
