"""A translation as a client sees it: places are counted in characters, and words are those that are written."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tongsa.text.normalise import normalise
from tongsa.text.words import SPACE, word_starts, written

if TYPE_CHECKING:
    from tongsa.decoding.translation import Translation

ALIGNMENT, PROBABILITIES, PIECES = DETAILS = "alignments", "probabilities", "piece_probabilities"
"""What is told only to those who ask for it."""
UNKNOWN = "<unk>"
_WORD = re.compile(r"\S+")


def sentence(source: str, best: "Translation", details: frozenset[str], *, watched: bool) -> dict[str, Any]:
    """All about one sentence but its place in the text."""
    logs = best.logs if details & {PROBABILITIES, PIECES} else ()  # once: an engine may leave them to be computed
    found: dict[str, Any] = {
        "source": source,
        "text": best.text,
        "score": best.score,
        "confidence": confidence(best),
        "alternatives": [alternative(other, details) for other in best.alternatives],
        "cut": best.cut,
    }
    if ALIGNMENT in details and watched:
        found["alignment"] = alignment(source, best)
    if PROBABILITIES in details:
        found["words"] = probabilities(best, logs)
    if PIECES in details:
        found["pieces"] = pieces(best, logs)
    if best.terms:
        found["terms"] = [outcome.record | {"met": outcome.there} for outcome in best.terms]
    return found


def alternative(other: "Translation", details: frozenset[str]) -> dict[str, Any]:
    found = {"text": other.text, "score": other.score}
    return found | ({"pieces": pieces(other, other.logs)} if PIECES in details else {})


def pieces(made: "Translation", logs: Sequence[float]) -> list[dict[str, Any]]:
    """Each piece with its probability, </s> last; none where there was nothing to translate."""
    names = [*made.pieces, "</s>"] if logs else []
    return [{"piece": name, "probability": math.exp(log)} for name, log in zip(names, logs, strict=True)]


def confidence(best: "Translation") -> float:
    """The geometric mean of the probabilities of its pieces, </s> included."""
    return math.exp(min(0.0, best.total / (len(best.pieces) + 1)))


def alignment(source: str, best: "Translation") -> dict[str, Any]:
    read, reading = spans(source), spans(best.text)
    of_source, of_target = owned(best.source_pieces, len(read)), owned(best.pieces, len(reading))
    links = {(one, other) for i, j in best.links for one in of_source[i] for other in of_target[j]}
    return {"source": read, "target": reading, "links": sorted(links)}


def probabilities(best: "Translation", logs: Sequence[float]) -> list[dict[str, Any]]:
    """Of each word the probability of its least likely piece."""
    places = spans(best.text)
    lowest = [0.0] * len(places)
    groups = pairwise([*word_starts(best.pieces), len(best.pieces)])
    for words, (begin, end) in zip(owned(best.pieces, len(places)), groups, strict=True):
        for word in words:
            lowest[word] = min(lowest[word], *logs[begin:end])
    return [
        {"start": start, "end": end, "probability": math.exp(low)}
        for (start, end), low in zip(places, lowest, strict=True)
    ]


def spans(text: str) -> list[tuple[int, int]]:
    """The places of words, as pieces know them: of what is between white space that which is not all unseen."""
    return [match.span() for match in _WORD.finditer(text) if normalise(match[0])]


def owned(pieces: Sequence[str], count: int) -> list[range]:
    """For each run of pieces that begins with a space the words it is, of so many: one, or none if it is a space alone.

    An unknown piece is written as a word of its own, wherever it stands.
    """
    found, first = [], 0
    for begin, end in pairwise([*word_starts(pieces), len(pieces)]):
        shown = [
            part for piece in pieces[begin:end] for part in ((SPACE, piece, SPACE) if piece == UNKNOWN else (piece,))
        ]
        last = first + len(written(shown).replace(SPACE, " ").split())
        found.append(range(min(first, count), min(last, count)))
        first = last
    return found
