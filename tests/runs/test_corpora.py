"""Several corpora: draws match the weights, tags are tokens, stages and noise resume to the same bytes."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tongsa
from processes import (
    UNLIMITED_STEPS,
    finish,
    finish_successfully,
    journal_losses,
    journal_steps,
    limit_steps,
    new_run,
    saved_bytes,
    start_training,
    train_reference,
    wait_for_step,
)
from tiny import SMALL, reversing, write_pairs
from tongsa import config, runs, storage
from tongsa.batch import Batch, Examples, Ragged
from tongsa.cli import main
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.runs.corpora import draw_rows, pair_repeats
from tongsa.runs.data import PreparedData, prepare_data
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.evaluation import EvaluationOptions, EvaluationSet, evaluate_on
from tongsa.runs.recipe import Recipe, merge_tables, parse_recipe
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.training.data_loader import ExampleSource, iterate_batches
from tongsa.training.loop import DataPosition

STEPS = 24
SETTINGS = [
    f"training.steps={STEPS}",
    "training.checkpoint_every=4",
    "training.validate_every=12",
    "training.validate_sentences=5",
    "training.batch_tokens=400",
    "training.grad_accumulation=2",
    "data.temperature=2.0",
    "data.noise.typos=0.1",
    "data.noise.word_mask=0.1",
    "data.noise.spacing=0.1",
    "tokenizer.subword_regularization=0.3",
    "data.stages=[{steps = 6, max_tokens = 9}, {steps = 7, weights = [0.5, 1.5]}]",
]


def corpora(folder: Path) -> list[config.Table]:
    large = write_pairs(folder / "large.tsv", reversing(300))
    small = write_pairs(folder / "small.tsv", reversing(60))
    return [
        {"train": [str(large)], "tag": "<fwd>"},
        {"train": [str(small)], "tag": "<back>", "columns": [2, 1], "weight": 1.5},
    ]


def write_recipe(folder: Path) -> Path:
    table: config.Table = {"data": {"corpora": corpora(folder)}}
    for assignment in [*SMALL, *SETTINGS]:
        config.override(table, assignment)
    storage.write_text(folder / "recipe.toml", config.dump_toml(table))
    return folder / "recipe.toml"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="module")
def tagged_data(recipe: Path) -> tuple[PreparedData, Recipe]:
    parsed = parse_recipe(config.read_toml(recipe))
    return prepare_data(parsed, recipe.parent / "prepared"), parsed


def whole_epoch(examples: ExampleSource) -> Batch:
    return examples.batch(np.arange(len(examples.lengths)))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), st.floats(1, 100), st.data())
def test_the_shares_of_the_corpora_follow_weight_and_temperature(
    sizes: list[int], temperature: float, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.floats(0.01, 50), min_size=len(sizes), max_size=len(sizes)))
    repeats = pair_repeats(sizes, weights, temperature)
    shares = np.array(repeats) * sizes
    expected = np.array(weights) * np.array(sizes, dtype=float) ** (1 / temperature)
    assert np.allclose(shares / shares.sum(), expected / expected.sum())
    assert repeats[int(np.argmax(sizes))] == weights[int(np.argmax(sizes))]


@given(st.lists(st.floats(0, 5), max_size=50), st.integers(0, 99), st.integers(0, 99), st.integers(0, 50))
def test_each_pair_is_drawn_its_repeats_rounded_down_or_up_whatever_the_others_are(
    repeats: list[float], seed: int, epoch: int, count: int
) -> None:
    rows = draw_rows(np.array(repeats), seed, epoch)
    copies = np.bincount(rows, minlength=len(repeats))
    assert all(np.floor(mean) <= drawn <= np.ceil(mean) for mean, drawn in zip(repeats, copies, strict=True))
    others = np.array([*repeats[:count], *(0.5 for _ in repeats[count:])])
    same = np.bincount(draw_rows(others, seed, epoch), minlength=len(repeats))
    assert (copies[:count] == same[:count]).all(), "a draw depends on (seed, epoch, index) only"


def test_draws_over_many_epochs_have_the_mean_of_the_weights() -> None:
    repeats = np.repeat([0.25, 1.0, 2.6], 1000)
    drawn = sum(np.bincount(draw_rows(repeats, 1, epoch), minlength=3000).reshape(3, -1).mean(1) for epoch in range(20))
    assert np.allclose(drawn / 20, [0.25, 1.0, 2.6], atol=0.02)


def test_an_epoch_has_the_pairs_of_its_stage(tagged_data: tuple[PreparedData, Recipe]) -> None:
    data, recipe = tagged_data
    examples, (large, small) = EpochExamples(data, recipe), data.corpus_sizes
    assert large + small == len(data.train)
    assert [source.split()[0] for source in data.train.sources] == ["<fwd>"] * large + ["<back>"] * small
    longer = np.maximum(data.examples.source.lengths, data.examples.target.lengths)
    short = [examples.clean(epoch, 0).rows for epoch in range(8)]
    assert {int(row) for rows in short if rows is not None for row in rows} == set(np.flatnonzero(longer <= 9).tolist())
    assert 0 < np.count_nonzero(longer <= 9) < len(longer), "the limit separates the pairs"
    fwd, back = (data.source_tokenizer.encode(tag)[0] for tag in ("<fwd>", "<back>"))
    for stage, weights in ((1, (0.5, 1.5)), (2, (1.0, 1.5))):
        batches = [whole_epoch(examples(epoch, stage)) for epoch in range(8)]
        firsts = [first for batch in batches for first in batch.source.tokens[:, 0].tolist()]
        share = firsts.count(back) / len(firsts)
        mass = np.array(weights) * np.sqrt([large, small])
        assert set(firsts) == {fwd, back}, "a tag is one token, with noise and subword regularization"
        assert abs(share - mass[1] / mass.sum()) < 0.05


def test_repeated_draws_of_a_pair_have_different_noise(tagged_data: tuple[PreparedData, Recipe]) -> None:
    data, recipe = tagged_data
    examples = EpochExamples(data, recipe)
    rows, source = examples.clean(0, 2).rows, whole_epoch(examples(0, 2)).source.tokens
    assert rows is not None
    repeated = np.flatnonzero(np.diff(rows) == 0)
    assert any(source[i].tolist() != source[i + 1].tolist() for i in repeated.tolist())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.data())
def test_a_batch_of_random_examples_is_a_function_of_its_draws(
    tagged_data: tuple[PreparedData, Recipe], data: st.DataObject
) -> None:
    """So a resumed run makes no batch before its own, and a batch does not depend on the ones before."""
    prepared, recipe = tagged_data
    epoch, stage = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    examples = EpochExamples(prepared, recipe)(epoch, stage)
    indices = np.array(data.draw(st.lists(st.integers(0, len(examples.lengths) - 1), min_size=1, max_size=9)))
    again = EpochExamples(prepared, recipe)(epoch, stage).batch(indices)
    for side, (drawn, other) in enumerate(zip(examples.batch(indices), again, strict=True)):
        assert drawn.tokens.equal(other.tokens)
        for row, index in enumerate(indices):
            alone = examples.batch(np.array([index]))[side]
            assert drawn.select([row]).tokens.equal(alone.tokens)


@pytest.mark.parametrize("noise", [{"spacing": 1.0}, {"typos": 1.0}, {"word_drop": 1.0}])
def test_noise_never_leaves_a_source_empty_or_longer_than_allowed(
    tagged_data: tuple[PreparedData, Recipe], noise: config.Table
) -> None:
    data, recipe = tagged_data
    limit = int(data.examples.source.lengths.max())
    for alpha in (0.0, 0.9):
        settings = {"noise": noise, "max_tokens": limit, "stages": []}
        table = merge_tables(recipe.to_table(), {"data": settings, "tokenizer": {"subword_regularization": alpha}})
        examples = EpochExamples(data, parse_recipe(table))
        lengths, clean = whole_epoch(examples(0)).source.lengths, torch.from_numpy(examples.clean(0).lengths[:, 0])
        assert lengths.max() <= limit + 1 and lengths.min() > 2, "a tag, a word and </s> at least"
        assert not lengths.equal(clean)


@given(st.integers(0, 60))
def test_a_loader_with_stages_resumes_from_any_batch(stop: int) -> None:
    rows = Ragged([[4] * (1 + i % 7) for i in range(40)])

    def examples(epoch: int, stage: int) -> Examples:
        return Examples(rows, rows, rows=draw_rows(np.full(40, 0.4 + stage), 1, epoch))

    def open_loader(start: DataPosition, before: int) -> object:
        return iterate_batches(
            examples, batch_tokens=40, seed=1, start=start, stage_ends=[7, 20], batches_before=before
        )

    loader = open_loader(DataPosition(), 0)
    seen = [next(loader) for _ in range(stop + 2)]  # type: ignore[call-overload]
    position, batch = next(open_loader(seen[-2][0], stop + 1))  # type: ignore[call-overload]
    assert position == seen[-1][0]
    assert batch.source.tokens.equal(seen[-1][1].source.tokens)


def test_a_dev_set_split_off_keeps_both_directions_of_a_pair_together(tmp_path: Path) -> None:
    file = str(write_pairs(tmp_path / "pairs.tsv", reversing(200)))
    both = [{"train": [file], "tag": "<fwd>"}, {"train": [file], "tag": "<back>", "columns": [2, 1]}]
    recipe = parse_recipe({"data": {"corpora": both}, "tokenizer": {"vocab_size": 320}})
    data = prepare_data(recipe, tmp_path / "run")

    def texts(pairs: object) -> set[frozenset[str]]:
        return {frozenset((pair.source.split(" ", 1)[1], pair.target)) for pair in pairs}  # type: ignore[attr-defined]

    assert len(data.dev) >= 10 and not texts(data.dev) & texts(data.train)


def test_a_corpus_without_dev_files_gives_a_part_of_its_pairs_if_it_has_a_fraction(tmp_path: Path) -> None:
    names = ("large", "dev", "talk", "synthetic")
    files = {name: str(write_pairs(tmp_path / f"{name}.tsv", reversing(200, i))) for i, name in enumerate(names)}
    table = [
        {"train": [files["large"]], "dev": [files["dev"]], "tag": "<fwd>"},
        {"train": [files["talk"]], "tag": "<fwd>", "dev_fraction": 0.1},
        {"train": [files["talk"]], "tag": "<back>", "columns": [2, 1], "dev_fraction": 0.1},
        {"train": [files["synthetic"]], "tag": "<fwd>"},
    ]
    recipe = parse_recipe({"data": {"corpora": table}, "tokenizer": {"vocab_size": 320}})
    data = prepare_data(recipe, tmp_path / "run")
    counts = {name: sum(pair.file == files[name] for pair in data.dev) for name in names}
    assert counts["large"] == counts["synthetic"] == 0 and counts["dev"] and 30 <= counts["talk"] <= 40
    dev, train = (
        {frozenset((pair.source.split(" ", 1)[1], pair.target)) for pair in pairs if pair.file == files["talk"]}
        for pairs in (data.dev, data.train)
    )
    assert not dev & train, "both directions of a pair are on one side"
    assert sum(data.corpus_sizes) == len(data.train)


@pytest.mark.parametrize("model", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("jamo", [False, True])
def test_a_tag_is_one_token_of_every_tokenizer(model: str, jamo: bool) -> None:
    settings = config.build_config(TokenizerConfig, {"model": model, "jamo": jamo, "vocab_size": 400})
    tokenizer = train_tokenizer(["나는 집에 간다", "<2ko> I go home <성경>"] * 3, settings, ["<2ko>", "<성경>"])
    assert set(tokenizer.tags) == {"<2ko>", "<성경>"}
    text = "<2ko> <성경> 나는 집에 간다"
    tokens = tokenizer.encode(text)
    assert tokenizer.token_strings(tokens[:2]) == ["▁<2ko>", "▁<성경>"]
    assert tokenizer.decode(tokens) == text
    for sample in tokenizer.sample_all([text] * 20, 0.1, range(20)):
        assert sample[:2] == tokens[:2] and tokenizer.decode(sample) == text


@pytest.mark.parametrize(
    ("workers", "resumed_workers", "killed_after"),
    [(1, 1, 9), pytest.param(1, 2, 9, marks=pytest.mark.slow), pytest.param(2, 1, 16, marks=pytest.mark.slow)],
)
def test_a_killed_run_with_weights_tags_noise_and_stages_resumes_to_the_same_bytes(
    recipe: Path, workers: int, resumed_workers: int, killed_after: int
) -> None:
    """Killed in the second stage, or after the last one; an update has two batches, whose sum has one order."""
    run = recipe.parent / f"killed-{workers}-{resumed_workers}"
    process = new_run(recipe, run.name, f"training.steps={UNLIMITED_STEPS}", workers=workers)
    wait_for_step(run, killed_after, process)
    process.send_signal(signal.SIGKILL)  # workers end with their launcher
    assert finish(process)[0] == -signal.SIGKILL
    steps = max(STEPS, max(journal_steps(run)) + 4)
    limit_steps(run, steps)
    finish_successfully(start_training(run.parent, "--resume", run.name, "--workers", str(resumed_workers)))
    reference = train_reference(recipe, steps)
    assert saved_bytes(run, steps) == saved_bytes(reference, steps)
    assert journal_losses(run) == journal_losses(reference)


@pytest.mark.slow  # several processes, each of which imports torch
def test_two_workers_give_the_bytes_of_one(recipe: Path) -> None:
    finish_successfully(new_run(recipe, "two", workers=2))
    reference = train_reference(recipe, STEPS)
    assert saved_bytes(recipe.parent / "two", STEPS) == saved_bytes(reference, STEPS)
    assert journal_losses(recipe.parent / "two") == journal_losses(reference)


def test_a_tag_before_a_text_belongs_to_each_sentence(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train_reference(recipe, STEPS)
    model = tongsa.load(run)
    assert isinstance(model, Translator)
    joined = model.translate(["<back> Hello there. How are you?"])[0]
    alone = [model.translate([f"<back> {text}"])[0] for text in ("Hello there.", "How are you?")]
    assert [sentence.source_tokens for sentence in joined.sentences] == [other.source_tokens for other in alone]
    assert {sentence.source_tokens[0] for sentence in joined.sentences} == {"▁<back>"}
    assert joined.source == "Hello there. How are you?" and joined.sentences[1].tag == "<back>"
    text = run.parent / "in.txt"
    text.write_text("a b\n\nc d\n", "utf-8")
    assert main(["translate", str(run), str(text), "--tag", "<back>"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [output.text.strip() for output in model.translate(["<back> a b", "", "<back> c d"])]
    assert main(["translate", str(run), str(text), "--tag", "<2xx>"]) == 2
    assert "this model has <fwd>, <back>" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"train": ["a.tsv"], "corpora": [{"train": ["b.tsv"]}]}, "not beside data.corpora"),
        ({"corpora": [{"train": ["b.tsv"], "tag": "2ko"}]}, "not a tag"),
        ({"corpora": [{"train": []}]}, "no files"),
        ({"corpora": [{"train": ["a"], "dev": ["b"], "dev_fraction": 0.1}]}, "dev_fraction: not beside dev"),
        ({"corpora": [{"tag": "<a>"}]}, "train: missing"),
        ({"train": ["a.tsv"], "stages": [{"steps": 5, "weights": [1]}]}, "1 weights for 0 corpora"),
        ({"train": ["a.tsv"], "stages": [{"max_tokens": 5}]}, "steps: missing"),
        ({"train": ["a.tsv"], "noise": {"typos": 2}}, "typos: 2.0 is out of range"),
    ],
)
def test_wrong_settings_are_explained(data: config.Table, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_recipe({"data": data})


def test_a_stage_without_pairs_is_refused(tagged_data: tuple[PreparedData, Recipe]) -> None:
    data, recipe = tagged_data
    table = recipe.to_table()
    table["data"]["stages"] = [{"steps": 5, "max_tokens": 1}]
    with pytest.raises(InputError, match=r"data.stages\[0\]: no pair"):
        EpochExamples(data, parse_recipe(table))
    table["data"]["stages"][0]["max_tokens"] = 9
    assert len(EpochExamples(data, parse_recipe(table))(0, 0).lengths)


def test_each_corpus_has_its_encoding_its_patterns_and_its_test_set(tmp_path: Path) -> None:
    for i, pairs in enumerate((reversing(60), reversing(60, 1))):
        write_pairs(tmp_path / f"forward-{i}.tsv", pairs)
    back = "".join(f"{source}\t{target}\n" for source, target in reversing(120, 2))
    (tmp_path / "back.tsv").write_text(back, "cp949")
    (tmp_path / "back-test.tsv").write_text("".join(back.splitlines(keepends=True)[:8]), "cp949")
    write_pairs(tmp_path / "forward-test.tsv", reversing(9, 4))
    forward = {"train": ["forward-[01].tsv"], "test": ["forward-test.tsv"], "tag": "<fwd>"}
    backward = {"train": ["back.tsv"], "test": ["back-test.tsv"], "tag": "<back>", "columns": [2, 1]}
    table: config.Table = {"data": {"folder": str(tmp_path), "corpora": [forward, backward | {"encoding": "cp949"}]}}
    for setting in (*SMALL, "training.steps=2", "decoding.max_extra_tokens=3"):
        config.override(table, setting)
    storage.write_text(tmp_path / "recipe.toml", config.dump_toml(table))
    run = tmp_path / "run"
    runs.train(tmp_path / "recipe.toml", run=run, quiet=True)
    assert '"forward-0.tsv"' in (run / "run.toml").read_text("utf-8")
    scores = json.loads((run / "scores.json").read_text("utf-8"))["corpora"]
    sets = (
        EvaluationSet(files=[tmp_path / "forward-test.tsv"], tag="<fwd>"),
        EvaluationSet(files=[tmp_path / "back-test.tsv"], tag="<back>", columns=(2, 1), encoding="cp949"),
    )
    for score, evaluation_set in zip(scores, sets, strict=True):
        again = evaluate_on(tongsa.load(run), evaluation_set, EvaluationOptions())
        assert (score["tag"], score["files"]) == (evaluation_set.tag, [Path(evaluation_set.files[0]).name])
        assert score["chrf"] == again.as_json()["chrf"] and score["sentences"] == again.sentences
    assert scores[1]["leakage"] != scores[0]["leakage"], "the second test set is in the training data"
    card = (run / "model/card.md").read_text("utf-8")
    assert card.count("## Scores on the test set `<") == 2 and "`<back> back-test.tsv` (8 pairs)" in card


def test_settings_survive_the_way_through_run_toml(recipe: Path) -> None:
    parsed = parse_recipe(config.read_toml(recipe))
    written = recipe.parent / "written.toml"
    written.write_text(config.dump_toml(parsed.to_table()), "utf-8")
    assert parse_recipe(config.read_toml(written)) == parsed
