"""File translation on a local Ray cluster; in the slow tests workers and jobs are killed by SIGKILL."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs import command, finish, lines_done, long_lines, wait_for, write_model
from tongsa.cli import main
from tongsa.data.chunks import ChunkReader
from tongsa.runs.ray_backend import TranslateActor
from tongsa.runs.translate_job import ModelSpec, TranslateJobConfig

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


def translate_locally(folder: Path, lines: int) -> Path:
    write_model(folder / "model")
    (folder / "in.txt").write_text(long_lines(lines), "utf-8")
    assert main(command(folder, "local.txt")) == 0
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model, a short input and its local translation."""
    return translate_locally(tmp_path_factory.mktemp("short"), 60)


@pytest.fixture(scope="module")
def long_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model, an input of many chunks and its local translation."""
    return translate_locally(tmp_path_factory.mktemp("long"), 1500)


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """Give Ray a folder of its own, with a short name because socket paths are limited."""
    folder = tempfile.mkdtemp(prefix="ray")
    ray_variables = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_worker_niceness": "0", "OMP_NUM_THREADS": "1"}
    yield {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | ray_variables
    shutil.rmtree(folder, ignore_errors=True)


def start(arguments: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "tongsa.cli", *arguments, "--executor", "ray"]
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE)


def process_tree(pid: int) -> dict[int, str]:
    """Return a process and its descendants, with their command lines."""
    parents, names = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                names[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:  # the process has ended
                continue
    pids = {pid}
    while more := {child for child, parent in parents.items() if parent in pids} - pids:
        pids |= more
    return {child_pid: names.get(child_pid, "") for child_pid in pids}


def all_gone(pids: set[int], seconds: float = 60.0) -> bool:
    while any(Path(f"/proc/{pid}/exe").exists() for pid in pids) and seconds > 0:
        time.sleep(0.1)
        seconds -= 0.1
    return seconds > 0


@pytest.mark.slow
def test_a_cluster_gives_the_same_output_and_ends(folder: Path, environment: dict[str, str]) -> None:
    output = folder / "ray.txt"
    process = start(command(folder, output.name), environment)
    wait_for(output, 1, process)
    cluster = process_tree(process.pid).keys() - {process.pid}
    code, messages = finish(process)
    assert code == 0, messages
    assert output.read_bytes() == (folder / "local.txt").read_bytes()
    assert all_gone(cluster), "the cluster still runs"


@pytest.mark.slow
def test_a_killed_worker_loses_no_line(long_folder: Path, environment: dict[str, str]) -> None:
    output = long_folder / "worker.txt"
    process = start(command(long_folder, output.name), environment)
    wait_for(output, 1, process)
    before = process_tree(process.pid)
    workers = [pid for pid, name in before.items() if "MapBatches(TranslateActor)" in name]
    assert workers, f"no worker: {before}"
    os.kill(min(workers), signal.SIGKILL)
    line_count = lines_done(output)
    code, messages = finish(process)
    assert code == 0, messages
    assert line_count < 1400, "killed too late: all lines were done"
    assert output.read_bytes() == (long_folder / "local.txt").read_bytes()
    assert not list(long_folder.glob("worker.txt.*"))
    assert all_gone(before.keys() - {process.pid}), "the cluster still runs"


@pytest.mark.slow
def test_a_killed_job_ends_its_cluster_and_continues_locally(
    long_folder: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    output = long_folder / "job.txt"
    process = start(command(long_folder, output.name), environment)
    wait_for(output, 1, process)
    cluster = {pid: name for pid, name in process_tree(process.pid).items() if pid != process.pid}
    agents = {pid for pid, name in cluster.items() if name.endswith("Agent")}
    process.send_signal(signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL
    try:
        assert len(cluster) > len(agents) + 3
        assert all_gone(cluster.keys() - agents), f"still there: {cluster}"
    finally:
        for agent in agents:  # they end by themselves a minute later
            os.kill(agent, signal.SIGKILL)
    line_count = lines_done(output)
    assert 0 < line_count < 1500
    assert main(command(long_folder, output.name)) == 0
    assert f"resuming after line {line_count:,}" in capsys.readouterr().err
    assert output.read_bytes() == (long_folder / "local.txt").read_bytes()


def translate_range(actor: TranslateActor, first_line: int, offset: int, size: int) -> dict[str, object]:
    (text,) = actor({"first_line": [first_line], "offset": [offset], "size": [size]})["result"]
    result: dict[str, object] = json.loads(text)
    return result


def test_an_actor_translates_its_byte_range(folder: Path, tmp_path: Path) -> None:
    job = TranslateJobConfig(models=ModelSpec(run=folder / "model"))
    source = tmp_path / "in.txt"
    source.write_bytes("a b\n나는\u2028집에\r\n\nx\xff\n".encode().replace(b"\xc3\xbf", b"\xff"))
    translate_lines = job.build(print)
    fingerprint = translate_lines.fingerprint()
    worker = TranslateActor(source, "mine.txt", job, fingerprint)
    with ChunkReader(str(source)) as reader:
        first, second, *_ = reader.chunks(2)
    assert translate_range(worker, 0, 0, len(first.raw))["lines"] == translate_lines(["a b", "나는\u2028집에"], 0).lines
    assert "mine.txt:4: not UTF-8" in str(translate_range(worker, 2, len(first.raw), len(second.raw))["error"])
    source.unlink()
    assert "in.txt" in str(translate_range(worker, 0, 0, 4)["error"])
    other = TranslateActor(source, "mine.txt", job, fingerprint | {"model": "another"})
    assert "another model on" in str(translate_range(other, 0, 0, 4)["error"])
    missing = TranslateActor(source, "mine.txt", TranslateJobConfig(models=ModelSpec(run=tmp_path / "nowhere")), {})
    assert "no such folder" in str(translate_range(missing, 0, 0, 4)["error"])


def test_input_errors_come_before_a_cluster_is_started(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.gz").write_bytes(b"")
    packed = [
        "translate",
        str(folder / "model"),
        str(tmp_path / "in.gz"),
        "-o",
        str(tmp_path / "out.txt"),
        "--executor",
        "ray",
    ]
    assert main(packed) == 2
    assert "needs an uncompressed file" in capsys.readouterr().err
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert main(command(folder, "far.txt", "--executor", "ray")) == 2
    assert "no connection" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(command(folder, "far.txt", "--executor", "ray")) == 2
    assert "pip install -e '.[cluster]' -c constraints.txt" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(command(folder, "far.txt")) == 0
    assert (folder / "far.txt").read_bytes() == (folder / "local.txt").read_bytes()
