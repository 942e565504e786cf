"""Results of decoding: a translation with its scores, n-best list, terms, attention and word alignment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tongsa.decoding.glossary import TermResult
from tongsa.decoding.text_model import Matrix
from tongsa.errors import InputError
from tongsa.tokenization.words import word_alignment

AttentionFunction = Callable[[tuple[int, ...], tuple[int, ...]], dict[str, list[Matrix]]]
"""Map the token ids of a source and of its output to attention weights, by role."""
ScoreFunction = Callable[[tuple[int, ...], tuple[int, ...]], list[float]]
"""Map the token ids of a source and of its output to the log-probability of each output token."""


@dataclass(frozen=True)
class Translation:
    """A translation of one text."""

    text: str
    score: float
    """Log-probability after rules and length normalization, which decides the order of hypotheses."""
    log_prob: float
    """log p(text | source): the sum over the tokens."""
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...]
    terms: tuple[TermResult, ...] = ()
    """Result of each glossary term that occurs in the source."""
    truncated: bool = False
    """The source was longer than the model can read; only its beginning was translated."""
    alternatives: tuple["Translation", ...] = ()
    """The n-best list after this translation, best first."""
    _token_ids: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    _token_log_probs: tuple[float, ...] = field(default=(), repr=False)
    _score_fn: ScoreFunction | None = field(default=None, repr=False, compare=False)
    _attention_fn: AttentionFunction | None = field(default=None, repr=False, compare=False)

    @property
    def nbest(self) -> tuple["Translation", ...]:
        """The n-best list, best first: this translation and its alternatives."""
        return (self, *self.alternatives)

    @property
    def num_satisfied_terms(self) -> int:
        return sum(term.satisfied for term in self.terms)

    @property
    def satisfies_terms(self) -> bool:
        return self.num_satisfied_terms == len(self.terms)

    @property
    def token_log_probs(self) -> tuple[float, ...]:
        """Log-probability of each token, EOS last."""
        if self._token_log_probs or self._score_fn is None:
            return self._token_log_probs
        return tuple(self._score_fn(*self._token_ids))  # CTranslate2 returns only their sum

    @property
    def alignment(self) -> Matrix:  # (target token and EOS, source token and EOS)
        """Cross-attention of each output token to each source token: the mean over layers and heads."""
        attention = self.attention
        if not attention.get("cross"):
            raise InputError(
                "alignment: this kind of model has no attention over the source. Use a model with attention."
            )
        mean: Matrix = np.mean(np.concatenate(attention["cross"]), axis=0, dtype=np.float32)
        return mean @ attention["hops"][0][0] if "hops" in attention else mean  # the slots are hops over the source

    @property
    def word_alignment(self) -> list[tuple[int, int]]:
        """For each output word the source word with the most attention: pairs (source, target), counted from 0."""
        if not self.tokens:
            return []
        return word_alignment(self.alignment[:-1, :-1].astype(np.float64), self.tokens, self.source_tokens)

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Attention weights (head, query, key) of each layer, by role: "encoder", "decoder", "cross"."""
        if self._attention_fn is None:
            raise InputError(
                "attention: this translation was made without a model. Translate the text with a Translator."
            )
        return self._attention_fn(*self._token_ids)

    @property
    def hypothesis_record(self) -> dict[str, Any]:
        """The hypothesis for JSON, without the fields that all hypotheses of the text share."""
        return {
            "text": self.text,
            "score": self.score,
            "log_prob": self.log_prob,
            "tokens": list(self.tokens),
            "token_log_probs": list(self.token_log_probs),
        }

    @property
    def record(self) -> dict[str, Any]:
        """The translation for JSON, with its n-best list."""
        nbest = [hypothesis.hypothesis_record for hypothesis in self.nbest]
        return nbest[0] | {
            "source_tokens": list(self.source_tokens),
            "truncated": self.truncated,
            "terms": [term.record for term in self.terms],
            "nbest": nbest,
        }
