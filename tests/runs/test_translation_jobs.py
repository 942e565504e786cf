"""`tongsa translate` of long files: killed for real, on full disks, on terminals, in bounded memory."""

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

from jobs import command, done, finish, long_lines, wait_for, write_model
from tongsa.cli import main
from tongsa.runs import progress

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, an input of some twenty chunks, and what comes out where nobody disturbs."""
    folder = tmp_path_factory.mktemp("bulk")
    write_model(folder / "model")
    (folder / "in.txt").write_text(long_lines(500), "utf-8")
    assert main(["translate", str(folder / "model"), str(folder / "in.txt"), "-o", str(folder / "whole.txt")]) == 0
    assert len(set((folder / "whole.txt").read_bytes().split(b"\n"))) > 50, "it says the same of everything"
    return folder


def start(arguments: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "tongsa.cli", *arguments], env=ENVIRONMENT, stderr=subprocess.PIPE)


def test_killed_at_random_moments_a_job_ends_in_the_same_bytes(place: Path) -> None:
    generator, output = random.Random(os.urandom(8)), place / "killed.txt"
    places = []
    for lines in (1, 120, 300):
        process = start(command(place, "killed.txt"))
        wait_for(output, lines, process)
        time.sleep(generator.random() * 0.05)  # in the middle of a search, a write, a rename
        process.send_signal(signal.SIGKILL)
        assert finish(process)[0] == -signal.SIGKILL, f"over before it was killed behind line {lines}"
        places.append(done(output))
    assert 0 < places[0] < places[1] < places[2] < 500, "it was always begun again"
    code, messages = finish(start(command(place, "killed.txt")))
    assert code == 0, messages
    assert f"going on behind line {places[-1]:,}" in messages
    assert output.read_bytes() == (place / "whole.txt").read_bytes(), f"killed at {places}"
    assert not list(place.glob("killed.txt.*"))


def test_told_to_stop_a_job_says_how_to_go_on(place: Path) -> None:
    process = start(command(place, "stopped.txt"))
    wait_for(place / "stopped.txt", 1, process)
    process.send_signal(signal.SIGTERM)
    code, messages = finish(process)
    assert code == 130, messages
    assert f"stopped: {done(place / 'stopped.txt'):,} lines are in" in messages
    assert "the same command goes on" in messages
    assert main(command(place, "stopped.txt")) == 0
    assert (place / "stopped.txt").read_bytes() == (place / "whole.txt").read_bytes()


def test_a_full_disk_loses_nothing(place: Path) -> None:
    """The limit on the size of a file stands for the end of the disk: writing fails in the middle, for real."""
    full = subprocess.run(
        [sys.executable, "-m", "tongsa.cli", *command(place, "full.txt")],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )
    assert full.returncode == 2, full.stderr
    assert "then go on; what was saved before is whole" in full.stderr
    assert "Traceback" not in full.stderr
    assert 0 < done(place / "full.txt") < 500
    assert main(command(place, "full.txt")) == 0
    assert (place / "full.txt").read_bytes() == (place / "whole.txt").read_bytes()


MEASURED = """
import sys
from pathlib import Path
from tongsa.cli import main
from tongsa import load
run, file, how = sys.argv[1:]
if how == "job":
    assert main(["translate", run, file, "-o", file + ".out", "--restart"]) == 0
else:
    lines = Path(file).read_text("utf-8").split("\\n")
    load(run).translate(lines)
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line))
"""


def peak(place: Path, file: Path, how: str) -> float:
    """MiB, of a fresh process."""
    arguments = [sys.executable, "-c", MEASURED, str(place / "model"), str(file), how]
    measured = subprocess.run(arguments, env=ENVIRONMENT, capture_output=True, check=True, text=True)
    return int(measured.stdout.split()[-1]) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux's")
def test_memory_does_not_grow_with_the_file(place: Path, tmp_path: Path) -> None:
    """The same measure, of a process that reads all before it translates, shows the file's 40 MiB."""
    few, many = tmp_path / "few.txt", tmp_path / "many.txt"
    few.write_text(long_lines(20, width=200_000), "utf-8")
    many.write_text(long_lines(200, width=200_000), "utf-8")
    before = peak(place, few, "job")
    assert peak(place, many, "job") - before < 10
    assert peak(place, many, "at once") - before > 30


def test_packed_piped_and_empty_inputs(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, model = (place / "in.txt").read_bytes(), str(place / "model")
    (tmp_path / "in.gz").write_bytes(gzip.compress(content))
    assert main(["translate", model, str(tmp_path / "in.gz"), "-o", str(tmp_path / "packed.txt")]) == 0
    assert (tmp_path / "packed.txt").read_bytes() == (place / "whole.txt").read_bytes()
    with (place / "in.txt").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["translate", model, "-o", str(tmp_path / "piped.txt")]) == 0
    assert (tmp_path / "piped.txt").read_bytes() == (place / "whole.txt").read_bytes()
    (tmp_path / "empty.txt").write_bytes(b"")
    assert main(["translate", model, str(tmp_path / "empty.txt"), "-o", str(tmp_path / "nothing.txt")]) == 0
    assert (tmp_path / "nothing.txt").read_bytes() == b""


def test_what_goes_to_a_file_is_what_goes_to_standard_output(
    place: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "in.txt").write_text("a b\n\n나는 집에\u2028간다\r\na\rb\n" + "c a " * 60 + "\n가", "utf-8")
    for more in ([], ["--nbest", "2", "--json"]):
        assert main(["translate", str(place / "model"), str(tmp_path / "in.txt"), *more]) == 0
        told = capsysbinary.readouterr()
        assert f"{tmp_path / 'in.txt'}:5: longer than the model can read, cut" in told.err.decode()
        output = ["-o", str(tmp_path / "out.txt"), "--restart"]
        assert main(["translate", str(place / "model"), str(tmp_path / "in.txt"), *more, *output]) == 0
        assert (tmp_path / "out.txt").read_bytes() == told.out
        assert told.out.count(b"\n") == 6
        assert "6 lines, 1 of them cut" in capsysbinary.readouterr().err.decode()


def test_another_model_search_or_output_is_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"a\n" * 3000 + b"\xff\n")
    begin = ["translate", str(place / "model"), str(bad), "-o", str(tmp_path / "out.txt")]
    other = ["translate", str(write_model(tmp_path / "other", seed=2)), *begin[2:]]
    for arguments, sentence in [
        (begin, "bad.txt:3001: not UTF-8"),
        ([*begin[:3], "--restart"], "--restart goes with -o"),
        ([*begin[:3], "--executor", "ray"], "--executor ray: only for a job"),
        ([*begin, "--beam", "3"], "beam was not given and is 3; give the same"),
        ([*begin, "--json"], "json was False and is True"),
        (other, "model was "),
        ([*begin, "--beam", "0", "--restart"], "beam 0"),
        (command(place, "whole.txt"), "whole.txt: is there already"),
    ]:
        assert main(arguments) == 2, sentence
        assert sentence in capsys.readouterr().err
    assert done(tmp_path / "out.txt") == 2048, "a refusal has undone what was done"
    bad.write_bytes(b"a\n" * 3001)
    assert main(begin) == 0
    assert (tmp_path / "out.txt").read_bytes().count(b"\n") == 3001
    assert len(set((tmp_path / "out.txt").read_bytes().split())) == 1


def test_a_terminal_shows_a_bar_with_its_eta(place: Path, tmp_path: Path) -> None:
    inside, outside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tongsa.cli", *command(place, "shown.txt")], env=ENVIRONMENT, stderr=outside
    )
    os.close(outside)
    shown = b""
    try:
        while block := os.read(inside, 4096):
            shown += block
    except OSError:  # the other side is closed: how a terminal ends
        pass
    os.close(inside)
    assert process.wait(timeout=300) == 0
    assert "━" in shown.decode("utf-8", "replace")
    assert b"lines/s" in shown
    assert b"eta" in shown


def test_a_log_gets_a_line_now_and_then_and_none_for_a_small_input(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(place, "calm.txt")) == 0
    assert capsys.readouterr().err.splitlines() == [f"done: 500 lines in {place / 'calm.txt'}"]
    monkeypatch.setattr(progress, "LOG_INTERVAL_SECONDS", 0.0)
    assert main(command(place, "told.txt")) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 10
    assert "lines/s" in lines[0]
    assert "eta" in lines[0]
    assert "100%" in lines[-2]


def test_a_line_that_is_typed_is_answered_before_the_next(place: Path) -> None:
    inside, outside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tongsa.cli", "translate", str(place / "model")],
        env=ENVIRONMENT,
        stdin=outside,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        for text in ("a b\n", "나는 집에\n"):
            os.write(inside, text.encode())
            assert process.stdout.readline().endswith(b"\n")
        os.write(inside, b"\x04")
        assert process.stdout.read() == b""
    os.close(inside)
    os.close(outside)
    assert process.returncode == 0
