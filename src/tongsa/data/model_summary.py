"""Summary of a model for the people who use it: training data, dev score, examples to try, control tags."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_EXAMPLES, MIN_EXAMPLE_CHARACTERS, MAX_EXAMPLE_CHARACTERS = 5, 4, 80
MAX_CONTROL_TAGS, MIN_TAG_COUNT, MIN_TAG_SHARE = 8, 20, 0.01
"""A tag occurs before at least this many sources and this share of them."""
_CONTROL_TAG = re.compile(r"<[\w-]{1,30}>(?= )")


@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Table `summary` of model.toml; models of older versions have none."""

    training_pairs: int = 0
    """Pairs, or texts, of the training data."""
    metric: str = ""
    """Metric of the score."""
    score: float = 0.0
    """Score on the dev set."""
    examples: tuple[str, ...] = ()
    """Sources of the dev set, to try the model with."""
    control_tags: tuple[str, ...] = ()
    """Tags such as <polite> that begin training sources and choose a style of the translation."""


def choose_examples(texts: Iterable[str]) -> tuple[str, ...]:
    """Return some short texts without a control tag, evenly spaced."""
    short = [
        text
        for text in dict.fromkeys(texts)
        if MIN_EXAMPLE_CHARACTERS <= len(text) <= MAX_EXAMPLE_CHARACTERS and not _CONTROL_TAG.match(text)
    ]
    count = min(MAX_EXAMPLES, len(short))
    return tuple(short[i * len(short) // count] for i in range(count))


def find_control_tags(sources: Sequence[str]) -> tuple[str, ...]:
    """Return the tags that begin many sources, most frequent first."""
    counts = Counter(match[0] for source in sources if (match := _CONTROL_TAG.match(source)))
    min_count = max(MIN_TAG_COUNT, MIN_TAG_SHARE * len(sources))
    return tuple(tag for tag, count in counts.most_common(MAX_CONTROL_TAGS) if count >= min_count)
