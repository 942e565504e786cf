"""Language of a text by py3langid, an optional package."""

from collections import Counter
from functools import lru_cache
from importlib import import_module
from typing import Any

from tongsa.errors import InputError

MIN_LETTERS = 20
"""Shorter texts are not identified."""


def language_probability(text: str, language: str) -> float:
    """Return the probability of a language for a text; 1 for a short text, or a language that is not known."""
    _, codes = _identifier()
    if language not in codes:
        return 1
    ranked = identify(text)
    return next((probability for code, probability in ranked if code == language), 0.0) if ranked else 1


@lru_cache(maxsize=4096)
def identify(text: str) -> tuple[tuple[str, float], ...]:
    """Return the languages of a text with their probabilities, the most probable first; () for a short text."""
    if sum(map(str.isalpha, text)) < MIN_LETTERS:
        return ()
    return tuple((code, float(probability)) for code, probability in _identifier()[0].rank(text)[:10])


def count_languages(texts: list[str]) -> Counter[str]:
    """Count texts by their most probable language."""
    return Counter(ranked[0][0] for text in texts if (ranked := identify(text)))


def check_identifier() -> None:
    """Raise InputError if the package is missing."""
    _identifier()


@lru_cache(maxsize=1)
def _identifier() -> tuple[Any, frozenset[str]]:
    try:
        langid = import_module("py3langid.langid")
    except ImportError:
        raise InputError(
            "data.filters.language: needs the package py3langid. Run pip install 'tongsa[clean]', or leave it out."
        ) from None
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    return identifier, frozenset(identifier.nb_classes)
