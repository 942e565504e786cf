"""Edge cases of runs and commands that once failed."""

import argparse
import io
import json
import random
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tiny import reversing, write_pairs
from tongsa import bundle, runs
from tongsa.cli import main, score
from tongsa.data.ledger import Pair
from tongsa.errors import InputError
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs import planner
from tongsa.runs.preset_choice import TimeBudget, choose_preset

ROOT = Path(__file__).parents[2]
QUICK = ["training.threads=1", "training.precision=fp32", "training.batch_tokens=256", "training.steps=2"]
SHORT = ["training.validate_sentences=2", "decoding.max_extra_tokens=2"]
STACK = ["model.width=16", "model.ffn_width=16", "model.heads=2"]
TRANSLATOR = [*QUICK, *SHORT, *STACK, "model.encoder_layers=1", "model.decoder_layers=1", "tokenizer.vocab_size=290"]
HOPS = ["model.width=8", "model.embedding=8", "model.attention=8", "model.hops=2", "model.hidden=8"]
CLASSIFIER = [*QUICK, *HOPS, "model.kind=structured_self_attention", "tokenizer.vocab_size=400"]


def reviews(count: int) -> list[tuple[str, str]]:
    generator = random.Random(1)
    return [(f"영화 {i}", generator.choice(["좋다", "나쁘다"])) for i in range(count)]


def train(folder: Path, pairs: list[tuple[str, str]], settings: list[str], dev: Path | None = None) -> Path:
    data = write_pairs(folder / "data.tsv", pairs)
    runs.train(run=folder / "run", data=data, settings=settings, quiet=True, dev=dev or ())
    return folder / "run"


def test_two_vocabularies_cannot_tie_all_embeddings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs one vocabulary"):
        train(tmp_path, reversing(100), [*TRANSLATOR, "tokenizer.shared=false", "tokenizer.vocab_size=270"])


def test_a_second_attempt_trains_the_requested_tokenizer(tmp_path: Path) -> None:
    learned = ["model.positions=learned", "model.max_positions=100"]
    with pytest.raises(InputError, match=r"data\.max_tokens"):
        train(tmp_path, reversing(100), [*TRANSLATOR, *learned])
    run = train(tmp_path, reversing(100), [*TRANSLATOR, "tokenizer.model=char"])
    assert bundle.load_bundle(run).source_tokenizer.model_type == "char"


def test_a_classifier_is_validated_on_its_entire_dev_set(tmp_path: Path) -> None:
    """A file sorted by label: the first 200 lines have the same label."""
    pairs = [(f"나쁜 {i}", "나쁘다") for i in range(220)] + [(f"좋은 {i}", "좋다") for i in range(220)]
    run = train(tmp_path, pairs, CLASSIFIER, dev=write_pairs(tmp_path / "dev.tsv", pairs))
    assert "(440 pairs)" in (run / "model" / "card.md").read_text("utf-8")


def test_labels_with_one_example_do_not_stop_a_run(tmp_path: Path) -> None:
    pairs = [*reviews(100), *((f"희귀 {i}", f"이름 {i}") for i in range(60))]
    train(tmp_path, pairs, [*CLASSIFIER, "training.seed=2"])


def test_evaluate_names_an_unknown_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train(tmp_path, reviews(60), CLASSIFIER)
    odd = write_pairs(tmp_path / "odd.tsv", [("영화 1", "좋다"), ("영화 2", "그저 그렇다")])
    assert main(["evaluate", str(run), "--data", str(odd)]) == 2
    assert "그저 그렇다" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "best_metric"), [(CLASSIFIER, "bleu"), (TRANSLATOR, "accuracy"), (TRANSLATOR, "wer")]
)
def test_a_best_metric_that_is_not_measured_is_an_error(tmp_path: Path, settings: list[str], best_metric: str) -> None:
    pairs = reviews(60) if settings is CLASSIFIER else reversing(60)
    with pytest.raises(InputError, match="best_metric"):
        train(tmp_path, pairs, [*settings, f"training.best_metric={best_metric}"])


def test_a_missing_test_file_is_an_error_before_training(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        train(tmp_path, reversing(60), [*TRANSLATOR, f"data.test={json.dumps(str(tmp_path / 'none.tsv'))}"])
    assert not (tmp_path / "run" / "model").exists()


def test_a_test_file_without_a_pair_is_an_error_before_training(tmp_path: Path) -> None:
    (tmp_path / "blank.tsv").write_text("\n\n", "utf-8")
    with pytest.raises(InputError, match="no usable"):
        train(tmp_path, reversing(60), [*TRANSLATOR, f"data.test={json.dumps(str(tmp_path / 'blank.tsv'))}"])


@pytest.mark.parametrize(("peak", "steps"), [("100", 12), ("1e6", 6)])
def test_diverging_training_is_an_input_error_or_a_score(tmp_path: Path, peak: str, steps: int) -> None:
    settings = [*TRANSLATOR, f"training.lr.peak={peak}", f"training.steps={steps}"]
    try:
        train(tmp_path, reversing(60), settings)
    except InputError as error:
        assert "training.lr.peak" in str(error)


def test_a_width_that_fits_the_heads_of_the_preset_is_used(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data.tsv", reversing(60))
    chosen = planner.resolve_recipe(None, data=data, dev=(), settings=["model.width=36"])
    assert chosen.to_table()["model"]["heads"] == 4


def test_the_preset_steps_of_a_classifier_depend_on_its_texts() -> None:
    pairs = [Pair("단어 " * 30, "좋다", "", 0)] * 5000
    table = choose_preset(pairs, "structured_self_attention", StructuredSelfAttentionConfig(), {}).settings["training"]
    assert table["steps"] * table["batch_tokens"] > 10 * 5000 * 30  # twelve epochs


CAPTIONS = [Pair("ein Hund läuft über das Gras", "a dog runs across the grass", "", 0)] * 29_000


@pytest.mark.parametrize(("name", "seconds"), [("multi30k-de-en", 0), ("multi30k-short", 600)])
def test_the_medium_and_short_presets_are_the_multi30k_recipes(name: str, seconds: float) -> None:
    """--data without a recipe uses the settings that were measured with these recipes."""
    budget = TimeBudget(seconds, lambda *_: 0.3) if seconds else None
    preset = choose_preset(CAPTIONS, "transformer", TransformerConfig(), {}, budget).settings
    recipe = tomllib.loads((ROOT / f"recipes/{name}.toml").read_text("utf-8"))
    assert preset["tokenizer"] == recipe["tokenizer"]
    assert preset["model"] == recipe["model"]
    for setting in ("batch_tokens", "optimizer", "adam_lr_scale", "clip_grad_norm", "ema"):
        assert preset["training"][setting] == recipe["training"][setting], setting
    assert preset["training"]["lr"] == recipe["training"]["lr"] | {"hold": 0.0}
    assert preset["decoding"] | {"split_sentences": False} == recipe["decoding"]


def test_a_short_budget_selects_the_short_preset_unless_there_is_an_initial_model(
    tmp_path: Path, translator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "estimate_update_seconds", lambda *_: 0.3)
    sentences = [(f"{source} {i}", f"{i} {target}") for i, (source, target) in enumerate(reversing(10_000))]
    data = write_pairs(tmp_path / "data.tsv", sentences)

    def resolve(time: float, *settings: str) -> dict[str, Any]:
        return planner.resolve_recipe(None, data=data, dev=(), settings=settings, time_budget=time).to_table()

    short, unlimited = resolve(600), resolve(601)
    assert (short["model"]["decoder_layers"], short["tokenizer"]["vocab_size"]) == (1, 3000)
    assert (unlimited["model"]["decoder_layers"], unlimited["tokenizer"]["vocab_size"]) == (2, 5000)
    assert resolve(600, "model.ffn_width=768")["model"]["ffn_width"] == 768, "a setting overrides the preset"
    init_from = f"training.init_from={translator}"
    assert resolve(600, init_from) == resolve(601, init_from)


def test_the_ledger_that_a_run_names_exists(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.tsv").write_text("no tab\n" * 5, "utf-8")
    with pytest.raises(InputError, match=r"data\.tsv:1: no-tab"):
        runs.train(run=tmp_path / "run", data=tmp_path / "data.tsv", settings=TRANSLATOR, quiet=True)
    write_pairs(tmp_path / "data.tsv", [*reversing(60), ("only a source", "")])
    runs.train(run=tmp_path / "run", data=tmp_path / "data.tsv", settings=TRANSLATOR)
    (named,) = re.findall(r"; see (\S+?\.jsonl(?:\.part)?)", capfd.readouterr().err.replace("\n", ""))
    assert Path(named).exists()


CONV = [*QUICK, *SHORT, "model.kind=conv_s2s", "model.width=16", "model.hidden=16", "model.max_positions=30"]
CONV += ["model.encoder_layers=1", "model.decoder_layers=1", "tokenizer.vocab_size=340", "data.max_tokens=25"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("translator"), reversing(60), TRANSLATOR)


def test_score_names_the_line_that_is_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train(tmp_path, reversing(60), CONV)
    lines = write_pairs(tmp_path / "lines.tsv", [*((f"a {i}", "가") for i in range(600)), ("a", "가 " * 99)])
    assert main(["score", str(run), str(lines)]) == 2
    assert "601" in capsys.readouterr().err


def test_score_answers_each_typed_line(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Typed(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            events.extend(["typed"] * bool(line))
            return line

    class Terminal:
        buffer = Typed(b"a\t1\nb\t2\n")

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    options = argparse.Namespace(file="-", columns=None, header=False, rerank=False)
    events.extend("answered" for _ in score._read_pairs(options, needs_source=True))
    assert events == ["typed", "answered"] * 2


def test_an_unknown_bleu_tokenizer_is_an_error(translator: Path, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(5))
    assert main(["evaluate", str(translator), "--data", str(pairs), "--tokenize", "foo"]) == 2


def test_a_run_folder_that_cannot_be_created_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(write_pairs(tmp_path / "data.tsv", reversing(20)))
    assert main(["train", "--data", data, "--run", data]) == 2
    assert "data.tsv: a file " in capsys.readouterr().err
    assert main(["train", "--data", data, "--run", str(tmp_path / ("한" * 90))]) == 2  # 270 bytes in UTF-8
    assert "the name is too long" in capsys.readouterr().err


def test_a_long_text_instead_of_a_run_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "나는 집에 간다. " * 20, "runs/mine"]) == 2
    assert "Give the folder of a run or of a model" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".", "folder"])
def test_view_into_a_folder_is_an_error(
    translator: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["view", str(translator), "a b", "-o", name]) == 2


@pytest.mark.parametrize("extra", [["--ensemble", "nowhere"], ["--lm", "nowhere"], ["--metrics", "bleu"]])
def test_evaluate_refuses_options_that_a_classifier_does_not_have(tmp_path: Path, extra: list[str]) -> None:
    run = train(tmp_path, reviews(60), CLASSIFIER)
    assert main(["evaluate", str(run), "--data", str(tmp_path / "data.tsv"), *extra]) == 2


@pytest.mark.parametrize(
    "wrong", [["--set", "model.kind=[1]"], ["--set", "training.seed=20240101123456"], ["data.tsv/recipe.toml"]]
)
def test_odd_values_for_train_are_errors_without_a_traceback(
    tmp_path: Path, wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "data.tsv", reversing(60))
    settings = [word for setting in TRANSLATOR for word in ("--set", setting)]
    assert main(["train", *wrong, "--data", "data.tsv", "--run", "run", *settings]) in (0, 2)


def test_a_damaged_record_or_a_changed_recipe_is_an_error_on_resume(tmp_path: Path) -> None:
    run = train(tmp_path, reversing(60), TRANSLATOR)
    record, recipe = (run / "data.json").read_text("utf-8"), (run / "run.toml").read_text("utf-8")
    for half in (record[: len(record) // 2], "", "3"):
        (run / "data.json").write_text(half, "utf-8")
        with pytest.raises(InputError, match=r"data\.json: damaged.*\. Remove it"):
            runs.resume(run, quiet=True)
    (run / "data.json").unlink()
    for old, new in (
        ("ffn_width = 16", "ffn_width = 32"),
        ("encoder_layers = 1", "encoder_layers = 2"),
        ("muon", "adam"),
    ):
        assert old in recipe
        (run / "run.toml").write_text(recipe.replace(old, new), "utf-8")
        with pytest.raises(InputError, match=r"Restore the run\.toml of this run"):
            runs.resume(run, quiet=True)
    (run / "run.toml").write_text("", "utf-8")
    with pytest.raises(InputError, match=r"run\.toml: data\.train is empty. Restore the file"):
        runs.resume(run, quiet=True)
    (run / "run.toml").write_text(recipe, "utf-8")
    assert runs.resume(run, quiet=True).step == 2


def test_resuming_a_finished_run_without_its_model_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path, reversing(60), TRANSLATOR)
    weights = (run / "model" / "weights.safetensors").read_bytes()
    shutil.rmtree(run / "model")
    assert main(["train", "--resume", str(run)]) == 2
    output = capsys.readouterr().err
    assert "done" not in output
    assert f"or remove {run / 'checkpoints'}" in output
    shutil.rmtree(run / "checkpoints")
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "model" / "weights.safetensors").read_bytes() == weights, "the remedy of the message works"
