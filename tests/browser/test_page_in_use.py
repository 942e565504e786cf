"""The page as people use it: long texts, steady typing, phones, a server that fails, reloads, links, corrections."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from live_server import LiveServer, wait_for

from .conftest import PHRASES, Visitor, translation, wait_for_translation, write

TWO_SENTENCES = "I go home. The cat sleeps."
FORTY_LINES = "\n".join(["I go."] * 39 + ["The end"])


def sent_texts(page: Page) -> list[str]:
    """Return the list of texts that the page will have sent for translation."""
    texts: list[str] = []

    def add(request: Any) -> None:
        if request.url.endswith("/v1/translate"):
            body = json.loads(request.post_data)
            if "nbest" not in body:  # those are other translations of the active sentence
                texts.append(body["text"])

    page.on("request", add)
    return texts


def test_a_long_text_is_scrolled_to_its_end_by_the_wheel_and_follows_the_caret(page: Page) -> None:
    write(page, FORTY_LINES)
    page.evaluate("document.querySelector('#writing').scrollTop = 0")
    page.hover("#source")
    page.mouse.wheel(0, 10_000)
    visible = """() => {
      const pane = document.querySelector('#writing'), area = document.querySelector('#source');
      const range = document.createRange(), mirror = document.querySelector('#mirror');
      range.selectNodeContents(mirror);
      const last = [...range.getClientRects()].at(-1), outer = pane.getBoundingClientRect();
      return pane.scrollTop > 0 && area.scrollHeight <= area.clientHeight + 1 && area.scrollTop === 0
        && last.bottom <= outer.bottom + 1 && Math.abs(area.offsetHeight - mirror.offsetHeight) <= 1;
    }"""
    page.wait_for_function(visible)
    page.evaluate("document.querySelector('#writing').scrollTop = 0")
    page.focus("#source")
    page.keyboard.press("Control+End")
    page.keyboard.type(".")
    page.wait_for_function(visible)


def test_one_key_in_a_long_text_sends_one_sentence_and_moves_nothing(page: Page) -> None:
    write(page, FORTY_LINES)
    texts = sent_texts(page)
    page.evaluate("""() => {
      const result = document.querySelector('#result');
      result.scrollTop = 400;
      window.first = document.querySelector('#translation').children[20];
    }""")
    page.focus("#source")
    page.keyboard.press("Control+End")
    page.keyboard.type("s")
    wait_for_translation(page, FORTY_LINES + "s")
    assert texts == ["The ends"]
    assert page.evaluate("window.first === document.querySelector('#translation').children[20]")
    assert page.evaluate("document.querySelector('#result').scrollTop") >= 400


def test_steady_typing_is_translated_while_it_goes_on(page: Page) -> None:
    expect(page.locator("#model")).to_be_enabled()
    texts = sent_texts(page)
    page.locator("#source").press_sequentially("I go home and the cat sleeps and I like books", delay=40)
    assert len(texts) >= 3 and all("I go home".startswith(text[:9].strip()) for text in texts)


def test_after_an_error_the_earlier_translation_is_marked_and_cannot_be_copied(visitor: Visitor) -> None:
    page = visitor.visit()
    write(page, TWO_SENTENCES)
    page.route("**/v1/translate", lambda route: route.abort())
    page.evaluate("""() => {
      window.changes = 0;
      const count = () => { window.changes += 1; };
      const options = { childList: true, characterData: true, subtree: true };
      new MutationObserver(count).observe(document.querySelector('#notice-text'), options);
      window.top1 = document.querySelector('.panes').getBoundingClientRect().top;
    }""")
    page.fill("#source", "I go home. The cat sleeps now.")
    expect(page.locator("#notice-text")).to_have_text("The server isn't responding. Check that it is running.")
    expect(page.locator("#stale")).to_be_visible()
    expect(page.locator("#copy")).to_be_disabled()
    expect(page.locator("#result .pending")).to_have_text(PHRASES["The cat sleeps."])
    expect(page.locator("#notice-countdown")).to_have_text("Trying again in 1 s.")
    expect(page.locator("#notice-countdown")).to_have_text("Trying again in 4 s.")  # after a retry that failed too
    assert page.evaluate(
        "[window.changes, document.querySelector('.panes').getBoundingClientRect().top === window.top1]"
    ) == [1, True]
    page.unroute("**/v1/translate")
    page.click("#retry")
    wait_for_translation(page, "I go home. The cat sleeps now.")
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#stale")).to_be_hidden()
    visitor.console_errors.clear()


def test_pointing_lights_words_and_only_a_click_or_the_focus_selects_a_sentence(page: Page) -> None:
    write(page, TWO_SENTENCES)
    page.locator("#result .sentence").nth(0).locator(".word").first.click()
    page.keyboard.press("Escape")
    expect(page.locator("#look-which")).to_have_text("Sentence 1 of 2")
    page.locator("#result .sentence").nth(1).locator(".word").first.hover()
    expect(page.locator("#look-which")).to_have_text("Sentence 1 of 2")
    page.click("#open-attention")
    expect(page.locator("#texts .translation")).to_have_text(PHRASES["I go home."])


def test_a_translation_is_read_as_text_and_only_the_focused_word_is_a_button(page: Page) -> None:
    write(page, TWO_SENTENCES)
    assert page.locator("#result [role=button]").count() == 0
    page.keyboard.press("Alt+2")
    assert page.locator("#result [role=button]").all_inner_texts() == ["나는"]
    page.focus("#source")
    assert page.locator("#result [role=button]").count() == 0


def test_the_text_survives_clear_and_reload_and_a_link_opens_it(page: Page, visitor: Visitor) -> None:
    write(page, TWO_SENTENCES)
    page.click("#clear")
    expect(page.locator("#source")).to_have_value("")
    page.keyboard.press("Control+z")
    wait_for_translation(page, TWO_SENTENCES)
    page.click("#clear")
    page.click("#clear")  # now it is Undo
    wait_for_translation(page, TWO_SENTENCES)
    page.reload()
    wait_for_translation(page, TWO_SENTENCES)
    page.select_option("#model", "ko-en")
    text = "나는 집에 갑니다. <img src=x onerror=document.title='broken'>"
    write(page, text)
    page.click("#share")
    other = visitor.page()
    other.goto(page.url)
    wait_for_translation(other, text)
    expect(other.locator("#model")).to_have_value("ko-en")
    assert other.title() == "tongsa" and other.locator("img").count() == 0


def test_the_history_is_kept_only_on_request(page: Page) -> None:
    write(page, "I go home.")
    page.click("#history-open")
    expect(page.locator("#history-list")).to_have_text("No texts yet.")
    page.check("#history-keep")
    page.keyboard.press("Escape")
    write(page, "The dog runs.")
    page.wait_for_function("() => (localStorage.getItem('tongsa.history') || '').includes('The dog runs.')")
    page.fill("#source", "")
    page.click("#history-open")
    page.click("#history-list button")
    wait_for_translation(page, "The dog runs.")
    page.click("#history-open")
    page.uncheck("#history-keep")
    assert page.evaluate("localStorage.getItem('tongsa.history')") is None


def test_a_correction_replaces_the_translation_and_is_stored_as_a_pair(page: Page, server: LiveServer) -> None:
    write(page, TWO_SENTENCES)
    page.locator("#result .sentence").nth(1).locator(".word").first.focus()
    page.click("#edit")
    page.fill("#editor-text", "고양이가 자요.")
    page.click("#editor-save")
    expect(page.locator("#result .sentence.chosen")).to_have_text("고양이가 자요.")
    expect(page.locator("#notice-text")).to_have_text("Correction saved on this server.")
    file = Path(server.context.config.corrections) / "en-ko.tsv"
    assert file.read_text("utf-8").endswith("The cat sleeps.\t고양이가 자요.\n")


def test_a_language_hint_offers_the_model_that_reads_the_text(page: Page) -> None:
    page.fill("#source", "나는 책을 좋아합니다. 우리는 물을 마십니다.")
    page.get_by_role("button", name="Use ko-en").click()
    wait_for_translation(page, "나는 책을 좋아합니다. 우리는 물을 마십니다.")
    assert translation(page) == "I like books. We drink water."
    expect(page.locator("#language-hint")).to_be_hidden()


def test_examples_of_the_model_can_be_tried(page: Page) -> None:
    expect(page.locator("#known")).to_contain_text("Trained on 8 pairs · BLEU")
    first = page.locator("#example-list button").first
    text = first.inner_text()
    first.click()
    wait_for_translation(page, text)
    assert translation(page) == PHRASES[text]
    expect(page.locator("#examples")).to_be_hidden()


def test_the_request_panel_shows_what_was_asked(page: Page, server: LiveServer) -> None:
    write(page, "I go home.")
    page.click("#request-open")
    expect(page.locator("#request-curl")).to_contain_text('"text":"I go home."')
    expect(page.locator("#request-python")).to_contain_text(f'"{server.url}/v1/translate"')


def test_document_mode_gives_way_to_a_model_that_does_not_translate(page: Page) -> None:
    page.click("#mode-document")
    expect(page.locator("#drop")).to_be_visible()
    page.select_option("#model", "classifier")
    expect(page.locator("#drop")).to_be_hidden()
    expect(page.locator("#source")).to_be_visible()
    for element in ("#switch", "#swap", "#glossary"):
        expect(page.locator(element)).to_be_hidden()


def test_a_language_model_continues_the_text(page: Page) -> None:
    expect(page.locator("#model")).to_be_enabled()
    page.select_option("#model", "transformer_lm")
    page.fill("#source", "a b")
    expect(page.locator("#next-tokens li")).to_have_count(10)
    page.click("#continue-button")
    page.wait_for_function(
        "() => document.querySelector('#source').value.startsWith('a b')"
        " && document.querySelector('#source').value.length > 3"
    )


def test_swap_without_a_model_says_why(visitor: Visitor) -> None:
    page = visitor.page()

    def only_one(route: Route) -> None:
        body = route.fetch().json()
        route.fulfill(json=body | {"models": body["models"][:1]})

    page.route("**/v1/models", only_one)
    page.goto(visitor.url)
    page.wait_for_selector("#swap[aria-disabled=true]")
    page.locator("#swap").press("Enter")
    expect(page.locator("#notice-text")).to_have_text("This server has no model for Korean → English.")


@pytest.mark.parametrize("locale", ["en-US", "ko-KR"])
def test_no_label_is_broken_at_any_width(visitor: Visitor, locale: str) -> None:
    page = visitor.visit(locale=locale)
    write(page, "I go home. Quokkas go home.")
    broken = """() => [...document.querySelectorAll('button, label, h2, select, summary')].filter((node) => {
      if (!node.offsetParent || node.closest('#alternatives-list, #example-list')) return false;
      const range = document.createRange();
      range.selectNodeContents(node);
      const style = getComputedStyle(node), line = parseFloat(style.lineHeight) || 1.5 * parseFloat(style.fontSize);
      return range.getBoundingClientRect().height >= 1.6 * line && !node.querySelector('input, select, svg');
    }).map((node) => node.outerHTML.slice(0, 90))"""
    for width in (360, 390, 440, 820, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        for mode in ("text", "document"):
            page.click(f"#mode-{mode}")
            assert page.evaluate(broken) == [], f"{width} px, {mode}"
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{width} px, {mode}"


def test_closed_dialogs_leave_no_listeners(page: Page) -> None:
    write(page, TWO_SENTENCES)
    session = page.context.new_cdp_session(page)

    def open_and_close(times: int) -> None:
        for _ in range(times):
            page.click("#open-attention")
            page.locator("#stage[data-head]").wait_for()  # wait_for_selector would keep the element alive
            page.keyboard.press("Escape")
            page.locator("#view").wait_for(state="hidden")

    def listeners_and_nodes() -> tuple[float, float]:
        session.send("HeapProfiler.collectGarbage")
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        return metrics["JSEventListeners"], metrics["Nodes"]

    session.send("Performance.enable")
    open_and_close(2)
    listeners, nodes = listeners_and_nodes()
    open_and_close(10)

    def are_freed() -> bool:  # some time after the collection
        later_listeners, later_nodes = listeners_and_nodes()
        return later_listeners <= listeners + 5 and later_nodes <= nodes + 100

    wait_for(are_freed)
