"""Frame times of the attention page in Chromium.

.venv/bin/python benchmarks/view_speed.py --tokens 512 --layers 6 --heads 8
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
PANEL = "const root = document.querySelector('#panel-attention').shadowRoot, stage = root.querySelector('#stage');"
SCROLL = PANEL + "stage.scrollTop += 40; stage.scrollLeft += 40;"
HOVER = PANEL + (
    "const box = stage.getBoundingClientRect(); stage.dispatchEvent(new PointerEvent('pointermove',"
    " {clientX: box.left + 120 + frame * 4, clientY: box.top + 150 + frame * 2, pointerType: 'mouse'}));"
)
SWITCH = PANEL + "root.querySelector(`#head-${frame % 2}-${frame % 3}`).click();"


def random_example(length: int, layers: int, heads: int) -> AttentionExample:
    """Return random heads, from broad to sharp."""
    generator = np.random.default_rng(1)
    tokens = ["▁단어" if i % 3 == 0 else "토큰" for i in range(length - 1)] + ["</s>"]

    def random_layer(*, causal: bool = False) -> Any:
        scores = generator.normal(size=(heads, length, length)) * np.linspace(1, 6, heads)[:, None, None]
        if causal:
            scores = np.where(np.tril(np.ones((length, length), dtype=bool)), scores, -np.inf)
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        return scores / scores.sum(axis=2, keepdims=True)

    weights = {
        role: [random_layer(causal=role == "decoder") for _ in range(layers)]
        for role in ("cross", "encoder", "decoder")
    }
    return AttentionExample(
        source_tokens=tokens, target_tokens=tokens, weights=weights, text="단어 " * 170, translation="단어 " * 170
    )


def print_times(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    median, percentile_95 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{name}: median {median:.1f} ms, 95th percentile {percentile_95:.1f} ms per frame")


def measure(page: Page, path: Path) -> None:
    start = time.monotonic()
    page.goto(path.as_uri())
    page.wait_for_selector("#stage[data-head]")
    print(f"first head drawn after {time.monotonic() - start:.1f} s")
    for view in ("heatmap", "lines"):
        page.locator(f"#view-{view}").click()
        page.wait_for_timeout(4000)
        for name, work in (("scrolling", SCROLL), ("hovering", HOVER), ("switching heads", SWITCH)):
            print_times(f"{view}, {name}", page.evaluate(FRAMES, work))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("tokens", 512), ("layers", 6), ("heads", 8)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        start = time.monotonic()
        write_page(path, "speed", [random_example(options.tokens, options.layers, options.heads)])
        print(f"page of {path.stat().st_size / 1e6:.1f} MB, written in {time.monotonic() - start:.1f} s")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page.set_default_timeout(120_000)
        measure(page, path)
        browser.close()


if __name__ == "__main__":
    main()
