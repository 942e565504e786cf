"""`tongsa translate` and `tongsa evaluate` do what their options say."""

import json
from pathlib import Path

import pytest

from jobs import write_model
from tongsa.cli import main
from tongsa.errors import EXIT_INPUT_ERROR


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("orders") / "model")


@pytest.fixture
def said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """What is printed for three lines, and the exit code."""
    (tmp_path / "in.txt").write_text("나는 집에 간다\na b c\n\n", "utf-8")

    def run(*options: str) -> tuple[int, list[str], str]:
        code = main(["translate", str(model), str(tmp_path / "in.txt"), *options])
        printed = capsys.readouterr()
        return code, printed.out.split("\n")[:-1], printed.err

    return run


def test_terms_are_in_the_lines_that_hold_their_source(said, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    (tmp_path / "terms.tsv").write_text("집에\tab 다\nc\n", "utf-8")
    code, lines, _ = said("--terms", str(tmp_path / "terms.tsv"), "--json")
    assert code == 0
    home, letters, empty = (json.loads(line) for line in lines)
    assert home["terms"] == [
        {"source": "집에", "target": "ab 다", "text": "ab 다", "wanted": 1, "found": 1, "there": True}
    ]
    assert "ab 다" in home["text"]
    assert letters["terms"] == [{"source": "c", "target": "c", "text": "c", "wanted": 1, "found": 1, "there": True}]
    assert "terms" not in empty
    _, free, _ = said("--json")
    assert "ab 다" not in json.loads(free[0])["text"]


def test_outputs_begin_with_the_prefix_and_repeat_nothing(said) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    _, lines, _ = said("--prefix", "나는 ab", "--search", "no_repeat_ngram=1", "min_tokens=4", "--json")
    for line in lines[:2]:
        (best,) = json.loads(line)["nbest"]
        assert best["text"].startswith("나는 ab")
        assert len(set(best["pieces"])) == len(best["pieces"]) >= 4


def test_draws_depend_on_their_seed_alone(said) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    first = said("--sample", "seed=1", "--nbest", "3")
    assert first == said("--sample", "seed=1", "--nbest", "3")
    assert first[1] != said("--sample", "seed=2", "--nbest", "3")[1]
    assert first[1][0].count("\t") == 2


def test_every_chunk_of_a_job_draws_anew(model: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("나는 집에 간다\n" * 4096, "utf-8")
    assert main(["translate", str(model), str(tmp_path / "long.txt"), "--sample", "-o", str(tmp_path / "out.txt")]) == 0
    lines = (tmp_path / "out.txt").read_text("utf-8").splitlines()
    assert lines[:2048] != lines[2048:], "two chunks were drawn with one seed"


def test_the_draw_that_agrees_best_is_one_of_the_draws(said) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    _, draws, _ = said("--sample", "seed=4", "--nbest", "8")
    _, chosen, _ = said("--mbr", "8", "--sample", "seed=4")
    assert chosen[0] in draws[0].split("\t")


def test_alignments_stand_behind_each_text(said) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    _, lines, _ = said("--alignments", "--nbest", "2")
    cells = lines[0].split("\t")
    assert len(cells) == 4
    for text, links in zip(cells[::2], cells[1::2], strict=True):
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert {target for _, target in pairs} == {*range(len(text.split()))}
        assert all(source < 3 for source, _ in pairs)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--search", "bream=5"], "did you mean 'beam'"),
        (["--search", "no_repeat_ngram"], "--search no_repeat_ngram: write key=value"),
        (["--search", "no_repeat_ngram=two"], "no_repeat_ngram: 'two' is not"),
        (["--search", "beam_groups=3"], "beam_groups 3 does not divide the beam"),
        (["--sample", "heat=2"], "heat: unknown key"),
        (["--sample", "temperature=0"], "temperature"),
        (["--nbest", "9"], "ask for a wider beam"),
        (["--mbr", "4", "--nbest", "2"], "--mbr"),
        (["--mbr", "-3"], "--mbr -3: draw between 1 and"),
        (["--terms", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(said, options: list[str], sentence: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    code, lines, messages = said(*options)
    assert code == EXIT_INPUT_ERROR
    assert lines == []
    assert sentence in messages


def test_an_evaluation_signs_how_it_searched(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.tsv").write_text("나는 집에\ta b\n", "utf-8")
    options = ["--search", "coverage_penalty=0.3", "beam=4", "beam_groups=2", "--json"]
    assert main(["evaluate", str(model), "--pairs", str(tmp_path / "pairs.tsv"), *options]) == 0
    signature = json.loads(capsys.readouterr().out)["signatures"]["bleu"]
    assert signature.endswith("|beam:4|alpha:0.6|coverage_penalty:0.3|beam_groups:2")
