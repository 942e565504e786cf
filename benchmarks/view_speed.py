"""Does the attention page stay smooth with 512 pieces? Times of scripts and frames, in Chromium.

.venv/bin/python benchmarks/view_speed.py --pieces 512 --layers 6 --heads 8
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from tongsa.visualize import AttentionExample, write_page

FRAMES = """async (work) => {
  const times = [];
  let before = performance.now();
  for (let frame = 0; frame < 90; frame++) {
    eval(work);
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - before);
    before = performance.now();
  }
  return times;
}"""
ROOM = "const root = document.querySelector('#room-attention').shadowRoot, stage = root.querySelector('#stage');"
SCROLL = ROOM + "stage.scrollTop += 40; stage.scrollLeft += 40;"
POINT = ROOM + (
    "const box = stage.getBoundingClientRect(); stage.dispatchEvent(new PointerEvent('pointermove',"
    " {clientX: box.left + 120 + frame * 4, clientY: box.top + 150 + frame * 2, pointerType: 'mouse'}));"
)
SWITCH = ROOM + "root.querySelector(`#head-${frame % 2}-${frame % 3}`).click();"


def reading(pieces: int, layers: int, heads: int) -> AttentionExample:
    """Heads between sharp and broad, as those of a model are."""
    generator = np.random.default_rng(1)
    words = ["▁단어" if place % 3 == 0 else "조각" for place in range(pieces - 1)] + ["</s>"]

    def drawn(*, causal: bool = False) -> Any:
        scores = generator.normal(size=(heads, pieces, pieces)) * np.linspace(1, 6, heads)[:, None, None]
        if causal:
            scores = np.where(np.tril(np.ones((pieces, pieces), dtype=bool)), scores, -np.inf)
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        return scores / scores.sum(axis=2, keepdims=True)

    weights = {
        role: [drawn(causal=role == "decoder") for _ in range(layers)] for role in ("cross", "encoder", "decoder")
    }
    return AttentionExample(
        source_tokens=words, target_tokens=words, weights=weights, text="단어 " * 170, translation="단어 " * 170
    )


def told(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{name}: median {middle:.1f} ms, 95 % below {late:.1f} ms a frame")


def measure(page: Page, path: Path) -> None:
    began = time.monotonic()
    page.goto(path.as_uri())
    page.wait_for_selector("#stage[data-head]")
    print(f"first head drawn after {time.monotonic() - began:.1f} s")
    for view in ("heat", "lines"):
        page.locator(f"#view-{view}").click()
        page.wait_for_timeout(4000)
        for name, work in (("scrolling", SCROLL), ("pointing", POINT), ("another head every frame", SWITCH)):
            told(f"{view}, {name}", page.evaluate(FRAMES, work))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("pieces", 512), ("layers", 6), ("heads", 8)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as player:
        path = Path(folder) / "page.html"
        began = time.monotonic()
        write_page(path, "speed", [reading(options.pieces, options.layers, options.heads)])
        print(f"page of {path.stat().st_size / 1e6:.1f} MB, written in {time.monotonic() - began:.1f} s")
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page.set_default_timeout(120_000)
        measure(page, path)
        browser.close()


if __name__ == "__main__":
    main()
