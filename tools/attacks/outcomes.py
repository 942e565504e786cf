"""Outcomes of a case: refused with a message that has a place, a reason and a remedy; healed; harmless; or a fall."""

import re
from enum import StrEnum


class Outcome(StrEnum):
    """Result of a case; its name in the table."""

    REFUSED = "refused"
    """An error with a place, a reason and a remedy."""
    HEALED = "healed"
    """Repaired or replaced by an older state, with the same result."""
    NO_EFFECT = "no effect"
    OTHER_CONTENT = "other content"
    """The changed file is a valid one with other settings or values, and is used as such."""
    TRACEBACK = "traceback"
    BAD_MESSAGE = "bad message"
    """Refused, but the message has no place, no reason or no remedy, or has control characters."""
    HANG = "hang"
    WRONG_ANSWER = "wrong answer"
    MEMORY = "memory"


HOLDS = (Outcome.REFUSED, Outcome.HEALED, Outcome.NO_EFFECT, Outcome.OTHER_CONTENT)
FALLS = tuple(outcome for outcome in Outcome if outcome not in HOLDS)
MAX_MESSAGE, MAX_LOCATION, MIN_REASON = 3000, 1200, 3
"""Longest message, longest name of the file or argument at its start, and shortest reason."""
REMEDY = re.compile(
    r"(?:^|[.;:,?!)]'? |, or )"
    r"(?:first |then |or |and |To [^:]{3,60}[:,] |If [^,]{3,100}, |Where it can: )?"
    r"(?:add|change|check|choose|classify|close|convert|copy|correct|count|delete|divide|download|edit|end|export|fill|find"
    r"|free|get|give|install|join|leave|let|lower|make|measure|move|name|open|put|quote|raise|recognize|redirect|remove|rename"
    r"|repair|replace|resize|restore|resume|run|save|see|send|set|shorten|split|start|stop|store|train|translate|try"
    r"|turn|use|wait|with|write|did you mean|known|allowed|one of|tongsa) ?\b",
    re.IGNORECASE,
)
"""Start of a remedy: an imperative at the start of a sentence or clause, or a list of what is known."""
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
ALLOWED = re.compile(r" (?:is|are) not (?:at (?:least|most) |an? |in |one of |true or false|text \(in|between )")
"""A value and what is allowed instead: that is the remedy."""


class WrongAnswerError(Exception):
    """A damaged folder was used without a word, with another answer than the intact one."""


def message_fault(text: str) -> str:
    """Return what is missing in a message of the form `where: what. What to do.`; empty if nothing is."""
    location, colon, rest = text.partition(": ")
    if CONTROLS.search(text):
        return "several lines, or control characters"
    if not location.strip() or not colon or len(location) > MAX_LOCATION:
        return "no place"
    if len(text) > MAX_MESSAGE:
        return f"{len(text)} characters"
    if ALLOWED.search(rest):
        return ""
    starts = [remedy.start() for remedy in REMEDY.finditer(rest)]
    if not starts:
        return "no remedy"
    return "" if any(len(rest[:start].strip()) >= MIN_REASON for start in starts) else "no reason"
