"""Types of the pages' data for the JavaScript checker: types.d.ts from the TypedDicts of the server's view responses.

Usage: python tools/javascript_types.py [--check]; --check only compares the file and exits with 1 if it is out of date.
"""

import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin

import typing_extensions

from tongsa.server.api import view_schemas

FILE = Path(__file__).parent.parent / "src/tongsa/visualize/assets/types.d.ts"
SIMPLE = {int: "number", float: "number", str: "string", bool: "boolean", type(None): "null", Any: "any"}


def javascript_type(annotation: Any) -> str:
    """Return the TypeScript form of a Python annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    if typing_extensions.is_typeddict(annotation):
        return str(annotation.__name__)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(javascript_type, arguments))
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin is list:
        inner = javascript_type(arguments[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(map(javascript_type, arguments))}]"
    if origin is dict:
        return f"Record<{javascript_type(arguments[0])}, {javascript_type(arguments[1])}>"
    raise TypeError(f"{annotation}: no TypeScript form. Add it to tools/javascript_types.py.")


def interface(schema: Any) -> str:
    """Return the TypeScript interface of a TypedDict."""
    lines = []
    for name, annotation in typing_extensions.get_type_hints(schema, include_extras=True).items():
        origin: Any = get_origin(annotation)
        is_optional = origin is NotRequired
        inner = get_args(annotation)[0] if is_optional else annotation
        lines.append(f"  {name}{'?' if is_optional else ''}: {javascript_type(inner)};\n")
    return f"export interface {schema.__name__} {{\n{''.join(lines)}}}\n"


def declarations() -> str:
    """Return the content of types.d.ts."""
    schemas = [value for value in vars(view_schemas).values() if typing_extensions.is_typeddict(value)]
    shown = [schema for schema in schemas if schema.__module__ == view_schemas.__name__]
    return "\n".join(
        ["// written by tools/javascript_types.py from server/api/view_schemas.py\n", *map(interface, shown)]
    )


def main() -> int:
    if "--check" in sys.argv[1:]:
        if FILE.read_text("utf-8") == declarations():
            return 0
        print(f"{FILE.name}: out of date. Run: python tools/javascript_types.py")
        return 1
    FILE.write_text(declarations(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
