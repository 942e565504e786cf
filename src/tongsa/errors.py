"""Exceptions that the command line prints as one message without a traceback, and the exit codes."""

import errno
import re

EXIT_OK, EXIT_FAILURE, EXIT_INPUT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
"""Success; internal failure or lost worker; wrong input (explained in a message); interrupted, with all work saved."""


MAX_WORD_CHARACTERS = 1000
"""Longest word of a message: a path has at most some hundred characters, but an argument may have any length."""
_CONTROL_CHARACTER = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys, that turn the direction of text, or that cannot be written as UTF-8."""
_LONG_WORD = re.compile(rf"(?<!\S)\S{{{MAX_WORD_CHARACTERS},}}+")


class InputError(Exception):
    """Wrong user input. The message gives the location, the problem and the remedy. Exit code 2.

    Parts of it may come from files of strangers: control characters, which a terminal would obey, are escaped.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(readable_message(message))


def readable_message(text: str) -> str:
    """Return a message with control characters escaped, except line ends, and words of thousands of characters cut."""
    if text.isprintable() and len(text) <= MAX_WORD_CHARACTERS:
        return text
    text = _CONTROL_CHARACTER.sub(lambda character: ascii(character[0])[1:-1], text)
    return _LONG_WORD.sub(lambda match: _shortened_word(match[0]), text)


def _shortened_word(word: str) -> str:
    """Return the beginning of a word and its length; the punctuation after it belongs to the message."""
    content = word.rstrip(":;,.'\"") or word[:-1]
    return f"{content[:60]}… ({len(content):,} characters){word[len(content) :][:2]}"


class InterruptedRun(Exception):  # noqa: N818 - not an error
    """Stop on Ctrl-C or SIGTERM, after everything was saved. Exit code 130."""


class LostWorkerError(Exception):
    """Another worker of this run has died or cannot be reached. Exit code 1, on which torchrun restarts the workers."""


OS_ERROR_REMEDIES = {
    errno.ENOSPC: "the disk is full. Free some space.",
    errno.EACCES: "no permission. Choose another file or folder.",
    errno.EPERM: "no permission. Choose another file or folder.",
    errno.EROFS: "the disk is read-only. Choose another folder.",
    errno.ENOTDIR: "a part of this path is a file. Choose another folder.",
    errno.EEXIST: "a file with this name exists. Choose another folder.",
    errno.EISDIR: "a folder with this name exists. Remove it, or give the name of another file.",
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
