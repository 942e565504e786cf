"""Results on standard output, messages on standard error."""

import sys


def print_result(line: str) -> None:
    print(line)  # noqa: T201


def print_status(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201
