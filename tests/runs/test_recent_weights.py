"""Files that a run reads again have checksums: damaged recent weights or tokenizers are never used silently."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from processes import saved_bytes
from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.errors import InputError
from tongsa.tokenization.subword import SubwordTokenizer

STEPS = 4
SETTINGS = [*SMALL, f"training.steps={STEPS}", "training.checkpoint_every=2", "training.keep_checkpoints=2"]
SETTINGS += ["training.validate_every=2", "training.validate_sentences=2", "training.average_last=2"]
SETTINGS += ["decoding.max_extra_tokens=3"]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    pairs = write_pairs(folder / "pairs.tsv", reversing(60))
    runs.train(data=pairs, run=folder / "run", settings=SETTINGS, quiet=True)
    return folder / "run"


@pytest.fixture
def run(reference: Path, tmp_path: Path) -> Path:
    """Return a run with a step to train before its end."""
    run = Path(shutil.copytree(reference, tmp_path / "run"))
    shutil.rmtree(run / "checkpoints" / f"{STEPS:09d}")
    return run


def flip_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def drop_checksum(path: Path) -> None:
    save_file(load_file(path), path)


def fill_with_nan(path: Path) -> None:
    save_file({name: torch.full_like(value, torch.nan) for name, value in load_file(path).items()}, path)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped bit": flip_bit,
    "no checksum": drop_checksum,
    "NaN": fill_with_nan,
    "empty": lambda path: path.write_bytes(b""),
    "folder": replace_by_folder,
    "other model": lambda path: save_file({"a": torch.ones(1)}, path),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_weights_are_left_out_and_that_is_said(
    damage: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "recent" / "000000002.safetensors"
    DAMAGES[damage](path)
    assert runs.resume(run).step == STEPS
    text = capsys.readouterr().err.replace("\n", "")
    assert "000000002.safetensors" in text and "the average is that of the other weights" in text


def test_other_names_are_ignored(run: Path, reference: Path) -> None:
    (run / "recent" / "zzz.safetensors").write_text("not ours", "utf-8")
    (run / "recent" / "²²²²²²²²².safetensors").mkdir()
    runs.resume(run, quiet=True)
    assert saved_bytes(run, STEPS) == saved_bytes(reference, STEPS)
    assert (run / "recent" / "zzz.safetensors").exists()


def test_a_changed_tokenizer_is_refused(run: Path) -> None:
    """A changed tokenizer may still be a valid one; the run would go on with other tokens."""
    path = run / "tokenizer" / "source.model"
    intact = path.read_bytes()
    path.write_bytes(SubwordTokenizer(intact.replace(b"\xe2\x96\x81a", b"\xe2\x96\x81q")).model_bytes)
    assert path.read_bytes() != intact
    with pytest.raises(InputError, match=r"source\.model: changed since this run started\. Restore the file"):
        runs.resume(run, quiet=True)
    path.write_bytes(intact)
    assert runs.resume(run, quiet=True).step == STEPS
