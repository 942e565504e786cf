"""Sufficient statistics of metrics: one row of counts per sentence; a corpus score is a function of their sum.

A resampled test set is a vector of weights, so its score is `score(weights @ rows)`: no text is read twice. BLEU, chrF
and TER take their counts from sacreBLEU; the formulas here are vectorized over many sums at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tongsa.errors import InputError
from tongsa.evaluation.metrics import LOWER_IS_BETTER, bleu_metric, edit_distance, references_by_source

FloatArray = NDArray[np.float64]
ScoreFunction = Callable[[FloatArray], FloatArray]

BLEU_ORDER = 4
CHRF_BETA = 2
MAX_CROSS_ENTROPY = 700.0
"""Limit of the exponent of a perplexity: exp of more is not a number that JSON can represent."""


@dataclass(frozen=True, eq=False)
class MetricStatistics:
    """Statistics of one system's outputs under one metric.

    A row is what a test set is resampled by: a sentence, and for WER and PER a distinct source with all its references,
    in the order of their first occurrence.
    """

    name: str
    signature: str
    rows: FloatArray  # (sentence, statistic)
    score: ScoreFunction
    """From sums (…, statistic) to values (…)."""
    sentence_score: ScoreFunction | None = None
    """The same for single sentences, where it differs: BLEU with effective order."""
    labels: tuple[str, ...] = ()
    """For macro F1: the labels of the columns; two systems may have output different labels."""

    @property
    def lower_is_better(self) -> bool:
        return self.name in LOWER_IS_BETTER

    def value(self) -> float:
        """Return the score of the whole test set."""
        return float(self.score(self.rows.sum(axis=0)))

    def sentence_values(self) -> FloatArray:  # (sentence,)
        """Return the metric of each row alone; BLEU as sacreBLEU's sentence BLEU. NaN where it is undefined."""
        return (self.sentence_score or self.score)(self.rows)


def metric_statistics(
    name: str, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> MetricStatistics:
    """Return the statistics of outputs under a metric; `tokenize` is sacreBLEU's tokenizer for BLEU."""
    table: dict[str, Callable[[], MetricStatistics]] = {
        "bleu": lambda: _bleu_statistics(outputs, references, tokenize),
        "chrf": lambda: _sacrebleu_statistics("chrf", CHRF(), outputs, references, chrf_scores),
        "ter": lambda: _sacrebleu_statistics("ter", TER(), outputs, references, ter_scores),
        "exact_match": lambda: _match_statistics(
            "exact_match", "exact_match|case:mixed|norm:nfc,space", outputs, references
        ),
        "wer": lambda: _wer_statistics(sources, outputs, references),
        "per": lambda: _per_statistics(sources, outputs, references),
        "accuracy": lambda: _match_statistics("accuracy", "accuracy|average:micro", outputs, references),
        "macro_f1": lambda: _macro_f1_statistics(outputs, references),
    }
    if name not in table:
        raise InputError(f"{name!r}: not a metric. Use {', '.join(table)}.")
    check_parallel(sources=sources, outputs=outputs, references=references)
    return table[name]()


def check_parallel(**lines: Sequence[str]) -> None:
    """Raise InputError unless all of these have the same number of lines, and at least one."""
    counts = {name: len(texts) for name, texts in lines.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        raise InputError(f"{text}: their numbers differ. Give one line of each for every sentence of the test set.")
    if not any(counts.values()):
        raise InputError(f"{', '.join(lines)}: the test set is empty. Give at least one sentence.")


def perplexity_statistics(token_log_probs: Sequence[Sequence[float]], signature: str) -> MetricStatistics:
    """Return the statistics of a perplexity from the log-probabilities of each sentence; a skipped one has none."""
    rows = np.array([(sum(log_probs), len(log_probs)) for log_probs in token_log_probs], dtype=np.float64)
    return MetricStatistics("perplexity", signature, rows.reshape(-1, 2), perplexity_scores)


def mean_statistics(name: str, signature: str, values: Sequence[float] | FloatArray) -> MetricStatistics:
    """Return the statistics of a metric that is the mean of a value per sentence."""
    rows = np.stack([np.asarray(values, dtype=np.float64), np.ones(len(values))], axis=1)
    return MetricStatistics(name, signature, rows, mean_scores)


def align_labels(statistics: Sequence[MetricStatistics]) -> list[MetricStatistics]:
    """Give all systems the same columns: the union of their labels, in order. Other metrics stay as they are."""
    if not any(system.labels for system in statistics):
        return list(statistics)
    labels = sorted({label for system in statistics for label in system.labels})
    aligned = []
    for system in statistics:
        rows = np.zeros((len(system.rows), 3, len(labels)))
        rows[:, :, [labels.index(label) for label in system.labels]] = system.rows.reshape(
            len(system.rows), 3, len(system.labels)
        )
        aligned.append(
            MetricStatistics(
                system.name,
                system.signature,
                rows.reshape(len(rows), -1),
                system.score,
                labels=tuple(labels),
            )
        )
    return aligned


# Statistics of each metric


def _sacrebleu_statistics(
    name: str, metric: Metric, outputs: Sequence[str], references: Sequence[str], score: ScoreFunction
) -> MetricStatistics:
    """Take the counts of each sentence from sacreBLEU, as its own paired tests do."""
    rows = metric._extract_corpus_statistics(list(outputs), [list(references)])
    return MetricStatistics(name, str(metric.get_signature()), np.array(rows, dtype=np.float64), score)


def _bleu_statistics(outputs: Sequence[str], references: Sequence[str], tokenize: str) -> MetricStatistics:
    corpus = _sacrebleu_statistics("bleu", bleu_metric(tokenize), outputs, references, bleu_scores)
    return MetricStatistics(corpus.name, corpus.signature, corpus.rows, bleu_scores, sentence_bleu_scores)


def _match_statistics(name: str, signature: str, outputs: Sequence[str], references: Sequence[str]) -> MetricStatistics:
    matches = [output == reference for output, reference in zip(outputs, references, strict=True)]
    return MetricStatistics(name, signature, mean_statistics(name, signature, matches).rows, percentages)


def _wer_statistics(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> MetricStatistics:
    by_source, output_of = references_by_source(sources, references), dict(zip(sources, outputs, strict=True))
    rows = [(output_of[source].split() not in correct, 1) for source, correct in by_source.items()]
    signature = f"wer|unit:source|refs:any|sources:{len(by_source)}"
    return MetricStatistics("wer", signature, np.array(rows, dtype=np.float64), percentages)


def _per_statistics(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> MetricStatistics:
    by_source, output_of = references_by_source(sources, references), dict(zip(sources, outputs, strict=True))
    rows = []
    for source, correct in by_source.items():
        output = output_of[source].split()
        rows.append(
            min(((edit_distance(output, reference), len(reference)) for reference in correct), key=lambda r: r[0])
        )
    signature = f"per|unit:symbol|refs:nearest|sources:{len(by_source)}"
    return MetricStatistics("per", signature, np.array(rows, dtype=np.float64), percentages)


def _macro_f1_statistics(outputs: Sequence[str], references: Sequence[str]) -> MetricStatistics:
    """Count for each label: predicted, actual, both. A row is 1 in the columns of its own labels."""
    labels = sorted({*outputs, *references})
    column = {label: i for i, label in enumerate(labels)}
    rows = np.zeros((len(outputs), 3, len(labels)))
    for i, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        rows[i, 0, column[output]] = rows[i, 1, column[reference]] = 1
        rows[i, 2, column[output]] = output == reference
    signature = f"f1|average:macro|labels:{len(labels)}"
    return MetricStatistics("macro_f1", signature, rows.reshape(len(rows), -1), macro_f1_scores, labels=tuple(labels))


# Formulas: sums (…, statistic) → values (…)


def bleu_scores(sums: FloatArray) -> FloatArray:
    """Return corpus BLEU (Papineni et al. 2002) with sacreBLEU's exponential smoothing."""
    return _bleu(sums, effective_order=False)


def sentence_bleu_scores(sums: FloatArray) -> FloatArray:
    """Return sentence BLEU: only the n-gram orders that the output is long enough for."""
    return _bleu(sums, effective_order=True)


def _bleu(sums: FloatArray, *, effective_order: bool) -> FloatArray:
    output_length, reference_length = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2 : 2 + BLEU_ORDER], sums[..., 2 + BLEU_ORDER :]
    # An order without a match counts as 1/2, 1/4, … of one n-gram: each such order halves it again.
    unmatched = np.cumsum(correct == 0, axis=-1)
    counts = np.where(correct > 0, correct, 0.5**unmatched)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(100 * counts / total)
        logs = np.where(total > 0, logs, 0.0 if effective_order else -np.inf)
        orders = (total > 0).sum(axis=-1) if effective_order else BLEU_ORDER
        brevity = np.where(output_length < reference_length, 1 - reference_length / output_length, 0.0)
        values = np.exp(logs.sum(axis=-1) / orders + brevity)
    return np.where((correct > 0).any(axis=-1), values, 0.0)


def chrf_scores(sums: FloatArray) -> FloatArray:
    """Return chrF (Popović 2015): F2 of the mean precision and recall of the orders that both sides have."""
    counts = sums.reshape(*sums.shape[:-1], -1, 3)
    in_output, in_reference, matches = counts[..., 0], counts[..., 1], counts[..., 2]
    effective = (in_output > 0) & (in_reference > 0)
    orders = np.maximum(effective.sum(axis=-1), 1)
    precision = _quotient(np.where(effective, matches, 0), in_output).sum(axis=-1) / orders
    recall = _quotient(np.where(effective, matches, 0), in_reference).sum(axis=-1) / orders
    return 100 * _quotient((1 + CHRF_BETA**2) * precision * recall, CHRF_BETA**2 * precision + recall)


def ter_scores(sums: FloatArray) -> FloatArray:
    """Return edits per reference word in percent; without reference words 100 if there are edits, otherwise 0."""
    edits, words = sums[..., 0], sums[..., 1]
    return np.where(words > 0, 100 * _quotient(edits, words), np.where(edits > 0, 100.0, 0.0))


def percentages(sums: FloatArray) -> FloatArray:
    return 100 * sums[..., 0] / np.maximum(sums[..., 1], 1)


def mean_scores(sums: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def macro_f1_scores(sums: FloatArray) -> FloatArray:
    """Return the mean F1 of the labels that occur; a resampled test set may miss a rare one."""
    counts = sums.reshape(*sums.shape[:-1], 3, -1)
    predicted, actual, correct = counts[..., 0, :], counts[..., 1, :], counts[..., 2, :]
    labels = np.maximum((predicted + actual > 0).sum(axis=-1), 1)
    return np.asarray(100 * _quotient(2 * correct, predicted + actual).sum(axis=-1) / labels)


def perplexity_scores(sums: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.exp(np.minimum(-sums[..., 0] / sums[..., 1], MAX_CROSS_ENTROPY)))


def _quotient(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide; 0 where the denominator is 0."""
    return np.asarray(numerator / np.where(denominator > 0, denominator, 1) * (denominator > 0))
