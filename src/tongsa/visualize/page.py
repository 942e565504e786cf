"""A page with everything inside: style, script, data. It needs no network, and no text in it becomes markup."""

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongsa.storage import write_text
from tongsa.visualize.modules import bundle_script, read_asset

UNSAFE_CHARACTERS = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
PANEL_STYLES = {
    "attention": "attention.css",
    "tree": "search_tree.css",
    "positions": "plots.css",
    "curves": "plots.css",
}
"""Panel → its own style; each panel stands in a room of its own, where no other style reaches."""
FRAME_HEIGHT_PX = 760
"""Of the frame in a notebook, in pixels."""


@dataclass(frozen=True)
class Page:
    """Ways to look into a model, as one page; a notebook shows it by itself."""

    title: str
    panels: Mapping[str, Any]
    """Panel ("attention", "tree", "positions", "curves") → what it draws."""

    @property
    def html(self) -> str:
        return render_html(self.title, self.panels)

    def save(self, path: str | Path) -> Path:
        """Write the page whole or not at all."""
        write_text(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        # a frame of its own: neither style nor script of the notebook and of the page can disturb each other
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="{html.escape(self.title)}" width="100%" height="{FRAME_HEIGHT_PX}" '
            f'style="border:1px solid #8884;border-radius:8px"></iframe>'
        )


def render_html(title: str, panels: Mapping[str, Any]) -> str:
    """One HTML page of these panels."""
    # a name from the command line may hold half a character, which no file can
    whole = title.encode("utf-8", "replace").decode("utf-8")
    # a style of media "not all" is at hand for its panel and touches nothing else
    styles = [
        f'<style id="style-{one}" media="not all">\n{read_asset(PANEL_STYLES[one])}</style>' for one in PANEL_STYLES
    ]
    parts = {
        "title": html.escape(whole),
        "page": read_asset("page.css"),
        "view": read_asset("view.css"),
        "styles": "\n".join(styles),
        "data": embed_json({"title": title, "panels": panels}),
        "script": bundle_script("view.js"),
    }
    # in one pass: a title that holds {{data}} stays a title
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], read_asset("view.html"))


def embed_json(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element, whatever text it holds."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return UNSAFE_CHARACTERS.sub(lambda character: f"\\u{ord(character[0]):04x}", text)
