"""The pictures of the documentation, made again: a server of one run, in a real browser.

make pictures                                     # of runs/demo, which `make demo` trains
.venv/bin/python docs/pictures/screenshots.py RUN
"""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
LOOKED = "My younger brother is not doing the dishes"
TEXT = f"{LOOKED}\nSora promised to prepare breakfast"
LARGEST = 150_000
"""Bytes of a picture."""


@contextmanager
def served(run: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while not answers(f"http://127.0.0.1:{port}/readyz"):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{run}: the server did not start; try: tongsa serve {run}")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - our own server
            return True
    except OSError:
        return False


def opened(browser: Browser, address: str, text: str, width: int, height: int, **how: Any) -> Page:
    context = browser.new_context(**({"viewport": {"width": width, "height": height}, "locale": "en-US"} | how))
    page = context.new_page()
    page.goto(address)
    page.fill("#source", text)
    page.wait_for_selector("#mirror .source-word", state="attached")
    page.wait_for_timeout(600)
    return page


def translating(browser: Browser, address: str) -> Page:
    page = opened(browser, address, TEXT, 1120, 620)
    page.hover("#result .word >> nth=2")
    return page


def on_a_phone(browser: Browser, address: str) -> Page:
    return opened(browser, address, TEXT, 390, 760, locale="ko-KR", color_scheme="dark", device_scale_factor=1.5)


def attention(browser: Browser, address: str) -> Page:
    page = opened(browser, address, LOOKED, 1120, 800)
    page.click("#open-attention")
    page.wait_for_selector("[data-head]")
    page.click("#unit-words")
    return page


def lines(browser: Browser, address: str) -> Page:
    page = attention(browser, address)
    page.click("#view-lines")
    return page


def tree(browser: Browser, address: str) -> Page:
    page = opened(browser, address, LOOKED, 1120, 700)
    page.click("#open-tree")
    page.wait_for_selector(".node")
    return page


PICTURES: dict[str, Callable[[Browser, str], Page]] = {
    "page": translating,
    "phone": on_a_phone,
    "attention": attention,
    "lines": lines,
    "tree": tree,
}


def main() -> None:
    run = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/demo")
    if not (run / "model").is_dir():
        raise SystemExit(f"{run}: no model here; train one with: make demo")
    with served(run) as address, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, shown in PICTURES.items():
            page = shown(browser, address)
            page.wait_for_timeout(500)
            path = HERE / f"{name}.png"
            page.screenshot(path=path)
            size = path.stat().st_size
            print(f"{path}: {size:,} bytes")  # noqa: T201
            if size > LARGEST:
                raise SystemExit(f"{path}: more than {LARGEST:,} bytes; take a smaller part of the page")
        browser.close()


if __name__ == "__main__":
    main()
