"""`tongsa data report`: the counts of `tongsa data clean`, the line of a slip, samples that are in the files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tongsa.cli import main
from tongsa.demo import read_split

PAIRS = read_split("train")[:800]
BAD = [
    ("It is a copied line of text.", "It is a copied line of text."),
    ("caf\u00c3\u00a9 &quot;quoted&quot;", "카페 &quot;인용&quot;"),
    PAIRS[0],
    ("</script><b>bold</b> & {{data}}", "굵은 글씨 \u202e"),
]


def write_corpus(path: Path, pairs: list[tuple[str, str]], more: str = "") -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs) + more, "utf-8")
    return path


def read_page(path: Path) -> Any:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert match
    return json.loads(match[1])["panels"]["corpus"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with bad lines, whose targets slip at line 401."""
    targets = [target for _, target in PAIRS]
    pairs = list(zip([source for source, _ in PAIRS], targets[:400] + targets[401:], strict=False))
    return write_corpus(tmp_path_factory.mktemp("report") / "corpus.tsv", pairs + BAD, "no tab\n")


def test_the_page_has_the_counts_of_the_cleaning_and_names_the_slip(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["data", "report", str(corpus), "-o", str(page)]) == 0
    output = capsys.readouterr().out
    assert main(["data", "clean", str(corpus), "-o", str(tmp_path / "clean.tsv")]) == 0
    cleaned = capsys.readouterr().out
    report = read_page(page)
    total = f"kept {report['kept']:,} + dropped {report['dropped']:,} = read {report['read']:,}"
    assert total in output and total in cleaned
    assert report["read"] == len(PAIRS) - 1 + len(BAD) + 1 == report["kept"] + report["dropped"]
    (block,) = report["blocks"]
    assert abs(block["first_line"] - 401) <= 1 and block["shift"] == 1
    assert f"misaligned: {corpus}:{block['first_line']} to line" in output
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_samples_are_lines_of_the_files(corpus: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["data", "report", str(corpus), "-o", str(page)]) == 0
    report, lines = read_page(page), corpus.read_text("utf-8").splitlines()
    samples = [sample for item in report["filters"] for sample in item["samples"]]
    assert {item["name"] for item in report["filters"] if item["samples"]} >= {"copies", "duplicates"}
    for sample in samples:
        if "&" not in lines[sample["line"] - 1] and "<" not in lines[sample["line"] - 1]:  # not repaired
            assert lines[sample["line"] - 1] == f"{sample['source']}\t{sample['target']}"
    for repair in report["repairs"]:
        for sample in repair["samples"]:
            assert sample["before"] in lines[sample["line"] - 1] and sample["before"] != sample["after"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "page.txt"], "Give a name that ends in .html"),
        (["--budget", "1m"], "Add --ablate"),
        (["--ablate", "--task", "language_model"], "Leave it out"),
        (["-o", "corpus.tsv"], "corpus.tsv"),
    ],
)
def test_wrong_arguments_are_refused_before_the_work(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "corpus.tsv", PAIRS[:30])
    assert main(["data", "report", "corpus.tsv", *options]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.tsv"]


def test_nothing_is_trained_for_a_corpus_without_drops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = write_corpus(tmp_path / "train.tsv", list(dict.fromkeys(PAIRS[:60])))
    page = tmp_path / "page.html"
    assert main(["data", "report", str(train), "-o", str(page), "--ablate"]) == 0
    assert "no filter dropped a pair" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert page.exists()
