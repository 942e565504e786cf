"""Comparison of the input with the training data: warnings about a translation, and unseen words to copy."""

from collections.abc import Sequence
from dataclasses import replace

from tongsa.data.training_profile import TrainingProfile
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation


def compare_with_training(
    translation: Translation, source: str, profile: TrainingProfile | None, *, sampled: bool
) -> Translation:
    """Add the source to all hypotheses of a sentence, and what the profile tells about them.

    The threshold for scores is that of a search: samples have no low score.
    """
    unseen_words = profile.unseen_words(source) if profile else ()
    is_longer = bool(profile and profile.is_much_longer(len(translation.source_tokens)))
    min_log_prob = profile.min_log_prob if profile and not sampled else float("-inf")

    def compare(hypothesis: Translation) -> Translation:
        return replace(
            hypothesis,
            source=source,
            unseen_words=unseen_words,
            low_score=hypothesis.mean_log_prob < min_log_prob,
            longer_than_training=is_longer,
            alternatives=tuple(map(compare, hypothesis.alternatives)),
        )

    return compare(translation)


def with_copied_words(request: DecodeRequest, texts: Sequence[str], profile: TrainingProfile | None) -> DecodeRequest:
    """Return the request with the unseen words to copy as terms of its glossary."""
    glossary = request.glossary or Glossary()
    words = {word for text in texts for word in (profile.copied_words(text) if profile else ())}
    copies = Glossary.from_pairs((), sorted(words - {term.source for term in glossary.terms}))
    return replace(request, glossary=Glossary(glossary.terms + copies.terms)) if copies.terms else request
