"""Presets, and recipes whose data are missing."""

import gzip
import re
import tomllib
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import get_args

import pytest
import torch

from tiny import SMALL, reversing, write_pairs
from tongsa import config, runs
from tongsa.config import Table
from tongsa.data import corpus
from tongsa.data.ledger import Pair
from tongsa.data.public_sets.table import public_sets
from tongsa.errors import InputError
from tongsa.interface import PresetName
from tongsa.models import KINDS
from tongsa.runs import corpus_reader, planner, preset_choice
from tongsa.runs import data as data_module
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.preset_choice import CorpusSize, TimeBudget
from tongsa.runs.recipe import Recipe, merge_tables, parse_recipe
from tongsa.runs.run import create_run
from tongsa.runs.update_speed import estimate_update_seconds

ROOT = Path(__file__).parents[2]
PRESETS: tuple[PresetName, ...] = get_args(PresetName)
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))


SUTSKEVER_SETTINGS: Table = {"cell": "lstm", "context_input": "start", "output": "linear", "reverse_source": True}


def preset_of(name: PresetName, kind: str, settings: Table | None = None) -> Table:
    """Return the complete settings of a preset for a kind, with the vocabulary of the preset."""
    model = config.build_config(KINDS[kind], settings or {}, "model")
    size = CorpusSize(sentences=1000, words=20_000, characters=100_000, alphabet=60)
    preset = preset_choice.preset_settings(name, kind, model, size, {})
    return merge_tables(preset, {"model": settings or {}})


def count_parameters(table: Table) -> int:
    recipe = parse_recipe(table)
    sizes = [recipe.tokenizer.vocab_size, 10 if recipe.model.task == "classification" else recipe.tokenizer.vocab_size]
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in recipe.model.build(*sizes).parameters())


@pytest.mark.parametrize("name", PRESETS)
def test_each_kind_has_about_as_many_parameters_as_the_transformer(name: PresetName) -> None:
    """Embeddings included, with the vocabulary of the preset."""
    transformer = count_parameters(preset_of(name, "transformer"))
    others: list[tuple[str, Table]] = [("structured_self_attention", {"head": "decoder"}), ("rnn", SUTSKEVER_SETTINGS)]
    for kind, settings in [*((kind, {}) for kind in KINDS), *others]:
        ratio = count_parameters(preset_of(name, kind, settings)) / transformer
        assert 0.75 <= ratio <= 1.25, (kind, settings, ratio)


def test_the_presets_are_a_ladder() -> None:
    for kind in KINDS:
        counts = [count_parameters(preset_of(name, kind)) for name in PRESETS]
        assert counts == sorted(counts), kind


@pytest.mark.parametrize(
    ("words", "seconds", "names"),
    [
        (29_999, inf, ("tiny", "small")),
        (30_000, 601, ("tiny", "short", "medium")),
        (30_000, 600, ("tiny", "short")),
        (5_000_000, 600, ("tiny", "short")),
        (5_000_000, inf, ("tiny", "short", "medium", "large")),
    ],
)
def test_the_candidates_depend_on_words_and_time(words: int, seconds: float, names: tuple[PresetName, ...]) -> None:
    assert preset_choice.candidates(words, seconds) == names


def captions(count: int) -> list[Pair]:
    return [Pair("ein Hund läuft über das Gras", "a dog runs across the grass", "", 0)] * count


def chosen_preset(pairs: list[Pair], kind: str, seconds: float, parameters_per_second: float) -> PresetName:
    """Return the preset for a machine on which an update takes time for each parameter and token."""

    def update_seconds(recipe: Recipe, _: int) -> float:
        return recipe.training.batch_tokens * count_parameters(recipe.to_table()) / parameters_per_second

    budget = TimeBudget(seconds, update_seconds)
    preset = preset_choice.choose_preset(pairs, kind, KINDS[kind](), {}, budget)
    assert preset.settings["model"] == preset_of(preset.name, kind)["model"]
    return preset.name


@pytest.mark.parametrize("kind", ["transformer", "rnn_attention", "rnn", "conv_s2s"])
def test_a_plan_that_would_not_read_the_data_gets_a_smaller_model(kind: str) -> None:
    slow, fast = 1e10, 1e12
    assert chosen_preset(captions(20_000), kind, 120, slow) == "tiny"
    assert chosen_preset(captions(20_000), kind, 120, fast) == "short"
    assert chosen_preset(captions(20_000), kind, 1200, fast) == "medium"
    assert chosen_preset(captions(1_000), kind, 600, fast) == "small"
    assert chosen_preset(captions(1_000), kind, 5, slow) == "tiny"


def test_much_data_need_not_be_read_once() -> None:
    """A corpus that no plan reads once gets the largest model with enough updates."""
    assert chosen_preset(captions(1_000_000), "transformer", 1800, 2e10) == "short"
    assert chosen_preset(captions(1_000_000), "transformer", 3600, 2e10) == "medium"
    assert chosen_preset(captions(1_000_000), "transformer", 3600, 1e9) == "tiny"


def test_the_settings_of_the_user_count_in_the_choice() -> None:
    widths: list[int] = []

    def update_seconds(recipe: Recipe, _: int) -> float:
        widths.append(recipe.to_table()["model"]["width"])
        return 0.01

    requested: Table = {"model": {"width": 64}}
    preset_choice.choose_preset(captions(9000), "rnn", KINDS["rnn"](), requested, TimeBudget(60, update_seconds))
    assert widths == [64]


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_of_each_kind_can_be_measured_without_a_tokenizer(kind: str) -> None:
    recipe = parse_recipe(preset_of("tiny", kind))
    recipe = replace(recipe, training=configure_hardware(replace(recipe.training, batch_tokens=64)))
    assert estimate_update_seconds(recipe, 7, max_seconds=0) > 0


@pytest.mark.parametrize("page", ["docs/guide.md", "docs/ko/guide.md"])
def test_the_guide_agrees_with_the_presets(page: str) -> None:
    rows = [line for line in (ROOT / page).read_text("utf-8").splitlines() if "runs/presets/" in line]
    assert len(rows) == len(PRESETS)
    for row in rows:
        (name,) = set(re.findall(r"presets/([\w-]+)\.toml", row))
        preset = preset_of(name, "transformer")
        model, tokenizer = preset["model"], preset["tokenizer"]
        assert f"{model['encoder_layers']}+{model['decoder_layers']}" in row
        assert str(model["width"]) in row
        assert name not in ("medium", "short", "tiny") or f"{tokenizer['vocab_size']:,}" in row


def test_the_training_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read_pairs = corpus.read_pairs

    def count(files: list[Path], *arguments: object, **settings: object) -> object:
        opened.extend(path.name for path in files)
        return read_pairs(files, *arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(corpus_reader, "read_pairs", count)
    for name, seed in (("train", 0), ("dev", 1), ("test", 2)):
        write_pairs(tmp_path / f"{name}.tsv", reversing(60, seed))
    settings = [*SMALL, "training.steps=2", f"data.test={tmp_path / 'test.tsv'}"]
    runs.train(
        run=tmp_path / "run", data=tmp_path / "train.tsv", dev=tmp_path / "dev.tsv", settings=settings, quiet=True
    )
    assert sorted(opened) == ["dev.tsv", "test.tsv", "train.tsv"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_without_its_data_says_where_to_get_them(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = tomllib.loads(path.read_text("utf-8"))["data"]
    first = table.get("corpora", [table])[0]["train"]
    train = first if isinstance(first, str) else first[0]
    with pytest.raises(InputError) as error:
        runs.train(path, run=tmp_path / "run", quiet=True)
    is_public = table["dataset"] in public_sets()
    remedy = f"Run tongsa data get {table['dataset']}" if is_public else f"Get {table['dataset']}"
    folder = f"data/{table['dataset']}" if is_public else table["folder"]
    assert str(error.value) == f"{path}: {folder}/{train}: no such file. {remedy}, or pass --set data.folder=DIR."
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_data_of_a_recipe_come_from_a_public_set_or_from_an_address(path: Path) -> None:
    data = parse_recipe(config.read_toml(path)).data
    files, public_set = {*data.train_files, *data.dev_files, *data.test}, public_sets().get(data.dataset)
    if public_set:
        assert files <= {file.name for file in public_set.files}
        assert f"#   tongsa data get {data.dataset}\n" in path.read_text("utf-8") and not data.folder
        return
    assert "https://" in data.dataset and data.folder
    for file in files:
        name, _, rest = file.partition("/")
        assert name not in public_sets() or rest in {entry.name for entry in public_sets()[name].files}


def test_a_recipe_for_several_sets_says_how_to_get_each_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe, data = ROOT / "recipes/koen-all.toml", parse_recipe(config.read_toml(ROOT / "recipes/koen-all.toml")).data
    for file in {*data.train_files, *data.dev_files} - {"koen-tatoeba/kor.txt"}:
        (tmp_path / "data" / file).parent.mkdir(parents=True, exist_ok=True)
        content = b"a\tb\tc\td\n"
        (tmp_path / "data" / file).write_bytes(gzip.compress(content) if file.endswith(".gz") else content)
    with pytest.raises(InputError, match=r"data/koen-tatoeba/kor.txt: no such file. Run tongsa data get koen-tatoeba,"):
        runs.train(recipe, run=tmp_path / "run", quiet=True)


def test_the_remedy_for_missing_data_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, texts in zip(("de", "en"), zip(*reversing(60), strict=True), strict=True):
        content = "".join(f"{text}\n" for text in texts)
        (tmp_path / f"train.{language}.gz").write_bytes(gzip.compress(content.encode()))
        for name in ("val", "test_2016_flickr"):
            (tmp_path / f"{name}.{language}").write_text(content, "utf-8")
    recipe = ROOT / "recipes/multi30k-de-en.toml"
    small = [*SMALL, "model.tie_embeddings=target", "training.steps=2", f"data.folder={tmp_path}"]
    assert runs.train(recipe, run=tmp_path / "run", settings=small, quiet=True).step == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", ["multi30k-de-en", "multi30k-rnn", "nsmc"])
def test_another_kind_on_a_recipe_gets_the_sizes_of_a_preset(recipe: str, kind: str, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(60))
    path = ROOT / f"recipes/{recipe}.toml"
    before = planner.resolve_recipe(path, data=pairs)
    after = planner.resolve_recipe(path, data=pairs, settings=[f"model.kind={kind}", "model.dropout=0.25"])
    assert (after.kind, after.model.dropout) == (kind, 0.25)  # type: ignore[attr-defined]
    assert after.tokenizer == before.tokenizer
    if kind == before.kind:
        assert not after.remarks
    else:
        assert after.remarks == (
            f"model.kind: {kind} instead of the recipe's {before.kind}; the sizes in [model] are those of a preset",
        )
        tokenizer = ["tokenizer.vocab_size=300", "tokenizer.subword_regularization=0", f"model.kind={kind}"]
        tokenizer.append("training.device=cpu")
        resolved = planner.resolve_recipe(path, data=pairs, settings=tokenizer)
        if before.model.task == resolved.model.task == "seq2seq":
            create_run(tmp_path, resolved, data_module.prepare_data(resolved, tmp_path))


def test_your_own_files_replace_the_data_of_a_recipe(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(30))
    recipe = planner.resolve_recipe(ROOT / "recipes/multi30k-de-en.toml", data=pairs)
    assert (recipe.data.train, recipe.data.test, recipe.data.folder, recipe.data.dataset) == ((str(pairs),), (), "", "")
