"""Resumable output: no line is lost or written twice, whatever happens. The translator is a plain function."""

import gzip
import json
import os
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongsa.data.chunks import ChunkReader
from tongsa.errors import InputError
from tongsa.runs.translate_file import ResumableOutput, TranslatedChunk

SETTINGS = {"model": "8f14e45fceea167a", "beam": 4, "alpha": 0.6, "lm": None}


def uppercase(lines: list[str]) -> TranslatedChunk:
    truncated = [i for i, line in enumerate(lines) if "길" in line]
    return TranslatedChunk([" ".join(line.split()).upper() for line in lines], truncated)


def run_job(source: Path, output: Path, *, chunks: int | None = None, lines: int = 2, restart: bool = False) -> None:
    """Run a job to its end, or until it dies after this many chunks."""
    with ChunkReader(str(source)) as reader, ResumableOutput(output, SETTINGS, restart=restart) as output_file:
        if not output_file.finished:
            output_file.resume(reader)
            for chunk in islice(reader.chunks(lines), chunks):
                output_file.write(chunk, uppercase(chunk.lines))
        if chunks is None:
            output_file.finish()


def write_source(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_source(tmp_path / "in.txt", "a b\n\n나는 집에 간다\r\nc\u2028d\re\nf\n\n길다".encode())


EXPECTED = "A B\n\n나는 집에 간다\nC D E\nF\n\n길다\n"
WORKING_FILES = {".partial", ".journal.json"}


def suffixes_of(output: Path) -> set[str]:
    return {
        path.name.removeprefix(output.name) for path in output.parent.iterdir() if path.name.startswith(output.name)
    }


def test_a_job_writes_one_line_for_each_line_and_leaves_no_other_files(source: Path, tmp_path: Path) -> None:
    run_job(source, tmp_path / "new" / "out.txt")
    assert (tmp_path / "new" / "out.txt").read_text("utf-8") == EXPECTED
    assert suffixes_of(tmp_path / "new" / "out.txt") == {""}


@given(
    texts=st.lists(st.text(st.sampled_from("ab가길 \t\r\u2028\u0085\x0b\x0c"), max_size=5), max_size=12),
    ends_with_newline=st.booleans(),
    compressed=st.booleans(),
    deaths=st.lists(st.integers(0, 3), max_size=4),
    torn=st.binary(max_size=9),
)
@settings(max_examples=40)
def test_a_job_that_died_anywhere_writes_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    ends_with_newline: bool,
    compressed: bool,
    deaths: list[int],
    torn: bytes,
) -> None:
    folder = tmp_path_factory.mktemp("job")
    content = "\n".join(texts).encode() + b"\n" * ends_with_newline
    source = write_source(folder / ("in.gz" if compressed else "in.txt"), content)
    output, lines = folder / "out.txt", content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    for death in deaths:
        if not output.exists():
            run_job(source, output, chunks=death)
        for suffix in WORKING_FILES & suffixes_of(output):  # as if it died in the middle of a write
            with Path(f"{output}{suffix}{'' if suffix == '.partial' else '.part'}").open("ab") as file:
                file.write(torn)
    if not output.exists():
        run_job(source, output)
    run_job(source, folder / "whole.txt")
    assert output.read_bytes() == (folder / "whole.txt").read_bytes()
    assert output.read_bytes().count(b"\n") == lines


def test_a_death_between_rename_and_deletion_of_the_journal_loses_nothing(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    run_job(source, output, chunks=4)
    (tmp_path / "out.txt.partial").rename(output)  # as `finish` does before it deletes the journal
    run_job(source, output)
    assert output.read_text("utf-8") == EXPECTED
    assert suffixes_of(output) == {""}


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_number(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace('"lines": 4', '"lines": "4"'), "utf-8")


def replace_by_negative_number(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace('"lines": 4', '"lines": -4'), "utf-8")


def replace_by_list(path: Path) -> None:
    path.write_text("[1, 2]", "utf-8")


def replace_settings_by_pairs(path: Path) -> None:
    record = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(record | {"settings": [[1, "beam"]]}), "utf-8")


def replace_hash_by_surrogate(path: Path) -> None:
    """Write a character that JSON can escape and UTF-8 cannot encode."""
    record = json.loads(path.read_text("utf-8"))
    record["progress"]["input_sha256"] = "\ud800"
    path.write_text(json.dumps(record), "utf-8")


def test_a_partial_output_that_is_no_file_is_not_written(source: Path, tmp_path: Path) -> None:
    partial = tmp_path / "out.txt.partial"
    (tmp_path / "theirs").write_text("kept", "utf-8")
    for make in (os.mkfifo, Path.mkdir, lambda path: path.symlink_to("theirs")):
        make(partial)
        with pytest.raises(InputError, match="Delete it"):
            run_job(source, tmp_path / "out.txt", restart=True)
        partial.rmdir() if partial.is_dir() else partial.unlink()
    assert (tmp_path / "theirs").read_text("utf-8") == "kept"
    run_job(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == EXPECTED


@pytest.mark.parametrize(
    "damage",
    [
        cut_in_half,
        empty,
        replace_number,
        replace_by_negative_number,
        replace_by_list,
        replace_settings_by_pairs,
        replace_hash_by_surrogate,
        Path.unlink,
    ],
)
def test_a_damaged_journal_is_detected_and_the_job_can_be_restarted(
    source: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    output = tmp_path / "out.txt"
    run_job(source, output, chunks=2)
    damage(tmp_path / "out.txt.journal.json")
    before = (tmp_path / "out.txt.partial").read_bytes()
    with pytest.raises(InputError, match="--restart"):
        run_job(source, output)
    assert (tmp_path / "out.txt.partial").read_bytes() == before, "the translated lines are gone"
    run_job(source, output, restart=True)
    assert output.read_text("utf-8") == EXPECTED


def test_missing_bytes_of_the_partial_file_are_detected(source: Path, tmp_path: Path) -> None:
    run_job(source, tmp_path / "out.txt", chunks=2)
    cut_in_half(tmp_path / "out.txt.partial")
    with pytest.raises(InputError, match=r"16 bytes, but 32 were written\. Restore it, or start again"):
        run_job(source, tmp_path / "out.txt")


@pytest.mark.parametrize("change", [lambda raw: b"b" + raw[1:], lambda raw: b"x" + raw, lambda raw: raw[:9]])
def test_a_job_does_not_resume_with_another_input(
    source: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    run_job(source, tmp_path / "out.txt", chunks=2)
    original = source.read_bytes()
    source.write_bytes(change(original))
    with pytest.raises(InputError, match="its first 4 lines are not those"):
        run_job(source, tmp_path / "out.txt")
    source.write_bytes(original)
    run_job(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == EXPECTED


def test_lines_that_were_not_read_yet_may_be_corrected(source: Path, tmp_path: Path) -> None:
    original = source.read_bytes()
    source.write_bytes(original.replace(b"\nf\n", b"\n\xff\n"))
    with pytest.raises(InputError, match=r"in.txt:5: not UTF-8 .*iconv"):
        run_job(source, tmp_path / "out.txt")
    assert json.loads((tmp_path / "out.txt.journal.json").read_text("utf-8"))["progress"]["lines"] == 4
    source.write_bytes(original)
    run_job(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == EXPECTED


@pytest.mark.parametrize(
    ("name", "value"), [("model", "another"), ("beam", 5), ("alpha", 0.5), ("lm", "x"), ("new", 1)]
)
def test_a_job_does_not_resume_with_other_settings(source: Path, tmp_path: Path, name: str, value: object) -> None:
    run_job(source, tmp_path / "out.txt", chunks=2)
    with pytest.raises(
        InputError, match=rf"{name} was .* and is {value}\. Use the same, or start again with --restart"
    ):
        ResumableOutput(tmp_path / "out.txt", SETTINGS | {name: value})
    run_job(source, tmp_path / "out.txt", chunks=0, restart=True)
    with ResumableOutput(
        tmp_path / "out.txt", SETTINGS | {name: value}
    ) as output_file:  # nothing was translated: nothing is lost
        assert output_file.settings[name] == value


def test_a_job_resumes_with_a_setting_that_is_not_utf8(source: Path, tmp_path: Path) -> None:
    """Python represents a byte of the command line that is not UTF-8 as a lone surrogate."""
    for _ in range(2):
        with ResumableOutput(tmp_path / "out.txt", {"prefix": "\udcff"}) as output_file:
            assert output_file.settings == {"prefix": "\udcff"}


def test_an_existing_output_is_kept_until_the_new_one_is_complete(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    output.write_text("old lines\n")
    run_job(source, output, chunks=2)
    assert output.read_text("utf-8") == "old lines\n"
    run_job(source, output)
    assert output.read_text("utf-8") == EXPECTED


def test_a_restart_that_dies_at_once_resumes_as_a_new_job(source: Path, tmp_path: Path) -> None:
    run_job(source, tmp_path / "out.txt", chunks=2)
    source.write_bytes(b"all new\n")
    run_job(source, tmp_path / "out.txt", chunks=0, restart=True)
    run_job(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8") == "ALL NEW\n"


def test_devices_and_folders_are_not_replaced(source: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", Path(os.devnull)):
        with pytest.raises(InputError, match="not a regular file"):
            ResumableOutput(path, SETTINGS, restart=True)
    assert not suffixes_of(Path(os.devnull)) - {""}


def test_two_processes_cannot_write_one_output(source: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        locked = ResumableOutput(tmp_path / "out.txt", SETTINGS)
        os.write(writer, str(locked.progress.lines).encode())
        signal.pause()
    try:
        assert os.read(reader, 1) == b"0"
        with pytest.raises(InputError, match="another process is writing it"):
            run_job(source, tmp_path / "out.txt")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    run_job(source, tmp_path / "out.txt")  # the lock ends with its process
    assert (tmp_path / "out.txt").read_text("utf-8") == EXPECTED


def test_truncated_lines_are_counted_across_restarts(source: Path, tmp_path: Path) -> None:
    write_source(source, "길\na\n길\n길\n".encode())
    run_job(source, tmp_path / "out.txt", chunks=1)
    with ChunkReader(str(source)) as reader, ResumableOutput(tmp_path / "out.txt", SETTINGS) as output_file:
        output_file.resume(reader)
        for chunk in reader.chunks(2):
            output_file.write(chunk, uppercase(chunk.lines))
        assert output_file.progress.truncated == 3


def test_a_damaged_gzip_keeps_the_lines_before_the_damage(tmp_path: Path) -> None:
    """Random letters do not compress: of half of the file, half of the lines can be read."""
    lines = [os.urandom(400).hex() for _ in range(300)]
    source = write_source(tmp_path / "in.gz", "".join(f"{line}\n" for line in lines).encode())
    content = source.read_bytes()
    source.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"in.gz: damaged gzip after line .*gzip -t"):
        run_job(source, tmp_path / "out.txt")
    translated = (tmp_path / "out.txt.partial").read_text("utf-8").splitlines()
    assert translated == [line.upper() for line in lines[: len(translated)]]
    assert len(translated) > 50
    source.write_bytes(content)
    run_job(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == [line.upper() for line in lines]
