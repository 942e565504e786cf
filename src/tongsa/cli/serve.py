"""`tongsa serve`: models that answer over HTTP."""

import argparse
from importlib.util import find_spec

from tongsa.cli.verbs import assigned
from tongsa.errors import InputError


def serve(options: argparse.Namespace) -> None:
    if not all(map(find_spec, ("starlette", "uvicorn", "prometheus_client"))):
        raise InputError("serving needs packages that are not installed: pip install 'tongsa[serve]'")
    from tongsa import config as settings
    from tongsa.serving.config import ServingConfig
    from tongsa.serving.models import places
    from tongsa.serving.server import serve

    given = assigned(options.set, "--set")
    for name in ("host", "port", "engine"):
        if (value := getattr(options, name)) is not None:
            given[name] = value
    serve(places(options.runs), settings.build(ServingConfig, given))
