"""JavaScript modules bundled into one script, for a page that is a single file and for the server's page.

Each module becomes a function that returns its exports. The server delivers the modules of views one by one.
"""

import re
from collections.abc import Callable, Collection
from importlib.resources import files

_IMPORT = re.compile(r'^import \{(?P<names>[^}]+)\} from "\./(?P<module>\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<rest>(?:const|class|(?:async )?function\*?) (?P<name>[\w$]+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:(?!\*/).)*\*/|// [^\n]*)\n", re.MULTILINE | re.DOTALL)
"""A comment on lines of its own. The bundle leaves them out, and the indentation: together a third of a module."""
_INDENTATION = re.compile(r"^ +", re.MULTILINE)
_MODULE_SYNTAX = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


Reader = Callable[[str], str]
"""Function from the name of a module to its text."""


def read_asset(name: str) -> str:
    """Return the text of a file in assets/."""
    return files("tongsa.visualize").joinpath("assets", name).read_text(encoding="utf-8")


def bundle_script(name: str, *, without: Collection[str] = (), read: Reader | None = None) -> str:
    """Return one script of a module and all its imports, each once and before the modules that import it.

    Modules in `without` are left out, with what only they import: their exports are undefined. `read` returns the
    text of a module; by default that of assets/.
    """
    read = read or read_asset
    order = import_order(name, without=without, read=read)
    return "\n".join(_wrap_module(module, read(module), without) for module in order)


def import_order(
    name: str, importers: tuple[str, ...] = (), without: Collection[str] = (), read: Reader | None = None
) -> list[str]:
    """Return all direct and indirect imports of a module, dependencies first, and last the module itself."""
    assert name not in importers, f"{name} imports itself: {' → '.join(importers)}"  # noqa: S101 - our own modules
    order: list[str] = []
    for match in _IMPORT.finditer((read or read_asset)(name)):
        if match["module"] not in without:
            imports = import_order(match["module"], (*importers, name), without, read)
            order += [module for module in imports if module not in order]
    return [*order, name]


def _wrap_module(name: str, source: str, without: Collection[str]) -> str:
    text = _COMMENT.sub("", source)
    if all(line.count("`") % 2 == 0 for line in text.splitlines()):  # no string spans lines: indentation means nothing
        text = _INDENTATION.sub("", text)
    exports = ", ".join(match["name"] for match in _EXPORT.finditer(text))
    body = _EXPORT.sub(lambda match: match["rest"], text)
    body = _IMPORT.sub(lambda match: _destructuring(match["names"], match["module"], without), body)
    left = _MODULE_SYNTAX.findall(body)
    # forms that the patterns above do not know, such as a default export, would be lost in silence
    assert not left, f"{name}: the bundle cannot contain {left[0]!r}"  # noqa: S101 - our own modules
    return f"const {_module_variable(name)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _destructuring(names: str, module: str, without: Collection[str]) -> str:
    variables = " ".join(names.split()).removesuffix(",").replace(" as ", ": ")
    return f"const {{ {variables} }} = {'{}' if module in without else _module_variable(module)};"


def _module_variable(name: str) -> str:
    return "module_" + name.removesuffix(".js")
