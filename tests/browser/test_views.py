"""Views of a translation in the server's page, in a file and in a notebook, drawn by the same modules."""

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import Page, expect

import tongsa
from tongsa.tokenization.words import merge_words, word_starts
from tongsa.training import journal
from tongsa.visualize.attention import QUANTIZATION_SCALE
from tongsa.visualize.packing import unpack_uint16

from .conftest import PHRASES, Post, Visitor, write

TEXT = "Where is the house?"
CANVAS_IS_DRAWN = "canvas => canvas.width > 2"


def open_attention(page: Page) -> None:
    write(page, TEXT)
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")


def first_layer(post: Post, role: str) -> tuple[Any, Any]:
    """Return the weights (head, query, key) of the first layer, and the server's data of the role."""
    response = post("/v1/attention", {"text": TEXT, "model": "en-ko", "target": PHRASES[TEXT]})
    data = next(item for item in response["examples"][0]["roles"] if item["role"] == role)
    shape = (data["layers"][0]["count"], len(data["tokens"]["queries"]), len(data["tokens"]["keys"]))
    return unpack_uint16(data["layers"][0]["packed"]).reshape(shape) / QUANTIZATION_SCALE, data


def test_attention_shows_all_heads_and_the_models_numbers(page: Page, post: Post) -> None:
    weights, data = first_layer(post, "cross")
    open_attention(page)
    expect(page.locator("#texts .translation")).to_have_text(PHRASES[TEXT])
    assert page.locator(".thumb").count() == 1 * (2 + 1)  # one decoder layer: two heads and their mean
    page.focus("#stage")
    for _ in range(3):  # the first press selects the first cell
        page.keyboard.press("ArrowRight")
    query, key = (token.replace("▁", "·") for token in (data["tokens"]["queries"][0], data["tokens"]["keys"][2]))
    cell = f"{query} → {key}  {weights[0, 0, 2]:.4f}"
    assert page.locator("#readout").text_content() == cell
    page.get_by_role("tab", name="Encoder").click()
    assert page.locator(".thumb").count() == 2 * (2 + 1)
    page.locator("#head-1-1").click()
    page.wait_for_selector("#stage[data-head=head-1-1]")
    expect(page.locator("#head-name")).to_have_text("Layer 2 · head 2")
    expect(page.locator("#head-fact")).to_contain_text("Entropy")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#stage[data-head=head-1-0]")


def test_tokens_are_merged_to_words_as_in_python(page: Page, post: Post) -> None:
    weights, data = first_layer(post, "cross")
    query_starts, key_starts = (word_starts(data["tokens"][side]) for side in ("queries", "keys"))
    expected = merge_words(weights, query_starts, key_starts)
    flat: Any = page.evaluate(
        """async ([weights, rows, columns, words]) =>
             [...(await import('/static/weights.js')).mergeWords(Float32Array.from(weights), rows, columns, words)]""",
        [weights[0].ravel().tolist(), *weights[0].shape, {"query_starts": query_starts, "key_starts": key_starts}],
    )
    assert_allclose(np.array(flat).reshape(expected[0].shape), expected[0], atol=1e-6)
    assert expected[0].shape < weights[0].shape


def test_lines_connect_words(page: Page) -> None:
    open_attention(page)
    page.locator("#unit-words").click()
    page.locator("#view-lines").click()
    expect(page.locator("#axes")).to_have_text("Left: target (queries) · right: source (keys)")
    page.focus("#stage")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#readout")).to_contain_text("집이 → ")


def test_the_search_tree_ends_in_the_translation(page: Page) -> None:
    write(page, TEXT)
    page.click("#open-tree")
    page.wait_for_selector(".node.best.finished")
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES[TEXT])
    page.mouse.move(1, 1)  # away from the tree, which shows what is under the pointer
    page.focus("#stage")
    page.keyboard.press("Home")
    expect(page.locator("#readout")).to_contain_text("Start of the search")
    page.keyboard.press("End")
    expect(page.locator("#readout")).to_contain_text(PHRASES[TEXT])


def test_positions_and_training_curves_are_those_of_the_run(page: Page, runs: dict[str, Path]) -> None:
    write(page, TEXT)
    page.click("#open-positions")
    expect(page.locator(".plots h2")).to_have_text("Sinusoids · encoder, decoder")
    page.keyboard.press("Escape")
    page.click("#open-curves")
    page.wait_for_selector(".curve")
    titles = ["Loss", "Validation score", "Learning rate", "Gradient norm"]
    assert page.locator(".curve h2").all_inner_texts() == titles
    *_, last = [record for record in journal.read_journal(runs["en-ko"] / "journal.jsonl") if "lr" in record]
    expect(page.locator(".curve li").first).to_contain_text(f"at step {last['step']}")
    assert float(page.locator(".curve li b").first.inner_text()) == pytest.approx(last["loss"], rel=1e-3)


def test_a_view_has_an_address_that_a_link_back_and_forward_follow(page: Page, visitor: Visitor) -> None:
    dialog = page.locator("#view")
    write(page, "I go home. The cat sleeps. We drink water.")
    page.locator("#result .sentence").nth(1).click()
    page.keyboard.press("Escape")
    page.click("#open-tree")
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES["The cat sleeps."])
    assert page.url.endswith("&look=tree&sentence=2")
    page.go_back()
    expect(dialog).to_be_hidden()
    assert "look" not in page.url
    page.locator("#result .sentence").nth(2).click()
    page.keyboard.press("Escape")
    page.go_forward()
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES["The cat sleeps."])
    page.reload()
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES["The cat sleeps."])
    other = visitor.page()
    other.goto(page.url.replace("look=tree", "look=attention"))
    expect(other.locator("#texts .translation")).to_have_text(PHRASES["The cat sleeps."])
    other.keyboard.press("Escape")
    expect(other.locator("#view")).to_be_hidden()
    expect(other).not_to_have_url(re.compile("look"))
    expect(other.locator("#source")).to_have_value("I go home. The cat sleeps. We drink water.")


def test_a_view_that_opens_while_the_browser_still_goes_back_stays_open(page: Page) -> None:
    """`history.back()` takes effect later: the view must not be closed by the address of the one before."""
    write(page, TEXT)
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")
    page.evaluate(
        """() => new Promise(resolve => {
            const dialog = document.querySelector("#view"), positions = document.querySelector("#open-positions");
            dialog.addEventListener("close", () => positions.click(), { once: true });
            window.addEventListener("hashchange", () => resolve(), { once: true });
            dialog.close();
        })"""
    )
    expect(page.locator(".plots h2")).to_have_text("Sinusoids · encoder, decoder")
    expect(page).to_have_url(re.compile("look=positions"))
    page.go_back()
    expect(page.locator("#view")).to_be_hidden()
    expect(page).not_to_have_url(re.compile("look"))


def test_an_address_with_a_view_that_cannot_be_shown_opens_the_page(visitor: Visitor) -> None:
    page = visitor.page()
    page.goto(f"{visitor.url}/#model=rnn&text=I&look=attention")  # a model without attention
    expect(page).not_to_have_url(re.compile("look"))
    for name in ("constructor", "<img src=x onerror=alert(1)>", "attention"):  # without a text there is no attention
        page.goto("about:blank")
        page.goto(f"{visitor.url}/#model=rnn_attention&look={name}&sentence=-1")
        page.evaluate("sessionStorage.clear()")
    page.reload()
    expect(page).not_to_have_url(re.compile("look"))
    expect(page.locator("#view")).to_be_hidden()
    page.goto(f"{visitor.url}/#model=en-ko&look=positions")
    expect(page.locator(".plots h2")).to_have_text("Sinusoids · encoder, decoder")


@pytest.mark.parametrize(("width", "height"), [(360, 480), (820, 720)])
def test_choosing_a_head_on_a_narrow_screen_shows_its_picture(visitor: Visitor, width: int, height: int) -> None:
    page = visitor.visit(viewport={"width": width, "height": height}, has_touch=True)
    open_attention(page)
    page.get_by_role("tab", name="Encoder").click()
    page.locator("#head-1-1").tap()
    page.wait_for_selector("#stage[data-head=head-1-1]")
    expect(page.locator("#head-name")).to_be_in_viewport(ratio=1)
    expect(page.locator("#stage")).to_be_in_viewport(ratio=0.5)


@pytest.fixture(scope="module")
def offline_page(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tongsa.view(runs["en-ko"], [TEXT, "I go home."]).save(tmp_path_factory.mktemp("view") / "page.html")


def test_the_offline_page_shows_all_views_without_a_network(visitor: Visitor, offline_page: Path) -> None:
    page = visitor.page(offline=True)
    page.goto(offline_page.as_uri())
    page.wait_for_selector("#stage[data-head]")
    assert page.locator("#panels button").all_inner_texts() == ["Attention", "Search tree", "Positions", "Training"]
    page.get_by_label("Next sentence").click()
    expect(page.locator("#texts .translation")).to_have_text(PHRASES["I go home."])
    page.locator("#open-tree").click()
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES["I go home."])
    page.locator("#open-positions").click()
    expect(page.locator("#panel-positions h2")).to_have_text("Sinusoids · encoder, decoder")
    for name, caption in (("table", "Position 0, dimension 0: 0.000"), ("similarity", "Positions 0 and 0: 1.000")):
        canvas = page.locator(f".{name} canvas")
        page.wait_for_function(CANVAS_IS_DRAWN, arg=canvas.element_handle())
        canvas.hover(position={"x": 1, "y": 1})
        expect(page.locator(f".{name} figcaption")).to_have_text(caption)
    page.locator("#open-curves").click()
    titles = page.locator("#panel-curves h2").all_inner_texts()
    assert titles[0] == "Loss" and "Learning rate" in titles


def test_the_url_of_the_offline_page_keeps_the_selection(visitor: Visitor, offline_page: Path) -> None:
    page = visitor.page()
    page.goto(offline_page.as_uri())
    page.get_by_role("tab", name="Encoder").click()
    page.locator("#head-1-0").click()
    page.locator("#language").click()
    again = visitor.page()
    again.goto(page.url)
    expect(again.locator("#head-name")).to_have_text("2층 · 헤드 1")


def test_a_notebook_shows_the_page_in_a_frame(visitor: Visitor, runs: dict[str, Path], tmp_path: Path) -> None:
    title = '나는 & 집에 "갑니다" <b>'
    frame_html = tongsa.view(tongsa.load(runs["en-ko"]), title)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title>{frame_html}", "utf-8")
    page = visitor.page()
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("#title")).to_have_text(runs["en-ko"].name)
    expect(frame.locator("#texts .source")).to_have_text(title)
    frame.locator("#stage[data-head]").wait_for()
    assert html.escape("<b>") not in frame.locator("#texts .source").inner_text()
