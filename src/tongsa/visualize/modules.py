"""Modules of JavaScript as one script, for a page that has nobody to load them from.

A server gives them one by one to `import`; inside a page each becomes a function that returns what it exports.
"""

import re
from importlib.resources import files

_IMPORT = re.compile(r'^import \{ (?P<names>[^}]+) \} from "\./(?P<module>\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<rest>(?:const|class|(?:async )?function\*?) (?P<name>\w+))", re.MULTILINE)


def read_asset(name: str) -> str:
    return files("tongsa.visualize").joinpath("assets", name).read_text(encoding="utf-8")


def bundle_script(name: str) -> str:
    """The module and all that it imports, each once and before whoever needs it."""
    return "\n".join(_wrap_module(one) for one in import_order(name))


def import_order(name: str, importers: tuple[str, ...] = ()) -> list[str]:
    """What a module imports, and last itself."""
    assert name not in importers, f"{name} imports itself: {' → '.join(importers)}"  # noqa: S101 - our own modules
    found: list[str] = []
    for imported in _IMPORT.finditer(read_asset(name)):
        found += [one for one in import_order(imported["module"], (*importers, name)) if one not in found]
    return [*found, name]


def _wrap_module(name: str) -> str:
    text = read_asset(name)
    exported = ", ".join(found["name"] for found in _EXPORT.finditer(text))
    body = _EXPORT.sub(lambda found: found["rest"], text)
    body = _IMPORT.sub(
        lambda found: f"const {{ {_destructuring(found['names'])} }} = {_module_variable(found['module'])};", body
    )
    return f"const {_module_variable(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def _destructuring(names: str) -> str:
    return names.replace(" as ", ": ")


def _module_variable(name: str) -> str:
    return "module_" + name.removesuffix(".js")
