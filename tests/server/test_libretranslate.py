"""Clients of LibreTranslate work unchanged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from libretranslatepy import LibreTranslateAPI

import tongsa
from served import Running, drawn, serving
from tongsa.server import auth
from tongsa.server.markup import parse_html


@pytest.fixture(scope="module")
def pair(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    file = tmp_path_factory.mktemp("keys") / "keys"
    key = auth.create_key(file, "alice")
    with serving(run, keys=file) as running:
        yield running, key


def test_the_client_from_pypi_translates_detects_and_lists(server: Running, run: Path) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate("a b! C d", "en", "ko") == server.translate("a b! C d")[0]["text"]
    assert client.translate("a b c", "auto", "ko") == tongsa.load(run, engine="torch")("a b c").text
    assert client.detect("나는 집에 간다")[0]["language"] == "ko"
    assert {one["code"]: one["name"] for one in client.languages()} == {"en": "English", "ko": "Korean"}


def test_the_client_from_pypi_sends_its_key(pair: tuple[Running, str]) -> None:
    running, key = pair
    assert LibreTranslateAPI(running.url, key).translate("a b", "en", "ko")
    assert LibreTranslateAPI(running.url, key).detect("a b")
    assert running.get("/frontend/settings").json()["keyRequired"] is True


def test_several_texts_alternatives_and_a_guess(server: Running) -> None:
    asked = {"q": ["a b", "나 다"], "source": "auto", "target": "ko", "alternatives": 2}
    found = server.post("/translate", asked).json()
    assert found["translatedText"] == [server.translate("a b")[0]["text"], "나 다"]
    assert [one["language"] for one in found["detectedLanguage"]] == ["en", "ko"]
    assert 1 <= len(found["alternatives"][0]) <= 2
    assert found["translatedText"][0] not in found["alternatives"][0]
    one = server.post("/translate", {"q": "a b", "source": "en", "target": "ko"}).json()
    assert one == {"translatedText": found["translatedText"][0]}


def test_forms_of_both_kinds_are_read(server: Running) -> None:
    fields = {"q": "a b", "source": "en", "target": "ko", "alternatives": "1"}
    wanted = server.post("/translate", fields | {"alternatives": 1}).json()
    url = server.url + "/translate"
    assert server.client.post(url, data=fields).json() == wanted
    assert server.client.post(url, files={name: (None, value) for name, value in fields.items()}).json() == wanted
    assert server.client.post(url, data=fields | {"alternatives": "many"}).status_code == 422
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    assert server.send("/translate", b"--x\r\nbroken", headers=broken).status_code in (400, 422)
    assert server.send("/translate", b"q", headers={"Content-Type": "multipart/form-data"}).status_code == 400


@pytest.mark.parametrize("charset", ["unicode_escape", "punycode", "utf-7", '"utf-16"'])
def test_a_form_is_in_utf_8_and_in_nothing_that_it_names_itself(server: Running, charset: str) -> None:
    fields = {"q": "a \\ud800 b", "source": "en", "target": "ko"}
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    )
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    answer = server.send("/translate", f"{body}--x--\r\n".encode(), headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    plain = server.send("/translate", f"{body}--x--\r\n".encode(), headers={"Content-Type": kind.partition("; c")[0]})
    assert plain.status_code == 200


def test_marks_of_html_stay_and_what_is_between_them_is_translated(server: Running) -> None:
    fragment = "<p class='x'>a b</p> <script>if (a < b) {}</script><!-- c --><b>c &amp; d</b>"
    asked = {"q": fragment, "source": "en", "target": "ko", "format": "html"}
    first, second = (server.translate(text)[0]["text"] for text in ("a b", "c & d"))
    found = server.post("/translate", asked).json()["translatedText"]
    escaped = second.replace("&", "&amp;").replace("<", "&lt;")
    assert found == f"<p class='x'>{first}</p> <script>if (a < b) {{}}</script><!-- c --><b>{escaped}</b>"


@pytest.mark.parametrize("text", ["", "a", "a<b", "<b>", "<b>a", "<!-- a", "<script>a", "1 < 2 > 0", "<" * 100_000])
def test_markup_that_is_not_changed_gives_the_fragment_back(text: str) -> None:
    found = parse_html(text)
    assert found._replace(is_escaped=False).fill(found.texts) == text


def test_a_letter_that_grows_when_it_is_small_moves_no_mark() -> None:
    found = parse_html("İ" * 30 + "<PRE>a</Pre>b c<i>d</i>")
    assert found.texts == ["İ" * 30, "b c", "d"]


def test_a_model_for_the_way_back_is_found_by_its_languages(run: Path, tmp_path: Path) -> None:
    back = drawn(tmp_path / "back", seed=5)
    description = (back / "model" / "model.toml").read_text("utf-8")
    swapped = description.replace('source_language = "en"', 'source_language = "ko"').replace(
        'target_language = "ko"', 'target_language = "en"'
    )
    (back / "model" / "model.toml").write_text(swapped, "utf-8")
    with serving(run, back) as running:
        assert [one["targets"] for one in running.get("/languages").json()] == [["ko", "en"], ["en", "ko"]]
        found = running.post("/translate", {"q": "가 나", "source": "auto", "target": "en"}).json()
        assert found["detectedLanguage"]["language"] == "ko"
        assert found["translatedText"] == running.translate("가 나", model="back")[0]["text"]
