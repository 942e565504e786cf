"""What a translator gives back, and what can be seen in it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tongsa.decoding.glossary import TermResult
from tongsa.decoding.text_model import Matrix
from tongsa.errors import InputError
from tongsa.tokenization.words import word_alignment

AttentionFunction = Callable[[tuple[int, ...], tuple[int, ...]], dict[str, list[Matrix]]]
"""From the indices of a source and of its output to all attention along it."""
ScoreFunction = Callable[[tuple[int, ...], tuple[int, ...]], list[float]]
"""From the same to the log-probability of each piece of the output."""


@dataclass(frozen=True)
class Translation:
    text: str
    score: float
    """Length-normalised log-probability, by which the search compared its hypotheses."""
    log_prob: float
    """log p(text | source), summed over the pieces."""
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...]
    terms: tuple[TermResult, ...] = ()
    """What became of each term of the glossary that the source holds."""
    truncated: bool = False
    """The source was longer than the model can read, and only its beginning was translated."""
    alternatives: tuple["Translation", ...] = ()
    """The rest of the n-best list, best first."""
    _token_ids: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    _token_log_probs: tuple[float, ...] = field(default=(), repr=False)
    _score_fn: ScoreFunction | None = field(default=None, repr=False, compare=False)
    _attention_fn: AttentionFunction | None = field(default=None, repr=False, compare=False)

    @property
    def token_log_probs(self) -> tuple[float, ...]:
        """Log p of each piece, </s> last."""
        if self._token_log_probs or self._score_fn is None:
            return self._token_log_probs
        return tuple(self._score_fn(*self._token_ids))  # an engine has told their sum alone

    @property
    def alignment(self) -> Matrix:  # (target piece and </s>, source piece and </s>)
        """How much each piece of the output looked at each piece of the source: the mean over layers and heads."""
        seen = self.attention
        if not seen.get("cross"):
            raise InputError("this kind of model has no attention: nothing says which piece came from where")
        mean: Matrix = np.mean(np.concatenate(seen["cross"]), axis=0, dtype=np.float32)
        return mean @ seen["hops"][0][0] if "hops" in seen else mean  # it looked at hops, and they at the source

    @property
    def word_alignment(self) -> list[tuple[int, int]]:
        """For each word of the output the word of the source that it looked at most: (source, target), from 0 up."""
        if not self.tokens:
            return []
        return word_alignment(self.alignment[:-1, :-1].astype(np.float64), self.tokens, self.source_tokens)

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Role ("encoder", "decoder", "cross") → for each layer the weights (head, query, key)."""
        if self._attention_fn is None:
            raise InputError("this translation came without its model: ask a Translator for it again")
        return self._attention_fn(*self._token_ids)
