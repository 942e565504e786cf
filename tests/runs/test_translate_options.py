"""The options of `tongsa translate` and `tongsa evaluate` do what they say."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs import write_model
from tongsa.cli import main
from tongsa.errors import EXIT_INPUT_ERROR

Translate = Callable[..., tuple[int, list[str], str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("options") / "model")


@pytest.fixture
def translate(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Translate:
    """Return a function that translates three lines and returns the exit code, the output lines and the messages."""
    (tmp_path / "in.txt").write_text("나는 집에 간다\na b c\n\n", "utf-8")

    def run(*options: str) -> tuple[int, list[str], str]:
        code = main(["translate", str(model), str(tmp_path / "in.txt"), *options])
        printed = capsys.readouterr()
        return code, printed.out.split("\n")[:-1], printed.err

    return run


def test_glossary_terms_are_in_the_lines_whose_source_contains_them(translate: Translate, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("집에\tab 다\nc\n", "utf-8")
    code, lines, messages = translate("--glossary", str(tmp_path / "terms.tsv"), "--json")
    assert code == 0
    home, letters, empty = (json.loads(line) for line in lines)
    for record, source, target in ((home, "집에", "ab 다"), (letters, "c", "c")):
        (term,) = record["terms"]
        assert (term["source"], term["target"], term["expected"]) == (source, target, 1)
        assert term["satisfied"] == (term["occurrences"] >= 1) == (not term["skipped_reason"])
        assert not term["satisfied"] or target in record["text"]
        assert (f"term left out: {source} → {target}: " in messages) == (not term["satisfied"])
    assert empty["terms"] == []


def test_json_has_the_names_of_the_python_interface(translate: Translate) -> None:
    _, lines, _ = translate("--json", "--nbest", "2", "--alignments")
    record = json.loads(lines[0])
    shared = ["text", "score", "log_prob", "tokens", "token_log_probs"]
    warnings = ["unseen_words", "low_score", "longer_than_training"]
    assert list(record) == ["source", *shared, "source_tokens", "truncated", "terms", "nbest", "sentences", *warnings]
    assert [list(hypothesis) for hypothesis in record["nbest"]] == [[*shared, "alignment"]] * 2
    assert [record[name] for name in shared] == [record["nbest"][0][name] for name in shared]
    assert len(record["token_log_probs"]) == len(record["tokens"]) + 1
    assert sum(record["token_log_probs"]) == pytest.approx(record["log_prob"], abs=1e-4)


def test_outputs_begin_with_the_prefix_and_follow_decoding_settings(translate: Translate) -> None:
    rules = ["--set", "decoding.no_repeat_ngram=1", "--set", "decoding.min_tokens=4"]
    _, lines, _ = translate("--prefix", "나는 ab", *rules, "--json")
    for line in lines[:2]:
        (best,) = json.loads(line)["nbest"]
        assert best["text"].startswith("나는 ab")
        assert len(set(best["tokens"])) == len(best["tokens"]) >= 4


def test_samples_depend_only_on_the_seed(translate: Translate) -> None:
    first = translate("--sample", "--seed", "1", "--nbest", "3")
    assert first == translate("--sample", "--set", "sampling.seed=1", "--nbest", "3")
    assert first[1] != translate("--sample", "--seed", "2", "--nbest", "3")[1]
    assert first[1][0].count("\t") == 2


def test_every_chunk_of_a_job_has_its_own_seed(model: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("나는 집에 간다\n" * 4096, "utf-8")
    assert main(["translate", str(model), str(tmp_path / "long.txt"), "--sample", "-o", str(tmp_path / "out.txt")]) == 0
    lines = (tmp_path / "out.txt").read_text("utf-8").splitlines()
    assert lines[:2048] != lines[2048:], "two chunks were sampled with one seed"


def test_mbr_selects_one_of_the_samples(translate: Translate) -> None:
    _, samples, _ = translate("--sample", "--seed", "4", "--nbest", "8")
    _, selected, _ = translate("--mbr", "8", "--seed", "4")
    assert selected[0] in samples[0].split("\t")


def test_alignments_follow_each_text(translate: Translate) -> None:
    _, lines, _ = translate("--alignments", "--nbest", "2")
    cells = lines[0].split("\t")
    assert len(cells) == 4
    for text, alignment in zip(cells[::2], cells[1::2], strict=True):
        pairs = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        assert {target for _, target in pairs} == {*range(len(text.split()))}
        assert all(source < 3 for source, _ in pairs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "decoding.bream=5"], "did you mean 'beam'"),
        (["--set", "decoding.no_repeat_ngram"], "--set decoding.no_repeat_ngram: no key or no value"),
        (["--set", "decoding.no_repeat_ngram=two"], "no_repeat_ngram: 'two' is not"),
        (["--set", "decoding.beam_groups=3"], "beam_groups 3: does not divide the beam"),
        (["--set", "beam=3"], "Write --set decoding.beam=3"),
        (["--sample", "--set", "sampling.heat=2"], "sampling.heat: unknown key"),
        (["--sample", "--temperature", "0"], "temperature"),
        (["--top-p", "0.9"], "--top-p: only for sampling. Add --sample."),
        (["--nbest", "9"], "Use a wider beam (--beam N)"),
        (["--mbr", "4", "--nbest", "2"], "--mbr: not with beam search settings"),
        (["--mbr", "-3"], "--mbr -3: out of range. Give 1 to 1000."),
        (["--glossary", "nowhere.tsv"], "nowhere.tsv"),
        (["--restart"], "Add -o OUT"),
        (["--executor", "ray"], "Add -o OUT"),
    ],
)
def test_wrong_options_are_an_error_with_a_remedy(translate: Translate, options: list[str], message: str) -> None:
    code, lines, messages = translate(*options)
    assert code == EXIT_INPUT_ERROR
    assert lines == []
    assert message in messages


def test_the_signature_of_an_evaluation_has_the_decoding_settings(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_text("나는 집에\ta b\n", "utf-8")
    settings = ["coverage_penalty=0.3", "beam=4", "beam_groups=2"]
    options = [word for setting in settings for word in ("--set", f"decoding.{setting}")]
    assert main(["evaluate", str(model), "--data", str(tmp_path / "pairs.tsv"), *options, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["signatures"]["bleu"].endswith("|beam:4|alpha:0.6|coverage_penalty:0.3|beam_groups:2")
    assert report["truncated"] == 0
