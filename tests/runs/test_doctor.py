"""`tongsa doctor` on all three tasks, from the command line, and its quick checks in `train`."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.batch import Padded
from tongsa.checks.finding import Finding
from tongsa.cli import main
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.models import KINDS
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs import doctor
from tongsa.runs.run import open_run

SETTINGS = [*SMALL, "training.steps=2", "training.validate_every=2"]
NARROW = ["model.width=16", "tokenizer.vocab_size=300", "training.batch_tokens=256", "training.threads=1"]


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def distinct(count: int) -> list[tuple[str, str]]:
    return list(dict(reversing(3 * count)).items())[:count]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pairs = distinct(360)
    return write_pairs(tmp_path / "train.tsv", pairs[:320]), write_pairs(tmp_path / "dev.tsv", pairs[320:])


def test_good_data_and_a_sound_model_have_no_warning(files: tuple[Path, Path]) -> None:
    train, dev = files
    findings = doctor.run_doctor(data=train, dev=dev, settings=SETTINGS)
    assert {finding.name for finding in findings if finding.level in ("warning", "fault")} == set()
    assert {"causal mask", "initial loss", "overfit one batch", "alignment", "memory", "time"} <= set(by_name(findings))
    assert sorted(train.parent.iterdir()) == sorted(files), "the doctor leaves no files"


def test_leakage_misalignment_and_dropped_lines_are_reported(files: tuple[Path, Path], tmp_path: Path) -> None:
    train, dev = files
    rows = [line.split("\t") for line in train.read_text("utf-8").splitlines()]
    shifted = [(source, rows[(i + 1) % len(rows)][1]) for i, (source, _) in enumerate(rows)]
    leaked = [tuple(line.split("\t")) for line in dev.read_text("utf-8").splitlines()]
    text = "".join(f"{source}\t{target}\n" for source, target in [*shifted, *leaked]) + "\n" * 40
    (tmp_path / "broken.tsv").write_text(text, "utf-8")
    findings = by_name(doctor.run_doctor(data=tmp_path / "broken.tsv", dev=dev, settings=SETTINGS))
    assert findings["leakage into dev"].level == "fault"
    assert findings["leakage into dev"].numbers["same"] == len(leaked)
    assert findings["alignment"].level == "fault"
    assert findings["dropped lines"].level == "warning"


def test_leakage_from_dev_into_test_is_reported(files: tuple[Path, Path], tmp_path: Path) -> None:
    train, dev = files
    unrelated = [(f"{source} x", f"x {target}") for source, target in distinct(20)]
    clean = write_pairs(tmp_path / "clean.tsv", unrelated)
    leaky = tmp_path / "leaky.tsv"
    leaky.write_text(clean.read_text("utf-8") + dev.read_text("utf-8"), "utf-8")
    for test, level in ((clean, "ok"), (leaky, "fault")):
        settings = [*NARROW, *SETTINGS, f"data.test={json.dumps([str(test)])}"]
        findings = by_name(doctor.run_doctor(data=train, dev=dev, settings=settings))
        assert findings["leakage from dev into test"].level == level
        assert findings["leakage into test"].level == "ok"


def test_a_classifier_has_label_checks(tmp_path: Path) -> None:
    rows = [(f"{source} {i}", "짝" if i % 2 else "홀") for i, (source, _) in enumerate(distinct(200))]
    train = write_pairs(tmp_path / "train.tsv", rows)
    test = write_pairs(tmp_path / "test.tsv", [("a b", "짝"), ("c", "모름")])
    settings = [*NARROW, "model.kind=structured_self_attention", f"data.test={json.dumps([str(test)])}"]
    findings = by_name(doctor.run_doctor(data=train, settings=settings))
    assert "alignment" not in findings
    assert findings["label balance"].level == "ok"
    assert findings["labels of test"].level == "fault"
    assert "test.tsv:2" in findings["labels of test"].examples[0]


def test_a_language_model_is_checked_on_its_target_side(tmp_path: Path) -> None:
    train = tmp_path / "text.txt"
    train.write_text("".join(f"{target} {i}\n" for i, (_, target) in enumerate(distinct(150))), "utf-8")
    findings = by_name(doctor.run_doctor(data=train, settings=[*NARROW, "model.kind=rnn_lm"]))
    assert "script of target" in findings
    assert "script of source" not in findings
    assert findings["causal mask"].level == "ok"
    assert findings["duplicates"].level == "ok"


def test_the_exit_code_is_1_with_a_fault_and_0_without(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = files
    sets = [word for setting in SETTINGS for word in ("--set", setting)]
    assert main(["doctor", "--data", str(train), "--dev", str(dev), *sets]) == 0
    assert "alignment" in capsys.readouterr().out
    assert main(["doctor", "--data", str(train), "--dev", str(train), "--json", *sets]) == 1
    output = json.loads(capsys.readouterr().out)
    assert output["worst"] == "fault"
    leak = next(finding for finding in output["findings"] if finding["name"] == "leakage into dev")
    assert leak["level"] == "fault"
    assert leak["remedy"]
    assert main(["doctor", "--data", str(tmp_path / "nowhere.tsv")]) == 2


def test_train_prints_quick_findings_and_continues(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = files
    runs.train(run=tmp_path / "fine", data=train, dev=dev, settings=SETTINGS)
    assert "fault" not in capsys.readouterr().err
    progress = runs.train(run=tmp_path / "leaky", data=train, dev=train, settings=SETTINGS)
    assert progress.step == 2
    assert "fault    leakage into dev" in capsys.readouterr().err


def test_quick_checks_count_dropped_and_duplicate_lines(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = files
    rows = train.read_text("utf-8")
    (tmp_path / "twice.tsv").write_text(rows + rows + "\n" * 80, "utf-8")
    runs.train(run=tmp_path / "run", data=tmp_path / "twice.tsv", dev=dev, settings=SETTINGS)
    output = capsys.readouterr().err
    assert "warning  duplicates: 320 of 640 lines" in output
    assert "warning  dropped lines: 80 of 760 lines" in output


def test_quick_checks_change_neither_the_model_nor_the_random_state(files: tuple[Path, Path], tmp_path: Path) -> None:
    runs.train(run=tmp_path / "run", data=files[0], dev=files[1], settings=SETTINGS, quiet=True)
    run = open_run(tmp_path / "run")
    before = {name: value.clone() for name, value in run.bundle.model.state_dict().items()}
    random_state = torch.get_rng_state()
    assert len(list(doctor.run_quick_checks(run))) > 5
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(torch.equal(value, before[name]) for name, value in run.bundle.model.state_dict().items())


class LeakyDecoder(nn.Module):
    """A decoder that sees the token it has to predict."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, target: Padded, memory: Memory) -> Tensor:
        logits: Tensor = self.inner(target, memory)
        return logits + nn.functional.one_hot(torch.roll(target.tokens, -1, dims=1), logits.shape[-1])


@dataclass(frozen=True, kw_only=True)
class LeakyConfig:
    task: Task = "seq2seq"

    def build(self, source: int, target: int) -> EncoderDecoder:
        model = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1).build(
            source, target
        )
        model.decoder = LeakyDecoder(model.decoder)  # type: ignore[arg-type, assignment]
        return model


def test_train_refuses_a_decoder_that_sees_future_tokens(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "leaky", LeakyConfig)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[data]\ntrain = ["{files[0]}"]\n[tokenizer]\nvocab_size = 300\n[model]\nkind = "leaky"\n'
        "[training]\nsteps = 2\n",
        "utf-8",
    )
    with pytest.raises(InputError, match="leaky: logits changed"):
        runs.train(recipe, run=tmp_path / "run", settings=["training.threads=1"], quiet=True)
    assert not (tmp_path / "run/run.toml").exists()
