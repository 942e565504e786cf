"""Screenshots of the translator page agree with stored layouts: widths, languages, themes and texts.

layouts.json holds no pictures but a fingerprint per state: the mean brightness of the screenshot, and one digit per
cell of 1/12 of the width by 50 pixels: its contrast (0: one color; 9: large or dense text). After a change of the
page that is meant, look at the page and write the file again:

    TONGSA_WRITE_LAYOUTS=1 python -m pytest tests/browser/test_layouts.py
"""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from .conftest import PHRASES, Visitor, write

FILE = Path(__file__).with_name("layouts.json")
WIDTHS, HEIGHT = (360, 390, 820, 1280), 1100
SENTENCES = list(PHRASES)
FORTY_LINES = "\n\n".join(SENTENCES[i % 4] for i in range(20)) + "\n"
TEXTS = {
    "empty": ("", "body"),
    "three sentences": (" ".join(SENTENCES[:3]), "body"),
    "end of 40 lines": (FORTY_LINES, "#source"),
    "end of the page with 40 lines": (FORTY_LINES, "body"),
}
"""Text, and the element whose end is scrolled into view."""
MODEL_DEPENDENT = "#alternatives-list li, #sentence-note { visibility: hidden; } #alternatives-list { height: 9rem; }"
"""Other translations and probabilities depend on the processor that trained the model: hide the texts."""
DEFECTS = {
    "labels broken into letters": ("button", "button { overflow-wrap: anywhere; width: 40px; }"),
    "blank source": ("#source", "#mirror, #source { visibility: hidden; }"),
    "no result": ("#result", ".pane.result { display: none; }"),
    "no row of views": ("#look", "#look { display: none; }"),
}
"""The element that suffers, and the style that breaks it."""
OTHER_FONTS = {
    "wider": "* { letter-spacing: 0.01em; }",
    "larger": "html { font-size: 100.5%; }",
    "bolder": "* { -webkit-text-stroke: 0.2px; }",
}
"""Changes of the size of another version of a font."""
MAX_BRIGHTNESS_DIFFERENCE, MAX_CONTRAST_DIFFERENCE = 12, 1.7
"""Tolerances: brightness of 255 levels; contrast of 9 levels, as mean over 3 × 3 cells."""
FINGERPRINT = """async ([png, columns, rowHeight]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const width = Math.floor(image.width / columns), rows = [];
  let total = 0;
  for (let top = 0; top + rowHeight <= image.height; top += rowHeight) {
    let row = "";
    for (let column = 0; column < columns; column += 1) {
      let sum = 0, squares = 0;
      for (let y = top; y < top + rowHeight; y += 1)
        for (let x = column * width; x < (column + 1) * width; x += 1) {
          const pixel = 4 * (y * image.width + x), brightness = (data[pixel] + data[pixel + 1] + data[pixel + 2]) / 3;
          sum += brightness;
          squares += brightness * brightness;
        }
      const count = width * rowHeight, mean = sum / count;
      const deviation = Math.sqrt(Math.max(0, squares / count - mean ** 2));
      total += mean;
      row += Math.min(9, Math.round(deviation / 6));
    }
    rows.push(row);
  }
  return `${Math.round(total / (rows.length * columns))} ${rows.join(" ")}`;
}"""


class Camera:
    """A page of one width, brought into each state without a reload, and a blank page that reads the screenshots."""

    def __init__(self, visitor: Visitor, width: int) -> None:
        self.page: Page = visitor.visit(viewport={"width": width, "height": HEIGHT})
        self.reader: Page = visitor.page()
        self.end = "body"
        expect(self.page.locator("#example-list button").first).to_be_visible()

    def states(self) -> Iterator[str]:
        """Bring the page into each state; yield the state's name."""
        for name, (text, self.end) in TEXTS.items():
            if text and text != self.page.input_value("#source"):
                write(self.page, text)
                expect(self.page.locator("#alternatives-list button").first).to_be_attached()
            self.page.evaluate("document.activeElement.blur()")
            for language in ("en", "ko"):
                if self.page.locator("html").get_attribute("lang") != language:
                    self.page.evaluate("document.querySelector('#language').click()")
                for theme in ("light", "dark"):
                    self.page.emulate_media(color_scheme=theme)
                    yield f"{language} {theme} {name}"

    def fingerprint(self, style: str = "") -> str:
        """Take a screenshot with an additional style; return its fingerprint."""
        self.page.evaluate(
            "([style, end]) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(style);"
            " document.adoptedStyleSheets = [sheet]; document.querySelector(end).scrollIntoView({ block: 'end' }); }",
            [MODEL_DEPENDENT + style, self.end],
        )
        screenshot = base64.b64encode(self.page.screenshot()).decode()
        result: str = self.reader.evaluate(FINGERPRINT, [screenshot, 12, 50])
        return result

    def shows(self, selector: str) -> bool:
        """Say whether one of the selected elements, or 100 pixels of it, is inside the screenshot.

        The last two rows of cells do not count: few means contain them.
        """
        boxes = [box for element in self.page.locator(selector).all() if (box := element.bounding_box())]
        return any(
            min(box["y"] + box["height"], HEIGHT - 100) - max(box["y"], 0) >= min(box["height"], 100) > 0
            for box in boxes
        )


def agree(fingerprint: str, other: str) -> bool:
    """Say whether two fingerprints show the same layout.

    A line that moves by some pixels leaves one cell for the next: contrasts are compared as means over 3 × 3 cells.
    """
    (brightness, *rows), (other_brightness, *other_rows) = fingerprint.split(), other.split()
    if abs(int(brightness) - int(other_brightness)) > MAX_BRIGHTNESS_DIFFERENCE:
        return False
    return contrast_difference(rows, other_rows) <= MAX_CONTRAST_DIFFERENCE


def contrast_difference(rows: list[str], other_rows: list[str]) -> float:
    grids = [np.array([[int(digit) for digit in row] for row in grid]) for grid in (rows, other_rows)]
    windows = np.lib.stride_tricks.sliding_window_view(grids[0] - grids[1], (3, 3))
    return float(np.abs(windows.mean(axis=(2, 3))).max())


@pytest.mark.parametrize(
    "width", [pytest.param(width, marks=[] if width in (360, 1280) else [pytest.mark.slow]) for width in WIDTHS]
)
def test_the_page_looks_as_stored(visitor: Visitor, width: int) -> None:
    camera = Camera(visitor, width)
    layouts = {f"{width} {state}": camera.fingerprint() for state in camera.states()}
    stored: dict[str, str] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    if "TONGSA_WRITE_LAYOUTS" in os.environ:
        stored |= layouts
        FILE.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    assert [state for state in layouts if not agree(layouts[state], stored[state])] == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "setting"), [(360, "ko dark"), (1280, "en light")])
def test_defects_are_refused_and_other_fonts_are_not(visitor: Visitor, width: int, setting: str) -> None:
    stored: dict[str, str] = json.loads(FILE.read_text("utf-8"))
    camera = Camera(visitor, width)
    for state in camera.states():
        if not state.startswith(setting):
            continue
        layout = stored[f"{width} {state}"]
        assert agree(camera.fingerprint(), layout), f"{width} {state}"
        visible = {name: style for name, (selector, style) in DEFECTS.items() if camera.shows(selector)}
        assert visible
        accepted = [name for name, style in visible.items() if agree(camera.fingerprint(style), layout)]
        refused = [name for name, style in OTHER_FONTS.items() if not agree(camera.fingerprint(style), layout)]
        assert (accepted, refused) == ([], []), f"{width} {state}"
