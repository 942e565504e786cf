"""HTTP errors: status, a code for programs, and a message with the remedy."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

documented = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""Decorator of response types: the OpenAPI document quotes their docstrings and allows no other fields."""

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
MAX_MESSAGE_CHARACTERS = 400
MAX_QUOTED_CHARACTERS = 80
"""Characters of a value of a request that a message quotes."""


@documented
class ErrorBody(TypedDict):
    error: str
    """A sentence with the remedy."""
    code: ErrorCode
    """The kind of error, for programs."""


class ErrorStatus(NamedTuple):
    """All errors of one HTTP status."""

    description: str
    codes: tuple[ErrorCode, ...]
    has_retry_after: bool = False
    """The response has the header Retry-After: seconds until a retry may succeed."""


ERROR_STATUSES: Mapping[int, ErrorStatus] = {
    400: ErrorStatus(
        "The body is neither JSON nor a form, or a header is malformed.",
        ("bad_request", "unknown_model"),
    ),
    401: ErrorStatus("No API key.", ("no_key",)),
    403: ErrorStatus("A wrong API key, or a page of another site.", ("wrong_key", "wrong_origin")),
    404: ErrorStatus("No such model or path.", ("unknown_model", "not_found")),
    405: ErrorStatus("The path does not accept this method.", ("bad_method",)),
    408: ErrorStatus("The request did not arrive in time.", ("slow",)),
    413: ErrorStatus("The request is too long.", ("too_long",)),
    421: ErrorStatus("Another host name on a loopback address.", ("wrong_host",)),
    422: ErrorStatus("A field has a wrong value.", ("bad_request",)),
    429: ErrorStatus("Too many requests. See Retry-After.", ("too_many",), has_retry_after=True),
    500: ErrorStatus("The server failed.", ("internal",)),
    503: ErrorStatus(
        "The server is busy, still loading or too slow. See Retry-After.",
        ("busy", "failed", "timeout"),
        has_retry_after=True,
    ),
}


class APIError(Exception):
    """An error response: raised in a handler, sent to the client."""

    def __init__(self, status: int, code: ErrorCode, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, shorten(message)
        self.retry_after = retry_after
        """Seconds until a retry may succeed."""

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


def timeout_error(seconds: float) -> APIError:
    message = f"The request took longer than {seconds:g} seconds. Send less text in one request."
    return APIError(503, "timeout", message, retry_after=5.0)


def late_error() -> APIError:
    """A sentence that was still in the queue at the deadline of its request; the request has its own error."""
    return APIError(503, "timeout", "The time of the request is over. Send less text in one request.", retry_after=5.0)


def shorten(message: str, max_characters: int = MAX_MESSAGE_CHARACTERS) -> str:
    """Keep the beginning and the end: a message may quote a long value from the request."""
    half = max_characters // 2
    return message if len(message) <= max_characters else f"{message[:half]} … {message[-half:]}"
