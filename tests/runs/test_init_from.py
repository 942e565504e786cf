"""Runs that start from the weights of another run (training.init_from)."""

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
from tongsa.training.journal import read_journal

NO_CHANGE = ["training.lr.peak=1e-12", "training.steps=1"]
"""One step that changes nothing: the saved weights are the initial ones."""


@pytest.fixture(scope="module")
def folder_with_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init_from")
    pairs = reversing(120)
    write_pairs(folder / "general.tsv", pairs[:80])
    write_pairs(folder / "new.tsv", pairs[80:])
    settings = [
        *SMALL,
        "tokenizer.shared=false",
        "model.tie_embeddings=target",
        "training.steps=3",
        "decoding.alpha=0.9",
    ]
    runs.train(run=folder / "general", data=folder / "general.tsv", settings=settings, quiet=True)
    return folder


def start_from_general(folder_with_run: Path, run: str, *more: str) -> int:
    settings = ["training.threads=1", "training.precision=fp32", "training.batch_tokens=256", *NO_CHANGE, *more]
    flags = [word for setting in settings for word in ("--set", setting)]
    init_from = ["--set", f"training.init_from={folder_with_run / 'general'}"]
    return main(
        ["train", "--data", str(folder_with_run / "new.tsv"), "--run", str(folder_with_run / run), *init_from, *flags]
    )


def weights_of(run: Path) -> dict[str, torch.Tensor]:
    return named_tensors(bundle.load_bundle(run).model)


def test_without_a_recipe_the_settings_of_the_initial_model_are_used(folder_with_run: Path) -> None:
    assert start_from_general(folder_with_run, "new") == 0
    general, new = bundle.load_bundle(folder_with_run / "general"), bundle.load_bundle(folder_with_run / "new")
    assert (new.kind, new.config, new.decoding) == (general.kind, general.config, general.decoding)
    assert (new.source_tokenizer.model_bytes, new.target_tokenizer.model_bytes) == (
        general.source_tokenizer.model_bytes,
        general.target_tokenizer.model_bytes,
    )
    assert (new.source_language, new.target_language) == ("en", "ko")
    for name, value in weights_of(folder_with_run / "general").items():
        assert torch.allclose(weights_of(folder_with_run / "new")[name], value, atol=1e-6), name


def test_without_init_from_the_weights_differ(folder_with_run: Path) -> None:
    """The test above can fail: random initial weights differ from trained ones."""
    settings = [
        *SMALL,
        *NO_CHANGE,
        f"tokenizer.reuse_from={folder_with_run / 'general'}",
        "tokenizer.shared=false",
        "model.tie_embeddings=target",
    ]
    runs.train(run=folder_with_run / "fresh", data=folder_with_run / "new.tsv", settings=settings, quiet=True)
    fresh = weights_of(folder_with_run / "fresh")
    assert any(
        not torch.allclose(fresh[name], value, atol=1e-3)
        for name, value in weights_of(folder_with_run / "general").items()
    )


def test_matching_weights_are_copied_and_the_others_are_new(
    folder_with_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start_from_general(folder_with_run, "deeper", "model.decoder_layers=2", "model.ffn_width=32") == 0
    before, after = weights_of(folder_with_run / "general"), weights_of(folder_with_run / "deeper")
    same = {name for name in before if name in after and before[name].shape == after[name].shape}
    assert (
        f"{len(same)} of {len(after)} weights are initialized from {folder_with_run / 'general'}"
        in capsys.readouterr().err
    )
    assert 0 < len(same) < len(after)
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in same)


def test_a_model_without_matching_weights_is_an_error(
    folder_with_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start_from_general(folder_with_run, "wide", "model.width=48", "model.ffn_width=96", "model.heads=3") == 2
    assert "no weights of that model have the shapes of this one" in capsys.readouterr().err
    other_tokenizer = ["tokenizer.reuse_from=", "tokenizer.vocab_size=320", "tokenizer.model=bpe"]
    assert start_from_general(folder_with_run, "other", *other_tokenizer) == 2
    assert "Write tokenizer.reuse_from = " in capsys.readouterr().err
    assert start_from_general(folder_with_run, "lost", f"training.init_from={folder_with_run / 'nowhere'}") == 2
    assert "nowhere: no such folder" in capsys.readouterr().err
    assert not any((folder_with_run / run / "run.toml").exists() for run in ("wide", "other", "lost"))


def test_a_started_run_does_not_need_the_initial_model(folder_with_run: Path) -> None:
    shutil.copytree(folder_with_run / "general", folder_with_run / "passing")
    assert (
        start_from_general(
            folder_with_run,
            "going",
            f"training.init_from={folder_with_run / 'passing'}",
            "training.steps=2",
            "training.keep_checkpoints=2",
        )
        == 0
    )
    shutil.rmtree(folder_with_run / "passing")
    shutil.rmtree(folder_with_run / "going/checkpoints" / "000000002")  # as if it was killed after the first step
    table = config.read_toml(folder_with_run / "going/run.toml")
    assert table["training"]["init_from"] == str(folder_with_run / "passing")
    assert main(["train", "--resume", str(folder_with_run / "going")]) == 0


def test_a_student_starts_from_the_teachers_weights(folder_with_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = folder_with_run / "student.toml"
    recipe.write_text(f'[data]\nfolder = "{folder_with_run}"\ntrain = "new.tsv"\ndev = "general.tsv"\n', "utf-8")
    sizes = [*SMALL, *NO_CHANGE, "model.tie_embeddings=target", "model.ffn_width=32"]
    flags = [word for setting in sizes for word in ("--set", setting)]
    command = [
        "distil",
        str(folder_with_run / "general"),
        "--recipe",
        str(recipe),
        "--run",
        str(folder_with_run / "student"),
    ]
    assert main([*command, "--init-from-teacher", *flags]) == 0
    assert "weights are initialized from" in capsys.readouterr().err
    teacher, student = weights_of(folder_with_run / "general"), weights_of(folder_with_run / "student")
    name = "decoder.embedding.token_embedding.weight"
    assert torch.allclose(teacher[name], student[name], atol=1e-6)
    assert (
        bundle.load_bundle(folder_with_run / "student").target_tokenizer.model_bytes
        == bundle.load_bundle(folder_with_run / "general").target_tokenizer.model_bytes
    )


LOCK_HOLDER = """
import sys, time
from pathlib import Path
from tongsa import storage
with storage.lock_folder(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


def test_two_processes_never_train_in_one_folder(
    folder_with_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "LOCK_TIMEOUT_SECONDS", 0.5)
    folder = folder_with_run / "twice"
    lock_holder = subprocess.Popen([sys.executable, "-c", LOCK_HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert lock_holder.stdout is not None
    assert lock_holder.stdout.readline() == "locked\n"
    assert start_from_general(folder_with_run, "twice") == 2
    assert "another process is " in capsys.readouterr().err
    assert list(folder.iterdir()) == []
    lock_holder.kill()
    lock_holder.wait()
    lock_holder.stdout.close()
    assert start_from_general(folder_with_run, "twice") == 0
    with storage.lock_folder(folder):
        assert main(["train", "--resume", str(folder)]) == 2
    assert "another process is " in capsys.readouterr().err
    assert main(["train", "--resume", str(folder)]) == 0
    assert start_from_general(folder_with_run, "never", "training.steps=0") == 2
    assert not (folder_with_run / "never").exists(), "an empty folder is removed"


def test_an_adapted_model_is_scored_before_and_after(folder_with_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder_with_run / "adapted"
    assert start_from_general(folder_with_run, run.name, "training.lr.peak=5e-3", "training.steps=6") == 0
    printed = capsys.readouterr().err
    records = [record for record in read_journal(run / "journal.jsonl") if "validation" in record]
    assert [record["step"] for record in records] == [0, 1, 2, 3, 4, 5, 6]
    before, after = records[0]["validation"]["bleu"], max(record["validation"]["bleu"] for record in records)
    assert "← the initial model" in printed
    assert f"dev bleu {before:.2f} before the training → {after:.2f}" in printed


def test_an_adaptation_that_only_hurts_keeps_the_initial_model(
    folder_with_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = folder_with_run / "worse"
    harmful = ["training.lr.peak=3", "training.lr.schedule=constant", "training.lr.warmup=1", "training.steps=4"]
    assert start_from_general(folder_with_run, run.name, *harmful, "training.ema=0", "training.best_metric=loss") == 0
    assert "so its weights are kept" in capsys.readouterr().err
    for name, value in weights_of(folder_with_run / "general").items():
        assert torch.equal(weights_of(run)[name], value), name


def test_a_run_that_stopped_before_its_first_checkpoint_starts_from_the_initial_model_again(
    folder_with_run: Path,
) -> None:
    assert start_from_general(folder_with_run, "interrupted", "training.lr.peak=1e-3") == 0
    run = folder_with_run / "interrupted"
    weights = (run / "checkpoints" / "000000001" / "state.safetensors").read_bytes()
    shutil.rmtree(run / "checkpoints")
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "checkpoints" / "000000001" / "state.safetensors").read_bytes() == weights
    assert [record["step"] for record in read_journal(run / "journal.jsonl")] == [0, 1, 1]
