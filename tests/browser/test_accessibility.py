"""Languages, phones, keyboard, screen readers, dark mode, page size."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, Response, expect

from .conftest import PHRASES, Visitor, translation, wait_for_translation, write

TWO_SENTENCES = "I go home. The cat sleeps."
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
MAX_PAGE_BYTES, MAX_TRANSFERRED_BYTES, MAX_WITH_VIEWS = 170_000, 50_000, 110_000


def test_a_korean_browser_gets_a_korean_page(visitor: Visitor) -> None:
    page = visitor.visit(locale="ko-KR")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    expect(page.locator("#target-title")).to_have_text("한국어")
    expect(page.locator("#copy")).to_have_text("복사")
    page.click("#language")
    expect(page.locator("#copy")).to_have_text("Copy")
    page.reload()
    expect(page.locator("#copy")).to_have_text("Copy")  # the choice is stored
    expect(page.locator("#target-title")).to_have_text("Korean")


def scroll_width(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width


def test_a_phone_needs_no_sideways_scrolling_and_buttons_are_large(visitor: Visitor) -> None:
    page = visitor.visit(**PHONE)
    write(page, TWO_SENTENCES)
    for button in page.locator("button:visible").all():
        box = button.bounding_box()
        assert box and box["height"] >= 40 and box["width"] >= 40, button.evaluate("node => node.outerHTML")
    page.click("#glossary summary")
    upper, lower = page.locator("#source").bounding_box(), page.locator("#result").bounding_box()
    assert upper and lower and upper["y"] + upper["height"] <= lower["y"]
    assert scroll_width(page) <= 360
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")
    assert page.evaluate("document.querySelector('#view').scrollWidth") <= 360
    page.click("#view [data-close]")
    page.click("#mode-document")
    assert scroll_width(page) <= 360


def test_everything_works_from_the_keyboard(page: Page) -> None:
    expect(page.locator("#model")).to_be_enabled()
    expect(page.locator("#source")).to_be_focused()
    page.keyboard.type("I like books.")
    page.keyboard.press("Control+Enter")
    wait_for_translation(page, "I like books.")
    page.keyboard.press("Alt+2")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.word") == "1"
    page.keyboard.press("Enter")
    page.wait_for_selector("#menu [role=menuitem]:focus")
    page.keyboard.press("Escape")
    expect(page.locator("#menu")).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.word") == "1"
    page.keyboard.press("Enter")
    page.wait_for_selector("#menu [role=menuitem]:focus")
    page.keyboard.press("Enter")
    assert translation(page) != PHRASES["I like books."]
    page.keyboard.press("Alt+a")
    page.wait_for_selector("#stage[data-head]")
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()
    page.keyboard.press("Alt+x")
    expect(page.locator("#source-title")).to_have_text("Korean")
    page.keyboard.press("Alt+g")
    expect(page.locator("#terms input").first).to_be_focused()
    page.keyboard.press("Alt+m")
    expect(page.locator("#document-mode")).to_be_visible()
    page.locator("#theme").focus()
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()


def test_the_tab_key_reaches_all_buttons_with_a_visible_focus(page: Page) -> None:
    write(page, TWO_SENTENCES)
    expected = {"language", "theme", "shortcuts-open", "model", "mode-text", "source", "swap", "copy", "shading"}
    expected |= {"open-attention", "open-tree", "open-positions", "open-curves", "clear", "mode-document", "share"}
    page.locator("body").evaluate("body => { document.activeElement.blur(); }")
    reached: set[str] = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.add(name)
        if name in expected - {"source"}:  # the text area shows its caret, and its title is underlined
            assert outline == "solid", name
    assert expected <= reached


def axe_findings(page: Page) -> list[str]:
    """Return serious and critical findings of axe-core."""
    # without preload axe adds no style of its own, which the security policy would forbid
    violations = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in violations
        if violation["impact"] in {"serious", "critical"}
        for node in violation["nodes"]
    ]


STATES = {
    "menu": ("#result .word >> nth=0", "[role=menuitem]"),
    "glossary": ("#glossary summary", "#terms input"),
    "history": ("#history-open", "#history-list"),
    "request": ("#request-open", "#request-curl"),
    "shortcuts": ("#shortcuts-open", "#shortcut-list"),
    "attention": ("#open-attention", "[data-head]"),
    "tree": ("#open-tree", ".node"),
    "positions": ("#open-positions", "canvas"),
    "curves": ("#open-curves", ".curve"),
    "document": ("#mode-document", "#drop"),
}
"""State of the page → the button that opens it, and an element of it. Escape closes the dialogs."""


@pytest.mark.parametrize(
    ("scheme", "locale"), [("light", "en-US"), pytest.param("dark", "ko-KR", marks=pytest.mark.slow)]
)
def test_axe_finds_no_serious_fault_in_any_state(visitor: Visitor, scheme: str, locale: str) -> None:
    page = visitor.visit(color_scheme=scheme, locale=locale)
    page.wait_for_selector("#model option", state="attached")
    page.wait_for_selector("#result .hint")
    findings = {"empty": axe_findings(page)}
    write(page, TWO_SENTENCES)
    findings["translated"] = axe_findings(page)
    for state, (button, element) in STATES.items():
        page.click(button)
        page.wait_for_selector(element)
        findings[state] = axe_findings(page)
        page.keyboard.press("Escape")
    assert not {state: faults for state, faults in findings.items() if faults}


def test_axe_would_find_unnamed_buttons_and_low_contrast(page: Page) -> None:
    write(page, TWO_SENTENCES)
    page.evaluate("""() => {
      document.querySelector('#copy').textContent = '';
      document.documentElement.style.setProperty('--quiet', '#cccccc');
    }""")
    assert {finding.partition(":")[0] for finding in axe_findings(page)} >= {"button-name", "color-contrast"}


def test_the_theme_follows_the_system_until_the_reader_chooses(visitor: Visitor) -> None:
    page = visitor.visit(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.click("#theme")
    expect(page.locator("#theme")).to_have_text("Light")
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == light


def test_the_page_is_small_and_loads_only_from_its_server(visitor: Visitor) -> None:
    page = visitor.page()
    requests: list[Request] = []
    page.on("requestfinished", lambda request: requests.append(request))

    def static_requests() -> list[Request]:
        return [request for request in requests if "/v1/" not in request.url]

    page.goto(visitor.url)
    write(page, TWO_SENTENCES)
    uncompressed = sum(len(response.body()) for request in static_requests() if (response := request.response()))
    assert 0 < uncompressed < MAX_PAGE_BYTES
    assert 0 < sum(request.sizes()["responseBodySize"] for request in static_requests()) < MAX_TRANSFERRED_BYTES
    for view, element in (
        ("attention", "[data-head]"),
        ("tree", ".node"),
        ("positions", "canvas"),
        ("curves", ".curve"),
    ):
        page.click(f"#open-{view}")
        page.wait_for_selector(element)
        page.keyboard.press("Escape")
    compressed = sum(request.sizes()["responseBodySize"] for request in static_requests())
    assert compressed < MAX_WITH_VIEWS
    assert all(request.url.startswith(visitor.url) for request in requests)


def test_a_second_visit_downloads_no_static_file_again(visitor: Visitor) -> None:
    page = visitor.visit()
    write(page, TWO_SENTENCES)
    responses: list[Response] = []
    page.on("response", lambda response: responses.append(response))
    page.reload()
    write(page, TWO_SENTENCES)
    static = [response for response in responses if "/static/" in response.url]
    assert static and all(response.request.sizes()["responseBodySize"] <= 0 for response in static)
