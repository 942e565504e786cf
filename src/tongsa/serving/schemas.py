"""Types as JSON Schema, with the sentences that stand under their fields."""

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
Left = Callable[[type[Any]], Mapping[str, Any]]
"""From a type to the fields that may be left out, each with what it is then."""


def defaults(kind: type[Any]) -> Mapping[str, Any]:
    """What a client may leave out of a question."""
    return {field.name: field.default for field in fields(kind) if field.default is not MISSING}


def unsaid(kind: type[Any]) -> Mapping[str, Any]:
    """What an answer may leave out: it holds every field of a dataclass."""
    return dict.fromkeys(kind.__optional_keys__) if is_typeddict(kind) else {}


class Schemas:
    """A schema for each named type, written once; others point to it."""

    def __init__(self, left: Left) -> None:
        self.left = left
        self.named: dict[str, dict[str, Any]] = {}

    def of(self, hint: Any) -> dict[str, Any]:
        origin, options = get_origin(hint), get_args(hint)
        if is_dataclass(hint) or is_typeddict(hint):
            return self._pointer(hint)
        if origin is Literal:
            return {"enum": list(options)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(option) for option in options]}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(options[1])}
        if origin is list or (origin is tuple and options[-1] is Ellipsis):
            return {"type": "array", "items": self.of(options[0])}
        if origin is tuple:
            each = [self.of(option) for option in options]
            return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}
        return {"type": PLAIN[hint]}

    def _pointer(self, kind: Any) -> dict[str, Any]:
        if kind.__name__ not in self.named:
            self.named[kind.__name__] = {}  # its place, before what it holds
            self.named[kind.__name__] = self._closed(kind)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}

    def _closed(self, kind: type[Any]) -> dict[str, Any]:
        """An object with these fields and no others."""
        about, left, properties = descriptions(kind), self.left(kind), {}
        for name, hint in get_type_hints(kind).items():
            properties[name] = self.of(hint)
            if name in about:
                properties[name] |= {"description": about[name]}
            if left.get(name) is not None:
                properties[name] |= {"default": left[name]}
        needed = [name for name in properties if name not in left]
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def descriptions(kind: type[Any]) -> dict[str, str]:
    """Field → the sentence under it, of a type and of those it builds on."""
    found: dict[str, str] = {}
    for one in reversed([base for base in kind.__mro__ if is_dataclass(base) or is_typeddict(base)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for before, after in pairwise(body):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(told, str):
                found[before.target.id] = told
    return found
