"""The attacks of tools/attack.py: each damages a copy of a model or run folder and loads it with tongsa's own code.

An attack returns if the damage was refused with a sentence, healed, or had no effect. It raises WrongAnswerError if a
changed answer was given without a word; every other exception is a traceback that a user would see.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tongsa import runs, storage
from tongsa.bundle import load_bundle
from tongsa.errors import InputError
from tongsa.export import write_model
from tongsa.export.ctranslate2_cache import load_engine
from tongsa.runs.run import open_run
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.training.checkpoint import latest_checkpoint
from tongsa.training.distributed import SINGLE_PROCESS
from tongsa.training.journal import Journal, read_journal
from tongsa.training.optimizer import build_optimizers

TEXTS = ["a b c", "f e d c", "가 🙂 z", ""]
SETTINGS = """model.width=32 model.ffn_width=64 model.heads=2 model.encoder_layers=1 model.decoder_layers=1
tokenizer.vocab_size=300 training.batch_tokens=256 training.threads=1 training.precision=fp32 training.steps=4
training.checkpoint_every=2 training.keep_checkpoints=2 training.validate_sentences=2 decoding.max_extra_tokens=3
decoding.beam=1 data.source_language=en data.target_language=ko""".split()
TOML_VALUES = """0 -1 1 2 3 1000000000 99999999999999999999 1e308 -1e308 inf nan true "x" "" [] [1] {} {a=1} 0.5
"\\u0000" "\\u001b[2J" 1979-05-27 [[[[]]]] 65536 1000 10000""".split()
JSON_VALUES: list[Any] = [None, True, -1, 0, 1, 2**70, 1e308, float("nan"), "x", "", [], {}, [1], {"a": 1}, "\ud800"]


class WrongAnswerError(Exception):
    """A damaged folder was used without a word, with another answer than the intact one."""


@dataclass(frozen=True)
class Fixture:
    """An intact run with a CTranslate2 export, and the answers of its model."""

    run: Path
    answers: list[str]


def make_fixture(folder: Path) -> Fixture:
    """Train a tiny run and export it."""
    generator = Random(0)
    rows = [[generator.choice("abcdef") for _ in range(generator.randint(1, 6))] for _ in range(60)]
    lines = [f"{' '.join(row)}\t{' '.join(reversed(row))}\n" for row in rows]
    (folder / "pairs.tsv").write_text("".join(lines), "utf-8", newline="\n")
    run = folder / "run"
    runs.train(data=folder / "pairs.tsv", run=run, settings=SETTINGS, quiet=True)
    loaded = load_bundle(run)
    with storage.replace_folder(run / "ctranslate2") as new:  # no engine here: its threads would not survive a fork
        write_model(new, loaded, "ctranslate2", int8=False)
    return Fixture(run, [result.text for result in loaded.translator().translate(TEXTS)])


def damage_bytes(content: bytes, rng: Random) -> bytes:
    """Return a copy with a few bytes or a part changed, removed, repeated or added."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((1, 1, 4, 64, 1024)))
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[start % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[start:]
        elif kind == 2:
            data[start:end] = rng.randbytes(end - start)
        elif kind == 3:
            del data[start:end]
        elif kind == 4:
            data[start:start] = data[start:end] or rng.randbytes(3)
        else:
            data[start:end] = bytes([rng.choice((0, 255, 0x5B, 0x7B))]) * (end - start)
    return bytes(data)


def damage_toml(text: str, rng: Random) -> str:
    """Return a TOML text with the value of a key replaced, or damaged as bytes."""
    matches = list(re.finditer(r"^([\w\".-]+ = ).*$", text, re.MULTILINE))
    if rng.random() < 0.3 or not matches:
        return damage_bytes(text.encode("utf-8"), rng).decode("utf-8", "surrogateescape")
    match = rng.choice(matches)
    value = rng.choice([*TOML_VALUES, "9" * rng.randrange(1, 6000), "[" * 999 + "]" * 999, f'"{"x" * 300}"'])
    return text[: match.end(1)] + value + text[match.end() :]


def damage_json(text: str, rng: Random) -> str:
    """Return a JSON text with a value replaced, removed or added, or damaged as bytes."""
    if rng.random() < 0.3:
        return damage_bytes(text.encode("utf-8"), rng).decode("utf-8", "surrogateescape")
    value = json.loads(text)
    parent: Any = value
    while True:
        key = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
        if not isinstance(parent[key], dict | list) or not parent[key] or rng.random() < 0.3:
            break
        parent = parent[key]
    if rng.random() < 0.2:
        del parent[key]
    else:
        parent[key] = rng.choice(JSON_VALUES)
    return json.dumps(value) if rng.random() < 0.9 else f"{'[' * 2000}{json.dumps(value)}{']' * 2000}"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_raw(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def replace_by_special_file(path: Path, rng: Random) -> None:
    """Replace a file by a pipe, a link, a folder, or a sparse file of many gigabytes."""
    path.unlink()
    kind = rng.randrange(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        with path.open("wb") as file:
            file.truncate(1 << 34)
    else:
        path.symlink_to(["/dev/zero", path.name, "/proc/self/environ"][kind - 3])


def copy_run(fixture: Fixture, scratch: Path) -> Path:
    return Path(shutil.copytree(fixture.run, scratch / "run"))


def use_model(folder: Path, fixture: Fixture, *, same_answers: bool) -> None:
    """Load a model and translate; with `same_answers` the damage may not change the answers."""
    texts = [result.text for result in load_bundle(folder).translator().translate(TEXTS)]
    if same_answers and texts != fixture.answers:
        raise WrongAnswerError(f"{texts} instead of {fixture.answers}")


def attack_description(rng: Random, fixture: Fixture, scratch: Path) -> None:
    path = copy_run(fixture, scratch) / "model" / "model.toml"
    write_raw(path, damage_toml(path.read_text("utf-8"), rng))
    use_model(path.parent, fixture, same_answers=False)


def attack_model_files(rng: Random, fixture: Fixture, scratch: Path) -> None:
    path = rng.choice(
        [file for file in sorted((copy_run(fixture, scratch) / "model").iterdir()) if file.suffix != ".toml"]
    )
    path.write_bytes(damage_bytes(path.read_bytes(), rng))
    use_model(path.parent, fixture, same_answers=True)


def attack_model_files_with_right_checksums(rng: Random, fixture: Fixture, scratch: Path) -> None:
    folder = copy_run(fixture, scratch) / "model"
    path = folder / rng.choice(["weights.safetensors", "tokenizer.model", "profile.safetensors"])
    old = path.read_bytes()
    header_end = int.from_bytes(old[:8], "little") + 8 if path.suffix == ".safetensors" else len(old)
    new = damage_bytes(old[:header_end], rng) + old[header_end:] if rng.random() < 0.7 else damage_bytes(old, rng)
    path.write_bytes(new)
    text = (folder / "model.toml").read_text("utf-8")
    (folder / "model.toml").write_text(text.replace(sha256(old), sha256(new)), "utf-8", newline="\n")
    use_model(folder, fixture, same_answers=False)


def attack_special_files(rng: Random, fixture: Fixture, scratch: Path) -> None:
    run = copy_run(fixture, scratch)
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and path.parent.name != "ctranslate2"]
    replace_by_special_file(rng.choice(files), rng)
    use_run(run)
    use_model(run, fixture, same_answers=True)


def attack_tokenizer(rng: Random, fixture: Fixture, scratch: Path) -> None:
    del scratch
    content = (fixture.run / "model" / "tokenizer.model").read_bytes()
    tokenizer = SubwordTokenizer(damage_bytes(content, rng))
    for text in TEXTS:
        tokens = tokenizer.encode(text)
        tokenizer.decode(tokens)
        tokenizer.token_strings(tokens)
        tokenizer.sample_all([text], 0.5, [1])


def attack_labels(rng: Random, fixture: Fixture, scratch: Path) -> None:
    del fixture, scratch
    text = json.dumps(["a", "나", "다"])
    tokenizer = LabelTokenizer.from_bytes(damage_json(text, rng).encode("utf-8", "surrogateescape"))
    tokenizer.decode(tokenizer.encode(tokenizer.labels[0]))


def attack_export(rng: Random, fixture: Fixture, scratch: Path) -> None:
    run = copy_run(fixture, scratch)
    path = rng.choice(sorted((run / "ctranslate2").iterdir()))
    kind = rng.randrange(10)
    if kind == 0:
        replace_by_special_file(path, rng)
    elif path.suffix == ".json" and kind < 6:
        write_raw(path, damage_json(path.read_text("utf-8"), rng))
    else:
        path.write_bytes(damage_bytes(path.read_bytes(), rng))
    loaded = load_bundle(run)
    translator = loaded.translator(engine=load_engine(loaded, "auto", lambda _: None))
    texts = [result.text for result in translator.translate(TEXTS)]
    if texts != fixture.answers:
        raise WrongAnswerError(f"{texts} instead of {fixture.answers}")


def use_run(run: Path) -> None:
    """Open a run as `train --resume` does, up to its first update."""
    opened = open_run(run)
    optimizers = build_optimizers(opened.bundle.model, opened.recipe.training, SINGLE_PROCESS)
    saved, _ = latest_checkpoint(run / "checkpoints", opened.bundle.model, optimizers)
    if saved:
        saved.restore(opened.bundle.model, optimizers, None)
    with Journal(run / "journal.jsonl", last_step=saved.progress.step if saved else -1):
        read_journal(run / "journal.jsonl")


def attack_run(rng: Random, fixture: Fixture, scratch: Path) -> None:
    run = copy_run(fixture, scratch)
    newest = max((run / "checkpoints").iterdir())
    files = [run / name for name in ("run.toml", "journal.jsonl", "data.json")]
    path = rng.choice([*files, newest / "progress.json", newest / "state.safetensors"])
    if path.suffix == ".toml":
        write_raw(path, damage_toml(path.read_text("utf-8"), rng))
    elif path.suffix == ".json" and rng.random() < 0.7:
        write_raw(path, damage_json(path.read_text("utf-8"), rng))
    else:
        path.write_bytes(damage_bytes(path.read_bytes(), rng))
    use_run(run)


def attack_checkpoint_with_right_checksum(rng: Random, fixture: Fixture, scratch: Path) -> None:
    run = copy_run(fixture, scratch)
    path = max((run / "checkpoints").iterdir()) / "state.safetensors"
    old = path.read_bytes()
    header_end = int.from_bytes(old[:8], "little") + 8
    new = damage_bytes(old[:header_end], rng) + old[header_end:]
    path.write_bytes(new)
    progress = path.with_name("progress.json")
    text = progress.read_text("utf-8")
    progress.write_text(text.replace(sha256(old), sha256(new)), "utf-8", newline="\n")
    use_run(run)


def attack_whole_resume(rng: Random, fixture: Fixture, scratch: Path) -> None:
    """Damage a file of a run and train it to its end."""
    run = copy_run(fixture, scratch)
    path = rng.choice([path for path in sorted(run.rglob("*")) if path.is_file() and "model" not in path.parts])
    path.write_bytes(damage_bytes(path.read_bytes(), rng))
    if runs.resume(run, quiet=True).step < 1:
        raise WrongAnswerError("a run without a step")


Attack = Callable[[Random, Fixture, Path], None]
ATTACKS: dict[str, Attack] = {
    "model.toml": attack_description,
    "model files": attack_model_files,
    "model files, right checksums": attack_model_files_with_right_checksums,
    "pipes, links, devices": attack_special_files,
    "tokenizer": attack_tokenizer,
    "labels": attack_labels,
    "CTranslate2 export": attack_export,
    "run folder": attack_run,
    "checkpoint, right checksum": attack_checkpoint_with_right_checksum,
    "run folder, trained to its end": attack_whole_resume,
}
WEIGHTS = {"tokenizer": 10, "labels": 4, "CTranslate2 export": 0.5, "run folder, trained to its end": 0.05}
"""Cases of an attack relative to the others: cheap ones are tried more often."""


def is_sentence(error: InputError) -> bool:
    """Return whether a message says where and what, in one line of a readable length."""
    text = str(error)
    return 10 < len(text) < 3000 and "\n" not in text and ("." in text or ";" in text)
