"""Comparison of runs, bundles and files of outputs: agreement with evaluate, saved outputs, files, bad input."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tongsa
from command_line import run_command
from export.bundles import LABELS, TARGET, random_bundle, save_run, transformer
from tiny import CONFIGS, reversing, write_pairs
from tongsa import InputError
from tongsa.bundle import Bundle
from tongsa.config import dump_toml
from tongsa.decoding.config import DecodingConfig
from tongsa.runs.comparison import Comparison
from visualize.examples import HOSTILE, UNSAFE, ParsedPage

PAIRS = reversing(30, seed=3)


def with_short_outputs(bundle: Bundle) -> Bundle:
    """Return a model whose outputs are short: random weights do not stop."""
    return replace(bundle, decoding=DecodingConfig(beam=1, max_extra_tokens=2), metrics=("chrf", "exact_match"))


def write_run(folder: Path, seed: int = 1, **settings: Any) -> Path:
    """Write a random model as a run with settings and a journal."""
    run = save_run(folder, with_short_outputs(transformer(seed=seed)))
    table = {"data": {}, "model": {"kind": "transformer"} | settings, "training": {"seed": seed}}
    (run / "run.toml").write_text(dump_toml(table), "utf-8")
    updates = [{"step": step, "loss": 5 / step, "tokens": 100, "seconds": 0.5} for step in (1, 2)]
    records = [*updates, {"step": 2, "validation": {"chrf": 12.5, "dev_loss": float("nan")}, "best": True}]
    (run / "journal.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds of one setting, and one run of another setting. Do not modify them."""
    folder = tmp_path_factory.mktemp("runs")
    names = {"dot-1": (1, "dot"), "dot-2": (2, "dot"), "additive": (3, "additive")}
    return [write_run(folder / name, seed, attention=attention) for name, (seed, attention) in names.items()]


@pytest.fixture(scope="module")
def comparison(runs: list[Path]) -> Comparison:
    return tongsa.compare(runs, pairs=PAIRS)


def test_scores_and_intervals_are_those_of_evaluate(runs: list[Path], comparison: Comparison) -> None:
    for i, run in enumerate(runs):
        report = tongsa.evaluate(run, pairs=PAIRS)
        assert set(comparison.metrics) == set(report.scores)
        for name, score in report.scores.items():
            assert comparison.compared.statistics[name][i].value() == pytest.approx(score.value, abs=1e-9)
    additive = tongsa.evaluate(runs[2], pairs=PAIRS).scores["chrf"]
    assert comparison.metrics["chrf"].scores[1].interval == pytest.approx(additive.interval)


def test_seeds_are_grouped_unless_each_run_is_asked_for(runs: list[Path], comparison: Comparison) -> None:
    assert comparison.names == ["dot", "additive"]
    assert len(comparison.metrics["chrf"].scores[0].runs) == 2
    assert comparison.compared.differences.keys == ["model.attention", "training.seed"]
    single = tongsa.compare(runs, pairs=PAIRS, group_seeds=False)
    assert single.names == ["dot-1", "dot-2", "additive"]
    mean = sum(single.score(name, "chrf") for name in ("dot-1", "dot-2")) / 2
    assert comparison.score("dot", "chrf") == pytest.approx(mean)


def test_outputs_are_decoded_once_and_again_when_anything_changes(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "test.tsv", PAIRS)
    runs = [write_run(tmp_path / "one", 1), write_run(tmp_path / "two", 2)]

    def count_decoded(*arguments: object) -> int:
        result = run_command("compare", *runs, "--data", data, "-o", tmp_path / "c.html", "--json", *arguments)
        assert result.code == 0, result.stderr
        return len(re.findall(r"sentences in", result.stderr))

    assert count_decoded() == 2
    first = json.loads(next((runs[0] / "outputs").iterdir()).read_text("utf-8"))
    assert len(first["texts"]) == len(PAIRS)
    assert count_decoded() == 0
    (saved,) = (runs[1] / "outputs").iterdir()
    assert count_decoded("--beam", 2) == 2  # other settings
    for file in (runs[1] / "outputs").iterdir():
        file.write_text("{", "utf-8")  # damaged
    assert count_decoded() == 1
    assert json.loads(saved.read_text("utf-8"))["texts"]
    write_run(tmp_path / "two", 5)  # another model in the same folder
    assert count_decoded() == 1
    write_pairs(data, PAIRS[1:])
    assert count_decoded() == 2


def test_a_file_of_outputs_has_the_scores_of_the_model_that_wrote_it(tmp_path: Path, runs: list[Path]) -> None:
    """Also if some lines of the test set cannot be used: line n of the file belongs to line n of the test set."""
    lines = [f"{source}\t{target}\n" for source, target in PAIRS]
    data = tmp_path / "test.tsv"
    data.write_text("".join([*lines[:5], "no tab\n", *lines[5:]]), "utf-8")
    decoded = tongsa.compare(runs[:2], pairs=PAIRS).compared.outputs[0].texts
    outputs = tmp_path / "theirs.txt"
    outputs.write_text("\n".join([*decoded[:5], "an output of the bad line", *decoded[5:]]), "utf-8")
    comparison = tongsa.compare([runs[0], outputs], data)
    assert comparison.score("dot-1", "chrf") == comparison.score("theirs", "chrf")
    assert "Perplexity is left out: theirs has outputs only, no probabilities." in comparison.remarks
    assert "1 lines of the test set could not be used and are left out." in comparison.remarks
    assert comparison.verdicts() == ["dot-1 and theirs: no evidence of a difference (p = 1.000)"]


def test_perplexity_is_compared_only_between_equal_tokenizers(tmp_path: Path, runs: list[Path]) -> None:
    other = save_run(tmp_path / "other", with_short_outputs(transformer(target=TARGET, tie_embeddings="target")))
    comparison = tongsa.compare([runs[0], other], pairs=PAIRS)
    assert list(comparison.metrics) == ["chrf", "exact_match"]
    assert any("different tokenizers" in remark for remark in comparison.remarks)
    assert "perplexity" in tongsa.compare(runs[:2], pairs=PAIRS).metrics


def test_a_metric_that_is_not_a_number_is_left_out_and_said(tmp_path: Path, runs: list[Path]) -> None:
    short = save_run(tmp_path / "short", with_short_outputs(transformer(positions="learned", max_positions=16)))
    too_long = [(source, "가 " * 20) for source, _ in PAIRS]
    comparison = tongsa.compare([runs[0], short], pairs=too_long)
    assert list(comparison.metrics) == ["chrf", "exact_match"]
    assert "perplexity is left out: it is not a number for short." in comparison.remarks


def test_a_model_that_gives_nan_is_named(tmp_path: Path, runs: list[Path]) -> None:
    broken = with_short_outputs(transformer(seed=8))
    with torch.no_grad():
        next(broken.model.parameters()).fill_(3e38)  # finite, but sums are not
    with pytest.raises(InputError, match="broken: model: its scores are NaN"):
        tongsa.compare([runs[0], save_run(tmp_path / "broken", broken)], pairs=PAIRS)


def test_classifiers_and_language_models_are_compared_too(tmp_path: Path) -> None:
    config = CONFIGS["transformer_classifier"]
    bundles = [random_bundle("transformer_classifier", config, target=LABELS, seed=seed) for seed in (1, 2)]
    classifiers = [save_run(tmp_path / f"c{i}", bundle) for i, bundle in enumerate(bundles)]
    texts = [(source, ("good", "좋다")[i % 2]) for i, (source, _) in enumerate(PAIRS)]
    labels = tongsa.compare(classifiers, pairs=texts)
    assert list(labels.metrics) == ["accuracy", "macro_f1", "perplexity"]
    assert labels.score("c0", "accuracy") == tongsa.evaluate(classifiers[0], pairs=texts).scores["accuracy"].value
    assert labels.page.html
    models = [random_bundle("transformer_lm", CONFIGS["transformer_lm"], seed=seed) for seed in (1, 2)]
    generators = [save_run(tmp_path / f"g{i}", bundle) for i, bundle in enumerate(models)]
    (tmp_path / "texts.txt").write_text("".join(f"{source}\n" for source, _ in PAIRS), "utf-8")
    perplexities = tongsa.compare(generators, tmp_path / "texts.txt")
    assert list(perplexities.metrics) == ["perplexity"]
    assert perplexities.page.html


def test_tables_hold_the_same_numbers_in_every_format(comparison: Comparison, tmp_path: Path) -> None:
    value = f"{comparison.score('dot', 'chrf'):.2f}"
    rows = {row["system"]: row for row in csv.DictReader(io.StringIO(save_table(comparison, tmp_path / "t.csv")))}
    assert rows["dot"]["chrf"] == value and rows["dot"]["runs"] == "2"
    assert float(rows["dot"]["chrf_low"]) <= float(value) <= float(rows["dot"]["chrf_high"])
    assert f"| dot | 2 | {value} [" in save_table(comparison, tmp_path / "t.md")
    latex = save_table(comparison, tmp_path / "t.tex")
    assert f"dot (2 runs) & {value} & " in latex and latex.count("\\\\") == 1 + 2 * 2
    numbers = json.loads(save_table(comparison, tmp_path / "t.json"))
    assert f"{numbers['metrics'][0]['scores'][0]['value']:.2f}" == value
    assert value in str(comparison)
    assert re.search(r" \d\.\d\d \[\d\.\d\d, \d\.\d\d\]", str(comparison))  # small numbers, such as perplexities
    assert max(map(len, str(comparison).splitlines())) <= 80
    with pytest.raises(InputError, match=r"t\.xlsx: unknown format"):
        comparison.save(tmp_path / "t.xlsx")


def save_table(comparison: Comparison, path: Path) -> str:
    return comparison.save(path).read_text("utf-8")


def test_names_are_escaped_in_every_format(tmp_path: Path) -> None:
    names = ["a_b & 50%", "x|<b>y</b>"]
    outputs = [" ".join(source) for source, _ in PAIRS]
    files = [tmp_path / f"{name}.txt".replace("/", "∕") for name in names]
    for i, file in enumerate(files):
        file.write_text(
            "".join(f"{output if j % (i + 2) else HOSTILE}\n" for j, output in enumerate(outputs)), "utf-8", "replace"
        )
    comparison = tongsa.compare(files, pairs=[(f"{source} {HOSTILE}", target) for source, target in PAIRS])
    assert r"a\_b \& 50\%" in save_table(comparison, tmp_path / "t.tex")
    assert r"x\|\<b\>y" in save_table(comparison, tmp_path / "t.md")
    assert not re.search(UNSAFE, ParsedPage(comparison.page.html).json_text)


def test_views_show_the_sentences_in_which_systems_differ(runs: list[Path], tmp_path: Path) -> None:
    outputs = tongsa.compare(runs[:2], pairs=PAIRS).compared.outputs[0].texts
    sources = [source for source, _ in PAIRS]
    data = write_pairs(tmp_path / "test.tsv", list(zip(sources, outputs, strict=True)))  # the first model is right
    result = run_command(
        "compare", *runs[:2], "--each-run", "--data", data, "--views", 2, "-o", tmp_path / "my page.html"
    )
    assert result.code == 0, result.stderr
    written = json.loads(ParsedPage((tmp_path / "my page.html").read_text("utf-8")).json_text)["panels"]["compare"]
    rows = written["sentences"]["rows"]
    pages = [{"file": f"my%20page-view-{number}.html", "systems": [0, 1]} for number in (1, 2)]
    assert [row["view"] for row in rows][:3] == [*pages, None]
    view = json.loads(ParsedPage((tmp_path / "my page-view-2.html").read_text("utf-8")).json_text)["panels"]["family"]
    assert [view["text"], view["reference"]] == [rows[1]["source"], rows[1]["reference"]]
    for column, system in zip(view["columns"], written["systems"], strict=True):  # both models on one page
        assert column["name"] == system["name"] and column["moments"] and column["tree"]["steps"]


def test_curves_and_cost_come_from_the_journal(comparison: Comparison) -> None:
    page = comparison.page.panels["compare"]
    assert [panel["name"] for panel in page["curves"]] == ["loss", "chrf"]  # the dev loss is not a number
    assert page["curves"][0]["lines"][0]["points"] == [(1, 100, 0.5, 5.0), (2, 200, 1.0, 2.5)]
    assert page["curves"][1]["lines"][0]["points"] == [(2, 200, 1.0, 12.5)]
    assert [page["systems"][0][key] for key in ("steps", "tokens", "seconds", "seed")] == [2, 200, 1.0, 1]


BAD_INPUT = {
    "one system": ("A --data test.tsv", "compare: one system only. Give at least two"),
    "no test set": ("A B", "compare: no test set. Add --data FILE."),
    "fewer outputs": (
        "A short.txt --data test.tsv",
        "short.txt: 29 lines, but the test set test.tsv has 30. Give a file",
    ),
    "one sentence": ("A B --data one.tsv", "one.tsv: one sentence only"),
    "no model yet": ("A unfinished --data test.tsv", "unfinished: this run has no model yet. Resume it: "),
    "other task": ("A labels --data test.tsv", "systems of different tasks"),
    "other language": ("A german --data test.tsv", "german: a model for en → de"),
    "recipe": ("recipe.toml A --data test.tsv", "recipe.toml: a recipe, not a system. Add --vary"),
    "the same system twice": ("A B A --data test.tsv", "A: given twice. Leave out one of them."),
    "no such system": ("A none --data test.tsv", "none: no such folder"),
    "table as a page": ("A B --data test.tsv -o x.csv", "-o x.csv: the page is an HTML file. Write --table x.csv"),
    "page as a table": ("A B --data test.tsv --table x.html", "--table x.html: a table is no page"),
    "unknown format": ("A B --data test.tsv --table x.xls", "x.xls: unknown format. Give a name that ends in"),
    "parallel files of different length": ("A B --data a.en a.ko", "not parallel (2 and 1 lines)"),
    "unknown setting": ("A B --data test.tsv --set decoding.beams=2", "did you mean 'beam'?"),
    "negative views": ("A B --data test.tsv --views -1", "--views -1: too few"),
}


@pytest.fixture(scope="module")
def folder(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bad")
    for name, run in zip("AB", runs, strict=False):
        (path / name).symlink_to(run)
    write_pairs(path / "test.tsv", PAIRS)
    write_pairs(path / "one.tsv", PAIRS[:1])
    (path / "short.txt").write_text("가\n" * 29, "utf-8")
    (path / "unfinished").mkdir()
    (path / "unfinished" / "run.toml").write_text("", "utf-8")
    save_run(path / "labels", random_bundle("transformer_classifier", CONFIGS["transformer_classifier"], target=LABELS))
    save_run(path / "german", replace(with_short_outputs(transformer()), target_language="de"))
    (path / "recipe.toml").write_text("", "utf-8")
    (path / "a.en").write_text("a\nb\n", "utf-8")
    (path / "a.ko").write_text("가\n", "utf-8")
    return path


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_gets_a_sentence_and_writes_nothing(case: str, folder: Path) -> None:
    command, message = BAD_INPUT[case]
    before = {path.name for path in folder.iterdir()}
    result = run_command("compare", *command.split(), cwd=folder)
    assert result.code == 2, result.stderr
    assert message in result.error
    assert result.stdout == ""
    assert {path.name for path in folder.iterdir()} == before
