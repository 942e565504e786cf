"""results.json of a study: the measured values, and the command, commit, machine, versions and seeds behind them."""

import json
import math
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.machine import machine, this_cpu
from studies.study import ROOT, MeasureOptions, Study

DIGITS = 7
"""Significant digits of the numbers in results.json: those of float32."""


def measure_study(study: Study, options: MeasureOptions, command: str, commit: str | None) -> dict[str, Any]:
    """Measure and return the content of results.json."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    values = study.measure(options)
    facts = machine()
    return {
        "study": study.name,
        "command": command,
        "commit": commit,
        "quick": options.quick,
        "processes": options.processes * options.parallel_studies,
        "cpu": this_cpu().name,
        "cores": facts["cores"],
        "date": facts["date"],
        "versions": {
            "tongsa": version("tongsa"),
            "torch": facts["torch"],
            "numpy": version("numpy"),
            "python": facts["python"],
        },
        "seeds": list(options.seeds),
        "seconds": round(time.perf_counter() - start, 1),
        "values": round_numbers(values),
    }


def source_commit(repository: Path = ROOT.parent) -> str | None:
    """Return the commit of the sources, with "-dirty" if files differ from it; None outside a clone of the project."""
    if not (repository / ".git").exists():
        return None
    command = ["git", "-C", str(repository), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def round_numbers(value: Any) -> Any:
    """Round all floats to the digits of float32; NaN and infinities become null, which JSON can represent."""
    if isinstance(value, Mapping):
        return {str(name): round_numbers(element) for name, element in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [round_numbers(element) for element in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def write_results(results: Mapping[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(format_json(results) + "\n", "utf-8")


def read_results(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))
    return results


def format_json(value: Any, indent: str = "") -> str:
    """Return JSON with mappings over several lines and lists of plain values on one."""
    if isinstance(value, Mapping) and value:
        inner = indent + " "
        lines = [f"{inner}{json.dumps(name)}: {format_json(element, inner)}" for name, element in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(element, list | Mapping) for element in value):
        inner = indent + " "
        return "[\n" + ",\n".join(f"{inner}{format_json(element, inner)}" for element in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)
