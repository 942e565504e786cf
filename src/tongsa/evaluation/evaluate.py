"""Evaluation of a model on pairs: metrics with signatures and intervals, teacher-forced perplexity, and the outputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import compress
from time import perf_counter
from typing import Any, Self

from tongsa.batch import pad
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.text_classifier import Classification, TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.comet import comet_statistics, load_comet
from tongsa.evaluation.metric_statistics import MetricStatistics, metric_statistics, perplexity_statistics
from tongsa.evaluation.metrics import LOWER_IS_BETTER, Score
from tongsa.evaluation.score_tables import align_columns, format_interval, format_value, scores_csv, slice_text
from tongsa.evaluation.significance import LEVEL, SAMPLES, bootstrap_interval
from tongsa.evaluation.slices import SliceTable
from tongsa.tokenization.special import EOS, UNK

DEFAULT_METRICS = ("bleu", "chrf", "exact_match")
TEACHER_FORCED = "teacher-forced:yes"
"""Part of a perplexity's signature: each token is predicted after the reference's own tokens."""
Pairs = Sequence[tuple[str, str]]
Statistics = dict[str, MetricStatistics]


@dataclass(frozen=True)
class EvaluationReport:
    scores: dict[str, Score]
    sentences: int
    seconds: float
    translations: list[Translation] = field(default_factory=list, repr=False)
    classifications: list[Classification] = field(default_factory=list, repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Number of lines of the test files that were dropped, by reason."""
    leakage: Mapping[str, Any] | None = None
    """How much of the test set is in the training files; None if it was not looked for."""
    statistics: Statistics = field(default_factory=dict, repr=False)
    """Statistics of each score by sentence: the input of intervals and tests."""
    slices: Sequence[SliceTable] = ()
    """Scores by length, frequency or position, if they were asked for."""

    def with_intervals(self) -> Self:
        """Return the report with the 95 % bootstrap interval of each score; None where it is undefined."""
        scores = {}
        for name, score in self.scores.items():
            interval = bootstrap_interval(self.statistics[name])
            scores[name] = score._replace(interval=interval if interval.is_defined else None)
        return replace(self, scores=scores)

    def __str__(self) -> str:
        """Return the table of `tongsa evaluate`: name, value, interval and signature of each score; then the slices."""
        rows = [
            (_label(name, score), format_value(score), format_interval(score), score.signature)
            for name, score in self.scores.items()
        ]
        rows.append(("sentences", f"{self.sentences:,}", "", f"in {self.seconds:.1f} s{self._remark()}"))
        return "\n\n".join([align_columns(rows, right=[1]), *map(slice_text, self.slices)])

    def as_csv(self) -> str:
        """Return a line for each score of the test set and of its slices."""
        return scores_csv(self.scores, self.sentences, self.slices)

    def _remark(self) -> str:
        if any(score.interval for score in self.scores.values()):
            return f"; in brackets: {100 * LEVEL:g} % bootstrap intervals, {SAMPLES:,} samples"
        return "; one sentence has no interval: give a test set with more" if self.sentences == 1 else ""

    @property
    def outputs(self) -> list[str]:
        return [translation.text for translation in self.translations] or [
            classification.label for classification in self.classifications
        ]

    def metric_value(self, best_metric: str) -> float:
        """Return the value of a metric, negated if lower is better: the higher the better."""
        name = {"loss": "perplexity", "auto": next(iter(self.scores))}.get(best_metric, best_metric)
        return -self.scores[name].value if name in LOWER_IS_BETTER else self.scores[name].value

    def summary(self) -> str:
        return "  ".join(f"{name} {score.value:.2f}" for name, score in self.scores.items())

    @property
    def truncated(self) -> int:
        """Number of sources that were longer than the model can read."""
        results: list[Translation | Classification] = [*self.translations, *self.classifications]
        return sum(result.truncated for result in results)

    def as_json(self) -> dict[str, object]:
        """Return the values by name; null for a value that is not a number and for an interval that is undefined."""
        values: dict[str, object] = {
            name: round(score.value, 4) if math.isfinite(score.value) else None for name, score in self.scores.items()
        }
        return values | {
            "intervals": {
                name: [round(end, 4) for end in score.interval] if score.interval else None
                for name, score in self.scores.items()
            },
            "signatures": {name: score.signature for name, score in self.scores.items()},
            "sentences": self.sentences,
            "seconds": round(self.seconds, 2),
            "truncated": self.truncated,
            **({"slices": [table.as_json() for table in self.slices]} if self.slices else {}),
        }


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Settings of an evaluation. Classifiers and language models ignore them."""

    metrics: Sequence[str] = DEFAULT_METRICS
    tokenize: str = "13a"
    """SacreBLEU's tokenizer for BLEU."""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Fields of DecodingConfig that replace the model's own."""
    comet_model: str = ""
    """Checkpoint file of a COMET model; adds the score `comet`."""


def _label(name: str, score: Score) -> str:
    return f"{name} (teacher-forced)" if TEACHER_FORCED in score.signature else name


def evaluate(
    text_model: Translator | TextClassifier | TextGenerator, pairs: Pairs, config: EvaluationConfig | None = None
) -> EvaluationReport:
    """Decode the sources and compare with the targets; both must be normalized."""
    tasks: dict[str, Callable[..., EvaluationReport]] = {
        "seq2seq": _evaluate_seq2seq,
        "classification": _evaluate_classification,
        "language_model": _evaluate_language_model,
    }
    return tasks[text_model.task](text_model, pairs, config or EvaluationConfig())


def _scores(statistics: Statistics, suffix: str = "") -> dict[str, Score]:
    return {name: Score(metric.value(), metric.signature + suffix) for name, metric in statistics.items()}


def _evaluate_seq2seq(translator: Translator, pairs: Pairs, config: EvaluationConfig) -> EvaluationReport:
    if "comet" in config.metrics and not config.comet_model:
        raise InputError("--metrics comet: COMET needs a model. Add --comet-model FILE, a downloaded checkpoint.")
    comet = load_comet(config.comet_model) if config.comet_model else None  # before the decoding, which takes long
    start = perf_counter()
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    request = DecodeRequest(config=translator.config_with(config.decoding))
    translations = translator.decode(sources, request)
    outputs = [translation.text for translation in translations]
    statistics = {
        name: metric_statistics(name, sources, outputs, references, config.tokenize)
        for name in config.metrics
        if name != "comet"
    }
    if comet:
        statistics["comet"] = comet_statistics(comet, sources, outputs, references)
    scores = _scores(statistics, decoding_signature(translator, request.config))
    statistics["perplexity"] = teacher_forced_perplexity(translator, pairs)
    scores |= _scores({"perplexity": statistics["perplexity"]})
    seconds = perf_counter() - start
    return EvaluationReport(scores, len(pairs), seconds, translations=translations, statistics=statistics)


def decoding_signature(translator: Translator, config: DecodingConfig) -> str:
    """Return beam and alpha, the other settings that differ from their defaults, and the models and engine."""
    defaults = asdict(DecodingConfig())
    settings = {
        name: value
        for name, value in asdict(config).items()
        if name in ("beam", "alpha") or (value != defaults[name] and name != "max_extra_tokens")  # only a limit
    }
    if len(translator.models) > 1:
        settings["models"] = len(translator.models)
    if translator.fusion:
        settings["fusion"] = translator.fusion.weight
    if translator.engine and translator.engine.supports(pad([[UNK, EOS]]), config):  # otherwise torch searches
        settings["engine"] = translator.engine.name
    elif translator.torch_engine.name != "torch":
        settings["engine"] = translator.torch_engine.name
    return "".join(f"|{name}:{value}" for name, value in settings.items())


def _evaluate_classification(classifier: TextClassifier, pairs: Pairs, _: EvaluationConfig) -> EvaluationReport:
    start = perf_counter()
    references = [target for _, target in pairs]
    classifier.target_tokenizer.encode_all(references)  # an unknown label is reported before the work begins
    classifications = classifier.classify([source for source, _ in pairs])
    outputs = [classification.label for classification in classifications]
    log_probs = [
        [math.log(max(1e-38, classification.probabilities[label]))]
        for classification, label in zip(classifications, references, strict=True)
    ]
    signature = f"perplexity|unit:label|labels:{len(classifier.target_tokenizer)}"
    statistics = {name: metric_statistics(name, references, outputs, references) for name in ("accuracy", "macro_f1")}
    statistics["perplexity"] = perplexity_statistics(log_probs, signature)
    seconds = perf_counter() - start
    return EvaluationReport(
        _scores(statistics), len(pairs), seconds, classifications=classifications, statistics=statistics
    )


def _evaluate_language_model(generator: TextGenerator, pairs: Pairs, _: EvaluationConfig) -> EvaluationReport:
    start = perf_counter()
    statistics = {"perplexity": teacher_forced_perplexity(generator, pairs)}
    return EvaluationReport(_scores(statistics), len(pairs), perf_counter() - start, statistics=statistics)


def teacher_forced_perplexity(text_model: Translator | TextGenerator, pairs: Pairs) -> MetricStatistics:
    """Return the log-probabilities of the references; pairs too long for the model are counted in the signature."""
    is_scorable = [
        max(len(source), len(target)) < text_model.max_positions
        for source, target in zip(
            text_model.source_tokenizer.encode_all([source for source, _ in pairs]),
            text_model.target_tokenizer.encode_all([target for _, target in pairs]),
            strict=True,
        )
    ]
    log_probs = iter(text_model.score(list(compress(pairs, is_scorable))))
    signature = f"perplexity|unit:token|vocab:{len(text_model.target_tokenizer)}|eos:yes|{TEACHER_FORCED}"
    signature += f"|models:{len(text_model.models)}" if len(text_model.models) > 1 else ""
    signature += f"|skipped:{is_scorable.count(False)}" if not all(is_scorable) else ""
    return perplexity_statistics([next(log_probs) if scorable else [] for scorable in is_scorable], signature)
