"""Documents over HTTP: /v1/documents keeps their format, within limits."""

import base64
import json
import re
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from document_formats.samples import SAMPLES, make_archive
from live_server import BlockedModel, LiveServer, live_server, wait_for
from tongsa.document_formats.formats import FORMATS, parse_document
from tongsa.document_formats.segment import Mark, ParsedDocument
from tongsa.server import auth
from tongsa.server.config import RequestLimits


def send(server: LiveServer, name: str, content: bytes, headers: Any = None, **fields: str) -> httpx2.Response:
    url, files = server.url + "/v1/documents", {"file": (name, content)}
    return server.client.post(url, data=fields, files=files, headers=headers)


def fixed_text(document: ParsedDocument, name: str) -> str:
    """Return the text outside the slots; of an office document the tags, since a text may move to another run."""
    if name not in ("a.docx", "a.odt"):
        return "".join(part for part in document.texts[0].parts if isinstance(part, str))
    xml = "".join(text.write([None] * len(text.slots)) for text in document.texts)
    return re.sub(r">[^<]*<", "><", xml).replace(' xml:space="preserve"', "")


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("a.po", "a.xlf")])
def test_a_document_comes_back_in_its_format(server: LiveServer, name: str) -> None:
    response = send(server, name, SAMPLES[name])
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/octet-stream"
    extension = name.partition(".")[2]
    assert response.headers["content-disposition"] == f"attachment; filename*=utf-8''a.ko.{extension}"
    before, after = parse_document(SAMPLES[name], name), parse_document(response.content, name)
    assert [len(text.slots) for text in after.texts] == [len(text.slots) for text in before.texts]
    assert fixed_text(after, name) == fixed_text(before, name)
    for old, new in zip(before.slots, after.slots, strict=True):
        placeholders = [
            sorted(part.raw for part in slot.segment.parts if isinstance(part, Mark) and part.kind == "placeholder")
            for slot in (old, new)
        ]
        assert placeholders[0] == placeholders[1]
    counts = [int(response.headers[f"x-segments-{kind}"]) for kind in ("translated", "kept", "flagged")]
    assert counts[0] + counts[1] == len(before.slots)


def test_texts_are_those_of_translate_and_the_json_response_has_the_same_file(server: LiveServer) -> None:
    content = b"a b c\n\n12\nd e\n"
    response = send(server, "x.txt", content)
    first, second = (server.translate(text)[0]["text"] for text in ("a b c", "d e"))
    assert response.content.decode() == f"{first}\n\n12\n{second}\n"
    as_json = send(server, "x.txt", content, {"Accept": "application/json"}).json()
    assert base64.b64decode(as_json["content"]) == response.content
    assert (as_json["name"], as_json["translated"], as_json["kept"]) == ("x.ko.txt", 2, 1)


def test_columns_and_a_glossary(server: LiveServer) -> None:
    glossary = [{"source": "b", "target": "가 나"}]
    response = send(server, "t.csv", b"id,text\nx,a b c\n", columns="text", glossary=json.dumps(glossary))
    assert response.status_code == 200, response.text
    assert response.text == f"id,text\nx,{server.translate('a b c', glossary=glossary)[0]['text']}\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("film.en.srt", "film.ko.srt"),
        ("../../etc/한글 film.srt", "한글 film.ko.srt"),
        ("C:\\x\\a.srt", "a.ko.srt"),
        ('a"; filename=evil.exe;.srt', 'a"; filename=evil.exe;.ko.srt'),
        ("a\x1b\x7f\u2028.srt", "a.ko.srt"),
        ("x" * 500 + ".srt", "x" * 116 + ".ko.srt"),
    ],
)
def test_names_of_files_are_safe(server: LiveServer, name: str, expected: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').encode()
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + quoted + b'"\r\n\r\n1\r\n--x--\r\n'
    response = server.send("/v1/documents", body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert response.status_code == 200, response.text
    disposition = response.headers["content-disposition"]
    assert unquote(disposition.partition("''")[2]) == expected


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "message"),
    [
        ("a.pdf", b"x", {}, 422, "a.pdf: unknown format"),
        ("a.docx", b"x", {}, 422, "a.docx: a damaged or encrypted archive"),
        ("a.docx", make_archive({"word/document.xml": b" " * 3_000_000}), {}, 422, "compressed more than"),
        (
            "a.xlf",
            b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><xliff>&e;</xliff>',
            {},
            422,
            "document type",
        ),
        ("a.srt", b"\xff\xfe\xfd", {}, 422, "not UTF-8"),
        ("a.txt", b"a" + "\u0301".encode() * 300, {}, 422, "combining marks"),
        ("a.csv", b"a,b\n", {"columns": "7"}, 422, "no column '7'"),
        ("a.txt", b"a", {"glossary": "[{"}, 400, "The form cannot be read"),
        ("a.txt", b"a", {"glossary": '[{"source": 1}]'}, 422, "glossary"),
        ("a.txt", b"a", {"nonsense": "1"}, 422, "nonsense: unknown field"),
        ("a.txt", b"a", {"model": "nobody"}, 404, "is unknown"),
    ],
)
def test_wrong_documents_get_a_message_with_the_remedy(
    server: LiveServer, name: str, content: bytes, fields: dict[str, str], status: int, message: str
) -> None:
    response = send(server, name, content, **fields)
    assert response.status_code == status, response.text
    assert message in response.json()["error"]


def test_a_form_without_a_file_is_refused(server: LiveServer) -> None:
    response = server.client.post(server.url + "/v1/documents", files={"file": (None, "text")})
    assert (response.status_code, response.json()["code"]) == (422, "bad_request")
    assert server.post("/v1/documents", {"file": "x"}).status_code == 400


def test_large_documents_and_too_many_of_them_are_refused(run: Path) -> None:
    limits = RequestLimits(document_bytes=1000, document_characters=50)
    with live_server(run, max_concurrent_documents=1, limits=limits) as server:
        assert server.get("/v1/formats").json()["formats"][0]["max_bytes"] == 500
        too_many_bytes = send(server, "a.txt", b"1" * 1001)
        assert (too_many_bytes.status_code, too_many_bytes.json()["code"]) == (413, "too_long")
        too_many_characters = send(server, "a.txt", b"a b\n" * 20)
        assert too_many_characters.status_code == 413
        assert "60 characters, but at most 50" in too_many_characters.json()["error"]
        with BlockedModel(server.queue.model.text_model) as blocked:
            first = threading.Thread(target=send, args=(server, "a.txt", b"a"))
            first.start()
            blocked.wait()
            busy = send(server, "a.txt", b"b")
            assert (busy.status_code, busy.json()["code"]) == (503, "busy")
            blocked.release.set()
            first.join()
        wait_for(lambda: send(server, "a.txt", b"b").status_code == 200)


def test_a_key_is_needed_where_keys_are_set(run: Path, tmp_path: Path) -> None:
    key = auth.create_key(tmp_path / "keys", "alice")
    with live_server(run, keys=tmp_path / "keys") as server:
        assert send(server, "a.txt", b"a").status_code == 401
        assert send(server, "a.txt", b"a", {"Authorization": f"Bearer {key}"}).status_code == 200
        assert server.get("/v1/formats").status_code == 200


def test_formats_are_listed(server: LiveServer) -> None:
    formats = server.get("/v1/formats").json()["formats"]
    assert [tuple(entry["extensions"]) for entry in formats] == [known.extensions for known in FORMATS]
    assert [entry["name"] for entry in formats if entry["has_columns"]] == ["CSV", "TSV"]
