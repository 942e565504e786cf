"""One decoding request: made once at the edge (command line, HTTP, Python, evaluation) and passed on unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass

from tongsa.decoding.beams import SearchObserver
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.text_model import ensure_text_list
from tongsa.errors import InputError

MAX_SAMPLES_PER_TEXT = 1000
"""Largest number of samples of one text in one request."""


@dataclass(frozen=True, kw_only=True)
class DecodeRequest:
    """All settings and constraints of decoding, apart from the texts and the model."""

    config: DecodingConfig
    """All settings of the search; no later function adds a default."""
    nbest: int = 1
    """Number of hypotheses returned for each text: the best of the beam, or this many samples."""
    prefixes: Sequence[str] = ()
    """Forced beginning of each output, one for each text; empty for none."""
    glossary: Glossary | None = None
    """Terms that must be translated in a given way, or copied."""
    sampling: SamplingConfig | None = None
    """Draw outputs instead of searching for the best."""
    observer: SearchObserver | None = None
    """Called after each step of the search."""

    def __post_init__(self) -> None:
        ensure_text_list(self.prefixes)
        if self.sampling:
            if not 1 <= self.nbest <= MAX_SAMPLES_PER_TEXT:
                raise InputError(f"nbest {self.nbest}: out of range. Use 1 to {MAX_SAMPLES_PER_TEXT} samples.")
        elif not 1 <= self.nbest <= self.config.beam:
            raise InputError(
                f"nbest {self.nbest}: must be between 1 and the beam {self.config.beam}. Use a wider beam (--beam N)."
            )

    def check_texts(self, texts: Sequence[str]) -> None:
        """Raise InputError unless there is a prefix for each text, or none at all."""
        if self.prefixes and len(self.prefixes) != len(texts):
            raise InputError(f"{len(self.prefixes)} prefixes for {len(texts)} texts. Give one for each text, or none.")
