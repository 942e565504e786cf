"""Server from Python: blocking as `tongsa serve` does, or in a thread of this process."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tongsa import config
from tongsa.errors import InputError
from tongsa.server.config import ServerConfig

if TYPE_CHECKING:
    from tongsa.server.model_pool import ModelSource

REQUIRED_PACKAGES = ("starlette", "uvicorn", "prometheus_client", "python_multipart", "pydantic")
Models = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""Folder of a run or of a model, several folders, or folders by name."""


def serve(models: Models, *, keys: str | Path | None = None, **settings: Any) -> None:
    """Serve models over HTTP until SIGINT or SIGTERM; `start_server` returns at once instead.

    models: Folder of a run, several folders, or a dictionary of names and folders.
    keys: File of API keys. Without it every client has access.
    settings: Fields of `ServerConfig`, such as host, port, engine or rate.
    """
    sources, server_config = _model_sources(models), _server_config(keys, settings)
    from tongsa.server import main

    main.serve(sources, server_config)


def start_server(models: Models, *, keys: str | Path | None = None, **settings: Any) -> "BackgroundServer":
    """Serve models in a thread of this process and return when they are loaded; arguments as for `serve`.

    Port 0 selects a free port. InputError is raised if a model cannot be loaded or the port is in use.
    """
    return BackgroundServer(_model_sources(models), _server_config(keys, settings))


def _model_sources(models: Models) -> "list[ModelSource]":
    if not all(map(find_spec, REQUIRED_PACKAGES)):
        raise InputError(
            "serve: required packages are missing. Install them: pip install -e '.[serve]' -c constraints.txt"
        )
    from tongsa.server.model_pool import parse_model_sources

    if isinstance(models, Mapping):
        arguments = [f"{name}={folder}" for name, folder in models.items()]
    else:
        arguments = [str(folder) for folder in ([models] if isinstance(models, str | Path) else models)]
    if not arguments:
        raise InputError("serve: no model. Give the folder of a run.")
    return parse_model_sources(arguments)


def _server_config(keys: str | Path | None, settings: Mapping[str, Any]) -> ServerConfig:
    server_config = config.build_config(ServerConfig, dict(settings))
    return replace(server_config, keys=Path(keys) if keys is not None else None)


class BackgroundServer:
    """A server in a thread; `stop` ends it after accepted requests are answered. Also a context manager."""

    def __init__(self, sources: "Sequence[ModelSource]", server_config: ServerConfig) -> None:
        import uvicorn

        from tongsa.server.app import create_app
        from tongsa.server.main import create_context, listener_url, open_listener, uvicorn_config

        self._failures: list[Exception] = []
        context = create_context(sources, server_config)
        app = create_app(context, self._failures.append)
        self._server = uvicorn.Server(uvicorn_config(app, server_config))
        self._listener = open_listener(server_config)
        self.url = listener_url(self._listener)
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()
        while not (context.models.is_ready or self._failures) and self._thread.is_alive():
            time.sleep(0.01)
        if self._failures:
            self.stop()
            raise self._failures[0]

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def __repr__(self) -> str:
        return f"<BackgroundServer: {self.url}{'' if self._thread.is_alive() else ', stopped'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
