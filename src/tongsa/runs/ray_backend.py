"""File translation on a Ray cluster (Moritz et al. 2018) with Ray Data. Needs the extra `cluster`.

The rows of the Ray dataset are byte ranges of the input, one per chunk, not lines. So the dataset is small for any file
size, each actor reads its own chunk, and Ray can retry a chunk on another actor. An actor loads the models once; if it
dies, Ray restarts it and repeats its unfinished chunks. Results arrive in the order of the rows. One process writes
them, with the same journal and the same chunks as a local job. So the output is the same, and a job that was started
locally can continue on Ray, and vice versa. Only paths, ranges and text are sent between processes.
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

from tongsa.data.chunks import Chunk, ChunkReader
from tongsa.errors import InputError
from tongsa.runs.translate_file import TranslatedChunk
from tongsa.runs.translate_job import LineTranslator, TranslateJobConfig

LOOPBACK = "127.0.0.1"
CONNECT_TIMEOUT_SECONDS = 10.0
"""Timeout of the connection to a cluster."""
LOCAL_CLUSTER_ENV = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes a local cluster listen on the loopback interface only; by default Ray on Linux listens on all."""
QUIET_ENV = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}
"""No usage statistics, no progress bars (tongsa shows its own), no messages except in Ray's log files."""


class TranslateActor:
    """Ray actor that loads the models once and translates chunks. It returns input errors instead of raising them."""

    def __init__(self, path: Path, name: str, job: TranslateJobConfig, fingerprint: dict[str, Any]) -> None:
        self.path, self.name = path, name
        self.error = ""
        try:
            self.translate = job.build(log=lambda _: None)  # the process that started the job has converted its model
            if self.translate.fingerprint() != fingerprint:
                self.error = f"{job.models.run}: another model on {platform.node()}. Use a folder that all hosts share."
        except InputError as error:
            self.error = f"{error} (On {platform.node()}: all hosts need the same files under the same paths.)"

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        ranges = zip(batch["first_line"], batch["offset"], batch["size"], strict=True)
        return {"result": [json.dumps(self._translate_chunk(*map(int, values))) for values in ranges]}

    def _translate_chunk(self, first_line: int, offset: int, size: int) -> dict[str, Any]:
        if self.error:
            return {"error": self.error}
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                chunk = Chunk(self.name, first_line, file.read(size))
            result = self.translate(chunk.lines, chunk.first_line)
        except (InputError, OSError) as error:
            return {"error": f"{error} (on {platform.node()})"}
        return {"sha256": _chunk_sha256(chunk)} | {name: list(value) for name, value in result._asdict().items()}


def translate_with_ray(reader: ChunkReader, translate_lines: LineTranslator) -> Iterator[tuple[Chunk, TranslatedChunk]]:
    """Yield the remaining chunks of a file with their translations, in order; each actor loads the models again."""
    if reader.is_gzip or not reader.is_file or reader.total_bytes is None:
        raise InputError(f"{reader.name}: --executor ray needs an uncompressed file. Decompress the input to a file.")
    with ChunkReader(reader.name) as ahead:
        ahead.seek(reader.bytes_read, reader.lines_read)
        ranges = _chunk_ranges(ahead)
    if not ranges:
        return
    with ray_cluster():
        for chunk, result in zip_longest(reader.chunks(), _translate_ranges(ranges, reader.name, translate_lines)):
            if chunk is None or result is None:
                raise InputError(f"{reader.name}: changed during the translation. Run the same command to continue.")
            if "error" in result:
                raise InputError(result["error"])
            if result["sha256"] != _chunk_sha256(chunk):
                raise InputError(f"{reader.name}: a worker reads another file. Use a file that all hosts share.")
            yield chunk, TranslatedChunk(**{name: result[name] for name in TranslatedChunk._fields})


def _chunk_ranges(reader: ChunkReader) -> list[dict[str, int]]:
    offset, ranges = reader.bytes_read, list[dict[str, int]]()
    for chunk in reader.chunks():
        ranges.append({"first_line": chunk.first_line, "offset": offset, "size": len(chunk.raw)})
        offset += len(chunk.raw)
    return ranges


def _chunk_sha256(chunk: Chunk) -> str:
    return hashlib.sha256(chunk.raw).hexdigest()


def _translate_ranges(
    ranges: list[dict[str, int]], name: str, translate_lines: LineTranslator
) -> Iterator[dict[str, Any]]:
    import ray

    job, fingerprint = _with_absolute_paths(translate_lines.job), translate_lines.fingerprint()
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    dataset = ray.data.from_items(ranges, override_num_blocks=len(ranges)).map_batches(
        TranslateActor,
        fn_constructor_args=(Path(name).resolve(), name, job, fingerprint),
        batch_size=1,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=max(1, min(len(ranges), int(ray.cluster_resources().get("CPU", 1))))),
    )
    for row in dataset.iter_rows():
        yield json.loads(row["result"])


def _with_absolute_paths(job: TranslateJobConfig) -> TranslateJobConfig:
    """Return the job with absolute paths: actors have another working directory."""
    models = job.models
    ensemble, lm = tuple(path.resolve() for path in models.ensemble), models.lm.resolve() if models.lm else None
    glossary = job.glossary.resolve() if job.glossary else None
    return replace(job, models=replace(models, run=models.run.resolve(), ensemble=ensemble, lm=lm), glossary=glossary)


@contextmanager
def ray_cluster() -> Iterator[None]:
    """Connect to the cluster at RAY_ADDRESS, or start one on this machine that ends with this process."""
    address = os.environ.get("RAY_ADDRESS")
    for name, value in QUIET_ENV.items() | (set() if address else LOCAL_CLUSTER_ENV.items()):
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError:
        raise InputError(
            "--executor ray: Ray is not installed. Run: pip install -e '.[cluster]' -c constraints.txt"
        ) from None
    if address:
        _check_reachable(address)
    local_options = {} if address else {"include_dashboard": False, "_node_ip_address": LOOPBACK}
    sigterm_handler = signal.getsignal(signal.SIGTERM)
    ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **local_options)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    signal.signal(signal.SIGTERM, sigterm_handler)  # ray.init replaces the handler
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise InputError if nothing listens at the address; Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=CONNECT_TIMEOUT_SECONDS).close()
        except OSError as error:
            message = f"RAY_ADDRESS={address}: no connection ({error})."
            raise InputError(f"{message} Start a cluster with ray start, or unset it to use this machine.") from None
