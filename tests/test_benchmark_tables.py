"""The tables of the benchmark pages are those that benchmarks/tables.py generates from benchmarks/results."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES, FIGURE = ROOT / "benchmarks/tables.py", ROOT / "benchmarks/ladder_figure.py"
PAGES = [
    "README.md",
    "README.ko.md",
    "benchmarks/README.md",
    *(f"benchmarks/reports/{path.name}" for path in sorted((ROOT / "benchmarks/reports").glob("*.md"))),
]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def run_tables(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(TABLES), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def copy_pages(target: Path) -> Path:
    """Copy the pages and the results, for a test that changes them."""
    for folder in ("results", "reports"):
        shutil.copytree(ROOT / "benchmarks" / folder, target / "benchmarks" / folder)
    for name in ("README.md", "README.ko.md"):
        shutil.copy(ROOT / name, target)
    shutil.copy(ROOT / "benchmarks/README.md", target / "benchmarks")
    return target


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copy_pages(tmp_path)


def change_value(root: Path, file: str, row_id: str, value: float) -> None:
    path = root / f"benchmarks/results/{file}.json"
    results = json.loads(path.read_text("utf-8"))
    (row,) = [row for row in results["rows"] if row["id"] == row_id]
    row["value"] = value
    path.write_text(json.dumps(results, ensure_ascii=False), "utf-8")


def test_every_page_agrees_with_the_results() -> None:
    done = run_tables("--check")
    assert done.returncode == 0, done.stderr


def test_the_check_fails_when_a_result_changes_and_passes_after_rewriting(copy: Path) -> None:
    assert run_tables("--check", "--root", str(copy)).returncode == 0
    change_value(copy, "quality", "multi30k-epyc", 99.75)
    done = run_tables("--check", "--root", str(copy))
    assert done.returncode == 1
    for page in ("README.md", "benchmarks/README.md", "benchmarks/reports/quality.md"):
        assert f"{copy / page}: disagrees" in done.stderr
    assert "Traceback" not in done.stderr

    assert run_tables("--root", str(copy)).returncode == 0
    assert "99.75" in (copy / "README.md").read_text("utf-8")
    assert run_tables("--check", "--root", str(copy)).returncode == 0


def test_what_the_demo_prints_in_the_readmes_is_generated(copy: Path) -> None:
    change_value(copy, "quality", "demo-long-epyc", 58.25)
    assert run_tables("--root", str(copy)).returncode == 0
    for name in ("README.md", "README.ko.md"):
        assert "  test-long  exact match  58.25 %   BLEU  87.8   (500 sentences" in (copy / name).read_text("utf-8")
        assert "Trained in 2:09, everything in 2:18." in (copy / name).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_check_fails_when_a_table_is_edited_by_hand(copy: Path, page: str) -> None:
    path = copy / page
    text = path.read_text("utf-8")
    path.write_text(text.replace("<!-- end -->", "| edited |\n<!-- end -->", 1), "utf-8")
    done = run_tables("--check", "--root", str(copy))
    assert done.returncode == 1
    assert str(path) in done.stderr


def test_the_figure_of_the_ladders_is_that_of_the_results(copy: Path) -> None:
    def check() -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, str(FIGURE), "--check", "--root", str(copy)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert check().returncode == 0
    path = copy / "benchmarks/results/ladder-phrasebook.json"
    path.write_text(re.sub(r'("17–21 words": )[\d.]+', r"\g<1>1.0", path.read_text("utf-8")), "utf-8")
    done = check()
    assert done.returncode == 1 and "ladder.svg: disagrees" in done.stderr and "ladder.ko.svg: disagrees" in done.stderr


def test_a_table_that_no_page_shows_is_an_error(copy: Path) -> None:
    (copy / "benchmarks/reports/serving.md").unlink()
    done = run_tables("--check", "--root", str(copy))
    assert done.returncode == 1
    assert "no page shows serving/" in done.stderr


@pytest.mark.parametrize("page", [*PAGES, "benchmarks/LOG.md"])
def test_links_between_the_pages_lead_to_files(page: str) -> None:
    path = ROOT / page
    for target in LINK.findall(path.read_text("utf-8")):
        assert (path.parent / target).exists(), f"{page}: {target} does not exist"
