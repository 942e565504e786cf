"""Exceptions that the command line prints as one message without a traceback, and the exit codes."""

import errno

EXIT_OK, EXIT_FAILURE, EXIT_INPUT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
"""Success; internal failure or lost worker; wrong input (explained in a message); interrupted, with all work saved."""


class InputError(Exception):
    """Wrong user input. The message gives the location, the problem and the remedy. Exit code 2."""


class InterruptedRun(Exception):  # noqa: N818 - not an error
    """Stop on Ctrl-C or SIGTERM, after everything was saved. Exit code 130."""


class LostWorkerError(Exception):
    """Another worker of this run has died. Exit code 1, on which torchrun restarts the workers."""


OS_ERROR_REMEDIES = {
    errno.ENOSPC: "the disk is full. Free some space.",
    errno.EACCES: "no permission. Choose another file or folder.",
    errno.EPERM: "no permission. Choose another file or folder.",
    errno.EROFS: "the disk is read-only. Choose another folder.",
    errno.ENOTDIR: "a part of this path is a file. Choose another folder.",
    errno.EEXIST: "a file with this name exists. Choose another folder.",
    errno.EISDIR: "a folder with this name exists. Give the name of a file.",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one.",
    errno.ELOOP: "a symbolic link that leads to itself. Remove it.",
    errno.EFBIG: "the file is larger than the disk or your limits allow. Raise the limit (ulimit -f).",
}
"""Errors of the operating system that the user can repair."""
if hasattr(errno, "EDQUOT"):
    OS_ERROR_REMEDIES[errno.EDQUOT] = "the disk quota is used up. Free some space."


def describe_os_error(error: OSError) -> str:
    """Return what is wrong and what to do."""
    if error.errno == errno.ENOENT:
        return "no such file or folder. Check the name."
    return OS_ERROR_REMEDIES.get(error.errno or 0, f"{error.strerror or error}.")
