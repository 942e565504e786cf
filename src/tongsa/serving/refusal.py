"""What a client is told when its request is not answered: a sentence with the remedy, and a word for programs."""

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):  # noqa: N818 - the request is at fault, or the hour
    def __init__(self, status: int, code: str, sentence: str, *, again: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.code, self.sentence = status, code, shortened(sentence)
        self.again = again
        """Seconds after which it is worth to ask again."""

    @property
    def body(self) -> dict[str, Any]:
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
