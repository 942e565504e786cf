"""What a client is told when its request is not answered: a sentence with the remedy, and a word for programs."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypedDict

ErrorCode = Literal[
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


class ErrorBody(TypedDict):
    error: str
    """A sentence with the remedy."""
    code: ErrorCode
    """The same as a word, for programs."""


class ErrorStatus(NamedTuple):
    """All refusals of one status."""

    description: str
    codes: tuple[ErrorCode, ...]
    has_retry_after: bool = False
    """Whether Retry-After says in how many seconds it is worth to ask again."""


ERROR_STATUSES: Mapping[int, ErrorStatus] = {
    400: ErrorStatus("not JSON, not a form, or a host that cannot be read", ("bad_request", "unknown_model")),
    401: ErrorStatus("no API key", ("no_key",)),
    403: ErrorStatus("a wrong API key, or a page of another site", ("wrong_key", "wrong_origin")),
    404: ErrorStatus("no such model or address", ("unknown_model", "not_found")),
    405: ErrorStatus("another method is wanted", ("bad_method",)),
    408: ErrorStatus("the request did not arrive in time", ("slow",)),
    413: ErrorStatus("too long", ("too_long",)),
    421: ErrorStatus("another host name, on loopback", ("wrong_host",)),
    422: ErrorStatus("a field that does not fit", ("bad_request",)),
    429: ErrorStatus("too many requests; see Retry-After", ("too_many",), has_retry_after=True),
    500: ErrorStatus("the server failed", ("internal",)),
    503: ErrorStatus(
        "busy, still loading, or not done in time; see Retry-After", ("busy", "failed", "timeout"), has_retry_after=True
    ),
}


class APIError(Exception):  # noqa: N818 - the request is at fault, or the hour
    def __init__(self, status: int, code: ErrorCode, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, shorten(message)
        self.retry_after = retry_after
        """Seconds after which it is worth to ask again."""

    @property
    def body(self) -> ErrorBody:
        return {"error": self.message, "code": self.code}

    @property
    def headers(self) -> Mapping[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(max(1, round(self.retry_after)))}


def bad_request_error(message: str) -> APIError:
    return APIError(422, "bad_request", message)


def too_long_error(message: str) -> APIError:
    return APIError(413, "too_long", message)


def busy_error(message: str, retry_after: float = 1.0) -> APIError:
    return APIError(503, "busy", message, retry_after=retry_after)


def failed_error(message: str) -> APIError:
    return APIError(503, "failed", message, retry_after=1.0)


def shorten(message: str, max_characters: int = 400) -> str:
    """What was sent may be quoted in it, and may be long."""
    half = max_characters // 2
    return message if len(message) <= max_characters else f"{message[:half]} … {message[-half:]}"
