"""Which numbers to compute in: found out in a child process, for some CPUs die of what they advertise."""

import subprocess
import sys
from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16", "fp16"]

BF16_PROBE_SCRIPT = """
import time, torch
def seconds(kind):
    left, right = (torch.randn(512, 512).to(kind) for _ in range(2))
    left @ right
    began = time.perf_counter()
    for _ in range(10):
        left @ right
    return time.perf_counter() - began
print(seconds(torch.float32) / seconds(torch.bfloat16))
"""
MIN_BF16_SPEEDUP = 1.5
"""bf16 rounds to three digits; below this gain it is not worth that."""


def measure_bf16_speedup(script: str = BF16_PROBE_SCRIPT) -> float:
    """How many times faster bf16 multiplies than float32 on this CPU; 0 where it crashes or cannot be asked."""
    try:
        child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        return float(child.stdout) if child.returncode == 0 else 0.0
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0.0


def resolve_precision(precision: Precision, device: torch.device) -> Precision:
    """What `auto` means here: bf16 on a GPU made for it, or on a CPU that has shown it; otherwise fp32."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device.type == "cpu" and _cpu_reports_bf16():
        return "bf16" if measure_bf16_speedup() >= MIN_BF16_SPEEDUP else "fp32"
    return "fp32"


def _cpu_reports_bf16() -> bool:
    """Whether it is worth asking at all: starting a child takes seconds."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
