"""Chromium in front of a live server: two models that have learnt eight sentences, and one random model per kind."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Route,
    expect,
    sync_playwright,
)

from export.bundles import TARGET, random_bundle, save_run
from live_server import LiveServer, live_server
from tiny import CONFIGS, write_pairs
from tongsa.runs import train
from tongsa.server.config import RequestLimits
from tongsa.tokenization.labels import LabelTokenizer

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
JOURNAL = [
    {"step": 10, "loss": 4.5, "lr": 0.001},
    {"step": 20, "loss": 2.25, "lr": 0.002, "validation": {"dev_loss": 3.125, "accuracy": 75.0}},
]
"""Journal of the classifier."""
MAX_CHARACTERS = 400
"""Limit of the server, small enough to exceed it in a test."""
TIMEOUT_MS = 60_000
"""Timeout of all waits: large enough for a busy machine."""
expect.set_options(timeout=TIMEOUT_MS)
SLOWDOWN = float(os.environ.get("BROWSER_SLOWDOWN", "1"))
"""How much slower the pages' scripts run: with 10 a test fails that reads a page before it is drawn."""


def find_chromium() -> str | None:
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def train_on_phrases(folder: Path, pairs: list[tuple[str, str]], languages: tuple[str, str]) -> None:
    file = write_pairs(folder / "pairs.tsv", pairs)
    settings = [f"data.source_language={languages[0]}", f"data.target_language={languages[1]}"]
    train(run=folder / "run", data=file, dev=file, settings=[*SETTINGS, *settings], quiet=True)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Trained models en-ko and ko-en. The processes of pytest-xdist share them: one trains, the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "browser-runs"
    folder.mkdir(exist_ok=True)
    pairs = {"en-ko": list(PHRASES.items()), "ko-en": [(korean, english) for english, korean in PHRASES.items()]}
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in pairs:
            if not (folder / name / "run" / "model" / "model.toml").is_file():
                (folder / name).mkdir(exist_ok=True)
                train_on_phrases(folder / name, pairs[name], (name[:2], name[-2:]))
    return {name: folder / name / "run" for name in pairs}


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models of other kinds and tasks, with random weights: views need no good models."""
    folder = tmp_path_factory.mktemp("kinds")
    labels = LabelTokenizer(["good", "나쁨"])
    bundles = {
        "classifier": random_bundle("structured_self_attention", CONFIGS["structured_self_attention"], target=labels),
        "rnn_attention": random_bundle("rnn_attention", CONFIGS["rnn_attention"], target=TARGET, seed=4),
        "rnn": random_bundle("rnn", CONFIGS["rnn"]),
        "transformer_lm": random_bundle("transformer_lm", CONFIGS["transformer_lm"]),
    }
    runs = {name: save_run(folder / name, bundle) for name, bundle in bundles.items()}
    journal = "".join(json.dumps(record) + "\n" for record in JOURNAL)
    (folder / "classifier" / "journal.jsonl").write_text(journal, "utf-8")
    return runs


@pytest.fixture(scope="session")
def server(
    runs: dict[str, Path], kinds: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveServer]:
    """One server for all tests of the page."""
    arguments = [f"{name}={folder}" for name, folder in (runs | kinds).items()]
    limits, corrections = RequestLimits(characters=MAX_CHARACTERS), tmp_path_factory.mktemp("corrections")
    with live_server(
        *arguments, engine="torch", output_checks=True, limits=limits, corrections=str(corrections)
    ) as running:
        yield running


Post = Callable[[str, dict[str, Any]], Any]


@pytest.fixture
def post(server: LiveServer) -> Post:
    """Send a request past the page; return the response's JSON."""
    return lambda path, body: server.post(path, body).json()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium, closed before other packages run: Playwright's event loop occupies this thread until then."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium: install Debian's chromium, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Visitor:
    """Opens pages and collects the errors of their consoles."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url
        self.contexts: list[BrowserContext] = []
        self.console_errors: list[str] = []

    def page(self, **options: Any) -> Page:
        defaults = {"viewport": {"width": 1280, "height": 900}, "locale": "en-US", "reduced_motion": "reduce"}
        context = self.browser.new_context(**(defaults | options))
        context.set_default_timeout(TIMEOUT_MS)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on("console", self.collect_error)
        if SLOWDOWN > 1:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        return page

    def collect_error(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.console_errors.append(line.text)

    def visit(self, **options: Any) -> Page:
        """Open the server's page."""
        page = self.page(**options)
        page.goto(self.url)
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.fixture
def visitor(browser: Browser, server: LiveServer) -> Iterator[Visitor]:
    """After each test, no page may have logged an error: a broken script, or a violation of the security policy."""
    visitor = Visitor(browser, server.url)
    yield visitor
    visitor.close()
    assert not visitor.console_errors


@pytest.fixture
def page(visitor: Visitor) -> Page:
    return visitor.visit()


def write(page: Page, text: str) -> None:
    """Type a text and wait for its complete translation."""
    page.fill("#source", text)
    wait_for_translation(page, text)


def wait_for_translation(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('#source').value === text"
        " && document.querySelector('#result').getAttribute('aria-busy') === 'false'"
        " && !document.querySelector('#copy').disabled",
        arg=text,
    )


def wait_until(page: Page, holds: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds, as `expect` does for its own: pages draw and load after the event."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while not holds():
        assert time.monotonic() < deadline, what
        page.wait_for_timeout(50)


def expect_number(locator: Locator, value: float, tolerance: float) -> None:
    """Wait until a number of the page is `value`; the page writes − for the minus sign."""

    def holds() -> bool:
        text = locator.inner_text().replace("−", "-")
        return bool(text) and abs(float(text) - value) <= tolerance

    wait_until(locator.page, holds, f"{locator} is not {value}")


def translation(page: Page) -> str:
    return page.locator("#result").inner_text().strip()


def fail_first_requests(page: Page, code: str, count: int) -> list[str]:
    """Let the first translation requests fail with a code; return the list of the bodies sent."""
    bodies: list[str] = []

    def handle(route: Route) -> None:
        bodies.append(route.request.post_data or "")
        if len(bodies) > count:
            route.continue_()
        else:
            line = json.dumps({"error": "it failed", "code": code})
            route.fulfill(status=200, content_type="application/x-ndjson", body=line + "\n")

    page.route("**/v1/translate", handle)
    return bodies
