"""Types as JSON Schema, with the sentences that stand under their fields."""

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
OptionalFields = Callable[[type[Any]], Mapping[str, Any]]
"""From a type to the fields that may be left out, each with what it is then."""


def request_defaults(record_type: type[Any]) -> Mapping[str, Any]:
    """What a client may leave out of a question."""
    return {field.name: field.default for field in fields(record_type) if field.default is not MISSING}


def optional_keys(record_type: type[Any]) -> Mapping[str, Any]:
    """What an answer may leave out: it holds every field of a dataclass."""
    return dict.fromkeys(record_type.__optional_keys__) if is_typeddict(record_type) else {}


class SchemaRegistry:
    """A schema for each named type, written once; others point to it."""

    def __init__(self, optional_fields: OptionalFields) -> None:
        self.optional_fields = optional_fields
        self.definitions: dict[str, dict[str, Any]] = {}

    def schema_of(self, hint: Any) -> dict[str, Any]:
        origin, options = get_origin(hint), get_args(hint)
        if is_dataclass(hint) or is_typeddict(hint):
            return self._reference(hint)
        if origin is Literal:
            return {"enum": list(options)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema_of(option) for option in options]}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.schema_of(options[1])}
        if origin is list or (origin is tuple and options[-1] is Ellipsis):
            return {"type": "array", "items": self.schema_of(options[0])}
        if origin is tuple:
            each = [self.schema_of(option) for option in options]
            return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}
        return {"type": JSON_TYPES[hint]}

    def _reference(self, record_type: Any) -> dict[str, Any]:
        if record_type.__name__ not in self.definitions:
            self.definitions[record_type.__name__] = {}  # its place, before what it holds
            self.definitions[record_type.__name__] = self._object_schema(record_type)
        return {"$ref": f"#/components/schemas/{record_type.__name__}"}

    def _object_schema(self, record_type: type[Any]) -> dict[str, Any]:
        """An object with these fields and no others."""
        about, left, properties = field_descriptions(record_type), self.optional_fields(record_type), {}
        for name, hint in get_type_hints(record_type).items():
            properties[name] = self.schema_of(hint)
            if name in about:
                properties[name] |= {"description": about[name]}
            if left.get(name) is not None:
                properties[name] |= {"default": left[name]}
        needed = [name for name in properties if name not in left]
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def field_descriptions(record_type: type[Any]) -> dict[str, str]:
    """Field → the sentence under it, of a type and of those it builds on."""
    found: dict[str, str] = {}
    for one in reversed([base for base in record_type.__mro__ if is_dataclass(base) or is_typeddict(base)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for before, after in pairwise(body):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(told, str):
                found[before.target.id] = told
    return found
