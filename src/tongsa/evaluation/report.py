"""What a model scores on a set of pairs."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

from tongsa.decoding.classifier import Classification, Classifier
from tongsa.decoding.search import SearchConfig
from tongsa.decoding.translation import Translation
from tongsa.decoding.translator import Translator
from tongsa.decoding.writer import Writer
from tongsa.evaluation.metrics import FALLING, Score, accuracy, compared, macro_f1

SCORES = ("bleu", "chrf", "exact_match")
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Report:
    scores: dict[str, Score]
    sentences: int
    seconds: float
    translations: list[Translation] = field(default_factory=list)
    classifications: list[Classification] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        return [one.text for one in self.translations] or [one.label for one in self.classifications]

    def merit(self, criterion: str) -> float:
        """The higher the better, whichever score is asked for."""
        name = {"loss": "perplexity", "auto": next(iter(self.scores))}.get(criterion, criterion)
        return -self.scores[name].value if name in FALLING else self.scores[name].value

    def summary(self) -> str:
        return "  ".join(f"{name} {score.value:.2f}" for name, score in self.scores.items())

    def as_json(self) -> dict[str, object]:
        values: dict[str, object] = {name: round(score.value, 4) for name, score in self.scores.items()}
        return values | {
            "signatures": {name: score.signature for name, score in self.scores.items()},
            "sentences": self.sentences,
            "seconds": round(self.seconds, 2),
            "cut": sum(one.cut for one in self.translations) + sum(one.cut for one in self.classifications),
        }


def evaluate(reader: Translator | Classifier | Writer, pairs: Pairs, how: "How | None" = None) -> Report:
    """Read the sources and compare with the targets; both are taken as normalised already."""
    tasks: dict[str, Callable[..., Report]] = {"pairs": _translated, "labels": _classified, "text": _predicted}
    return tasks[reader.task](reader, pairs, how or How())


@dataclass(frozen=True, kw_only=True)
class How:
    """How a translation is scored; None leaves the choice to the model."""

    scores: Sequence[str] = SCORES
    tokenise: str = "13a"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the search, where they differ from the model's own."""


def _translated(translator: Translator, pairs: Pairs, how: How) -> Report:
    began = perf_counter()
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translations = translator.translate(sources, **how.settings)
    outputs = [translation.text for translation in translations]
    models = f"|models:{len(translator.models)}" if len(translator.models) > 1 else ""
    fusion = f"|fusion:{translator.fusion.weight}" if translator.fusion else ""
    engine = f"|engine:{translator.engine.name}" if translator.engine else ""
    search = f"{_signature(translator.settled(how.settings))}{models}{fusion}{engine}"
    scores = {
        name: Score(score.value, score.signature + search)
        for name, score in compared(how.scores, sources, outputs, references, how.tokenise).items()
    }
    scores["perplexity"] = perplexity(translator, pairs)
    return Report(scores, len(pairs), perf_counter() - began, translations=translations)


def _signature(config: SearchConfig) -> str:
    """Beam and alpha always; the others where they change anything."""
    usual = asdict(SearchConfig())
    told = {name: value for name, value in asdict(config).items() if name in ("beam", "alpha") or value != usual[name]}
    told.pop("beyond", None)  # a limit, hardly ever met
    return "".join(f"|{name}:{value}" for name, value in told.items())


def _classified(classifier: Classifier, pairs: Pairs, _: How) -> Report:
    began = perf_counter()
    classifier.target.split_all([target for _, target in pairs])  # a label never seen is told before the work
    classifications = classifier.classify([source for source, _ in pairs])
    outputs, references = [answer.label for answer in classifications], [target for _, target in pairs]
    logs = [
        math.log(max(1e-38, one.probabilities[label])) for one, label in zip(classifications, references, strict=True)
    ]
    scores = {
        "accuracy": accuracy(outputs, references),
        "macro_f1": macro_f1(outputs, references),
        "perplexity": Score(
            _exp(-sum(logs) / max(1, len(logs))), f"perplexity|unit:label|labels:{len(classifier.target)}"
        ),
    }
    return Report(scores, len(pairs), perf_counter() - began, classifications=classifications)


def _predicted(writer: Writer, pairs: Pairs, _: How) -> Report:
    began = perf_counter()
    scores = {"perplexity": perplexity(writer, pairs)}
    return Report(scores, len(pairs), perf_counter() - began)


def perplexity(reader: Translator | Writer, pairs: Pairs) -> Score:
    """Exp of the mean cross-entropy a piece; pairs too long for the model count in the signature, not in the value."""
    longest = reader.longest
    held = [
        pair
        for pair, source, target in zip(
            pairs,
            reader.source.split_all([source for source, _ in pairs]),
            reader.target.split_all([target for _, target in pairs]),
            strict=True,
        )
        if max(len(source), len(target)) < longest
    ]
    logs = [value for values in reader.score(held) for value in values]
    unit = f"perplexity|unit:piece|pieces:{len(reader.target)}|eos:yes|prefix:reference"
    unit += f"|models:{len(reader.models)}" if len(reader.models) > 1 else ""
    left_out = f"|left_out:{len(pairs) - len(held)}" if len(held) < len(pairs) else ""
    return Score(_exp(-sum(logs) / max(1, len(logs))) if logs else math.nan, unit + left_out)


def _exp(value: float) -> float:
    """Exp, but of a model gone wild a number that JSON can hold."""
    return math.exp(min(value, 700.0))
