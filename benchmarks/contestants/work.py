"""The protocol of all contestants: wait on a pipe, train for a time, report speed and memory."""

import ctypes
import json
import math
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from task import Corpus, Rows, Task, read_corpus
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

PROBES = 4
"""Warm-up updates, whose products are counted before anything is timed."""
PRODUCT_SECONDS = 0.15
"""Time to measure each product shape, before and after each round."""


class Update(NamedTuple):
    tokens: int
    """Target tokens with </s>, without padding."""
    padding: float
    """Share of padding positions on both sides."""


class Contestant(Protocol):
    parameters: int
    batches: list[Rows]
    """Batches of one epoch."""

    def updates(self) -> Iterator[Update]:
        """Yield updates without end."""
        ...

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        """Yield one update for each of these batches."""
        ...


def _attention_flops(query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _attention_backward_flops(
    _: Any, query: Sequence[int], key: Sequence[int], value: Sequence[int], *__: Any, **___: Any
) -> int:
    # twice the forward products; the scores that the kernel computes again do not count
    return 2 * int(sdpa_flop_count(query, key, value))


def _addmm_flops(_: Any, left: Sequence[int], right: Sequence[int], *__: Any, **___: Any) -> int:
    return 2 * left[0] * left[1] * right[1]


def _onednn_flops(left: Sequence[int], weight: Sequence[int], *_: Any, **__: Any) -> int:
    return 2 * math.prod(left) * weight[0]


FUSED = {
    torch.ops.aten.addmm_: _addmm_flops,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward_flops,
}
"""Operations that torch's counter does not know: fused attention on CPU, in-place addmm, products by oneDNN."""
if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
    FUSED[torch.ops.mkldnn._linear_pointwise] = _onednn_flops


def serve(build: Callable[[Task, Corpus], Contestant], others: Sequence[int] = ()) -> None:
    """Answer each line on stdin, {"seconds": …}, with a line on stdout. Between requests the process sleeps.

    `others` are the process ids of the other workers.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # output of libraries must not mix with the answers

        def answer(values: dict[str, Any]) -> None:
            print(json.dumps(values), file=answers, flush=True)

        task = Task.read(Path(sys.argv[1]))
        torch.set_num_threads(task.threads or torch.get_num_threads())
        torch.manual_seed(task.seed)
        corpus = read_corpus(task.corpus)
        try:
            contestant = build(task, corpus)
        except ImportError as error:
            return answer({"absent": str(error)})
        sample = spread(contestant.batches, corpus.lengths, PROBES)
        flops = flops_per_token(contestant.probes(sample))
        answer(
            {
                "parameters": contestant.parameters,
                "flops_per_token": flops * task.workers,  # each worker computes as much
                "tokens_per_update": float(corpus.lengths[:, 1].sum() / len(contestant.batches)),
                "threads": torch.get_num_threads() * task.workers,
            }
        )
        updates, shapes = contestant.updates(), products(task, corpus.vocab_size)
        for line in sys.stdin:
            figures = one_round(updates, json.loads(line)["seconds"], shapes, task.workers)
            answer(figures | {"peak_rss_mib": sum(map(peak_rss_mib, ("self", *map(str, others))))})
        return None


def spread(batches: list[Rows], lengths: Rows, count: int) -> list[Rows]:
    """Return representative batches: evenly spread by positions per target token, which determine the products."""

    def positions_per_token(rows: Rows) -> float:
        return float(lengths[rows].max(axis=0).sum() * len(rows) / lengths[rows, 1].sum())

    ordered = sorted(batches, key=positions_per_token)
    return [ordered[(2 * i + 1) * len(ordered) // (2 * count)] for i in range(count)]


def flops_per_token(updates: Iterator[Update]) -> float:
    """Return the FLOP of the matrix products of whole updates, padding included, per target token."""
    with FlopCounterMode(display=False, custom_mapping=FUSED) as counter:
        tokens = sum(update.tokens for update in updates)
    return counter.get_total_flops() / tokens


def products(task: Task, vocab_size: int) -> list[tuple[int, int, int]]:
    """Return (rows, inner, columns) of the model's largest products and of a large square."""
    size = task.size
    widths = [
        (size.width, size.ffn_width),
        (size.ffn_width, size.width),
        (size.width, vocab_size),
        (size.width, size.width),
    ]
    return [*((size.tokens, *width) for width in widths), (size.square,) * 3]


def speeds(shapes: list[tuple[int, int, int]], workers: int) -> list[float]:
    """Return FLOP/s of each shape on the threads of all workers; the others sleep."""
    threads = torch.get_num_threads()
    torch.set_num_threads(threads * workers)
    values = [speed(*shape) for shape in shapes]
    torch.set_num_threads(threads)
    return values


@torch.no_grad()
def speed(rows: int, inner: int, columns: int) -> float:
    """Return FLOP/s of one product with the faster of the two libraries in torch, MKL and oneDNN."""
    left, right, out = torch.randn(rows, inner), torch.randn(inner, columns), torch.empty(rows, columns)
    transposed = right.t().contiguous()
    rates = [calls_per_second(lambda: torch.mm(left, right, out=out))]
    if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        onednn_product = torch.ops.mkldnn._linear_pointwise.default
        rates.append(calls_per_second(lambda: onednn_product(left, transposed, None, "none", [], "")))
    return 2.0 * rows * inner * columns * max(rates)


def calls_per_second(function: Callable[[], object]) -> float:
    function()  # compiles its kernels
    count, start = 0, perf_counter()
    while (seconds := perf_counter() - start) < PRODUCT_SECONDS or not count:
        function()
        count += 1
    return count / seconds


def one_round(
    updates: Iterator[Update], seconds: float, shapes: list[tuple[int, int, int]], workers: int
) -> dict[str, float]:
    """Train for this time, between two measurements of the products."""
    before = speeds(shapes, workers)
    next(updates)  # not counted: it allocates the memory that was released
    done: list[Update] = []
    start = perf_counter()
    while perf_counter() - start < seconds:
        done.append(next(updates))
    elapsed = perf_counter() - start
    after = speeds(shapes, workers)
    tokens = sum(update.tokens for update in done)
    release_memory()
    return {
        "tokens": tokens,
        "seconds": elapsed,
        "updates": len(done),
        "padding": float(np.average([update.padding for update in done], weights=[update.tokens for update in done])),
        "peak_flops": max(sum(pair) / 2 for pair in zip(before, after, strict=True)),
    }


def release_memory() -> None:
    """Return freed memory to the system, so that waiting contestants leave it to the working one."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)


def peak_rss_mib(process: str) -> float:
    """Return the peak memory of a process; getrusage would include the parent's from before the start."""
    status = Path("/proc", process, "status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text("utf-8").splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
