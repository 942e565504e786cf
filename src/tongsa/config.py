"""Settings: strict conversion between TOML tables and frozen dataclasses.

Unknown keys, wrong types and values out of range are errors. Sizes have upper limits, far above what any model has:
settings may come from a folder of a stranger, and must not decide how much memory is taken.
TOML instead of YAML, because YAML reads the language code `no` as False.
"""

import dataclasses
import difflib
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tomli_w

from tongsa import bounded_files
from tongsa.bounded_files import MAX_TOML_BYTES, MalformedTextError, UnreadableFileError
from tongsa.errors import InputError

ConfigT = TypeVar("ConfigT")
Table = dict[str, Any]


class ConfigError(InputError):
    """A setting with an unknown key, a wrong type or a value outside its range."""


@dataclasses.dataclass(frozen=True)
class In:
    """Allowed range of a setting, as part of its type: `Annotated[float, In(0, 1)]`. An open end is excluded."""

    low: float
    high: float = inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high or self.high == inf else value <= self.high
        return above and below

    def __str__(self) -> str:
        if self.high == inf:
            return f"above {self.low:g}" if self.open_low else f"at least {self.low:g}"
        return f"in {'(' if self.open_low else '['}{self.low:g}, {self.high:g}{')' if self.open_high else ']'}"


@dataclasses.dataclass(frozen=True)
class AtMost:
    """Upper limit of a size, as a second part of its type: `Annotated[int, In(1), AtMost(1000)]`."""

    high: int

    def __contains__(self, value: float) -> bool:
        return value <= self.high

    def __str__(self) -> str:
        return f"at most {self.high:,}"


MAX_LAYERS, MAX_WIDTH, MAX_HEADS, MAX_KERNEL, MAX_DILATION = 1_000, 65_536, 1_024, 1_023, 4_096
MAX_POSITIONS, MAX_VOCAB_SIZE, MAX_BEAM, MAX_THREADS = 1 << 20, 1 << 24, 10_000, 1_024
MAX_COLUMNS = 100_000
MAX_COUNT, MAX_FACTOR = 10**11, 10**6
"""Limits of steps, tokens and seeds, and of rates, factors, penalties, temperatures and seconds."""

Positive = Annotated[int, In(1), AtMost(MAX_COUNT)]
NonNegative = Annotated[int, In(0), AtMost(MAX_COUNT)]
PositiveFloat = Annotated[float, In(0, open_low=True), AtMost(MAX_FACTOR)]
NonNegativeFloat = Annotated[float, In(0), AtMost(MAX_FACTOR)]
Fraction = Annotated[float, In(0, 1, open_high=True)]
"""A number in [0, 1)."""
Layers = Annotated[int, In(1), AtMost(MAX_LAYERS)]
Width = Annotated[int, In(1), AtMost(MAX_WIDTH)]
OptionalWidth = Annotated[int, In(0), AtMost(MAX_WIDTH)]
"""A width, or 0 for one that follows from others."""
Heads = Annotated[int, In(1), AtMost(MAX_HEADS)]
Kernel = Annotated[int, In(1), AtMost(MAX_KERNEL)]
Dilation = Annotated[int, In(1), AtMost(MAX_DILATION)]
PositionCount = Annotated[int, In(1), AtMost(MAX_POSITIONS)]
OptionalPositionCount = Annotated[int, In(0), AtMost(MAX_POSITIONS)]
VocabSize = Annotated[int, In(1), AtMost(MAX_VOCAB_SIZE)]
BeamWidth = Annotated[int, In(1), AtMost(MAX_BEAM)]
ThreadCount = Annotated[int, In(0), AtMost(MAX_THREADS)]
"""Number of threads; 0 is PyTorch's default."""
Penalty = Annotated[float, In(0), AtMost(MAX_FACTOR)]
ColumnNumber = Annotated[int, In(0), AtMost(MAX_COLUMNS)]
"""Column of a table, counted from 1; the reader of the table refuses 0 with an explanation."""
MAX_SHOWN_CHARACTERS = 200
"""Longest value that an error message repeats."""


def read_toml(path: Path) -> Table:
    """Return the tables of a file that the user names, such as a recipe; it may be a pipe."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_TOML_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file. Give the path of a recipe (*.toml).") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a folder, not a recipe. Give the path of a recipe (*.toml).") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}). Give the path of a recipe (*.toml).") from None
    if len(content) > MAX_TOML_BYTES:
        raise ConfigError(
            f"{path}: larger than {MAX_TOML_BYTES:,} bytes. Give the path of a recipe (*.toml).{_data_file_hint(path)}"
        )
    try:
        return _parse_toml(content)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 ({error.reason} at byte {error.start}). Save it as UTF-8."
        raise ConfigError(f"{path}: {reason}{_data_file_hint(path)}") from None
    except MalformedTextError as error:
        raise ConfigError(f"{path}: {error}.{_data_file_hint(path)}") from None


def read_folder_toml(path: Path, remedy: str = bounded_files.COPY_AGAIN) -> Table:
    """Return the tables of a file in a model or run folder; `remedy` is for a damaged one."""
    try:
        return _parse_toml(bounded_files.read_bytes(path, MAX_TOML_BYTES))
    except UnreadableFileError as error:
        raise ConfigError(f"{path}: {error.reason}. {remedy}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: damaged (not UTF-8 at byte {error.start}). {remedy}") from None
    except MalformedTextError as error:
        raise ConfigError(f"{path}: damaged ({error}). {remedy}") from None


def _parse_toml(content: bytes) -> Table:
    return bounded_files.parse_toml(content.decode("utf-8-sig"))  # some editors write a byte order mark


def _data_file_hint(path: Path) -> str:
    """Return a hint for a file that is not named *.toml: it is probably training data."""
    return "" if path.suffix == ".toml" else f" If it is training data, write --data {path}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the most similar known word, or the list of known words."""
    known = list(known)
    similar = keys_ending_in(word, known) or difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, similar))}?" if similar else f"choose from {', '.join(known)}"


def keys_ending_in(key: str, full_keys: Iterable[str]) -> list[str]:
    """Return the full keys of a key without its section: model.kind for kind."""
    return [full_key for full_key in dict.fromkeys(full_keys) if full_key.endswith(f".{key}")]


def setting_keys(config_class: type, key_path: str = "") -> Iterator[str]:
    """Yield the full key of each setting of a dataclass, and of the dataclasses in it."""
    hints = _type_hints(config_class)
    for field in dataclasses.fields(config_class):
        key, hint = _join_key(key_path, field.name), hints[field.name]
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from setting_keys(hint, key)
        else:
            yield key


def build_config(config_class: type[ConfigT], table: Mapping[str, Any], key_path: str = "") -> ConfigT:
    """Return an instance of the dataclass; raise ConfigError for the first wrong key or value."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{key_path}: expected a table, not {_show(table)}. Write [{key_path}].")
    hints = _type_hints(config_class)  # type: ignore[arg-type]
    names = [field.name for field in dataclasses.fields(config_class)]  # type: ignore[arg-type]
    for key in table:
        if key not in names:
            similar = keys_ending_in(key, setting_keys(config_class, key_path)) or names
            raise ConfigError(f"{_show_key(_join_key(key_path, key))}: unknown key; {did_you_mean(key, similar)}")
    for name in _required_keys(config_class):
        if name not in table:
            kind = _describe_type(hints[name])
            raise ConfigError(f"{_join_key(key_path, name)}: missing. Write {name} = …, {kind}.")
    values = {key: _convert(hints[key], value, _join_key(key_path, key)) for key, value in table.items()}
    try:
        return config_class(**values)
    except (ValueError, InputError) as error:
        is_of_one_setting = str(error).partition(": ")[0] in names
        separator = "" if not key_path else "." if is_of_one_setting else ": "
        raise ConfigError(f"{key_path}{separator}{error}") from None


@cache
def _type_hints(config_class: type) -> dict[str, Any]:
    return get_type_hints(config_class, include_extras=True)


def _required_keys(config_class: type) -> list[str]:
    """Return the fields without a default."""
    return [
        field.name
        for field in dataclasses.fields(config_class)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]


def check_ranges(settings: Any) -> None:
    """Raise ValueError for the first field of a dataclass that is outside the range of its type."""
    for name, hint in _type_hints(type(settings)).items():  # type: ignore[arg-type]
        for allowed in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
            value = getattr(settings, name)
            if value not in allowed:
                raise ValueError(_out_of_range(name, value, hint))


def _out_of_range(name: str, value: Any, hint: Any) -> str:
    return f"{name}: {_show(value)} is out of range. Write {_describe_type(hint)}."


def _show(value: Any) -> str:
    """Return a value as Python writes it, cut if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def _show_key(key: str) -> str:
    """Return a key of a file for a message: cut if it is long, quoted if it has control characters."""
    return key if len(key) <= MAX_SHOWN_CHARACTERS and key.isprintable() else _show(key)


def _join_key(key_path: str, key: str) -> str:
    return f"{key_path}.{key}" if key_path else key


def _convert(hint: Any, value: Any, key_path: str) -> Any:
    """Convert a value to its type hint. An integer is accepted as a float; a string is never a number."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Annotated:
        converted = _convert(options[0], value, key_path)
        for allowed in options[1:]:
            if converted not in allowed:
                raise ConfigError(_out_of_range(key_path, converted, hint))
        return converted
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build_config(hint, value, key_path)
    if origin is Literal:
        if value not in options:
            raise ConfigError(f"{key_path}: {_show(value)} is not {_describe_choices(options)}")
        return value
    if origin in (Union, types.UnionType):
        for option in options:
            try:
                return _convert(option, value, key_path)
            except ConfigError:
                continue
        raise ConfigError(f"{key_path}: {_show(value)} is not accepted. Write {_describe_type(hint)}.")
    if origin is tuple:
        return _convert_sequence(options, value, key_path)
    if hint is Any:
        return value
    if hint is float and type(value) is int and abs(value) < 1e300:
        return float(value)
    if type(value) is not hint:
        raise ConfigError(f"{key_path}: {_show(value)} is not {_describe_type(hint)}")
    return value


def _convert_sequence(item_hints: tuple[Any, ...], value: Any, key_path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        value = [value]  # a list of one value may be written without brackets
    if item_hints[-1] is not Ellipsis and len(value) != len(item_hints):
        raise ConfigError(f"{key_path}: expected {len(item_hints)} values, not {len(value)}")
    hints = [item_hints[0]] * len(value) if item_hints[-1] is Ellipsis else item_hints
    return tuple(
        _convert(hint, item, f"{key_path}[{i}]") for i, (hint, item) in enumerate(zip(hints, value, strict=True))
    )


def _describe_type(hint: Any) -> str:
    """Return a type in the words of a user: "a whole number", "one of 'a', 'b'"."""
    words = {int: "a whole number", float: "a number", str: "text (in quotes)", bool: "true or false"}
    origin, options = get_origin(hint), get_args(hint)
    if origin is Annotated:
        is_unlimited = options[0] is float and all(allowed.high == inf for allowed in options[1:])
        kind = "a finite number" if is_unlimited else _describe_type(options[0])
        return f"{kind} {' and '.join(map(str, options[1:]))}"
    if origin in (Union, types.UnionType):
        choices = [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
        others = [_describe_type(option) for option in options if get_origin(option) is not Literal]
        return " or ".join([*others, *([_describe_choices(choices)] if choices else [])])
    if origin is Literal:
        return _describe_choices(options)
    if origin is tuple:
        return f"a list; each item is {_describe_type(options[0])}"
    return words.get(hint, "a table")


def _describe_choices(choices: Iterable[Any]) -> str:
    return f"one of {', '.join(map(repr, choices))}"


def to_table(config: Any) -> Table:
    """Return all settings as a table, defaults included."""
    return {key: _to_plain(value) for key, value in dataclasses.asdict(config).items()}


def _to_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_plain(item) for key, item in value.items()}
    return [_to_plain(item) for item in value] if isinstance(value, tuple) else value


def dump_toml(values: Table) -> str:
    return tomli_w.dumps(values)


def override(values: Table, assignment: str, option: str = "--set") -> None:
    """Apply `key.path=value` to a table. The value is read as TOML, else as plain text."""
    path, equals, text = assignment.partition("=")
    if not equals or not path.strip():
        form = "key.path=value, for example training.steps=1000" if option == "--set" else "key=value"
        raise ConfigError(f"{option} {assignment}: no key or no value. Write {form}.")
    try:
        value = bounded_files.parse_toml(f"value = {text}")["value"]
    except MalformedTextError:
        value = text
    *tables, key = path.strip().split(".")
    for name in tables:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{option} {assignment}: {name!r} is a value, not a table. Leave out the keys below it.")
    values[key] = value
