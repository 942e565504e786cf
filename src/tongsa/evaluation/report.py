"""What a model scores on a set of pairs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from tongsa.decoding.translator import Translation, Translator
from tongsa.evaluation.metrics import Score, bleu, chrf, exact_match


@dataclass(frozen=True)
class Report:
    scores: dict[str, Score]
    translations: list[Translation]
    seconds: float

    def summary(self) -> str:
        return "  ".join(f"{name} {score.value:.2f}" for name, score in self.scores.items())

    def as_json(self) -> dict[str, object]:
        values: dict[str, object] = {name: round(score.value, 4) for name, score in self.scores.items()}
        return values | {
            "signatures": {name: score.signature for name, score in self.scores.items()},
            "sentences": len(self.translations),
            "seconds": round(self.seconds, 2),
            "cut": sum(translation.cut for translation in self.translations),
        }


def evaluate(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    *,
    tokenise: str = "13a",
    beam: int | None = None,
    alpha: float | None = None,
) -> Report:
    """Translate the sources and compare with the targets; sources and targets are taken as normalised already."""
    began = perf_counter()
    translations = translator.translate([source for source, _ in pairs], beam=beam, alpha=alpha)
    outputs, references = [translation.text for translation in translations], [target for _, target in pairs]
    search = f"|beam:{beam or translator.config.beam}|alpha:{translator.config.alpha if alpha is None else alpha}"
    scores = {
        name: Score(score.value, score.signature + search)
        for name, score in {
            "bleu": bleu(outputs, references, tokenise),
            "chrf": chrf(outputs, references),
            "exact_match": exact_match(outputs, references),
        }.items()
    }
    scores["perplexity"] = perplexity(translator, pairs)
    return Report(scores, translations, perf_counter() - began)


def perplexity(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Score:
    """Exp of the mean cross-entropy a piece; pairs too long for the model count in the signature, not in the value."""
    longest = translator.model.longest
    held = [
        pair
        for pair, source, target in zip(
            pairs,
            translator.source.split_all([source for source, _ in pairs]),
            translator.target.split_all([target for _, target in pairs]),
            strict=True,
        )
        if max(len(source), len(target)) < longest
    ]
    logs = [value for values in translator.score(held) for value in values]
    unit = f"perplexity|unit:piece|pieces:{len(translator.target)}|eos:yes|prefix:reference"
    left_out = f"|left_out:{len(pairs) - len(held)}" if len(held) < len(pairs) else ""
    return Score(math.exp(-sum(logs) / max(1, len(logs))) if logs else math.nan, unit + left_out)
