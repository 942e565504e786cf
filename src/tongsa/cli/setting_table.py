"""Table of all settings, read from the dataclasses: key, default, allowed values, and the docstring below the field."""

import ast
import dataclasses
import inspect
import textwrap
import types
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

RECIPE_SECTIONS = ("data", "tokenizer", "model", "training", "decoding")
SERVER_SECTION = "serve"
"""The settings of `tongsa serve`, whose keys have no section."""
COMMAND_SECTIONS = {
    "demo": RECIPE_SECTIONS,
    "doctor": RECIPE_SECTIONS,
    "train": RECIPE_SECTIONS,
    "distil": RECIPE_SECTIONS,
    "ladder": RECIPE_SECTIONS,
    "translate": ("decoding", "sampling"),
    "evaluate": ("decoding", "data format"),
    "compare": RECIPE_SECTIONS,
    "shortlist": ("data format",),
    "sample": ("sampling",),
    "serve": (SERVER_SECTION,),
    "data noise": ("data noise", "data format"),
    "data clean": ("data cleaning",),
    "data why": ("data cleaning",),
    "data report": ("data cleaning",),
    "data split": ("data format",),
    "data align": ("data format",),
    "data back-translate": ("decoding", "sampling", "data format"),
}
"""The sections whose keys `--set` of a command accepts."""
TYPE_NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false", Path: "path"}


class Setting(NamedTuple):
    """A line of the table."""

    key: str
    default: Any
    values: str
    """Type and range, in words."""
    meaning: str
    kind: str = ""
    """Kind of model that has this setting; empty outside [model]."""
    choices: tuple[str, ...] = ()
    """Allowed words; empty for numbers, paths and free text."""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if name not in ("kind", "choices") or value}


def all_settings() -> dict[str, list[Setting]]:
    """Return the settings of each section, with those of every kind of model."""
    from tongsa.cli.data_format import DataFormat
    from tongsa.decoding.config import DecodingConfig
    from tongsa.decoding.sampling import SamplingConfig
    from tongsa.models import KINDS
    from tongsa.runs.recipe import DataConfig
    from tongsa.server.config import ServerConfig
    from tongsa.tokenization.subword import TokenizerConfig
    from tongsa.training.config import TrainingConfig

    sections = {"data": DataConfig, "tokenizer": TokenizerConfig, "training": TrainingConfig}
    sections |= {"decoding": DecodingConfig, "sampling": SamplingConfig}
    table = {name: list(class_settings(config_class, name)) for name, config_class in sections.items()}
    kind = Setting(
        "model.kind", "transformer", " | ".join(KINDS), "Kind of model (docs/models.md).", choices=tuple(KINDS)
    )
    kinds = [
        setting._replace(kind=name)
        for name, config_class in KINDS.items()
        for setting in class_settings(config_class, "model")
    ]
    format_keys = {f"data.{field.name}" for field in dataclasses.fields(DataFormat)}
    return {
        "data": table["data"],
        "tokenizer": table["tokenizer"],
        "model": [kind, *kinds],
        "training": table["training"],
        "decoding": table["decoding"],
        "sampling": table["sampling"],
        SERVER_SECTION: list(class_settings(ServerConfig, "")),
        "data noise": [setting for setting in table["data"] if setting.key.startswith("data.noise.")],
        "data cleaning": [
            setting
            for setting in table["data"]
            if setting.key.startswith("data.filters.") or setting.key in format_keys
        ],
        "data format": [setting for setting in table["data"] if setting.key in format_keys],
    }


def command_keys(command: str) -> list[str]:
    """Return the keys that `--set` of a command accepts."""
    table = all_settings()
    keys = (setting.key for section in COMMAND_SECTIONS[command] for setting in table[section])
    return list(dict.fromkeys(keys))


def setting_choices() -> dict[str, list[str]]:
    """Return the allowed words of each setting that has some; those of a model setting are of all kinds."""
    choices: dict[str, list[str]] = {}
    for setting in chain.from_iterable(all_settings().values()):
        if setting.choices:
            choices[setting.key] = list(dict.fromkeys([*choices.get(setting.key, []), *setting.choices]))
    return choices


def class_settings(config_class: type, key_path: str) -> Iterator[Setting]:
    """Yield the settings of a dataclass, and of the dataclasses in it."""
    hints, meanings = get_type_hints(config_class, include_extras=True), field_docstrings(config_class)
    for field in dataclasses.fields(config_class):
        key, hint = f"{key_path}.{field.name}".lstrip("."), hints[field.name]
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from class_settings(hint, key)
            continue
        meaning, words = meanings.get(field.name, ""), tuple(allowed_words(hint))
        yield Setting(key, _plain_default(field), describe_values(hint), meaning, choices=words)


def _plain_default(field: "dataclasses.Field[Any]") -> Any:
    value = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    return list(value) if isinstance(value, tuple) else None if value is dataclasses.MISSING else value


@cache
def field_docstrings(config_class: type) -> Mapping[str, str]:
    """Return the docstring below each field of a dataclass and of its base classes."""
    meanings: dict[str, str] = {}
    for base in reversed(config_class.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for statement, following in pairwise(body):
            is_field = isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            if is_field and is_text:
                meanings[statement.target.id] = " ".join(str(following.value.value).split())  # type: ignore[attr-defined]
    return meanings


def allowed_words(hint: Any) -> Iterator[str]:
    """Yield the words that a setting may have: the choices of a Literal, true and false."""
    if hint is bool:
        yield from ("true", "false")
    elif get_origin(hint) is Literal:
        yield from map(str, get_args(hint))
    else:
        yield from chain.from_iterable(map(allowed_words, get_args(hint)))


def describe_values(hint: Any) -> str:
    """Return the type and the range of a setting in words: "whole number, at least 1"."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return ", ".join([describe_values(options[0]), *map(str, options[1:])])
    if origin is Literal:
        return " | ".join(map(str, options))
    if origin in (Union, types.UnionType):
        return " or ".join(describe_values(option) for option in options if option is not type(None))
    if origin is tuple:
        count = "list" if options[-1] is Ellipsis else f"list of {len(options)}"
        return f"{count}: {describe_values(options[0])}"
    return TYPE_NAMES.get(hint, "table" if dataclasses.is_dataclass(hint) else "any value")
