"""Documents beside the event loop: small ones are parsed in a thread, all others in a process of their own.

A parser in Python makes up to a million objects. In a thread it would compete for the interpreter with the event loop,
which answers all clients, and could not be stopped when its client has gone. A process can be killed, and its memory
is free when it ends. It reads and writes messages: the document, then texts, their translations, and the new document.
"""

import asyncio
import gc
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import Any, Protocol

from tongsa.data.sentence_splitter import Span
from tongsa.document_formats.formats import find_format
from tongsa.document_formats.limits import MAX_TEXT_BYTES
from tongsa.document_formats.mark_positions import WordLink
from tongsa.document_formats.translation import (
    DocumentReport,
    FlaggedSegment,
    SourceText,
    TextTranslation,
    TranslatedDocument,
    TranslationStep,
)
from tongsa.errors import InputError
from tongsa.server.config import RequestLimits
from tongsa.server.errors import APIError, failed_error
from tongsa.server.http import run_in_thread
from tongsa.server.limited_documents import LimitedDocument
from tongsa.worker_pipe import Worker, read_message, start_worker, write_message

MAX_THREAD_BYTES = 20_000
"""Size of a text that is parsed in a thread: some milliseconds of work, where a process takes a tenth of a second."""
ITEMS_PER_PART = 1000
"""Texts of a message that are encoded at once: the encoder of JSON lets no other thread run."""
LOWER_PRIORITY = 5
"""Niceness of the process: searches and answers go first."""


class OpenDocument(Protocol):
    """A parsed document, wherever it is."""

    beginning: str

    async def advance(self, translations: Sequence[TextTranslation] | None = None) -> TranslationStep: ...


@asynccontextmanager
async def open_document(
    content: bytes, name: str, limits: RequestLimits, columns: Sequence[str] = ()
) -> AsyncIterator[OpenDocument]:
    """Parse a document. Raise APIError for one above the limits, InputError for one that cannot be read."""
    known = find_format(name)
    if len(content) <= MAX_THREAD_BYTES and (known is None or known.max_bytes == MAX_TEXT_BYTES):
        yield _ThreadDocument(await run_in_thread(LimitedDocument, content, name, limits, columns))
        return
    document = _ProcessDocument()
    try:
        await run_in_thread(document.open, content, name, limits, columns, stop=document.kill)
        yield document
    finally:
        document.kill()
        await asyncio.shield(asyncio.to_thread(document.reap))


class _ThreadDocument:
    def __init__(self, document: LimitedDocument) -> None:
        self.beginning = document.beginning
        self._document = document

    async def advance(self, translations: Sequence[TextTranslation] | None = None) -> TranslationStep:
        return await run_in_thread(self._document.advance, translations)


class _ProcessDocument:
    """The server's end of the pipe. Its methods but `kill` and `advance` block, so they run in threads."""

    def __init__(self) -> None:
        self.beginning = ""
        self._worker: Worker | None = None
        self._is_killed = False
        self._lock = threading.Lock()

    def open(self, content: bytes, name: str, limits: RequestLimits, columns: Sequence[str]) -> None:
        with self._lock:
            if not self._is_killed:
                self._worker = start_worker(__name__, "serve_document", quiet=True)
        self._send((name, asdict(limits), list(columns)), [content])
        self.beginning, _ = self._receive()

    async def advance(self, translations: Sequence[TextTranslation] | None = None) -> TranslationStep:
        return await run_in_thread(self._advance, translations, stop=self.kill)

    def _advance(self, translations: Sequence[TextTranslation] | None) -> TranslationStep:
        if translations is not None:
            self._send("translations", _to_parts(translations))
        counts, parts = self._receive()
        if counts is None:
            return [SourceText(text, tuple(copies), aligned) for text, copies, aligned in _from_parts(parts)]
        flagged = [FlaggedSegment(where, source, tuple(flags)) for where, source, flags in _from_parts(parts[1:])]
        translated, kept = counts
        return TranslatedDocument(parts[0], DocumentReport(translated, kept, flagged))

    def _send(self, content: object, parts: Sequence[bytes]) -> None:
        with suppress(OSError):  # the answer is read: it says why the process has ended
            if self._worker and self._worker.stdin:
                write_message(self._worker.stdin, content, parts)

    def _receive(self) -> tuple[Any, list[bytes]]:
        message = read_message(self._worker.stdout) if self._worker and self._worker.stdout else None
        if message is None:
            raise failed_error("The document could not be read: its process ended. Send it again, or a smaller one.")
        (kind, content), parts = message
        if kind == "APIError":
            raise APIError(*content)
        if kind == "InputError":
            raise InputError(content)
        return content, parts

    def kill(self) -> None:
        with self._lock:
            self._is_killed = True
            if self._worker:
                self._worker.kill()

    def reap(self) -> None:
        if self._worker:
            with suppress(OSError):
                self._worker.communicate()


def serve_document() -> None:
    """Parse and translate the document of standard input: the main function of the process."""
    gc.disable()  # looking through a million objects takes longer than the parser, and the process ends soon
    if hasattr(os, "nice"):
        with suppress(OSError):  # a container may forbid it
            os.nice(LOWER_PRIORITY)
    output = sys.stdout.buffer
    try:
        _serve()
    except APIError as error:
        write_message(output, ("APIError", (error.status, error.code, error.message)))
    except InputError as error:
        write_message(output, ("InputError", str(error)))


def _serve() -> None:
    stream, output = sys.stdin.buffer, sys.stdout.buffer
    if (message := read_message(stream)) is None:
        return
    (name, limits, columns), (content,) = message
    document = LimitedDocument(content, name, RequestLimits(**limits), columns)
    write_message(output, ("beginning", document.beginning))
    step = document.advance()
    while not isinstance(step, TranslatedDocument):
        write_message(output, ("texts", None), _to_parts(step))
        if (message := read_message(stream)) is None:
            return
        step = document.advance([_to_translation(*item) for item in _from_parts(message[1])])
    counts = (step.report.translated, step.report.kept)
    write_message(output, ("document", counts), [step.content, *_to_parts(step.report.flagged)])


def _to_translation(text: str, links: Sequence[Any], flags: Sequence[str]) -> TextTranslation:
    words = [WordLink(Span(*source), Span(*target)) for source, target in links]
    return TextTranslation(text, words, tuple(flags))


def _to_parts(items: Sequence[object]) -> list[bytes]:
    starts = range(0, len(items), ITEMS_PER_PART)
    return [json.dumps(items[start : start + ITEMS_PER_PART]).encode() for start in starts]


def _from_parts(parts: Sequence[bytes]) -> list[Any]:
    return [item for part in parts for item in json.loads(part)]
