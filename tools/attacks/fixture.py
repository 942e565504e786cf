"""Intact folders that the attacks copy and damage, and their use by tongsa's own code."""

import io
import os
import shutil
import sys
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import torch

from attacks.outcomes import Outcome, WrongAnswerError
from tongsa import runs, storage
from tongsa.bundle import Bundle, load_bundle, save_bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines.names import EngineName
from tongsa.export import write_model
from tongsa.export.ctranslate2_cache import load_engine
from tongsa.runs.run import open_run
from tongsa.runs.shortlist import build_shortlist
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.training.checkpoint import latest_checkpoint
from tongsa.training.distributed import SINGLE_PROCESS
from tongsa.training.journal import Journal, read_journal
from tongsa.training.optimizer import build_optimizers

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from tiny import CONFIGS, kind_of

TEXTS = ["a b c", "f e d c", "가 🙂 z", ""]
STEPS = 4
SETTINGS = f"""model.width=32 model.ffn_width=64 model.heads=2 model.encoder_layers=1 model.decoder_layers=1
tokenizer.vocab_size=300 training.batch_tokens=256 training.threads=1 training.precision=fp32 training.steps={STEPS}
training.checkpoint_every=2 training.keep_checkpoints=2 training.average_last=2 training.validate_every=2
training.validate_sentences=2 decoding.max_extra_tokens=3 decoding.beam=1 data.source_language=en
data.target_language=ko""".split()
WRITTEN_IN_PLACE = (".jsonl", ".partial")
"""Files that tongsa appends to or truncates: a hard link to them would change the intact folder."""


@dataclass(frozen=True, eq=False)
class Fixture:
    """Intact folders, and what their use gives."""

    folder: Path
    answers: list[str]
    """Translations of TEXTS by the model of the run."""
    saved: dict[str, str]
    """Checksums of the model and of the last checkpoint of the run."""
    kinds: dict[str, Path]
    """A model with random weights of each kind."""

    @property
    def run(self) -> Path:
        """A trained run with exports for CTranslate2 and a shortlist."""
        return self.folder / "run"

    @property
    def pairs(self) -> Path:
        return self.folder / "pairs.tsv"


def make_fixture(folder: Path) -> Fixture:
    """Train a tiny run, export it, and save a model of each kind."""
    generator = Random(0)
    rows = [[generator.choice("abcdef") for _ in range(generator.randint(1, 6))] for _ in range(60)]
    lines = [f"{' '.join(row)}\t{' '.join(reversed(row))}\n" for row in rows]
    (folder / "pairs.tsv").write_text("".join(lines), "utf-8", newline="\n")
    (folder / "in.txt").write_text("".join(f"{' '.join(row)}{' ' * 20_000}\n" for row in rows), "utf-8", newline="\n")
    run = folder / "run"
    runs.train(data=folder / "pairs.tsv", run=run, settings=SETTINGS, quiet=True)
    saved = saved_bytes(run)
    build_shortlist(run, folder / "pairs.tsv", candidates=5, always=20)
    loaded = load_bundle(run)
    for name, int8 in (("ctranslate2", False), ("ctranslate2-int8", True)):
        with storage.replace_folder(run / name) as new:  # no engine here: its threads would not survive a fork
            write_model(new, loaded, "ctranslate2", int8=int8)
    return Fixture(folder, answers(loaded), saved, save_kinds(folder / "kinds", loaded))


def save_kinds(folder: Path, template: Bundle) -> dict[str, Path]:
    """Save a model with random weights of each kind; return their folders."""
    torch.manual_seed(1)
    tokenizer = template.source_tokenizer
    for name, config in CONFIGS.items():
        if name == kind_of(name):
            target = LabelTokenizer(["a", "나", "다"]) if config.task == "classification" else tokenizer
            model = Bundle(
                kind=name,
                config=config,
                model=config.build(len(tokenizer), len(target)).eval(),
                source_tokenizer=tokenizer,
                target_tokenizer=target,
                decoding=DecodingConfig(beam=1, max_extra_tokens=3),
            )
            save_bundle(folder / name, model, "")
    return {path.name: path for path in sorted(folder.iterdir())}


def saved_bytes(run: Path) -> dict[str, str]:
    """Return the checksums of the model and of the last checkpoint, without the card, which tells the time."""
    paths = [*(run / "model").iterdir(), run / "checkpoints" / f"{STEPS:09d}" / "state.safetensors"]
    return {path.name: storage.file_sha256(path) for path in sorted(paths) if path.name != "card.md"}


def answers(loaded: Bundle, engine: EngineName = "torch", *, with_shortlist: bool = False) -> list[str]:
    """Return what a model answers to TEXTS, as text."""
    if loaded.config.task == "classification":
        return [str(result) for result in loaded.classifier().classify(TEXTS)]
    if loaded.config.task == "language_model":
        return [str(scores) for scores in loaded.generator().score_texts(TEXTS)]
    searcher = load_engine(loaded, engine, lambda _: None) if engine != "torch" else None
    translator = loaded.translator(engine=searcher)
    return [result.text for result in translator.translate(TEXTS, shortlist=with_shortlist)]


@cache
def intact_answers(folder: Path, engine: EngineName, *, with_shortlist: bool) -> list[str]:
    return answers(load_bundle(folder), engine, with_shortlist=with_shortlist)


def copy_folder(source: Path, target: Path) -> Path:
    """Copy a folder with hard links, except for files that tongsa writes in place."""

    def link(old: str, new: str) -> str:
        if old.endswith(WRITTEN_IN_PLACE):
            shutil.copyfile(old, new)
        else:
            os.link(old, new)
        return new

    return Path(shutil.copytree(source, target, copy_function=link))


def use_model(
    folder: Path, expected: list[str], engine: EngineName = "torch", *, with_shortlist: bool = False
) -> Outcome:
    """Load a model and use it: it must answer as the intact one."""
    texts = answers(load_bundle(folder), engine, with_shortlist=with_shortlist)
    if texts != expected:
        raise WrongAnswerError(f"{texts} instead of {expected}")
    return Outcome.NO_EFFECT


def use_run(run: Path) -> Outcome:
    """Open a run as `train --resume` does, up to its first update."""
    opened = open_run(run)
    optimizers = build_optimizers(opened.bundle.model, opened.recipe.training, SINGLE_PROCESS)
    saved, messages = latest_checkpoint(run / "checkpoints", opened.bundle.model, optimizers)
    if saved:
        saved.restore(opened.bundle.model, optimizers, None)
    with Journal(run / "journal.jsonl", last_step=saved.progress.step if saved else -1):
        read_journal(run / "journal.jsonl")
    return Outcome.HEALED if messages else Outcome.NO_EFFECT


def resume_run(run: Path, fixture: Fixture) -> Outcome:
    """Train a run to its end: it must have the bytes of the undisturbed run, or say what was left out."""
    messages = io.StringIO()
    with redirect_stderr(messages):
        runs.resume(run)
    is_said = "the average is that of the other weights" in " ".join(messages.getvalue().split())
    if saved_bytes(run) != fixture.saved and not is_said:
        raise WrongAnswerError("the resumed run has other bytes than the undisturbed one")
    return Outcome.HEALED


def translation_command(fixture: Fixture, output: Path) -> list[str]:
    """Return the arguments of a bulk translation of several chunks."""
    return ["translate", str(fixture.run), str(fixture.folder / "in.txt"), "-o", str(output), "--engine", "torch"]
