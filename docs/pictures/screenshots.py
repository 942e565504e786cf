"""Screenshots for the documentation: start a server with one run and photograph its page in Chromium.

make pictures                                     # uses runs/demo, which `make demo` trains
.venv/bin/python docs/pictures/screenshots.py RUN
.venv/bin/python docs/pictures/screenshots.py --compare PAGE.html    # compare.png, from a page of `tongsa compare`
.venv/bin/python docs/pictures/screenshots.py --corpus PAGE.html     # corpus.png, from a page of `tongsa data report`
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
SENTENCE = "My younger brother is not doing the dishes"
TEXT = f"{SENTENCE}\nSora promised to prepare breakfast"
MAX_BYTES = 150_000
"""Largest accepted size of a picture."""


@contextmanager
def run_server(run: Path) -> Iterator[str]:
    """Serve a run on a free port and yield the URL."""
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        port = free_socket.getsockname()[1]
    command = [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not responds(f"http://127.0.0.1:{port}/readyz"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{run}: the server did not start. See its error with: tongsa serve {run}")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def responds(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own server
            return True
    except OSError:
        return False


def translate_page(browser: Browser, url: str, text: str, width: int, height: int, **settings: Any) -> Page:
    """Open the page of the server with a translated text."""
    context = browser.new_context(**({"viewport": {"width": width, "height": height}, "locale": "en-US"} | settings))
    page = context.new_page()
    page.goto(url)
    page.fill("#source", text)
    page.wait_for_selector("#mirror .source-word", state="attached")
    page.wait_for_timeout(600)
    return page


def translation(browser: Browser, url: str) -> Page:
    page = translate_page(browser, url, TEXT, 1120, 620)
    page.hover("#result .word >> nth=2")
    return page


def phone(browser: Browser, url: str) -> Page:
    return translate_page(browser, url, TEXT, 390, 760, locale="ko-KR", color_scheme="dark", device_scale_factor=1.5)


def attention(browser: Browser, url: str) -> Page:
    page = translate_page(browser, url, SENTENCE, 1120, 800)
    page.click("#open-attention")
    page.wait_for_selector("[data-head]")
    page.click("#unit-words")
    return page


def lines(browser: Browser, url: str) -> Page:
    page = attention(browser, url)
    page.click("#view-lines")
    return page


def tree(browser: Browser, url: str) -> Page:
    page = translate_page(browser, url, SENTENCE, 1120, 700)
    page.click("#open-tree")
    page.wait_for_selector(".node")
    return page


def trace(browser: Browser, url: str) -> Page:
    page = translate_page(browser, url, "I will go home tomorrow", 1280, 660)
    page.click("#open-trace")
    page.wait_for_selector(".checks.ok")
    page.locator("[data-to]", has_text="Scores").first.click()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    return page


PICTURES: dict[str, Callable[[Browser, str], Page]] = {
    "page": translation,
    "phone": phone,
    "attention": attention,
    "lines": lines,
    "tree": tree,
    "trace": trace,
}


def offline_page(page_file: Path, picture: str, drawn: str, height: int) -> None:
    """Photograph the first sections of an offline page, after the element `drawn` is there."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1040, "height": height}, locale="en-US")
        page.goto(page_file.resolve().as_uri())
        page.wait_for_selector(drawn)
        page.screenshot(path=HERE / picture)
        browser.close()


def main() -> None:
    if sys.argv[1:2] == ["--compare"]:
        offline_page(Path(sys.argv[2]), "compare.png", ".compare svg.scores", 1120)
        return
    if sys.argv[1:2] == ["--corpus"]:
        offline_page(Path(sys.argv[2]), "corpus.png", ".corpus svg.histogram", 1060)
        return
    run = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/demo")
    if not (run / "model").is_dir():
        raise SystemExit(f"{run}: no model. Train one with: make demo")
    with run_server(run) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, open_page in PICTURES.items():
            page = open_page(browser, url)
            page.wait_for_timeout(500)
            path = HERE / f"{name}.png"
            page.screenshot(path=path)
            size = path.stat().st_size
            print(f"{path}: {size:,} bytes")  # noqa: T201
            if size > MAX_BYTES:
                raise SystemExit(f"{path}: more than {MAX_BYTES:,} bytes. Photograph a smaller part of the page.")
        browser.close()


if __name__ == "__main__":
    main()
