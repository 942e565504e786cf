"""Models of other kinds and tasks in the server's page: what they looked at, where a piece stands, how they learnt."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import tongsa
from export.bundles import TARGET, saved, shaken
from served import Running, serving
from tiny import CONFIGS
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.visualize.attention import QUANTIZATION_SCALE
from tongsa.visualize.packing import unpack_uint16

from .conftest import Visitor

TEXT = "a b c"
JOURNAL = [
    {"step": 10, "loss": 4.5, "rate": 0.001},
    {"step": 20, "loss": 2.25, "rate": 0.002, "validation": {"dev_loss": 3.125, "accuracy": 75.0}},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights drawn at random: what is looked at need not be good."""
    made = tmp_path_factory.mktemp("kinds")
    labels = LabelTokenizer(["good", "나쁨"])
    saved(made / "hops", shaken("structured_self_attention", CONFIGS["structured_self_attention"], target=labels))
    saved(
        made / "rnn_attention", shaken("rnn_attention", CONFIGS["rnn_attention"], target=TARGET, seed=4)
    )  # it writes three letters
    for name in ("rnn", "transformer_lm"):
        saved(made / name, shaken(name, CONFIGS[name]))
    (made / "hops" / "journal.jsonl").write_text("".join(json.dumps(one) + "\n" for one in JOURNAL), "utf-8")
    return made


@pytest.fixture(scope="module")
def kinds(folder: Path) -> Iterator[Running]:
    with serving(*sorted(folder.iterdir())) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, kinds: Running) -> Iterator[Visitor]:
    """In place of that of the package, whose models all translate with a Transformer."""
    made = Visitor(browser, kinds.url)
    yield made
    made.leave()
    assert not made.complaints


def asking(page: Page, model: str) -> Page:
    """The page with a model chosen, and its answer to the text there."""
    expect(page.locator("#model")).to_be_enabled()
    page.select_option("#model", model)
    page.fill("#source", TEXT)
    page.wait_for_selector("#result:not(:has(.hint))")
    expect(page.locator("#result")).to_have_attribute("aria-busy", "false")
    return page


def views(page: Page) -> list[str]:
    shown = page.locator("button[id^=open-]:visible").all()
    return sorted((one.get_attribute("id") or "").removeprefix("open-") for one in shown)


def looked(page: Page) -> None:
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")


def test_a_classifier_shows_what_each_hop_read(page: Page, kinds: Running) -> None:
    asking(page, "hops")
    assert views(page) == ["attention", "curves"]
    assert page.locator(".labels li").count() == 2
    looked(page)
    expect(page.locator("#texts .translation")).to_contain_text(page.locator(".labels li").first.inner_text()[:2])
    told = kinds.post("/v1/attention", {"text": TEXT, "model": "hops"}).json()["examples"][0]["roles"][0]
    assert told["role"] == "hops"
    keys = told["pieces"]["keys"]
    weights = unpack_uint16(told["layers"][0]["packed"]).reshape(3, len(keys)) / QUANTIZATION_SCALE
    page.focus("#stage")
    page.keyboard.press("ArrowRight")  # the first cell
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert page.locator("#readout").text_content() == f"3 → {keys[0]}  {weights[2, 0]:.4f}"


def test_an_additive_model_shows_its_alignment(page: Page, folder: Path) -> None:
    asking(page, "rnn_attention")
    assert views(page) == ["attention", "tree"]
    looked(page)
    translator = tongsa.load(folder / "rnn_attention")
    written = translator(TEXT).text
    expect(page.locator("#texts .translation")).to_have_text(written)
    (source,), (target,) = translator.source.split_all([TEXT]), translator.target.split_all([written])
    (weights,) = translator.attention(source, target)["cross"]
    assert page.locator(".thumb").count() == len(weights) == 1
    page.focus("#stage")
    page.keyboard.press("ArrowDown")  # the first cell
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    reads, read = translator.target.names(target)[2], translator.source.names(source)[0]
    assert page.locator("#readout").text_content() == f"{reads} → {read}  {weights[0, 2, 0]:.4f}"


def test_a_model_without_attention_has_no_button_for_it(page: Page) -> None:
    assert views(asking(page, "rnn")) == ["tree"]
    page.keyboard.press("Alt+a")
    expect(page.locator("#look")).to_be_hidden()


def test_a_language_model_tells_how_likely_a_text_is_and_what_it_read(page: Page, folder: Path) -> None:
    asking(page, "transformer_lm")
    assert views(page) == ["attention", "positions"]
    (logs,) = tongsa.load(folder / "transformer_lm").score_texts([TEXT])
    pieces = page.locator("#result .piece")
    assert [one.get_attribute("title") for one in pieces.all()] == [f"{100 * math.exp(log):.0f}%" for log in logs[:-1]]
    assert "".join(pieces.all_text_contents()) == TEXT
    perplexity = math.exp(-sum(logs) / len(logs))
    expect(page.locator("#result .figure")).to_have_text(
        f"log p −{-sum(logs):.2f} · perplexity {perplexity:.1f} per piece"
    )
    looked(page)
    assert page.get_by_role("tab", name="Decoder").count() == 1


def test_the_curves_of_a_run_are_those_of_its_journal(page: Page) -> None:
    asking(page, "hops")
    page.keyboard.press("Alt+l")
    expect(page.locator("#look-title")).to_have_text("How the model learnt")
    page.wait_for_selector(".curve")
    names = page.locator(".curve h2").all_inner_texts()
    assert names == ["Loss", "Score on the validation set", "Learning rate"]
    assert page.locator(".curve .keys li").all_text_contents() == [
        "training 2.25 at step 20",
        "validation 3.125 at step 20",
        "accuracy 75 at step 20",
        "Learning rate 0.002 at step 20",
    ]
    page.locator(".curve").first.focus()
    for _ in range(25):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".curve .keys li").first).to_have_text("training 4.5 at step 10")


def test_positions_are_drawn_for_who_has_them(page: Page, kinds: Running) -> None:
    asking(page, "transformer_lm")
    page.click("#open-positions")
    expect(page.locator("#look h2").nth(1)).to_contain_text("Sinusoids · decoder")
    page.wait_for_function("document.querySelector('#look-body > div').shadowRoot.querySelector('canvas').width > 2")
    page.hover(".table canvas", position={"x": 1, "y": 1})
    expect(page.locator(".table figcaption")).to_have_text("Position 0, number 0: 0.000")  # sin 0
    refused = kinds.post("/v1/positions", {"model": "rnn_attention"})
    assert (refused.status_code, refused.json()["error"]) == (422, "this model has no table of positions to look at")
