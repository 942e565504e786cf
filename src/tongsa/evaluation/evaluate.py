"""Evaluation of a model on pairs: metrics with signatures, perplexity, and the outputs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.text_classifier import Classification, TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.evaluation.metrics import LOWER_IS_BETTER, Score, accuracy, compute_metrics, macro_f1

DEFAULT_METRICS = ("bleu", "chrf", "exact_match")
Pairs = Sequence[tuple[str, str]]


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

    def __str__(self) -> str:
        """Return the table of `tongsa evaluate`: name, value and signature of each score."""
        lines = [f"{name:12} {score.value:8.2f}  {score.signature}" for name, score in self.scores.items()]
        return "\n".join([*lines, f"{'sentences':12} {self.sentences:8,}  in {self.seconds:.1f} s"])

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
        values: dict[str, object] = {name: round(score.value, 4) for name, score in self.scores.items()}
        return values | {
            "signatures": {name: score.signature for name, score in self.scores.items()},
            "sentences": self.sentences,
            "seconds": round(self.seconds, 2),
            "truncated": self.truncated,
        }


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Settings of an evaluation. Classifiers and language models ignore them."""

    metrics: Sequence[str] = DEFAULT_METRICS
    tokenize: str = "13a"
    """SacreBLEU's tokenizer for BLEU."""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Fields of DecodingConfig that replace the model's own."""


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


def _evaluate_seq2seq(translator: Translator, pairs: Pairs, config: EvaluationConfig) -> EvaluationReport:
    start = perf_counter()
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    request = DecodeRequest(config=translator.config_with(config.decoding))
    translations = translator.decode(sources, request)
    outputs = [translation.text for translation in translations]
    decoding = decoding_signature(translator, request.config)
    scores = {
        name: Score(score.value, score.signature + decoding)
        for name, score in compute_metrics(config.metrics, sources, outputs, references, config.tokenize).items()
    }
    scores["perplexity"] = perplexity(translator, pairs)
    return EvaluationReport(scores, len(pairs), perf_counter() - start, translations=translations)


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
    if translator.engine:
        settings["engine"] = translator.engine.name
    return "".join(f"|{name}:{value}" for name, value in settings.items())


def _evaluate_classification(classifier: TextClassifier, pairs: Pairs, _: EvaluationConfig) -> EvaluationReport:
    start = perf_counter()
    references = [target for _, target in pairs]
    classifier.target_tokenizer.encode_all(references)  # an unknown label is reported before the work begins
    classifications = classifier.classify([source for source, _ in pairs])
    outputs = [classification.label for classification in classifications]
    log_probs = [
        math.log(max(1e-38, classification.probabilities[label]))
        for classification, label in zip(classifications, references, strict=True)
    ]
    scores = {
        "accuracy": accuracy(outputs, references),
        "macro_f1": macro_f1(outputs, references),
        "perplexity": Score(
            _finite_exp(-sum(log_probs) / max(1, len(log_probs))),
            f"perplexity|unit:label|labels:{len(classifier.target_tokenizer)}",
        ),
    }
    return EvaluationReport(scores, len(pairs), perf_counter() - start, classifications=classifications)


def _evaluate_language_model(generator: TextGenerator, pairs: Pairs, _: EvaluationConfig) -> EvaluationReport:
    start = perf_counter()
    scores = {"perplexity": perplexity(generator, pairs)}
    return EvaluationReport(scores, len(pairs), perf_counter() - start)


def perplexity(text_model: Translator | TextGenerator, pairs: Pairs) -> Score:
    """Return exp of the mean cross-entropy per token; pairs too long for the model are counted in the signature."""
    token_log_probs = score_references(text_model, pairs)
    log_probs = [log_prob for sentence in token_log_probs for log_prob in sentence]
    signature = perplexity_signature(text_model, skipped=sum(not sentence for sentence in token_log_probs))
    return Score(_finite_exp(-sum(log_probs) / max(1, len(log_probs))) if log_probs else math.nan, signature)


def score_references(text_model: Translator | TextGenerator, pairs: Pairs) -> list[list[float]]:
    """Return the log-probability of each token of each target; none for a pair that is too long for the model."""
    lengths = zip(
        text_model.source_tokenizer.encode_all([source for source, _ in pairs]),
        text_model.target_tokenizer.encode_all([target for _, target in pairs]),
        strict=True,
    )
    scorable = [i for i, sides in enumerate(lengths) if max(map(len, sides)) < text_model.max_positions]
    scores = dict(zip(scorable, text_model.score([pairs[i] for i in scorable]), strict=True))
    return [scores.get(i, []) for i in range(len(pairs))]


def perplexity_signature(text_model: Translator | TextGenerator, *, skipped: int) -> str:
    signature = f"perplexity|unit:token|vocab:{len(text_model.target_tokenizer)}|eos:yes|prefix:reference"
    signature += f"|models:{len(text_model.models)}" if len(text_model.models) > 1 else ""
    return signature + (f"|skipped:{skipped}" if skipped else "")


def _finite_exp(value: float) -> float:
    """Return exp(value), limited to a number that JSON can represent."""
    return math.exp(min(value, 700.0))
