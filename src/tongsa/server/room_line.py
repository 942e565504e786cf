"""Requests that were admitted and wait until the queue of their model has room for their sentences.

Admission (admission.py) lets a request in while one more sentence fits; how many sentences it has is known when its
text is split. It is not refused then, after all that work: it waits here, first come, first served. While somebody
waits here, no other request for the model is admitted.
"""

import asyncio
from collections import deque
from typing import NamedTuple


class _Request(NamedTuple):
    sentences: int
    has_room: "asyncio.Future[None]"


class RoomLine:
    """Line of the requests for one model. Not thread-safe: the queue has a lock."""

    def __init__(self, max_queued_sentences: int) -> None:
        self.max_queued_sentences = max_queued_sentences
        self._requests: deque[_Request] = deque()
        self._granted = 0
        """Sentences of requests that have room and have not queued them yet."""

    def __len__(self) -> int:
        return len(self._requests)

    def has_room(self, count: int, unfinished: int) -> bool:
        """Return whether `count` more sentences fit. An empty queue accepts any number."""
        occupied = unfinished + self._granted
        return not self._requests and (not occupied or occupied + count <= self.max_queued_sentences)

    def append(self, count: int) -> _Request:
        request = _Request(count, asyncio.get_running_loop().create_future())
        self._requests.append(request)
        return request

    def leave(self, request: _Request) -> None:
        """Remove a request from the line, or take back the room that it was granted: it queues its sentences now."""
        if request in self._requests:
            self._requests.remove(request)
        else:
            self._granted -= request.sentences

    def grant(self, unfinished: int, *, is_closing: bool = False) -> "list[asyncio.Future[None]]":
        """Grant room to the first requests, or all of a closing queue; return what they wait for."""
        granted = []
        while self._requests:
            occupied = unfinished + self._granted
            if not is_closing and occupied and occupied + self._requests[0].sentences > self.max_queued_sentences:
                break
            request = self._requests.popleft()
            self._granted += request.sentences
            granted.append(request.has_room)
        return granted
