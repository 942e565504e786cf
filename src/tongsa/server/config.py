"""Every setting of the server, and what a client may ask of it at most."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from tongsa.config import In, NonNegativeFloat, Positive, PositiveFloat, check_ranges


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """The most that one request may ask for; beyond, it is refused with a sentence that names the limit."""

    characters: Positive = 20_000
    """Of all texts of a request together."""
    texts: Positive = 200
    """Texts of a request."""
    beam: Positive = 16
    """Width of the search."""
    nbest: Positive = 16
    """Translations of one sentence."""
    alternatives: Positive = 20
    """Ways to go on after a beginning."""
    glossary_terms: Positive = 100
    """Entries of a glossary sent along."""
    term_characters: Positive = 200
    """Of either side of an entry."""
    body_bytes: Positive = 400_000
    """Of a request as it is sent: a character may take many bytes as it is written in JSON."""
    sentence_characters: Positive = 500
    """Of a sentence whose attention or search is shown, and of a prefix: the answer grows with its square."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    host: str = "127.0.0.1"
    """The address listened on; from elsewhere than this machine only another one can be reached."""
    port: Annotated[int, In(0, 65535)] = 8000
    """0 takes a free one."""
    engine: Literal["auto", "torch", "ctranslate2"] = "auto"
    """Who searches."""
    keys: Path | None = None
    """The file with the keys that may ask; without one, anybody who reaches the address may."""
    rate: NonNegativeFloat = 0.0
    """Requests a minute of each key, or of each address where there are no keys; 0 sets no limit."""
    origins: tuple[str, ...] = ()
    """Web sites whose pages may ask (CORS); none by default."""
    proxies: tuple[str, ...] = ()
    """Addresses whose word about the client's address is taken (X-Forwarded-For)."""
    batch_tokens: Positive = 4096
    """Source pieces that are translated together; fewer where the search is wider than the model's own."""
    max_sentence_tokens: Positive = 256
    """A sentence with more is translated in parts: time grows with the square, and others wait."""
    batch_wait_ms: NonNegativeFloat = 5.0
    """How long the first sentence of a batch waits for company."""
    max_queued_sentences: Positive = 2000
    """Sentences that may wait for one model; when they are more, new requests are told to come back (503)."""
    max_concurrent_requests: Positive = 1000
    """Requests that are answered at a time; when they are more, new ones are told to come back (503)."""
    max_inflight_per_request: Positive = 64
    """Sentences of one request that wait at a time, so that a book does not stand before everybody else."""
    timeout: PositiveFloat = 120.0
    """Seconds after which a request is given up."""
    client_timeout: PositiveFloat = 20.0
    """Seconds that a client may take to send its request, or to take a part of its answer."""
    output_checks: bool = True
    """Whether a suspicious translation is searched for again in another way."""
    limits: RequestLimits = field(default_factory=RequestLimits)

    def __post_init__(self) -> None:
        check_ranges(self)
