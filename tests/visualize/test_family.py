"""The data of the family page, and what bad input gets."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tongsa
from command_line import run_command
from export.bundles import LABELS, SOURCE, TARGET, random_bundle, save_run
from tiny import CONFIGS, kind_of
from tongsa import InputError
from tongsa.decoding.config import DecodingConfig
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.journal import read_journal
from tongsa.visualize.family import MAX_CURVE_POINTS, column_names, find_family, thin_curve
from tongsa.visualize.probe import pack_probe, take_probe
from visualize.examples import HOSTILE, UNSAFE, ParsedPage

TEXT = "a b c"


def save_kind(folder: Path, name: str, target: Tokenizer = SOURCE, *, texts: list[str] | None = None) -> Path:
    """Save a random model as a run with a journal; with `texts`, also with probes at steps 0 and 10."""
    decoding = DecodingConfig(beam=2, max_extra_tokens=3)
    bundle = replace(random_bundle(kind_of(name), CONFIGS[name], target=target), decoding=decoding)
    run = save_run(folder, bundle)
    updates = [{"step": step, "loss": 5 / step, "tokens": 100, "seconds": 0.5} for step in range(1, 11)]
    validation = {"step": 10, "validation": {"bleu": 12.5, "dev_loss": 1.5}, "best": True, "seconds": 1}
    lines = [json.dumps(record) for record in [*updates, validation]]
    (run / "journal.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    moments = [{"step": step, "seconds": step / 2, "tokens": 100 * step} for step in (0, 10)]
    records = [pack_probe(take_probe(bundle.text_model(), text), moment) for moment in moments for text in texts or ()]
    if records:
        (run / "probes.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return run


@pytest.mark.parametrize("name", CONFIGS)
def test_every_kind_has_a_column(name: str, tmp_path: Path) -> None:
    target: Tokenizer = LABELS if CONFIGS[name].task == "classification" else SOURCE
    run = save_kind(tmp_path / "run", name, target, texts=[TEXT])
    (column,) = tongsa.family(run, TEXT).panels["family"]["columns"]  # type: ignore[arg-type]
    assert [moment["step"] for moment in column["moments"]] == [0, 10, None]
    assert (column["tree"] is not None) == (CONFIGS[name].task == "seq2seq")
    for moment in column["moments"]:
        assert len(moment["top"]) == len(moment["target"]["tokens"]) == len(moment["token_log_probs"])
        assert {str(token) for step in moment["top"] for token, _ in step} <= {*map(str, column["vocabulary"])}
        if moment["reads"] == "source":
            shape = (len(moment["target"]["tokens"]), len(column["source"]["tokens"]))
            assert tuple(moment["alignment"]["shape"]) == shape
        assert ("sample" in moment) == (CONFIGS[name].task == "language_model")
    saved = column["moments"][-1]
    assert "heads" not in column["moments"][0]
    if "heads" in saved:
        heads = [np.frombuffer(base64.b64decode(head), np.uint8) for layer in saved["heads"] for head in layer]
        mean = np.frombuffer(base64.b64decode(saved["alignment"]["values"]), np.uint8)
        assert len(heads) > 1
        assert_allclose(np.mean(heads, axis=0), mean, atol=1)  # of 255
    assert column["score"] == {"name": "bleu", "value": 12.5, "step": 10}
    assert column["loss"][-1][:2] == [10, 5]
    assert column["dev_loss"] == [[10, 5, 1.5]]


def test_runs_with_other_tokenizers_have_the_same_words(tmp_path: Path) -> None:
    first = save_kind(tmp_path / "one", "rnn_attention")
    second = save_kind(tmp_path / "two", "transformer, neither norm nor positions", TARGET)
    columns = tongsa.family([first, second], TEXT).panels["family"]["columns"]
    assert [column["source"]["words"] for column in columns] == [["a", "b", "c", "</s>"]] * 2
    assert [column["family"]["key"] for column in columns] == ["bahdanau", "vaswani"]
    assert [(len(column["moments"]), column["probed"]) for column in columns] == [(1, [])] * 2


def test_a_sentence_that_was_not_probed_has_no_history(tmp_path: Path) -> None:
    run = save_kind(tmp_path / "run", "rnn", texts=["c b a"])
    (column,) = tongsa.family([run], TEXT).panels["family"]["columns"]
    assert (len(column["moments"]), column["probed"]) == (1, ["c b a"])


def test_two_papers_share_the_kind_rnn() -> None:
    families = [find_family(random_bundle("rnn", CONFIGS[name])).key for name in CONFIGS if kind_of(name) == "rnn"]
    assert families == ["cho", "sutskever", "cho", "sutskever"]


def test_columns_of_equal_names_have_their_paths() -> None:
    assert column_names([Path("a/run"), Path("b/run"), Path("c/other")]) == [
        str(Path("a/run")),
        str(Path("b/run")),
        "other",
    ]


def test_a_thinned_curve_keeps_its_ends_and_its_early_points() -> None:
    points = [(float(step), step / 10, 1 / step) for step in range(1, 5001)]
    thinned = thin_curve(points)
    assert len(thinned) <= MAX_CURVE_POINTS
    assert [step for step, _, _ in thinned[:3]] == [1, 2, 3]
    assert thinned[-1][0] > 4800
    assert thin_curve(points[:1]) == [[1.0, 0.1, 1.0]]
    assert thin_curve([]) == []


def test_hostile_text_stays_data(tmp_path: Path) -> None:
    text = HOSTILE[:38]
    html = tongsa.family([save_kind(tmp_path / "run", "rnn")], text, reference=HOSTILE).html
    assert not re.search(UNSAFE, ParsedPage(html).json_text)


def test_bad_input_gets_a_message(tmp_path: Path) -> None:
    run = save_kind(tmp_path / "run", "rnn")
    classifier = save_kind(tmp_path / "classifier", "transformer_classifier", LABELS)
    cases = {
        "the text is empty. Give a sentence.": ([run], " "),
        "0 runs. Give 1 to 12.": ([], TEXT),
        "13 runs. Give 1 to 12.": ([run] * 13, TEXT),
        "runs of different tasks": ([run, classifier], TEXT),
        "Give a sentence of at most 40 tokens.": ([run], "a b c d e f g " * 6),
        "but this text has several": ([run], "I go home. I love you."),
        "no such folder": ([tmp_path / "missing"], TEXT),
    }
    for message, (runs, text) in cases.items():
        with pytest.raises(InputError, match=re.escape(message)):
            tongsa.family(runs, text)
    assert read_journal(run / "probes.jsonl") == []


def test_the_command_writes_the_traces_that_the_page_links_to(tmp_path: Path) -> None:
    runs = [save_kind(tmp_path / name, name) for name in ("rnn", "transformer")]
    result = run_command("family", *map(str, runs), TEXT, "-o", "my page.html", cwd=tmp_path)
    assert result.stdout.splitlines() == ["my page.html", "my page-trace-1.html", "my page-trace-2.html"], result.stderr
    html = (tmp_path / "my page.html").read_text("utf-8")
    assert "my%20page-trace-2.html" in ParsedPage(html).json_text
    assert '"trace":' in ParsedPage((tmp_path / "my page-trace-2.html").read_text("utf-8")).json_text
    printed = run_command("family", str(runs[0]), TEXT, "-o", "-", cwd=tmp_path)
    assert "<!doctype html>" in printed.stdout and "-trace-" not in printed.stdout
