"""What can be typed."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tongsa import __version__
from tongsa.cli import distil, doctor, export, search_tree, serve, shortlist, translate, verbs

DESCRIPTION = """\
tongsa 통사: sequence-to-sequence models of your own.

  tongsa demo                                    learn English → Korean in some three minutes and look inside
  tongsa train --pairs my.tsv --run runs/mine    learn from your own pairs: source<TAB>target, one a line
  tongsa translate runs/mine < input.txt         one line out for each line in
  tongsa doctor --pairs my.tsv                   is anything wrong with the data or the model, before step 1?
  tongsa evaluate runs/mine --pairs test.tsv     BLEU, chrF, exact match, perplexity, with signatures
  tongsa score runs/mine pairs.tsv               log p(target | source) of each pair; --rerank orders n-best lists
  tongsa view runs/mine 'a sentence'             what every head looked at, as a page for your browser
  tongsa search-tree runs/mine 'a sentence'      how the beam found it: what was kept, what was pruned and by how much

  tongsa classify runs/reviews < reviews.txt     a label for each line, from a model trained on text<TAB>label
  tongsa sample runs/lm                          new text from a language model, trained on plain text

  tongsa distil runs/mine --into small.toml …    a small model that learns what a large one says
  tongsa export runs/mine --to ctranslate2       for a faster engine, or --to onnx, --to huggingface
  tongsa shortlist runs/mine --pairs my.tsv      for a faster search: only likely pieces are scored
  tongsa serve runs/mine                         a web page and an API for many users, on http://127.0.0.1:8000
"""
EXPORT_DESCRIPTION = """\
Write the model of a run in the format of another program, with its pieces beside it.

  tongsa export runs/mine --to ctranslate2 --int8    a Transformer for a fast engine; --int8 is smaller, faster, rounded
  tongsa export runs/mine --to onnx                  any model, as graphs that run wherever ONNX Runtime does
  tongsa export runs/mine --to huggingface           a post-norm Transformer, as transformers' MarianMTModel loads it

The folder is RUN/FORMAT unless -o names another. An older export there is replaced, anything else never.
"""
TRAIN_DESCRIPTION = """\
Learn a model. Sizes come from a recipe, or from the data where there is none.

  tongsa train recipes/multi30k-de-en.toml --run runs/de-en
  tongsa train --pairs train.tsv --dev dev.tsv --run runs/mine --budget 20m
  tongsa train --pairs train.de train.en --run runs/mine --set training.steps=5000
  tongsa train --pairs reviews.tsv --set model.kind=structured_self_attention --run runs/reviews
  tongsa train --pairs text.txt --set model.kind=rnn_lm --run runs/lm
  tongsa train --pairs own.tsv --run runs/own --set training.init_from=runs/general    begin with another run's weights
  tongsa train --resume runs/mine

Files: .tsv (source<TAB>target), .jsonl ({"source": …, "target": …}), or two parallel files; each may end in .gz.
A language model reads plain text, one a line; a classifier reads text<TAB>label.
Ctrl-C saves and says how to go on; so does SIGTERM. A killed run resumes to the same bytes.
"""
DOCTOR_DESCRIPTION = """\
Look a run over before its first step: lines that leak from train into dev or test, repeat, copy or do not belong
together; wrong scripts, unknown pieces; a decoder that sees its answer, a loss that starts wrong, a model that cannot
learn; memory and time. Nothing is kept.

  tongsa doctor recipes/multi30k-de-en.toml
  tongsa doctor --pairs train.tsv --dev dev.tsv
  tongsa doctor --pairs reviews.tsv --set model.kind=structured_self_attention --json

Each finding is ok, a remark, a warning or a fault. Exit code: 1 with a fault, 0 without, 2 for bad input.
"""
DISTIL_DESCRIPTION = """\
Sequence-level knowledge distillation (Kim and Rush 2016): a teacher translates the sources of the student's recipe, and
the student learns from that. The paper finds that a smaller model, searched greedily, then loses less. dev and test
stay what people wrote. Killed while the teacher translates, the same command goes on; later tongsa train --resume does.

  tongsa distil runs/large --into recipes/multi30k-fast.toml --run runs/fast --begin --mix --outputs 2
"""
SERVE_DESCRIPTION = """\
Answer over HTTP until Ctrl-C or SIGTERM; what was accepted before is answered. SIGHUP loads the models again.

  tongsa serve runs/en-ko runs/ko-en
  tongsa serve news=runs/a --host 0.0.0.0 --port 8080 --keys keys.tsv --rate 120
  tongsa serve --keys keys.tsv --new-key alice

docs/serving.md tells of the API, of LibreTranslate's clients, and of running it for others.
"""
SCORE_DESCRIPTION = """\
log p of each target given its source, or of each text by itself if the model is a language model.

  tongsa score runs/mine pairs.tsv             total<TAB>pieces<TAB>source<TAB>target
  tongsa score runs/mine nbest.tsv --rerank    the candidates of each source, best first
  tongsa score runs/lm texts.txt               and the perplexity of the whole on stderr
"""


def build_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        "tongsa", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"tongsa {__version__}")
    every = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    looking = (_add_evaluate, _add_score, _add_view, _add_search_tree)
    making = (_add_distil, _add_export, _add_shortlist, _add_serve)
    for add in (_add_demo, _add_doctor, _add_train, _add_translate, *looking, _add_classify, _add_sample, *making):
        add(every)
    return top


def _add_command(
    subparsers: Any, name: str, summary: str, run: Callable[[argparse.Namespace], int | None], description: str = ""
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=description or summary, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verb.set_defaults(do=run)
    return verb


def _add_run_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")


def _add_decoding_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--beam", type=int, metavar="N", help="width of the search (default: the model's own)")
    command.add_argument("--alpha", type=float, metavar="A", help="length penalty (default: the model's own)")
    command.add_argument(
        "--search", nargs="+", default=(), metavar="KEY=VALUE", help="e.g. coverage=0.2 no_repeat=3 (docs/decoding.md)"
    )
    command.add_argument(
        "--engine", choices=["auto", "torch", "ctranslate2"], default="auto", help="who searches (docs/export.md)"
    )
    command.add_argument("--ensemble", nargs="+", type=Path, default=(), metavar="RUN", help="models that vote with it")
    command.add_argument("--lm", type=Path, metavar="RUN", help="a language model with the same pieces that has a say")
    command.add_argument("--lm-weight", type=float, default=0.2, metavar="W", help="how much of a say (default: 0.2)")


def _add_demo(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "demo", "learn the embedded English–Korean phrasebook, score it, look inside", verbs.demo
    )
    verb.add_argument("--run", type=Path, default=Path("runs/demo"), metavar="FOLDER", help="default: runs/demo")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.steps=300")


def _add_train(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "train", "learn a model from a recipe or from your own pairs", verbs.train, TRAIN_DESCRIPTION
    )
    verb.add_argument("recipe", nargs="?", type=Path, metavar="RECIPE", help="a TOML file, see recipes/")
    verb.add_argument("--pairs", nargs="+", default=(), metavar="FILE", help="learn from these, not the recipe's")
    verb.add_argument("--dev", nargs="+", default=(), metavar="FILE", help="validate on these (else part of --pairs)")
    verb.add_argument("--run", type=Path, metavar="FOLDER", help="where everything about this run is kept")
    verb.add_argument("--budget", metavar="TIME", help="plan the run for this time, e.g. 90s, 20m, 1h30m")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.steps=5000")
    verb.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with the run in this folder")
    verb.add_argument(
        "--continue", action="store_true", dest="again", help="go on if the run is there already: for jobs that restart"
    )
    verb.add_argument("--workers", type=int, default=1, metavar="N", help="share each update among N processes here")


def _add_doctor(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "doctor", "look the data and the model over before step 1", doctor.run, DOCTOR_DESCRIPTION
    )
    verb.add_argument("recipe", nargs="?", type=Path, metavar="RECIPE", help="a TOML file, see recipes/")
    verb.add_argument("--pairs", nargs="+", default=(), metavar="FILE", help="look at these, not the recipe's")
    verb.add_argument("--dev", nargs="+", default=(), metavar="FILE", help="validate on these (else part of --pairs)")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. tokenizer.vocab_size=4000")
    verb.add_argument("--json", action="store_true", help="one JSON object with all findings")


def _add_translate(subparsers: Any) -> None:
    verb = _add_command(subparsers, "translate", translate.HELP, translate.run, translate.DESCRIPTION)
    translate.add_arguments(verb)


def _add_evaluate(subparsers: Any) -> None:
    verb = _add_command(subparsers, "evaluate", "score a model on data it has not seen", verbs.evaluate)
    _add_run_argument(verb)
    verb.add_argument("--pairs", nargs="+", required=True, metavar="FILE", help="a file of pairs, or two parallel ones")
    verb.add_argument("--columns", nargs=2, type=int, default=(1, 2), metavar="N", help="columns in TSV (default: 1 2)")
    verb.add_argument("--header", action="store_true", help="the first line of a TSV names its columns")
    _add_decoding_arguments(verb)
    verb.add_argument(
        "--tokenize", metavar="NAME", help="sacreBLEU's tokeniser (default: 13a; char for ko, ja, zh, th)"
    )
    verb.add_argument("--scores", nargs="+", choices=["bleu", "chrf", "exact_match", "wer", "per"], metavar="NAME")
    verb.add_argument("--json", action="store_true", help="one JSON object")


def _add_score(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "score", "how likely a model finds given targets or texts", verbs.score, SCORE_DESCRIPTION
    )
    _add_run_argument(verb)
    verb.add_argument("file", nargs="?", default="-", metavar="FILE", help="TSV of pairs, or texts; default: stdin")
    verb.add_argument("--rerank", action="store_true", help="order the candidates of each source, best first")
    verb.add_argument("--normalise", action="store_true", help="compare totals by piece, not as sums")
    verb.add_argument("--json", action="store_true", help="one object a line, with every piece and its log p")


def _add_view(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "view", "draw what every head looked at, as a page that needs no network", verbs.view
    )
    _add_run_argument(verb)
    verb.add_argument("texts", nargs="+", metavar="TEXT", help="sentences to read and look into")
    verb.add_argument("-o", "--output", type=Path, default=Path("attention.html"), metavar="FILE")


def _add_search_tree(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "search-tree", "draw the beam: what was kept, what was pruned and by how much", search_tree.run
    )
    _add_run_argument(verb)
    verb.add_argument("text", metavar="TEXT", help="the sentence to translate")
    verb.add_argument("-o", "--output", type=Path, default=Path("search-tree.html"), metavar="FILE")
    verb.add_argument("--beam", type=int, metavar="N", help="width of the search (default: the model's own)")
    verb.add_argument("--alpha", type=float, metavar="A", help="length penalty (default: the model's own)")
    verb.add_argument("--pruned", type=int, default=3, metavar="N", help="show the N best that fell out (default: 3)")


def _add_classify(subparsers: Any) -> None:
    verb = _add_command(subparsers, "classify", "a label for each line", verbs.classify)
    _add_run_argument(verb)
    verb.add_argument("file", nargs="?", default="-", metavar="FILE", help="default: standard input")
    verb.add_argument("--json", action="store_true", help="one object a line, with the probability of every label")


def _add_sample(subparsers: Any) -> None:
    verb = _add_command(subparsers, "sample", "new text from a language model, drawn piece by piece", verbs.sample)
    _add_run_argument(verb)
    verb.add_argument("--count", type=int, default=10, metavar="N", help="how many texts (default: 10)")
    verb.add_argument("--temperature", type=float, default=1.0, metavar="T", help="lower is tamer (default: 1)")
    verb.add_argument("--top-k", type=int, default=0, metavar="K", help="draw from the K likeliest pieces only")
    verb.add_argument("--top-p", type=float, default=1.0, metavar="P", help="draw from the likeliest of this total")
    verb.add_argument("--min-p", type=float, default=0.0, metavar="P", help="none below P times the likeliest's share")
    verb.add_argument("--longest", type=int, default=100, metavar="N", help="at most N pieces (default: 100)")
    verb.add_argument("--seed", type=int, default=1, metavar="N", help="the same seed draws the same")
    verb.add_argument("--json", action="store_true", help="one object a line, with log p")


def _add_export(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "export", "the model in the format of another program", export.run, EXPORT_DESCRIPTION
    )
    _add_run_argument(verb)
    verb.add_argument("--to", required=True, choices=["ctranslate2", "onnx", "huggingface"], help="which format")
    verb.add_argument("--int8", action="store_true", help="weights in eight bits (ctranslate2)")
    verb.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="default: RUN/FORMAT")


def _add_shortlist(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "shortlist", "a faster search: score only what a source makes likely", shortlist.run
    )
    _add_run_argument(verb)
    verb.add_argument("--pairs", nargs="+", required=True, metavar="FILE", help="the pairs that the model learnt from")
    verb.add_argument("--each", type=int, default=40, metavar="N", help="translations of each piece (default: 40)")
    verb.add_argument("--frequent", type=int, default=500, metavar="N", help="pieces always there (default: 500)")


def _add_distil(subparsers: Any) -> None:
    verb = _add_command(
        subparsers, "distil", "train a small model on what a large one says", distil.run, DISTIL_DESCRIPTION
    )
    verb.add_argument("teacher", type=Path, metavar="TEACHER", help="folder of a run that translates")
    verb.add_argument("--into", type=Path, required=True, metavar="RECIPE", help="the student's recipe")
    verb.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="where the student is kept")
    verb.add_argument("--beam", type=int, metavar="N", help="of the teacher (default: its own)")
    verb.add_argument("--outputs", type=int, default=1, metavar="N", help="learn the teacher's N best (default: 1)")
    verb.add_argument("--mix", action="store_true", help="learn from what people wrote, too")
    verb.add_argument("--begin", action="store_true", help="begin with the teacher's weights, as far as they fit")
    verb.add_argument("--budget", metavar="TIME", help="plan the student's training for this time, e.g. 20m")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.steps=5000")


def _add_serve(subparsers: Any) -> None:
    verb = _add_command(subparsers, "serve", "a web page and an API for many users", serve.run, SERVE_DESCRIPTION)
    verb.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of a model; NAME=RUN names it")
    verb.add_argument("--host", metavar="ADDRESS", help="listen here (default: 127.0.0.1, this machine alone)")
    verb.add_argument("--port", type=int, metavar="N", help="default: 8000")
    verb.add_argument("--engine", choices=["auto", "torch", "ctranslate2"], help="who searches (docs/export.md)")
    verb.add_argument("--keys", type=Path, metavar="FILE", help="only who has a key of this file may ask")
    verb.add_argument("--new-key", metavar="NAME", help="make a key, put its hash into --keys, show it once, and end")
    verb.add_argument("--rate", type=float, metavar="N", help="requests a minute of each key or address")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. limits.characters=5000")
