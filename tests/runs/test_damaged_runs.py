"""A damaged run folder heals or says why not: an older checkpoint is used, and nothing hangs."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import load_file, save_file

from processes import ENVIRONMENT
from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.errors import InputError
from tongsa.runs.run import open_run
from tongsa.storage import table_sha256
from tongsa.training.checkpoint import latest_checkpoint
from tongsa.training.checkpoint_files import DamagedCheckpointError, read_record
from tongsa.training.journal import Journal, read_journal
from tongsa.training.optimizer import build_optimizers

Tensors = dict[str, torch.Tensor]
STEPS, EVERY = 4, 2


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    pairs = write_pairs(folder / "pairs.tsv", reversing(60))
    settings = [*SMALL, f"training.steps={STEPS}", f"training.checkpoint_every={EVERY}", "training.keep_checkpoints=2"]
    settings += ["training.validate_sentences=2", "decoding.max_extra_tokens=3"]
    runs.train(data=pairs, run=folder / "run", settings=settings, quiet=True)
    return folder / "run"


@pytest.fixture
def run(reference: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reference, tmp_path / "run"))


def change_tensors(checkpoint: Path, change: Callable[[Tensors], object]) -> None:
    """Change the tensors of a checkpoint and give the new file the right checksum."""
    state, progress = checkpoint / "state.safetensors", checkpoint / "progress.json"
    old = hashlib.sha256(state.read_bytes()).hexdigest()
    tensors = load_file(state)
    change(tensors)
    save_file(tensors, state)
    new = hashlib.sha256(state.read_bytes()).hexdigest()
    progress.write_text(progress.read_text("utf-8").replace(old, new), "utf-8")
    sign(progress)


def sign(progress: Path) -> None:
    """Give the counters of a checkpoint the right checksum."""
    record = json.loads(progress.read_text("utf-8"))
    del record["record_sha256"]
    progress.write_text(json.dumps(record | {"record_sha256": table_sha256(record)}), "utf-8")


def drop(prefix: str) -> Callable[[Tensors], None]:
    def change(tensors: Tensors) -> None:
        for name in [name for name in tensors if name.startswith(prefix)]:
            del tensors[name]

    return change


def drop_all_traces_of_the_optimizer(checkpoint: Path) -> None:
    change_tensors(checkpoint, drop("optimizer "))
    progress = checkpoint / "progress.json"
    record = json.loads(progress.read_text("utf-8"))
    del record["tensors"]
    progress.write_text(json.dumps(record), "utf-8")
    sign(progress)


def drop_one_state_and_its_count(checkpoint: Path) -> None:
    change_tensors(checkpoint, drop("optimizer 0/0/"))
    set_progress(tensors=len(load_file(checkpoint / "state.safetensors")))(checkpoint)


def set_progress(**changes: object) -> Callable[[Path], None]:
    def change(checkpoint: Path) -> None:
        record = json.loads((checkpoint / "progress.json").read_text("utf-8"))
        (checkpoint / "progress.json").write_text(json.dumps(record | changes), "utf-8")
        sign(checkpoint / "progress.json")

    return change


def first_weight(tensors: Tensors) -> torch.Tensor:
    return next(value for name, value in sorted(tensors.items()) if name.startswith("model/"))


def is_moment(name: str) -> bool:
    return name.endswith("/exp_avg_sq")


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def with_tensors(change: Callable[[Tensors], object]) -> Callable[[Path], None]:
    return lambda checkpoint: change_tensors(checkpoint, change)


CHECKPOINTS: dict[str, Callable[[Path], object]] = {
    "the state of one parameter is missing": with_tensors(drop("optimizer 0/0/")),
    "the state of one parameter is missing, and was not counted": drop_one_state_and_its_count,
    "one moment is missing": with_tensors(lambda tensors: tensors.pop(min(filter(is_moment, tensors)))),
    "moments of another shape": with_tensors(
        lambda tensors: tensors.update({min(filter(is_moment, tensors)): torch.ones(3)})
    ),
    "no list of parameters without state": set_progress(without_state=None),
    "no optimizer state": drop_all_traces_of_the_optimizer,
    "half precision": with_tensors(lambda tensors: tensors.update({k: v.half() for k, v in tensors.items()})),
    "a NaN": with_tensors(lambda tensors: first_weight(tensors).view(-1)[:1].fill_(torch.nan)),
    "a missing weight": with_tensors(lambda tensors: drop("model/encoder")(tensors)),
    "an added tensor file": lambda checkpoint: save_file({"a": torch.ones(1)}, checkpoint / "a.safetensors"),
    "a pipe for the tensors": lambda checkpoint: make_pipe(checkpoint / "state.safetensors"),
    "a pipe for the counters": lambda checkpoint: make_pipe(checkpoint / "progress.json"),
    "a step that is a text": set_progress(step="4"),
    "a step of another checkpoint": set_progress(step=3),
    "a negative epoch": set_progress(epoch=-1),
    "a loss scale of 0": set_progress(loss_scale=0),
    "an unknown counter": set_progress(steps=3),
    "no checksums": set_progress(files={}),
    "checksums of another folder": set_progress(files={"../../run.toml": "0"}),
    "counters nested too deeply": lambda path: (path / "progress.json").write_text("[" * 5000 + "]" * 5000, "utf-8"),
}


@pytest.mark.parametrize("damage", CHECKPOINTS)
def test_the_older_checkpoint_is_used_and_that_is_said(damage: str, run: Path, reference: Path) -> None:
    opened = open_run(reference).bundle.model
    optimizers = build_optimizers(opened, open_run(reference).recipe.training)
    CHECKPOINTS[damage](run / "checkpoints" / f"{STEPS:09d}")
    saved, (message,) = latest_checkpoint(run / "checkpoints", opened, optimizers)
    assert saved and saved.progress.step == STEPS - EVERY
    assert f"{STEPS:09d}: " in message and message.endswith(f"The checkpoint of step {STEPS - EVERY} is used.")


@pytest.mark.parametrize("change", [{"epoch": 7}, {"batch": 7}, {"best_score": 99.0}, {"loss_scale": 2.0}])
def test_counters_that_were_changed_are_not_used(change: dict[str, object], run: Path) -> None:
    progress = run / "checkpoints" / f"{STEPS:09d}" / "progress.json"
    progress.write_text(json.dumps(json.loads(progress.read_text("utf-8")) | change), "utf-8")
    saved, (message,) = latest_checkpoint(run / "checkpoints")
    assert saved and saved.progress.step == STEPS - EVERY
    assert "the checksum of progress.json is wrong" in message


def test_no_changed_byte_of_a_checkpoint_is_used(run: Path) -> None:
    """All bytes of the counters, and random ones of the tensors: another byte is refused or means the same."""
    checkpoint, generator = run / "checkpoints" / f"{STEPS:09d}", Random(1)
    intact = read_record(checkpoint)
    for name, count in (("progress.json", None), ("state.safetensors", 200)):
        path = checkpoint / name
        content = path.read_bytes()
        for position in range(len(content)) if count is None else generator.sample(range(len(content)), count):
            changed = bytearray(content)
            changed[position] ^= 1 << generator.randrange(8)
            path.write_bytes(changed)
            with suppress(DamagedCheckpointError, InputError):
                assert read_record(checkpoint) == intact  # white space
        path.write_bytes(content)
    assert read_record(checkpoint) == intact


def test_runs_with_changed_bytes_in_all_checkpoints_end_as_if_undisturbed(run: Path, reference: Path) -> None:
    generator = Random(2)
    for path in sorted((run / "checkpoints").glob("*/*")):
        content = bytearray(path.read_bytes())
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        path.write_bytes(content)
    runs.resume(run, quiet=True)
    for name in (f"checkpoints/{STEPS:09d}/state.safetensors", "model/weights.safetensors"):
        assert (run / name).read_bytes() == (reference / name).read_bytes()


def test_a_run_with_one_damaged_checkpoint_ends_with_the_same_bytes(
    run: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_tensors(run / "checkpoints" / f"{STEPS:09d}", lambda tensors: first_weight(tensors).fill_(torch.nan))
    runs.resume(run)
    assert f"The checkpoint of step {STEPS - EVERY} is used." in capsys.readouterr().err.replace("\n", " ")
    name = Path("checkpoints") / f"{STEPS:09d}" / "state.safetensors"
    assert (run / name).read_bytes() == (reference / name).read_bytes()


def test_strange_names_in_the_folder_of_checkpoints_are_ignored(run: Path) -> None:
    folder = run / "checkpoints"
    for name in ("²", "٣", "12", "000000009x", "notes.txt"):
        (folder / name).mkdir()
    (folder / "000000008").write_text("a file", "utf-8")
    (folder / "000000007").symlink_to("nowhere")
    saved, messages = latest_checkpoint(folder)
    assert saved and saved.progress.step == STEPS
    assert len(messages) == 2
    assert runs.resume(run, quiet=True).step == STEPS
    assert not (folder / "000000008").exists() and (folder / "²").is_dir()


def test_weights_of_another_model_name_the_settings(run: Path) -> None:
    settings = run / "run.toml"
    settings.write_text(settings.read_text("utf-8").replace("ffn_width = 64", "ffn_width = 32"), "utf-8")
    with pytest.raises(InputError, match="does not match the settings"):
        runs.resume(run, quiet=True)


CHILD = """
import sys
from pathlib import Path
import torch
from tongsa import runs, system
from tongsa.errors import InputError
before = system.peak_memory()
try:
    if sys.argv[2:]:
        runs.train(data=sys.argv[2], run=Path(sys.argv[1]), settings=sys.argv[3:], quiet=True)
    else:
        runs.resume(Path(sys.argv[1]), quiet=True)
except InputError as error:
    print(error)
print((system.peak_memory() - before) >> 20)
"""


def refusal(*arguments: str) -> tuple[str, int]:
    """Train or resume in a child process; return its message and the MiB of memory that it took."""
    command = [sys.executable, "-c", CHILD, *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    *message, mebibytes = done.stdout.splitlines()
    return "\n".join(message), int(mebibytes)


def test_a_model_larger_than_memory_is_refused_before_it_is_built(run: Path, tmp_path: Path) -> None:
    """By settings alone a model may take hundreds of gigabytes: of a new run, and of a run folder of a stranger."""
    pairs = str(write_pairs(tmp_path / "pairs.tsv", reversing(60)))
    sizes = ["model.width=65536", "model.ffn_width=65536", "model.encoder_layers=6"]
    message, mebibytes = refusal(str(tmp_path / "new"), pairs, *SMALL, "training.steps=2", *sizes)
    runs.train(data=pairs, run=tmp_path / "new", settings=[*SMALL, "training.steps=1"], quiet=True)  # smaller sizes
    assert re.fullmatch(r"model: [\d,]+ parameters take [\d,.]+ GB of memory to train, .* another machine\.", message)
    assert mebibytes < 600
    settings = run / "run.toml"
    settings.write_text(settings.read_text("utf-8").replace("\nwidth = 32\n", "\nwidth = 65536\n"), "utf-8")
    message, mebibytes = refusal(str(run))
    assert "does not match the settings in run.toml" in message
    assert mebibytes < 600
    shutil.rmtree(run / "checkpoints")
    message, mebibytes = refusal(str(run))
    assert "GB of memory to train" in message
    assert mebibytes < 600


def test_a_device_that_this_machine_does_not_have_is_a_sentence(run: Path) -> None:
    settings = run / "run.toml"
    for device in ("cuda:7", "mps", "cuda:99999", "tape", "meta"):
        text = settings.read_text("utf-8")
        settings.write_text(re.sub('(?m)^device = ".*"$', f'device = "{device}"', text), "utf-8")
        with pytest.raises(InputError, match=f'training.device: \'{device}\' cannot be used .* Write "auto" or "cpu"'):
            runs.resume(run, quiet=True)


LINES = ['{"step": 1, "loss": 2.0}', "{", "[" * 5000, '{"step": "x"}', '{"step": 1' + "0" * 50 + "}", "3", "\x00"]


def test_damaged_lines_of_a_journal_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("\n".join([*LINES, '{"step": 2}', "x" * (3 << 20), '{"step": 9}']), "utf-8")
    assert [record["step"] for record in read_journal(path)] == [1, 2, 9]
    with Journal(path, last_step=2) as journal:
        journal.write({"step": 3})
    assert [json.loads(line)["step"] for line in path.read_text("utf-8").splitlines()] == [1, 2, 3]


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


FILES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "journal is a folder": ("journal.jsonl", make_folder, "Move it away"),
    "journal is a pipe": ("journal.jsonl", make_pipe, "Move it away"),
    "data.json is a pipe": ("data.json", make_pipe, "Remove it if the data are unchanged"),
    "data.json is nested": ("data.json", lambda path: path.write_text("[" * 9000, "utf-8"), "Remove it if"),
    "data.json has numbers": ("data.json", lambda path: path.write_text('{"a": 1}', "utf-8"), "Remove it if"),
    "run.toml is not UTF-8": ("run.toml", lambda path: path.write_bytes(b"\xff"), "Restore the file"),
    "run.toml is nested": ("run.toml", lambda path: path.write_text("a = " + "[" * 9000, "utf-8"), "Restore the file"),
    "tokenizer is a pipe": ("tokenizer/source.model", make_pipe, "a pipe or a device"),
    "tokenizer is damaged": ("tokenizer/source.model", lambda path: path.write_bytes(b"\x0a\x05ab"), "SentencePiece"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_cannot_be_used_is_a_sentence(case: str, run: Path) -> None:
    name, damage, remedy = FILES[case]
    damage(run / name)
    (run / "checkpoints" / f"{STEPS:09d}" / "progress.json").unlink()  # there are steps to train
    with pytest.raises(InputError, match=remedy):
        runs.resume(run, quiet=True)
