"""The server's page with models whose names, labels, languages, examples and outputs are markup: it stays text.

The pages that are files have tests of their own.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from export.bundles import random_bundle, save_run
from live_server import LiveServer, live_server
from tiny import CONFIGS, write_pairs
from tongsa.bundle import load_bundle
from tongsa.data.model_summary import ModelSummary
from tongsa.runs import train
from tongsa.tokenization.labels import LabelTokenizer

from .conftest import SETTINGS, Visitor, wait_for_translation

MARKUP = "<img src=x onerror=hacked=1>"
"""Such a text is written wherever a model may bring one. A path cannot contain a slash, so it has none."""
SCRIPT = "</textarea></script><script>window.hacked=1</script>"
PAIRS = [("I go home.", f"{MARKUP} {SCRIPT}"), (f"{MARKUP} sleeps.", f"<b>{MARKUP}</b>")]
FOREIGN_ELEMENTS = """() => {
  const foreign = [], search = root => {
    foreign.push(...root.querySelectorAll('img, iframe, script:not([src^="/static/"]), [onerror]'));
    for (const element of root.querySelectorAll('*')) if (element.shadowRoot) search(element.shadowRoot);
  };
  search(document);
  return foreign.map(element => element.outerHTML.slice(0, 100));
}"""
"""Elements that no page of tongsa has."""


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("hostile")
    file = write_pairs(folder / "pairs.tsv", PAIRS)
    train(run=folder / "run", data=file, dev=file, settings=SETTINGS, quiet=True)
    summary = ModelSummary(training_pairs=2, metric=SCRIPT, score=1.0, examples=(MARKUP, SCRIPT), control_tags=("<b>",))
    labels = LabelTokenizer([MARKUP, SCRIPT])
    classifier = random_bundle("structured_self_attention", CONFIGS["structured_self_attention"], target=labels)
    bundles = {MARKUP: load_bundle(folder / "run"), f"{MARKUP}, labels": classifier}
    runs = [
        save_run(
            folder / name,
            replace(bundle, summary=summary, source_language=MARKUP, target_language=f"<b>{MARKUP}"),
        )
        for name, bundle in bundles.items()
    ]
    with live_server(*runs, engine="torch", output_checks=True) as running:
        yield running


@pytest.fixture
def hostile(browser: Browser, hostile_server: LiveServer) -> Iterator[Visitor]:
    visitor = Visitor(browser, hostile_server.url)
    yield visitor
    visitor.close()
    assert not visitor.console_errors  # the security policy reports what it had to stop


def assert_no_markup(page: Page) -> None:
    assert page.evaluate(FOREIGN_ELEMENTS) == []
    assert page.evaluate("window.hacked") is None


def open_view(page: Page, name: str, ready: str) -> None:
    page.click(f"#open-{name}")
    page.wait_for_selector(ready)
    assert_no_markup(page)
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()


def test_outputs_names_languages_and_examples_stay_text_in_every_view(hostile: Visitor) -> None:
    page = hostile.visit()
    expect(page.locator("#model option").first).to_contain_text(MARKUP)
    expect(page.locator("#example-list")).to_contain_text(MARKUP)
    expect(page.locator("#source-title")).to_contain_text("<img")
    assert_no_markup(page)
    page.fill("#source", f"I go home. {MARKUP} sleeps.")
    wait_for_translation(page, f"I go home. {MARKUP} sleeps.")
    expect(page.locator("#result")).to_contain_text("<script>window.hacked=1")
    expect(page.locator("#alternatives-list li").first).to_be_visible()
    assert_no_markup(page)
    open_view(page, "attention", "#stage[data-head]")
    open_view(page, "tree", ".node.best.finished")
    open_view(page, "trace", "#view .token")
    open_view(page, "positions", ".plots h2")
    page.locator("#result .word").first.click()  # other continuations
    page.wait_for_selector("#menu:visible [role=menuitem]")
    assert_no_markup(page)
    page.keyboard.press("Escape")


def test_a_glossary_a_request_a_history_and_a_file_stay_text(hostile: Visitor) -> None:
    page = hostile.visit()
    page.click("#history-open")
    page.check("#history-keep")
    page.keyboard.press("Escape")
    page.locator("#glossary summary").click()
    page.click("#add-term")
    source, target = page.locator("#terms input").all()[:2]
    source.fill("home")
    target.fill(MARKUP)
    page.fill("#source", f"I go home. {SCRIPT}")
    wait_for_translation(page, f"I go home. {SCRIPT}")
    page.click("#request-open")
    expect(page.locator("#request-curl")).to_contain_text(MARKUP)
    assert_no_markup(page)
    page.keyboard.press("Escape")
    page.wait_for_function("() => (localStorage.getItem('tongsa.history') || '').includes('</textarea>')")
    page.reload()
    page.click("#history-open")
    expect(page.locator("#history-list li").first).to_contain_text("</textarea>")
    assert_no_markup(page)
    page.keyboard.press("Escape")
    page.click("#mode-document")
    content = f"{MARKUP}\n{SCRIPT}\n".encode()
    page.set_input_files("#file", {"name": f"{MARKUP}.txt", "mimeType": "text/plain", "buffer": content})
    expect(page.locator("#document-name")).to_contain_text(MARKUP)
    expect(page.locator("#document-count")).to_contain_text("done")
    assert_no_markup(page)


def test_labels_stay_text(hostile: Visitor) -> None:
    page = hostile.visit()
    page.select_option("#model", f"{MARKUP}, labels")
    page.fill("#source", "a b c")
    expect(page.locator("#answer .labels li")).to_have_count(2)
    expect(page.locator("#answer .labels")).to_contain_text(MARKUP)
    expect(page.locator("#answer .labels")).to_contain_text("<script>")
    open_view(page, "attention", "#stage[data-head]")
    open_view(page, "trace", "#view .token")


def test_an_error_that_quotes_a_request_is_no_html(hostile: Visitor, hostile_server: LiveServer) -> None:
    for path in ("/v1/translate", f"/{MARKUP}", f"/static/{MARKUP}", "/v1/attention"):
        response = hostile_server.post(path, {"text": MARKUP, "model": SCRIPT, MARKUP: 1})
        assert response.status_code in (404, 405, 422)
        assert "html" not in response.headers["content-type"]
        assert response.headers["x-content-type-options"] == "nosniff"
    page = hostile.page()
    page.goto(f"{hostile_server.url}/?model={SCRIPT}&look={MARKUP}#text={MARKUP}")
    expect(page.locator("#model")).to_be_enabled()
    assert_no_markup(page)
    page.evaluate("document.body.attachShadow({ mode: 'open' }).append(document.createElement('img'))")
    assert page.evaluate(FOREIGN_ELEMENTS) == ["<img>"], "the search finds nothing, so this file shows nothing"
