"""Presets, and recipes whose data are missing."""

import gzip
import re
import tomllib
from pathlib import Path

import pytest

from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.data import corpus
from tongsa.errors import InputError
from tongsa.models import KINDS
from tongsa.runs import data as data_module
from tongsa.runs import planner
from tongsa.runs.recipe import parse_recipe
from tongsa.runs.run import create_run

ROOT = Path(__file__).parents[2]
PRESETS = sorted((ROOT / "src/tongsa/runs/presets").glob("*.toml"))
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_each_preset_is_a_valid_recipe_for_each_kind(path: Path) -> None:
    preset = planner.load_preset(path.stem)
    assert preset.pop("preset")["epochs"] > 0
    for kind in KINDS:
        model = {"kind": kind} | planner.model_preset(kind, preset["model"])
        assert parse_recipe(preset | {"model": model}).kind == kind


@pytest.mark.parametrize(
    ("words", "kind", "seconds", "name"),
    [
        (29_999, "transformer", 60, "small"),
        (30_000, "transformer", 601, "medium"),
        (30_000, "transformer", 600, "short"),
        (4_999_999, "rnn_attention", 600, "medium-other-kinds"),
        (5_000_000, "transformer", 60, "large"),
    ],
)
def test_the_preset_depends_on_words_kind_and_time(words: int, kind: str, seconds: float, name: str) -> None:
    assert planner._preset_name(words, kind, seconds) == name


@pytest.mark.parametrize("page", ["docs/guide.md", "docs/ko/guide.md"])
def test_the_guide_agrees_with_the_presets(page: str) -> None:
    rows = [line for line in (ROOT / page).read_text("utf-8").splitlines() if "runs/presets/" in line]
    for row in rows:
        (name,) = set(re.findall(r"presets/([\w-]+)\.toml", row))
        model, tokenizer = planner.load_preset(name)["model"], planner.load_preset(name)["tokenizer"]
        assert f"{model['encoder_layers']}+{model['decoder_layers']}" in row
        assert str(model["width"]) in row
        assert name not in ("medium", "short") or f"{tokenizer['vocab_size']:,}" in row


def test_the_training_files_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read_pairs = corpus.read_pairs

    def count(files: list[Path], *arguments: object, **settings: object) -> object:
        opened.extend(path.name for path in files)
        return read_pairs(files, *arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(data_module, "read_pairs", count)
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
    train = table["train"] if isinstance(table["train"], str) else table["train"][0]
    with pytest.raises(InputError) as error:
        runs.train(path, run=tmp_path / "run", quiet=True)
    assert str(error.value) == (
        f"{path}: {table['folder']}/{train}: no such file. Get {table['dataset']} and pass --set data.folder=DIR."
    )
    assert table["dataset"].split("(")[1].split(",")[0].rstrip(")") in path.read_text("utf-8").split("[data]")[0]
    assert not (tmp_path / "run").exists()


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
