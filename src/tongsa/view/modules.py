"""Modules of JavaScript as one script, for a page that has nobody to load them from.

A server gives them one by one to `import`; inside a page each becomes a function that returns what it exports.
"""

import re
from importlib.resources import files

_IMPORT = re.compile(r'^import \{ (?P<names>[^}]+) \} from "\./(?P<module>\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<rest>(?:const|class|(?:async )?function\*?) (?P<name>\w+))", re.MULTILINE)


def resource(name: str) -> str:
    return files("tongsa.view").joinpath(name).read_text(encoding="utf-8")


def bundled(name: str) -> str:
    """The module and all that it imports, each once and before whoever needs it."""
    return "\n".join(_wrapped(one) for one in order(name))


def order(name: str, before: tuple[str, ...] = ()) -> list[str]:
    """What a module imports, and last itself."""
    assert name not in before, f"{name} imports itself: {' → '.join(before)}"  # noqa: S101 - our own modules
    found: list[str] = []
    for imported in _IMPORT.finditer(resource(name)):
        found += [one for one in order(imported["module"], (*before, name)) if one not in found]
    return [*found, name]


def _wrapped(name: str) -> str:
    text = resource(name)
    exported = ", ".join(found["name"] for found in _EXPORT.finditer(text))
    body = _EXPORT.sub(lambda found: found["rest"], text)
    body = _IMPORT.sub(lambda found: f"const {{ {_renamed(found['names'])} }} = {_variable(found['module'])};", body)
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def _renamed(names: str) -> str:
    return names.replace(" as ", ": ")


def _variable(name: str) -> str:
    return "module_" + name.removesuffix(".js")
