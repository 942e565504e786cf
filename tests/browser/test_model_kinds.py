"""Models of other kinds and tasks on the page: classifier, RNN with and without attention, language model."""

import math
from pathlib import Path

from playwright.sync_api import Page, expect

import tongsa
from live_server import LiveServer
from tongsa.visualize.attention import QUANTIZATION_SCALE
from tongsa.visualize.packing import unpack_uint16

from .conftest import Post

TEXT = "a b c"


def use_model(page: Page, model: str) -> None:
    """Select a model and wait for its result."""
    expect(page.locator("#model")).to_be_enabled()
    page.select_option("#model", model)
    page.fill("#source", TEXT)
    page.wait_for_selector("#result:not(:has(.hint)):not(.stale)")
    expect(page.locator("#result")).to_have_attribute("aria-busy", "false")


def visible_views(page: Page) -> list[str]:
    """Return the views of the row "Look inside" in order."""
    buttons = page.locator("button[id^=open-]:visible").all()
    return [(button.get_attribute("id") or "").removeprefix("open-") for button in buttons]


def open_attention(page: Page) -> None:
    page.click("#open-attention")
    page.wait_for_selector("#stage[data-head]")


def test_a_classifier_shows_its_labels_hops_and_training_curves(page: Page, post: Post) -> None:
    use_model(page, "classifier")
    assert visible_views(page) == ["attention", "trace", "curves"]
    assert page.locator(".labels li").count() == 2
    open_attention(page)
    expect(page.locator("#texts .translation")).to_contain_text(page.locator(".labels li").first.inner_text()[:2])
    response = post("/v1/attention", {"text": TEXT, "model": "classifier"})
    role = response["examples"][0]["roles"][0]
    assert role["role"] == "hops"
    keys = role["tokens"]["keys"]
    weights = unpack_uint16(role["layers"][0]["packed"]).reshape(3, len(keys)) / QUANTIZATION_SCALE
    page.focus("#stage")
    page.keyboard.press("ArrowRight")  # selects the first cell
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    assert page.locator("#readout").text_content() == f"Hop 3 → {keys[0].replace('▁', '·')}  {weights[2, 0]:.4f}"
    page.click("#view [data-close]")
    page.keyboard.press("Alt+l")
    expect(page.locator("#view-title")).to_have_text("Training")
    page.wait_for_selector(".curve")
    assert page.locator(".curve h2").all_inner_texts() == ["Loss", "Validation score", "Learning rate"]
    assert page.locator(".curve .keys li").all_text_contents() == [
        "training 2.25 at step 20",
        "validation 3.125 at step 20",
        "accuracy 75 at step 20",
        "learning rate 0.002 at step 20",
    ]
    page.locator(".curve").first.focus()
    for _ in range(25):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".curve .keys li").first).to_have_text("training 4.5 at step 10")


def test_an_rnn_with_attention_shows_its_alignment(page: Page, kinds: dict[str, Path]) -> None:
    use_model(page, "rnn_attention")
    assert visible_views(page) == ["attention", "tree", "trace"]
    open_attention(page)
    translator = tongsa.load(kinds["rnn_attention"], task="seq2seq")
    output = translator(TEXT).text
    expect(page.locator("#texts .translation")).to_have_text(output)
    (source,), (target,) = (
        translator.source_tokenizer.encode_all([TEXT]),
        translator.target_tokenizer.encode_all([output]),
    )
    (weights,) = translator.attention(source, target)["cross"]
    assert page.locator(".thumb").count() == len(weights) == 1
    page.focus("#stage")
    for _ in range(3):  # the first press selects the first cell
        page.keyboard.press("ArrowDown")
    query = translator.target_tokenizer.token_strings(target)[2].replace("▁", "·")
    key = translator.source_tokenizer.token_strings(source)[0].replace("▁", "·")
    expect(page.locator("#head-name")).to_have_text("Alignment")
    assert page.locator("#readout").text_content() == f"{query} → {key}  {weights[0, 2, 0]:.4f}"


def test_a_model_without_attention_has_no_button_for_it(page: Page) -> None:
    use_model(page, "rnn")
    assert visible_views(page) == ["tree", "trace"]
    page.keyboard.press("Alt+a")
    expect(page.locator("#view")).to_be_hidden()


def test_a_language_model_shows_token_probabilities_attention_and_positions(
    page: Page, kinds: dict[str, Path], server: LiveServer
) -> None:
    use_model(page, "transformer_lm")
    assert visible_views(page) == ["attention", "trace", "positions"]
    (log_probs,) = tongsa.load(kinds["transformer_lm"], task="language_model").score_texts([TEXT])
    tokens = page.locator("#result .token")
    percents = [f"Probability {100 * math.exp(log_prob):.0f}%" for log_prob in log_probs[:-1]]
    assert [token.get_attribute("title") for token in tokens.all()] == percents
    assert "".join(tokens.all_text_contents()) == TEXT
    perplexity = math.exp(-sum(log_probs) / len(log_probs))
    expect(page.locator("#result .figure")).to_have_text(
        f"log-probability −{-sum(log_probs):.2f} · perplexity {perplexity:.1f} per token"
    )
    open_attention(page)
    assert page.get_by_role("tab", name="Decoder").count() == 1
    page.keyboard.press("Escape")
    page.click("#open-positions")
    expect(page.locator("#view h2").nth(1)).to_contain_text("Sinusoids · decoder")
    canvas = page.locator(".table canvas")
    page.wait_for_function("canvas => canvas.width > 2", arg=canvas.element_handle())
    canvas.hover(position={"x": 1, "y": 1})
    expect(page.locator(".table figcaption")).to_have_text("Position 0, dimension 0: 0.000")  # sin 0
    response = server.post("/v1/positions", {"model": "rnn_attention"})
    assert (response.status_code, "no position table" in response.json()["error"]) == (422, True)
