"""LibreTranslate's /translate_file: a document is translated, kept for a while in memory, and fetched by its name."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_server import LiveServer, live_server, wait_for
from tongsa.document_formats.formats import FORMATS
from tongsa.server import auth
from tongsa.server.api.libretranslate_files import key_in_form
from tongsa.server.config import RequestLimits
from tongsa.server.errors import APIError
from tongsa.server.translated_files import TranslatedFiles

LANGUAGES = {"source": "en", "target": "ko"}


def send(server: LiveServer, name: str, content: bytes, headers: Any = None, **fields: str) -> httpx2.Response:
    data = LANGUAGES | fields
    return server.client.post(
        server.url + "/translate_file", data=data, files={"file": (name, content)}, headers=headers
    )


def url_of(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    body: dict[str, str] = response.json()
    assert body.keys() == {"translatedFileUrl"}
    return body["translatedFileUrl"]


def test_a_file_is_translated_and_fetched(server: LiveServer) -> None:
    content = b"# a b c\n\n12\n\n- d e\n"
    url = url_of(send(server, "a.en.md", content))
    assert url.startswith(server.url + "/download_file/") and url.endswith(".a.ko.md")
    fetched = server.client.get(url)
    assert fetched.status_code == 200
    assert fetched.headers["content-type"] == "application/octet-stream"
    assert fetched.headers["content-disposition"] == "attachment; filename*=utf-8''a.ko.md"
    assert fetched.headers["cache-control"] == "no-store"
    first, second = (server.translate(text)[0]["text"] for text in ("a b c", "d e"))
    assert fetched.text == f"# {first}\n\n12\n\n- {second}\n"
    assert server.client.get(url).content == fetched.content  # until it expires
    assert url_of(send(server, "a.en.md", content)) != url


def test_the_language_may_be_detected_and_a_file_in_the_target_language_stays(server: LiveServer) -> None:
    detected = server.client.get(url_of(send(server, "a.txt", b"a b\n", source="auto")))
    assert detected.text == server.translate("a b")[0]["text"] + "\n"
    korean = "나는 집에 간다\n".encode()
    assert server.client.get(url_of(send(server, "a.txt", korean, source="auto"))).content == korean


def test_the_formats_are_those_of_documents(server: LiveServer) -> None:
    settings = server.get("/frontend/settings").json()
    assert settings["filesTranslation"] is True
    assert settings["supportedFilesFormat"] == [extension for known in FORMATS for extension in known.extensions]
    assert ".srt" in settings["supportedFilesFormat"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd.txt", "passwd.ko.txt"),
        ("..\\..\\한글 film.srt", "한글 film.ko.srt"),
        ('a"; filename=evil.exe;.srt', 'a"; filename=evil.exe;.ko.srt'),
        ("a?b#c%2f.txt", "a?b#c%2f.ko.txt"),
        ("a\x1b\x7f\u2028.srt", "a.ko.srt"),
    ],
)
def test_hostile_names_are_only_names(server: LiveServer, name: str, shown: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').encode()
    part = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    fields = "".join(part.format(*field) for field in LANGUAGES.items())
    body = fields.encode() + b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + quoted
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    url = url_of(server.send("/translate_file", body + b'"\r\n\r\n1\r\n--x--\r\n', headers=headers))
    assert "/" not in url.removeprefix(server.url + "/download_file/")
    fetched = server.client.get(url)
    assert fetched.content == b"1"
    assert unquote(fetched.headers["content-disposition"].partition("''")[2]) == shown


@pytest.mark.parametrize("path", ["..%2fapp.py", "%2e%2e", "a", ".a.txt", "a.txt/..", "{token}", "{token}.b.txt"])
def test_only_the_whole_random_name_finds_a_file(server: LiveServer, path: str) -> None:
    token = url_of(send(server, "a.txt", b"1")).rpartition("/")[2].partition(".")[0]
    assert len(token) >= 43  # 256 random bits
    response = server.get("/download_file/" + path.format(token=token))
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "message"),
    [
        ("a.pdf", b"x", {}, 400, "a.pdf: unknown format"),
        ("a.docx", b"x", {}, 400, "damaged"),
        ("a.txt", b"a", {"source": "fr"}, 400, "fr"),
        ("a.txt", b"a", {"target": ""}, 400, "en"),
        ("", b"a", {}, 422, "file: no file with a name"),
    ],
)
def test_what_cannot_be_translated_gets_a_message(
    server: LiveServer, name: str, content: bytes, fields: dict[str, str], status: int, message: str
) -> None:
    response = send(server, name, content, **fields)
    assert response.status_code == status, response.text
    assert message in response.json()["error"]


def test_limits_of_size_and_number(run: Path) -> None:
    limits = RequestLimits(document_bytes=1000, document_characters=50)
    with live_server(run, limits=limits, max_kept_files=2, kept_file_seconds=30) as server:
        too_large = send(server, "a.txt", b"1" * 1001)
        assert (too_large.status_code, too_large.json()["code"]) == (413, "too_long")
        assert send(server, "a.txt", b"a b\n" * 20).status_code == 413
        urls = [url_of(send(server, "a.txt", b"1")) for _ in range(2)]
        full = send(server, "a.txt", b"1")
        assert (full.status_code, full.json()["code"]) == (503, "busy")
        assert 1 <= int(full.headers["retry-after"]) <= 30
        assert all(server.client.get(url).status_code == 200 for url in urls)  # others keep their files


def test_a_key_is_sent_in_the_form_and_the_address_needs_none(run: Path, tmp_path: Path) -> None:
    key = auth.create_key(tmp_path / "keys", "alice")
    with live_server(run, keys=tmp_path / "keys") as server:
        assert send(server, "a.txt", b"1").status_code == 401
        assert send(server, "a.txt", b"1", api_key="wrong").status_code == 403
        assert server.client.get(url_of(send(server, "a.txt", b"1", api_key=key))).content == b"1"
        url = url_of(send(server, "a.txt", b"1", {"Authorization": f"Bearer {key}"}))
        assert server.client.get(url, headers={"Host": "rebound.example"}).status_code == 421
        assert server.client.get(url, headers={"Origin": "https://example.org"}).status_code == 403


FORM = "--x\r\nContent-Disposition: form-data; name={}\r\n\r\n"


def large_form(server: LiveServer, *fields: tuple[str, str]) -> tuple[bytes, bytes]:
    """Return the beginning and the end of a request whose file is larger than a body without a key may be."""
    size = 2 * server.context.config.limits.body_bytes
    start = "".join(FORM.format(f'"{name}"') + value + "\r\n" for name, value in fields)
    start += FORM.format('"file"; filename="a.txt"') + "\n" * size
    end = "\n" * size + "\r\n" + "".join(FORM.format(name) + value + "\r\n" for name, value in LANGUAGES.items())
    end += "--x--\r\n"
    head = f"POST /translate_file HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(start + end)}\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\nConnection: close\r\n\r\n"
    return (head + start).encode(), end.encode()


@pytest.mark.parametrize(("fields", "status"), [((), b"401"), ((("api_key", "wrong"),), b"403")])
def test_a_large_file_is_not_read_without_a_key(
    run: Path, tmp_path: Path, fields: tuple[tuple[str, str], ...], status: bytes
) -> None:
    auth.create_key(tmp_path / "keys", "alice")
    with live_server(run, keys=tmp_path / "keys") as server, server.socket() as client:
        client.sendall(large_form(server, *fields)[0])
        assert client.recv(65536).split(b" ")[1] == status, "the rest of the body has not been sent"


@given(
    st.lists(st.sampled_from([b"--x", b'; name="api_key"', b"; name=api_key", b'; filename="api_key"', b"", b"secret"]))
)
def test_the_key_follows_the_first_headers_with_its_name(lines: list[bytes]) -> None:
    named = next((i for i, line in enumerate(lines) if b" name=" in line), len(lines))
    value = lines.index(b"", named) + 1 if b"" in lines[named:] else len(lines)
    assert key_in_form(b"\r\n".join([*lines, b""])) == "".join(line.decode() for line in lines[value : value + 1])


@pytest.mark.parametrize("line", [b" name=api_key", b" name=api_key\r\n", b"\r\n"])
def test_a_form_without_a_key_is_searched_in_linear_time(line: bytes) -> None:
    assert key_in_form(line * 100_000) == ""


def test_a_client_that_has_sent_no_key_yet_takes_no_slot(run: Path, tmp_path: Path) -> None:
    key = auth.create_key(tmp_path / "keys", "alice")
    with live_server(run, keys=tmp_path / "keys", max_concurrent_documents=1) as server:
        with server.socket() as slow, server.socket() as client:
            slow.sendall(large_form(server)[0][:100_000])
            wait_for(lambda: server.metric("tongsa_requests_in_progress") == 1)
            start, end = large_form(server, ("api_key", key))
            client.sendall(start)
            wait_for(lambda: server.context.document_slots.free == 0)
            client.sendall(end)
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
        wait_for(lambda: server.context.document_slots.free == 1)


def test_files_expire_and_bytes_are_counted() -> None:
    now = [0.0]
    files = TranslatedFiles(max_files=10, max_bytes=100, seconds=60, clock=lambda: now[0])

    async def add(name: str, size: int) -> str:
        return files.add(name, b"x" * size)

    first = asyncio.run(add("a.txt", 60))
    with pytest.raises(APIError) as error:
        asyncio.run(add("b.txt", 60))
    assert (error.value.status, error.value.retry_after) == (503, 60)
    with pytest.raises(APIError, match="101 bytes"):
        asyncio.run(add("c.txt", 101))
    now[0] = 30.0
    second = asyncio.run(add("b.txt", 40))
    assert files.num_bytes == 100
    now[0] = 60.0
    assert files.get(first) is None
    kept = files.get(second)
    assert kept is not None and kept.name == "b.txt" and len(files) == 1
    asyncio.run(add("c.txt", 60))


def test_expired_files_leave_the_memory_without_another_request(run: Path) -> None:
    with live_server(run, kept_file_seconds=0.05) as server:
        url = url_of(send(server, "a.txt", b"1"))

        async def wait() -> int:
            await asyncio.sleep(1.2)
            return len(server.context.translated_files)

        assert asyncio.run(wait()) == 0
        assert server.client.get(url).status_code == 404
