"""Results on another kind of CPU or with other threads: the promises of docs/scaling.md, with other instruction sets.

PyTorch, oneDNN and MKL choose code by the CPU. Environment variables restrict them to the code of older CPUs, so that
one machine computes as another would. On a CPU other than x86 the variables change nothing, and the promises hold, too.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import machine_outputs
from machine_outputs import SETTINGS, STEPS
from tiny import reversing, write_pairs
from tongsa import runs

AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
SSE = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
MACHINES: dict[str, tuple[dict[str, str], int]] = {
    "this one again": ({}, 1),
    "two threads": ({}, 2),
    "AVX2": (AVX2, 1),
    "SSE": (SSE, 1),
    "MKL's compatible code": ({"MKL_CBWR": "COMPATIBLE"}, 1),
}
"""Environment and number of threads."""
TIE = 1e-4
"""Difference of scores below which two outputs are a tie."""


def outputs(machine: str, trained: Path, interrupted: Path, folder: Path) -> dict[str, Any]:
    environment, threads = MACHINES[machine]
    (folder / machine).mkdir()
    paths = [trained, interrupted, folder / "pairs.tsv", folder / machine]
    command = [sys.executable, machine_outputs.__file__, *map(str, paths), str(threads)]
    path = os.pathsep.join([str(Path(machine_outputs.__file__).parent), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        command, env=os.environ | environment | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.slow  # six processes that train
@pytest.mark.timeout(1200)
def test_what_is_promised_about_other_machines(trained: Path, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(600))
    interrupted = tmp_path / "interrupted"
    runs.train(data=pairs, run=interrupted, settings=SETTINGS, quiet=True)
    shutil.rmtree(interrupted / "checkpoints" / f"{STEPS:09d}")
    results = {machine: outputs(machine, trained, interrupted, tmp_path) for machine in MACHINES}
    first = results["this one again"]
    for machine, result in results.items():
        for name in ("tokenizer", "dev set", "loaded weights", "resumed step"):
            assert result[name] == first[name], f"{machine}: {name}"
        texts = zip(result["translations"], first["translations"], result["scores"], first["scores"], strict=True)
        for text, expected, score, expected_score in texts:
            assert abs(score - expected_score) < TIE, f"{machine}: {text} {score}, {expected} {expected_score}"
        same = sum(map(str.__eq__, result["translations"], first["translations"]))
        assert same >= 0.99 * len(first["translations"]), f"{machine}: more than ties"
    for name in ("initial weights", "trained weights", "resumed weights", "translations"):
        assert results["two threads"][name] == first[name], name
    assert first["resumed weights"] == first["trained weights"]
