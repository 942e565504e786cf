"""The translator page: it shows what the server returns for the current text, and nothing older."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from live_server import wait_for
from tongsa.decoding.glossary import find_phrase

from .conftest import (
    MAX_CHARACTERS,
    PHRASES,
    Post,
    Visitor,
    fail_first_requests,
    translation,
    wait_for_translation,
    write,
)

TWO_SENTENCES = "I go home. The cat sleeps."
UNSEEN = ("Small dog home water.", "Books sleeps we?", "She the go where house.", "Water water reads.", "Is I the?")
"""Texts that were not in the training data: the model is uncertain."""
DETAILS = {"alignments": True, "word_probabilities": True, "nbest": 4, "model": "en-ko"}


def sentences(post: Post, text: str) -> Any:
    return post("/v1/translate", {"text": text, **DETAILS})["translations"][0]["sentences"]


def test_typing_translates_with_few_requests_and_announces_the_result(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/v1/translate") else None)
    page.locator("#source").press_sequentially("I like books.", delay=5)
    wait_for_translation(page, "I like books.")
    assert translation(page) == PHRASES["I like books."]
    expect(page.locator("#live")).to_have_text(PHRASES["I like books."])
    assert 1 <= len(sent) < len("I like books.")
    write(page, "I go home.\n\nThe dog runs.")
    assert translation(page) == "나는 집에 갑니다.\n\n개가 달립니다."


def test_a_late_response_to_an_older_text_is_not_shown(page: Page) -> None:
    delayed: list[Route] = []

    def delay_first(route: Route) -> None:
        if "I go home." in (route.request.post_data or ""):
            delayed.append(route)
        else:
            route.continue_()

    page.route("**/v1/translate", delay_first)
    page.fill("#source", "I go home.")
    page.wait_for_function("() => document.querySelector('#result').getAttribute('aria-busy') === 'true'")
    with page.expect_event("requestfailed"):  # the page cancels the older request
        write(page, "The dog runs.")
    assert delayed and translation(page) == PHRASES["The dog runs."]
    page.wait_for_timeout(300)
    assert translation(page) == PHRASES["The dog runs."]


def linked_words(page: Page, selector: str) -> list[int]:
    indices: list[int] = page.eval_on_selector_all(
        f"{selector}.linked", "words => words.map(word => Number(word.dataset.word)).sort()"
    )
    return indices


def test_pointing_at_a_target_word_highlights_its_source_words(page: Page, post: Post) -> None:
    write(page, TWO_SENTENCES)
    for number, sentence in enumerate(sentences(post, TWO_SENTENCES)):
        links = sentence["alignment"]["links"]
        for target in range(len(sentence["alignment"]["target"])):
            page.hover(f'#result .sentence:nth-child({number + 1}) [data-word="{target}"]')
            assert linked_words(page, "#mirror .source-word") == [i for i, j in links if j == target]


def test_pointing_or_moving_the_caret_in_the_source_highlights_target_words(page: Page, post: Post) -> None:
    text = "😀 The house is small."  # one character for the server, two for JavaScript
    write(page, text)
    alignment = sentences(post, text)[0]["alignment"]
    assert alignment["links"]
    for source, (start, end) in enumerate(alignment["source"]):
        word = page.locator(f'#mirror .source-word[data-word="{source}"]')
        assert word.inner_text() == text[start:end]
        box = word.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert linked_words(page, "#result .word") == [j for i, j in alignment["links"] if i == source]
    page.mouse.move(1, 1)
    page.focus("#source")
    page.keyboard.press("Control+Home")
    page.wait_for_selector("#mirror .selected")
    assert linked_words(page, "#result .word") == [j for i, j in alignment["links"] if i == 0]


def test_uncertain_words_are_marked_by_their_probability(page: Page, post: Post) -> None:
    by_text = {text: [word["probability"] for word in sentences(post, text)[0]["words"]] for text in UNSEEN}
    text, probabilities = min(by_text.items(), key=lambda item: min(item[1]))
    assert min(probabilities) < 0.7
    write(page, text)
    levels = [0 if p >= 0.7 else 1 if p >= 0.5 else 2 if p >= 0.3 else 3 for p in probabilities]
    classes = page.eval_on_selector_all("#result .word", "words => words.map(word => word.className)")
    assert [int("".join(filter(str.isdigit, name)) or 0) for name in classes] == levels
    marked = page.locator("#result .word").nth(levels.index(max(levels)))
    expect(marked).to_have_css("text-decoration-line", "underline")
    page.uncheck("#shading")
    expect(marked).to_have_css("text-decoration-line", "none")


def test_another_translation_of_a_sentence_can_be_chosen(page: Page, post: Post) -> None:
    write(page, TWO_SENTENCES)
    second = sentences(post, TWO_SENTENCES)[1]
    page.locator("#result .sentence").nth(1).locator(".word").first.focus()
    expect(page.locator("#alternatives-which")).to_have_text("Sentence 2 of 2")
    texts = [alternative["text"] for alternative in second["alternatives"] if alternative["text"] != second["text"]]
    assert texts
    expect(page.locator("#alternatives-list button")).to_have_text(texts)
    page.locator("#alternatives-list button").first.click()
    assert translation(page) == f"나는 집에 갑니다. {texts[0]}"
    expect(page.locator("#alternatives-list button").first).to_contain_text(second["text"])
    page.locator("#alternatives-list button").first.click()
    expect(page.locator("#result .sentence").nth(1)).to_have_text(second["text"])


def test_a_word_offers_other_continuations(page: Page, post: Post) -> None:
    write(page, "I like books.")
    page.locator("#result .word").nth(1).click()
    page.wait_for_selector("#menu [role=menuitem]")
    request = {"text": "I like books.", "prefix": "나는 ", "model": "en-ko"}
    texts = [alternative["text"] for alternative in post("/v1/alternatives", request)["alternatives"]]
    offered = page.eval_on_selector_all("#menu [role=menuitem]", "items => items.map(item => item.title)")
    assert offered == [text for text in texts if text != PHRASES["I like books."]] and offered
    page.keyboard.press("Enter")
    assert translation(page) == offered[0] and offered[0].startswith("나는 ")
    page.wait_for_selector("#mirror .source-word")
    write(page, "I like books. ")
    assert translation(page) == offered[0], "the choice is lost when the text changes"


def test_words_that_the_model_has_not_seen_are_named(page: Page) -> None:
    write(page, "I go home. Quokkas go home.")
    expect(page.locator("#sentence-note")).to_contain_text("Not in the training data: Quokkas.")
    expect(page.locator("#result .sentence.warned")).to_have_text(translation(page).split("니다. ", 1)[1])
    page.click("#language")
    expect(page.locator("#sentence-note")).to_contain_text("학습 데이터에 없는 단어: Quokkas.")
    expect(page.locator("#review")).to_have_text("2문장 중 1문장 확인 필요")


def test_glossary_terms_are_used_and_reported(page: Page) -> None:
    write(page, "I go home.")
    page.click("#glossary summary")
    page.get_by_label("Source term").fill("home")
    page.get_by_label("Target term").fill("책을")
    page.keyboard.press("Tab")
    expect(page.locator("#terms .term-status")).to_have_text("applied")
    assert "책을" in translation(page)
    page.locator("#result .word").first.click()
    items = page.locator("#menu [role=menuitem]")
    expect(items.first).to_be_visible()
    has_term = [bool(find_phrase(item.get_attribute("title") or "", "책을")) for item in items.all()]
    assert any(has_term), "other continuations have the term too"
    assert has_term == ["not applied: 책을" not in item.inner_text() for item in items.all()]
    page.keyboard.press("Escape")
    page.get_by_label("Remove this term").click()
    expect(page.locator("#result")).to_have_text(PHRASES["I go home."])


def test_swapping_the_languages_translates_back(page: Page) -> None:
    write(page, "The house is small.")
    page.click("#swap")
    wait_for_translation(page, PHRASES["The house is small."])
    assert translation(page) == "The house is small."
    expect(page.locator("#source-title")).to_have_text("Korean")
    expect(page.locator("#model")).to_have_value("ko-en")


def test_the_translation_can_be_copied(visitor: Visitor) -> None:
    page = visitor.visit(permissions=["clipboard-read", "clipboard-write"])
    write(page, TWO_SENTENCES)
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "나는 집에 갑니다. 고양이가 잡니다."


def test_markup_in_the_text_stays_text(page: Page) -> None:
    markup = "<img src=x onerror=document.title='broken'> I go home."
    write(page, markup)
    assert page.locator("#mirror img, #result img").count() == 0
    assert page.title() == "tongsa" and markup in page.locator("#mirror").inner_text()


def test_a_text_above_the_limit_can_be_translated_as_a_document(page: Page) -> None:
    write(page, "I go home.")
    page.fill("#source", "I go home. " * (MAX_CHARACTERS // 10))
    expect(page.locator("#notice-text")).to_contain_text(f"at most {MAX_CHARACTERS} here")
    assert "over-limit" in (page.locator("#count").get_attribute("class") or "")
    expect(page.locator("#copy")).to_be_disabled()
    page.click("#notice-action")
    expect(page.locator("#document-count")).to_have_text(f"{MAX_CHARACTERS // 10} sentences · done")
    page.click("#mode-text")
    write(page, "I go home.")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_busy_server_is_reported_and_retried(visitor: Visitor) -> None:
    page = visitor.visit()
    rejected: list[str] = []

    def reject_once(route: Route) -> None:
        if rejected:
            route.continue_()
            return
        rejected.append(route.request.url)
        route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "Too many at once.", "code": "too_many"})

    page.route("**/v1/translate", reject_once)
    page.fill("#source", "I go home.")
    expect(page.locator("#notice-text")).to_have_text("Too many requests at once.")
    expect(page.locator("#notice-countdown")).to_have_text("Trying again in 1 s.")
    wait_for_translation(page, "I go home.")
    assert translation(page) == PHRASES["I go home."]
    expect(page.locator("#notice")).to_be_hidden()
    visitor.console_errors.clear()


@pytest.mark.slow
def test_after_repeated_failures_only_the_button_retries(page: Page) -> None:
    bodies = fail_first_requests(page, "failed", count=4)
    page.fill("#source", "I go home.")
    expect(page.locator("#notice-text")).to_have_text("The server could not translate this.")

    def has_given_up() -> bool:
        page.wait_for_timeout(100)  # the requests of the page are answered meanwhile
        return len(bodies) == 4

    wait_for(has_given_up)
    expect(page.locator("#notice-countdown")).to_have_text("")
    page.click("#retry")
    wait_for_translation(page, "I go home.")
    assert translation(page) == PHRASES["I go home."]


def test_a_text_typed_while_models_load_is_translated_when_they_are_ready(visitor: Visitor) -> None:
    page = visitor.page()
    probes: list[str] = []

    def not_ready_twice(route: Route) -> None:
        probes.append(route.request.url)
        if len(probes) > 2:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "loading", "code": "busy"})

    page.route("**/readyz", not_ready_twice)
    page.goto(visitor.url)
    expect(page.locator("#notice-text")).to_contain_text("The model is being loaded")
    page.fill("#source", "The dog runs.")
    wait_for_translation(page, "The dog runs.")
    assert translation(page) == PHRASES["The dog runs."] and len(probes) == 3
    visitor.console_errors.clear()


def test_the_page_asks_for_an_api_key_and_sends_it(visitor: Visitor) -> None:
    page = visitor.visit()

    def require_key(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer sesame":
            route.continue_()
        else:
            route.fulfill(status=401, json={"error": "No API key.", "code": "no_key"})

    page.route("**/v1/translate", require_key)
    page.fill("#source", "I go home.")
    page.get_by_label("API key").fill("sesame")
    page.keyboard.press("Enter")
    wait_for_translation(page, "I go home.")
    visitor.console_errors.clear()
