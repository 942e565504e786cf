"""`tongsa serve`: models that answer over HTTP."""

import argparse
from dataclasses import replace
from importlib.util import find_spec

from tongsa.cli.verbs import parse_assignments, print_result, print_status
from tongsa.errors import InputError

REQUIRED_PACKAGES = ("starlette", "uvicorn", "prometheus_client", "python_multipart", "pydantic")


def run(options: argparse.Namespace) -> None:
    if options.new_key:
        _create_key(options)
        return
    if not all(map(find_spec, REQUIRED_PACKAGES)):
        raise InputError("serving needs packages that are not installed: pip install 'tongsa[serve]'")
    from tongsa import config as settings
    from tongsa.server.config import ServerConfig
    from tongsa.server.main import serve
    from tongsa.server.model_pool import parse_model_sources

    if not options.runs:
        raise InputError("no model to serve; give the folder of a run: tongsa serve runs/mine")
    short = {
        name: value for name in ("host", "port", "engine", "rate") if (value := getattr(options, name)) is not None
    }
    config = replace(
        settings.build_config(ServerConfig, parse_assignments(options.set, "--set") | short), keys=options.keys
    )
    serve(parse_model_sources(options.runs), config)


def _create_key(options: argparse.Namespace) -> None:
    from tongsa.server import auth

    if options.keys is None:
        raise InputError("--new-key goes with --keys FILE, which keeps the hash of it")
    print_result(auth.create_key(options.keys, options.new_key))
    print_status(f"this key is shown once; {options.keys} holds only its hash. A server that runs takes it with SIGHUP")
