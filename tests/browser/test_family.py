"""The family page in Chromium: three kinds of model, trained for a few steps with probes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import tongsa
from export.bundles import random_bundle, save_run
from tiny import CONFIGS, write_pairs
from tongsa.visualize.probe import take_probe

from .conftest import PHRASES, SETTINGS, Visitor

TEXT = "I go home."
HOSTILE = "</script><img src=x onerror=alert(1)>"
STEPS = 20
TRANSFORMER_ONLY = ("model.ffn_width", "model.heads", "model.encoder_layers", "model.decoder_layers", "model.norm")
KINDS = {
    "bahdanau": ["model.kind=rnn_attention", "model.embedding=24", "model.maxout_width=24"],
    "cho <b>": ["model.kind=rnn", "model.embedding=24"],
    "vaswani": ["model.kind=transformer"],
}
SHARED = [setting for setting in SETTINGS if not setting.startswith(TRANSFORMER_ONLY)]


@pytest.fixture(scope="module")
def family_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of three kinds; the last one has another tokenizer and no probes."""
    folder = tmp_path_factory.mktemp("family")
    pairs = write_pairs(folder / "pairs.tsv", list(PHRASES.items()))
    common = [*SHARED, f"training.steps={STEPS}", "training.validate_every=10", "decoding.max_extra_tokens=4"]
    for name, kind in KINDS.items():
        if name == "vaswani":
            special = [
                *(setting for setting in SETTINGS if setting.startswith(TRANSFORMER_ONLY)),
                "tokenizer.model=char",
            ]
        else:
            special = [f"training.probe={json.dumps([TEXT, HOSTILE])}"]
        settings = [*common, *kind, *special]
        tongsa.train(run=folder / name, data=pairs, dev=pairs, settings=settings, quiet=True)
    return [folder / name for name in KINDS]


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    visitor = Visitor(browser, "")
    yield visitor
    visitor.close()
    assert not visitor.console_errors


@pytest.fixture(scope="module")
def page_file(family_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tongsa.family(family_runs, TEXT, reference=PHRASES[TEXT])
    return page.save(tmp_path_factory.mktemp("page") / "family.html")


@pytest.fixture
def page(visitor: Visitor, page_file: Path) -> Page:
    page = visitor.page()
    page.goto(page_file.as_uri())
    return page


def test_columns_of_all_kinds_say_what_they_read(page: Page, page_file: Path) -> None:
    expect(page.locator(".models > thead th")).to_have_count(3)
    reads = page.locator(".row-reads td.of-bahdanau, .row-reads > td.of-cho, .row-reads > td.of-vaswani")
    assert reads.count() >= 3
    expect(page.locator(".row-reads > td.of-cho")).to_contain_text("Nothing to read: one vector")
    expect(page.locator(".row-memory > td.of-cho")).to_contain_text("1 vector of")
    expect(page.locator(".row-memory > td.of-bahdanau")).to_contain_text("one per source token")
    for family in ("bahdanau", "vaswani"):  # other tokenizers, the same words
        heads = page.locator(f".row-reads > td.of-{family} .heat thead th").all_inner_texts()
        assert heads == ["I", "go", "home.", "</s>"]
    expect(page.locator(".row-moment > td.of-vaswani")).to_contain_text("No probes: train with --set training.probe=")
    expect(page.locator(".row-training > td.of-cho")).to_contain_text("seed 1 · 20 steps")
    assert page_file.stat().st_size < 500_000


def test_the_slider_goes_back_in_training_and_the_address_keeps_it(page: Page, visitor: Visitor) -> None:
    column = page.locator(".row-moment > td.of-bahdanau")
    expect(column).to_contain_text("saved model")
    page.focus("#time")
    page.keyboard.press("Home")
    expect(column).to_contain_text("step 0")
    expect(page.locator(".row-moment > td.of-vaswani")).to_contain_text("saved model")
    page.keyboard.press("ArrowRight")
    expect(column).to_contain_text("step 10")
    log_prob = page.locator(".row-logProb > td.of-bahdanau").inner_text()
    again = visitor.page()
    again.goto(page.url)
    expect(again.locator(".row-moment > td.of-bahdanau")).to_contain_text("step 10")
    assert again.locator(".row-logProb > td.of-bahdanau").inner_text() == log_prob
    again.get_by_role("button", name="minutes").click()
    expect(again.locator(".row-moment > td.of-bahdanau")).to_contain_text("saved model")
    again.locator(".row-history > td.of-bahdanau").get_by_role("button", name="step 10").click()
    expect(again.locator(".row-moment > td.of-bahdanau")).to_contain_text("step 10")


def weights_in(page: Page, family: str) -> list[str]:
    return page.locator(f".row-reads > td.of-{family} .heat td").all_inner_texts()


def test_single_heads_of_the_saved_model_can_be_chosen(page: Page) -> None:
    mean, additive = weights_in(page, "vaswani"), weights_in(page, "bahdanau")
    page.select_option("#head", "1")
    first = weights_in(page, "vaswani")
    page.select_option("#head", "2")
    assert mean != first != weights_in(page, "vaswani")
    assert weights_in(page, "bahdanau") == additive  # it has one head
    expect(page.locator(".row-reads > td.of-bahdanau")).to_contain_text("single heads: of the saved model only")
    page.select_option("#head", "mean")
    assert weights_in(page, "vaswani") == mean


def test_language_models_show_a_sampled_continuation(visitor: Visitor, tmp_path: Path) -> None:
    bundle = random_bundle("transformer_lm", CONFIGS["transformer_lm"])
    run = save_run(tmp_path / "lm", bundle)
    page = visitor.page()
    page.goto(tongsa.family([run], "a b c d").save(tmp_path / "family.html").as_uri())
    sample = take_probe(bundle.text_model(), "a b c d").sample
    assert sample and sample.prompt == "a b"
    expect(page.locator(".row-output .sample")).to_have_text(sample.prompt + sample.continuation)


def test_play_runs_to_the_saved_models(page: Page) -> None:
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Pause")
    expect(page.locator(".row-moment > td.of-cho")).to_contain_text("step 0")
    expect(page.locator("#play")).to_have_text("Play")
    expect(page.locator(".row-moment > td.of-cho")).to_contain_text("saved model")


def test_two_pinned_moments_are_compared(page: Page) -> None:
    page.focus("#time")
    page.keyboard.press("Home")
    page.click("#pin")
    expect(page.locator("p[role=status]")).to_contain_text("Pin a second moment")
    page.focus("#time")
    page.keyboard.press("End")
    page.click("#pin")
    captions = page.locator(".row-reads > td.of-bahdanau figcaption")
    assert captions.all_inner_texts() == ["before", "after", "difference"]
    assert page.locator(".row-moment > td.of-cho .small").all_inner_texts()[:4:2] == ["before", "after"]
    page.get_by_role("button", name="Clear pins").click()
    expect(captions).to_have_count(0)


def test_a_word_lights_up_in_all_columns(page: Page) -> None:
    for family in ("bahdanau", "vaswani"):
        expect(page.locator(f".row-reads > td.of-{family} .reading")).to_contain_text(" ← ")
    row = page.locator(".row-reads > td.of-bahdanau .heat tbody tr").last  # </s>, which every output has
    row.locator("th").hover()
    for family in ("bahdanau", "vaswani"):
        lit = page.locator(f".row-reads > td.of-{family} tr.lit")
        expect(lit).to_have_attribute("data-word", "</s>")
        expect(page.locator(f".row-reads > td.of-{family} .reading")).to_contain_text("</s> ← ")


def test_the_output_step_chooses_top_five_and_beam_by_keyboard(page: Page) -> None:
    expect(page.locator(".row-top > td.of-cho li")).to_have_count(5)
    page.locator(".models-scroller").focus()
    page.keyboard.press(".")
    expect(page.locator("output[for=step]")).to_contain_text("2 / ")
    here = page.locator(".row-beam > td.of-vaswani th.here")
    expect(here).to_have_text("2")


def test_korean_and_a_phone(page: Page) -> None:
    page.click("#language")
    expect(page.locator(".row-reads > td.of-cho")).to_contain_text("읽을 대상이 없음: 벡터 하나뿐입니다")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "only the table scrolls sideways"
    page.locator(".models-scroller").evaluate("element => { element.scrollLeft = 300; }")
    header = page.locator(".row-output > th").bounding_box()
    assert header is not None and 0 <= header["x"] < 40, "the row header stays in sight"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visitor: Visitor, page_file: Path, scheme: str) -> None:
    page = visitor.page(color_scheme=scheme)
    page.goto(page_file.as_uri())
    page.focus("#time")
    page.keyboard.press("Home")
    page.click("#pin")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_hostile_text_executes_nothing(family_runs: list[Path], visitor: Visitor, tmp_path: Path) -> None:
    path = tongsa.family(family_runs[:2], HOSTILE, reference=HOSTILE).save(tmp_path / "hostile.html")
    page = visitor.page()
    page.on("dialog", lambda dialog: visitor.console_errors.append(dialog.message))
    page.goto(path.as_uri())
    expect(page.locator("#title")).to_have_text(HOSTILE)
    expect(page.locator(".models > thead th").last).to_contain_text("cho <b>")
    page.locator(".models > thead th").last.get_by_role("button").click()
    expect(page.locator(".command code").last).to_contain_text("onerror=alert(1)")
    assert page.locator("img").count() == 0
    expect(page.locator(".row-moment > td.of-cho")).not_to_contain_text("No probes")
