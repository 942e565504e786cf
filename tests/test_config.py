import dataclasses
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa import config, runs
from tongsa.config import ConfigError
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs.recipe import merge_tables, parse_recipe

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.toml"))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"model": {"widht": 3}}, "model.widht: unknown key; did you mean 'width'?"),
        ({"trainig": {}}, "[trainig]: unknown section; did you mean 'training'?"),
        ({"model": {"width": "512"}}, "model.width: '512' is not a whole number"),
        ({"model": {"width": True}}, "model.width: True is not a whole number"),
        (
            {"model": {"kind": "transfomer"}},
            "model.kind: 'transfomer' is no kind of model; did you mean 'transformer'?",
        ),
        ({"model": {"norm": "middle"}}, "model.norm: 'middle' is not one of 'post', 'pre'"),
        ({"model": {"width": 10, "heads": 4}}, "model: width 10 is not a multiple of heads 4"),
        ({"training": {"lr": {"peek": 1}}}, "training.lr.peek: unknown key; did you mean 'peak'?"),
        ({"training": {"lr": 3}}, "training.lr: a table is wanted, not 3; write [training.lr]"),
        ({"training": {"steps": 0}}, "training: steps 0 is not at least 1"),
        ({"data": {"columns": [1]}}, "data.columns: 2 values are wanted, not 1"),
        ({"tokenizer": {"subword_regularization": 2}}, "pieces: sampling = 2.0: write a number from 0 (off) to 1"),
        ({"data": 4}, "data: a table is wanted; write [data]"),
        ({"decoding": {"beam": 0}}, "decoding: beam 0 is not at least 1"),
    ],
)
def test_a_wrong_recipe_gets_a_sentence(values: config.Table, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_recipe(values, "my.toml")
    assert str(error.value) == f"my.toml: {sentence}"


def test_a_fault_is_told_of_who_brought_it(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"

    def fault(content: str, *settings: str) -> str:
        recipe.write_text(f'[data]\ntrain = "x.tsv"\n[training]\n{content}\n', "utf-8")
        with pytest.raises(ConfigError) as error:
            runs.resolve_recipe(recipe, data=(), dev=(), settings=settings)
        return str(error.value)

    assert fault("steps = 5", "training.workers=1").startswith("--set: training.workers: unknown key")
    assert fault("steps = 5", "training.steps=many").startswith("--set: training.steps: 'many'")
    assert fault("workers = 1", "training.steps=3").startswith(f"{recipe}: training.workers: unknown key")
    assert fault('steps = "many"', "training.step=3").startswith("--set: training.step: unknown key")


def test_one_setting_by_itself_is_not_taken_for_its_letters(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\ntrain = "x.tsv"\n', "utf-8")
    assert runs.resolve_recipe(recipe, data=(), dev=(), settings="training.steps=3").training.steps == 3


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[model]\nwidth = \n", "utf-8")
    with pytest.raises(ConfigError, match=r"r\.toml: not valid TOML: .*line 2"):
        config.read_toml(path)
    with pytest.raises(ConfigError, match=r"none\.toml: no such file"):
        config.read_toml(tmp_path / "none.toml")


def test_pairs_in_the_place_of_a_recipe_are_sent_to_their_option(tmp_path: Path) -> None:
    path = tmp_path / "my.tsv"
    for content in ("I go home\t나는 집에 간다\n".encode(), "schön\t예쁘다\n".encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=rf"write --data {path}$"):
            config.read_toml(path)


def test_a_byte_order_mark_is_no_part_of_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[model]\nwidth = 8\n", "utf-8-sig")
    assert config.read_toml(path) == {"model": {"width": 8}}


def test_every_setting_in_force_reads_back_as_the_same_recipe() -> None:
    recipe = parse_recipe({"model": {"width": 64, "heads": 2}, "data": {"train": "a.tsv", "source_language": "no"}})
    assert recipe.data.train == ("a.tsv",)
    again = parse_recipe(tomllib.loads(config.dump_toml(recipe.to_table())))
    assert again == recipe
    assert again.data.source_language == "no"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_in_the_box_parses(path: Path) -> None:
    recipe = parse_recipe(config.read_toml(path), str(path))
    assert parse_recipe(recipe.to_table()) == recipe


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("training.steps=5", {"training": {"steps": 5}}),
        ("training.lr.peak=1e-3", {"training": {"lr": {"peak": 1e-3}}}),
        ("data.train=a.tsv", {"data": {"train": "a.tsv"}}),
        ('data.train=["가.de", "나.en"]', {"data": {"train": ["가.de", "나.en"]}}),
        ("tokenizer.jamo=true", {"tokenizer": {"jamo": True}}),
        ("data.folder=a=b", {"data": {"folder": "a=b"}}),
    ],
)
def test_set_takes_toml_or_plain_text(assignment: str, expected: config.Table) -> None:
    values: config.Table = {}
    config.override(values, assignment)
    assert values == expected


@pytest.mark.parametrize("assignment", ["training.steps", "=3", ""])
def test_set_without_a_key_or_a_value_says_how(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"write key\.path=value"):
        config.override({}, assignment)


tables = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(st.sampled_from("abc"), tables), st.dictionaries(st.sampled_from("abc"), tables))
def test_merging_keeps_what_is_not_changed(values: config.Table, changes: config.Table) -> None:
    result = merge_tables(values, changes)
    assert merge_tables(result, changes) == result
    for key in values.keys() | changes.keys():
        if key not in changes:
            assert result[key] == values[key]


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig().width = 3  # type: ignore[misc]
