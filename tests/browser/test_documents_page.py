"""A file is translated sentence by sentence, whatever its length and encoding, and its lines stay."""

from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from .conftest import CHARACTERS, PHRASES, failing

LINES = "I go home. The cat sleeps.\n\n  The dog runs.\n"
KOREAN = "나는 집에 갑니다. 고양이가 잡니다.\n\n  개가 달립니다.\n"


def give(page: Page, content: bytes, name: str = "책.txt") -> None:
    page.click("#mode-document")
    payload: FilePayload = {"name": name, "mimeType": "text/plain", "buffer": content}
    page.set_input_files("#file", files=[payload])


def saved(page: Page, button: str) -> tuple[str, str]:
    with page.expect_download() as download:
        page.click(button)
    return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8")


def test_a_file_comes_back_with_its_lines(page: Page) -> None:
    give(page, LINES.encode())
    expect(page.locator("#document-count")).to_have_text("3 sentences · done")
    assert page.locator("#document-progress").evaluate("bar => bar.value") == 1
    assert saved(page, "#document-save") == ("책.ko.txt", KOREAN)
    name, table = saved(page, "#document-table")
    assert name == "책.ko.tsv" and table.splitlines()[2] == "The dog runs.\t개가 달립니다."


def test_a_file_longer_than_the_server_takes_is_sent_in_parts(page: Page) -> None:
    long = LINES * (2 * CHARACTERS // len(LINES))
    give(page, long.encode())
    expect(page.locator("#document-count")).to_contain_text("done")
    assert saved(page, "#document-save")[1] == KOREAN * long.count("dog")


@pytest.mark.parametrize("code", ["failed", "timeout", "busy"])
def test_what_failed_for_a_passing_reason_is_sent_again(page: Page, code: str) -> None:
    sent = failing(page, code, times=1)
    give(page, LINES.encode())
    expect(page.locator("#document-count")).to_have_text("3 sentences · done", timeout=30_000)
    assert len(sent) == 2 and saved(page, "#document-save")[1] == KOREAN


def test_what_fails_again_and_again_is_given_up(page: Page) -> None:
    sent = failing(page, "failed", times=99)
    give(page, LINES.encode())
    expect(page.locator("#document-count")).to_contain_text("stopped", timeout=30_000)
    expect(page.locator("#notice-text")).to_have_text("it failed")
    assert len(sent) == 4


def parts(page: Page, text: str, most: int) -> list[str]:
    script = "async ([text, most]) => (await import('/static/document.js')).parts(text, most)"
    found: list[str] = page.evaluate(script, [text, most])
    return found


def test_parts_are_short_enough_and_lose_nothing(page: Page) -> None:
    text = LINES * 20 + "😀" * 90
    made = parts(page, text, 40)
    assert "".join(made) == text and max(map(len, made)) <= 40


def test_a_part_ends_with_a_line_or_else_a_sentence_or_else_a_word(page: Page) -> None:
    assert parts(page, "One two. Three\nfour. Five six", 24) == ["One two. Three\n", "four. Five six"]
    assert parts(page, "One two. Three four five", 20) == ["One two. ", "Three four five"]
    assert parts(page, "one two three four", 12) == ["one two ", "three four"]


def test_korean_of_the_last_century_is_read(page: Page) -> None:
    page.select_option("#model", "back")
    give(page, "\n".join(PHRASES.values()).encode("euc-kr"))
    expect(page.locator("#document-count")).to_contain_text("done")
    assert page.locator("#document-rows li p:nth-child(2)").all_inner_texts() == list(PHRASES)


def test_what_is_no_text_is_refused_with_what_to_do(page: Page) -> None:
    give(page, bytes(range(256)), "picture.png")
    expect(page.locator("#notice-text")).to_contain_text("save it as plain text")
    give(page, b" \n ")
    expect(page.locator("#notice-text")).to_contain_text("no text in it")
