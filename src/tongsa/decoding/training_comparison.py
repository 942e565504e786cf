"""Comparison of the input with the training data: warnings about a result; placeholders and words to copy."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tongsa.data.training_profile import TrainingProfile
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.text_classifier import Classification

MAX_WORDS_SHOWN = 5
"""Number of unseen words in a remark about a text."""

PLACEHOLDER = re.compile(r"\{\{[^{}\s]{1,60}\}\}")
"""A variable of a template: another program puts its value there, so it must not be translated."""


def compare_with_training(
    translation: Translation, source: str, profile: TrainingProfile | None, *, sampled: bool
) -> Translation:
    """Add the source to all hypotheses of a sentence, and what the profile tells about them.

    The threshold for scores is that of a search: a sample has a low score only if it is empty.
    """
    unseen_words = profile.unseen_words(source) if profile else ()
    is_longer = bool(profile and profile.is_much_longer(len(translation.source_tokens)))
    min_log_prob = profile.min_log_prob if profile and not sampled else float("-inf")

    # not recursive: a function that refers to itself is garbage that only a collection finds
    def compare(hypothesis: Translation, alternatives: tuple[Translation, ...] = ()) -> Translation:
        return replace(
            hypothesis,
            source=source,
            unseen_words=unseen_words,
            low_score=hypothesis.mean_log_prob < min_log_prob or not hypothesis.text,
            longer_than_training=is_longer,
            alternatives=alternatives,
        )

    return compare(translation, tuple(map(compare, translation.alternatives)))


def input_remarks(result: Translation | Classification) -> Iterator[str]:
    """Yield what makes a text unlike the training data, in words."""
    if result.truncated:
        yield "longer than the model can read, truncated"
    elif result.longer_than_training:
        yield "much longer than any text of the training data"
    if words := result.unseen_words:
        more = f" and {len(words) - MAX_WORDS_SHOWN:,} more" if len(words) > MAX_WORDS_SHOWN else ""
        yield f"not in the training data: {', '.join(words[:MAX_WORDS_SHOWN])}{more}"


def with_copies(request: DecodeRequest, texts: Sequence[str], profile: TrainingProfile | None) -> DecodeRequest:
    """Return the request with placeholders such as {{name}}, and unseen words to copy, as terms of its glossary."""
    glossary = request.glossary or Glossary()
    copies = {placeholder for text in texts for placeholder in PLACEHOLDER.findall(text)}
    if request.config.copy_unseen_words and profile:
        copies |= {word for text in texts for word in profile.copied_words(text)}
    added = Glossary.from_pairs((), sorted(copies - {term.source for term in glossary.terms}))
    return replace(request, glossary=Glossary(glossary.terms + added.terms)) if added.terms else request
