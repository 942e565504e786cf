"""Self-contained HTML page: style, script and data in one file. It needs no network; text never becomes markup."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongsa.storage import write_text
from tongsa.visualize.js_modules import bundle_script, read_asset
from tongsa.visualize.packing import pack_json

UNSAFE_CHARACTERS = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
"""Characters that could end a script element, or that JSON in a script must escape."""
PANEL_STYLES = {
    "attention": "attention.css",
    "tree": "search_tree.css",
    "positions": "plots.css",
    "curves": "plots.css",
    "trace": "trace.css",
    "family": "family.css",
    "inspect": "inspect.css",
    "compare": "compare.css",
    "corpus": "corpus.css",
}
"""Panel → its style sheet. Each panel has its own shadow root, so the sheets do not affect each other."""
PANEL_SCRIPTS = {
    "attention": "attention.js",
    "tree": "search_tree.js",
    "positions": "positions.js",
    "curves": "curves.js",
    "trace": "trace.js",
    "family": "family.js",
    "inspect": "inspect.js",
    "compare": "compare.js",
    "corpus": "corpus.js",
}
"""Panel → its module. A page contains the modules of its own panels only."""
PACKED_PANELS = {"trace", "inspect"}
"""Panels whose data is compressed as a whole: most of it is packed arrays."""
FRAME_HEIGHT_PX = 760
"""Height of the frame in a notebook."""


@dataclass(frozen=True)
class Page:
    """Panels about a model as one HTML page; a notebook displays it in a frame."""

    title: str
    panels: Mapping[str, Any]
    """Panel ("attention", "tree", "positions", "curves", "trace", "family", "inspect", "compare", "corpus")
    → its data."""
    sentences: Sequence[Mapping[str, Any]] = ()
    """Texts of each sentence: source, translation or label, reference, score."""

    @property
    def html(self) -> str:
        return render_html(self.title, self.panels, self.sentences)

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        write_text(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        # a sandboxed frame: styles and scripts of the notebook and of the page cannot affect each other
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'title="{html.escape(self.title)}" width="100%" height="{FRAME_HEIGHT_PX}" '
            f'style="border:1px solid #8884;border-radius:8px"></iframe>'
        )


def render_html(title: str, panels: Mapping[str, Any], sentences: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return one HTML page with these panels."""
    # a title from the command line may hold a lone surrogate, which UTF-8 cannot encode
    encodable = title.encode("utf-8", "replace").decode("utf-8")
    # media "not all" keeps the sheet from applying to the document; the script copies it into the panel's shadow root
    styles = [
        f'<style id="style-{panel}" media="not all">\n{read_asset(sheet)}</style>'
        for panel, sheet in PANEL_STYLES.items()
        if panel in panels
    ]
    packed = {panel: pack_json(data) if panel in PACKED_PANELS else data for panel, data in panels.items()}
    unused = {script for panel, script in PANEL_SCRIPTS.items() if panel not in panels}
    parts = {
        "title": html.escape(encodable),
        "base_style": read_asset("page.css"),
        "page_style": read_asset("offline_page.css"),
        "panel_styles": "\n".join(styles),
        "data": embed_json({"title": title, "sentences": sentences, "panels": packed}),
        "script": bundle_script("offline_page.js", without=unused),
    }
    # in one pass: a title that contains {{data}} is not expanded again
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], read_asset("offline_page.html"))


def embed_json(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element, whatever text it holds."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return UNSAFE_CHARACTERS.sub(lambda character: f"\\u{ord(character[0]):04x}", text)
