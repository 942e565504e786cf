"""The network is used by `tongsa data get` alone: no other module imports a client of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tongsa

PACKAGE = Path(tongsa.__file__).parent
CLIENTS = ("urllib.request", "http.client", "http.cookiejar", "ftplib", "smtplib", "poplib", "imaplib", "xmlrpc", "ssl")
PACKAGES = ("requests", "httpx", "aiohttp", "urllib3", "websockets", "huggingface_hub", "datasets")
SOCKETS = {"server/main.py", "runs/ray_backend.py"}
"""Modules that import `socket`: the server listens, a Ray job connects to the address of its user."""
HUB = {"evaluation/comet.py"}
"""Modules that import the package of the Hugging Face Hub, to look into its cache (`local_files_only`)."""


def imported_modules(path: Path) -> Iterator[str]:
    """Yield all modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_public_sets_import_a_client_of_the_network() -> None:
    importing: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for module in imported_modules(path):
            for client in (*CLIENTS, *PACKAGES, "socket"):
                if module == client or module.startswith(f"{client}."):
                    importing.setdefault(client, set()).add(path.relative_to(PACKAGE).as_posix())
    download = {"data/public_sets/download.py"}
    assert importing == {"urllib.request": download, "http.client": download, "socket": SOCKETS, "huggingface_hub": HUB}


def test_only_the_command_data_get_imports_the_download() -> None:
    """The table of the sets is read by recipes and cards, too; nothing else of the folder is."""
    importing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(module.startswith("tongsa.data.public_sets.") for module in imported_modules(path))
        and not all(
            module.startswith("tongsa.data.public_sets.table")
            for module in imported_modules(path)
            if module.startswith("tongsa.data.public_sets.")
        )
    }
    assert {path for path in importing if not path.startswith("data/public_sets/")} == {"cli/data/get.py"}
