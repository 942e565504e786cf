"""The decoding benchmark runs, and its ratios agree with its figures."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from jobs import write_model
from tongsa import bundle
from tongsa.data.corpus import read_lines
from tongsa.evaluation.metrics import bleu

RATIOS = (
    ("torch_to_ctranslate2_float32", "torch", "ctranslate2_float32", (5, 5)),
    ("torch_to_ctranslate2_float32_greedy", "torch", "ctranslate2_float32", (1, 1)),
    ("recipe_to_ctranslate2_int8", "recipe", "ctranslate2_int8", (1, 5)),
)
SCRIPT = Path(__file__).parent.parent / "benchmarks" / "decode_speed.py"


@pytest.mark.slow
def test_the_report_has_the_ratios_of_the_measured_speeds(tmp_path: Path) -> None:
    run, texts = write_model(tmp_path / "model"), tmp_path / "texts.txt"
    texts.write_text("나는 집에 간다\na b c\n" * 4, "utf-8")
    outputs = [result.text for result in bundle.load_bundle(run).translator().translate(read_lines(texts), beam=5)]
    texts.with_suffix(".en").write_text("".join(f"{output} x\n" for output in outputs), "utf-8")
    command = [sys.executable, str(SCRIPT), str(run), "--texts", str(texts), "--json"]
    options = ["--recipe", str(run), "--rounds", "2", "--few", "2"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True, timeout=300)
    report = json.loads(done.stdout)
    speeds = {name: rows["beam 5, batch 64"] for name, rows in report["contestants"].items()}
    assert set(speeds) == {
        "torch",
        "ctranslate2_float32",
        "ctranslate2_int8",
        "tongsa_ctranslate2",
        "generate",
        "recipe",
    }
    for suffix, batch in {"": "batch 64", "_batch_1": "batch 1", "_per_core": "batch 64, 1 thread"}.items():
        for name, ours, theirs, beams in RATIOS:
            pairs = (
                report["contestants"][who][f"beam {beam}, {batch}"]["sentences_per_second_rounds"]
                for who, beam in zip((ours, theirs), beams, strict=True)
            )
            rounds = [mine / other for mine, other in zip(*pairs, strict=True)]
            assert report[name + suffix] == pytest.approx(median(rounds), abs=2e-3)
            assert report[f"{name}{suffix}_range"] == pytest.approx([min(rounds), max(rounds)], abs=2e-3)
    assert report["torch_to_generate_batch_1"] is None  # not measured
    right = bleu(outputs, [f"{output} x" for output in outputs]).value
    assert speeds["torch"]["bleu"] == speeds["tongsa_ctranslate2"]["bleu"] == pytest.approx(right, abs=0.01)
    assert "bleu" not in speeds["generate"]  # random weights
    assert "bleu" not in report["contestants"]["torch"]["beam 5, batch 1"]  # only some of the texts


def test_a_missing_run_is_explained(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path / "nowhere")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert "decode_speed:" in done.stderr and "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
