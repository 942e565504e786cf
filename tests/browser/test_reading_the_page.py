"""For everybody: Korean, a phone, the keyboard alone, a screen reader, the dark."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, Response, expect

from .conftest import PHRASES, Visitor, told, whole, write

TWO = "I go home. The cat sleeps."
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
KILOBYTES = 150


def test_a_korean_browser_gets_a_korean_page(visitor: Visitor) -> None:
    page = visitor.visit(locale="ko-KR")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    expect(page.locator("#target-title")).to_have_text("한국어")
    expect(page.locator("#copy")).to_have_text("복사")
    page.click("#language")
    expect(page.locator("#copy")).to_have_text("Copy")
    page.reload()
    expect(page.locator("#copy")).to_have_text("Copy")  # what was chosen is kept
    expect(page.locator("#target-title")).to_have_text("Korean")  # told by the server a moment later


def test_both_languages_have_the_same_words(page: Page) -> None:
    words: Any = page.evaluate("""async () => {
      const module = await import('/static/words.js');
      const shape = (words) => Object.entries(words).flatMap(([key, value]) =>
        typeof value === 'object' ? shape(value).map((inner) => `${key}.${inner}`) : [`${key}:${typeof value}`]);
      const english = shape(module.say());
      module.changeLanguage();
      return [english, shape(module.say())];
    }""")
    assert sorted(words[0]) == sorted(words[1]) and len(words[0]) > 50


def wide(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width


def test_a_phone_shows_all_of_it_without_scrolling_sideways(visitor: Visitor) -> None:
    page = visitor.visit(**PHONE)
    page.fill("#source", TWO)
    whole(page, TWO)
    page.click("#glossary summary")
    upper, lower = page.locator("#source").bounding_box(), page.locator("#result").bounding_box()
    assert upper and lower and upper["y"] + upper["height"] <= lower["y"]
    assert wide(page) <= 360
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")
    assert page.evaluate("document.querySelector('#look').scrollWidth") <= 360
    page.click("#look [data-close]")
    page.click("#mode-document")
    assert wide(page) <= 360


def test_a_finger_hits_every_button(visitor: Visitor) -> None:
    page = visitor.visit(**PHONE)
    write(page, TWO)
    for button in page.locator("button:visible").all():
        box = button.bounding_box()
        assert box and box["height"] >= 40 and box["width"] >= 40, button.evaluate("one => one.outerHTML")


def focused(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.id || document.activeElement.className")
    return found


def test_everything_works_from_the_keyboard(page: Page) -> None:
    expect(page.locator("#model")).to_be_enabled()
    assert focused(page) == "source"
    page.keyboard.type("I like books.")
    page.keyboard.press("Control+Enter")
    whole(page, "I like books.")
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
    assert told(page) != PHRASES["I like books."]
    page.keyboard.press("Alt+a")
    page.wait_for_selector("#stage[data-head]")
    page.keyboard.press("Escape")
    expect(page.locator("#look")).to_be_hidden()
    page.keyboard.press("Alt+x")
    expect(page.locator("#source-title")).to_have_text("Korean")
    page.keyboard.press("Alt+g")
    expect(page.locator("#terms input").first).to_be_focused()
    page.keyboard.press("Alt+m")
    expect(page.locator("#document-mode")).to_be_visible()
    page.locator("#theme").focus()
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()


def test_the_tab_key_reaches_every_button_and_shows_where_it_is(page: Page) -> None:
    write(page, TWO)
    wanted = {"language", "theme", "shortcuts-open", "model", "mode-text", "source", "swap", "copy", "shading"}
    wanted |= {"open-attention", "open-tree", "open-positions", "open-curves", "clear", "mode-document"}
    page.locator("body").evaluate("body => { document.activeElement.blur(); }")
    seen: set[str] = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        name = focused(page)
        seen.add(name)
        if name in wanted - {"source"}:  # the text shows its caret, and its title is underlined
            style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert style == "solid", name
    assert wanted <= seen


def nothing(page: Page) -> None:
    page.wait_for_selector("#result .hint")


def translated(page: Page) -> None:
    write(page, TWO)


def pressed(button: str, awaited: str) -> Callable[[Page], None]:
    """A translation is there, a button pressed, and what it opens is open."""

    def reached(page: Page) -> None:
        write(page, TWO)
        page.click(button)
        page.wait_for_selector(awaited)

    return reached


STATES: dict[str, Callable[[Page], None]] = {
    "empty": nothing,
    "translated": translated,
    "menu": pressed("#result .word", "[role=menuitem]"),
    "terms": pressed("#glossary summary", "#terms input"),
    "document": pressed("#mode-document", "#drop"),
    "keys": pressed("#shortcuts-open", "#shortcut-list"),
    "attention": pressed("#open-attention", "[data-head]"),
    "tree": pressed("#open-tree", ".node"),
    "positions": pressed("#open-positions", "canvas"),
    "curves": pressed("#open-curves", ".curve"),
}


def findings(page: Page) -> list[str]:
    """What axe-core finds serious, or worse."""
    # without its preload axe puts no style of its own into the page, which the security policy would not let it
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_serious(visitor: Visitor, state: str, scheme: str) -> None:
    page = visitor.visit(color_scheme=scheme, locale="ko-KR" if scheme == "dark" else "en-US")
    page.wait_for_selector("#model option", state="attached")
    STATES[state](page)
    page.wait_for_timeout(400)  # colours that fade are judged when they stand
    assert findings(page) == []


def test_axe_would_find_a_button_without_a_name_and_pale_letters(page: Page) -> None:
    write(page, TWO)
    page.evaluate("""() => {
      document.querySelector('#copy').textContent = '';
      document.documentElement.style.setProperty('--quiet', '#cccccc');
    }""")
    assert {one.partition(":")[0] for one in findings(page)} >= {"button-name", "color-contrast"}


def test_dark_follows_the_system_until_the_reader_chooses(visitor: Visitor) -> None:
    page = visitor.visit(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.click("#theme")
    expect(page.locator("#theme")).to_have_text("Light")
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == light


def test_the_page_is_small_and_asks_nobody_else(visitor: Visitor) -> None:
    page = visitor.page()
    requests: list[Request] = []
    page.on("requestfinished", lambda one: requests.append(one))

    def size(packed: bool) -> float:
        """Of all files so far, as they travelled or as they are read."""
        found = [one for one in requests if "/v1/" not in one.url]
        if packed:
            return sum(one.sizes()["responseBodySize"] for one in found)
        return sum(len(answer.body()) for one in found if (answer := one.response()))

    page.goto(visitor.address)
    write(page, TWO)
    assert 0 < size(packed=False) < 1000 * KILOBYTES
    page.click("#open-attention")
    page.wait_for_selector("[data-head]")
    page.keyboard.press("Escape")
    page.click("#open-tree")
    page.wait_for_selector(".node")
    page.keyboard.press("Escape")
    page.click("#open-positions")
    page.wait_for_selector("canvas")
    page.keyboard.press("Escape")
    page.click("#open-curves")
    page.wait_for_selector(".curve")
    assert 0 < size(packed=True) < 1000 * KILOBYTES / 2
    assert all(one.url.startswith(visitor.address) for one in requests)


def test_a_second_visit_takes_nothing_that_is_there(visitor: Visitor) -> None:
    page = visitor.visit()
    write(page, TWO)
    answers: list[Response] = []
    page.on("response", lambda one: answers.append(one))
    page.reload()
    write(page, TWO)
    again = [one.request.sizes()["responseBodySize"] for one in answers if "/static/" in one.url]
    assert again and sum(again) == 0
