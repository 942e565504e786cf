"""Attacks on model folders: description, weights, tokenizer, shortlist, exports, special and sparse files."""

from pathlib import Path
from random import Random

from attacks.damage import (
    damage_bytes,
    damage_header,
    damage_json,
    damage_tensors,
    damage_text,
    replace,
    replace_by_special_file,
    sha256,
    write_sparse,
)
from attacks.fixture import (
    Fixture,
    answers,
    copy_folder,
    intact_answers,
    use_model,
    use_run,
)
from attacks.outcomes import Outcome
from tongsa import bounded_files
from tongsa.bundle import load_bundle
from tongsa.decoding.engines.names import EngineName

CAPS = {
    "model.toml": bounded_files.MAX_TOML_BYTES,
    "run.toml": bounded_files.MAX_TOML_BYTES,
    "data.json": bounded_files.MAX_JSON_BYTES,
    "progress.json": bounded_files.MAX_JSON_BYTES,
    "tokenizer.model": bounded_files.MAX_TOKENIZER_BYTES,
    "source.model": bounded_files.MAX_TOKENIZER_BYTES,
    "profile.safetensors": bounded_files.MAX_PROFILE_BYTES,
    "weights.safetensors": 1 << 32,
    "state.safetensors": 1 << 32,
    "journal.jsonl": 1 << 28,
}
"""Sizes just below what is read of a file."""


def random_kind(rng: Random, fixture: Fixture, scratch: Path) -> tuple[Path, list[str]]:
    """Return a copy of a model of any kind, and its answers."""
    source = rng.choice([fixture.run / "model", *fixture.kinds.values()])
    folder = copy_folder(source, scratch / "copy")
    return folder, intact_answers(source, "torch", with_shortlist=False)


def attack_description(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    folder, _ = random_kind(rng, fixture, scratch)
    old = (folder / "model.toml").read_bytes()
    new = damage_text(old, rng, ".toml")
    replace(folder / "model.toml", new)
    answers(load_bundle(folder))
    return Outcome.NO_EFFECT if new == old else Outcome.OTHER_CONTENT


def attack_model_files(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    folder, expected = random_kind(rng, fixture, scratch)
    path = rng.choice([file for file in sorted(folder.iterdir()) if file.suffix != ".toml"])
    replace(path, damage_bytes(path.read_bytes(), rng))
    return use_model(folder, expected)


def attack_model_files_with_right_checksums(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Change a file and its checksum: another valid model may answer otherwise, but never with a traceback."""
    folder, _ = random_kind(rng, fixture, scratch)
    names = [file.name for file in sorted(folder.iterdir()) if file.suffix in (".safetensors", ".model", ".json")]
    path = folder / rng.choice(["weights.safetensors", *names])
    old = path.read_bytes()
    if path.suffix == ".safetensors":
        new = rng.choice((damage_header, damage_tensors, damage_tensors, damage_bytes))(old, rng)
    else:
        new = damage_text(old, rng, path.suffix)
    replace(path, new)
    text = (folder / "model.toml").read_text("utf-8")
    replace(folder / "model.toml", text.replace(sha256(old), sha256(new)).encode("utf-8"))
    answers(load_bundle(folder))
    return Outcome.NO_EFFECT if new == old else Outcome.OTHER_CONTENT


def attack_special_files(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    run = copy_folder(fixture.run, scratch / "run")
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and not path.parent.name.startswith("ctrans")]
    replace_by_special_file(rng.choice(files), rng)
    return max(use_run(run), use_model(run, fixture.answers), key=[Outcome.NO_EFFECT, Outcome.HEALED].index)


def attack_sparse_files(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Replace a file by its beginning and zeros up to the largest size that is read."""
    run = copy_folder(fixture.run, scratch / "run")
    path = rng.choice([path for path in sorted(run.rglob("*")) if path.name in CAPS])
    content = path.read_bytes()
    kept = rng.choice((content, content[: rng.randrange(len(content))], b""))
    write_sparse(path, CAPS[path.name] - rng.choice((0, 1, 4096)), kept)
    return max(use_run(run), use_model(run, fixture.answers), key=[Outcome.NO_EFFECT, Outcome.HEALED].index)


def attack_shortlist(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    folder = copy_folder(fixture.run, scratch / "run")
    path = folder / "shortlist.safetensors"
    expected = intact_answers(fixture.run, "torch", with_shortlist=True)
    old = path.read_bytes()
    new = rng.choice((damage_header, damage_tensors, damage_bytes))(old, rng)
    replace(path, new)
    return use_model(folder, expected, with_shortlist=True)


def attack_export(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage a CTranslate2 export: it is made again, or refused, and never answers otherwise."""
    run = copy_folder(fixture.run, scratch / "run")
    engines: list[EngineName] = ["ctranslate2", "ctranslate2-int8"]  # the names of their folders, too
    name = rng.choice(engines)
    path = rng.choice(sorted((run / name).iterdir()))
    intact, kind = path.read_bytes(), rng.randrange(10)
    if kind == 0:
        replace_by_special_file(path, rng)
    elif path.suffix == ".json" and kind < 6:
        replace(path, damage_json(path.read_bytes(), rng))
    else:
        replace(path, damage_bytes(path.read_bytes(), rng))
    use_model(run, intact_answers(fixture.run, name, with_shortlist=False), name)
    return Outcome.HEALED if path.read_bytes() == intact else Outcome.NO_EFFECT
