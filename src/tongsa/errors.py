"""What a user can mend: a sentence that says where, what, and what to do."""

EXIT_OK, EXIT_FAILURE, EXIT_INPUT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all is well; something of ours failed; the user's input, explained; stopped when asked, all saved."""


class InputError(Exception):
    """The user's input. The command line prints the sentence and exits with 2; nothing is lost."""


class InterruptedRun(Exception):  # noqa: N818 - nothing went wrong
    """Ctrl-C or SIGTERM, after everything was saved. The command line exits with 130."""


class LostWorkerError(Exception):
    """Another worker of this run has died. The command line exits with 1, and torchrun begins again."""
