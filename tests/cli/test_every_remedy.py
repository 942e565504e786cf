"""Every remedy in a message of tongsa is tried: here, in a test named in ELSEWHERE, or NOT_TRIED has the reason.

A case is a command that fails, a part of its message as it is written in the source, and what the user does then.
"""

import ast
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
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import tongsa
from command_line import CommandResult, follow_remedy, run_command, set_flags
from jobs import ForkedCommand
from tiny import SMALL, reversing, write_pairs
from tongsa import bundle, runs
from tongsa.checks.finding import Finding
from tongsa.checks.resources import ResourceEstimate, check_training_time
from tongsa.cli import COMMANDS
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.models.conv_s2s import ConvS2SConfig
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
LABELS = f"train --run new {TINY} --set model.kind=structured_self_attention"
LM = f"train --data lines.txt {TINY} --set model.kind=rnn_lm"
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
    labels = "".join(f"{source}\tyes\t{source} {i}\t{'no' if i % 3 else 'yes'}\n" for i, (source, _) in PAIRS)
    (folder / "labels.tsv").write_text(labels, "utf-8")
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


PAIRS = list(enumerate(reversing(1100)))


@dataclass(frozen=True)
class Case:
    command: str
    remedy: str
    """A part of the message, as it is written in the source."""
    then: Sequence[str] = ()
    """Commands of the user after the message; by default the command changed as the message says."""
    before: Callable[[Path], object] = lambda folder: None
    by_hand: Callable[[Path], object] = lambda folder: None
    """The part of the remedy that is not a command."""


def run_quietly(command: str) -> Callable[[Path], object]:
    return lambda folder: run_command(*shlex.split(command), cwd=folder)


def truncate(name: str) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, 40)


def write_nan_weights(folder: Path) -> None:
    loaded = bundle.load_bundle(folder / "run")
    tensors = {name: torch.full_like(value, torch.nan) for name, value in bundle.named_tensors(loaded.model).items()}
    bundle.save_bundle(folder / "run" / "model", loaded, "", tensors)


TRANSLATE = "translate run texts.txt"
CASES = {
    "dev set of a recipe": Case(
        "train recipe.toml --dev dev.tsv --run new",
        "To change the dev set of a recipe: --set data.dev=FILE",
        ["train recipe.toml --run new --set data.dev=dev.tsv"],
    ),
    "no data": Case(f"train --run new {QUICK}", "or your own files (--data FILE)"),
    "no files in the recipe": Case(
        "train recipe.toml --run new --set data.train=[]",
        "or with --data FILE",
        ["train recipe.toml --run new --data pairs.tsv"],
    ),
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
        f"{LABELS} --data labels.tsv --set data.columns=[1,3]",
        "Check data.columns: the second must be the label.",
        [f"{LABELS} --data labels.tsv --set data.columns=[1,4]"],
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
        f"{TRAIN} --set training.lr.peak=1e30 --set training.lr.schedule=constant --set training.steps=9",
        "Try a lower training.lr.peak",
        [f"{TRAIN.replace('new', 'lower')} --set training.lr.peak=1e-3 --set training.lr.schedule=constant"],
    ),
    "even kernel": Case(
        f"train --data pairs.tsv --run new {TINY} --set model.kind=conv_s2s --set model.kernel=4",
        "Use an odd kernel",
        [f"train --data pairs.tsv --run new {TINY} --set model.kind=conv_s2s --set model.kernel=5"],
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
    "negative weight": Case(f"{TRANSLATE} --lm run --lm-weight=-1", "Try 0.2.", [f"{TRANSLATE} --lm lm2 --lm-weight 0.2"],
        before=run_quietly(f"{LM} --run lm2 --set tokenizer.reuse_from=run")),
    "more tokens than allowed": Case(f"{TRANSLATE} --set decoding.min_tokens=90", "raise max_extra_tokens (--set"),
    "many more tokens than allowed": Case(f"{TRANSLATE} --set decoding.min_tokens=400", "raise max_extra_tokens (--set"),
    "long prefix": Case(f"{TRANSLATE} --prefix '{'가 나 ' * 150}'", "raise max_extra_tokens (--set"),
    "search settings of samples": Case(f"{TRANSLATE} --mbr 4 --beam 3 --prefix 가", "Leave out --beam, --alpha, --nbest"),
    "search setting of samples": Case(
        f"{TRANSLATE} --mbr 4 --set decoding.beam=3", "and --set decoding.", [f"{TRANSLATE} --mbr 4"]
    ),
    "too many samples": Case(f"{TRANSLATE} --mbr 1001", "Give 1 to {", [f"{TRANSLATE} --mbr 3"]),
    "existing output": Case(f"{TRANSLATE} -o done.txt", "{RESTART_HINT}."),
    "existing output, the flag": Case(f"{TRANSLATE} -o done.txt", "start again with --restart"),
    "ray without an output file": Case(f"{TRANSLATE} --executor ray", "Add -o OUT.", [f"{TRANSLATE} -o other.txt"]),
    "no export": Case(
        f"{TRANSLATE} --engine ctranslate2", "no CTranslate2 model. Make one: tongsa export RUN --to ctranslate2"
    ),
    "damaged export": Case(
        f"{TRANSLATE} --engine ctranslate2",
        "Make it again: tongsa export RUN --to ctranslate2",
        before=lambda folder: (run_quietly("export run --to ctranslate2")(folder), truncate("run/ctranslate2/model.bin")(folder)),
    ),
    "export of other weights": Case(
        f"{TRANSLATE} --engine ctranslate2",
        "Export again: tongsa export {",
        before=run_quietly("export two --to ctranslate2 -o run/ctranslate2"),
    ),
    "engine of a single model": Case(f"{TRANSLATE} --engine ctranslate2 --ensemble run", "or use --engine torch."),
    "no shortlist": Case(
        f"{TRANSLATE} --set decoding.shortlist=true", "no shortlist. Make one: tongsa shortlist RUN --data FILE"
    ),
    "damaged shortlist": Case(
        f"{TRANSLATE} --set decoding.shortlist=true",
        "Make it again: tongsa shortlist RUN --data FILE",
        before=lambda folder: (run_quietly("shortlist run --data pairs.tsv")(folder), truncate("run/shortlist.safetensors")(folder)),
    ),
    "scores that are NaN": Case(
        TRANSLATE,
        "Train again with a lower learning rate (training.lr.peak or training.lr.scale).",
        ["train recipe.toml --run new --set training.lr.scale=0.1", "translate new texts.txt"],
        before=write_nan_weights,
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
        ["classify labels texts.txt", "evaluate labels --data three.tsv", "score labels pairs.tsv", "view labels 'a b'"],
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
        ["train recipe.toml --run run --set model.norm=post", "export run --to huggingface"],
        before=lambda folder: (shutil.rmtree(folder / "run"), run_quietly("train recipe.toml --run run --set model.norm=pre")(folder)),
        by_hand=lambda folder: shutil.rmtree(folder / "run"),
    ),
    "export of another width": Case(
        "export run --to ctranslate2",
        "Train with --set model.{name}=0",
        ["train recipe.toml --run run --set model.key_width=0", "export run --to ctranslate2"],
        before=lambda folder: (shutil.rmtree(folder / "run"), run_quietly("train recipe.toml --run run --set model.key_width=6")(folder)),
        by_hand=lambda folder: shutil.rmtree(folder / "run"),
    ),
    "export to a full folder": Case(
        "export run --to ctranslate2 -o full", "Choose another folder with -o.", ["export run --to ctranslate2 -o other"]
    ),
    "unknown tokenizer of a metric": Case(
        "evaluate run --data dev.tsv --tokenize x", "Use one of {", ["evaluate run --data dev.tsv --tokenize 13a"]
    ),
    "demo in a full folder": Case(
        "demo --run full",
        "Choose another folder with --run.",
        ["demo --run other --set training.steps=2 --set decoding.beam=1 --set decoding.max_extra_tokens=0 "
         "--set model.width=16 --set model.ffn_width=16"],
    ),
    "data given as a recipe": Case("train pairs.tsv --run new", "If it is training data, write --data {"),
    "hypotheses below 0": Case(
        "search-tree run 'a b' --pruned=-1", "0 shows none, 3 the three best.", ["search-tree run 'a b' --pruned 3"]
    ),
    "server without a model": Case("serve", "for example: tongsa serve runs/mine"),
    "two models with a name": Case(
        "serve run run", "already. Write NAME=RUN.", ["serve run other=run"]
    ),
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


@pytest.mark.parametrize("name", CASES)
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
    if remedied[0][0] != command[0] or "--resume" in remedied[0] or "--new-key" in remedied[0]:
        remedied += [] if case.then or command[0] == "distil" or "--resume" in command else [command]
    for words in remedied:
        assert run(words, folder).code == 0, f"{failed.error}\n{words}\n{run(words, folder).stderr}"


def run(words: Sequence[str], folder: Path) -> CommandResult:
    """Run a command; a server is stopped when it listens."""
    if words[0] != "serve" or "--new-key" in words:
        return run_command(*words, cwd=folder)
    port = [] if "--port" in words else ["--port", "0"]
    server = ForkedCommand([*words, *port], prepare=lambda: os.chdir(folder))
    while server.poll() is None and b"listening" not in os.pread(server.messages.fileno(), 10_000, 0):
        time.sleep(0.01)
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    code, messages = server.finish()
    return CommandResult(code, "", messages)
