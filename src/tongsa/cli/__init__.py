"""The command line: few verbs, few options each. Results go to stdout, progress and messages to stderr."""

import os
import sys
from collections.abc import Sequence

from tongsa.cli.options import build_parser
from tongsa.errors import (
    EXIT_FAILURE,
    EXIT_INPUT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    InputError,
    InterruptedRun,
    LostWorkerError,
)


def main(argv: Sequence[str] | None = None) -> int:
    # before torch is loaded: threads that spin for long while they wait make a shared machine many times slower
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    for stream in (sys.stdout, sys.stderr):  # Hangul and emoji, whatever the locale says
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    options = build_parser().parse_args(argv)
    options.arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code: int = options.do(options) or EXIT_OK
        print(end="", flush=True)  # noqa: T201 - when the process ends nobody would catch that the reader is gone
        return code
    except InputError as error:
        print(f"tongsa: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_INPUT_ERROR
    except LostWorkerError as error:
        print(f"tongsa: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_FAILURE
    except InterruptedRun as stopped:
        print(f"\n{stopped}", file=sys.stderr)  # noqa: T201
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)  # noqa: T201
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
