"""Numeric precision in training. Some CPUs crash on bf16 instructions that they advertise: a child process tests it."""

import subprocess
import sys
from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16", "fp16"]

BF16_PROBE_SCRIPT = """
import time, torch
def seconds(dtype):
    left, right = (torch.randn(512, 512).to(dtype) for _ in range(2))
    left @ right
    start = time.perf_counter()
    for _ in range(10):
        left @ right
    return time.perf_counter() - start
print(seconds(torch.float32) / seconds(torch.bfloat16))
"""
MIN_BF16_SPEEDUP = 1.5
"""bf16 keeps three decimal digits; a smaller gain in speed is not worth the loss of precision."""


def measure_bf16_speedup(script: str = BF16_PROBE_SCRIPT) -> float:
    """Return the speedup of bf16 over float32 matrix products on this CPU; 0 if the probe crashes."""
    try:
        child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        return float(child.stdout) if child.returncode == 0 else 0.0
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0.0


def resolve_precision(precision: Precision, device: torch.device) -> Precision:
    """Replace `auto`: bf16 on GPUs that support it and on CPUs where the probe shows a speedup, else fp32."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device.type == "cpu" and _cpu_reports_bf16():
        return "bf16" if measure_bf16_speedup() >= MIN_BF16_SPEEDUP else "fp32"
    return "fp32"


def _cpu_reports_bf16() -> bool:
    """Return whether the CPU advertises bf16: if not, the probe, which takes seconds, is skipped."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
