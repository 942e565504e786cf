"""Attention and the search, drawn by the same modules in the server's page, in a file, and in a notebook."""

import html
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

from .conftest import PHRASES, Ask, Visitor, write

TEXT = "Where is the house?"


def opened(page: Page) -> Page:
    write(page, TEXT)
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")
    return page


def test_all_heads_are_shown_small_and_one_large(page: Page) -> None:
    opened(page)
    expect(page.locator("#texts .translation")).to_have_text(PHRASES[TEXT])
    assert page.locator(".thumb").count() == 1 * (2 + 1)  # one decoder layer: its two heads, and their mean
    page.get_by_role("tab", name="Encoder").click()
    assert page.locator(".thumb").count() == 2 * (2 + 1)
    page.locator("#head-1-1").click()
    page.wait_for_selector("#stage[data-head=head-1-1]")
    expect(page.locator("#head-name")).to_have_text("Layer 2 · head 2")
    expect(page.locator("#head-fact")).to_contain_text("Entropy")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#stage[data-head=head-1-0]")


def weights(ask: Ask, role: str) -> tuple[Any, Any]:
    """(head, query, key) of the first layer, past the page; and what the server tells of the role."""
    answer = ask("/v1/attention", {"text": TEXT, "model": "there", "target": PHRASES[TEXT]})
    told = next(one for one in answer["examples"][0]["roles"] if one["role"] == role)
    shape = (told["layers"][0]["count"], len(told["pieces"]["queries"]), len(told["pieces"]["keys"]))
    return unpack_uint16(told["layers"][0]["packed"]).reshape(shape) / QUANTIZATION_SCALE, told


def test_the_number_at_a_cell_is_the_models(page: Page, ask: Ask) -> None:
    expected, told = weights(ask, "cross")
    opened(page).focus("#stage")
    page.keyboard.press("ArrowRight")  # the first cell
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    cell = f"{told['pieces']['queries'][0]} → {told['pieces']['keys'][2]}  {expected[0, 0, 2]:.4f}"
    assert page.locator("#readout").text_content() == cell  # two spaces


def test_pieces_are_merged_to_words_as_python_does(page: Page, ask: Ask) -> None:
    expected, told = weights(ask, "cross")
    starts = [word_starts(told["pieces"][side]) for side in ("queries", "keys")]
    python = merge_words(expected, *starts)
    flat: Any = page.evaluate(
        """async ([weights, rows, columns, words]) =>
             [...(await import('/static/weights.js')).merged(Float32Array.from(weights), rows, columns, words)]""",
        [expected[0].ravel().tolist(), *expected[0].shape, {"query_starts": starts[0], "key_starts": starts[1]}],
    )
    assert_allclose(np.array(flat).reshape(python[0].shape), python[0], atol=1e-6)
    assert python[0].shape < expected[0].shape


def test_lines_have_words_on_both_sides(page: Page) -> None:
    opened(page)
    page.locator("#unit-words").click()
    page.locator("#view-lines").click()
    expect(page.locator("#axes")).to_have_text("Left: target being written · right: source being read")
    page.focus("#stage")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#readout")).to_contain_text("집이 → ")


def test_the_tree_ends_in_the_translation(page: Page) -> None:
    write(page, TEXT)
    page.click("#open-tree")
    page.wait_for_selector(".node.won.ended")
    expect(page.locator("#finished tr.won .output")).to_have_text(PHRASES[TEXT])
    page.focus("#stage")
    page.keyboard.press("Home")
    expect(page.locator("#readout")).to_contain_text("The search begins here")
    page.keyboard.press("End")
    expect(page.locator("#readout")).to_contain_text(PHRASES[TEXT])


def test_positions_and_curves_of_the_run_are_in_the_page(page: Page, runs: tuple[Path, Path]) -> None:
    write(page, TEXT)
    page.click("#open-positions")
    expect(page.locator(".plots h2")).to_have_text("Sinusoids · encoder, decoder")
    page.keyboard.press("Escape")
    page.click("#open-curves")
    page.wait_for_selector(".curve")
    names = ["Loss", "Score on the validation set", "Learning rate", "Length of the gradient"]
    assert page.locator(".curve h2").all_inner_texts() == names
    *_, last = [one for one in journal.read_journal(runs[0] / "journal.jsonl") if "rate" in one]
    expect(page.locator(".curve li").first).to_contain_text(f"at step {last['step']}")
    assert float(page.locator(".curve li b").first.inner_text()) == pytest.approx(last["loss"], rel=1e-3)


@pytest.fixture(scope="module")
def file(runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tongsa.view(runs[0], TEXT, "I go home.").save(tmp_path_factory.mktemp("view") / "page.html")


def test_a_file_shows_all_of_it_without_a_network(visitor: Visitor, file: Path) -> None:
    page = visitor.page(offline=True)
    page.goto(file.as_uri())
    page.wait_for_selector("#stage[data-head]")
    assert page.locator("#panels button").all_inner_texts() == ["Attention", "Search tree", "Positions", "Training"]
    page.get_by_label("Next sentence").click()
    expect(page.locator("#texts .translation")).to_have_text(PHRASES["I go home."])
    page.locator("#open-tree").click()
    expect(page.locator("#finished tr.won .output")).to_have_text(PHRASES[TEXT])
    page.locator("#open-positions").click()
    expect(page.locator("#room-positions h2")).to_have_text("Sinusoids · encoder, decoder")
    page.locator("#open-curves").click()
    names = page.locator("#room-curves h2").all_inner_texts()
    assert names[0] == "Loss" and "Learning rate" in names


def test_what_was_chosen_is_in_the_address(visitor: Visitor, file: Path) -> None:
    page = visitor.page()
    page.goto(file.as_uri())
    page.get_by_role("tab", name="Encoder").click()
    page.locator("#head-1-0").click()
    page.locator("#language").click()
    again = visitor.page()
    again.goto(page.url)
    expect(again.locator("#head-name")).to_have_text("2층 · 헤드 1")


def test_positions_tell_their_numbers(visitor: Visitor, file: Path) -> None:
    page = visitor.page()
    page.goto(f"{file.as_uri()}#panel=positions")
    page.wait_for_selector("#room-positions canvas")
    page.wait_for_timeout(200)
    page.hover(".table canvas", position={"x": 1, "y": 1})
    expect(page.locator(".table figcaption")).to_have_text("Position 0, number 0: 0.000")  # sin 0
    page.hover(".likeness canvas", position={"x": 1, "y": 1})
    expect(page.locator(".likeness figcaption")).to_have_text("Positions 0 and 0: 1.000")


def test_a_notebook_shows_it_in_a_frame_of_its_own(visitor: Visitor, runs: tuple[Path, Path], tmp_path: Path) -> None:
    shown = tongsa.view(tongsa.load(runs[0]), '나는 & 집에 "갑니다" <b>')._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title>{shown}", "utf-8")
    page = visitor.page()
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator("#title")).to_have_text('나는 & 집에 "갑니다" <b>')
    frame.locator("#stage[data-head]").wait_for()
    assert html.escape("<b>") not in frame.locator("#title").inner_text()
