"""A translation as a client sees it: places are counted in characters, and words are those that are written."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tongsa.data.normalize import normalize
from tongsa.tokenization.words import SPACE_MARK, decode_word, word_starts

if TYPE_CHECKING:
    from tongsa.decoding.results import Translation

ALIGNMENTS, WORD_PROBABILITIES, TOKEN_PROBABILITIES = DETAILS = "alignments", "probabilities", "piece_probabilities"
"""What is told only to those who ask for it."""
UNK_TOKEN = "<unk>"
_WORD = re.compile(r"\S+")


def sentence_response(
    source: str, translation: "Translation", details: frozenset[str], *, has_cross_attention: bool
) -> dict[str, Any]:
    """All about one sentence but its place in the text."""
    logs = (
        translation.token_log_probs if details & {WORD_PROBABILITIES, TOKEN_PROBABILITIES} else ()
    )  # once: an engine may leave them to be computed
    found: dict[str, Any] = {
        "source": source,
        "text": translation.text,
        "score": translation.score,
        "confidence": confidence(translation),
        "alternatives": [alternative_response(other, details) for other in translation.alternatives],
        "cut": translation.truncated,
    }
    if ALIGNMENTS in details and has_cross_attention:
        found["alignment"] = word_alignment(source, translation)
    if WORD_PROBABILITIES in details:
        found["words"] = word_probabilities(translation, logs)
    if TOKEN_PROBABILITIES in details:
        found["pieces"] = token_probabilities(translation, logs)
    if translation.terms:
        found["terms"] = [outcome.record | {"met": outcome.satisfied} for outcome in translation.terms]
    return found


def alternative_response(translation: "Translation", details: frozenset[str]) -> dict[str, Any]:
    found = {"text": translation.text, "score": translation.score}
    return found | (
        {"pieces": token_probabilities(translation, translation.token_log_probs)}
        if TOKEN_PROBABILITIES in details
        else {}
    )


def token_probabilities(translation: "Translation", token_log_probs: Sequence[float]) -> list[dict[str, Any]]:
    """Each piece with its probability, </s> last; none where there was nothing to translate."""
    names = [*translation.tokens, "</s>"] if token_log_probs else []
    return [{"piece": name, "probability": math.exp(log)} for name, log in zip(names, token_log_probs, strict=True)]


def confidence(translation: "Translation") -> float:
    """The geometric mean of the probabilities of its pieces, </s> included."""
    return math.exp(min(0.0, translation.log_prob / (len(translation.tokens) + 1)))


def word_alignment(source: str, translation: "Translation") -> dict[str, Any]:
    read, reading = word_spans(source), word_spans(translation.text)
    of_source, of_target = (
        words_of_tokens(translation.source_tokens, len(read)),
        words_of_tokens(translation.tokens, len(reading)),
    )
    links = {(one, other) for i, j in translation.word_alignment for one in of_source[i] for other in of_target[j]}
    return {"source": read, "target": reading, "links": sorted(links)}


def word_probabilities(translation: "Translation", token_log_probs: Sequence[float]) -> list[dict[str, Any]]:
    """Of each word the probability of its least likely piece."""
    places = word_spans(translation.text)
    lowest = [0.0] * len(places)
    groups = pairwise([*word_starts(translation.tokens), len(translation.tokens)])
    for words, (begin, end) in zip(words_of_tokens(translation.tokens, len(places)), groups, strict=True):
        for word in words:
            lowest[word] = min(lowest[word], *token_log_probs[begin:end])
    return [
        {"start": start, "end": end, "probability": math.exp(low)}
        for (start, end), low in zip(places, lowest, strict=True)
    ]


def word_spans(text: str) -> list[tuple[int, int]]:
    """The places of words, as pieces know them: of what is between white space that which is not all unseen."""
    return [match.span() for match in _WORD.finditer(text) if normalize(match[0])]


def words_of_tokens(tokens: Sequence[str], word_count: int) -> list[range]:
    """For each run of pieces that begins with a space the words it is, of so many: one, or none if it is a space alone.

    An unknown piece is written as a word of its own, wherever it stands.
    """
    found, first = [], 0
    for begin, end in pairwise([*word_starts(tokens), len(tokens)]):
        shown = [
            part
            for piece in tokens[begin:end]
            for part in ((SPACE_MARK, piece, SPACE_MARK) if piece == UNK_TOKEN else (piece,))
        ]
        last = first + len(decode_word(shown).replace(SPACE_MARK, " ").split())
        found.append(range(min(first, word_count), min(last, word_count)))
        first = last
    return found
