"""Description of the machine and the versions of a measurement."""

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple


class CPUClass(NamedTuple):
    """A kind of CPU as the results name it."""

    name: str
    suffix: str
    """Part of the ids of its rows."""


def machine() -> dict[str, str | int | None]:
    """Return CPU, number of cores, versions of torch and Python, and the date."""
    return {
        "cpu": model_name(read_cpuinfo()),
        "cores": os.cpu_count(),
        "torch": version("torch"),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def this_cpu() -> CPUClass:
    return cpu_class(read_cpuinfo())


def cpu_class(cpuinfo: str) -> CPUClass:
    """Return the class of a CPU from the text of /proc/cpuinfo."""
    model, flags = model_name(cpuinfo), cpuinfo_value(cpuinfo, "flags").split()
    # hypervisors shorten the model name to "AMD EPYC", so the generation is visible in the flags only
    if "EPYC" in model and "avx2" in flags and "avx512f" not in flags:
        return CPUClass("AMD EPYC, AVX2 only", "epyc")
    if "EPYC" in model and "avx512f" in flags:
        generation = 5 if "avx512_vp2intersect" in flags else 4  # family 26, or 25
        return CPUClass(f"AMD EPYC, AVX-512 (Zen {generation})", f"zen{generation}")
    if "Xeon" in model and "avx512f" in flags:
        return CPUClass("Xeon, AVX-512", "xeon")
    return CPUClass(model, re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-"))


def model_name(cpuinfo: str) -> str:
    return cpuinfo_value(cpuinfo, "model name") or platform.processor() or platform.machine()


def read_cpuinfo() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text("utf-8") if path.exists() else ""


def cpuinfo_value(cpuinfo: str, key: str) -> str:
    """Return the value of the first core."""
    match = re.search(rf"^{key}\s*:(.*)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else ""
