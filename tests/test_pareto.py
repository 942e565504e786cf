"""The Pareto curve of BLEU against speed, and the significance test."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from jobs import write_model
from tiny import write_pairs
from tongsa.cli import main

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.slow
def test_contestants_on_the_curve_are_exactly_those_that_no_other_beats(tmp_path: Path) -> None:
    run, source, target = write_model(tmp_path / "plain"), tmp_path / "texts.txt", tmp_path / "references.txt"
    pairs = write_pairs(tmp_path / "pairs.tsv", [("a b c", "c b a"), ("나는 집에 간다", "x y z")])
    assert main(["shortlist", str(run), "--data", str(pairs)]) == 0
    source.write_text("나는 집에 간다\na b c\n" * 4, "utf-8")
    target.write_text("x y z\nc b a\n" * 4, "utf-8")
    picture = tmp_path / "curve.svg"
    command = [sys.executable, str(BENCHMARKS / "pareto.py"), str(run), "--data", str(source), str(target), "--json"]
    options = ["--beams", "1", "2", "--rounds", "1", "--picture", str(picture)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True, timeout=300)
    rows = json.loads(done.stdout)["contestants"]
    assert len(rows) == 8  # two beams each: torch, CTranslate2, int8, int8 with shortlist
    for row in rows:
        rivals = [other for other in rows if other is not row]
        better = [
            other
            for other in rivals
            if other["bleu"] >= row["bleu"] and other["sentences_per_second"] > row["sentences_per_second"]
        ]
        assert row["best"] or better
        assert not (row["best"] and better)
    root = ElementTree.parse(picture).getroot()  # noqa: S314 - written by this test
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title") if title.text]
    assert sorted(titles) == sorted(row["name"] for row in rows)


def test_a_system_that_loses_words_is_significantly_worse_and_an_equal_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    significance = importlib.import_module("pareto").significance
    references = [f"the {number} brown dogs run over a green field near house {number % 7}" for number in range(60)]
    nearly = [line.replace("brown", "black") for line in references]
    shuffled = [" ".join(sorted(line.split())) for line in references]
    others = [line.replace("brown", "dark" if i % 2 else "brown") for i, line in enumerate(references)]
    swapped = [line.replace("brown", "brown" if i % 2 else "dark") for i, line in enumerate(references)]
    worse, equal = significance(nearly, shuffled, references), significance(others, swapped, references)
    assert worse is not None and worse < 0.01
    assert equal is not None and equal > 0.1
    assert significance(nearly, list(nearly), references) == 1.0
