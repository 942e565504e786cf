"""A job over a Ray cluster (Moritz et al. 2018) with Ray Data: the extra `cluster`.

The rows of the dataset are places in the input, not lines: where a chunk begins and how long it is. So the dataset
stays small however large the file, each worker reads its own chunk, and Ray can give a chunk to another worker as often
as it must. A worker is an actor that loads the models once; one that dies is begun again, and what it had not answered
is asked again. Answers come back in the order of the rows and are written by the one process that keeps the journal, as
without a cluster: chunks are the same, so the bytes are, and a job may be begun in one way and go on in the other.

Ray moves what it is given between processes in its own way; that is names, places and text, never a model.
"""

import hashlib
import json
import logging
import os
import platform
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tongsa.runs.translate_file import TranslatedChunk
from tongsa.errors import InputError
from tongsa.runs.translate_job import TranslateJobConfig
from tongsa.data.chunks import Chunk, ChunkReader

LOOPBACK = "127.0.0.1"
CONNECT_TIMEOUT_SECONDS = 10.0
"""Seconds for a cluster to answer."""
LOCAL_CLUSTER_ENV = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""A cluster of our own listens to this machine alone; on Linux it would listen to all."""
QUIET_ENV = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}
"""Nobody is told, and progress is shown by us; what Ray has to say of itself is in its own logs."""


class TranslateActor:
    """Loads the models once and answers chunk after chunk. A fault of the input is an answer too, not a death."""

    def __init__(self, path: Path, name: str, job: TranslateJobConfig, fingerprint: dict[str, Any]) -> None:
        self.path, self.name = path, name
        self.error = ""
        try:
            self.translate = job.build()
            if job.fingerprint() != fingerprint:
                self.error = f"{job.models.run}: another model on {platform.node()}; let all hosts see one folder"
        except InputError as error:
            self.error = f"{error} (on {platform.node()}, which needs the same files under the same names)"

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        places = zip(batch["first"], batch["start"], batch["size"], strict=True)
        return {"answer": [json.dumps(self._translate_chunk(*map(int, place))) for place in places]}

    def _translate_chunk(self, first_line: int, offset: int, size: int) -> dict[str, Any]:
        if self.error:
            return {"fault": self.error}
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                chunk = Chunk(self.name, first_line, file.read(size))
            lines, cut = self.translate(chunk.lines, chunk.first_line)
        except (InputError, OSError) as error:
            return {"fault": f"{error} (on {platform.node()})"}
        return {"digest": _chunk_sha256(chunk), "lines": list(lines), "cut": list(cut)}


def translate_with_ray(reader: ChunkReader, job: TranslateJobConfig) -> Iterator[tuple[Chunk, TranslatedChunk]]:
    """What is left of a file, chunk by chunk, and what became of it on the cluster."""
    if reader.is_gzip or not reader.is_file or reader.total_bytes is None:
        raise InputError(f"{reader.name}: --executor ray needs a plain file, of which each worker can read its own part")
    with ChunkReader(reader.name) as ahead:
        ahead.seek(reader.bytes_read, reader.lines_read)
        places = _chunk_ranges(ahead)
    if not places:
        return
    with _ray_cluster():
        for chunk, answer in zip_longest(reader.chunks(), _translate_ranges(places, reader.name, job)):
            if chunk is None or answer is None:
                raise InputError(f"{reader.name}: has changed while it was translated; the same command goes on")
            if "fault" in answer:
                raise InputError(answer["fault"])
            if answer["digest"] != _chunk_sha256(chunk):
                raise InputError(f"{reader.name}: a worker reads something else there; let all hosts see one file")
            yield chunk, TranslatedChunk(answer["lines"], answer["cut"])


def _chunk_ranges(reader: ChunkReader) -> list[dict[str, int]]:
    start, places = reader.bytes_read, list[dict[str, int]]()
    for chunk in reader.chunks():
        places.append({"first": chunk.first_line, "start": start, "size": len(chunk.raw)})
        start += len(chunk.raw)
    return places


def _chunk_sha256(chunk: Chunk) -> str:
    return hashlib.sha256(chunk.raw).hexdigest()


def _translate_ranges(ranges: list[dict[str, int]], name: str, job: TranslateJobConfig) -> Iterator[dict[str, Any]]:
    import ray

    models = job.models
    ensemble, lm = tuple(path.resolve() for path in models.ensemble), models.lm.resolve() if models.lm else None
    terms = job.glossary.resolve() if job.glossary else None
    job = replace(job, models=replace(models, run=models.run.resolve(), ensemble=ensemble, lm=lm), glossary=terms)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    dataset = ray.data.from_items(ranges, override_num_blocks=len(ranges)).map_batches(
        TranslateActor,
        fn_constructor_args=(Path(name).resolve(), name, job, job.fingerprint()),
        batch_size=1,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=max(1, min(len(ranges), int(ray.cluster_resources().get("CPU", 1))))),
    )
    for row in dataset.iter_rows():
        yield json.loads(row["answer"])


@contextmanager
def _ray_cluster() -> Iterator[None]:
    """The one at RAY_ADDRESS, or one of our own on this machine that goes when we do."""
    address = os.environ.get("RAY_ADDRESS")
    for name, value in QUIET_ENV.items() | (set() if address else LOCAL_CLUSTER_ENV.items()):
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError:
        raise InputError("--executor ray needs Ray: pip install 'tongsa[cluster]'") from None
    if address:
        _check_reachable(address)
    ours = {} if address else {"include_dashboard": False, "_node_ip_address": LOOPBACK}
    stopping = signal.getsignal(signal.SIGTERM)
    ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **ours)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    signal.signal(signal.SIGTERM, stopping)  # Ray has put its own in this place
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=CONNECT_TIMEOUT_SECONDS).close()
        except OSError as error:
            what = f"RAY_ADDRESS={address}: nobody answers there ({error})"
            raise InputError(f"{what}; start a cluster with ray start, or unset it to use this machine") from None
