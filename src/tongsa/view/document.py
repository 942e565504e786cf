"""A page with everything inside: style, script, data. It needs no network, and no text in it becomes markup."""

import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def document(name: str, title: str, data: Mapping[str, Any]) -> str:
    """NAME.html, filled with its style (after the one that all pages share), its script and its data."""
    # a name from the command line may hold half a character, which no file can
    whole = title.encode("utf-8", "replace").decode("utf-8")
    parts = {"title": html.escape(whole), "data": embedded(data)}
    parts |= {"style": resource("page.css") + resource(f"{name}.css"), "script": resource(f"{name}.js")}
    # in one pass: a title that holds {{data}} stays a title
    return re.sub(r"\{\{(title|style|script|data)\}\}", lambda slot: parts[slot[1]], resource(f"{name}.html"))


def resource(name: str) -> str:
    return files("tongsa.view").joinpath(name).read_text(encoding="utf-8")


def embedded(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element, whatever text it holds."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return UNSAFE.sub(lambda character: f"\\u{ord(character[0]):04x}", text)
