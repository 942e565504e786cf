"""Somebody types: what they see is what the server says, and never what it said before."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from .conftest import CHARACTERS, PHRASES, Ask, Visitor, failing, told, whole, write

TWO = "I go home. The cat sleeps."
STRANGE = ("Small dog home water.", "Books sleeps we?", "She the go where house.", "Water water reads.", "Is I the?")
"""Never seen: the model is in doubt."""
DETAILS = {"alignments": True, "word_probabilities": True, "nbest": 4, "model": "there"}


def sentences(ask: Ask, text: str, **more: Any) -> Any:
    return ask("/v1/translate", {"text": text, **DETAILS, **more})["translations"][0]["sentences"]


@pytest.mark.parametrize("english", ["I go home.", "Where is the house?"])
def test_typing_gives_a_translation_and_tells_it_to_a_screen_reader(page: Page, english: str) -> None:
    page.locator("#source").press_sequentially(english, delay=10)
    whole(page, english)
    assert told(page) == PHRASES[english]
    expect(page.locator("#live")).to_have_text(PHRASES[english])


def test_line_breaks_stay_between_sentences(page: Page) -> None:
    write(page, "I go home.\n\nThe dog runs.")
    assert told(page) == "나는 집에 갑니다.\n\n개가 달립니다."


def test_not_every_key_is_a_request(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/v1/translate") else None)
    page.locator("#source").press_sequentially("I like books.", delay=5)
    whole(page, "I like books.")
    assert 1 <= len(sent) < len("I like books.")


def test_a_late_answer_to_what_was_typed_before_is_not_shown(page: Page) -> None:
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if "I go home." in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/translate", hold_the_first)
    page.fill("#source", "I go home.")
    page.wait_for_function("() => document.querySelector('#result').getAttribute('aria-busy') === 'true'")
    with page.expect_event("requestfailed"):  # what is stale is given up
        write(page, "The dog runs.")
    assert held and told(page) == PHRASES["The dog runs."]
    page.wait_for_timeout(300)
    assert told(page) == PHRASES["The dog runs."]


def lit(page: Page, where: str) -> list[int]:
    found: list[int] = page.eval_on_selector_all(
        f"{where}.lit", "found => found.map(one => Number(one.dataset.word)).sort()"
    )
    return found


def test_pointing_at_a_word_lights_what_the_server_links_to_it(page: Page, ask: Ask) -> None:
    write(page, TWO)
    for number, sentence in enumerate(sentences(ask, TWO)):
        for target in range(len(sentence["alignment"]["target"])):
            page.hover(f'#result .word[data-sentence="{number}"][data-word="{target}"]')
            assert lit(page, "#mirror .source-word") == [i for i, j in sentence["alignment"]["links"] if j == target]


def test_pointing_at_the_text_lights_its_translation(page: Page, ask: Ask) -> None:
    text = "😀 The house is small."  # one character for the server, two for JavaScript
    write(page, text)
    alignment = sentences(ask, text)[0]["alignment"]
    assert alignment["links"]
    for source, (start, end) in enumerate(alignment["source"]):
        word = page.locator(f'#mirror .source-word[data-word="{source}"]')
        assert word.inner_text() == text[start:end]
        box = word.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert lit(page, "#result .word") == [j for i, j in alignment["links"] if i == source]


def test_the_caret_lights_its_word_too(page: Page, ask: Ask) -> None:
    write(page, "I go home.")
    page.focus("#source")
    page.keyboard.press("Control+Home")
    links = sentences(ask, "I go home.")[0]["alignment"]["links"]
    page.wait_for_selector("#mirror .pointed")
    assert lit(page, "#result .word") == [j for i, j in links if i == 0]


def test_doubtful_words_are_shaded_by_their_probability(page: Page, ask: Ask) -> None:
    found = {text: [word["probability"] for word in sentences(ask, text)[0]["words"]] for text in STRANGE}
    text, probabilities = min(found.items(), key=lambda one: min(one[1]))
    assert min(probabilities) < 0.7
    write(page, text)
    deep = [0 if p >= 0.7 else 1 if p >= 0.5 else 2 if p >= 0.3 else 3 for p in probabilities]
    classes = page.eval_on_selector_all("#result .word", "all => all.map(one => one.className)")
    assert [int("".join(filter(str.isdigit, name)) or 0) for name in classes] == deep
    shaded = page.locator("#result .word").nth(deep.index(max(deep)))
    expect(shaded).to_have_css("text-decoration-line", "underline")
    page.uncheck("#shading")
    expect(shaded).to_have_css("text-decoration-line", "none")


def test_other_translations_of_a_sentence_can_be_taken(page: Page, ask: Ask) -> None:
    write(page, TWO)
    second = sentences(ask, TWO)[1]
    page.hover('#result .word[data-sentence="1"] >> nth=0')
    expect(page.locator("#alternatives-which")).to_have_text("Sentence 2 of 2")
    others = [one["text"] for one in second["alternatives"] if one["text"] != second["text"]]
    assert others and page.locator("#alternatives-list button").all_inner_texts() == others
    page.locator("#alternatives-list button").first.click()
    assert told(page) == f"나는 집에 갑니다. {others[0]}"
    expect(page.locator("#alternatives-list button").first).to_have_text(second["text"])


def test_a_word_offers_other_ways_to_go_on(page: Page, ask: Ask) -> None:
    write(page, "I like books.")
    page.locator("#result .word").nth(1).click()
    page.wait_for_selector("#menu [role=menuitem]")
    asked = {"text": "I like books.", "prefix": "나는 ", "model": "there"}
    ways = [one["text"] for one in ask("/v1/alternatives", asked)["alternatives"]]
    offered = page.eval_on_selector_all("#menu [role=menuitem]", "all => all.map(one => one.title)")
    assert offered == [way for way in ways if way != PHRASES["I like books."]] and offered
    page.keyboard.press("Enter")
    assert told(page) == offered[0] and offered[0].startswith("나는 ")
    page.wait_for_selector("#mirror .source-word")
    write(page, "I like books. ")
    assert told(page) == offered[0]  # what was chosen stays while the rest is written


def test_a_term_is_used_and_said_to_be(page: Page) -> None:
    write(page, "I go home.")
    page.click("#glossary summary")
    page.get_by_label("In the source").fill("home")
    page.get_by_label("In the translation").fill("책을")
    page.keyboard.press("Tab")
    expect(page.locator("#terms .met")).to_have_text("used")
    assert "책을" in told(page)
    page.get_by_label("Remove this term").click()
    expect(page.locator("#result")).to_have_text(PHRASES["I go home."])


def test_a_word_offers_other_ways_beside_a_term_too(page: Page) -> None:
    page.click("#glossary summary")
    page.get_by_label("In the source").fill("books")
    page.get_by_label("In the translation").fill("책을")
    page.keyboard.press("Tab")
    write(page, "I like books.")
    expect(page.locator("#terms .met")).to_have_text("used")
    page.locator("#result .word").nth(1).click()
    expect(page.locator("#menu [role=menuitem]").first).to_be_visible()


def test_swapping_translates_back(page: Page) -> None:
    write(page, "The house is small.")
    page.click("#swap")
    whole(page, PHRASES["The house is small."])
    assert told(page) == "The house is small."
    expect(page.locator("#source-title")).to_have_text("Korean")
    expect(page.locator("#model")).to_have_value("back")


def test_the_translation_can_be_copied(visitor: Visitor) -> None:
    page = visitor.visit(permissions=["clipboard-read", "clipboard-write"])
    write(page, TWO)
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "나는 집에 갑니다. 고양이가 잡니다."


def test_markup_stays_text(page: Page) -> None:
    hostile = "<img src=x onerror=document.title='broken'> I go home."
    write(page, hostile)
    assert page.locator("#mirror img, #result img").count() == 0
    assert page.title() == "tongsa" and hostile in page.locator("#mirror").inner_text()


def test_too_long_a_text_is_refused_in_the_servers_own_words(visitor: Visitor) -> None:
    page = visitor.visit()
    with page.expect_response("**/v1/translate") as answer:
        page.fill("#source", "I go home. " * (CHARACTERS // 10))
    assert answer.value.status == 413
    expect(page.locator("#notice")).to_contain_text(answer.value.json()["error"])
    assert "over" in (page.locator("#count").get_attribute("class") or "")
    write(page, "I go home.")
    expect(page.locator("#notice")).to_be_hidden()
    assert all("413" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


def test_when_the_server_is_busy_the_page_says_so_and_comes_again(visitor: Visitor) -> None:
    page = visitor.visit()
    refused: list[str] = []

    def busy_once(route: Route) -> None:
        if refused:
            route.continue_()
            return
        refused.append(route.request.url)
        route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "Too many at once.", "code": "too_many"})

    page.route("**/v1/translate", busy_once)
    page.fill("#source", "I go home.")
    expect(page.locator("#notice-text")).to_have_text("Too many at once. Trying again in 1 s.")
    whole(page, "I go home.")
    assert told(page) == PHRASES["I go home."]
    expect(page.locator("#notice")).to_be_hidden()
    visitor.complaints.clear()


def test_a_text_that_fails_again_and_again_is_sent_no_more_until_the_reader_says_so(page: Page) -> None:
    sent = failing(page, "failed", times=4)
    page.fill("#source", "I go home.")
    expect(page.locator("#notice-text")).to_contain_text("Trying again")
    expect(page.locator("#notice-text")).to_have_text("it failed", timeout=30_000)
    assert len(sent) == 4
    page.click("#retry")
    whole(page, "I go home.")
    assert told(page) == PHRASES["I go home."]


def test_while_the_model_is_loaded_one_can_write_already(visitor: Visitor) -> None:
    page = visitor.page()
    asked: list[str] = []

    def not_yet(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 2:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "loading", "code": "loading"})

    page.route("**/readyz", not_yet)
    page.goto(visitor.address)
    expect(page.locator("#notice-text")).to_contain_text("The model is being loaded")
    page.fill("#source", "The dog runs.")
    whole(page, "The dog runs.")
    assert told(page) == PHRASES["The dog runs."] and len(asked) == 3
    visitor.complaints.clear()


def test_a_key_is_asked_for_and_sent(visitor: Visitor) -> None:
    page = visitor.visit()

    def locked(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer sesame":
            route.continue_()
        else:
            route.fulfill(status=401, json={"error": "an API key is needed", "code": "no_key"})

    page.route("**/v1/translate", locked)
    page.fill("#source", "I go home.")
    page.get_by_label("API key").fill("sesame")
    page.keyboard.press("Enter")
    whole(page, "I go home.")
    visitor.complaints.clear()
