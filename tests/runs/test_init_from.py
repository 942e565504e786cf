"""A run that begins with the weights of another: for text of one's own, or for a student of its teacher."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tiny import SMALL, reversing, write_pairs
from tongsa import bundle, config, runs, storage
from tongsa.cli import main
from tongsa.interface import named_tensors

STILL = ["training.lr.peak=1e-12", "training.steps=1"]
"""A step that moves nothing: what is saved after it is what the run began with."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begin")
    pairs = reversing(120)
    write_pairs(folder / "general.tsv", pairs[:80])
    write_pairs(folder / "own.tsv", pairs[80:])
    settings = [*SMALL, "tokenizer.shared=false", "model.tie_embeddings=target", "training.steps=3", "decoding.alpha=0.9"]
    runs.train(run=folder / "general", data=folder / "general.tsv", settings=settings, quiet=True)
    return folder


def begun(place: Path, run: str, *more: str) -> int:
    settings = ["training.threads=1", "training.precision=fp32", "training.batch_tokens=256", *STILL, *more]
    words = [word for setting in settings for word in ("--set", setting)]
    begin = ["--set", f"training.init_from={place / 'general'}"]
    return main(["train", "--data", str(place / "own.tsv"), "--run", str(place / run), *begin, *words])


def values(run: Path) -> dict[str, torch.Tensor]:
    return named_tensors(bundle.load_bundle(run).model)


def test_without_a_recipe_sizes_pieces_search_and_languages_are_those_of_the_other(place: Path) -> None:
    assert begun(place, "own") == 0
    general, own = bundle.load_bundle(place / "general"), bundle.load_bundle(place / "own")
    assert (own.kind, own.config, own.decoding) == (general.kind, general.config, general.decoding)
    assert (own.source_tokenizer.model_bytes, own.target_tokenizer.model_bytes) == (general.source_tokenizer.model_bytes, general.target_tokenizer.model_bytes)
    assert (own.source_language, own.target_language) == ("en", "ko")
    for name, value in values(place / "general").items():
        assert torch.allclose(values(place / "own")[name], value, atol=1e-6), name


def test_without_it_the_weights_are_others(place: Path) -> None:
    """The test above can fail: the same pieces and sizes from a seed are not what was learnt."""
    settings = [*SMALL, *STILL, f"tokenizer.reuse_from={place / 'general'}", "tokenizer.shared=false", "model.tie_embeddings=target"]
    runs.train(run=place / "fresh", data=place / "own.tsv", settings=settings, quiet=True)
    fresh = values(place / "fresh")
    assert any(not torch.allclose(fresh[name], value, atol=1e-3) for name, value in values(place / "general").items())


def test_what_fits_is_taken_and_the_rest_is_new(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert begun(place, "deeper", "model.decoder_layers=2", "model.ffn_width=32") == 0
    before, after = values(place / "general"), values(place / "deeper")
    same = {name for name in before if name in after and before[name].shape == after[name].shape}
    assert f"{len(same)} of {len(after)} parts of the model begin as in {place / 'general'}" in capsys.readouterr().err
    assert 0 < len(same) < len(after)
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in same)


def test_what_does_not_fit_at_all_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert begun(place, "wide", "model.width=48", "model.ffn_width=96", "model.heads=3") == 2
    assert "no part of this model has its sizes" in capsys.readouterr().err
    learnt = ["tokenizer.reuse_from=", "tokenizer.vocab_size=320", "tokenizer.model=bpe"]
    assert begun(place, "other", *learnt) == 2
    assert "write tokenizer.reuse_from = " in capsys.readouterr().err
    assert begun(place, "lost", f"training.init_from={place / 'nowhere'}") == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
    assert not any((place / run / "run.toml").exists() for run in ("wide", "other", "lost"))


def test_a_run_that_has_begun_needs_the_other_no_more(place: Path) -> None:
    shutil.copytree(place / "general", place / "passing")
    assert begun(place, "going", f"training.init_from={place / 'passing'}", "training.steps=2") == 0
    shutil.rmtree(place / "passing")
    shutil.rmtree(place / "going/checkpoints" / "000000002")  # as if it had died after the first step
    table = config.read_toml(place / "going/run.toml")
    assert table["training"]["begin"] == str(place / "passing")
    assert main(["train", "--resume", str(place / "going")]) == 0


def test_a_student_begins_with_its_teachers_layers(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = place / "student.toml"
    recipe.write_text(f'[data]\nfolder = "{place}"\ntrain = "own.tsv"\ndev = "general.tsv"\n', "utf-8")
    sizes = [*SMALL, *STILL, "model.tie_embeddings=target", "model.ffn_width=32"]
    words = [word for setting in sizes for word in ("--set", setting)]
    command = ["distil", str(place / "general"), "--recipe", str(recipe), "--run", str(place / "student")]
    assert main([*command, "--init-from-teacher", *words]) == 0
    assert "parts of the model begin as in" in capsys.readouterr().err
    teacher, student = values(place / "general"), values(place / "student")
    name = "decoder.embedding.vectors.weight"
    assert torch.allclose(teacher[name], student[name], atol=1e-6)
    assert bundle.load_bundle(place / "student").target_tokenizer.model_bytes == bundle.load_bundle(place / "general").target_tokenizer.model_bytes


HOLDING = """
import sys, time
from pathlib import Path
from tongsa import files
with files.held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_two_processes_never_train_in_one_folder(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "LOCK_TIMEOUT_SECONDS", 0.5)
    folder = place / "twice"
    other = subprocess.Popen([sys.executable, "-c", HOLDING, str(folder)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    assert begun(place, "twice") == 2
    assert "another process is training there" in capsys.readouterr().err
    assert list(folder.iterdir()) == []
    other.kill()
    other.wait()
    other.stdout.close()
    assert begun(place, "twice") == 0
    with storage.lock_folder(folder):
        assert main(["train", "--resume", str(folder)]) == 2
    assert "another process is training there" in capsys.readouterr().err
    assert main(["train", "--resume", str(folder)]) == 0
    assert begun(place, "never", "training.steps=0") == 2
    assert not (place / "never").exists(), "nothing came of it"
