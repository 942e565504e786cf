"""Translation of files on the page: any length, two encodings, line breaks kept."""

from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from .conftest import MAX_CHARACTERS, PHRASES, Visitor, fail_first_requests

LINES = "I go home. The cat sleeps.\n\n  The dog runs.\n"
KOREAN = "나는 집에 갑니다. 고양이가 잡니다.\n\n  개가 달립니다.\n"


def choose_file(page: Page, content: bytes, name: str = "책.txt") -> None:
    page.click("#mode-document")
    payload: FilePayload = {"name": name, "mimeType": "text/plain", "buffer": content}
    page.set_input_files("#file", files=[payload])


def download(page: Page, button: str) -> tuple[str, str]:
    with page.expect_download() as info:
        page.click(button)
    return info.value.suggested_filename, Path(info.value.path()).read_text("utf-8")


def test_a_translated_file_keeps_its_lines(page: Page) -> None:
    choose_file(page, LINES.encode())
    expect(page.locator("#document-count")).to_have_text("3 sentences · done")
    assert page.locator("#document-progress").evaluate("bar => bar.value") == 1
    assert download(page, "#document-save") == ("책.ko.txt", KOREAN)
    name, table = download(page, "#document-table")
    assert name == "책.ko.tsv" and table.splitlines()[2] == "The dog runs.\t개가 달립니다."


def test_a_file_above_the_servers_limit_is_sent_in_parts(page: Page) -> None:
    text = LINES * (2 * MAX_CHARACTERS // len(LINES))
    choose_file(page, text.encode())
    expect(page.locator("#document-count")).to_contain_text("done")
    assert download(page, "#document-save")[1] == KOREAN * text.count("dog")


@pytest.mark.parametrize(
    "code", ["failed", pytest.param("timeout", marks=pytest.mark.slow), pytest.param("busy", marks=pytest.mark.slow)]
)
def test_a_temporary_error_is_retried(page: Page, code: str) -> None:
    bodies = fail_first_requests(page, code, count=1)
    choose_file(page, LINES.encode())
    expect(page.locator("#document-count")).to_have_text("3 sentences · done")
    assert len(bodies) == 2 and download(page, "#document-save")[1] == KOREAN


@pytest.mark.slow
def test_repeated_failures_stop_the_file(page: Page) -> None:
    bodies = fail_first_requests(page, "failed", count=99)
    choose_file(page, LINES.encode())
    expect(page.locator("#document-count")).to_contain_text("stopped")
    expect(page.locator("#notice-text")).to_have_text("The server could not translate this.")
    assert len(bodies) == 4


def test_euc_kr_files_are_read(page: Page) -> None:
    page.select_option("#model", "ko-en")
    choose_file(page, "\n".join(PHRASES.values()).encode("euc-kr"))
    expect(page.locator("#document-count")).to_contain_text("done")
    # the text content: rows below the window are not laid out (content-visibility), so their inner text is empty
    assert page.locator("#document-rows li p:nth-child(2)").all_text_contents() == list(PHRASES)


def test_files_without_text_are_rejected_with_the_remedy(page: Page) -> None:
    choose_file(page, b"", "picture.png")
    expect(page.locator("#notice-text")).to_contain_text(".png is not supported. Choose .txt")
    choose_file(page, bytes(range(256)))
    expect(page.locator("#notice-text")).to_contain_text("Save it as plain text")
    choose_file(page, b" \n ")
    expect(page.locator("#notice-text")).to_contain_text("Choose another one")


def test_a_file_of_another_format_keeps_it(visitor: Visitor) -> None:
    page = visitor.visit()
    subtitles = (
        "1\n00:00:01,000 --> 00:00:02,000\nI go home.\n\n2\n00:00:03,000 --> 00:00:04,000\n<i>The dog runs.</i>\n"
    )
    page.click("#mode-document")
    expect(page.locator("#document-help")).to_contain_text(".srt")
    choose_file(page, subtitles.encode(), "film.srt")
    expect(page.locator("#document-count")).to_have_text("2 segments · done")
    name, content = download(page, "#document-save")
    expected = subtitles.replace("I go home.", PHRASES["I go home."]).replace("The dog runs.", PHRASES["The dog runs."])
    assert (name, content) == ("film.ko.srt", expected)
    choose_file(page, b"not an archive", "book.docx")
    expect(page.locator("#notice-detail")).to_contain_text("book.docx")
    visitor.console_errors.clear()  # the browser logs the status 422
