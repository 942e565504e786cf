"""The same job over a Ray cluster of two workers on this machine; workers and the whole job are killed for real."""

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
from tongsa.runs.ray_backend import TranslateActor
from tongsa.runs.translate_job import ModelSpec, TranslateJobConfig
from tongsa.data.chunks import ChunkReader

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    write_model(folder / "model")
    (folder / "in.txt").write_text(long_lines(1500), "utf-8")
    assert main(command(folder, "whole.txt")) == 0
    return folder


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """Whatever Ray keeps is kept here; under a short name, for sockets have one."""
    folder = tempfile.mkdtemp(prefix="ray")
    here = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_worker_niceness": "0", "OMP_NUM_THREADS": "1"}
    yield {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | here
    shutil.rmtree(folder, ignore_errors=True)


def start(arguments: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "tongsa.cli", *arguments, "--executor", "ray"]
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE)


def family(pid: int) -> dict[int, str]:
    """A process and all that come from it, with what they call themselves."""
    parents, names = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                names[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:  # it has ended meanwhile
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {one: names.get(one, "") for one in found}


def all_gone(pids: set[int], patience: float = 60.0) -> bool:
    while any(Path(f"/proc/{pid}/exe").exists() for pid in pids) and patience > 0:
        time.sleep(0.1)
        patience -= 0.1
    return patience > 0


def test_a_worker_that_is_killed_loses_nothing(place: Path, environment: dict[str, str]) -> None:
    output = place / "worker.txt"
    process = start(command(place, output.name), environment)
    wait_for(output, 1, process)
    before = family(process.pid)
    workers = [pid for pid, name in before.items() if "MapBatches(Worker)" in name]
    assert workers, f"nobody at work: {before}"
    os.kill(min(workers), signal.SIGKILL)  # the one that answered first
    at = lines_done(output)
    code, messages = finish(process)
    assert code == 0, messages
    assert at < 1400, "killed when all was done"
    assert output.read_bytes() == (place / "whole.txt").read_bytes()
    assert not list(place.glob("worker.txt.*"))
    assert all_gone(before.keys() - {process.pid}), "the cluster is still there"


def test_a_job_that_is_killed_takes_its_cluster_along_and_goes_on_without_one(
    place: Path, environment: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    output = place / "job.txt"
    process = start(command(place, output.name), environment)
    wait_for(output, 1, process)
    cluster = {pid: name for pid, name in family(process.pid).items() if pid != process.pid}
    agents = {pid for pid, name in cluster.items() if name.endswith("Agent")}
    process.send_signal(signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL
    try:
        assert len(cluster) > len(agents) + 3
        assert all_gone(cluster.keys() - agents), f"still there: {cluster}"
    finally:
        for agent in agents:  # they would notice too, a minute later
            os.kill(agent, signal.SIGKILL)
    at = lines_done(output)
    assert 0 < at < 1500
    assert main(command(place, output.name)) == 0
    assert f"going on behind line {at:,}" in capsys.readouterr().err
    assert output.read_bytes() == (place / "whole.txt").read_bytes()


def answer(worker: TranslateActor, first: int, start: int, size: int) -> dict[str, object]:
    (text,) = worker({"first": [first], "start": [start], "size": [size]})["answer"]
    found: dict[str, object] = json.loads(text)
    return found


def test_a_worker_reads_its_own_part_and_answers_for_it(place: Path, tmp_path: Path) -> None:
    order = TranslateJobConfig(models=ModelSpec(run=place / "model"))
    source = tmp_path / "in.txt"
    source.write_bytes("a b\n나는\u2028집에\r\n\nx\xff\n".encode().replace(b"\xc3\xbf", b"\xff"))
    worker = TranslateActor(source, "mine.txt", order, order.fingerprint())
    with ChunkReader(str(source)) as reader:
        first, second, *_ = reader.chunks(2)
    assert answer(worker, 0, 0, len(first.raw))["lines"] == list(order.build()(["a b", "나는\u2028집에"], 0).lines)
    assert "mine.txt:4: not UTF-8" in str(answer(worker, 2, len(first.raw), len(second.raw))["fault"])
    source.unlink()
    assert "in.txt" in str(answer(worker, 0, 0, 4)["fault"])
    other = TranslateActor(source, "mine.txt", order, order.fingerprint() | {"model": "another"})
    assert "another model on" in str(answer(other, 0, 0, 4)["fault"])
    missing = TranslateActor(source, "mine.txt", TranslateJobConfig(models=ModelSpec(run=tmp_path / "nowhere")), {})
    assert "no such folder" in str(answer(missing, 0, 0, 4)["fault"])


def test_what_cannot_be_shared_out_is_said_before_a_cluster_is_begun(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.gz").write_bytes(b"")
    packed = [
        "translate",
        str(place / "model"),
        str(tmp_path / "in.gz"),
        "-o",
        str(tmp_path / "out.txt"),
        "--executor",
        "ray",
    ]
    assert main(packed) == 2
    assert "needs a plain file" in capsys.readouterr().err
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert main(command(place, "far.txt", "--executor", "ray")) == 2
    assert "nobody answers there" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(command(place, "far.txt", "--executor", "ray")) == 2
    assert "pip install 'tongsa[cluster]'" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(command(place, "far.txt")) == 0
    assert (place / "far.txt").read_bytes() == (place / "whole.txt").read_bytes()
