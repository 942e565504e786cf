"""`tongsa serve`: HTTP server with a web page and an API."""

import argparse
from importlib.util import find_spec
from pathlib import Path

from tongsa.cli.model_arguments import add_set_argument, add_threads_argument, parse_assignments, set_threads
from tongsa.cli.output import print_result, print_status
from tongsa.decoding.engines.names import ENGINE_NAMES
from tongsa.errors import InputError
from tongsa.program import format_command

HELP = "serve models over HTTP: a web page and an API"
DESCRIPTION = """\
Serve models over HTTP until Ctrl-C or SIGTERM. Accepted requests are answered first. SIGHUP reloads the models.

  tongsa serve runs/en-ko runs/ko-en
  tongsa serve news=runs/a --host 0.0.0.0 --port 8080 --keys keys.tsv --rate 120
  tongsa serve --keys keys.tsv --new-key alice

docs/serving.md describes the API, LibreTranslate clients and deployment.
"""
REQUIRED_PACKAGES = ("starlette", "uvicorn", "prometheus_client", "python_multipart", "pydantic")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of a model; NAME=RUN names it")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="N", help="default: 8000")
    parser.add_argument("--engine", choices=ENGINE_NAMES, help="decoding engine (docs/export.md)")
    parser.add_argument("--keys", type=Path, metavar="FILE", help="require an API key from this file")
    parser.add_argument("--new-key", metavar="NAME", help="create an API key, store its hash in --keys, print it, exit")
    parser.add_argument("--rate", type=float, metavar="N", help="requests per minute for each key or address")
    add_threads_argument(parser)
    add_set_argument(parser, "limits.characters=5000")


def run(options: argparse.Namespace) -> None:
    if options.new_key:
        _create_key(options)
        return
    if not all(map(find_spec, REQUIRED_PACKAGES)):
        raise InputError(
            "serve: required packages are missing. Install them: pip install -e '.[serve]' -c constraints.txt"
        )
    set_threads(options)
    from dataclasses import replace

    from tongsa import config
    from tongsa.server.config import ServerConfig
    from tongsa.server.main import serve
    from tongsa.server.model_pool import parse_model_sources

    if not options.runs:
        raise InputError(f"serve: no model. Give the folder of a run, for example: {format_command('serve runs/mine')}")
    flags = {
        name: value for name in ("host", "port", "engine", "rate") if (value := getattr(options, name)) is not None
    }
    settings = config.build_config(ServerConfig, parse_assignments(options.set) | flags)
    serve(parse_model_sources(options.runs), replace(settings, keys=options.keys))


def _create_key(options: argparse.Namespace) -> None:
    from tongsa.server import auth

    if options.keys is None:
        raise InputError("--new-key: no file for its hash. Add --keys FILE.")
    print_result(auth.create_key(options.keys, options.new_key))
    print_status(f"The key is shown once; {options.keys} stores its hash. A running server reads it on SIGHUP.")
