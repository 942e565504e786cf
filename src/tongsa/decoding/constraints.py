"""Constraints on the tokens of one output: a forced prefix and forbidden phrases. rules.py applies them.

Glossary terms are put into an output with these two (term_search.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tongsa.decoding.glossary import CONTINUES_WORD
from tongsa.tokenization.words import BYTE_TOKEN


class OutputConstraints(NamedTuple):
    """Token-level constraints on one output."""

    prefix: tuple[int, ...] = ()
    """The output begins with these tokens."""
    prefix_ends_word: bool = False
    """The token after the prefix does not continue its last word."""
    forbidden: tuple[tuple[int, ...], ...] = ()
    """The output does not contain these token sequences after its prefix."""

    def __bool__(self) -> bool:
        return bool(self.prefix or self.forbidden)

    def map_tokens(self, mapping: Mapping[int, int]) -> "OutputConstraints":
        """Return the same constraints with other token ids, as in a subset of the vocabulary."""
        return self._replace(
            prefix=tuple(mapping[token] for token in self.prefix),
            forbidden=tuple(
                tuple(mapping[token] for token in phrase) for phrase in self.forbidden if mapping.keys() >= {*phrase}
            ),
        )


def continuing_tokens(tokens: Sequence[str]) -> frozenset[int]:
    """Return the ids of tokens that continue the word before them: "der" after "▁lad".

    They begin with a letter or digit of a script with spaces. Hangul does not count: it may be a particle.
    """
    continues = re.compile(CONTINUES_WORD)
    return frozenset(i for i, token in enumerate(tokens) if continues.match(token) or BYTE_TOKEN.fullmatch(token))
