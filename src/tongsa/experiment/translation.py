"""What `tongsa translate` is asked for, as a value: enough to do it here, on another host, or again after a death."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongsa import bundle, files
from tongsa.decoding.bulk import Translated
from tongsa.decoding.translation import Translation
from tongsa.decoding.translator import Fusion, Translator

OWN = "the model's own"


@dataclass(frozen=True, kw_only=True)
class Models:
    run: Path
    ensemble: tuple[Path, ...] = ()
    """Models that vote with it."""
    lm: Path | None = None
    """A language model that has a say."""
    lm_weight: float = 0.0

    def build(self) -> Translator:
        first, *others = (bundle.load(path) for path in (self.run, *self.ensemble))
        fusion = Fusion(bundle.load(self.lm).writer(), self.lm_weight) if self.lm else None
        return first.translator(others, fusion)


@dataclass(frozen=True, kw_only=True)
class Order:
    """Models, how they search, and how a line of the output is written."""

    models: Models
    beam: int | None = None
    alpha: float | None = None
    nbest: int = 1
    json: bool = False

    def build(self) -> Callable[[Sequence[str]], Translated]:
        translator = self.models.build()

        def translate(lines: Sequence[str]) -> Translated:
            results = translator.translate(lines, beam=self.beam, alpha=self.alpha, nbest=self.nbest)
            write = _as_json if self.json else _as_text
            written = [write(source, result) for source, result in zip(lines, results, strict=True)]
            return Translated(written, [at for at, result in enumerate(results) if result.cut])

        translate([""])  # settings that cannot be are told before the first line, not after it
        return translate

    def fingerprint(self) -> dict[str, Any]:
        """What decides the output beside the input; a model's description holds the hashes of all its files."""
        return {
            "model": _digest(self.models.run),
            "ensemble": [_digest(path) for path in self.models.ensemble],
            "lm": _digest(self.models.lm) if self.models.lm else None,
            "lm_weight": self.models.lm_weight if self.models.lm else None,
            "beam": OWN if self.beam is None else self.beam,
            "alpha": OWN if self.alpha is None else self.alpha,
            "nbest": self.nbest,
            "json": self.json,
        }


def _digest(path: Path) -> str:
    return files.digest(bundle.find(path) / "model.toml")


def _as_text(_: str, result: Translation) -> str:
    return "\t".join(one.text for one in _ranked(result))


def _as_json(source: str, result: Translation) -> str:
    nbest = [
        {"text": one.text, "score": one.score, "log_probability": one.total, "pieces": one.pieces}
        for one in _ranked(result)
    ]
    record = {"source": source, "text": result.text, "score": result.score, "cut": result.cut, "nbest": nbest}
    return json.dumps(record, ensure_ascii=False)


def _ranked(result: Translation) -> Iterator[Translation]:
    yield result
    yield from result.alternatives
