from collections.abc import Iterator
from pathlib import Path

import pytest

from served import Running, drawn, serving


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn(tmp_path_factory.mktemp("served") / "en-ko")


@pytest.fixture(scope="session")
def server(run: Path) -> Iterator[Running]:
    """One for all tests that leave it as they find it."""
    with serving(run) as running:
        yield running
