"""Every setting of the server, and what a client may ask of it at most."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most that one request may ask for; beyond, it is refused with a sentence that names the limit."""

    characters: int = 20_000
    """Of all texts of a request together."""
    texts: int = 200
    """Texts of a request."""
    beam: int = 16
    """Width of the search."""
    nbest: int = 16
    """Translations of one sentence."""
    alternatives: int = 20
    """Ways to go on after a beginning."""
    terms: int = 100
    """Entries of a glossary sent along."""
    term_characters: int = 200
    """Of either side of an entry."""
    body_bytes: int = 400_000
    """Of a request as it is sent: a character may take many bytes as it is written in JSON."""
    look_characters: int = 500
    """Of a sentence whose attention or search is shown, and of a prefix: the answer grows with its square."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ValueError(f"{name} {value}: a limit is at least 1")


@dataclass(frozen=True, kw_only=True)
class ServingConfig:
    host: str = "127.0.0.1"
    """The address listened on; from elsewhere than this machine only another one can be reached."""
    port: int = 8000
    """0 takes a free one."""
    engine: Literal["auto", "torch", "ctranslate2"] = "auto"
    """Who searches."""
    keys: Path | None = None
    """The file with the keys that may ask; without one, anybody who reaches the address may."""
    rate: float = 0.0
    """Requests a minute of each key, or of each address where there are no keys; 0 sets no limit."""
    origins: tuple[str, ...] = ()
    """Web sites whose pages may ask (CORS); none by default."""
    proxies: tuple[str, ...] = ()
    """Addresses whose word about the client's address is taken (X-Forwarded-For)."""
    batch_tokens: int = 4096
    """Source pieces that are translated together; fewer where the search is wider than the model's own."""
    sentence_pieces: int = 256
    """A sentence with more is translated in parts: time grows with the square, and others wait."""
    wait_ms: float = 5.0
    """How long the first sentence of a batch waits for company."""
    queue: int = 2000
    """Sentences that may wait for one model; when they are more, new requests are told to come back (503)."""
    requests: int = 1000
    """Requests that are answered at a time; when they are more, new ones are told to come back (503)."""
    window: int = 64
    """Sentences of one request that wait at a time, so that a book does not stand before everybody else."""
    timeout: float = 120.0
    """Seconds after which a request is given up."""
    patience: float = 20.0
    """Seconds that a client may take to send its request, or to take a part of its answer."""
    guard: bool = True
    """Whether a suspicious translation is searched for again in another way."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in ("batch_tokens", "sentence_pieces", "queue", "requests", "window", "timeout", "patience"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} {getattr(self, name)} is not above 0")
        if self.wait_ms < 0 or self.rate < 0:
            raise ValueError("wait_ms and rate are numbers from 0 up")
        if not 0 <= self.port < 65536:
            raise ValueError(f"port {self.port} is not between 0 and 65535")
