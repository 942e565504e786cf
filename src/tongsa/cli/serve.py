"""`tongsa serve`: models that answer over HTTP."""

import argparse
from dataclasses import replace
from importlib.util import find_spec

from tongsa.cli.verbs import assigned, out, say
from tongsa.errors import InputError

NEEDED = ("starlette", "uvicorn", "prometheus_client", "python_multipart")


def serve(options: argparse.Namespace) -> None:
    if options.new_key:
        _new_key(options)
        return
    if not all(map(find_spec, NEEDED)):
        raise InputError("serving needs packages that are not installed: pip install 'tongsa[serve]'")
    from tongsa import config as settings
    from tongsa.serving.config import ServingConfig
    from tongsa.serving.models import places
    from tongsa.serving.server import serve

    if not options.runs:
        raise InputError("no model to serve; give the folder of a run: tongsa serve runs/mine")
    short = {
        name: value for name in ("host", "port", "engine", "rate") if (value := getattr(options, name)) is not None
    }
    config = replace(settings.build(ServingConfig, assigned(options.set, "--set") | short), keys=options.keys)
    serve(places(options.runs), config)


def _new_key(options: argparse.Namespace) -> None:
    from tongsa.serving import keys

    if options.keys is None:
        raise InputError("--new-key goes with --keys FILE, which keeps the hash of it")
    out(keys.new(options.keys, options.new_key))
    say(f"this key is shown once; {options.keys} holds only its hash. A server that runs takes it with SIGHUP")
