"""The benchmarks of the statistics: published outputs are rescored, simulated rates are recorded."""

import json
from pathlib import Path

import pytest

from test_benchmark_tables import copy_pages, run_tables
from test_benchmarks import BENCHMARKS, run_report, run_script

SHARED_DATA = BENCHMARKS.parent.parent / "shared/data"
TABLE = """## lafand-mt
Text.
| direction | mT5-base | ByT5-base |
|---|--:|--:|
| en→swa | {} / 100.0 | 0.0 / 0.0 |

## other
"""


def write_data(folder: Path, bleu: str) -> None:
    """Write a test set of which mT5-base has every word right and ByT5-base none."""
    data = folder / "lafand-mt/en-swa"
    (data / "published").mkdir(parents=True)
    (folder / "README.md").write_text(TABLE.format(bleu), "utf-8")
    for name in ("test.en", "test.swa", "published/mt5.swa"):
        (data / name).write_text("habari ya asubuhi rafiki yangu\nasante sana kwa kila kitu", "utf-8")
    (data / "published/byt5.swa").write_text("x\ny\n", "utf-8")


@pytest.mark.parametrize(("published", "code"), [("100.0", 0), ("99.7", 1)])
def test_a_score_that_is_not_the_one_in_the_readme_is_an_error(tmp_path: Path, published: str, code: int) -> None:
    write_data(tmp_path, published)
    done = run_script("published_outputs.py", "--folder", str(tmp_path), "--json")
    assert done.returncode == code, done.stderr
    first, second = json.loads(done.stdout)["rows"]
    assert (first["our bleu"], second["our bleu"]) == (pytest.approx(100), 0)


def test_without_the_data_the_script_says_what_it_needs(tmp_path: Path) -> None:
    done = run_script("published_outputs.py", "--folder", str(tmp_path))
    assert done.returncode == 2
    assert "README.md" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED_DATA / "lafand-mt").is_dir(), reason="the data set is not here")
def test_the_outputs_of_fifteen_published_systems_have_the_scores_in_the_readme() -> None:
    rows = run_report("published_outputs.py", "--json")["rows"]
    assert len(rows) == 15
    assert max(row["difference"] for row in rows) <= 0.1


def test_simulated_rates_are_recorded_and_shown(tmp_path: Path) -> None:
    root = copy_pages(tmp_path)
    results = root / "benchmarks/results"
    arguments = ["--trials", "8", "--seeds", "2", "--sentences", "30", "--metrics", "mean"]
    done = run_script("seed_test_simulation.py", *arguments, "--record", "--results", str(results))
    assert done.returncode == 0, done.stderr
    rows = {row["id"]: row for row in json.loads((results / "statistics.json").read_text("utf-8"))["rows"]}
    recorded = next(row for name, row in rows.items() if name.startswith("seed-test-false-alarms-mean-2-30"))
    assert recorded["details"]["comparisons for each"] == 8
    assert recorded["value"] == max(rate for name, rate in recorded["details"].items() if name.startswith("seeds:"))
    assert run_tables("--root", str(root)).returncode == 0
    assert "mean, 2 seeds, 30 sentences" in (root / "benchmarks/reports/statistics.md").read_text("utf-8")
