from collections.abc import Iterator
from pathlib import Path

import pytest

from live_server import LiveServer, live_server, random_model


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_model(tmp_path_factory.mktemp("server") / "en-ko")


@pytest.fixture(scope="session")
def server(run: Path) -> Iterator[LiveServer]:
    """A server for all tests that do not change it."""
    with live_server(run) as running:
        yield running
