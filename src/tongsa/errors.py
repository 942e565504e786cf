"""Exceptions that the command line prints as one message without a traceback, and the exit codes."""

EXIT_OK, EXIT_FAILURE, EXIT_INPUT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
"""Success; internal failure or lost worker; wrong input (explained in a message); interrupted, with all work saved."""


class InputError(Exception):
    """Wrong user input. The message gives the location, the problem and the remedy. Exit code 2."""


class InterruptedRun(Exception):  # noqa: N818 - not an error
    """Stop on Ctrl-C or SIGTERM, after everything was saved. Exit code 130."""


class LostWorkerError(Exception):
    """Another worker of this run has died. Exit code 1, on which torchrun restarts the workers."""
