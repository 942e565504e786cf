"""Numeric precision in training. Some CPUs crash on bf16 instructions that they advertise: a child process tests it."""

import subprocess
import sys
from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16", "fp16"]

BF16_PROBE_SCRIPT = """
import time, torch
from torch import nn
torch.manual_seed(0)
network = nn.Sequential(nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True), nn.Linear(256, 4000))
inputs = torch.randn(32, 32, 256)
def update(use_bf16):
    with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
        logits = network(inputs)
    logits.float().logsumexp(dim=-1).mean().backward()
def seconds(use_bf16):
    update(use_bf16)
    start = time.perf_counter()
    for _ in range(3):
        update(use_bf16)
    return time.perf_counter() - start
print(seconds(False) / seconds(True))
"""
"""Forward and backward passes of a layer and an output projection. A matrix product alone is not enough: with AVX-512
bf16 instructions it can be faster in bf16 while a whole update is several times slower."""
MIN_BF16_SPEEDUP = 3.0
"""In float32 batches are computed in parallel threads with fused dropout and a chunked loss, which bf16 does not have.
Below this speedup of plain layers, float32 is faster as a whole."""


def measure_bf16_speedup(script: str = BF16_PROBE_SCRIPT) -> float:
    """Return the speedup of an update in bf16 over float32 on this CPU; 0 if the probe crashes."""
    try:
        child = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, encoding="utf-8", timeout=120, check=False
        )
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
