"""The trace page: its numbers, keyboard, tour, tables, and what it does with changed and hostile data."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from export.bundles import SOURCE, random_bundle, transformer
from tiny import CONFIGS, kind_of
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.visualize.packing import pack_floats, unpack_floats
from tongsa.visualize.page import Page as OfflinePage
from tongsa.visualize.tours import default_tour
from tongsa.visualize.trace import Trace, trace

from .conftest import Post, Visitor, expect_number, wait_until, write
from .test_accessibility import PHONE, axe_findings, scroll_width

TEXT = "Where is the house?"
HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

OpenTrace = Callable[..., Page]
TOLERANCE = 2e-4
"""Distance of a number on the page from PyTorch's: four decimals, and stored operands are rounded."""


@pytest.fixture(scope="module")
def tiny_trace(runs: dict[str, Path]) -> Trace:
    return trace(runs["en-ko"], TEXT)


@pytest.fixture(scope="module")
def data(tiny_trace: Trace) -> dict[str, Any]:
    return tiny_trace.data | {"tour": default_tour({tensor["name"] for tensor in tiny_trace.data["tensors"].values()})}


@pytest.fixture
def open_trace(visitor: Visitor, tmp_path: Path) -> OpenTrace:
    """Open a page of some data, without a network, and wait until all checks are done."""

    def open_page(data: dict[str, Any], address: str = "", **options: Any) -> Page:
        path = OfflinePage("run: " + TEXT, {"trace": data}).save(tmp_path / "trace.html")
        page = visitor.page(offline=True, **options)
        page.goto(path.as_uri() + address)
        page.wait_for_selector(".checks:is(.ok, .failed)")
        return page

    return open_page


def tensor_id(data: dict[str, Any], key: str) -> str:
    """Return the id of the tensor with this module path and name."""
    keys = {f"{tensor['path']}.{tensor['name']}": id_ for id_, tensor in data["tensors"].items()}
    return str(keys[key])


def scores_id(data: dict[str, Any]) -> str:
    return tensor_id(data, "encoder.layers.0.self_attention.attention.attention.scores")


def card(page: Page, id_: str) -> Locator:
    return page.locator(f'.card[data-tensor="{id_}"]').first


def number_text(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def expect_address(page: Page, *parts: str) -> None:
    """Wait until the address has all parts: it follows the selection after a short delay."""
    wait_until(page, lambda: all(part in page.url for part in parts), f"{page.url} lacks {parts}")


def test_the_page_computes_every_cheap_tensor_again_and_agrees_with_pytorch(
    open_trace: OpenTrace, data: dict[str, Any]
) -> None:
    page = open_trace(data)
    computed = [tensor for tensor in data["tensors"].values() if tensor["values"] is None]
    expect(page.locator(".checks")).to_have_class(re.compile("ok"))
    count = re.search(r"\d+", page.locator(".checks").inner_text())
    assert count and int(count[0]) >= len(computed) > 30
    assert page.locator(".card.wrong").count() == 0


def test_a_changed_number_is_shown_as_wrong(open_trace: OpenTrace, data: dict[str, Any]) -> None:
    changed = copy.deepcopy(data)
    query = changed["tensors"][scores_id(data)]["operands"]["Q"]
    values = unpack_floats(changed["tensors"][query]["values"])
    values[5] += np.float32(0.1)
    changed["tensors"][query]["values"] = pack_floats(values)
    page = open_trace(changed)
    expect(page.locator(".checks")).to_contain_text("✗")
    page.click(".checks")
    expect(card(page, scores_id(data)).locator(".check")).to_have_text("✗")
    expect(card(page, scores_id(data))).to_have_class(re.compile("wrong"))


def test_keys_walk_through_cells_steps_layers_and_heads(
    open_trace: OpenTrace, data: dict[str, Any], tiny_trace: Trace
) -> None:
    page, scores = open_trace(data), scores_id(data)
    page.locator("[data-to]", has_text=re.compile("scores", re.I)).first.click()
    plot = card(page, scores).locator(".plot")
    expect(plot).to_be_focused()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"):  # the first press selects the first cell
        page.keyboard.press(key)
    value = tiny_trace.tensors[tensor_key(data, scores)][0, 1, 2]
    expect_number(page.locator(".cell-value"), value, TOLERANCE)
    expect(page.locator(".cell-name")).to_contain_text("S[")
    expect_number(page.locator(".terms tr.total td").last, value, TOLERANCE)
    expect(page.locator(".code mark")).to_contain_text("attention.scores")
    page.keyboard.press("Enter")
    page.keyboard.press("h")
    page.keyboard.press("[")
    # the pinned cell follows the head
    expect_address(page, f"cell={scores}.2.2.3", "head=2", f"step={len(data['target']['outputs']) - 1}")
    page.keyboard.press("}")
    expect_address(page, "layer=2")
    page.reload()
    expect(page.locator("#layer")).to_have_value("2")
    expect(page.locator(".cell-name")).to_contain_text("[")
    page.locator(".plot").first.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".cell-value")).to_have_text("")


def tensor_key(data: dict[str, Any], id_: str) -> str:
    """Return the key of `Trace.tensors`."""
    tensor = data["tensors"][id_]
    return f"{tensor['path']}.{tensor['name']}"


def test_pointing_outlines_the_operands(open_trace: OpenTrace, data: dict[str, Any]) -> None:
    page, scores = open_trace(data, f"#cell={scores_id(data)}.1.2.3"), scores_id(data)
    links = page.locator(".links").first.locator("button")
    expect(links).to_have_count(2)
    query = data["tensors"][scores]["operands"]["Q"]
    canvas = card(page, query).locator("canvas")
    canvas.scroll_into_view_if_needed()
    drawn = "canvas => canvas.toDataURL()"
    canvas.locator("..").focus()  # a card that has left the window is not painted
    plain = open_trace(data)
    other = card(plain, query).locator("canvas")
    other.scroll_into_view_if_needed()
    other.locator("..").focus()
    wait_until(page, lambda: canvas.evaluate(drawn) != other.evaluate(drawn), "the row is not outlined")
    page.keyboard.press("Escape")
    wait_until(page, lambda: canvas.evaluate(drawn) == other.evaluate(drawn), "the outline of the row stays")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_tour_leads_from_the_text_to_the_search(open_trace: OpenTrace, data: dict[str, Any], language: str) -> None:
    page = open_trace(data, locale={"en": "en-US", "ko": "ko-KR"}[language])
    page.click(".tour-button")
    texts = [step[language] for step in data["tour"]["steps"]]
    expect(page.locator(".tour-text")).not_to_be_empty()
    seen = [page.locator(".tour-text").inner_text()]
    while page.locator('[data-name="next"]').is_enabled():
        page.click('[data-name="next"]')
        expect_address(page, f"tour={len(seen) + 1}")
        expect(page.locator(".tour-text")).not_to_have_text(seen[-1])
        seen.append(page.locator(".tour-text").inner_text())
    assert seen == [text for text in texts if text in seen] and len(seen) >= 14
    page.reload()
    expect(page.locator(".tour-text")).to_have_text(seen[-1])
    page.click('[data-name="close"]')
    expect(page.locator(".trace-tour")).to_be_hidden()


def test_a_teachers_tour_replaces_the_built_in_one(open_trace: OpenTrace, data: dict[str, Any]) -> None:
    steps = [{"en": HOSTILE, "ko": HOSTILE, "tensor": "attention.weights", "cell": [1, -1], "step": 2}]
    page = open_trace(data | {"tour": {"steps": steps}}, "#tour=1")
    expect(page.locator(".tour-text")).to_have_text(HOSTILE)
    expect(page.locator(".cell-name")).to_contain_text("A[")
    expect(page.locator("output")).to_have_text(re.compile("2 of"))


def test_a_token_is_followed_and_the_cache_grows(open_trace: OpenTrace, data: dict[str, Any]) -> None:
    page = open_trace(data, "#step=2")
    expect(page.locator(".cache").first).to_contain_text("2 target rows")
    page.keyboard.press("Tab")
    page.locator('[data-token="source2"]').click()
    expect(page.locator(".following")).to_contain_text("Only the rows of")
    expect(page.locator('[data-token="source2"]')).to_be_focused()
    expect(page.locator(".rail-tensor .size").first).to_contain_text("‖x‖")
    details = card(page, scores_id(data)).locator("details")
    details.locator("summary").click()
    expect(details.locator("tbody tr")).to_have_count(1)
    expect(page.locator(".card .lens:visible")).to_have_count(0)  # a source token writes nothing
    page.locator('[data-token="target1"]').click()
    expect(page.locator("output")).to_have_text(re.compile("1 of"))


def test_the_logit_lens_of_a_followed_token_ends_with_the_token_of_the_output(
    open_trace: OpenTrace, data: dict[str, Any]
) -> None:
    last, rows = list(data["logit_lens"].items())[-1]
    layer = next(stage["layer"] for stage in data["stages"] if last in stage["tensors"])
    page = open_trace(data, f"#token=target2&layer={layer}")
    top = data["output"]["top"][1][0]
    assert rows[1] == (top["token"], pytest.approx(top["probability"], rel=1e-3))
    shown = f"{re.sub('^▁', '·', top['token'])} {round(100 * top['probability'])} %"
    expect(card(page, last).locator(".lens")).to_contain_text(shown)
    expect(page.locator(".rail-group .lens:not(:empty)").last).to_have_text(f"→ {shown}")
    expect(page.locator(f'.rail-tensor[data-to="{last}"] .size')).to_contain_text(f"→ {shown}")


def test_each_card_has_a_table_csv_and_python(
    open_trace: OpenTrace, data: dict[str, Any], tiny_trace: Trace, tmp_path: Path
) -> None:
    page, scores = open_trace(data), scores_id(data)
    details = card(page, scores).locator("details")
    details.locator("summary").click()
    value = tiny_trace.tensors[tensor_key(data, scores)][0, 0, 0]
    expect_number(details.locator("tbody td").first, value, TOLERANCE)
    expect(details.locator(".python")).to_contain_text(tensor_key(data, scores))
    with page.expect_download() as download:
        details.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "scores.csv")
    rows = (tmp_path / "scores.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + len(data["source"]["tokens"])
    assert float(rows[1].split(",")[1]) == pytest.approx(value, abs=TOLERANCE)


def test_hostile_text_executes_nothing(open_trace: OpenTrace, data: dict[str, Any]) -> None:
    hostile = json.loads(json.dumps(data))
    hostile["source"]["tokens"] = [HOSTILE] * len(data["source"]["tokens"])
    hostile["target"]["inputs"] = hostile["target"]["outputs"] = [HOSTILE] * len(data["target"]["outputs"])
    hostile["texts"] |= {"source": HOSTILE, "normalized": HOSTILE, "output": HOSTILE}
    hostile["model"]["name"] = HOSTILE
    for equation in hostile["equations"].values():
        equation |= {"symbol": HOSTILE, "formula": HOSTILE, "en": HOSTILE, "paper": HOSTILE, "title": HOSTILE}
    for stage in hostile["stages"]:
        stage["title"] = HOSTILE
    for tensor in hostile["tensors"].values():
        tensor["file"] = HOSTILE
    hostile["code"] = {HOSTILE: [{"start": 1, "lines": [HOSTILE] * 999}]}
    page = open_trace(hostile, f"#cell={scores_id(data)}.1.1.1&token={HOSTILE}&step={HOSTILE}")
    card(page, scores_id(data)).locator("summary").click()
    expect(page.locator(".cell-name")).to_contain_text("<img")
    assert page.evaluate("window.hacked") is None
    assert (
        page.evaluate("document.querySelector('#panel-trace').shadowRoot.querySelectorAll('img, script').length") == 0
    )


def height(element: Locator) -> float:
    box = element.bounding_box()
    assert box
    return box["height"]


def test_a_phone_has_chips_and_a_bottom_sheet(open_trace: OpenTrace, data: dict[str, Any]) -> None:
    page = open_trace(data, **PHONE)
    assert scroll_width(page) <= 360
    expect(page.locator(".token.now")).to_be_in_viewport(ratio=0.9)
    parentheses = page.locator("mo[stretchy=false]").all_text_contents()
    assert "(" in parentheses and ")" in parentheses
    sheet = page.locator(".trace-inspector")
    low = height(sheet)
    page.locator(".plot canvas").first.scroll_into_view_if_needed()
    page.locator(".plot canvas").first.tap(position={"x": 200, "y": 30})
    expect(sheet).to_have_class(re.compile("open"))
    wait_until(page, lambda: height(sheet) > low, "the sheet stays low")
    for button in page.locator(".token:visible, .step:visible, .handle:visible").all():
        box = button.bounding_box()
        assert box and box["height"] >= 28, button.evaluate("node => node.outerHTML")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_no_serious_fault(open_trace: OpenTrace, data: dict[str, Any], scheme: str) -> None:
    page = open_trace(data, f"#cell={scores_id(data)}.1.2.3&tour=6", color_scheme=scheme)
    card(page, scores_id(data)).locator("summary").click()
    assert not axe_findings(page)


def open_live_trace(page: Page) -> Locator:
    """Open the trace of a sentence in the translator page; edits go to the server."""
    write(page, TEXT)
    page.click("#open-trace")
    page.wait_for_selector(".checks:is(.ok, .failed)")
    page.click(".what-if summary")
    return page.locator(".trace-edits")


def test_a_page_of_a_long_text_says_what_was_recorded_and_its_checks_agree(open_trace: OpenTrace) -> None:
    bundle = transformer(width=128, ffn_width=256, max_positions=256, norm="pre", encoder_layers=5, decoder_layers=3)
    text = " ".join("abcdefg"[i % 7] for i in range(60))
    data = trace(bundle, text, target=text).data
    page = open_trace(data, "#layer=4&step=3")
    expect(page.locator("#card-text .note")).to_have_text(
        "Recorded layers: 1, 3, 5 of 5. Numbers are stored in half precision: about three digits. With all layers in"
        " full precision the page would be too large. For others: tongsa trace … --layers 2,4"
    )
    expect(page.locator(".checks")).to_have_class(re.compile("ok"))  # half precision is no error
    assert page.locator("#layer option").all_inner_texts() == ["1", "3", "5"]
    expect(page.locator("#layer")).to_have_value("3")
    titles = page.locator(".group > h2").all_inner_texts()
    assert "Encoder 3" in titles and "Decoder 3" in titles
    page.locator(".plot").first.focus()
    page.keyboard.press("}")
    expect(page.locator("#layer")).to_have_value("5")


def test_an_edit_shows_before_after_and_difference(page: Page, post: Post) -> None:
    data = post("/v1/trace", {"text": TEXT, "model": "en-ko"})
    edits = open_live_trace(page)
    id_ = tensor_id(data, "encoder.embedding.embedding.position")
    position = card(page, id_)
    position.locator("summary").click()  # its table stays open
    edits.get_by_label("Without positions").check()
    edits.get_by_role("button", name="Apply").first.click()
    expect(edits.locator(".outputs")).to_contain_text(f"Before: {data['texts']['output']} ⟶ After:")
    position.scroll_into_view_if_needed()
    expect(position).to_have_class(re.compile("changed"))
    expect(page.locator(".checks")).to_have_class(re.compile("ok"))
    page.locator('[data-compare="difference"]').click()
    values = unpack_floats(data["tensors"][id_]["values"])
    expect(position.locator("tbody td").nth(1)).to_have_text(number_text(-values[1]))
    edits.get_by_role("button", name="Undo all").click()
    expect(edits.locator(".outputs")).to_be_hidden()


def test_a_token_is_forced_and_a_refusal_is_shown(page: Page, post: Post, visitor: Visitor) -> None:
    top = post("/v1/trace", {"text": TEXT, "model": "en-ko"})["output"]["top"][-1]
    edits = open_live_trace(page)
    edits.get_by_label(re.compile("Force this step")).fill("no such token")
    edits.get_by_role("button", name="Apply").first.click()
    expect(edits.locator("[role=status]")).to_contain_text("no such token")
    visitor.console_errors.clear()  # the browser logs the response 422
    edits.get_by_label(re.compile("Force this step")).fill(top[1]["token"])
    edits.get_by_role("button", name="Apply").first.click()
    expect(edits.locator(".outputs")).to_contain_text("After")
    expect(page.locator("#card-output tr.best th")).to_have_text(top[1]["token"].replace("▁", "·"))


def test_an_attention_row_is_edited_and_the_model_decodes_on(page: Page, post: Post) -> None:
    data = post("/v1/trace", {"text": TEXT, "model": "en-ko"})
    path = "decoder.layers.0.cross_attention.attention"
    id_ = tensor_id(data, f"{path}.attention.weights")
    edits = open_live_trace(page)
    expect(edits).to_contain_text("Select a cell of attention weights first.")
    weights = card(page, id_)
    weights.scroll_into_view_if_needed()
    weights.locator(".plot").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):  # the first row, second key
        page.keyboard.press(key)
    sliders = edits.locator(".row-editor input[type=range]")
    expect(sliders).to_have_count(len(data["source"]["tokens"]))
    last = len(data["source"]["tokens"]) - 1
    for i in range(last + 1):
        sliders.nth(i).fill("1" if i == last else "0")  # all weight on </s>
    edits.get_by_label(re.compile("Weights are divided by their sum")).check()
    edits.get_by_role("button", name="Apply").first.click()
    expect(edits.locator(".outputs")).to_contain_text("After:")
    expected = post(
        "/v1/trace",
        {
            "text": TEXT,
            "model": "en-ko",
            "edits": [{"type": "attention_row", "path": path, "head": 1, "query": 1, "weights": [0.0] * last + [1.0]}],
        },
    )
    expect(edits.locator(".outputs")).to_have_text(
        f"Before: {data['texts']['output']} ⟶ After: {expected['texts']['output']}"
    )
    weights = card(page, tensor_id(expected, f"{path}.attention.weights"))
    weights.scroll_into_view_if_needed()
    expect(weights).to_have_class(re.compile("changed"))
    weights.locator("summary").click()
    expect(weights.locator("tbody tr").first.locator("td")).to_have_text(["0.0000"] * last + ["1.0000"])


def test_a_layer_that_was_not_recorded_is_loaded_from_the_server(page: Page) -> None:
    bundle = transformer(norm="pre", encoder_layers=3, decoder_layers=3)
    bodies: list[Any] = []

    def answer(route: Route) -> None:
        bodies.append(route.request.post_data_json)
        layers = bodies[-1].get("layers", [1, 3])
        route.fulfill(json=trace(bundle, "a b c", target="b d", layers=layers).data)

    page.route("**/v1/trace", answer)
    open_live_trace(page)
    expect(page.locator("#card-text .note")).to_contain_text("The list of layers offers the others.")
    page.locator("#layer").select_option("2")
    expect(page.locator(".group > h2", has_text="Decoder 2")).to_be_visible()
    assert bodies[1]["layers"] == [2] and bodies[1]["text"] == TEXT
    expect(page.locator("#layer")).to_have_value("2")


def test_the_difference_of_two_logits_is_split_over_the_model(page: Page, post: Post) -> None:
    contrast = post("/v1/trace", {"text": TEXT, "model": "en-ko"})["contrasts"][-1]
    edits = open_live_trace(page)
    edits.locator(".contrast summary").click()
    expect(edits.locator(".contrast tr.total td").last).to_have_text(number_text(contrast["difference"], 3))
    assert sum(term["value"] for term in contrast["terms"]) == pytest.approx(contrast["difference"], abs=1e-3)
    largest = max(contrast["terms"], key=lambda term: abs(term["value"]))
    expect(edits.locator(".contrast tbody tr").first).to_contain_text(number_text(largest["value"], 3))


def test_closing_the_dialog_ends_all_listeners(page: Page) -> None:
    open_live_trace(page)
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()
    page.evaluate("location.hash = '#step=1&head=2'")  # nobody listens: no error in the console
    expect(page.locator("#view-body > *")).to_have_count(0)


COMPUTED = """async (traces) => {
  const { traceStore, withListedLogits } = await import('/static/trace_store.js');
  const result = {};
  for (const [name, data] of Object.entries(traces)) {
    const listed = withListedLogits(data), store = traceStore(listed), failed = [];
    let count = 0;
    for (const id of Object.keys(data.tensors)) {
      const { data: numbers, check } = await store.load(id), { shape, name: tensor } = listed.tensors[id];
      const value = numbers?.[numbers.length - 1], index = shape.map((length) => length - 1);
      const { lines } = await store.explainCell(id, index), explained = lines[lines.length - 1]?.value ?? value;
      if (check) count += 1;
      if (check?.ok === false) failed.push(`${tensor}: differs by ${check.delta}`);
      const isExplained = !Number.isFinite(value) || Math.abs(explained - value) <= 1e-4;
      if (!isExplained) failed.push(`${tensor}: explained as ${explained}, is ${value}`);
    }
    result[name] = { count, failed };
  }
  return result;
}"""


def test_the_page_computes_the_tensors_of_every_kind(page: Page) -> None:
    labels = LabelTokenizer(["good", "나쁨"])
    bundles = {
        name: random_bundle(kind_of(name), config, target=labels if config.task == "classification" else SOURCE)
        for name, config in CONFIGS.items()
    }
    traces = {name: trace(bundle, "I go home.").data for name, bundle in bundles.items()}
    for name, data in traces.items():
        counted = {label for tensor in data["tensors"].values() for label in tensor["labels"]}
        # a classifier reads no output tokens; the memory of a model with hops has hops, however many tokens there are
        assert ("target" in counted) != (CONFIGS[name].task == "classification")
        assert ("hop" in counted) == any("hop" in tensor["axes"] for tensor in data["tensors"].values())
    result: Any = page.evaluate(COMPUTED, traces)
    assert {name: kind["failed"] for name, kind in result.items() if kind["failed"]} == {}
    assert all(kind["count"] > 0 for kind in result.values())


def test_a_page_contains_only_the_modules_of_its_panels(data: dict[str, Any]) -> None:
    html = OfflinePage("t", {"trace": data}).html
    assert "module_trace_store" in html and "module_attention =" not in html and "style-attention" not in html
