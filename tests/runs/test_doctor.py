"""The doctor before step 1: on all three tasks, from the command line, and as a glance in `train`."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.batch import Padded
from tongsa.cli import main
from tongsa.errors import InputError
from tongsa.runs import doctor
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.models import KINDS
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.checks.finding import Finding

FEW = [*SMALL, "training.steps=2", "training.validate_every=2"]
NARROW = ["model.width=16", "tokenizer.vocab_size=300", "training.batch_tokens=256", "training.threads=1"]


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {one.name: one for one in findings}


def distinct(count: int) -> list[tuple[str, str]]:
    return list(dict(reversing(3 * count)).items())[:count]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pairs = distinct(360)
    return write_pairs(tmp_path / "train.tsv", pairs[:320]), write_pairs(tmp_path / "dev.tsv", pairs[320:])


def test_good_pairs_and_a_sound_model_have_no_fault(files: tuple[Path, Path]) -> None:
    train, dev = files
    found = runs.run_doctor(data=train, dev=dev, settings=FEW)
    assert {one.name for one in found if one.level in ("warning", "fault")} == set()
    assert {"causal mask", "loss at the start", "one batch by heart", "alignment", "memory", "time"} <= set(
        by_name(found)
    )
    assert sorted(train.parent.iterdir()) == sorted(files), "the doctor leaves nothing behind"


def test_each_thing_broken_in_the_files_is_found_in_its_place(files: tuple[Path, Path], tmp_path: Path) -> None:
    train, dev = files
    rows = [line.split("\t") for line in train.read_text("utf-8").splitlines()]
    shifted = [(source, rows[(at + 1) % len(rows)][1]) for at, (source, _) in enumerate(rows)]
    leaked = [tuple(line.split("\t")) for line in dev.read_text("utf-8").splitlines()]
    text = "".join(f"{source}\t{target}\n" for source, target in [*shifted, *leaked]) + "\n" * 40
    (tmp_path / "broken.tsv").write_text(text, "utf-8")
    found = by_name(runs.run_doctor(data=tmp_path / "broken.tsv", dev=dev, settings=FEW))
    assert found["leakage into dev"].level == "fault"
    assert found["leakage into dev"].numbers["same"] == len(leaked)
    assert found["alignment"].level == "fault"
    assert found["dropped lines"].level == "warning"


def test_lines_of_dev_in_test_are_found_though_train_has_none_of_them(files: tuple[Path, Path], tmp_path: Path) -> None:
    train, dev = files
    strangers = [(f"{source} x", f"x {target}") for source, target in distinct(20)]
    clean = write_pairs(tmp_path / "clean.tsv", strangers)
    leaky = tmp_path / "leaky.tsv"
    leaky.write_text(clean.read_text("utf-8") + dev.read_text("utf-8"), "utf-8")
    for test, level in ((clean, "ok"), (leaky, "fault")):
        settings = [*NARROW, *FEW, f"data.test={json.dumps([str(test)])}"]
        found = by_name(runs.run_doctor(data=train, dev=dev, settings=settings))
        assert found["leakage from dev into test"].level == level
        assert found["leakage into test"].level == "ok"


def test_labels_have_checks_of_their_own(tmp_path: Path) -> None:
    rows = [(f"{source} {at}", "짝" if at % 2 else "홀") for at, (source, _) in enumerate(distinct(200))]
    train = write_pairs(tmp_path / "train.tsv", rows)
    test = write_pairs(tmp_path / "test.tsv", [("a b", "짝"), ("c", "모름")])
    settings = [*NARROW, "model.kind=structured_self_attention", f"data.test={json.dumps([str(test)])}"]
    found = by_name(runs.run_doctor(data=train, settings=settings))
    assert "alignment" not in found
    assert found["balance of labels"].level == "ok"
    assert found["labels of test"].level == "fault"
    assert "test.tsv:2" in found["labels of test"].examples[0]


def test_texts_without_a_source_are_looked_over_too(tmp_path: Path) -> None:
    train = tmp_path / "text.txt"
    train.write_text("".join(f"{target} {at}\n" for at, (_, target) in enumerate(distinct(150))), "utf-8")
    found = by_name(runs.run_doctor(data=train, settings=[*NARROW, "model.kind=rnn_lm"]))
    assert "script of target" in found
    assert "script of source" not in found
    assert found["causal mask"].level == "ok"
    assert found["duplicates"].level == "ok"


def test_the_exit_code_is_one_with_a_fault_and_zero_without(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = files
    sets = [word for setting in FEW for word in ("--set", setting)]
    assert main(["doctor", "--data", str(train), "--dev", str(dev), *sets]) == 0
    assert "alignment" in capsys.readouterr().out
    assert main(["doctor", "--data", str(train), "--dev", str(train), "--json", *sets]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["worst"] == "fault"
    leak = next(one for one in told["findings"] if one["name"] == "leakage into dev")
    assert leak["level"] == "fault"
    assert leak["remedy"]
    assert main(["doctor", "--data", str(tmp_path / "nowhere.tsv")]) == 2


def test_train_says_what_a_glance_finds_and_goes_on(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = files
    runs.train(run=tmp_path / "fine", data=train, dev=dev, settings=FEW)
    assert "fault" not in capsys.readouterr().err
    progress = runs.train(run=tmp_path / "leaky", data=train, dev=train, settings=FEW)
    assert progress.step == 2
    assert "fault    leakage into dev" in capsys.readouterr().err


def test_a_glance_counts_lost_and_repeated_lines(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = files
    rows = train.read_text("utf-8")
    (tmp_path / "twice.tsv").write_text(rows + rows + "\n" * 80, "utf-8")
    runs.train(run=tmp_path / "run", data=tmp_path / "twice.tsv", dev=dev, settings=FEW)
    told = capsys.readouterr().err
    assert "warning  duplicates: 320 of 640 lines" in told
    assert "warning  dropped lines: 80 of 760 lines" in told


def test_a_glance_leaves_the_model_and_the_generator_as_they_were(files: tuple[Path, Path], tmp_path: Path) -> None:
    runs.train(run=tmp_path / "run", data=files[0], dev=files[1], settings=FEW, quiet=True)
    run = runs.open_run(tmp_path / "run")
    before = {name: value.clone() for name, value in run.bundle.model.state_dict().items()}
    drawn = torch.get_rng_state()
    assert len(list(doctor.run_quick_checks(run))) > 5
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(torch.equal(value, before[name]) for name, value in run.bundle.model.state_dict().items())


class Peeking(nn.Module):
    """A decoder that sees the piece it is to predict."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        logits: Tensor = self.inner(target, memory)
        return logits + nn.functional.one_hot(torch.roll(target.tokens, -1, dims=1), logits.shape[-1])


@dataclass(frozen=True, kw_only=True)
class PeekingConfig:
    task: Task = "seq2seq"

    def build(self, source: int, target: int) -> EncoderDecoder:
        model = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1).build(source, target)
        model.decoder = Peeking(model.decoder)  # type: ignore[arg-type, assignment]
        return model


def test_train_stops_before_step_1_for_a_model_that_sees_its_answer(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "peeking", PeekingConfig)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[data]\ntrain = ["{files[0]}"]\n[tokenizer]\nvocab_size = 300\n[model]\nkind = "peeking"\n[training]\nsteps = 2\n',
        "utf-8",
    )
    with pytest.raises(InputError, match="peeking: logits moved"):
        runs.train(recipe, run=tmp_path / "run", settings=["training.threads=1"], quiet=True)
    assert not (tmp_path / "run/run.toml").exists()
