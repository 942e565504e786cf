"""Attacks on run folders: settings, journals, checkpoints, strange names, prepared data, a translation job, a grid."""

import json
import os
import shutil
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from attacks.command_lines import run_command
from attacks.damage import (
    damage_bytes,
    damage_header,
    damage_json,
    damage_tensors,
    damage_text,
    drop_tensors,
    replace,
    replace_by_special_file,
    sha256,
    tensor_names,
)
from attacks.fixture import (
    SETTINGS,
    STEPS,
    Fixture,
    copy_folder,
    resume_run,
    translation_command,
    use_run,
)
from attacks.outcomes import Outcome, WrongAnswerError
from kill_points import killed_before_call
from tongsa.errors import InputError
from tongsa.grid_api import train_grid
from tongsa.runs.run import open_run
from tongsa.storage import table_sha256
from tongsa.training.checkpoint_files import RECORD_CHECKSUM
from tongsa.training.journal import Journal, read_journal

NAMES = ["²", "٣", "12", "000000009x", "000000003", "999999999", "000000005.part", "a\nb", "x" * 255, "\u202e.json"]
NAMES += [".000000006.incoming", ".000000004.outgoing", "-1", "000000003.safetensors", "zzz.safetensors", "\udcff"]

UNUSED = ("model", "ctranslate2", "ctranslate2-int8")
"""Folders of a run that resuming does not read; the model is replaced by the next better one."""


def is_intact_setting(run: Path, fixture: Fixture) -> bool:
    """Return whether the settings are those of the undisturbed run, or cannot be read at all."""
    intact = tomllib.loads((fixture.run / "run.toml").read_text("utf-8"))
    try:
        return tomllib.loads((run / "run.toml").read_text("utf-8")) == intact
    except (ValueError, RecursionError):
        return True


def attack_run(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage a file of a run, and open it up to its first update."""
    run = copy_folder(fixture.run, scratch / "run")
    newest = max((run / "checkpoints").iterdir())
    files = [run / name for name in ("run.toml", "journal.jsonl", "data.json", "ledger.jsonl")]
    path = rng.choice([*files, newest / "progress.json", newest / "state.safetensors"])
    replace(path, damage_text(path.read_bytes(), rng, path.suffix))
    outcome = use_run(run)
    return outcome if is_intact_setting(run, fixture) else Outcome.OTHER_CONTENT


def attack_checkpoint(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Change the tensors of a checkpoint and its checksum: the older one is used, or the run is refused."""
    run = copy_folder(fixture.run, scratch / "run")
    path = max((run / "checkpoints").iterdir()) / "state.safetensors"
    old = path.read_bytes()
    changes: list[Callable[[bytes], bytes]] = [
        lambda content: damage_header(content, rng),
        lambda content: damage_tensors(content, rng),
        lambda content: drop_tensors(content, rng.choice(["optimizer 0/", "optimizer 0/0/", "model/encoder", ""])),
    ]
    new = rng.choice(changes)(old)
    replace(path, new)
    progress = path.with_name("progress.json")
    record = json.loads(progress.read_text("utf-8").replace(sha256(old), sha256(new)))
    record["tensors"] = len(tensor_names(new))
    del record[RECORD_CHECKSUM]
    replace(progress, json.dumps(record | {RECORD_CHECKSUM: table_sha256(record)}, indent=1).encode("utf-8"))
    return use_run(run)


def attack_whole_resume(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage files of a run and train it to its end: the same bytes, or a message."""
    run = Path(shutil.copytree(fixture.run, scratch / "run"))
    if rng.random() < 0.8:
        shutil.rmtree(run / "checkpoints" / f"{STEPS:09d}")
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and path.parent.name not in UNUSED]
    changed = rng.sample(files, rng.choice((1, 1, 2)))
    for path in changed:
        replace(path, damage_text(path.read_bytes(), rng, path.suffix))
    if not is_intact_setting(run, fixture):
        use_run(run)
        return Outcome.OTHER_CONTENT
    try:
        return resume_run(run, fixture)
    except WrongAnswerError as error:
        raise WrongAnswerError(f"{error}: {[str(path.relative_to(run)) for path in changed]}") from None


def attack_strange_names(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Add files, folders, links and pipes to checkpoints/ and recent/, and train to the end."""
    run = Path(shutil.copytree(fixture.run, scratch / "run"))
    shutil.rmtree(run / "checkpoints" / f"{STEPS:09d}")
    for _ in range(rng.randint(1, 4)):
        path = run / rng.choice(("checkpoints", "recent", ".")) / rng.choice(NAMES)
        if os.path.lexists(path):
            continue
        kind = rng.randrange(5)
        if kind == 0:
            path.mkdir()
        elif kind == 1:
            shutil.copytree(run / "checkpoints" / "000000002", path)
        else:
            path.write_bytes(rng.choice((b"", b"text", b"{" * 1000)))
            if kind > 2:
                replace_by_special_file(path, rng)
    return resume_run(run, fixture)


def attack_prepared_data(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage data prepared for training: they are prepared again, and the run has the same bytes."""
    cache_folder = Path(shutil.copytree(prepare_data(fixture), scratch / "cache"))  # arrays are written in place
    files = [path for path in sorted(cache_folder.rglob("*")) if path.is_file() and path.stat().st_size]
    path = rng.choice(files)
    if rng.random() < 0.15:
        path.parent.rename(f"{path.parent}.part")  # as if a preparation had been killed
    elif rng.random() < 0.15:
        replace_by_special_file(path, rng)
    else:
        replace(path, damage_text(path.read_bytes(), rng, path.suffix))
    run = Path(shutil.copytree(fixture.run, scratch / "run"))
    shutil.rmtree(run / "checkpoints" / f"{STEPS:09d}")
    settings = run / "run.toml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace('cache = ""', f"cache = {json.dumps(str(cache_folder))}"), "utf-8", newline="\n")
    return resume_run(run, fixture)


@cache
def prepare_data(fixture: Fixture) -> Path:
    """Prepare the data of the run in a folder."""
    folder = fixture.folder / "cache"
    run = Path(shutil.copytree(fixture.run, folder / "run"))
    settings = run / "run.toml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace('cache = ""', f"cache = {json.dumps(str(folder / 'data'))}"), "utf-8")
    open_run(run)
    return folder / "data"


def attack_translation_job(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage the journal of an interrupted job, or its partial output: resumed to the same bytes, or refused."""
    expected, interrupted = interrupt_job(fixture)
    folder = copy_folder(interrupted, scratch / "job")
    journal, partial = folder / "out.txt.journal.json", folder / "out.txt.partial"
    kind = rng.randrange(4)
    if kind == 0:
        replace_by_special_file(rng.choice((journal, partial)), rng)
    elif kind == 1:
        os.truncate(partial, rng.randrange(partial.stat().st_size + 1))
    else:
        replace(journal, damage_json(journal.read_bytes(), rng))
    run_command(translation_command(fixture, folder / "out.txt"))
    if (folder / "out.txt").read_bytes() != expected:
        raise WrongAnswerError("the resumed job wrote other bytes")
    return Outcome.HEALED


@cache
def interrupt_job(fixture: Fixture) -> tuple[bytes, Path]:
    """Return the output of a bulk translation, and a folder with an interrupted one."""
    folder = fixture.folder / "job"
    folder.mkdir()
    run_command(translation_command(fixture, folder / "whole.txt"))
    expected = (folder / "whole.txt").read_bytes()
    job = folder / "interrupted"
    job.mkdir()
    killed_before_call(9, lambda: run_command(translation_command(fixture, job / "out.txt")))
    if not (job / "out.txt.partial").stat().st_size:
        raise RuntimeError("killed before the first chunk")
    return expected, job


def attack_grid(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage the plan or the journal of a grid, and train it again."""
    folder = Path(shutil.copytree(train_small_grid(fixture), scratch / "grid"))
    files = [folder / "grid.json", folder / "grid.jsonl", *sorted((folder / "plan").rglob("*.toml"))]
    path = rng.choice(files)
    if rng.random() < 0.15:
        replace_by_special_file(path, rng)
    else:
        replace(path, damage_text(path.read_bytes(), rng, path.suffix))
    _train_grid(folder, fixture)
    return Outcome.HEALED


@cache
def train_small_grid(fixture: Fixture) -> Path:
    folder = fixture.folder / "grid"
    _train_grid(folder, fixture)
    return folder


def _train_grid(folder: Path, fixture: Fixture) -> None:
    settings = [*SETTINGS, "training.steps=1"]
    trained = train_grid(data=fixture.pairs, folder=folder, settings=settings, seeds=2, quiet=True)
    for run in trained:
        if run.state == "failed":
            raise InputError(run.message)


def attack_journal(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Damage the journal: lines that cannot be read are left out."""
    path = scratch / "journal.jsonl"
    path.write_bytes(damage_bytes((fixture.run / "journal.jsonl").read_bytes(), rng))
    with Journal(path, last_step=rng.choice((-1, 2, STEPS))):
        pass
    steps = [record["step"] for record in read_journal(path)]
    if not all(isinstance(step, int) for step in steps):
        raise WrongAnswerError(f"steps {steps}")
    return Outcome.HEALED
