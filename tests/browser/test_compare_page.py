"""The comparison page in Chromium: two seeds of a model, and files of outputs with hostile texts and names."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import tongsa
from export.bundles import save_run, transformer
from tongsa.config import dump_toml
from tongsa.decoding.config import DecodingConfig
from tongsa.runs.evaluation_page import evaluation_page

from .conftest import Visitor

HOSTILE = "</script><img src=x onerror=alert(1)> {{data}}"
WORDS = ["the", "cat", "sat", "on", "a", "mat", "near", "the", "old", "house", "while", "it", "was", "raining", "again"]
READABLE_PX = 11
LABEL_BOXES = """root => [...root.querySelectorAll('svg')].flatMap((svg, chart) =>
  [...svg.querySelectorAll('text')].map(text => ({
    chart, text: text.textContent, box: text.getBoundingClientRect().toJSON(),
    size: parseFloat(getComputedStyle(text).fontSize),
    scale: svg.getBoundingClientRect().width / svg.width.baseVal.value })))"""
"""Chart, text, bounding box, size and scale of each label."""
COUNT_LABELS = "document.querySelector('#panel-compare').shadowRoot.querySelectorAll('svg text').length"
GOOD, WORSE = "published-system-with-a-long-name", "<b>worse<b> & co"


def write_runs(folder: Path) -> list[Path]:
    runs = []
    for seed in (1, 2):
        bundle = replace(transformer(seed=seed), decoding=DecodingConfig(beam=1, max_extra_tokens=2))
        run = save_run(folder / f"mine-seed{seed}", replace(bundle, source_language="", target_language=""))
        (run / "run.toml").write_text(dump_toml({"model": {"width": 16}, "training": {"seed": seed}}), "utf-8")
        records = [{"step": i, "loss": 9 / i, "tokens": 5000, "seconds": 30.0} for i in range(1, 40)]
        lines = [*records, {"step": 39, "validation": {"bleu": 3.5, "dev_loss": 2.5}, "best": True, "seconds": 1}]
        (run / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        runs.append(run)
    return runs


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of three settings: good outputs, worse ones with hostile texts, and two seeds of a random model."""
    folder = tmp_path_factory.mktemp("comparison")
    references = [" ".join(WORDS[i % 7 : i % 7 + 4 + i % 9]) + f" {i}" for i in range(60)]
    sources = [f"source {i} {HOSTILE if i == 3 else ''} " + "word " * (i % 30) for i in range(60)]
    good = [reference if i % 3 else reference.replace("the", "a") for i, reference in enumerate(references)]
    worse = [HOSTILE if i % 2 else reference for i, reference in enumerate(references)]
    files = [folder / f"{name}.txt" for name in (GOOD, WORSE)]
    for file, outputs in zip(files, (good, worse), strict=True):
        file.write_text("".join(f"{output}\n" for output in outputs), "utf-8")
    comparison = tongsa.compare(
        [*files, *write_runs(folder)], pairs=list(zip(sources, references, strict=True)), metrics=["bleu", "chrf"]
    )
    return comparison.save(folder / "compare.html")


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    visitor = Visitor(browser, "")
    yield visitor
    visitor.close()
    assert not visitor.console_errors


@pytest.fixture
def page(visitor: Visitor, page_file: Path) -> Page:
    page = visitor.page()
    page.on("dialog", lambda dialog: visitor.console_errors.append(dialog.message))
    page.goto(page_file.as_uri())
    return page


def test_hostile_outputs_and_names_are_shown_and_execute_nothing(page: Page) -> None:
    expect(page.locator("#scores tbody th").nth(1)).to_have_text(WORSE)
    page.locator(".compare #sentences select").nth(1).select_option(label=WORSE)
    expect(page.locator(".sentence").first).to_contain_text(HOSTILE)
    expect(page.locator(".sentence mark.extra").first).to_contain_text("onerror=alert(1)")
    assert page.locator("img").count() == 0


def test_the_verdict_is_said_in_words_and_cells_are_read_by_keyboard(page: Page) -> None:
    expect(page.locator(".summary")).to_contain_text(
        "published-system-with-a-long-name is better than all others by BLEU."
    )
    verdicts = page.locator("#pairs .verdicts").first
    expect(verdicts).to_contain_text(f"{GOOD} is better than {WORSE} (p < 0.001).")
    expect(verdicts).to_contain_text("tested over sentences only, other seeds may differ")
    page.locator(".cell").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".cell:focus")).to_have_attribute("aria-label", f"{GOOD} is better than mine (p < 0.001).")


def test_the_chosen_metric_and_pair_stay_in_the_address(page: Page, visitor: Visitor) -> None:
    page.locator("#scores .switch button", has_text="chrF").click()
    expect(page.locator("#scores figcaption")).to_contain_text("chrF with 95 % intervals, n = 60")
    expect(page.locator("#slices figcaption").first).to_have_text("chrF by source length")
    page.locator(".compare #sentences select").nth(2).select_option("line")
    page.locator("#curves .switch button", has_text="Minutes").click()
    again = visitor.page()
    again.goto(page.url)
    expect(again.locator("#scores .switch button[aria-pressed=true]")).to_have_text("chrF")
    expect(again.locator("#curves .switch button[aria-pressed=true]")).to_have_text("Minutes")
    expect(again.locator(".compare #sentences select").nth(2)).to_have_value("line")
    shown = again.locator(".sentence").count()
    again.locator(".compare #sentences button.plain").click()
    assert again.locator(".sentence").count() > shown


@pytest.mark.parametrize(("language", "heading"), [("en", "Settings that differ"), ("ko", "서로 다른 설정")])
def test_a_phone_shows_everything_readably(visitor: Visitor, page_file: Path, language: str, heading: str) -> None:
    page = visitor.page(viewport={"width": 360, "height": 800})
    page.goto(f"{page_file.as_uri()}#language={language}")
    expect(page.locator("#settings h2")).to_have_text(heading)
    page.wait_for_function(
        "document.querySelector('#panel-compare').shadowRoot.querySelectorAll('svg text').length > 40"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, "only tables scroll sideways"
    labels = page.locator(".compare").evaluate(LABEL_BOXES)
    assert len(labels) > 40
    for label in labels:
        assert label["size"] >= READABLE_PX and label["scale"] == pytest.approx(1, abs=0.01), label
        assert label["box"]["left"] >= -1 and label["box"]["right"] <= 361, label
    for first in labels:
        for second in labels:
            if first["chart"] == second["chart"] and first is not second:
                assert not overlap(first["box"], second["box"]), (first["text"], second["text"])
    buttons = page.locator("button:visible")
    assert min(box["height"] for i in range(buttons.count()) if (box := buttons.nth(i).bounding_box())) >= 40


def overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    """Return whether two labels cover each other by more than a pixel."""
    horizontal = min(a["right"], b["right"]) - max(a["left"], b["left"])
    vertical = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    return horizontal > 1 and vertical > 3  # boxes of lines of text touch each other


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visitor: Visitor, page_file: Path, scheme: str) -> None:
    page = visitor.page(color_scheme=scheme)
    page.goto(page_file.as_uri())
    expect(page.locator(".sentence").first).to_be_visible()
    violations = Axe().run(page).response["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in violations] == []


@pytest.fixture(scope="module")
def evaluation_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `tongsa evaluate --by length position`, of a random model."""
    folder = tmp_path_factory.mktemp("evaluation")
    run = write_runs(folder)[0]
    pairs = [("word " * (i % 30), " ".join(WORDS[i % 7 : i % 7 + 4 + i % 9])) for i in range(1, 60)]
    report = tongsa.evaluate(run, pairs=pairs, by=["length", "position"])
    return evaluation_page(report, HOSTILE, ["test.tsv"]).save(folder / "slices.html")


@pytest.mark.parametrize(("language", "caption"), [("en", "by position in the sentence"), ("ko", "문장 안의 위치별")])
def test_the_page_of_an_evaluation_shows_the_slices_of_one_model(
    visitor: Visitor, evaluation_file: Path, language: str, caption: str
) -> None:
    page = visitor.page(viewport={"width": 360, "height": 800})
    page.goto(f"{evaluation_file.as_uri()}#language={language}")
    expect(page.locator("#scores tbody th")).to_have_text(HOSTILE)
    expect(page.locator("section h2")).to_have_count(2)  # scores and slices; nothing to compare with
    expect(page.locator("#slices figcaption", has_text=caption)).to_have_count(2)  # recall and precision
    expect(page.locator("#slices svg circle").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert Axe().run(page).response["violations"] == []
