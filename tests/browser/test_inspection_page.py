"""The inspection page in Chromium: models side by side, the switch of dropout, tokens, hostile text, phones."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

import tongsa

from .conftest import PHRASES, Visitor

HOSTILE = "<img src=x onerror=alert(1)></script>{{data}}"


@pytest.fixture(scope="module")
def inspection(kinds: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two random models over five sentences; a sentence and the name of a run are hostile."""
    folder = tmp_path_factory.mktemp("inspection")
    hostile_run = folder / HOSTILE.replace("/", "")
    shutil.copytree(kinds["rnn_attention"], hostile_run)
    lines = [*list(PHRASES.items())[:4], (HOSTILE, HOSTILE)]
    (folder / "data.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in lines), "utf-8")
    return tongsa.inspect([hostile_run, kinds["rnn"]], data=folder / "data.tsv", draws=3)


@pytest.fixture(scope="module")
def file(inspection: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = inspection.save(tmp_path_factory.mktemp("page") / "inspect.html")
    return path


def open_page(visitor: Visitor, file: Path, **options: Any) -> Page:
    page = visitor.page(offline=True, **options)
    page.on("dialog", lambda dialog: visitor.console_errors.append(dialog.message))
    page.goto(file.as_uri())
    page.wait_for_selector(".inspect[aria-busy=false]")
    return page


def shown_number(locator: Locator) -> float:
    """Return the first number of a locator, written with a typographic minus."""
    return float(locator.first.inner_text().replace("−", "-"))


def test_numbers_follow_the_switch_of_dropout(visitor: Visitor, file: Path, inspection: Any) -> None:
    page = open_page(visitor, file)
    run = json.loads(inspection.as_json())["runs"][0]
    for mode, label in (("off", "Off"), ("spread", "Standard deviation of 3 draws"), ("mean", "Mean of 3 draws")):
        page.get_by_role("button", name=label, exact=True).click()
        entropy = run["roles"][0]["entropy"][mode][0][0]  # packed with three decimals
        assert shown_number(page.locator("#heads tr[data-sentence='0'] td.cell")) == pytest.approx(entropy, abs=0.006)
        norm = run["states"][0]["after"][mode][3]
        assert shown_number(page.locator("#states .bar-cell .value")) == pytest.approx(norm, rel=0.02, abs=0.006)
    assert page.get_by_role("button", name="Mean of 3 draws").get_attribute("aria-pressed") == "true"
    expect(page.locator("#heads article").nth(1).locator(".note")).to_have_text(
        "No attention: the decoder reads the memory without weights."
    )


def test_a_cell_is_selected_by_keyboard_and_shows_its_sentence(visitor: Visitor, file: Path) -> None:
    page = open_page(visitor, file)
    page.locator("#heads td.cell").first.focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".detail").first).to_contain_text("Sentence 5 · Head 1")
    expect(page.locator(".detail").first).to_contain_text(HOSTILE)
    expect(page.locator(".detail svg rect")).to_have_count(11)


def test_hostile_text_stays_text(visitor: Visitor, file: Path) -> None:
    page = open_page(visitor, file)
    expect(page.locator("#title")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("#models thead")).to_contain_text("<img src=x onerror=alert(1)>")
    page.get_by_label("Search a token").fill("<")
    page.locator(".matches button").first.click()
    assert page.locator("img, .inspect script").count() == 0


def test_a_searched_token_shows_neighbors_and_the_address_keeps_it(visitor: Visitor, file: Path) -> None:
    page = open_page(visitor, file)
    page.get_by_label("Search a token").fill("e")
    token = page.locator(".matches button").first
    name = token.inner_text()
    token.click()
    expect(page.locator("#embeddings .neighbors").first.locator("tbody tr")).to_have_count(8)
    again = visitor.page()
    again.goto(page.url)
    expect(again.locator(".matches button[aria-pressed=true]")).to_have_text(name)


@pytest.mark.parametrize(("width", "locale", "scheme"), [(360, "ko-KR", "dark"), (1280, "en-US", "light")])
def test_the_page_fits_and_is_accessible(visitor: Visitor, file: Path, width: int, locale: str, scheme: str) -> None:
    page = open_page(visitor, file, viewport={"width": width, "height": 800}, locale=locale, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heading = "헤드" if locale == "ko-KR" else "Heads"
    expect(page.locator("#heads h2")).to_have_text(heading)
    violations = Axe().run(page).response["violations"]
    serious = [item for item in violations if item["impact"] in ("serious", "critical")]
    assert not serious, [(item["id"], item["nodes"][0]["html"]) for item in serious]
