"""Order of the sentences that wait for a model: fair queuing, one sentence of each request in turn.

Round robin between requests (Nagle 1987): the request whose sentence was taken goes to the end of the line. A request
with one sentence therefore waits for at most one sentence of each request before it, never for a whole document. The
first request in line decides the task of the next batch, so none waits forever.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from tongsa.server.queued_sentence import BatchTask, QueuedSentence


class FairQueue:
    """Waiting sentences, by request. Not thread-safe: its owner has a lock."""

    def __init__(self) -> None:
        self._requests: OrderedDict[object, deque[QueuedSentence]] = OrderedDict()
        self.sentence_count = 0
        self.total_cost = 0
        """Tokens of all sentences, times their beam factors."""

    def __bool__(self) -> bool:
        return bool(self._requests)

    def __iter__(self) -> Iterator[QueuedSentence]:
        for sentences in self._requests.values():
            yield from sentences

    @property
    def first(self) -> QueuedSentence:
        """The sentence that the next batch starts with."""
        return next(iter(self._requests.values()))[0]

    def append(self, sentence: QueuedSentence) -> None:
        self._requests.setdefault(sentence.request, deque()).append(sentence)
        self.sentence_count += 1
        self.total_cost += sentence.cost

    def remove(self, is_removed: Callable[[QueuedSentence], bool]) -> list[QueuedSentence]:
        """Remove sentences and return them."""
        removed = [sentence for sentence in self if is_removed(sentence)]
        for sentence in removed:
            sentences = self._requests[sentence.request]
            self._pop(sentence.request, sentences, sentences.index(sentence))
        return removed

    def take(self, max_cost: int, max_sentences: int) -> list[QueuedSentence]:
        """Take the next batch: sentences with the task of the first, at least one."""
        task, batch, cost = self.first.task, list[QueuedSentence](), 0
        requests = list(self._requests)
        while requests:
            served = []
            for request in requests:
                sentences = self._requests.get(request, deque())
                position = _find_task(sentences, task)
                if position is None:
                    continue
                sentence = sentences[position]
                if batch and (cost + sentence.cost > max_cost or len(batch) == max_sentences):
                    return batch
                self._pop(request, sentences, position)
                if sentences:
                    self._requests.move_to_end(request)
                batch.append(sentence)
                cost += sentence.cost
                served.append(request)
            requests = served
        return batch

    def _pop(self, request: object, sentences: deque[QueuedSentence], position: int) -> None:
        self.sentence_count -= 1
        self.total_cost -= sentences[position].cost
        del sentences[position]
        if not sentences:
            del self._requests[request]


def _find_task(sentences: deque[QueuedSentence], task: BatchTask) -> int | None:
    """Return the position of the first sentence with this task."""
    return next((i for i, sentence in enumerate(sentences) if sentence.task == task), None)
