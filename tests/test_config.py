import dataclasses
import math
import re
import tomllib
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa import config
from tongsa.cli import main
from tongsa.config import ConfigError
from tongsa.decoding.config import DecodingConfig
from tongsa.models import KINDS
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.runs import planner
from tongsa.runs.corpora import CorpusConfig
from tongsa.runs.recipe import DataConfig, merge_tables, parse_recipe
from tongsa.server.config import ServerConfig
from tongsa.tokenization.subword import TokenizerConfig
from tongsa.training.config import TrainingConfig

RECIPES = sorted((Path(__file__).parent.parent / "recipes").glob("*.toml"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": {"widht": 3}}, "model.widht: unknown key; did you mean 'width'?"),
        ({"model": {"width": "512"}}, "model.width: '512' is not a whole number"),
        ({"model": {"width": True}}, "model.width: True is not a whole number"),
        ({"model": {"norm": "middle"}}, "model.norm: 'middle' is not one of 'post', 'pre'"),
        ({"training": {"lr": {"peek": 1}}}, "training.lr.peek: unknown key; did you mean 'peak'?"),
        ({"training": {"lr": 3}}, "training.lr: expected a table, not 3. Write [training.lr]."),
        (
            {"training": {"steps": 0}},
            "training.steps: 0 is out of range. Write a whole number at least 1 and at most 100,000,000,000.",
        ),
        (
            {"training": {"lr": {"peak": 0}}},
            "training.lr.peak: 0.0 is out of range. Write a number above 0 and at most 1,000,000.",
        ),
        (
            {"training": {"label_smoothing": 1}},
            "training.label_smoothing: 1.0 is out of range. Write a number in [0, 1).",
        ),
        ({"data": {"columns": [1]}}, "data.columns: expected 2 values, not 1"),
        (
            {"tokenizer": {"subword_regularization": 2}},
            "tokenizer.subword_regularization: 2.0 is out of range. Write a number in [0, 1].",
        ),
        (
            {"decoding": {"beam": 0}},
            "decoding.beam: 0 is out of range. Write a whole number at least 1 and at most 10,000.",
        ),
        (
            {"tokenizer": {"target_model": "wrd"}},
            "tokenizer.target_model: 'wrd' is not accepted. Write one of 'unigram', 'bpe', 'char', 'word', 'same'.",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_full_path(values: config.Table, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_recipe(values, "my.toml")
    assert str(error.value) == f"my.toml: {message}"


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        ({"trainig": {}}, r"my\.toml: \[trainig\]: .*'training'"),
        ({"model": {"kind": "transfomer"}}, r"my\.toml: model\.kind: 'transfomer'.*'transformer'"),
        ({"model": {"width": 10, "heads": 4}}, r"my\.toml: model: .*width.*heads"),
        ({"data": 4}, r"my\.toml: data: .*\[data\]"),
    ],
)
def test_a_wrong_section_names_the_right_one(values: config.Table, pattern: str) -> None:
    with pytest.raises(ConfigError, match=pattern):
        parse_recipe(values, "my.toml")


SECTIONS = {"data": DataConfig, "tokenizer": TokenizerConfig, "training": TrainingConfig, "decoding": DecodingConfig}


@pytest.mark.parametrize("section", [*SECTIONS, *KINDS])
def test_every_value_of_a_wrong_type_gets_a_message_without_python_types(section: str) -> None:
    config_class = SECTIONS.get(section) or KINDS[section]
    for field in dataclasses.fields(config_class):
        with pytest.raises(ConfigError) as error:
            config.build_config(config_class, {field.name: {"nested": object}}, section)
        assert str(error.value).startswith(f"{section}.{field.name}")
        message = str(error.value).replace(repr({"nested": object}), "").replace(repr(object), "")
        assert not re.search("typing|Literal|Union|<class|Annotated", message), message


ROOTS = SECTIONS | {"server": ServerConfig} | dict(KINDS)
EXTREMES = [math.nan, math.inf, -math.inf, 1e308, -1e308, 10**12, -(10**12), 10**30]


def numeric_settings(hint: Any, key: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Callable[[Any], Any]]]:
    """Yield the key of each number in a configuration, and a function that puts a value in the form of the setting."""
    origin, options = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint, include_extras=True)
        for field in dataclasses.fields(hint):
            yield from numeric_settings(hints[field.name], (*key, field.name))
    elif origin is tuple and dataclasses.is_dataclass(options[0]):
        required = {"train": ["a.tsv"]} if options[0] is CorpusConfig else {"steps": 1}
        for inner, wrap in numeric_settings(options[0]):
            yield key, partial(_in_first_table, required, inner[-1], wrap)
    elif origin is tuple:
        count = 1 if options[-1] is Ellipsis else len(options)
        yield from ((inner, lambda value: [value] * count) for inner, _ in numeric_settings(options[0], key))
    elif origin in (Annotated, Union, types.UnionType):
        yield from (setting for option in options for setting in numeric_settings(option, key))
    elif hint in (int, float):
        yield key, lambda value: value


def _in_first_table(required: config.Table, name: str, wrap: Callable[[Any], Any], value: Any) -> list[config.Table]:
    return [required | {name: wrap(value)}]


@pytest.mark.parametrize("section", ROOTS)
def test_no_setting_accepts_an_extreme_number(section: str) -> None:
    """NaN would train nonsense in silence, and a huge size or count would never end or take all memory."""
    settings = list(numeric_settings(ROOTS[section]))
    assert settings
    for key, wrap in settings:
        for value in EXTREMES:
            table: Any = wrap(value)
            for name in reversed(key):
                table = {name: table}
            with pytest.raises(ConfigError) as error:
                config.build_config(ROOTS[section], table, section)
            assert str(error.value).startswith(f"{section}.{'.'.join(key)}"), (key, value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_refused_with_the_whole_range(value: float) -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Numbers:
        limited: config.PositiveFloat = 1.0
        unlimited: Annotated[float, config.In(0)] = 1.0
        switch: Annotated[float, config.In(1), config.AtMost(9)] | bool = True

        def __post_init__(self) -> None:
            config.check_ranges(self)

    ranges = {
        "limited": f"{value} is out of range. Write a number above 0 and at most 1,000,000.",
        "unlimited": f"{value} is out of range. Write a finite number at least 0.",
        "switch": f"{value} is not accepted. Write a number at least 1 and at most 9 or true or false.",
    }
    for name, message in ranges.items():
        with pytest.raises(ConfigError) as error:
            config.build_config(Numbers, {name: value}, "test")
        assert str(error.value) == f"test.{name}: {message}"
    with pytest.raises(ValueError, match=r"limited: .* is out of range\. Write a number above 0 and"):
        Numbers(limited=value)


def test_a_missing_key_is_named() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Needs:
        width: config.Positive
        norm: Literal["pre", "post"] = "pre"

    with pytest.raises(ConfigError) as error:
        config.build_config(Needs, {"norm": "post"}, "model")
    assert (
        str(error.value)
        == "model.width: missing. Write width = …, a whole number at least 1 and at most 100,000,000,000."
    )


def test_a_shard_setting_that_contradicts_another_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"training: shard cannot be combined with micro_batch_tokens"):
        parse_recipe({"training": {"shard": True, "micro_batch_tokens": 8}})


@pytest.mark.parametrize(
    ("content", "setting", "message"),
    [
        ("steps = 5", "training.workers=1", "--set: training.workers: unknown key"),
        ("steps = 5", "training.steps=many", "--set: training.steps: 'many'"),
        ("workers = 1", "training.steps=3", "recipe.toml: training.workers: unknown key"),
        ('steps = "many"', "training.step=3", "--set: training.step: unknown key"),
    ],
)
def test_an_error_names_the_recipe_or_the_set_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, setting: str, message: str
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'[data]\ntrain = "x.tsv"\n[training]\n{content}\n', "utf-8")
    assert main(["train", str(recipe), "--run", str(tmp_path / "run"), "--set", setting]) == 2
    assert message in capsys.readouterr().err


def test_settings_may_be_a_single_string(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\ntrain = "x.tsv"\n', "utf-8")
    assert planner.resolve_recipe(recipe, data=(), dev=(), settings="training.steps=3").training.steps == 3


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[model]\nwidth = \n", "utf-8")
    with pytest.raises(ConfigError, match=r"r\.toml: not valid TOML: .*line 2"):
        config.read_toml(path)
    with pytest.raises(ConfigError, match=r"none\.toml: no such file"):
        config.read_toml(tmp_path / "none.toml")


def test_data_given_as_a_recipe_is_answered_with_the_data_option(tmp_path: Path) -> None:
    path = tmp_path / "my.tsv"
    for content in ("I go home\t나는 집에 간다\n".encode(), "schön\t예쁘다\n".encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=rf"write --data {path}$"):
            config.read_toml(path)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text("[model]\nwidth = 8\n", "utf-8-sig")
    assert config.read_toml(path) == {"model": {"width": 8}}


def test_a_recipe_survives_the_round_trip_through_toml() -> None:
    recipe = parse_recipe({"model": {"width": 64, "heads": 2}, "data": {"train": "a.tsv", "source_language": "no"}})
    assert recipe.data.train == ("a.tsv",)
    again = parse_recipe(tomllib.loads(config.dump_toml(recipe.to_table())))
    assert again == recipe
    assert again.data.source_language == "no"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_each_shipped_recipe_parses(path: Path) -> None:
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
def test_set_reads_toml_or_plain_text(assignment: str, expected: config.Table) -> None:
    values: config.Table = {}
    config.override(values, assignment)
    assert values == expected


@pytest.mark.parametrize("assignment", ["training.steps", "=3", ""])
def test_set_without_a_key_or_a_value_shows_the_syntax(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"Write key\.path=value"):
        config.override({}, assignment)


tables = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(st.sampled_from("abc"), tables), st.dictionaries(st.sampled_from("abc"), tables))
def test_merging_tables_keeps_unchanged_keys(values: config.Table, changes: config.Table) -> None:
    result = merge_tables(values, changes)
    assert merge_tables(result, changes) == result
    for key in values.keys() | changes.keys():
        if key not in changes:
            assert result[key] == values[key]


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig().width = 3  # type: ignore[misc]
