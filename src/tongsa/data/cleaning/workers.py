"""Worker processes for chunks: own interpreters that read raw texts from a pipe and write what they measured."""

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import SimpleQueue

import numpy as np

from tongsa.data.cleaning.chunk import MeasuredChunk, measure_chunk
from tongsa.data.cleaning.plan import CleaningPlan
from tongsa.errors import LostWorkerError
from tongsa.worker_pipe import Worker, read_message, start_worker, write_message

MIN_CHUNKS = 3
"""With fewer chunks no process is started."""
Texts = Sequence[Sequence[str]]
_ARRAYS = MeasuredChunk._fields[2:]


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure_chunks(chunks: Iterable[Texts], plan: CleaningPlan, processes: int) -> Iterator[MeasuredChunk]:
    """Yield the chunks in their order, measured by several processes, or by this one if there are few."""
    iterator = iter(chunks)
    first = [chunk for _, chunk in zip(range(MIN_CHUNKS if processes > 1 else 0), iterator, strict=False)]
    if len(first) < MIN_CHUNKS:
        for chunk in (*first, *iterator):
            yield measure_chunk(chunk, plan)
        return
    with _start_workers(plan, processes) as workers, ThreadPoolExecutor(processes) as threads:
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            free.put(worker)
        pending: deque[Future[MeasuredChunk]] = deque()
        try:
            for chunk in _chain(first, iterator):
                pending.append(threads.submit(_ask_free_worker, free, chunk))
                if len(pending) > 2 * processes:  # bounds the memory
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for worker in workers:  # the threads need not wait for what nobody reads
                worker.kill()


def _chain(first: list[Texts], rest: Iterator[Texts]) -> Iterator[Texts]:
    yield from first
    yield from rest


@contextmanager
def _start_workers(plan: CleaningPlan, processes: int) -> Iterator[list[Worker]]:
    workers = [start_worker(__name__, "serve_chunks") for _ in range(processes)]
    try:
        for worker in workers:
            assert worker.stdin is not None  # noqa: S101
            with suppress(OSError):  # the first chunk finds that it has ended
                write_message(worker.stdin, plan.as_json())
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            with suppress(OSError):
                worker.communicate()


def _ask_free_worker(free: "SimpleQueue[Worker]", texts: Texts) -> MeasuredChunk:
    worker = free.get()
    assert worker.stdin is not None and worker.stdout is not None  # noqa: S101
    try:
        write_message(worker.stdin, texts)
        message = read_message(worker.stdout)
    except OSError:
        message = None
    free.put(worker)  # also one that has ended: nobody waits for it
    if message is None:
        raise LostWorkerError("cleaning: a worker process has ended. Free some memory and start the command again.")
    (clean, counts, types), parts = message
    arrays = (np.frombuffer(part, dtype).reshape(shape) for part, (dtype, shape) in zip(parts, types, strict=True))
    return MeasuredChunk(clean, counts, *arrays)


def serve_chunks() -> None:
    """Measure the chunks of standard input until it ends: the main function of a worker."""
    stream, output = sys.stdin.buffer, sys.stdout.buffer
    message = read_message(stream)
    if message is None:
        return
    plan = CleaningPlan.from_json(message[0])
    while message := read_message(stream):
        chunk = measure_chunk(message[0], plan)
        arrays = [np.ascontiguousarray(getattr(chunk, name)) for name in _ARRAYS]
        types = [(array.dtype.str, array.shape) for array in arrays]
        write_message(output, (chunk.texts, chunk.counts, types), [array.tobytes() for array in arrays])
