"""Runs from data to translations, in this process."""

import json
from pathlib import Path

import pytest
import torch

import tongsa
from tiny import SMALL, reversing, write_pairs
from tongsa import config, runs
from tongsa.batch import Examples, Ragged
from tongsa.data.ledger import Pair
from tongsa.data.text_store import PairStore
from tongsa.errors import InputError
from tongsa.runs import planner
from tongsa.runs.dev_split import train_dev_split
from tongsa.runs.recipe import parse_recipe
from tongsa.runs.run import open_run
from tongsa.training.data_loader import iterate_batches
from tongsa.training.journal import read_journal
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel
from tongsa.training.optimizer import build_optimizers
from tongsa.training.precision import measure_bf16_speedup

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "settings",
    [
        ["tokenizer.model=bpe", "tokenizer.subword_regularization=0.1"],
        ["tokenizer.model=char", "tokenizer.jamo=true"],
        ["tokenizer.model=word"],
        ["tokenizer.shared=false", "model.tie_embeddings=target", "tokenizer.jamo=true"],
        ["tokenizer.shared=false", "model.tie_embeddings=none"],
        ["training.optimizer=muon", "training.grad_accumulation=2"],
        ["model.positions=learned", "model.max_positions=300"],
    ],
    ids=" ".join,
)
def test_each_tokenizer_and_embedding_setting_trains_and_loads(settings: list[str], tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "p.tsv", reversing(120))
    translator = tongsa.train(run=tmp_path / "r", data=pairs, settings=[*SMALL, "training.steps=6", *settings])
    assert isinstance(translator, tongsa.Translator)
    result = translator("a b c")
    assert result.alignment.shape == (len(result.tokens) + 1, len(result.source_tokens) + 1)
    assert result.alignment.sum(axis=1) == pytest.approx(1, abs=1e-4)


def test_bf16_trains_if_the_cpu_supports_it(tmp_path: Path) -> None:
    if measure_bf16_speedup() == 0:
        pytest.skip("bf16 crashes on this CPU")
    pairs = write_pairs(tmp_path / "p.tsv", reversing(120))
    settings = [*SMALL, "training.steps=6", "training.precision=bf16"]
    tongsa.train(run=tmp_path / "r", data=pairs, settings=settings)
    assert isinstance(tongsa.load(tmp_path / "r", task="seq2seq")("a b").text, str)


def test_validation_scores_equal_scores_after_training(trained: Path) -> None:
    records = [record["validation"] for record in read_journal(trained / "journal.jsonl") if "validation" in record]
    best = max(records, key=lambda record: record["bleu"])
    data = open_run(trained).data
    translator = tongsa.load(trained, task="seq2seq")
    outputs = [translation.text for translation in translator.translate([pair.source for pair in data.dev])]
    same = sum(output == pair.target for output, pair in zip(outputs, data.dev, strict=True))
    assert best["exact_match"] == pytest.approx(100 * same / len(outputs), abs=1e-3)


def test_log_prob_equals_the_sum_of_token_scores(trained: Path) -> None:
    translator = tongsa.load(trained, task="seq2seq")
    for text in ("a", "b c d e f", "e e"):
        result = translator(text)
        assert sum(translator.score([(text, result.text)])[0]) == pytest.approx(result.log_prob, abs=1e-3)


def test_translations_do_not_depend_on_order_and_batch(trained: Path) -> None:
    translator = tongsa.load(trained, task="seq2seq")
    texts = [source for source, _ in reversing(40, seed=3)]
    together = [translation.text for translation in translator.translate(texts)]
    assert [translation.text for translation in reversed(translator.translate(texts[::-1]))] == together
    assert [translator(text).text for text in texts] == together


def test_a_test_set_is_scored_once_at_the_end(tmp_path: Path) -> None:
    for name, seed in (("train", 0), ("dev", 1), ("test", 2)):
        write_pairs(tmp_path / f"{name}.tsv", reversing(80, seed))
    (tmp_path / "recipe.toml").write_text(
        f'[data]\nfolder = "{tmp_path}"\ntrain = "train.tsv"\ndev = "dev.tsv"\ntest = "test.tsv"\n', "utf-8"
    )
    runs.train(tmp_path / "recipe.toml", run=tmp_path / "r", settings=[*SMALL, "training.steps=4"], quiet=True)
    scores = json.loads((tmp_path / "r" / "scores.json").read_text("utf-8"))["test"]
    assert scores["sentences"] == 80


def test_early_stopping_and_resuming_a_stopped_run(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "p.tsv", reversing(80))
    settings = [
        *SMALL,
        "training.steps=400",
        "training.validate_every=2",
        "training.patience=3",
        "training.best_metric=loss",
    ]
    settings += ["training.lr.schedule=constant", "training.lr.peak=0.3", "training.lr.warmup=1"]
    progress = runs.train(run=tmp_path / "r", data=pairs, settings=settings, quiet=True)
    assert progress.step < 400
    assert progress.step == progress.best_step + 2 * 3
    weights = (tmp_path / "r" / "model" / "weights.safetensors").read_bytes()
    assert runs.resume(tmp_path / "r", quiet=True).step == progress.step
    assert (tmp_path / "r" / "model" / "weights.safetensors").read_bytes() == weights


def test_tensorboard_events_are_written(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "p.tsv", reversing(80))
    settings = [*SMALL, "training.steps=3", "training.tensorboard=true"]
    runs.train(run=tmp_path / "r", data=pairs, settings=settings, quiet=True)
    (events,) = (tmp_path / "r" / "tensorboard").iterdir()
    assert b"tokens_per_second" in events.read_bytes()


def test_a_dev_split_shares_no_source_with_train() -> None:
    pairs = PairStore.from_pairs(Pair(f"s{i % 50}", f"t{i}", "f", i) for i in range(200))
    train_pairs, dev = train_dev_split(pairs, 0.1, seed=1, max_dev=1000)
    assert len(train_pairs) + len(dev) == 200
    assert len({pair.source for pair in dev}) == 5
    assert not {pair.source for pair in dev} & {pair.source for pair in train_pairs}
    _, reversed_dev = train_dev_split(pairs[::-1], 0.1, seed=1, max_dev=1000)
    assert list(reversed_dev) == list(dev)[::-1], "the split depends on the order"


def test_five_pairs_are_enough_to_train_and_the_ledger_adds_up(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("a\t가\nb\t나\nbad line\n\nc\t" + "다 " * 400 + "\n", "utf-8")
    runs.train(run=tmp_path / "r", data=tmp_path / "p.tsv", settings=[*SMALL, "training.steps=2"], quiet=True)
    lines = [json.loads(line) for line in (tmp_path / "r" / "ledger.jsonl").read_text("utf-8").splitlines()]
    assert [line["reason"] for line in lines[:-1]] == ["no-tab", "empty", "too-long"]
    totals = lines[-1]["totals"]
    assert (totals["read"], totals["kept"]) == (5, 2)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("20m", 1200), ("1h30m", 5400), ("0.5h", 1800), ("1d", 86400)]
)
def test_time_budgets_are_parsed(text: str, seconds: float) -> None:
    assert planner.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0m", "-5m", "ten", "5x", "m", "20", "1h30"])
def test_invalid_time_budgets_are_errors(text: str) -> None:
    with pytest.raises(InputError, match="--budget"):
        planner.parse_duration(text)


@pytest.mark.parametrize(
    "name",
    [
        "wmt14-en-de-base",
        "wmt14-en-de-big",
        pytest.param("wmt14-en-fr-base", marks=pytest.mark.slow),
        pytest.param("wmt14-en-fr-big", marks=pytest.mark.slow),
    ],
)
def test_the_recipes_of_the_transformer_paper_train(name: str, tmp_path: Path) -> None:
    """Generated text and small batches; all other settings are those of the paper."""
    values = config.read_toml(ROOT / "recipes" / f"{name}.toml")
    recipe = parse_recipe(values)
    assert recipe.training.lr.build(recipe.model.width, 1)(4000) == (recipe.model.width * 4000) ** -0.5  # type: ignore[attr-defined]
    torch.manual_seed(1)
    model = recipe.model.build(500, 500)
    rows = Ragged([[4 + (7 * i + position) % 490 for position in range(6)] for i in range(4)])
    batches = iterate_batches(lambda *_: Examples(rows, rows), batch_tokens=32, seed=1, start=DataPosition())
    training = recipe.training
    schedule = training.lr.build(recipe.model.width, training.steps)  # type: ignore[attr-defined]
    step = next(train(TrainingModel(model, training), batches, build_optimizers(model, training), schedule, training))
    assert 5 < step.loss < 9, "ln 500 is 6.2"
