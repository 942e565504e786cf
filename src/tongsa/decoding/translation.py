"""What a translator gives back, and what can be seen in it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tongsa.decoding.terminology import Outcome
from tongsa.decoding.text_model import Matrix
from tongsa.errors import InputError
from tongsa.text.words import links

Look = Callable[[tuple[int, ...], tuple[int, ...]], dict[str, list[Matrix]]]
"""From the indices of a source and of its output to all attention along it."""
Score = Callable[[tuple[int, ...], tuple[int, ...]], list[float]]
"""From the same to the log-probability of each piece of the output."""


@dataclass(frozen=True)
class Translation:
    text: str
    score: float
    """Length-normalised log-probability, by which the search compared its hypotheses."""
    total: float
    """log p(text | source), summed over the pieces."""
    pieces: tuple[str, ...]
    source_pieces: tuple[str, ...]
    terms: tuple[Outcome, ...] = ()
    """What became of each term of the glossary that the source holds."""
    cut: bool = False
    """The source was longer than the model can read, and only its beginning was translated."""
    alternatives: tuple["Translation", ...] = ()
    """The rest of the n-best list, best first."""
    _indices: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    _logs: tuple[float, ...] = field(default=(), repr=False)
    _score: Score | None = field(default=None, repr=False, compare=False)
    _look: Look | None = field(default=None, repr=False, compare=False)

    @property
    def logs(self) -> tuple[float, ...]:
        """Log p of each piece, </s> last."""
        if self._logs or self._score is None:
            return self._logs
        return tuple(self._score(*self._indices))  # an engine has told their sum alone

    @property
    def alignment(self) -> Matrix:  # (target piece and </s>, source piece and </s>)
        """How much each piece of the output looked at each piece of the source: the mean over layers and heads."""
        seen = self.attention
        if not seen.get("cross"):
            raise InputError("this kind of model has no attention: nothing says which piece came from where")
        mean: Matrix = np.mean(np.concatenate(seen["cross"]), axis=0, dtype=np.float32)
        return mean @ seen["hops"][0][0] if "hops" in seen else mean  # it looked at hops, and they at the source

    @property
    def links(self) -> list[tuple[int, int]]:
        """For each word of the output the word of the source that it looked at most: (source, target), from 0 up."""
        if not self.pieces:
            return []
        return links(self.alignment[:-1, :-1].astype(np.float64), self.pieces, self.source_pieces)

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Role ("encoder", "decoder", "cross") → for each layer the weights (head, query, key)."""
        if self._look is None:
            raise InputError("this translation came without its model: ask a Translator for it again")
        return self._look(*self._indices)
