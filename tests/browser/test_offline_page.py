"""The self-contained page in Chromium: masks, lanes, one sentence for all tabs, sizes, hostile text, listeners."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import tongsa
from live_server import wait_for
from tongsa.decoding.config import DecodingConfig
from tongsa.nn.positions import sinusoids
from tongsa.visualize import AttentionExample, attention, curves, search_tree
from tongsa.visualize import Page as OfflinePage
from visualize.examples import HOSTILE, attention_example, causal_weights, random_weights

from .conftest import PHRASES, TIMEOUT_MS, Post, Visitor

TEXTS = ["Where is the house?", "I go home.", "The dog runs."]
LONG = 96
"""Tokens of a long sentence."""
PIXELS = """(canvas, [x, y, width, height]) => {
  const density = devicePixelRatio, context = canvas.getContext('2d');
  const { data } = context.getImageData(x * density, y * density, width * density, height * density);
  const colors = new Set();
  for (let i = 0; i < data.length; i += 4) colors.add(data.slice(i, i + 3).join());
  return [...colors];
}"""
"""Colors in a rectangle of a canvas."""
PAINT_IS_DONE = "canvas => canvas.width > 2"


@pytest.fixture(scope="module")
def view_page(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tongsa.view(runs["en-ko"], TEXTS, samples=list(PHRASES), compare=[runs["ko-en"].parent / "run"])
    return page.save(tmp_path_factory.mktemp("offline") / "page.html")


@pytest.fixture
def offline(browser: Browser) -> Iterator[Visitor]:
    """A browser without a server: files only."""
    visitor = Visitor(browser, "")
    yield visitor
    visitor.close()
    assert not visitor.console_errors


def open_file(offline: Visitor, path: Path, selection: str = "", **options: Any) -> Page:
    page = offline.page(offline=True, **options)
    page.goto(f"{path.as_uri()}#{selection}")
    page.set_default_timeout(TIMEOUT_MS)
    return page


def cell_colors(page: Page, row: int, column: int) -> list[str]:
    """Return the colors inside a cell of the large heatmap, which is found by moving the hover there."""
    page.focus("#stage")
    page.keyboard.press("ArrowDown")  # the first key selects the first cell
    for key, times in (("ArrowDown", row), ("ArrowRight", column)):
        for _ in range(times):
            page.keyboard.press(key)
    stage, tip = (page.locator(name).bounding_box() for name in ("#stage", "#tip"))
    assert stage and tip
    # the tip's corner is 16 px right of and 18 px below the cell's lower right corner
    right, bottom = tip["x"] - 16 - stage["x"], tip["y"] - 18 - stage["y"]
    page.keyboard.press("Escape")
    page.wait_for_timeout(100)
    colors: list[str] = page.locator("#picture").evaluate(PIXELS, [right - 30, bottom - 30, 24, 24])
    return colors


def test_masked_cells_are_hatched_and_named(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page, "panel=attention&role=decoder")
    page.wait_for_selector("#stage[data-head]")
    expect(page.locator("#hatch")).to_be_visible()
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")[4:-1].replace(" ", "")
    masked, allowed = cell_colors(page, 0, 2), cell_colors(page, 3, 0)
    assert paper in masked and len(masked) > 1, "a hatch has lines on paper"
    assert paper not in allowed
    page.focus("#stage")
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("#readout")).to_contain_text("masked: not written yet (−∞ → 0)")
    page.get_by_role("tab", name="Cross").click()
    expect(page.locator("#hatch")).to_be_hidden()
    expect(page.locator("#caption")).to_contain_text("softmax(QKᵀ / √dₖ)")


def tops(nodes: Locator) -> list[float]:
    values: list[float] = nodes.evaluate_all("nodes => nodes.map((node) => node.getBoundingClientRect().top)")
    return values


def test_finished_hypotheses_have_a_lane_of_their_own(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page, "panel=tree")
    page.wait_for_selector(".node.finished.best")
    alive, finished = tops(page.locator(".node.alive")), tops(page.locator(".node.finished"))
    pruned, lane = tops(page.locator(".node.pruned")), tops(page.locator("#finished-lane"))[0]
    assert max(alive) < lane <= min(finished) and max(finished) < min(pruned)
    rows = sorted(set(alive))
    expect(page.locator("#rules li").first).to_contain_text(f"Beam {len(rows)}:")  # no empty row
    assert all(after - before == rows[1] - rows[0] for before, after in pairwise(rows))
    expect(page.locator("#readout")).to_contain_text("finished: rank 1 of")


def test_one_sentence_chooser_drives_all_tabs(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page)
    page.wait_for_selector("#stage[data-head]")
    expect(page.locator("#title")).to_have_text("run")
    page.locator("#open-tree").click()
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES[TEXTS[0]])
    page.locator("#sentence").select_option("2")
    expect(page.locator("#sentence-label")).to_have_text("Sentence 3/3")
    expect(page.locator("#finished tr.best .output")).to_have_text(PHRASES[TEXTS[2]])
    page.locator("#open-attention").click()
    expect(page.locator("#texts .translation")).to_have_text(PHRASES[TEXTS[2]])
    page.focus("#stage")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#panel-attention #readout")).to_contain_text(" → ·The")
    page.locator("#language").click()
    expect(page.locator("#sentence-label")).to_have_text("문장 3/3")
    again = open_file(offline, view_page, page.url.partition("#")[2])
    expect(again.locator("#texts .source")).to_have_text(TEXTS[2])


def test_heads_are_named_after_many_sentences(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page, "role=encoder")
    page.wait_for_selector("#stage[data-head]")
    label = page.locator("#head-0-0").get_attribute("aria-label") or ""
    assert re.search(r"in \d+ of \d+ sentences", label)
    expect(page.locator("#head-fact")).to_contain_text("In this sentence:")


def test_a_phone_needs_no_sideways_scrolling(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page, "role=cross", viewport={"width": 360, "height": 800})
    page.wait_for_selector("#patterns .value")
    page.locator("#patterns .value span").evaluate_all(  # what a short sentence shows: the longest line
        "(spans) => { for (const span of spans) span.textContent += ' · too short to tell'; }"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    title, buttons = page.locator("#title").bounding_box(), page.locator(".page-buttons").bounding_box()
    assert title and buttons and title["height"] <= buttons["height"], "the title is broken"


@pytest.mark.parametrize(("width", "language"), [(360, "ko"), (1280, "en")])
def test_text_of_the_charts_is_never_scaled(offline: Visitor, view_page: Path, width: int, language: str) -> None:
    page = open_file(offline, view_page, f"panel=curves&language={language}", viewport={"width": width, "height": 800})
    page.wait_for_selector(".picture svg text")
    sizes = page.locator(".picture svg").evaluate_all(
        """pictures => pictures.map((svg) => [svg.getBoundingClientRect().width - svg.getAttribute('width'),
             parseFloat(getComputedStyle(svg.querySelector('text')).fontSize), svg.getBoundingClientRect().right])"""
    )
    assert all(difference == 0 and size == 12 and right <= width for difference, size, right in sizes)
    assert page.locator(".curve").first.locator("li").count() == 4, "loss of two runs, training and validation"
    page.locator("[data-mode=linear]").first.click()
    expect(page.locator("[data-mode=linear]").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-mode=linear]").first).to_be_focused()


def test_signed_values_have_a_diverging_scale_a_legend_and_keys(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page, "panel=positions")
    canvas = page.locator(".table canvas")
    page.wait_for_function(PAINT_IS_DONE, arg=canvas.element_handle())
    assert page.locator(".table .scale-marks").inner_text().split() == ["−1", "0", "1"]
    canvas.focus()
    expect(page.locator(".table figcaption")).to_have_text("Position 0, dimension 0: 0.000")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".table figcaption")).to_have_text("Position 0, dimension 1: 1.000")
    zero, positive, negative = (
        canvas.evaluate(
            "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)", point
        )
        for point in ([0, 0], [1, 0], [1, 3])  # sin 0, cos 0, cos 3
    )
    assert max(zero) - min(zero) < 12, "zero is gray"
    assert positive[2] > positive[0] and negative[0] > negative[2], "blue above zero, orange below"


def long_example(length: int) -> AttentionExample:
    tokens = [f"▁word{i}" for i in range(length - 1)] + ["</s>"]
    weights = {"cross": [random_weights((2, length, length))], "decoder": [causal_weights(2, length)]}
    text = " ".join(token.strip("▁") for token in tokens[:-1])
    return AttentionExample(source_tokens=tokens, target_tokens=tokens, weights=weights, text=text, translation=text)


def test_a_long_sentence_has_its_picture_on_the_first_screen(offline: Visitor, tmp_path: Path) -> None:
    attention.write_page(tmp_path / "long.html", "a model", [long_example(LONG)])
    page = open_file(offline, tmp_path / "long.html", viewport={"width": 1280, "height": 800})
    page.wait_for_selector("#stage[data-head]")
    box = page.locator("#stage").bounding_box()
    assert box and box["y"] < 400
    source = page.locator("#texts .source")
    assert source.evaluate("line => line.clientHeight") < 40, "one line"
    page.locator("#expand").click()
    assert source.evaluate("line => line.clientHeight") > 40
    stage = page.locator("#stage")
    assert stage.evaluate("stage => stage.scrollWidth > stage.clientWidth")
    page.locator("#fit").click()
    assert stage.evaluate("stage => stage.scrollWidth <= stage.clientWidth && stage.scrollHeight <= stage.clientHeight")
    expect(page.locator("#scale-maxScale")).to_have_attribute("aria-pressed", "true")


def handmade_tree(token: str, steps: int) -> search_tree.SearchTree:
    def candidate(length: int, end: bool = False) -> search_tree.TreeCandidate:
        ids = tuple(9 for _ in range(length)) + ((2,) if end else ())
        numbers = {"token_log_prob": -0.1, "log_prob": -0.1 * length, "ranking_score": -0.1 * length}
        name = "</s>" if end else token
        return search_tree.TreeCandidate(prefix=ids, token=name, parent=0 if len(ids) > 1 else None, **numbers)

    alive = [search_tree.TreeStep(kept=(candidate(n),), pruned=(candidate(n),), more_pruned=0) for n in range(1, steps)]
    last = search_tree.TreeStep(kept=(candidate(steps - 1, end=True),), pruned=(), more_pruned=0)
    finished = (search_tree.FinishedHypothesis(steps - 1, 0, -0.5),)
    return search_tree.SearchTree(
        text=token,
        config=DecodingConfig(beam=1),
        max_tokens=steps,
        steps=(*alive, last),
        finished=finished,
        translation=token,
    )


def test_only_columns_near_the_screen_have_elements(offline: Visitor, tmp_path: Path) -> None:
    steps = 300
    (tmp_path / "tree.html").write_text(search_tree.page_html("t", handmade_tree("▁word", steps)), "utf-8")
    page = open_file(offline, tmp_path / "tree.html")
    page.wait_for_selector(".node.root")
    assert 5 < page.locator(".node.alive").count() < steps / 2
    page.focus("#stage")
    page.keyboard.press("Home")
    page.keyboard.press("End")
    expect(page.locator(".node.finished.here")).to_be_visible()
    expect(page.locator("#readout .prefix")).to_have_text(" ".join(["word"] * (steps - 1)) + " </s>")
    assert page.locator(".node.alive").count() < steps / 2


def test_an_overview_of_a_wide_tree_scrolls_by_pointer_and_keys(offline: Visitor, tmp_path: Path) -> None:
    (tmp_path / "short.html").write_text(search_tree.page_html("t", handmade_tree("▁word", 3)), "utf-8")
    page = open_file(offline, tmp_path / "short.html")
    page.wait_for_selector(".node.finished")
    expect(page.locator("#minimap")).to_be_hidden()  # all is visible
    (tmp_path / "tree.html").write_text(search_tree.page_html("t", handmade_tree("▁word", 59)), "utf-8")
    page = open_file(offline, tmp_path / "tree.html")
    strip, stage = page.locator("#minimap"), page.locator("#stage")
    expect(strip).to_be_visible()

    def shares() -> tuple[float, float]:
        """Left edge of the frame in the strip, and of the window in the tree."""
        scrolled = float(stage.evaluate("stage => stage.scrollLeft / stage.scrollWidth"))
        left, width = (
            strip.evaluate(f"strip => strip.querySelector('.frame').getBoundingClientRect().{side}")
            for side in ("left", "width")
        )
        outer = strip.bounding_box()
        assert outer and width < outer["width"] / 3
        return (left - outer["x"]) / outer["width"], scrolled

    assert shares() == pytest.approx((0, 0), abs=0.01)
    expect(strip).to_have_attribute("aria-valuetext", re.compile("Steps 1 to .* of 59"))
    box = strip.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 20, steps=3)
    page.mouse.up()
    page.wait_for_timeout(100)
    frame, scrolled = shares()
    assert frame == pytest.approx(scrolled, abs=0.01) and 0.5 < scrolled < 0.7
    expect(page.locator(".node.alive", has_text="word").first).to_be_attached()
    strip.focus()
    page.keyboard.press("End")
    expect(page.locator(".node.finished")).to_be_in_viewport()
    expect(strip).to_have_attribute("aria-valuenow", "100")
    page.locator("#language").click()
    expect(strip).to_have_attribute("aria-valuetext", re.compile("59단계 중"))


def test_hostile_names_execute_nothing(offline: Visitor, tmp_path: Path) -> None:
    attack = "<img src=x onerror=\"document.title='attacked'\">" + HOSTILE.replace("\ud83d", "")
    example = attention_example(attack, source=[attack, "▁go", "▁home", "</s>"])
    panels = {
        "attention": attention.page_data(attack, [example, example]),
        "tree": {"trees": [search_tree.page_data(attack, handmade_tree(attack, 3))] * 2},
        "curves": curves.page_data({attack: [{"step": 1, "loss": 2.0}], "two": [{"step": 1, "loss": 1.0}]}),
    }
    sentence = attention.sentence_data(example)
    OfflinePage(attack, panels, [sentence, sentence]).save(tmp_path / "page.html")
    page = open_file(offline, tmp_path / "page.html", "role=%3Cimg%20src=x%20onerror=alert(1)%3E&panel=%3Cb%3E")
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.wait_for_selector("#stage[data-head]")
    for tab in ("tree", "curves", "attention"):
        page.locator(f"#open-{tab}").click()
        page.locator("#next" if tab == "tree" else "#language").click()
    expect(page.locator("#title")).to_have_text(attack)
    assert page.locator("img").count() == 0
    assert page.title().startswith("<img src=x onerror=")
    assert (page.locator("#panel-curves .keys").first.text_content() or "").startswith(attack[:12])


def test_the_theme_button_works_without_a_server(offline: Visitor, view_page: Path) -> None:
    page = open_file(offline, view_page, color_scheme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_text("Light")
    assert page.evaluate(background) != dark


PANELS = {
    "attention": ("attention.js", "/v1/attention", {"text": TEXTS[0]}),
    "tree": ("search_tree.js", "/v1/tree", {"text": TEXTS[0]}),
    "positions": ("positions.js", "/v1/positions", {}),
    "curves": ("curves.js", "/v1/curves", {}),
}
"""Panel → its module, and the request for its data."""
DRAW_AND_ABORT = """async ([name, data, times]) => {
  const { draw } = await import(`/static/${name}`);
  for (let i = 0; i < times; i++) {
    const host = document.createElement('div'), controller = new AbortController();
    document.body.append(host);
    const panel = draw(host.attachShadow({ mode: 'open' }), data, { signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 150));
    panel.setLanguage('ko');
    panel.setSentence(0);
    await new Promise((resolve) => setTimeout(resolve, 150));
    controller.abort();
    host.remove();
  }
}"""


def test_an_aborted_panel_leaves_no_listener(visitor: Visitor, post: Post) -> None:
    page = visitor.visit()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def has_at_most(limit: int) -> bool:
        return listeners() <= limit

    def listeners() -> int:
        session.send("HeapProfiler.collectGarbage")
        metrics = {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}
        return int(metrics["JSEventListeners"])

    for module, path, body in PANELS.values():
        data = post(path, {"model": "en-ko", **body})
        page.evaluate(DRAW_AND_ABORT, [module, data, 1])  # modules and fonts are loaded once
        before = listeners()
        page.evaluate(DRAW_AND_ABORT, [module, data, 4])
        wait_for(partial(has_at_most, before))  # nodes are freed some time after the collection


def test_sinusoids_of_the_page_are_those_of_the_model(visitor: Visitor) -> None:
    for width in (16, 7):
        values: Any = visitor.visit().evaluate(
            "async (width) => [...(await import('/static/positions.js')).sinusoids(128, width)]", width
        )
        np.testing.assert_allclose(np.reshape(values, (128, width)), sinusoids(128, width), atol=1e-4)
