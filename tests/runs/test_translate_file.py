"""A job loses no line and writes none twice, whatever happens to it; the translator here is a plain function."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.data.chunks import ChunkReader
from tongsa.errors import InputError
from tongsa.runs.translate_file import ResumableOutput, TranslatedChunk

SETTINGS = {"model": "8f14e45fceea167a", "beam": 4, "alpha": 0.6, "lm": None}


def shout(lines: list[str]) -> TranslatedChunk:
    return TranslatedChunk(
        [" ".join(line.split()).upper() for line in lines], [at for at, x in enumerate(lines) if "길" in x]
    )


def work(source: Path, output: Path, *, chunks: int | None = None, lines: int = 2, restart: bool = False) -> None:
    """A job that dies after so many chunks, or comes to its end."""
    with ChunkReader(str(source)) as reader, ResumableOutput(output, SETTINGS, restart=restart) as job:
        if not job.finished:
            job.resume(reader)
            for chunk in islice(reader.chunks(lines), chunks):
                job.write(chunk, shout(chunk.lines))
        if chunks is None:
            job.finish()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path / "in.txt", "a b\n\n나는 집에 간다\r\nc\u2028d\re\nf\n\n길다".encode())


WANTED = "A B\n\n나는 집에 간다\nC D E\nF\n\n길다\n"
LEFT_BEHIND = {".partial", ".journal.json"}


def beside(output: Path) -> set[str]:
    return {
        path.name.removeprefix(output.name) for path in output.parent.iterdir() if path.name.startswith(output.name)
    }


def test_a_job_writes_one_line_for_each_and_leaves_nothing_else_behind(source: Path, tmp_path: Path) -> None:
    work(source, tmp_path / "new" / "out.txt")
    assert (tmp_path / "new" / "out.txt").read_text("utf-8") == WANTED
    assert beside(tmp_path / "new" / "out.txt") == {""}


@given(
    texts=st.lists(st.text(st.sampled_from("ab가길 \t\r\u2028\u0085\x0b\x0c"), max_size=5), max_size=12),
    ended=st.booleans(),
    packed=st.booleans(),
    deaths=st.lists(st.integers(0, 3), max_size=4),
    torn=st.binary(max_size=9),
)
def test_a_job_that_died_at_any_places_ends_in_the_bytes_of_one_that_did_not(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    ended: bool,
    packed: bool,
    deaths: list[int],
    torn: bytes,
) -> None:
    folder = tmp_path_factory.mktemp("job")
    content = "\n".join(texts).encode() + b"\n" * ended
    source = written(folder / ("in.gz" if packed else "in.txt"), content)
    output, lines = folder / "out.txt", content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    for death in deaths:
        if not output.exists():
            work(source, output, chunks=death)
        for left in LEFT_BEHIND & beside(output):  # the middle of a write
            with Path(f"{output}{left}{'' if left == '.partial' else '.part'}").open("ab") as file:
                file.write(torn)
    if not output.exists():
        work(source, output)
    work(source, folder / "whole.txt")
    assert output.read_bytes() == (folder / "whole.txt").read_bytes()
    assert output.read_bytes().count(b"\n") == lines


def test_a_death_between_the_last_two_steps_is_no_loss(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    work(source, output, chunks=4)
    (tmp_path / "out.txt.partial").rename(output)  # as `finish` does, which then takes the journal away
    work(source, output)
    assert output.read_text("utf-8") == WANTED
    assert beside(output) == {""}


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def no_number(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace('"lines": 4', '"lines": "4"'), "utf-8")


def a_list(path: Path) -> None:
    path.write_text("[1, 2]", "utf-8")


@pytest.mark.parametrize("harm", [cut_in_half, emptied, no_number, a_list, Path.unlink])
def test_a_damaged_journal_is_recognised_and_the_job_can_begin_again(
    source: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    output = tmp_path / "out.txt"
    work(source, output, chunks=2)
    harm(tmp_path / "out.txt.journal.json")
    before = (tmp_path / "out.txt.partial").read_bytes()
    with pytest.raises(InputError, match="--restart"):
        work(source, output)
    assert (tmp_path / "out.txt.partial").read_bytes() == before, "what was translated is gone"
    work(source, output, restart=True)
    assert output.read_text("utf-8") == WANTED


def test_lines_that_were_written_and_are_gone_are_missed(source: Path, tmp_path: Path) -> None:
    work(source, tmp_path / "out.txt", chunks=2)
    cut_in_half(tmp_path / "out.txt.partial")
    with pytest.raises(InputError, match=r"bytes where .* were written; begin again"):
        work(source, tmp_path / "out.txt")


@pytest.mark.parametrize("change", [lambda raw: b"b" + raw[1:], lambda raw: b"x" + raw, lambda raw: raw[:9]])
def test_a_job_does_not_go_on_with_another_input(
    source: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    work(source, tmp_path / "out.txt", chunks=2)
    original = source.read_bytes()
    source.write_bytes(change(original))
    with pytest.raises(InputError, match="its first 4 lines are not those"):
        work(source, tmp_path / "out.txt")
    source.write_bytes(original)
    work(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == WANTED


def test_what_was_not_read_yet_may_be_mended(source: Path, tmp_path: Path) -> None:
    original = source.read_bytes()
    source.write_bytes(original.replace(b"\nf\n", b"\n\xff\n"))
    with pytest.raises(InputError, match=r"in.txt:5: not UTF-8 .*iconv"):
        work(source, tmp_path / "out.txt")
    assert json.loads((tmp_path / "out.txt.journal.json").read_text("utf-8"))["position"]["lines"] == 4
    source.write_bytes(original)
    work(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == WANTED


@pytest.mark.parametrize(
    ("name", "value"), [("model", "another"), ("beam", 5), ("alpha", 0.5), ("lm", "x"), ("new", 1)]
)
def test_a_job_does_not_go_on_with_another_model_or_search(
    source: Path, tmp_path: Path, name: str, value: object
) -> None:
    work(source, tmp_path / "out.txt", chunks=2)
    with pytest.raises(
        InputError, match=rf"{name} was .* and is {value}; give the same, or begin again with --restart"
    ):
        ResumableOutput(tmp_path / "out.txt", SETTINGS | {name: value})
    work(source, tmp_path / "out.txt", chunks=0, restart=True)
    with ResumableOutput(tmp_path / "out.txt", SETTINGS | {name: value}) as job:  # nothing was done: nothing is lost
        assert job.settings[name] == value


def test_an_output_that_is_there_is_kept_until_the_new_one_is_whole(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    output.write_text("dear old lines\n")
    with pytest.raises(InputError, match="is there already; name another file, or begin again with --restart"):
        work(source, output)
    work(source, output, chunks=2, restart=True)
    assert output.read_text("utf-8") == "dear old lines\n"
    work(source, output)  # goes on: --restart was said when it began
    assert output.read_text("utf-8") == WANTED


def test_a_restart_that_dies_at_once_goes_on_as_a_new_job(source: Path, tmp_path: Path) -> None:
    work(source, tmp_path / "out.txt", chunks=2)
    source.write_bytes(b"all new\n")
    work(source, tmp_path / "out.txt", chunks=0, restart=True)
    work(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == "ALL NEW\n"


def test_devices_and_folders_are_not_replaced(source: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "folder", Path(os.devnull)):
        with pytest.raises(InputError, match="is no file that can be replaced"):
            ResumableOutput(place, SETTINGS, restart=True)
    assert not beside(Path(os.devnull)) - {""}


def test_two_processes_do_not_write_one_output(source: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tongsa.runs.translate_file import Job\n"
        f"job = Job(Path({str(tmp_path / 'out.txt')!r}), {SETTINGS!r}); print('begun', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"begun\n"
        with pytest.raises(InputError, match="another process is writing it"):
            work(source, tmp_path / "out.txt")
        other.kill()
        other.wait()
        work(source, tmp_path / "out.txt")  # a lock dies with its owner
    assert (tmp_path / "out.txt").read_text("utf-8") == WANTED


def test_lines_that_were_cut_are_counted_over_deaths(source: Path, tmp_path: Path) -> None:
    written(source, "길\na\n길\n길\n".encode())
    work(source, tmp_path / "out.txt", chunks=1)
    with ChunkReader(str(source)) as reader, ResumableOutput(tmp_path / "out.txt", SETTINGS) as job:
        job.resume(reader)
        for chunk in reader.chunks(2):
            job.write(chunk, shout(chunk.lines))
        assert job.progress.truncated == 3


def test_a_damaged_gzip_keeps_what_came_before(tmp_path: Path) -> None:
    """Random letters do not pack: cut in half, half of them can still be read."""
    lines = [os.urandom(400).hex() for _ in range(300)]
    source = written(tmp_path / "in.gz", "".join(f"{line}\n" for line in lines).encode())
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"in.gz: damaged gzip behind line .*gzip -t"):
        work(source, tmp_path / "out.txt")
    done = (tmp_path / "out.txt.partial").read_text("utf-8").splitlines()
    assert done == [line.upper() for line in lines[: len(done)]]
    assert len(done) > 50
    source.write_bytes(whole)
    work(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == [line.upper() for line in lines]
