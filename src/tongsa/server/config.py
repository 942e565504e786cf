"""Settings of the server and the limits of a request."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from tongsa.config import In, NonNegativeFloat, Positive, PositiveFloat, check_ranges
from tongsa.decoding.documents import MAX_SENTENCE_TOKENS
from tongsa.decoding.engines.names import EngineName


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """Upper limits of one request. A request above a limit gets an error that names the limit."""

    __pydantic_config__: ClassVar = {  # for the schema of /v1/models, which returns the limits
        "extra": "forbid",
        "use_attribute_docstrings": True,
        "json_schema_serialization_defaults_required": True,
    }

    characters: Positive = 20_000
    """Characters of all texts together."""
    texts: Positive = 200
    """Number of texts."""
    beam: Positive = 16
    """Beam width."""
    nbest: Positive = 16
    """Translations of one sentence."""
    alternatives: Positive = 20
    """Continuations of a prefix."""
    continuation_tokens: Positive = 200
    """Tokens of a continuation by a language model."""
    glossary_terms: Positive = 100
    """Entries of a glossary."""
    term_characters: Positive = 200
    """Characters of each side of a glossary entry."""
    body_bytes: Positive = 400_000
    """Bytes of a request body. JSON may write one character in many bytes."""
    document_bytes: Positive = 10_000_000
    """Bytes of a document."""
    document_characters: Positive = 200_000
    """Characters of the text of a document."""
    sentence_characters: Positive = 500
    """Characters of a prefix, and of a sentence in a view of attention or search, whose size is quadratic."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def extra_translations(self) -> int:
        """LibreTranslate's `alternatives`: translations in addition to the best one."""
        return self.nbest - 1


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    host: str = "127.0.0.1"
    """Address to listen on. The default accepts connections from this machine only."""
    port: Annotated[int, In(0, 65535)] = 8000
    """TCP port; 0 selects a free one."""
    engine: EngineName = "auto"
    """Engine that runs the search. A model is converted for it when it is loaded."""
    keys: Path | None = None
    """File of API keys. Without it every client has access."""
    rate: NonNegativeFloat = 0.0
    """Requests per minute of each key, or of each address where no key is needed; 0 means no limit."""
    origins: tuple[str, ...] = ()
    """Web sites whose pages may call this server (CORS)."""
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For header is trusted."""
    batch_tokens: Positive = 4096
    """Source tokens of one batch; fewer where a request has a wider beam than the model's default."""
    max_sentence_tokens: Positive = MAX_SENTENCE_TOKENS
    """A longer sentence is translated in parts, because time grows quadratically with the length."""
    batch_wait_ms: NonNegativeFloat = 5.0
    """Milliseconds that the first sentence of a batch waits for others."""
    max_queued_sentences: Positive = 2000
    """Sentences that may wait for one model; above that, requests get 503."""
    max_concurrent_requests: Positive = 1000
    """Requests handled at the same time; above that, requests get 503."""
    admission_timeout: NonNegativeFloat = 1.0
    """Seconds that a request waits for room before it gets 503, or somewhat longer if many wait; 0 waits for none."""
    max_concurrent_documents: Positive = 4
    """Documents translated at the same time; above that, requests get 503. One may take 200 MB of memory."""
    max_kept_files: Positive = 50
    """Translated files of /translate_file that wait in memory to be fetched; above that, requests get 503."""
    max_kept_file_bytes: Positive = 50_000_000
    """Bytes of these files together."""
    kept_file_seconds: PositiveFloat = 600.0
    """Seconds after which such a file is removed."""
    max_inflight_per_request: Positive = 64
    """Sentences of one request in the queue at the same time, so that a book does not block other clients."""
    timeout: PositiveFloat = 120.0
    """Seconds until a request is cancelled, counted from its arrival."""
    client_timeout: PositiveFloat = 20.0
    """Seconds a client may take to send its request, or to receive a part of the response."""
    output_checks: bool = True
    """Search again, with other settings, when a translation looks wrong (output_checks.py)."""
    corrections: str = ""
    """Folder for corrected translations of users, one file per model (api/corrections.py); empty collects none."""
    own_kinds: bool = False
    """Load models of kinds outside tongsa (`package.module:Config`), which executes their module (docs/own-kind.md)."""
    limits: RequestLimits = field(default_factory=RequestLimits)

    def __post_init__(self) -> None:
        check_ranges(self)
