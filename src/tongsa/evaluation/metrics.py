"""Metrics of outputs against references, each with a signature: the settings that it was computed with."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tongsa.data.language_id import guess_language
from tongsa.errors import InputError

CHARACTER_LANGUAGES = {"ko", "ja", "zh", "th", "lo", "km", "my", "kor", "jpn", "zho", "tha"}
"""Languages without spaces between words, or with spaces between phrases: BLEU over characters."""

MAX_SAMPLED_REFERENCES = 2_000
"""References, evenly spaced, from which the language is guessed."""

MetricName = Literal["bleu", "chrf", "ter", "exact_match", "wer", "per"]
LOWER_IS_BETTER = {"ter", "wer", "per", "perplexity"}
"""Metrics whose lower values are better."""


class Interval(NamedTuple):
    """Lower and upper end of a confidence interval; both NaN if it is undefined."""

    low: float
    high: float

    @property
    def is_defined(self) -> bool:
        return not math.isnan(self.low)


class Score(NamedTuple):
    """Value of a metric, its signature, and its 95 % bootstrap interval if one was computed."""

    value: float
    signature: str
    interval: Interval | None = None


def bleu_tokenizer(language: str) -> str:
    """Return sacreBLEU's name of the default tokenizer for a language."""
    return "char" if language.lower().split("-")[0].split("_")[0] in CHARACTER_LANGUAGES else "13a"


def guess_bleu_tokenizer(references: Sequence[str]) -> tuple[str, str]:
    """Return the default tokenizer for the language that the references seem to be in, and that language or ""."""
    sample = references[:: max(1, len(references) // MAX_SAMPLED_REFERENCES)]
    language = guess_language(sample)
    return bleu_tokenizer(language), language


def bleu_metric(tokenize: str) -> BLEU:
    """Return sacreBLEU's BLEU with a tokenizer; raise InputError if it has none of this name."""
    try:
        return BLEU(tokenize=tokenize)
    except (KeyError, RuntimeError, ImportError):
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise InputError(f"--tokenize {tokenize}: not a tokenizer of sacreBLEU. Use one of {known}.") from None


def bleu(outputs: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Score:
    """Return BLEU (Papineni et al. 2002) by sacreBLEU (Post 2018): cased, on plain text."""
    metric = bleu_metric(tokenize)
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return chrF (Popović 2015): the F-score of character n-grams."""
    metric = CHRF()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def ter(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return TER (Snover et al. 2006): edits and shifts of words, in percent of the reference's words; not cased."""
    metric = TER()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the percentage of outputs that equal their reference."""
    same = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score(100 * same / max(1, len(references)), "exact_match|case:mixed|norm:nfc,space")


def references_by_source(sources: Sequence[str], references: Sequence[str]) -> dict[str, list[list[str]]]:
    """Return all references of each source, split at spaces: a word may have several pronunciations."""
    by_source: dict[str, list[list[str]]] = defaultdict(list)
    for source, reference in zip(sources, references, strict=True):
        by_source[source].append(reference.split())
    return by_source


def wer(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the percentage of distinct sources whose output is not a reference (Gorman et al. 2020, section 4)."""
    by_source, output_of = references_by_source(sources, references), dict(zip(sources, outputs, strict=True))
    wrong = sum(output_of[source].split() not in correct for source, correct in by_source.items())
    return Score(100 * wrong / max(1, len(by_source)), f"wer|unit:source|refs:any|sources:{len(by_source)}")


def per(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the edit distance of each source's output to its nearest reference, in percent of its symbols."""
    by_source, output_of = references_by_source(sources, references), dict(zip(sources, outputs, strict=True))
    edits = length = 0
    for source, correct in by_source.items():
        output = output_of[source].split()
        distances = [edit_distance(output, reference) for reference in correct]
        nearest = min(range(len(correct)), key=distances.__getitem__)
        edits, length = edits + distances[nearest], length + len(correct[nearest])
    return Score(100 * edits / max(1, length), f"per|unit:symbol|refs:nearest|sources:{len(by_source)}")


def edit_distance(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Return the fewest insertions, deletions and substitutions between two sequences (Levenshtein 1966)."""
    row = list(range(len(reference) + 1))
    for i, symbol in enumerate(hypothesis, start=1):
        diagonal, row[0] = row[0], i
        for j, correct in enumerate(reference, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (symbol != correct))
    return row[-1]


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the percentage of texts with the right label."""
    same = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score(100 * same / max(1, len(references)), "accuracy|average:micro")


def macro_f1(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the mean F1 of the labels, in percent: a rare label counts as much as a frequent one."""
    labels = sorted({*outputs, *references})
    values = []
    for label in labels:
        predicted, actual = list(outputs).count(label), list(references).count(label)
        correct = sum(label == output == reference for output, reference in zip(outputs, references, strict=True))
        values.append(2 * correct / (predicted + actual))
    return Score(100 * sum(values) / max(1, len(values)), f"f1|average:macro|labels:{len(labels)}")


def compute_metrics(
    names: Sequence[str], sources: Sequence[str], outputs: Sequence[str], references: Sequence[str], tokenize: str
) -> dict[str, Score]:
    """Compute the metrics with these names."""
    table: dict[str, Callable[[], Score]] = {
        "bleu": lambda: bleu(outputs, references, tokenize),
        "chrf": lambda: chrf(outputs, references),
        "ter": lambda: ter(outputs, references),
        "exact_match": lambda: exact_match(outputs, references),
        "wer": lambda: wer(sources, outputs, references),
        "per": lambda: per(sources, outputs, references),
    }
    unknown = [name for name in names if name not in table]
    if unknown:
        raise InputError(f"{unknown[0]!r}: not a metric. Use {', '.join(table)}.")
    return {name: table[name]() for name in names}
