"""JavaScript modules bundled into one script, for a page that is a single file.

A server delivers the modules one by one. In a single file, each module becomes a function that returns its exports.
"""

import re
from importlib.resources import files

_IMPORT = re.compile(r'^import \{ (?P<names>[^}]+) \} from "\./(?P<module>\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<rest>(?:const|class|(?:async )?function\*?) (?P<name>\w+))", re.MULTILINE)


def read_asset(name: str) -> str:
    """Return the text of a file in assets/."""
    return files("tongsa.visualize").joinpath("assets", name).read_text(encoding="utf-8")


def bundle_script(name: str) -> str:
    """Return one script of a module and all its imports, each once and before the modules that import it."""
    return "\n".join(_wrap_module(module) for module in import_order(name))


def import_order(name: str, importers: tuple[str, ...] = ()) -> list[str]:
    """Return all direct and indirect imports of a module, dependencies first, and last the module itself."""
    assert name not in importers, f"{name} imports itself: {' → '.join(importers)}"  # noqa: S101 - our own modules
    order: list[str] = []
    for match in _IMPORT.finditer(read_asset(name)):
        order += [module for module in import_order(match["module"], (*importers, name)) if module not in order]
    return [*order, name]


def _wrap_module(name: str) -> str:
    text = read_asset(name)
    exports = ", ".join(match["name"] for match in _EXPORT.finditer(text))
    body = _EXPORT.sub(lambda match: match["rest"], text)
    body = _IMPORT.sub(
        lambda match: f"const {{ {_destructuring(match['names'])} }} = {_module_variable(match['module'])};", body
    )
    return f"const {_module_variable(name)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _destructuring(names: str) -> str:
    return names.replace(" as ", ": ")


def _module_variable(name: str) -> str:
    return "module_" + name.removesuffix(".js")
