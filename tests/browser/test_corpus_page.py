"""The corpus report in Chromium: hostile texts, both languages, a phone, dark mode, axe."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tongsa.cli import main
from tongsa.data.cleaning.report_data import CorpusReport
from tongsa.demo import read_split
from tongsa.visualize.corpus_report import Ablation, AblationRow, AblationScore, Training, corpus_page

from .conftest import Visitor
from .test_compare_page import LABEL_BOXES, READABLE_PX, overlap

HOSTILE = "</script><img src=x onerror=alert(1)> {{data}} \u202eabc\u202c \u0007"
FILTERS = ["length", "ratio", "copies", "script", "numbers", "duplicates", "alignment"]


def sample_report() -> dict[str, Any]:
    """Return a report in which each section has something to draw."""
    lengths = {"edges": list(range(12)), "counts": [0, 3, 90, 200, 300, 310, 120, 80, 40, 2, 0]}
    few = {"edges": list(range(12)), "counts": [0, 0, 4, 1, 0, 0, 2, 0, 0, 30, 5]}
    ratios = {"edges": [-2 + i / 4 for i in range(17)], "counts": [1, 2, *[50] * 12, 3, 1]}
    drops = [
        {"file": "a/corpus.tsv", "line": 17 + i, "source": HOSTILE, "target": "word " * 90, "detail": "30 is too long"}
        for i in range(7)
    ]
    filters = [
        {
            "name": name,
            "dropped": 7 * i,
            "alone": i,
            "pairs_per_second": 12345.6,
            "low": 0.25 if name == "ratio" else None,
            "high": 4 if name == "ratio" else 2 if name == "copies" else None,
            "learnt": name == "ratio",
            "histogram": lengths if name == "copies" else None,
            "samples": drops if i else [],
        }
        for i, name in enumerate(FILTERS)
    ]
    repair = {
        "file": "a/corpus.tsv",
        "line": 3,
        "side": "source",
        "before": HOSTILE,
        "after": HOSTILE.replace("<", "‹"),
    }
    return {
        "files": ["a/corpus.tsv"],
        "languages": ["en", "ko"],
        "read": 1_234_567,
        "kept": 1_000_000,
        "dropped": 234_567,
        "repaired": 4321,
        "seconds": 123.4,
        "unusable": [{"name": "not-utf8", "count": 12}],
        "filters": filters,
        "repairs": [{"name": "markup", "count": 9, "samples": [repair]}],
        "source_lengths": [lengths, few],
        "target_lengths": [lengths, few],
        "source_length_limits": [1, 9],
        "ratios": [ratios, ratios],
        "scripts": [
            [{"name": "LATIN", "count": 999}, {"name": "HAN/KANA", "count": 1}],
            [{"name": "HANGUL", "count": 7}],
        ],
        "languages_found": [[{"name": code, "count": 9} for code in "abcdefghijk"], [{"name": "ko", "count": 7}]],
        "duplicates": [{"source": HOSTILE, "target": "같은 글 " * 60, "count": 55}],
        "blocks": [
            {"file": "a/corpus.tsv", "first_line": 400 * i, "last_line": 400 * i + 99, "shift": -i} for i in range(1, 6)
        ],
    }


def sample_ablation() -> Ablation:
    trainings: list[tuple[Training, str]] = [("all", ""), ("none", ""), ("without", "copies")]
    tested: dict[str, Any] = {"low": 0.5, "high": 3.5, "p": 0.03, "verdict": "better"}
    rows = [
        AblationRow(
            kind=kind,
            filter=name,
            pairs=1000 + i,
            score=AblationScore(value=20.0 + i, low=18.0 + i, high=22.0 + i, runs=(20.0 + i,)),
            difference=float(i) if i else None,
            **(tested if i else {}),
        )
        for i, (kind, name) in enumerate(trainings)
    ]
    return Ablation(metric="bleu", sentences=500, split="dev", budget="1m", seeds=1, rows=tuple(rows))


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    report = CorpusReport.from_json(sample_report())
    return corpus_page(report, sample_ablation()).save(tmp_path_factory.mktemp("corpus") / "corpus.html")


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    visitor = Visitor(browser, "")
    yield visitor
    visitor.close()
    assert not visitor.console_errors


def open_page(visitor: Visitor, file: Path, language: str = "en", **settings: Any) -> Page:
    page = visitor.page(**settings)
    page.on("dialog", lambda dialog: visitor.console_errors.append(dialog.message))
    page.goto(f"{file.as_uri()}#language={language}")
    expect(page.locator("#ablation h2")).to_be_visible()
    return page


def test_hostile_texts_are_shown_and_execute_nothing(visitor: Visitor, page_file: Path) -> None:
    page = open_page(visitor, page_file)
    card = page.locator("#samples .sample-card").first
    expect(card).to_contain_text("</script><img src=x onerror=alert(1)> {{data}} ⟨202E⟩abc⟨202C⟩ ⟨0007⟩")
    expect(card.locator("code")).to_have_text("corpus.tsv:17")
    expect(page.locator("#repairs mark.added").first).to_contain_text("‹")
    assert page.locator("img").count() == 0


def test_the_page_says_what_matters_first(visitor: Visitor, page_file: Path) -> None:
    page = open_page(visitor, page_file)
    expect(page.locator(".counts")).to_contain_text("1,234,567")
    expect(page.locator(".remarks li").first).to_have_text(
        "From corpus.tsv:400 to line 499 the sides do not belong together: the source of each target is 1 line above."
    )
    expect(page.locator(".remarks")).to_contain_text("2 more misaligned blocks")
    expect(page.locator(".filter-table")).to_contain_text("1/4 to 4 (learnt from this corpus)")
    expect(page.locator("#ablation tbody tr").nth(2)).to_contain_text("better than all filters (p = 0.030)")
    cards = page.locator("#samples article").first.locator(".sample-card:visible")
    expect(cards).to_have_count(4)
    page.locator("#samples article details summary", has_text="3 more").first.click()
    expect(cards).to_have_count(7)


@pytest.mark.parametrize(("language", "heading"), [("en", "Misaligned blocks"), ("ko", "어긋난 구간")])
def test_a_phone_shows_everything_readably(visitor: Visitor, page_file: Path, language: str, heading: str) -> None:
    page = open_page(visitor, page_file, language, viewport={"width": 360, "height": 800})
    expect(page.locator("#blocks h2")).to_have_text(heading)
    page.wait_for_function(
        "document.querySelector('#panel-corpus').shadowRoot.querySelectorAll('svg text').length > 30"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, "only tables scroll sideways"
    labels = page.locator(".corpus").evaluate(LABEL_BOXES)
    for label in labels:
        assert label["size"] >= READABLE_PX and label["scale"] == pytest.approx(1, abs=0.01), label
        assert label["box"]["left"] >= -1 and label["box"]["right"] <= 361, label
    for first in labels:
        for second in labels:
            if first["chart"] == second["chart"] and first is not second:
                assert not overlap(first["box"], second["box"]), (first["text"], second["text"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visitor: Visitor, page_file: Path, scheme: str) -> None:
    page = open_page(visitor, page_file, color_scheme=scheme)
    expect(page.locator("#lengths svg").first).to_be_visible()
    violations = Axe().run(page).response["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in violations] == []


def test_the_page_of_a_corpus_needs_no_network(visitor: Visitor, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in read_split("dev")[:300]) * 2, "utf-8")
    assert main(["data", "report", str(corpus), "-o", str(tmp_path / "page.html")]) == 0
    page = visitor.page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("#duplicates tbody tr").first).to_be_visible()
    assert requests == [(tmp_path / "page.html").as_uri()]
