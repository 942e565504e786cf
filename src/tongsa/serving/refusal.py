"""What a client is told when its request is not answered: a sentence with the remedy, and a word for programs."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypedDict

Code = Literal[
    "bad_method",
    "bad_request",
    "busy",
    "failed",
    "internal",
    "no_key",
    "not_found",
    "slow",
    "timeout",
    "too_long",
    "too_many",
    "unknown_model",
    "wrong_host",
    "wrong_key",
    "wrong_origin",
]


class Error(TypedDict):
    error: str
    """A sentence with the remedy."""
    code: Code
    """The same as a word, for programs."""


class Kind(NamedTuple):
    """All refusals of one status."""

    about: str
    codes: tuple[Code, ...]
    again: bool = False
    """Whether Retry-After says in how many seconds it is worth to ask again."""


KINDS: Mapping[int, Kind] = {
    400: Kind("not JSON, not a form, or a host that cannot be read", ("bad_request", "unknown_model")),
    401: Kind("no API key", ("no_key",)),
    403: Kind("a wrong API key, or a page of another site", ("wrong_key", "wrong_origin")),
    404: Kind("no such model or address", ("unknown_model", "not_found")),
    405: Kind("another method is wanted", ("bad_method",)),
    408: Kind("the request did not arrive in time", ("slow",)),
    413: Kind("too long", ("too_long",)),
    421: Kind("another host name, on loopback", ("wrong_host",)),
    422: Kind("a field that does not fit", ("bad_request",)),
    429: Kind("too many requests; see Retry-After", ("too_many",), again=True),
    500: Kind("the server failed", ("internal",)),
    503: Kind("busy, still loading, or not done in time; see Retry-After", ("busy", "failed", "timeout"), again=True),
}


class Refusal(Exception):  # noqa: N818 - the request is at fault, or the hour
    def __init__(self, status: int, code: Code, sentence: str, *, again: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.code, self.sentence = status, code, shortened(sentence)
        self.again = again
        """Seconds after which it is worth to ask again."""

    @property
    def body(self) -> Error:
        return {"error": self.sentence, "code": self.code}

    @property
    def headers(self) -> Mapping[str, str]:
        return {} if self.again is None else {"Retry-After": str(max(1, round(self.again)))}


def bad(sentence: str) -> Refusal:
    return Refusal(422, "bad_request", sentence)


def too_long(sentence: str) -> Refusal:
    return Refusal(413, "too_long", sentence)


def busy(sentence: str, again: float = 1.0) -> Refusal:
    return Refusal(503, "busy", sentence, again=again)


def failed(sentence: str) -> Refusal:
    return Refusal(503, "failed", sentence, again=1.0)


def shortened(sentence: str, most: int = 400) -> str:
    """What was sent may be quoted in it, and may be long."""
    half = most // 2
    return sentence if len(sentence) <= most else f"{sentence[:half]} … {sentence[-half:]}"
