"""The process: an open port, signals, and an end that loses nothing."""

from collections.abc import Sequence

import uvicorn

from tongsa.errors import InputError
from tongsa.serving.app import application
from tongsa.serving.config import ServingConfig
from tongsa.serving.metrics import Metrics
from tongsa.serving.models import Models, Place
from tongsa.serving.service import Service


def serve(places: Sequence[Place], config: ServingConfig) -> None:
    """Answer until SIGINT or SIGTERM; what was accepted before is answered."""
    metrics = Metrics()
    service = Service(config, Models(places, config, metrics), metrics)
    failures: list[InputError] = []

    def fail(error: InputError) -> None:
        failures.append(error)
        server.should_exit = True

    app = application(service, fail)
    server = uvicorn.Server(
        uvicorn.Config(app, host=config.host, port=config.port, log_config=None, access_log=False, server_header=False)
    )
    server.run()
    if failures:
        raise failures[0]
