"""Description of the machine and the versions of a measurement."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def machine() -> dict[str, str | int | None]:
    """Return CPU, number of cores, versions of torch and Python, and the date."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "torch": version("torch"),
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }
