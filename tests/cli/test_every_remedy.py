"""Every remedy in a message of tongsa is tried: here, in a test named in ELSEWHERE, or NOT_TRIED has the reason.

A case is a command that fails, a part of its message as it is written in the source, and what the user does then.
"""

import ast
import json
import os
import re
import shlex
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import pytest
import torch

from command_line import CommandResult, follow_remedy, run_command, set_flags
from jobs import ForkedCommand
from tiny import SMALL, reversing, write_pairs
from tongsa import bundle
from tongsa.checks.finding import Finding
from tongsa.checks.resources import ResourceEstimate, check_training_time
from tongsa.cli import COMMANDS
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.interface import named_tensors
from tongsa.models.bytenet import ByteNetConfig
from tongsa.models.conv_s2s import ConvS2SConfig
from tongsa.models.rnn_attention import RNNAttentionConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs.data import prepare_data
from tongsa.runs.doctor import run_checks
from tongsa.runs.planner import parse_duration, resolve_recipe
from tongsa.runs.run import create_run, open_run
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import DistributedContext

ROOT = Path(__file__).parents[2]
RECIPE = """
[data]
train = ["pairs.tsv"]
dev = ["dev.tsv"]
[model]
width = 32
ffn_width = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
[tokenizer]
vocab_size = 300
[training]
steps = 2
batch_tokens = 256
threads = 1
precision = "fp32"
"""
QUICK = shlex.join(set_flags(*SMALL, "training.steps=2"))
TINY = "--set model.width=16 --set training.steps=2 --set training.threads=1 --set tokenizer.vocab_size=290"
TRAIN = f"train --data pairs.tsv --run new {QUICK}"
SMALL_LAYERS = "--set model.ffn_width=16 --set model.heads=2 --set model.layers=1 --set training.batch_tokens=256"
LABELS = f"train --run new {TINY} {SMALL_LAYERS} --set model.kind=transformer_classifier --set model.hidden=8"
CONV = (
    f"train --data pairs.tsv --run new {TINY} --set model.kind=conv_s2s --set model.encoder_layers=1 "
    "--set model.decoder_layers=1 --set model.hidden=16 --set training.batch_tokens=256"
)
LM = f"train --data lines.txt {TINY} {SMALL_LAYERS} --set model.kind=transformer_lm"
PLACEHOLDERS = {
    "RUN": "run",
    "FILE": "pairs.tsv",
    "OUT": "other.txt",
    "NAME": "alice",
    "N": "3",
    "…": "recipe.toml",
    "runs/mine": "run",
}


@pytest.fixture(scope="module")
def files(folder: Path) -> Path:
    """Return the folder with more data, and with a run of each task."""
    write_pairs(folder / "dev.tsv", reversing(10, seed=5))
    (folder / "recipe.toml").write_text(RECIPE, "utf-8")
    (folder / "lines.txt").write_text("a b c\nb c d\n" * 30, "utf-8")
    for name, count in (("labels.tsv", 60), ("many.tsv", 1100)):
        lines = (f"{source}\tyes\t{i}\t{'no' if i % 3 else 'yes'}\n" for i, (source, _) in enumerate(reversing(count)))
        (folder / name).write_text("".join(lines), "utf-8")
    (folder / "three.tsv").write_text("a\tb\tc\n", "utf-8")
    (folder / "term.tsv").write_text("b\t나\n", "utf-8")
    (folder / "other.toml").write_text('model = 3\n[data]\ntrain = ["pairs.tsv"]\n', "utf-8")
    (folder / "keys.tsv").write_text("alice\n", "utf-8")
    (folder / "full").mkdir()
    (folder / "full" / "diary.txt").write_text("rain\n", "utf-8")
    (folder / "done.txt").write_text("done\n", "utf-8")
    for command in (
        "train recipe.toml --run run",
        f"{TRAIN.replace('new', 'two')} --set tokenizer.shared=false --set model.tie_embeddings=target",
        f"{LM} --run texts",
        LABELS.replace("new", "labels") + " --data labels.tsv --set data.columns=[1,4]",
    ):
        result = run_command(*shlex.split(command), cwd=folder)
        assert result.code == 0, result.stderr
    return folder


@dataclass(frozen=True)
class Case:
    command: str
    remedy: str
    """A part of the message, as it is written in the source."""
    then: Sequence[str] = ()
    """Commands of the user after the message; by default the command changed as the message says."""
    before: Callable[[Path], object] = lambda _: None
    by_hand: Callable[[Path], object] = lambda _: None
    """The part of the remedy that is not a command."""


def train_again(setting: str) -> Callable[[Path], object]:
    def replace_run(folder: Path) -> None:
        shutil.rmtree(folder / "run")
        run_quietly(f"train recipe.toml --run run --set {setting}")(folder)

    return replace_run


def run_quietly(command: str) -> Callable[[Path], object]:
    return lambda folder: run_command(*shlex.split(command), cwd=folder)


def truncate(name: str) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, 40)


def write_huge_weights(folder: Path) -> None:
    """Write weights that are finite, and whose sums are not."""
    loaded = bundle.load_bundle(folder / "run")
    tensors = {name: torch.full_like(value, 3e38) for name, value in named_tensors(loaded.model).items()}
    bundle.save_bundle(folder / "run" / "model", loaded, "", tensors)


TRANSLATE = "translate run texts.txt"
CASES = {
    "corpora beside training files": Case(
        """train recipe.toml --run new --set 'data.corpora=[{train = "dev.tsv"}]'""",
        "or leave out the corpora",
        ["train recipe.toml --run new"],
    ),
    "a tag that a tokenizer does not have": Case(
        "train recipe.toml --run new --set tokenizer.reuse_from=run --set 'data.tag=<2ko>'",
        "no token for {symbol}. Leave it out.",
        ["train recipe.toml --run new --set 'data.tag=<2ko>'"],
    ),
    "a negative seed of noise": Case(
        "data noise dev.tsv -o noised.tsv --set data.noise.typos=0.1 --seed -1",
        "below 0. Give 0 or more.",
        ["data noise dev.tsv -o noised.tsv --set data.noise.typos=0.1 --seed 0"],
    ),
    "noise in columns that are not there": Case(
        "data noise dev.tsv -o noised.tsv --columns 3 4 --set data.noise.typos=0.1",
        "no usable pair. Check the format and --columns.",
        ["data noise dev.tsv -o noised.tsv --columns 1 2 --set data.noise.typos=0.1"],
    ),
    "a split of a negative size": Case(
        "data split dev.tsv --dev-size -1 --test-size 1 -o split",
        "negative. Write the number of pairs.",
        ["data split dev.tsv --dev-size 0 --test-size 1 -o split"],
    ),
    "documents of files without columns": Case(
        "data split lines.txt lines.txt --document-column 3 -o split",
        "has no numbered columns. Write its pairs as TSV.",
        ["data split pairs.tsv --document-column 1 --dev-size 5 --test-size 5 -o split"],
    ),
    "documents in a column that is not there": Case(
        "data split pairs.tsv --document-column 9 --dev-size 5 --test-size 5 -o split",
        "no pair has a document there. Give another column.",
        ["data split pairs.tsv --document-column 1 --dev-size 5 --test-size 5 -o split"],
    ),
    "dev set of a recipe": Case(
        "train recipe.toml --dev dev.tsv --run new",
        "set of a recipe: --set data.{name}=FILE",
        ["train recipe.toml --run new --set data.dev=dev.tsv"],
    ),
    "samples that cannot be read": Case(
        "view run 'a b' --samples none.tsv",
        "Give a text file in UTF-8 that can be read.",
        ["view run 'a b' --samples dev.tsv"],
    ),
    "no data": Case(f"train --run new {QUICK}", "or your own files (--data FILE)"),
    "no files in the recipe": Case(
        "train recipe.toml --run new --set data.train=[]",
        "or with --data FILE",
        ["train recipe.toml --run new --data pairs.tsv"],
    ),
    "budget and steps": Case(
        f"{TRAIN} --budget 2s",
        "Leave out --budget, or --set training.steps.",
        [TRAIN, "train recipe.toml --run other --budget 2s"],
    ),
    "too many workers": Case(f"{TRAIN} --workers 9999", "Give at most {limit}", [f"{TRAIN} --workers 2"]),
    "resume without a run": Case("train --resume nowhere", "Start one with: tongsa train … --run {"),
    "shortlist before training": Case(
        f"{TRAIN} --set decoding.shortlist=true",
        "Leave it out, and run tongsa shortlist after the training.",
        [TRAIN, "shortlist new --data pairs.tsv", "translate new texts.txt --set decoding.shortlist=true"],
    ),
    "more tokens than positions": Case(
        f"{TRAIN} --set data.max_tokens=600 --set model.positions=learned --set model.max_positions=512",
        "Write at most {",
    ),
    "one matrix for two vocabularies": Case(
        f"{TRAIN} --set tokenizer.shared=false --set model.tie_embeddings=all", 'Write model.tie_embeddings = "target"'
    ),
    "vocabulary too small": Case(f"{TRAIN} --set tokenizer.vocab_size=20", "too small for this text. Write at least {"),
    "no such device": Case(f"{TRAIN} --set training.device=cuda:9", 'Write "auto" or "cpu".'),
    "metric that is not measured": Case(f"{TRAIN} --set training.best_metric=wer", "not measured. Choose from {"),
    "metric that is added": Case(
        f"{TRAIN} --set training.best_metric=wer",
        ", or add it to data.metrics.",
        [f"""{TRAIN} --set training.best_metric=wer --set 'data.metrics=["bleu", "wer"]'"""],
    ),
    "regularization of characters": Case(
        f"{TRAIN} --set tokenizer.model=char --set tokenizer.subword_regularization=0.1",
        "only. Write 0.",
        [f"{TRAIN} --set tokenizer.model=char --set tokenizer.subword_regularization=0"],
    ),
    "another target model": Case(
        f"{TRAIN} --set tokenizer.target_model=word --set model.tie_embeddings=target", "Write shared = false."
    ),
    "tokenizer with another jamo setting": Case(
        f"{TRAIN} --set tokenizer.reuse_from=run --set tokenizer.jamo=true", "Write tokenizer.jamo = {"
    ),
    "tokenizers of two vocabularies": Case(
        f"{TRAIN} --set tokenizer.reuse_from=two --set model.tie_embeddings=target", "Write tokenizer.shared = false."
    ),
    "sharding with a limit": Case(
        f"{TRAIN} --set training.shard=true --set training.memory_limit_mib=5000", "Set shard = false"
    ),
    "memory limit too low": Case(
        f"{TRAIN} --set training.memory_limit_mib=1",
        "Raise the limit, or lower data.max_tokens",
        [f"{TRAIN} --set training.memory_limit_mib=2000"],
    ),
    "probe with too many tokens": Case(
        f"{TRAIN} --set 'training.probe={'가나다라마바사 ' * 8}'",
        "tokens of this run's tokenizer. Give a sentence of at most {limit} tokens.",
        [f"{TRAIN} --set 'training.probe=a b c'"],
    ),
    "empty probe": Case(
        f"""{TRAIN} --set 'training.probe=["a", " "]'""",
        "Write a sentence, or leave it out.",
        [f"""{TRAIN} --set 'training.probe=["a"]'"""],
    ),
    "too many probes": Case(
        f"{TRAIN} --set 'training.probe={json.dumps(['a'] * 17)}'",
        "sentences. Give at most {MAX_PROBES}.",
        [f"{TRAIN} --set 'training.probe={json.dumps(['a'] * 16)}'"],
    ),
    "comparison without a test set": Case("compare run two -o new.html", "compare: no test set. Add --data FILE."),
    "table of a comparison as its page": Case(
        "compare run two --data pairs.tsv -o x.csv",
        "the page is an HTML file. Write --table",
        ["compare run two --data pairs.tsv --table x.csv"],
    ),
    "page of a comparison as its table": Case(
        "compare run two --data pairs.tsv --table x.html",
        "--table {path}: a table is no page.",
        ["compare run two --data pairs.tsv --table x.md"],
    ),
    "fewer views than none": Case("compare run two --data pairs.tsv --views -1", ": too few. Give at least 0."),
    "recipe without values or seeds": Case(
        "compare recipe.toml run --data pairs.tsv",
        "Add --vary KEY=VALUE,VALUE or --seeds N to train its runs first.",
        ["compare recipe.toml --seeds 2 --data pairs.tsv -o new.html"],
    ),
    "values without a recipe": Case(
        "compare run two --data pairs.tsv --vary model.norm=pre,post",
        "Give a recipe (*.toml) first, or leave out --{name}.",
    ),
    "grid without a test set": Case(
        "compare recipe.toml --seeds 2 -o new.html", "no test set (data.test). Add --data FILE."
    ),
    "grid of a single run": Case(
        "compare recipe.toml --vary model.norm=pre --data pairs.tsv -o new.html", "Add --seeds 3."
    ),
    "family of two tasks": Case(
        "family run texts 'a b'", "Give runs of one task.", ["family run two 'a b' -o family.html"]
    ),
    "norm of the decoder alone with post-norm": Case(
        f"{TRAIN} --set model.norm=post --set model.final_norm=decoder",
        'Set norm = "pre", or final_norm = "auto".',
        [
            f"{TRAIN} --set model.norm=pre --set model.final_norm=decoder",
            "train recipe.toml --run other --set model.norm=post --set model.final_norm=auto",
        ],
    ),
    "batch norm that is shared": Case(
        f"{TRAIN} --set model.norm_kind=batch --set model.shared_norm=true",
        'Use norm_kind = "layer", or shared_norm = false and final_norm = "auto".',
        [f"{TRAIN} --set model.norm_kind=layer --set model.shared_norm=true"],
    ),
    "rotary positions with additive attention": Case(
        f"{TRAIN} --set model.positions=rotary --set model.attention=additive", 'Use attention = "scaled-dot"'
    ),
    "rotary positions of an odd width": Case(
        f"{TRAIN} --set model.positions=rotary --set model.key_width=5",
        "Use an even key_width.",
        [f"{TRAIN} --set model.positions=rotary --set model.key_width=6"],
    ),
    "setting without a value": Case(
        f"{TRAIN} --set training.steps",
        "key.path=value, for example training.steps=1000",
        [f"{TRAIN} --set training.steps=3"],
    ),
    "value instead of a table": Case(f"{TRAIN} --set model=3", "expected a table. Write [{", [TRAIN]),
    "value instead of a table in a recipe": Case(
        "train other.toml --run new",
        "expected a table. Write [{",
        [f"train other.toml --run new {QUICK}"],
        by_hand=lambda folder: (folder / "other.toml").write_text('[model]\n[data]\ntrain = ["pairs.tsv"]\n', "utf-8"),
    ),
    "table below a value": Case(f"{TRAIN} --set model.width.x=3", "Leave out the keys below it.", [TRAIN]),
    "all pairs too long": Case(
        f"{TRAIN} --set data.max_tokens=1", "Raise data.max_tokens", [f"{TRAIN} --set data.max_tokens=50"]
    ),
    "columns counted from 0": Case(
        f"{TRAIN} --set data.columns=[0,1]", "Write 1 or more.", [f"{TRAIN} --set data.columns=[1,2]"]
    ),
    "wrong columns": Case(
        f"{TRAIN} --set data.columns=[3,4]", "Check the format and data.columns.", [f"{TRAIN} --set data.columns=[1,2]"]
    ),
    "test set in wrong columns": Case(
        f"{TRAIN} --set data.test=texts.txt", "Check the format and data.columns.", [f"{TRAIN} --set data.test=dev.tsv"]
    ),
    "dev set without a pair": Case(
        "train recipe.toml --run new --set data.dev=texts.txt",
        "Remove data.dev to split a dev set off from train.",
        ["train recipe.toml --run new --set data.dev=[]"],
    ),
    "one label": Case(
        f"{LABELS} --data labels.tsv",
        "Check data.columns: the second is the label.",
        [f"{LABELS} --data labels.tsv --set data.columns=[1,4]"],
    ),
    "too many labels": Case(
        f"{LABELS} --data many.tsv --set data.columns=[1,3]",
        "Check data.columns: the second must be the label.",
        [f"{LABELS} --data many.tsv --set data.columns=[1,4]"],
    ),
    "initial model with another tokenizer": Case(
        f"{TRAIN} --set training.init_from=run --set tokenizer.reuse_from= --set tokenizer.model=bpe",
        "Write tokenizer.reuse_from = {",
    ),
    "initial model of other sizes": Case(
        f"{TRAIN} --set training.init_from=run --set model.width=48 --set model.ffn_width=80",
        "Write the same sizes in [model].",
        [f"{TRAIN} --set training.init_from=run --set model.width=32 --set model.ffn_width=64"],
    ),
    "diverged": Case(
        f"{TRAIN} --set training.lr.peak=1e6 --set training.lr.schedule=constant --set training.steps=9",
        "Try a lower training.lr.peak",
        [f"{TRAIN.replace('new', 'lower')} --set training.lr.peak=1e-3 --set training.lr.schedule=constant"],
    ),
    "even kernel": Case(
        f"{CONV} --set model.kernel=4",
        "Use an odd kernel",
        [f"{CONV} --set model.kernel=5"],
    ),
    "student in the folder of a run": Case(
        "distil run --recipe recipe.toml --run run", "Resume it with: tongsa train --resume {"
    ),
    "student without a dev set": Case(
        "distil run --recipe recipe.toml --run new --set data.dev=[]",
        "Name a dev file",
        ["distil run --recipe recipe.toml --run new --set data.dev=dev.tsv"],
    ),
    "student without pairs": Case(
        "distil run --recipe recipe.toml --run new --set data.train=texts.txt",
        "Check data.train.",
        ["distil run --recipe recipe.toml --run new --set data.train=pairs.tsv"],
    ),
    "more outputs than the beam": Case(f"{TRANSLATE} --beam 2 --nbest 3", "Use a wider beam (--beam N)."),
    "language model with another tokenizer": Case(
        f"{TRANSLATE} --lm texts",
        "Train it with --set tokenizer.reuse_from=RUN",
        [f"{LM} --run lm2 --set tokenizer.reuse_from=run", f"{TRANSLATE} --lm lm2"],
    ),
    "unknown setting without its table": Case(f"{TRANSLATE} --set colour=2", "See tongsa settings {"),
    "negative weight": Case(
        f"{TRANSLATE} --lm lm2 --lm-weight=-1",
        "Try 0.2.",
        [f"{TRANSLATE} --lm lm2 --lm-weight 0.2"],
        before=run_quietly(f"{LM} --run lm2 --set tokenizer.reuse_from=run"),
    ),
    "more tokens than allowed": Case(f"{TRANSLATE} --set decoding.min_tokens=90", "raise max_extra_tokens (--set"),
    "many more tokens than allowed": Case(
        f"{TRANSLATE} --set decoding.min_tokens=400", "raise max_extra_tokens (--set"
    ),
    "long prefix": Case(f"{TRANSLATE} --prefix '{'가 나 ' * 150}'", "raise max_extra_tokens (--set"),
    "search settings of samples": Case(
        f"{TRANSLATE} --mbr 4 --beam 3 --prefix 가", "Leave out --beam, --alpha, --nbest"
    ),
    "search setting of samples": Case(
        f"{TRANSLATE} --mbr 4 --set decoding.beam=3", "and --set decoding.", [f"{TRANSLATE} --mbr 4"]
    ),
    "too many samples": Case(f"{TRANSLATE} --mbr 1001", "Give 1 to {", [f"{TRANSLATE} --mbr 3"]),
    "output without a journal": Case(
        f"{TRANSLATE} -o done.txt",
        "{RESTART_HINT}.",
        before=lambda folder: (folder / "done.txt.partial").write_text("a\n", "utf-8"),
    ),
    "output without a journal, the flag": Case(
        f"{TRANSLATE} -o done.txt",
        "start again with --restart",
        before=lambda folder: (folder / "done.txt.partial").write_text("a\n", "utf-8"),
    ),
    "ray without an output file": Case(f"{TRANSLATE} --executor ray", "Add -o OUT.", [f"{TRANSLATE} -o other.txt"]),
    "model that the engine does not support": Case(
        f"{TRANSLATE} --engine ctranslate2",
        " Use --engine torch.",
        [f"{TRANSLATE} --engine torch"],
        before=train_again("model.norm_kind=batch"),
    ),
    "engine of a single model": Case(f"{TRANSLATE} --engine ctranslate2 --ensemble run", "or use --engine torch."),
    "no shortlist": Case(
        f"{TRANSLATE} --set decoding.shortlist=true", "no shortlist. Make one: tongsa shortlist RUN --data FILE"
    ),
    "damaged shortlist": Case(
        f"{TRANSLATE} --set decoding.shortlist=true",
        "Make it again: tongsa shortlist RUN --data FILE",
        before=lambda folder: (
            run_quietly("shortlist run --data pairs.tsv")(folder),
            truncate("run/shortlist.safetensors")(folder),
        ),
    ),
    "scores that are NaN": Case(
        TRANSLATE,
        "Train again with a lower learning rate (training.lr.peak or training.lr.scale).",
        ["train recipe.toml --run new --set training.lr.scale=0.1", "translate new texts.txt"],
        before=write_huge_weights,
    ),
    "deleted model": Case(
        TRANSLATE,
        "Resume it: tongsa train --resume {",
        before=lambda folder: shutil.rmtree(folder / "run" / "model"),
        by_hand=lambda folder: shutil.rmtree(folder / "run" / "checkpoints"),
    ),
    "language model that should translate": Case(
        "translate texts texts.txt",
        "use tongsa sample, score, evaluate or view",
        ["sample texts --count 1", "score texts lines.txt", "evaluate texts --data lines.txt", "view texts 'a b'"],
    ),
    "classifier that should translate": Case(
        "translate labels texts.txt",
        "use tongsa classify, evaluate, score or view",
        [
            "classify labels texts.txt",
            "evaluate labels --data three.tsv",
            "score labels pairs.tsv",
            "view labels 'a b'",
        ],
        by_hand=lambda folder: [write_pairs(folder / name, [("a b", "yes")]) for name in ("three.tsv", "pairs.tsv")],
    ),
    "translation model that should classify": Case(
        "classify run texts.txt",
        "use tongsa translate, evaluate, score or view",
        [TRANSLATE, "evaluate run --data dev.tsv", "score run dev.tsv", "view run 'a b'"],
    ),
    "export of another kind": Case("export texts --to ctranslate2", "Export with --to onnx."),
    "export of another norm": Case(
        "export run --to huggingface",
        "Train with --set model.{name}={",
        ["train recipe.toml --run run --set model.norm_kind=layer", "export run --to huggingface"],
        before=train_again("model.norm_kind=rms"),
        by_hand=lambda folder: shutil.rmtree(folder / "run"),
    ),
    "export of another width": Case(
        "export run --to ctranslate2",
        "Train with --set model.{name}=0",
        ["train recipe.toml --run run --set model.key_width=0", "export run --to ctranslate2"],
        before=train_again("model.key_width=6"),
        by_hand=lambda folder: shutil.rmtree(folder / "run"),
    ),
    "export to a full folder": Case(
        "export run --to ctranslate2 -o full",
        "Choose another folder with -o.",
        ["export run --to ctranslate2 -o other"],
    ),
    "unknown tokenizer of a metric": Case(
        "evaluate run --data dev.tsv --tokenize x", "Use one of {", ["evaluate run --data dev.tsv --tokenize 13a"]
    ),
    "page of an evaluation as JSON": Case(
        "evaluate run --data dev.tsv --by length --json -o slices.html",
        "Leave out {flag}, or give another name.",
        ["evaluate run --data dev.tsv --by length -o slices.html", "evaluate run --data dev.tsv --json -o slices.json"],
    ),
    "page of an evaluation without slices": Case(
        "evaluate run --data dev.tsv -o slices.html",
        "Add --by length.",
        ["evaluate run --data dev.tsv --by length -o slices.html"],
    ),
    "demo in a full folder": Case(
        "demo --run full",
        "Choose another folder with --run.",
        [
            "demo --run other --set training.steps=2 --set decoding.beam=1 --set decoding.max_extra_tokens=0 "
            "--set model.width=16 --set model.ffn_width=16"
        ],
    ),
    "hypotheses below 0": Case(
        "search-tree run 'a b' --pruned=-1", "0 shows none, 3 the three best.", ["search-tree run 'a b' --pruned 3"]
    ),
    "unknown setting": Case("settings zzzz", "see the list: tongsa settings"),
    "column that is missing": Case(
        "score run dev.tsv --columns 1 3",
        "Change --columns",
        ["score run dev.tsv --columns 1 2"],
    ),
    "server without a model": Case("serve", "for example: tongsa serve runs/mine"),
    "two models with a name": Case("serve run run", "already. Write NAME=RUN.", ["serve run other=run"]),
    "model without a name": Case("serve =run", "no name. Write NAME=RUN.", ["serve other=run"]),
    "server without keys": Case("serve run --keys none.tsv", "Create a key with: tongsa serve --keys {"),
    "server with a damaged key": Case(
        "serve run --keys keys.tsv",
        "Delete this line. {remedy}",
        by_hand=lambda folder: (folder / "keys.tsv").write_text("", "utf-8"),
    ),
    "name with a space": Case(
        "serve --keys new.tsv --new-key 'a b'", "such as alice.", ["serve --keys new.tsv --new-key alice"]
    ),
}


SLOW_CASES = {"too many labels", "demo in a full folder", "export of another kind", "even kernel", "one label"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW_CASES else ()) for name in CASES]
)
def test_a_failed_command_succeeds_after_its_remedy(name: str, files: Path, tmp_path: Path) -> None:
    case, folder = CASES[name], tmp_path / "files"
    shutil.copytree(files, folder)
    case.before(folder)
    command = shlex.split(case.command)
    failed = run(command, folder)
    assert failed.code == 2, failed.stderr
    assert all(part in failed.error for part in re.split(r"\{\w*\}?", case.remedy)), failed.error
    remedied = [shlex.split(line) for line in case.then] or [follow_remedy(command, failed.error, PLACEHOLDERS)]
    case.by_hand(folder)
    if (
        not case.then
        and command[0] in ("translate", "serve")
        and {"--resume", "--new-key", "--to", "--data"} & {*remedied[0]}
    ):
        remedied.append(command)  # it failed because something was missing
    for words in remedied:
        result = run(words, folder)
        assert result.code == 0, f"{failed.error}\n{words}\n{result.stderr}"


def run(words: Sequence[str], folder: Path) -> CommandResult:
    """Run a command; a server is stopped when it listens."""
    if words[0] != "serve" or "--new-key" in words:
        return run_command(*words, cwd=folder)
    port = [] if "--port" in words else ["--port", "0"]
    server = ForkedCommand([*words, *port], prepare=lambda: os.chdir(folder))
    while server.poll() is None:
        if b"listening" in os.pread(server.messages.fileno(), 10_000, 0):
            server.send_signal(signal.SIGKILL)
            server.finish()
            return CommandResult(0, "", "")
        time.sleep(0.01)
    code, messages = server.finish()
    return CommandResult(code, "", messages)


def test_a_busy_port_can_be_replaced(files: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        failed = run(["serve", "run", "--port", str(listener.getsockname()[1])], files)
    assert failed.code == 2
    assert "Choose another with --host and --port." in failed.error
    assert run(["serve", "run", "--host", "127.0.0.1", "--port", "0"], files).code == 0


def test_printed_time_budgets_are_times() -> None:
    for text in ("soon", "0s", "20", "1h30"):
        with pytest.raises(InputError, match="Write for example") as error:
            parse_duration(text)
        examples = re.findall(r"\b\d\w+", str(error.value).split("for example")[1])
        assert examples and all(parse_duration(example) > 0 for example in examples)


SHARED = [TransformerConfig(width=16, heads=2), ConvS2SConfig(width=16, hidden=16), ByteNetConfig(width=16, hidden=8)]


@pytest.mark.parametrize("config", SHARED)
def test_one_vocabulary_for_both_sides_can_be_shared(config: TransformerConfig | ConvS2SConfig | ByteNetConfig) -> None:
    config = replace(config, tie_embeddings="all")
    with pytest.raises(ValueError, match=r"Set tokenizer\.shared = true\."):
        config.build(20, 30)
    config.build(20, 20)


def test_settings_of_a_kind_that_exclude_each_other_name_the_one_to_change() -> None:
    with pytest.raises(ValueError, match=r'Set output = "maxout", or tie_embeddings = "none"\.'):
        RNNAttentionConfig(embedding=8, maxout_width=8, output="linear", tie_embeddings="target")
    RNNAttentionConfig(embedding=8, maxout_width=8, output="maxout", tie_embeddings="target").build(9, 9)
    RNNAttentionConfig(embedding=8, width=8, output="linear", tie_embeddings="none").build(9, 9)
    with pytest.raises(ValueError, match="Use an odd kernel"):
        ByteNetConfig(encoder_kernel=4)
    ByteNetConfig(width=16, hidden=8, encoder_kernel=5, decoder_kernel=4).build(9, 9)


def test_a_model_in_memory_gets_a_shortlist_through_a_folder(files: Path, tmp_path: Path) -> None:
    loaded = bundle.load_bundle(files / "run")
    translator = Translator(loaded.model, loaded.source_tokenizer, loaded.target_tokenizer, DecodingConfig())
    with pytest.raises(InputError, match=r"Save the model, run tongsa shortlist, and load it again\."):
        translator.translate(["a b"], shortlist=True)
    bundle.save_bundle(tmp_path / "saved", loaded, "")
    assert run_command("shortlist", tmp_path / "saved", "--data", files / "pairs.tsv").code == 0
    assert bundle.load_bundle(tmp_path / "saved").translator().translate(["a b"], shortlist=True)


def test_terms_are_enforced_without_sampling(files: Path) -> None:
    translator = bundle.load_bundle(files / "run").translator()
    glossary = Glossary.from_pairs([("b", "나")])
    (sampled,) = translator.translate(["a b"], glossary=glossary, sampling=SamplingConfig())
    assert "Leave out --sample (in Python, sampling)." in sampled.terms[0].skipped_reason
    (translation,) = translator.translate(["a b"], glossary=glossary)
    assert "--sample" not in translation.terms[0].skipped_reason


def test_a_run_resumes_with_the_printed_number_of_workers(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    with pytest.raises(InputError, match=r"Use at most \d+ with --workers\.") as error:
        open_run(Path("run"), DistributedContext(world_size=2))
    (workers,) = re.findall(r"at most (\d+)", str(error.value))
    assert open_run(Path("run"), DistributedContext(world_size=int(workers)))


def finding(folder: Path, name: str, settings: Sequence[str]) -> Finding:
    """Return a finding of `tongsa doctor` for columns.tsv; the checks after it are not run."""
    recipe = resolve_recipe(None, data=folder / "columns.tsv", settings=[*settings, "training.device=cpu"])
    with tempfile.TemporaryDirectory() as run_folder:
        new_run = create_run(Path(run_folder), recipe, prepare_data(recipe, Path(run_folder)))
        return next(item for item in run_checks(new_run) if item.name == name)


@pytest.mark.parametrize(
    ("name", "remedy", "wrong", "right"),
    [
        ("dropped lines", "or correct data.columns", "data.columns=[1,6]", "data.columns=[1,2]"),
        ("dropped lines", "or raise data.max_tokens", "data.max_tokens=4", "data.max_tokens=100"),
        ("script of source", "for example --set data.columns=[2,3]", "data.columns=[5,2]", "data.columns=[1,2]"),
        ("header", "--set data.header=true", "", "data.header=true"),
        ("copies", "check data.train and data.columns", "data.columns=[1,1]", "data.columns=[1,2]"),
        ("script of target", "correct data.columns", "data.columns=[1,3]", "data.columns=[1,2]"),
        ("alignment", "Check data.columns.", "data.columns=[1,4]", "data.columns=[1,2]"),
        (
            "unknown tokens, train target",
            "raise tokenizer.vocab_size",
            "tokenizer.model=word tokenizer.vocab_size=12",
            "tokenizer.model=word tokenizer.vocab_size=300",
        ),
    ],
)
def test_a_finding_disappears_with_the_setting_of_its_remedy(
    name: str, remedy: str, wrong: str, right: str, tmp_path: Path
) -> None:
    pairs = reversing(400)
    shuffled = [target for _, target in reversing(400, seed=9)]
    rows = [
        (source, target, source if i % 3 else target, shuffled[i], str(i), *(["x"] if i % 2 else []))
        for i, (source, target) in enumerate(pairs)
    ]
    if name == "header":
        rows.insert(0, ("English", "Korean", "English", "Korean", "0", "x"))
    (tmp_path / "columns.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    before, after = (finding(tmp_path, name, [*SMALL, *settings.split()]) for settings in (wrong, right))
    assert before.level in ("warning", "fault"), before.text
    assert remedy in before.remedy
    assert after.level == "ok", after.text


def test_a_long_training_is_shorter_with_fewer_steps() -> None:
    estimate = ResourceEstimate(0, 10.0, False, 1)
    long = check_training_time(estimate, TrainingConfig(steps=100_000))
    assert long.level == "remark" and "lower training.steps" in long.remedy
    assert check_training_time(estimate, TrainingConfig(steps=1_000)).level == "ok"


def test_the_metric_for_unbalanced_labels_can_be_used(files: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.tsv").write_text("a b\tyes\n" * 60 + "b c\tno\n", "utf-8")
    settings = [word for word in shlex.split(LABELS) if "=" in word]
    balance = finding(tmp_path, "label balance", settings)
    words = follow_remedy(shlex.split(LABELS), balance.remedy)
    assert words[-1] == "training.best_metric=macro_f1"
    assert run_command(*words, "--data", tmp_path / "columns.tsv", cwd=tmp_path).code == 0


TRIED = (
    'Set output = "maxout", or tie_embeddings = "none".',
    "Choose another with --host and --port.",
    "Write for example",
    "Set tokenizer.shared = true.",
    "Save the model, run tongsa shortlist, and load it again.",
    "samples are drawn without constraints. Leave out --sample (in Python, sampling).",
    "(training.grad_accumulation). Use {choice} with --workers.",
    "or correct data.columns",
    "or raise data.max_tokens",
    "for example --set data.columns=[2,3]",
    "skip the first line of each file: --set data.header=true",
    "check data.train and data.columns",
    "correct data.columns or remove the lines",
    "Check data.columns.",
    "raise tokenizer.vocab_size",
    "lower training.steps",
    "use training.best_metric = macro_f1",
)
"""Parts of the messages in the tests above that are not in CASES."""
ELSEWHERE = {
    "tests/cli/test_arguments.py::test_a_number_of_threads_that_no_machine_has_is_refused": (
        "too many. Give at most {MAX_THREADS}.",
    ),
    "tests/cli/test_data_report.py::test_wrong_arguments_are_refused_before_the_work": (
        "only the ablation trains models. Add --ablate.",
        "compares translations, not --task {options.task}. Leave it out.",
    ),
    "tests/decoding/test_shortlist.py::test_a_shortlist_that_could_not_be_read_again_is_not_written": (
        "Give fewer --candidates.",
    ),
    "tests/runs/test_data_clean.py::test_filters_that_drop_all_pairs_are_an_error": ("Loosen data.filters",),
    "tests/runs/test_data_clean.py::test_a_model_scores_the_pairs_and_the_lowest_are_dropped": (
        "Name a run with data.filters.model.",
    ),
    "tests/runs/test_corpora.py::test_a_stage_without_pairs_is_refused": ("Raise its max_tokens or weights.",),
    "tests/visualize/test_large_traces.py::test_the_command_says_what_was_recorded": (
        "Choose layers with --layers, or shorten the text.",
    ),
    "tests/runs/test_plan_warnings.py::test_a_plan_that_does_not_read_the_data_names_the_steps_that_do": (
        "--set training.steps={epoch_steps}",
        "that read the training data once",
    ),
    "tests/runs/test_plan_warnings.py::test_too_little_data_can_start_from_a_trained_model": (
        "fine-tune a model that was trained on more: --set training.init_from=RUN",
    ),
    "tests/runs/test_plan_warnings.py::test_a_classifier_of_random_labels_overfits_and_says_so": (
        "early stopping (training.patience)",
    ),
    "tests/export/test_ctranslate2.py::test_damaged_folder_is_an_error": (
        "Make it again: tongsa export RUN --to ctranslate2",
        "Make one: tongsa export RUN --to ctranslate2",
    ),
    "tests/test_own_kind.py::test_no_code_is_imported_from_the_folder_of_a_model": (
        "Run tongsa in the folder of {module_name}.py",
        "move it to the current directory or install it.",
    ),
    "tests/test_own_kind.py::test_a_server_loads_an_own_kind_only_if_allowed": ("add --set own_kinds=true",),
    "tests/test_bundle.py::test_the_remedy_for_an_ensemble_with_other_tokenizers_works": (
        "tokenizer.reuse_from={first}",
        " --set tokenizer.shared=false",
        " --set tokenizer.jamo=true",
    ),
    "tests/cli/test_translate_documents.py::test_options_that_do_not_fit_are_refused_and_nothing_is_written": (
        "Leave it out, or translate the lines of the file: --format text.",
        "only for CSV and TSV whose format is kept. Leave it out.",
    ),
    "tests/cli/test_remedies.py::test_the_next_command_that_is_printed_works": (
        "{translate} --engine ctranslate2-int8",
        "next: tongsa translate {options.run} --set decoding.shortlist=true",
    ),
    "tests/cli/test_remedies.py::test_a_failed_command_succeeds_after_its_remedy": (
        "Leave it out, or use --to ctranslate2.",
        "Write --set {keys[0]}={",
        "Leave out --rerank.",
        "Add --rerank.",
        "Add --keys FILE.",
        "too few. Give at least 1.",
        "for example --run runs/mine.",
        "only for sampling. Add --sample.",
        "If it is training data, write --data {path}",
        "--executor {options.executor}",
        "--set sampling.{key}=…",
    ),
    "tests/cli/test_remedies.py::test_resume_with_other_arguments_succeeds_without_them": (
        "--resume: recipe, data and folder are those of the run.",
    ),
    "tests/cli/test_remedies.py::test_a_second_run_in_a_folder_is_refused_and_can_be_resumed": (
        "Resume it with: tongsa train --resume {folder}, ",
    ),
    "tests/runs/test_workers.py::test_two_workers_resume_to_identical_bytes_after_one_was_killed": (
        "Resume with tongsa train --resume RUN.",
    ),
    "tests/decoding/test_glossary.py::test_a_term_without_room_is_left_out_and_the_others_are_placed": (
        "max_extra_tokens (--set decoding.max_extra_tokens=200).",
    ),
    "tests/decoding/test_glossary.py::test_a_term_that_costs_too_much_is_left_out_with_both_scores": (
        "Raise max_term_cost (--set decoding.max_term_cost=",
    ),
    "tests/runs/test_term_replacement.py::test_wrong_settings_are_refused_with_a_remedy_that_works": (
        "Write term_replacement = 0.3 too.",
        "data.term_replacement: only a model that translates can learn it.",
        "data.term_replacement: no training pair contains a term and its translation.",
        "Check data.glossary, or leave it out.",
    ),
    "tests/test_system.py::test_every_command_runs_without_posix": (
        "the memory of a process cannot be measured on this system. Write training.memory_limit_mib = 0",
    ),
    "tests/runs/test_longer_runs.py::test_the_remedies_for_a_resumed_run_work": (
        "cannot change during a run. Leave it out",
        "Write more, for example --set training.steps={2 * step}",
    ),
    "tests/checks/test_broken_data.py::test_a_file_in_another_encoding_is_read_with_the_setting_in_the_message": (
        "Convert it while reading: --set data.encoding={recognized}",
    ),
    "tests/checks/test_broken_data.py::test_utf8_is_not_read_in_another_encoding": (
        "Recognize the encoding of each file: --set data.encoding=auto",
        "data.encoding {encoding}: unknown.",
    ),
    "tests/data/test_formats.py::test_labels_and_columns_of_parquet_and_json_lines": (
        "not text. Set --columns SOURCE TARGET",
        "Correct data.columns.",
    ),
    "tests/data/test_formats.py::test_a_tmx_with_three_languages_needs_a_choice": (
        "Choose two: --set data.source_language=CODE --set data.target_language=CODE",
        "missing-language: correct data.source_language and data.target_language",
    ),
    "tests/runs/test_languages.py::test_a_korean_target_is_scored_over_characters_without_a_setting": (
        "--set data.{key}=CODE",
    ),
    "tests/runs/test_languages.py::test_a_model_without_languages_is_evaluated_by_its_references": (
        "To change: --tokenize NAME",
    ),
    "tests/cli/test_evaluate.py::test_words_by_frequency_need_the_training_files": (
        "--by frequency: the training files cannot be read. {error}",
    ),
    "tests/cli/test_evaluate.py::test_a_language_model_has_slices_by_length_only": (
        "only for models that translate. Use --by length.",
        "--by {name}: unknown. Use {",
    ),
    "tests/runs/test_planner.py::test_the_remedy_for_missing_data_works": ("pass --set data.folder=DIR.",),
    "tests/runs/test_grid.py::test_a_wrong_setting_is_refused_before_anything_is_written": (
        "--vary {key}={",
        "Write KEY=VALUE,VALUE, for example model.norm=pre,post.",
        "seeds have an option of their own. Give --seeds N instead.",
        "another --vary",
        "Write --vary {key}=VALUE,VALUE.",
        "--vary {assignment}",
    ),
    "tests/runs/test_ladder.py::test_wrong_arguments_are_refused_with_a_remedy_that_works": (
        "Leave it out, or add --data FILE.",
        "a grid has seeds of its own. Leave it out, and give --seeds N.",
        "not a model of this task. Choose from {",
        "a quick ladder has a fixed number of steps. Leave it out.",
    ),
    "tests/runs/test_input_remarks.py::test_a_prefix_for_a_line_of_two_sentences_names_the_line": (
        "take the text as one: --no-split",
    ),
    "tests/runs/test_distillation.py::test_outputs_of_another_job_are_not_reused": ("choose another --run.",),
    "tests/evaluation/test_comet_package.py::test_a_metric_without_a_model_asks_for_one": (
        "COMET needs a model. Add --comet-model FILE",
        "Give the checkpoint of a downloaded model (checkpoints/model.ckpt).",
    ),
    "tests/evaluation/test_comet_package.py::test_files_that_are_no_checkpoint_are_refused": (
        "Download the whole model, not the checkpoint alone.",
        "Give the checkpoint of a COMET model.",
        "Download the model again.",
    ),
    "tests/evaluation/test_comet_package.py::test_a_checkpoint_with_code_is_not_run": (
        "Use a checkpoint of weights alone (docs/guide.md).",
    ),
    "tests/evaluation/test_comet_package.py::test_a_missing_encoder_is_named": (
        "Restore its folder, or run: hf download",
    ),
    "tests/evaluation/test_comet_package.py::test_a_package_that_cannot_be_imported_is_no_missing_package": (
        "the package unbabel-comet cannot be imported",
    ),
    "tests/runs/test_init_from.py::test_without_a_recipe_the_settings_of_the_initial_model_are_used": (
        "--set training.init_from=RUN (docs/guide.md)",
    ),
}
"""Tests that follow remedies, with parts of the messages."""
NOT_TRIED = (
    ("$COMP_CWORD", "a part of a script"),
    ("(( CURRENT == 3 ))", "a part of a script"),
    ("a format without lines. Name the column of the document", "needs a Parquet file with the names of documents"),
    ("{address}: ", "needs the network; tests/data/test_public_sets.py has a server of its own"),
    ("exists, and was not written by tongsa data get", "needs the network; a folder is removed by the user"),
    (
        "model.kind: {kind} instead of the recipe's",
        "a remark, not a remedy; tests/runs/test_planner.py builds the model",
    ),
    ("pip install", "installs packages"),
    ("the package unbabel-comet is not installed", "installs packages"),
    ("--by frequency: this model was never saved", "a model made in Python, which has no folder"),
    ("halve training.batch_tokens and double", "needs a batch that exceeds the memory of the machine"),
    ("tongsa demo: English", "the title of a page"),
    ("--set: ", "the origin of an error, which is replaced"),
    ("training.probe={json.dumps(", "a setting of a ladder"),
    ("decoding.no_repeat_ngram=3 (docs", "an example in the help"),
    ("the process that started this worker has ended", "needs a killed launcher"),
    ("Decompress the input to a file.", "needs Ray"),
    ("is not a kind of model; {", "a suggestion of a similar name, tried for keys"),
    ("no table {table} here; {", "a suggestion of a similar name, tried for keys"),
    ("data.train is empty. Restore the file", "the file of the user, restored in tests/runs/test_edges.py"),
    (
        "Continue with: tongsa train --resume {run.folder}",
        "needs a signal during a training; tests/runs/test_resume.py resumes",
    ),
    ("SentencePiece cannot train it on this text", "no text is known for which it fails"),
    ("no GPU for worker", "needs a GPU"),
    ("Lower training.batch_tokens.", "needs exhausted memory"),
    ("for example --budget 5m", "takes minutes"),
    ("model.kind: {kind}: ", "code of the user's own, repaired by the user"),
)
"""A part of a message, and the reason why no test follows its remedy."""
REMEDY = re.compile(
    rf"\btongsa (?:{'|'.join(COMMANDS)})\b|(?:^|[ (])--[a-z]|"
    r"\b(?:data|model|tokenizer|training|decoding)\.(?!toml)[a-z_]+|(?:Write|Set|Use) \w+ = |pip install"
)


def source_messages() -> Iterator[tuple[str, str]]:
    """Yield (location, text) of the string literals in src that name a command, a flag or a setting.

    Docstrings, help texts of arguments and descriptions of commands (several lines) are no messages.
    """
    for path in sorted((ROOT / "src" / "tongsa").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                skipped.update(map(id, node.values))
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("add_argument", "format_command")):
                skipped.update(map(id, ast.walk(node)))
        for node in ast.walk(tree):
            text = literal_text(node)
            if (
                id(node) not in skipped
                and " " in text
                and "\n" not in text
                and REMEDY.search(re.sub(r"\{.*?\}", "{}", text))
            ):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text  # type: ignore[attr-defined]


def literal_text(node: ast.AST) -> str:
    """Return the text of a string literal, with the expressions of an f-string in braces."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(literal_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return command_text(node.value) or f"{{{ast.unparse(node.value)}}}"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def command_text(node: ast.expr) -> str:
    """Return the text of format_command("train --resume {}", folder): `tongsa train --resume {folder}`."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "format_command":
        return ""
    template, *arguments = node.args
    text = template.value if isinstance(template, ast.Constant) else ""
    return f"tongsa {str(text).format(*(f'{{{ast.unparse(argument)}}}' for argument in arguments))}"


def test_every_remedy_is_tried_or_has_a_reason() -> None:
    known = [
        *(case.remedy for case in CASES.values()),
        *TRIED,
        *chain(*ELSEWHERE.values()),
        *(part for part, _ in NOT_TRIED),
    ]
    messages = dict(source_messages())
    unknown = [f"{location}: {text}" for location, text in messages.items() if not any(part in text for part in known)]
    assert not unknown, "no test follows the remedy of\n" + "\n".join(unknown)
    unused = [
        part
        for part in (*chain(*ELSEWHERE.values()), *(part for part, _ in NOT_TRIED))
        if not any(part in text for text in messages.values())
    ]
    assert not unused, "no message has these parts any more"


COMMAND_WITH_ARGUMENTS = re.compile(rf"\btongsa (?:{'|'.join(COMMANDS)}) (?:--|\{{|…|[A-Z]{{2,}}|runs/)")


def test_printed_commands_are_made_by_format_command() -> None:
    """They begin with the program as the user typed it, and their paths are quoted."""
    bare = []
    for path in sorted((ROOT / "src" / "tongsa").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in docstrings
            text = ast.unparse(node) if is_text else ""
            if "\\n" not in text and "\n" not in text and COMMAND_WITH_ARGUMENTS.search(text):
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}: {text}")  # type: ignore[attr-defined]
    assert not bare, "use tongsa.program.format_command in\n" + "\n".join(bare)


def test_tests_elsewhere_exist() -> None:
    for test in ELSEWHERE:
        path, name = test.split("::")
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), test
