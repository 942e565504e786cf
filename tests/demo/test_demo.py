"""The demo in small: everything it promises to leave behind, after a few steps."""

import json
from pathlib import Path

import pytest

from tiny import SMALL
from tongsa.cli import main
from tongsa.data.corpus import read_lines

SETTINGS = [
    word for setting in (*SMALL, "training.steps=12", "training.validate_sentences=20") for word in ("--set", setting)
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "runs" / "demo"
    assert main(["demo", "--run", str(folder), *SETTINGS, "--set", "tokenizer.vocab_size=1200"]) == 0
    return folder


def test_it_leaves_scores_and_a_page(demo: Path) -> None:
    scores = json.loads((demo / "scores.json").read_text("utf-8"))
    for name in ("test", "test-long"):
        assert {"exact_match", "bleu", "signatures"} <= scores[name].keys()
    assert scores["train_seconds"] > 0
    assert scores["tokens_per_second"] > 0
    assert scores["parameters"] > 10_000
    page = (demo / "attention.html").read_text("utf-8")
    assert "I go home" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for panel in ("attention", "tree", "positions", "curves"):
        assert f'id="style-{panel}"' in page, "the demo has all tabs"


def test_no_test_sentence_was_in_train(demo: Path) -> None:
    train = set(read_lines(demo / "data" / "train.tsv"))
    for name in ("dev", "test", "test-long"):
        assert train.isdisjoint(read_lines(demo / "data" / f"{name}.tsv"))


def test_run_again_it_begins_anew(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--run", str(demo), *SETTINGS, "--set", "tokenizer.vocab_size=1200"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("✓") + printed.count("✗") == 12 + 2  # twelve sentences, and the line that explains the marks
    assert "tongsa translate" in printed


def test_it_does_not_touch_a_folder_that_is_not_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", "utf-8")
    assert main(["demo", "--run", str(tmp_path)]) == 2
    assert "not made by tongsa demo" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text("utf-8") == "years of work"
