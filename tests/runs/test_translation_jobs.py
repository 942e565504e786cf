"""`tongsa translate` on long files: real kills, full disks, terminals, compressed input, bounded memory."""

import gzip
import os
import pty
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobs import ForkedCommand, command, lines_done, long_lines, wait_for, write_model
from tongsa.cli import main
from tongsa.runs import reporting

LINES = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, an input of some twenty chunks, and the output of an undisturbed job."""
    folder = tmp_path_factory.mktemp("jobs")
    write_model(folder / "model")
    (folder / "in.txt").write_text(long_lines(LINES), "utf-8")
    assert main(command(folder, "expected.txt")) == 0
    outputs = set((folder / "expected.txt").read_bytes().split(b"\n"))
    assert len(outputs) > 50, "the model gives the same output for everything: the tests show nothing"
    return folder


def assert_complete(folder: Path, output: str) -> None:
    assert (folder / output).read_bytes() == (folder / "expected.txt").read_bytes()
    assert not list(folder.glob(f"{output}.*"))


def test_a_job_killed_at_random_moments_writes_the_same_bytes(folder: Path) -> None:
    generator, output = random.Random(os.urandom(8)), folder / "killed.txt"
    progress_at_kill = []
    for lines in (1, 120, 300):
        process = ForkedCommand(command(folder, "killed.txt"))
        wait_for(output, lines, process)
        time.sleep(generator.random() * 0.05)  # in the middle of a search, a write or a rename
        process.send_signal(signal.SIGKILL)
        assert process.finish()[0] == -signal.SIGKILL, f"finished before it was killed after line {lines}"
        progress_at_kill.append(lines_done(output))
    assert 0 < progress_at_kill[0] < progress_at_kill[1] < progress_at_kill[2] < LINES, "a job started again"
    code, messages = ForkedCommand(command(folder, "killed.txt")).finish()
    assert code == 0, messages
    assert f"resuming after line {progress_at_kill[-1]:,}" in messages
    assert_complete(folder, "killed.txt")


def test_a_job_stopped_by_sigterm_says_how_to_resume(folder: Path) -> None:
    process = ForkedCommand(command(folder, "stopped.txt"))
    wait_for(folder / "stopped.txt", 1, process)
    process.send_signal(signal.SIGTERM)
    code, messages = process.finish()
    assert code == 130, messages
    assert f"stopped: {lines_done(folder / 'stopped.txt'):,} lines are in" in messages
    assert "The same command resumes." in messages
    assert main(command(folder, "stopped.txt")) == 0
    assert_complete(folder, "stopped.txt")


def test_a_full_disk_loses_nothing(folder: Path) -> None:
    """Use a limit on the size of files: writing fails in the middle, as on a full disk."""

    def limit_file_size() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    code, messages = ForkedCommand(command(folder, "full.txt"), prepare=limit_file_size).finish()
    assert code == 2, messages
    assert str(folder / "full.txt") in messages and "Traceback" not in messages
    assert 0 < lines_done(folder / "full.txt") < LINES
    assert main(command(folder, "full.txt")) == 0
    assert_complete(folder, "full.txt")


PEAK_MEMORY = """
import sys
from pathlib import Path
from tongsa.cli import main
from tongsa import load
from tongsa.nn import packed_linear
packed_linear.MAX_ROWS = 0  # oneDNN keeps the code of each shape: bounded, but not within a file of this size
run, file, how = sys.argv[1:]
if how == "job":
    assert main(["translate", run, file, "-o", file + ".out", "--restart"]) == 0
else:
    load(run).translate(Path(file).read_text("utf-8").split("\\n"))
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line))
"""


def peak_memory(folder: Path, file: Path, how: str) -> float:
    """Return the peak memory of a new process in MiB."""
    arguments = [sys.executable, "-c", PEAK_MEMORY, str(folder / "model"), str(file), how]
    process = subprocess.run(arguments, capture_output=True, check=True, text=True)
    return int(process.stdout.split()[-1]) / 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is in Linux's /proc")
def test_memory_does_not_grow_with_the_file(folder: Path, tmp_path: Path) -> None:
    """Compare with a process that reads the whole file of 40 MiB before it translates."""
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    small.write_text(long_lines(20, width=200_000), "utf-8")
    large.write_text(long_lines(200, width=200_000), "utf-8")
    baseline = peak_memory(folder, small, "job")
    assert peak_memory(folder, large, "job") - baseline < 10
    assert peak_memory(folder, large, "whole file") - baseline > 30


def test_compressed_piped_and_empty_inputs(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, model = (folder / "in.txt").read_bytes(), str(folder / "model")
    (tmp_path / "in.gz").write_bytes(gzip.compress(content, compresslevel=1))
    assert main(["translate", model, str(tmp_path / "in.gz"), "-o", str(tmp_path / "unpacked.txt")]) == 0
    assert (tmp_path / "unpacked.txt").read_bytes() == (folder / "expected.txt").read_bytes()
    with (folder / "in.txt").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["translate", model, "-o", str(tmp_path / "piped.txt")]) == 0
    assert (tmp_path / "piped.txt").read_bytes() == (folder / "expected.txt").read_bytes()
    (tmp_path / "empty.txt").write_bytes(b"")
    assert main(["translate", model, str(tmp_path / "empty.txt"), "-o", str(tmp_path / "nothing.txt")]) == 0
    assert (tmp_path / "nothing.txt").read_bytes() == b""


def test_a_file_gets_the_same_bytes_as_standard_output(
    folder: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = tmp_path / "in.txt"
    source.write_text("a b\n\n나는 집에\u2028간다\r\na\rb\n" + "c a " * 60 + "\n가", "utf-8")
    for options in ([], ["--no-split", "--nbest", "2", "--json"]):
        assert main(["translate", str(folder / "model"), str(source), *options]) == 0
        printed = capsysbinary.readouterr()
        is_truncated = "--no-split" in options
        assert (f"{source}:5: longer than the model can read, truncated" in printed.err.decode()) == is_truncated
        output = ["-o", str(tmp_path / "out.txt"), "--restart"]
        assert main(["translate", str(folder / "model"), str(source), *options, *output]) == 0
        assert (tmp_path / "out.txt").read_bytes() == printed.out
        assert printed.out.count(b"\n") == 6
        assert ("6 lines, 1 of them truncated" in capsysbinary.readouterr().err.decode()) == is_truncated


def test_other_settings_or_the_input_as_output_are_refused_and_lose_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"a\n" * 3000 + b"\xff\n")
    job = ["translate", str(folder / "model"), str(bad), "-o", str(tmp_path / "out.txt")]
    other_model = ["translate", str(write_model(tmp_path / "other", seed=2)), *job[2:]]
    for arguments, message in [
        (job, "bad.txt:3001: not UTF-8"),
        ([*job, "--beam", "3"], "decoding.beam was not given and is 3. Use the same"),
        ([*job, "--json"], "json was False and is True"),
        (other_model, "model was "),
        ([*job, "--beam", "0", "--restart"], "decoding.beam: 0 is out of range. Write a whole number at least 1"),
        ([*job[:-1], str(bad)], "this is the input"),
    ]:
        assert main(arguments) == 2, message
        assert message in capsys.readouterr().err
    assert lines_done(tmp_path / "out.txt") == 2048, "an error has lost translated lines"
    bad.write_bytes(b"a\n" * 3001)
    assert main(job) == 0
    assert (tmp_path / "out.txt").read_bytes().count(b"\n") == 3001
    assert len(set((tmp_path / "out.txt").read_bytes().split())) == 1


def test_a_terminal_shows_a_progress_bar(folder: Path) -> None:
    terminal, stderr = pty.openpty()
    process = ForkedCommand(command(folder, "shown.txt"), stderr=stderr)
    os.close(stderr)
    shown = b""
    try:
        while block := os.read(terminal, 4096):
            shown += block
    except OSError:  # the other side of the terminal is closed
        pass
    os.close(terminal)
    assert process.finish()[0] == 0
    assert "━" in shown.decode("utf-8", "replace")
    assert b"lines/s" in shown and b"eta" in shown


def messages(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the messages without the remarks about single lines: some translations of the small model are empty."""
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if "empty translation" not in line and "more lines like these" not in line]


def test_a_log_gets_progress_lines_at_intervals_and_none_for_a_small_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reporting, "LOG_INTERVAL_SECONDS", 1e9)
    assert main(command(folder, "quiet.txt")) == 0
    (done,) = messages(capsys)
    assert done.startswith(f"done: {LINES} lines")
    monkeypatch.setattr(reporting, "LOG_INTERVAL_SECONDS", 0.0)
    assert main(command(folder, "logged.txt")) == 0
    lines = messages(capsys)
    assert len(lines) > 10
    assert "lines/s" in lines[0] and "eta" in lines[0]
    assert "100%" in lines[-2]


def test_a_typed_line_is_answered_before_the_next(folder: Path) -> None:
    terminal, stdin = pty.openpty()
    reader, writer = os.pipe()
    process = ForkedCommand(["translate", str(folder / "model")], stdin=stdin, stdout=writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        for text in ("a b\n", "나는 집에\n"):
            os.write(terminal, text.encode())
            assert answers.readline().endswith(b"\n")
        os.write(terminal, b"\x04")  # end of input
        assert answers.read() == b""
    os.close(terminal)
    os.close(stdin)
    assert process.finish()[0] == 0
