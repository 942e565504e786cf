"""A real browser before a real server, with two models that know eight sentences by heart."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from tiny import write_pairs
from tongsa.runs import train

PHRASES = {
    "I go home.": "나는 집에 갑니다.",
    "The cat sleeps.": "고양이가 잡니다.",
    "I like books.": "나는 책을 좋아합니다.",
    "We drink water.": "우리는 물을 마십니다.",
    "She reads a book.": "그녀는 책을 읽습니다.",
    "The dog runs.": "개가 달립니다.",
    "Where is the house?": "집이 어디에 있습니까?",
    "The house is small.": "집이 작습니다.",
}
SETTINGS = [
    "model.width=48",
    "model.ffn_width=96",
    "model.heads=2",
    "model.encoder_layers=2",
    "model.decoder_layers=1",
    "model.dropout=0.0",
    "model.norm=pre",
    "tokenizer.vocab_size=360",
    "training.batch_tokens=256",
    "training.threads=1",
    "training.precision=fp32",
    "training.label_smoothing=0.0",
    "training.steps=150",
    "training.validate_every=150",
    "training.lr.schedule=linear",
    "training.lr.peak=5e-3",
    "training.lr.warmup=20",
]
CHARACTERS = 400
"""The most that the server of the tests takes at once: little, so that it is soon too much."""


def chromium() -> str | None:
    """Debian's, or whatever Chromium there is."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def by_heart(folder: Path, pairs: list[tuple[str, str]], languages: tuple[str, str]) -> Path:
    file = write_pairs(folder / "pairs.tsv", pairs)
    own = [f"data.source_language={languages[0]}", f"data.target_language={languages[1]}"]
    train(run=folder / "run", data=file, dev=file, settings=[*SETTINGS, *own], quiet=True)
    return folder / "run"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """English to Korean, and back."""
    there, back = tmp_path_factory.mktemp("there"), tmp_path_factory.mktemp("back")
    pairs = list(PHRASES.items())
    return by_heart(there, pairs, ("en", "ko")), by_heart(back, [(ko, en) for en, ko in pairs], ("ko", "en"))


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def server(runs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server process."""
    port, log = free_port(), tmp_path_factory.mktemp("server") / "log"
    words = ["serve", f"there={runs[0]}", f"back={runs[1]}", "--port", str(port), "--engine", "torch"]
    words += ["--set", f"limits.characters={CHARACTERS}"]
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "tongsa.cli", *words], stdout=file, stderr=file)
        try:
            yield ready(f"http://127.0.0.1:{port}", process, log)
        finally:
            process.terminate()
            process.wait(timeout=60)


def ready(address: str, process: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text("utf-8")
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5):  # noqa: S310 - our own server
                return address
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the server was not ready in time: {log.read_text('utf-8')}")


Ask = Callable[[str, dict[str, Any]], Any]


@pytest.fixture
def ask(server: str) -> Ask:
    """The server's own answer, past the page."""

    def asked(path: str, body: dict[str, Any]) -> Any:
        content = json.dumps(body).encode("utf-8")
        request = urllib.request.Request(server + path, content, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own server
            return json.load(answer)

    return asked


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real Chromium, gone before other tests begin: its event loop runs on this thread for as long as it is open."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium found: install Debian's chromium, or set CHROMIUM to its path")
    with sync_playwright() as player:
        made = player.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()


class Visitor:
    """Opens pages and remembers what their consoles complained about."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address
        self.contexts: list[BrowserContext] = []
        self.complaints: list[str] = []

    def context(self, **how: Any) -> BrowserContext:
        made = self.browser.new_context(**({"viewport": {"width": 1280, "height": 900}, "locale": "en-US"} | how))
        made.set_default_timeout(60_000)
        self.contexts.append(made)
        return made

    def page(self, **how: Any) -> Page:
        made = self.context(**how).new_page()
        made.on("pageerror", lambda error: self.complaints.append(str(error)))
        made.on("console", lambda told: self.complaints.append(told.text) if told.type == "error" else None)
        return made

    def visit(self, **how: Any) -> Page:
        """The page of the server."""
        made = self.page(**how)
        made.goto(self.address)
        return made

    def leave(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.fixture
def visitor(browser: Browser, server: str) -> Iterator[Visitor]:
    """After each test no page may have complained: of a broken script, or of what the security policy forbids."""
    made = Visitor(browser, server)
    yield made
    made.leave()
    assert not made.complaints


@pytest.fixture
def page(visitor: Visitor) -> Page:
    return visitor.visit()


def write(page: Page, text: str) -> None:
    """Type a text, and wait until its translation is whole."""
    page.fill("#source", text)
    whole(page, text)


def whole(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('#source').value === text"
        " && document.querySelector('#result').getAttribute('aria-busy') === 'false'"
        " && document.querySelectorAll('#mirror .source-word').length > 0",
        arg=text,
    )


def told(page: Page) -> str:
    """The translation that is shown."""
    return page.locator("#result").inner_text().strip()


def failing(page: Page, code: str, times: int) -> list[str]:
    """What is sent to be translated; so many times the stream tells of nothing but a failure."""
    sent: list[str] = []

    def failed(route: Route) -> None:
        sent.append(route.request.post_data or "")
        if len(sent) > times:
            route.continue_()
        else:
            line = json.dumps({"error": "it failed", "code": code})
            route.fulfill(status=200, content_type="application/x-ndjson", body=line + "\n")

    page.route("**/v1/translate", failed)
    return sent
