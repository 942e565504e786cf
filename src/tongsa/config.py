"""Settings: TOML ↔ frozen dataclasses, strictly. An unknown key is an error that names the nearest one.

TOML and not YAML, because in YAML the language code `no` reads as False.
"""

import dataclasses
import difflib
import tomllib
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tomli_w

from tongsa.errors import InputError

Config = TypeVar("Config")
Table = dict[str, Any]


class ConfigError(InputError):
    """A recipe that cannot be meant."""


def read(path: Path) -> Table:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))  # some editors begin a file with a byte order mark
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; give the path of a recipe (*.toml)") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a folder, not a recipe; give the path of a TOML file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give the path of a recipe (*.toml)") from None
    except UnicodeDecodeError as error:
        why = f"not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        raise ConfigError(f"{path}: {why}{_meant(path)}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}{_meant(path)}") from None


def _meant(path: Path) -> str:
    """What is no recipe by its name either was probably to be learnt from."""
    return "" if path.suffix == ".toml" else f"; if it holds pairs to learn from, write --pairs {path}"


def nearest(word: str, known: Iterable[str]) -> str:
    """', did you mean …?' or the list of what there is."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"


def build(kind: type[Config], table: Mapping[str, Any], where: str = "") -> Config:
    """An instance of the dataclass `kind`, or a sentence about the first key that does not fit."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for key in table:
        if key not in names:
            raise ConfigError(f"{_at(where, key)}: unknown key; {nearest(key, names)}")
    values = {key: _value(hints[key], value, _at(where, key)) for key, value in table.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ConfigError(f"[{where}] {error}") from None
    except (ValueError, InputError) as error:
        raise ConfigError(f"{where + ': ' if where else ''}{error}") from None


def _at(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _value(hint: Any, value: Any, where: str) -> Any:
    """The value as the hint wants it. A whole number is a fine float; text is never a number."""
    origin, options = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: a table is wanted, not {value!r}; write [{where}]")
        return build(hint, value, where)
    if origin is Literal:
        if value not in options:
            raise ConfigError(f"{where}: {value!r} is not one of {', '.join(map(repr, options))}")
        return value
    if origin in (Union, types.UnionType):
        for option in options:
            try:
                return _value(option, value, where)
            except ConfigError:
                continue
        raise ConfigError(f"{where}: {value!r} is not {_named(hint)}")
    if origin is tuple:
        return _sequence(options, value, where)
    if hint is Any:
        return value
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise ConfigError(f"{where}: {value!r} is not {_named(hint)}")
    return value


def _sequence(options: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        value = [value]  # one file needs no brackets
    if options[-1] is not Ellipsis and len(value) != len(options):
        raise ConfigError(f"{where}: {len(options)} values are wanted, not {len(value)}")
    each = [options[0]] * len(value) if options[-1] is Ellipsis else options
    return tuple(_value(hint, item, f"{where}[{at}]") for at, (hint, item) in enumerate(zip(each, value, strict=True)))


def _named(hint: Any) -> str:
    words = {int: "a whole number", float: "a number", str: "text (in quotes)", bool: "true or false"}
    return words.get(hint, str(hint))


def table(config: Any) -> Table:
    """Every setting in force, defaults written out."""
    return {key: _plain(value) for key, value in dataclasses.asdict(config).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def dump(values: Table) -> str:
    return tomli_w.dumps(values)


def override(values: Table, assignment: str, option: str = "--set") -> None:
    """Carry out `key.path=value` on a table; the value is read as TOML, or else as plain text."""
    path, equals, text = assignment.partition("=")
    if not equals or not path.strip():
        form = "key.path=value, for example training.steps=1000" if option == "--set" else "key=value"
        raise ConfigError(f"{option} {assignment}: write {form}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, key = path.strip().split(".")
    for name in tables:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{option} {assignment}: {name!r} is a value, not a table")
    values[key] = value
