"""LibreTranslate's API: the client from PyPI, forms, HTML, language detection."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from libretranslatepy import LibreTranslateAPI

import tongsa
from live_server import LiveServer, live_server, random_model
from tongsa.server import auth
from tongsa.server.api.html_markup import parse_html


@pytest.fixture(scope="module")
def server_with_keys(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    file = tmp_path_factory.mktemp("keys") / "keys"
    key = auth.create_key(file, "alice")
    with live_server(run, keys=file) as server:
        yield server, key


def test_the_client_from_pypi_translates_detects_and_lists(server: LiveServer, run: Path) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate("a b! C d", "en", "ko") == server.translate("a b! C d")[0]["text"]
    assert client.translate("a b c", "auto", "ko") == tongsa.load(run, engine="torch", task="seq2seq")("a b c").text
    assert client.detect("나는 집에 간다")[0]["language"] == "ko"
    assert {language["code"]: language["name"] for language in client.languages()} == {"en": "English", "ko": "Korean"}


def test_the_client_from_pypi_sends_its_key(server_with_keys: tuple[LiveServer, str]) -> None:
    server, key = server_with_keys
    assert LibreTranslateAPI(server.url, key).translate("a b", "en", "ko")
    assert LibreTranslateAPI(server.url, key).detect("a b")
    assert server.get("/frontend/settings").json()["keyRequired"] is True


def test_several_texts_with_alternatives_and_detected_languages(server: LiveServer) -> None:
    request = {"q": ["a b", "나 다"], "source": "auto", "target": "ko", "alternatives": 2}
    response = server.post("/translate", request).json()
    assert response["translatedText"] == [server.translate("a b")[0]["text"], "나 다"]
    assert [guess["language"] for guess in response["detectedLanguage"]] == ["en", "ko"]
    assert 1 <= len(response["alternatives"][0]) <= 2
    assert response["translatedText"][0] not in response["alternatives"][0]
    single = server.post("/translate", {"q": "a b", "source": "en", "target": "ko"}).json()
    assert single == {"translatedText": response["translatedText"][0]}


def test_unknown_fields_are_ignored(server: LiveServer) -> None:
    request = {"q": "a b", "source": "en", "target": "ko"}
    with_more = server.post("/translate", request | {"new_field": 1})
    assert with_more.json() == server.post("/translate", request).json()


def test_both_kinds_of_forms_are_read(server: LiveServer) -> None:
    fields = {"q": "a b", "source": "en", "target": "ko", "alternatives": "1"}
    expected = server.post("/translate", fields | {"alternatives": 1}).json()
    url = server.url + "/translate"
    assert server.client.post(url, data=fields).json() == expected
    assert server.client.post(url, files={name: (None, value) for name, value in fields.items()}).json() == expected
    assert server.client.post(url, data=fields | {"alternatives": "many"}).status_code == 422
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    assert server.send("/translate", b"--x\r\nbroken", headers=broken).status_code in (400, 422)
    assert server.send("/translate", b"q", headers={"Content-Type": "multipart/form-data"}).status_code == 400


@pytest.mark.parametrize("charset", ["unicode_escape", "punycode", "utf-7", '"utf-16"'])
def test_a_form_with_another_charset_than_utf_8_is_rejected(server: LiveServer, charset: str) -> None:
    fields = {"q": "a \\ud800 b", "source": "en", "target": "ko"}
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    )
    content_type = f"multipart/form-data; boundary=x; charset={charset}"
    response = server.send("/translate", f"{body}--x--\r\n".encode(), headers={"Content-Type": content_type})
    assert (response.status_code, response.json()["code"]) == (400, "bad_request")
    without_charset = {"Content-Type": content_type.partition("; c")[0]}
    assert server.send("/translate", f"{body}--x--\r\n".encode(), headers=without_charset).status_code == 200


def test_html_tags_are_kept_and_texts_between_them_translated(server: LiveServer) -> None:
    fragment = "<p class='x'>a b</p> <script>if (a < b) {}</script><!-- c --><b>c &amp; d</b>"
    request = {"q": fragment, "source": "en", "target": "ko", "format": "html"}
    first, second = (server.translate(text)[0]["text"] for text in ("a b", "c & d"))
    translated = server.post("/translate", request).json()["translatedText"]
    escaped = second.replace("&", "&amp;").replace("<", "&lt;")
    assert translated == f"<p class='x'>{first}</p> <script>if (a < b) {{}}</script><!-- c --><b>{escaped}</b>"
    assert server.post("/translate", request | {"q": "<br>"}).json()["translatedText"] == "<br>"


@pytest.mark.parametrize("text", ["", "a", "a<b", "<b>", "<b>a", "<!-- a", "<script>a", "1 < 2 > 0", "<" * 100_000])
def test_unchanged_texts_give_the_same_html(text: str) -> None:
    markup = parse_html(text)
    assert markup._replace(is_escaped=False).fill(markup.texts) == text


def test_a_letter_whose_lower_case_is_longer_moves_no_tag() -> None:
    assert parse_html("İ" * 30 + "<PRE>a</Pre>b c<i>d</i>").texts == ["İ" * 30, "b c", "d"]


def test_a_model_for_the_opposite_direction_is_selected_by_its_languages(run: Path, tmp_path: Path) -> None:
    back = random_model(tmp_path / "back", seed=5)
    description = (back / "model" / "model.toml").read_text("utf-8")
    swapped = description.replace('source_language = "en"', 'source_language = "ko"').replace(
        'target_language = "ko"', 'target_language = "en"'
    )
    (back / "model" / "model.toml").write_text(swapped, "utf-8")
    with live_server(run, back) as server:
        assert [language["targets"] for language in server.get("/languages").json()] == [["ko", "en"], ["en", "ko"]]
        response = server.post("/translate", {"q": "가 나", "source": "auto", "target": "en"}).json()
        assert response["detectedLanguage"]["language"] == "ko"
        assert response["translatedText"] == server.translate("가 나", model="back")[0]["text"]
