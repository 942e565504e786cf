"""What every contestant does alike: it waits on a pipe, trains when asked, and weighs itself."""

import ctypes
import json
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
"""Updates whose products are counted before anything is timed; they are the warm-up too."""
MEASURED = 0.15
"""Seconds for each shape of product, before and after each round."""


class Update(NamedTuple):
    tokens: int
    """Target tokens learnt from, </s> included, padding not."""
    padding: float
    """Share of places, both sides, that held nothing."""


class Contestant(Protocol):
    parameters: int
    batches: list[Rows]
    """Of one epoch."""

    def updates(self) -> Iterator[Update]:
        """Endless."""
        ...

    def probes(self, batches: Sequence[Rows]) -> Iterator[Update]:
        """One update for each of these batches."""
        ...


def _forward(query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _backward(_: Any, query: Sequence[int], key: Sequence[int], value: Sequence[int], *__: Any, **___: Any) -> int:
    # twice the forward products: that the kernel computes the scores again is its own affair
    return 2 * int(sdpa_flop_count(query, key, value))


def _in_place(_: Any, one: Sequence[int], other: Sequence[int], *__: Any, **___: Any) -> int:
    return 2 * one[0] * one[1] * other[1]


FUSED = {
    torch.ops.aten.addmm_: _in_place,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _forward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _backward,
}
"""The CPU's fused attention, and a product that adds to what is there, which torch's counter does not know."""


def serve(build: Callable[[Task, Corpus], Contestant], others: Sequence[int] = ()) -> None:
    """Answer each line on stdin, {"seconds": …}, with one on stdout; between them sleep in the read.

    `others` are the processes that work beside this one.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # what a library prints must not stand between the answers

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
                "flops_per_token": flops * task.workers,  # each worker has the like
                "tokens_per_update": float(corpus.lengths[:, 1].sum() / len(contestant.batches)),
                "threads": torch.get_num_threads() * task.workers,
            }
        )
        updates, shapes = contestant.updates(), products(task, corpus.pieces)
        for line in sys.stdin:
            figures = one_round(updates, json.loads(line)["seconds"], shapes, task.workers)
            answer(figures | {"peak_rss_mib": sum(map(peak_rss_mib, ("self", *map(str, others))))})
        return None


def spread(batches: list[Rows], lengths: Rows, count: int) -> list[Rows]:
    """Batches that stand for all: evenly spread by places a target token, on which the number of products hangs."""

    def places(rows: Rows) -> float:
        return float(lengths[rows].max(axis=0).sum() * len(rows) / lengths[rows, 1].sum())

    ordered = sorted(batches, key=places)
    return [ordered[(2 * at + 1) * len(ordered) // (2 * count)] for at in range(count)]


def flops_per_token(updates: Iterator[Update]) -> float:
    """Of the matrix products of whole updates, those on padding included, for each target token that is none."""
    with FlopCounterMode(display=False, custom_mapping=FUSED) as counter:
        tokens = sum(update.tokens for update in updates)
    return counter.get_total_flops() / tokens


def products(task: Task, pieces: int) -> list[tuple[int, int, int]]:
    """Rows, inner and columns of the largest products of the model, and of a large square."""
    size = task.size
    widths = [(size.width, size.inner), (size.inner, size.width), (size.width, pieces), (size.width, size.width)]
    return [*((size.tokens, *width) for width in widths), (size.square,) * 3]


def speeds(shapes: list[tuple[int, int, int]], workers: int) -> list[float]:
    """Of each shape, on the threads of all workers, for the others sleep."""
    threads = torch.get_num_threads()
    torch.set_num_threads(threads * workers)
    found = [speed(*shape) for shape in shapes]
    torch.set_num_threads(threads)
    return found


@torch.no_grad()
def speed(rows: int, inner: int, columns: int) -> float:
    """FLOP a second of a product alone, its output in place."""
    left, right, out = torch.randn(rows, inner), torch.randn(inner, columns), torch.empty(rows, columns)
    torch.mm(left, right, out=out)
    count, began = 0, perf_counter()
    while (seconds := perf_counter() - began) < MEASURED or not count:
        torch.mm(left, right, out=out)
        count += 1
    return 2.0 * rows * inner * columns * count / seconds


def one_round(
    updates: Iterator[Update], seconds: float, shapes: list[tuple[int, int, int]], workers: int
) -> dict[str, float]:
    """Whole updates for this time, between two measurements of the machine."""
    before = speeds(shapes, workers)
    next(updates)  # not counted: it takes back the memory that was given up
    done: list[Update] = []
    began = perf_counter()
    while perf_counter() - began < seconds:
        done.append(next(updates))
    took = perf_counter() - began
    after = speeds(shapes, workers)
    tokens = sum(update.tokens for update in done)
    give_back()
    return {
        "tokens": tokens,
        "seconds": took,
        "updates": len(done),
        "padding": float(np.average([update.padding for update in done], weights=[update.tokens for update in done])),
        "peak_flops": max(sum(pair) / 2 for pair in zip(before, after, strict=True)),
    }


def give_back() -> None:
    """Freed memory goes back to the system, so that those who sleep do not crowd the one who works."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)


def peak_rss_mib(process: str) -> float:
    """Most memory a process ever held; getrusage would count that of the parent from before the start too."""
    status = Path("/proc", process, "status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text("utf-8").splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale
