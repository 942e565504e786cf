"""Laws of the order of the queue and of the turns: nobody waits for a whole document, and nothing is lost."""

import threading
from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from live_server import WAIT_SECONDS, wait_for
from tongsa.server.batch_tasks import TranslateTask
from tongsa.server.fair_queue import FairQueue
from tongsa.server.queued_sentence import QueuedSentence
from tongsa.server.turns import TicketLock


class Arrival(NamedTuple):
    request: int
    beam: int
    tokens: int


arrivals = st.lists(
    st.builds(Arrival, st.integers(0, 5), st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=40
)


def fill(waiting: list[Arrival]) -> tuple[FairQueue, list[QueuedSentence]]:
    queue = FairQueue()
    sentences = [
        QueuedSentence(TranslateTask(beam=arrival.beam), "", arrival.tokens, request=arrival.request)
        for arrival in waiting
    ]
    for sentence in sentences:
        queue.append(sentence)
    return queue, sentences


@given(arrivals, st.integers(1, 30), st.integers(1, 8))
def test_every_sentence_is_taken_once_in_batches_of_one_task_within_the_limits(
    waiting: list[Arrival], max_cost: int, max_sentences: int
) -> None:
    queue, sentences = fill(waiting)
    served: list[QueuedSentence] = []
    while queue:
        first = queue.first
        batch = queue.take(max_cost, max_sentences)
        assert batch[0] is first
        assert {sentence.task for sentence in batch} == {first.task}
        assert len(batch) == 1 or sum(sentence.cost for sentence in batch) <= max_cost
        assert len(batch) <= max_sentences
        served += batch
    assert sorted(map(id, served)) == sorted(map(id, sentences))
    assert (queue.sentence_count, queue.total_cost) == (0, 0)
    for request in range(6):  # sentences of one request and task keep their order
        for beam in (1, 2, 3):
            expected = [s for s in sentences if (s.request, s.task) == (request, TranslateTask(beam=beam))]
            assert [s for s in served if s in expected] == expected


@given(arrivals, st.integers(1, 30))
def test_a_request_of_one_sentence_waits_for_at_most_one_sentence_of_each_other_request(
    waiting: list[Arrival], max_cost: int
) -> None:
    queue, _ = fill(waiting)
    single = QueuedSentence(TranslateTask(beam=1), "", 1, request="single")
    queue.append(single)
    before: list[QueuedSentence] = []
    while single not in before:
        batch = queue.take(max_cost, max_sentences=1)
        before += batch
    others = [sentence.request for sentence in before if sentence is not single]
    assert len(others) == len(set(others)) <= 6


@given(arrivals)
def test_a_document_never_waits_forever(waiting: list[Arrival]) -> None:
    queue, sentences = fill(waiting)
    last = sentences[-1]
    count = sum(sentence.request == last.request for sentence in sentences)
    for i in range(count * len(sentences)):  # new requests keep coming, one for each batch
        if last in queue.take(1, 1):
            return
        queue.append(QueuedSentence(TranslateTask(beam=1), "", 1, request=("new", i)))
    raise AssertionError("new requests were always served first")


def test_removed_sentences_leave_the_others_in_order() -> None:
    queue, sentences = fill([Arrival(i % 3, 1, 2) for i in range(9)])
    removed = queue.remove(lambda sentence: sentence.request == 1)
    assert removed == sentences[1::3]
    assert (queue.sentence_count, queue.total_cost) == (6, 12)
    assert queue.take(100, 100) == [sentences[i] for i in (0, 2, 3, 5, 6, 8)]
    assert not queue


def test_turns_are_given_in_order_and_shares_never_exceed_the_machine() -> None:
    lock, order, running = TicketLock(), list[int](), list[Fraction]()
    release = threading.Event()
    largest_sum = [Fraction(0)]

    def work(number: int, share: Fraction) -> None:
        with lock.acquire(share):
            order.append(number)
            running.append(share)
            largest_sum[0] = max(largest_sum[0], sum(running, Fraction(0)))
            assert release.wait(WAIT_SECONDS)
            running.remove(share)

    shares = [
        Fraction(1, 2),
        Fraction(1, 2),
        Fraction(1),
        Fraction(1, 3),
        Fraction(1, 3),
        Fraction(1, 3),
        Fraction(1, 2),
    ]
    threads = []
    for number, share in enumerate(shares):
        threads.append(threading.Thread(target=work, args=(number, share)))
        threads[-1].start()
        wait_for(lambda expected=number + 1: lock._next_ticket == expected)  # type: ignore[misc]
    wait_for(lambda: len(order) == 2)
    assert order == [0, 1], "a ticket after the one that needs the whole machine must wait, too"
    release.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert sorted(order) == list(range(7))
    assert order[:3] == [0, 1, 2]
    assert largest_sum[0] <= 1
