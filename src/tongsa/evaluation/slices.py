"""Scores by part of a test set: sentences by length, words by frequency in the training data, words by position.

- length: the metrics of the sentences whose source has a certain number of words.
- frequency: a word of the output is right if the reference of its sentence has it, each occurrence once (multiset
  intersection, as in compare-mt, Neubig et al. 2019, section 3.1). Words are grouped by how often the targets of the
  training data have them. F1, recall (of the references' words) and precision (of the outputs' words).
- position: recall by position in the reference, precision by position in the output, in tenths of the sentence. Of a
  repeated word, the first occurrences are the right ones.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from tongsa.data.unicode_scripts import UNSPACED_SCRIPTS, character_script
from tongsa.evaluation.metric_statistics import FloatArray, MetricStatistics, mean_scores
from tongsa.evaluation.metrics import Interval, Score
from tongsa.evaluation.resampling import bootstrap_scores
from tongsa.evaluation.significance import LEVEL, SAMPLES, SEED, bootstrap_interval, score_interval

LENGTH_ENDS = (5, 10, 15, 20, 25, 30, 40, 50, 70, 100)
"""Largest length of each bin; the last bin has no end."""
FREQUENCY_ENDS = (0, 1, 4, 9, 99, 999)
POSITIONS = 10
MIN_WORDS_PER_SOURCE = 2.0
"""If the sources have fewer words on average, as in spelling → sounds, length is counted in characters."""
MAX_SAMPLED_TEXTS = 500
WordSplitter = Callable[[str], list[str]]


@dataclass(frozen=True)
class Slice:
    """Scores of one bin."""

    label: str
    count: int
    scores: dict[str, Score]
    statistics: dict[str, MetricStatistics] = field(default_factory=dict, repr=False)
    """Statistics of each score, to compare systems or to join runs."""


@dataclass(frozen=True)
class SliceTable:
    """Scores by bin, with the definition of the bins."""

    by: str
    definition: str
    unit: str
    """Unit of `count`: sentences or words."""
    slices: tuple[Slice, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values, for JSON and for the panel of a page; null where a value or an interval is undefined."""
        return {
            "by": self.by,
            "definition": self.definition,
            "unit": self.unit,
            "bins": [
                {
                    "label": part.label,
                    "count": part.count,
                    "scores": {
                        name: {
                            "value": None if np.isnan(score.value) else round(score.value, 4),
                            "interval": [round(end, 4) for end in score.interval] if score.interval else None,
                        }
                        for name, score in part.scores.items()
                    },
                }
                for part in self.slices
            ],
        }


# By length


def slice_by_length(
    statistics: Mapping[str, MetricStatistics], sources: Sequence[str], references: Sequence[str]
) -> SliceTable:
    """Return the metrics of the sentences by length of the source; of a language model's texts, by their own length."""
    texts = sources if any(sources) else references
    side = "source" if any(sources) else "text"
    unit, length = length_measure(texts)
    bins = [bisect_left(LENGTH_ENDS, length(text)) for text in texts]
    slices = []
    for i in sorted(set(bins)):
        parts = {}
        for name, metric in statistics.items():
            # the rows of WER and PER are distinct sources, in the order of their first occurrence
            rows = bins if len(metric.rows) == len(bins) else list(dict(zip(texts, bins, strict=True)).values())
            part = metric.rows[np.array(rows) == i]
            parts[name] = MetricStatistics(metric.name, metric.signature, part, metric.score)
        scores = {name: _score(part, bootstrap_interval(part)) for name, part in parts.items()}
        slices.append(Slice(_bin_label(LENGTH_ENDS, i, first=1), bins.count(i), scores, parts))
    return SliceTable("length", f"length of the {side} in {unit}", "sentences", tuple(slices))


def length_measure(texts: Sequence[str]) -> tuple[str, Callable[[str], int]]:
    """Return the unit in which to count the length of texts, words or characters, and the function that counts it."""
    sample = texts[:: max(1, len(texts) // MAX_SAMPLED_TEXTS)]
    words = sum(len(text.split()) for text in sample) / max(1, len(sample))
    if is_unspaced(sample) or words < MIN_WORDS_PER_SOURCE:
        return "characters", lambda text: len("".join(text.split()))
    return "words", lambda text: len(text.split())


# By frequency in the training data


def slice_by_frequency(
    outputs: Sequence[str], references: Sequence[str], counts: Mapping[str, int], split: WordSplitter
) -> SliceTable:
    """Return F1, recall and precision of words by how often the training data has them (`count_words`)."""
    bins = len(FREQUENCY_ENDS) + 1
    table = np.zeros((bins, len(outputs), 3))  # (bin, sentence, right | in the reference | in the output)
    for i, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        in_output, in_reference = Counter(split(output)), Counter(split(reference))
        for column, words in enumerate((in_output & in_reference, in_reference, in_output)):
            for word, count in words.items():
                table[bisect_left(FREQUENCY_ENDS, counts.get(word, 0)), i, column] += count
    columns = {"f1": _f1, "recall": _recall, "precision": _precision}
    labels = [_bin_label(FREQUENCY_ENDS, i, first=0) for i in range(bins)]
    slices = _word_slices(labels, [{name: (table[i], score) for name, score in columns.items()} for i in range(bins)])
    return SliceTable("frequency", "occurrences of the word in the targets of the training data", "words", slices)


def count_words(texts: Iterable[str], split: WordSplitter) -> Counter[str]:
    return Counter(word for text in texts for word in split(text))


def word_splitter(references: Sequence[str]) -> WordSplitter:
    """Return the function that splits text into words, as sacreBLEU's 13a does; without spaces, into characters."""
    if is_unspaced(references[:: max(1, len(references) // MAX_SAMPLED_TEXTS)]):
        return lambda text: list("".join(text.split()))
    tokenizer: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda text: tokenizer(text).split()


def is_unspaced(texts: Sequence[str]) -> bool:
    """Return whether most letters are of scripts that write no spaces between words."""
    scripts = Counter(character_script(character) for text in texts for character in text)
    letters = sum(count for script, count in scripts.items() if script)
    return 2 * sum(scripts[script] for script in UNSPACED_SCRIPTS) > letters


# By position


def slice_by_position(outputs: Sequence[str], references: Sequence[str], split: WordSplitter) -> SliceTable:
    """Return recall by tenth of the reference and precision by tenth of the output."""
    right = np.zeros((2, POSITIONS, len(outputs)))  # (side, tenth, sentence)
    words = np.zeros_like(right)
    for i, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        sides = split(reference), split(output)
        for side, (text, other) in enumerate((sides, sides[::-1])):
            for tenth, is_right in zip(tenths(len(text)), right_words(text, other), strict=True):
                right[side, tenth, i] += is_right
                words[side, tenth, i] += 1
    columns = [
        {
            name: (np.stack([right[side, tenth], words[side, tenth]], axis=1), _share)
            for side, name in enumerate(("recall", "precision"))
        }
        for tenth in range(POSITIONS)
    ]
    labels = [f"{100 * i // POSITIONS}–{100 * (i + 1) // POSITIONS} %" for i in range(POSITIONS)]
    definition = "position of the word: recall in the reference, precision in the output"
    return SliceTable("position", definition, "words", _word_slices(labels, columns))


def tenths(length: int) -> Iterator[int]:
    """Yield the tenth of the text that the middle of each of its words lies in."""
    return (POSITIONS * (2 * i + 1) // (2 * length) for i in range(length))


def right_words(text: Sequence[str], other: Sequence[str]) -> Iterator[bool]:
    """Yield for each word whether the other text has it as often as the text up to here."""
    left = Counter(other)
    for word in text:
        yield left[word] > 0
        left[word] -= 1


# Scores of words


def _word_slices(
    labels: Sequence[str], columns: Sequence[Mapping[str, tuple[FloatArray, Callable[[FloatArray], FloatArray]]]]
) -> tuple[Slice, ...]:
    """Make the slices of all bins from rows and score functions by name; all are resampled with the same sentences."""
    statistics = [
        MetricStatistics(name, f"{name}|unit:word", rows, score)
        for bin_columns in columns
        for name, (rows, score) in bin_columns.items()
    ]
    resampled = iter(bootstrap_scores(statistics, SAMPLES, SEED))
    metrics = iter(statistics)
    slices = []
    for label, bin_columns in zip(labels, columns, strict=True):
        parts = {name: next(metrics) for name in bin_columns}
        scores = {name: _score(part, score_interval(next(resampled), LEVEL)) for name, part in parts.items()}
        rows, _ = bin_columns["recall"]
        if rows.any():  # no line for a bin without words
            slices.append(Slice(label, int(rows[:, 1].sum()), scores, parts))
    return tuple(slices)


def _f1(sums: FloatArray) -> FloatArray:
    return 100 * mean_scores(np.stack([2 * sums[..., 0], sums[..., 1] + sums[..., 2]], axis=-1))


def _recall(sums: FloatArray) -> FloatArray:
    return 100 * mean_scores(sums[..., :2])


def _precision(sums: FloatArray) -> FloatArray:
    return 100 * mean_scores(sums[..., ::2])


def _share(sums: FloatArray) -> FloatArray:
    return 100 * mean_scores(sums)


def _bin_label(ends: Sequence[int], i: int, *, first: int) -> str:
    low = ends[i - 1] + 1 if i else first
    if i == len(ends):
        return f"≥ {low}"
    return str(low) if low == ends[i] else f"{low}–{ends[i]}"


def _score(metric: MetricStatistics, interval: Interval) -> Score:
    return Score(metric.value(), metric.signature, interval if interval.is_defined else None)
