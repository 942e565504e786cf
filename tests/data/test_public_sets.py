"""Public data sets: downloads from a server in another process, hostile servers and archives, folders."""

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tongsa.data.public_sets.archive import extract_members
from tongsa.data.public_sets.convert import CONVERTERS
from tongsa.data.public_sets.download import check_address, download
from tongsa.data.public_sets.get import get_set
from tongsa.data.public_sets.table import PublicSet, SetFile, public_sets
from tongsa.errors import InputError

SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/away"):
            self.send_response(302); self.send_header("Location", "file:///etc/passwd"); self.end_headers(); return
        if self.path.startswith("/loop"):
            self.send_response(302); self.send_header("Location", self.path + "x"); self.end_headers(); return
        content = open(os.path.join(sys.argv[1], self.path.lstrip("/").removeprefix("broken/")), "rb").read()
        start = int(self.headers["Range"][6:-1]) if self.headers["Range"] else 0
        with open(os.path.join(sys.argv[1], "log"), "a") as log: log.write(f"{start}\\n")
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if start: self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        rest = content[start:]
        self.wfile.write(rest[: max(1, len(rest) // 2)] if self.path.startswith("/broken/") and not start else rest)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
TEXT = b"".join(b"line %d\n" % number for number in range(20_000))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "served"
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", SERVER, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield folder, f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


def _set(address: str, sha256: str = "", **changes: object) -> PublicSet:
    file = SetFile(name="train.txt.gz", parts=(address,), sha256=sha256)
    values = {"name": "toy", "title": "Toy", "home": "here", "license": "CC0", "size": 0, "files": (file,)} | changes
    return PublicSet(**values)  # type: ignore[arg-type]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_broken_download_goes_on_where_it_stopped(server: tuple[Path, str], tmp_path: Path) -> None:
    folder, base = server
    (folder / "train.txt").write_bytes(TEXT)
    target = tmp_path / "data" / "toy"
    assert get_set(_set(f"{base}/broken/train.txt", _sha256(TEXT)), target)
    assert gzip.decompress((target / "train.txt.gz").read_bytes()) == TEXT
    assert (folder / "log").read_text().split() == ["0", str(len(TEXT) // 2)]
    assert [path.name for path in target.parent.iterdir()] == ["toy"]
    assert not get_set(_set("https://127.0.0.1:1/unused", _sha256(TEXT)), target)  # no network if it is there


def test_bytes_of_a_killed_process_are_used(server: tuple[Path, str], tmp_path: Path) -> None:
    folder, base = server
    (folder / "train.txt").write_bytes(TEXT)
    (tmp_path / "train.txt.part").write_bytes(TEXT[:1000])
    download(f"{base}/train.txt", tmp_path / "train.txt", _sha256(TEXT))
    assert (tmp_path / "train.txt").read_bytes() == TEXT
    assert (folder / "log").read_text().split() == ["1000"]


def test_a_wrong_checksum_leaves_nothing(server: tuple[Path, str], tmp_path: Path) -> None:
    folder, base = server
    (folder / "train.txt").write_bytes(TEXT)
    target = tmp_path / "data" / "toy"
    with pytest.raises(InputError, match="checksum"):
        get_set(_set(f"{base}/train.txt", _sha256(b"other")), target)
    assert not target.exists()
    assert [path for path in target.parent.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("path", ["/away", "/loop", "/missing"])
def test_redirects_and_missing_files_are_errors(server: tuple[Path, str], tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError):
        download(server[1] + path, tmp_path / "file")


def test_a_file_over_the_limit_is_refused(server: tuple[Path, str], tmp_path: Path) -> None:
    (server[0] / "train.txt").write_bytes(TEXT)
    with pytest.raises(InputError, match="more than"):
        download(f"{server[1]}/train.txt", tmp_path / "file", max_bytes=100)


@pytest.mark.parametrize("address", ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_only_https_is_used(address: str) -> None:
    with pytest.raises(InputError, match="not an https address"):
        check_address(address)


def _tar(path: Path, *members: tarfile.TarInfo, content: bytes = b"text\n") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return path


def _link(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return member


def test_only_listed_regular_members_are_copied_under_our_names(tmp_path: Path) -> None:
    archive = _tar(tmp_path / "a.tgz", tarfile.TarInfo("../../escaped"), tarfile.TarInfo("a/../../x"), _link("other"))
    (out := tmp_path / "out").mkdir()
    paths = extract_members(archive, {"a/../../x"}, out)
    assert [path.relative_to(out) for path in paths.values()] == [Path("0-x")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tgz", "out"]


def test_hostile_archives_are_refused(tmp_path: Path) -> None:
    bomb = _tar(tmp_path / "bomb.tgz", tarfile.TarInfo("train"), content=bytes(50_000_000))
    link = _tar(tmp_path / "link.tgz", _link("train"))
    twice = _tar(tmp_path / "twice.tgz", tarfile.TarInfo("train"), tarfile.TarInfo("train"), tarfile.TarInfo("dev"))
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(bomb.read_bytes()[:200])
    for archive in (bomb, link, twice, cut):
        with pytest.raises(InputError, match=archive.name):
            extract_members(archive, {"train", "dev"}, tmp_path)


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(bytes(50_000_000)))
    with pytest.raises(InputError, match="too much text"):
        get_set(_set("https://example.org/train.txt.gz"), tmp_path / "toy", tmp_path)


def test_a_set_is_taken_from_a_folder_packed_or_not(tmp_path: Path) -> None:
    (folder := tmp_path / "mine").mkdir()
    (folder / "train.txt").write_bytes(TEXT)
    assert get_set(_set("https://example.org/original", _sha256(TEXT)), tmp_path / "toy", folder)
    (folder / "train.txt").write_bytes(TEXT + b"x")
    with pytest.raises(InputError, match="no such file"):
        get_set(_set("https://example.org/original", _sha256(TEXT)), tmp_path / "other", folder)


def test_a_folder_of_the_user_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "notes").write_text("mine")
    with pytest.raises(InputError, match="not written by"):
        get_set(_set("https://example.org/x"), tmp_path / "toy", tmp_path)
    assert (tmp_path / "toy" / "notes").read_text() == "mine"


def test_converters() -> None:
    def convert(name: str, *lines: bytes) -> list[bytes]:
        return list(CONVERTERS[name](lines))

    assert convert("cmudict", b"A  EY\n") == [b"A\tEY\n"]
    assert convert("scan", b"IN: jump twice OUT: I_JUMP I_JUMP\n") == [b"jump twice\tI_JUMP I_JUMP\n"]
    assert convert("segments", b"<doc>\n", b'<seg id="1"> A &amp; B </seg>\n') == [b"A & B\n"]
    assert convert("ted", b"<url>x</url>\n", b"<title>T</title>\n", b"Hello. \n") == [b"T\n", b"Hello.\n"]


def test_every_set_of_the_table_is_https_with_a_licence() -> None:
    assert {"multi30k", "nsmc", "cmudict", "iwslt14-de-en", "wmt14-en-de", "wmt14-en-fr"} <= public_sets().keys()
    for public_set in public_sets().values():
        assert public_set.license and public_set.home.startswith("https://")
        for file in public_set.files:
            assert file.convert in CONVERTERS and not Path(file.name).is_absolute() and ".." not in file.name
            for part in file.parts:
                check_address(part)
