"""What a model scores on a set of pairs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.generator import TextGenerator
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
    translations: list[Translation] = field(default_factory=list)
    classifications: list[Classification] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        return [one.text for one in self.translations] or [one.label for one in self.classifications]

    def metric_value(self, best_metric: str) -> float:
        """The higher the better, whichever score is asked for."""
        name = {"loss": "perplexity", "auto": next(iter(self.scores))}.get(best_metric, best_metric)
        return -self.scores[name].value if name in LOWER_IS_BETTER else self.scores[name].value

    def summary(self) -> str:
        return "  ".join(f"{name} {score.value:.2f}" for name, score in self.scores.items())

    def as_json(self) -> dict[str, object]:
        values: dict[str, object] = {name: round(score.value, 4) for name, score in self.scores.items()}
        return values | {
            "signatures": {name: score.signature for name, score in self.scores.items()},
            "sentences": self.sentences,
            "seconds": round(self.seconds, 2),
            "cut": sum(one.truncated for one in self.translations) + sum(one.truncated for one in self.classifications),
        }


def evaluate(
    text_model: Translator | TextClassifier | TextGenerator, pairs: Pairs, config: "EvaluationConfig | None" = None
) -> EvaluationReport:
    """Read the sources and compare with the targets; both are taken as normalised already."""
    tasks: dict[str, Callable[..., EvaluationReport]] = {
        "seq2seq": _evaluate_seq2seq,
        "classification": _evaluate_classification,
        "language_model": _evaluate_language_model,
    }
    return tasks[text_model.task](text_model, pairs, config or EvaluationConfig())


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """How a translation is scored; None leaves the choice to the model."""

    metrics: Sequence[str] = DEFAULT_METRICS
    tokenize: str = "13a"
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Of the search, where they differ from the model's own."""


def _evaluate_seq2seq(translator: Translator, pairs: Pairs, config: EvaluationConfig) -> EvaluationReport:
    began = perf_counter()
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translations = translator.translate(sources, **config.decoding)
    outputs = [translation.text for translation in translations]
    models = f"|models:{len(translator.models)}" if len(translator.models) > 1 else ""
    fusion = f"|fusion:{translator.fusion.weight}" if translator.fusion else ""
    engine = f"|engine:{translator.engine.name}" if translator.engine else ""
    search = f"{_decoding_signature(translator.config_with(config.decoding))}{models}{fusion}{engine}"
    scores = {
        name: Score(score.value, score.signature + search)
        for name, score in compute_metrics(config.metrics, sources, outputs, references, config.tokenize).items()
    }
    scores["perplexity"] = perplexity(translator, pairs)
    return EvaluationReport(scores, len(pairs), perf_counter() - began, translations=translations)


def _decoding_signature(config: DecodingConfig) -> str:
    """Beam and alpha always; the others where they change anything."""
    usual = asdict(DecodingConfig())
    told = {name: value for name, value in asdict(config).items() if name in ("beam", "alpha") or value != usual[name]}
    told.pop("max_extra_tokens", None)  # a limit, hardly ever met
    return "".join(f"|{name}:{value}" for name, value in told.items())


def _evaluate_classification(classifier: TextClassifier, pairs: Pairs, _: EvaluationConfig) -> EvaluationReport:
    began = perf_counter()
    classifier.target_tokenizer.encode_all(
        [target for _, target in pairs]
    )  # a label never seen is told before the work
    classifications = classifier.classify([source for source, _ in pairs])
    outputs, references = [answer.label for answer in classifications], [target for _, target in pairs]
    logs = [
        math.log(max(1e-38, one.probabilities[label])) for one, label in zip(classifications, references, strict=True)
    ]
    scores = {
        "accuracy": accuracy(outputs, references),
        "macro_f1": macro_f1(outputs, references),
        "perplexity": Score(
            _finite_exp(-sum(logs) / max(1, len(logs))),
            f"perplexity|unit:label|labels:{len(classifier.target_tokenizer)}",
        ),
    }
    return EvaluationReport(scores, len(pairs), perf_counter() - began, classifications=classifications)


def _evaluate_language_model(generator: TextGenerator, pairs: Pairs, _: EvaluationConfig) -> EvaluationReport:
    began = perf_counter()
    scores = {"perplexity": perplexity(generator, pairs)}
    return EvaluationReport(scores, len(pairs), perf_counter() - began)


def perplexity(text_model: Translator | TextGenerator, pairs: Pairs) -> Score:
    """Exp of the mean cross-entropy a piece; pairs too long for the model count in the signature, not in the value."""
    longest = text_model.max_positions
    held = [
        pair
        for pair, source, target in zip(
            pairs,
            text_model.source_tokenizer.encode_all([source for source, _ in pairs]),
            text_model.target_tokenizer.encode_all([target for _, target in pairs]),
            strict=True,
        )
        if max(len(source), len(target)) < longest
    ]
    logs = [value for values in text_model.score(held) for value in values]
    unit = f"perplexity|unit:piece|pieces:{len(text_model.target_tokenizer)}|eos:yes|prefix:reference"
    unit += f"|models:{len(text_model.models)}" if len(text_model.models) > 1 else ""
    left_out = f"|left_out:{len(pairs) - len(held)}" if len(held) < len(pairs) else ""
    return Score(_finite_exp(-sum(logs) / max(1, len(logs))) if logs else math.nan, unit + left_out)


def _finite_exp(value: float) -> float:
    """Exp, but of a model gone wild a number that JSON can hold."""
    return math.exp(min(value, 700.0))
