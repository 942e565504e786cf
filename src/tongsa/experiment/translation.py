"""What `tongsa translate` is asked for, as a value: enough to do it here, on another host, or again after a death."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tongsa import bundle, files
from tongsa.decoding.bulk import Translated
from tongsa.decoding.consensus import agreed
from tongsa.decoding.engine import EngineName
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.terminology import Glossary
from tongsa.decoding.translation import Translation
from tongsa.decoding.translator import MOST_DRAWN, Fusion, Translator
from tongsa.errors import InputError

Work = Callable[[Sequence[str], int], Translated]
"""From some lines, and how many stand before them, to what becomes of them."""
Write = Callable[[str, Translation], str]
"""From a source and its translation to a line of the output."""


@dataclass(frozen=True, kw_only=True)
class Models:
    run: Path
    ensemble: tuple[Path, ...] = ()
    """Models that vote with it."""
    lm: Path | None = None
    """A language model that has a say."""
    lm_weight: float = 0.0
    engine: EngineName = "auto"

    @property
    def searched_by(self) -> str:
        """Which engine that is, here and now."""
        alone = not (self.ensemble or self.lm)
        return "ctranslate2" if alone and bundle.exported(bundle.find(self.run), self.engine) else "torch"

    def build(self) -> Translator:
        first, *others = (bundle.load(path) for path in (self.run, *self.ensemble))
        fusion = Fusion(bundle.load(self.lm).writer(), self.lm_weight) if self.lm else None
        return first.translator(others, fusion, self.engine)


@dataclass(frozen=True, kw_only=True)
class Order:
    """Models, how they search, and how a line of the output is written."""

    models: Models
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the search, where they differ from the model's own."""
    nbest: int = 1
    prefix: str = ""
    """How every output begins."""
    terms: Path | None = None
    """A glossary: what must be translated in a given way, or copied."""
    sampling: SamplingConfig | None = None
    """Outputs are drawn, not searched for."""
    consensus: int = 0
    """Of so many draws the one that agrees best with all."""
    json: bool = False
    alignments: bool = False
    """Which word came from which, as `i-j`: source and target, counted from 0."""

    def build(self, write: Write | None = None) -> Work:
        """`write` says what a line of the output is, where that is neither text nor a record of everything."""
        translate = self._translate(self.models.build())
        write = write or partial(_as_json if self.json else _as_text, alignments=self.alignments)

        def translated(lines: Sequence[str], first: int) -> Translated:
            results = translate(lines, first)
            pairs = zip(lines, results, strict=True)
            written = [write(source, result) for source, result in pairs]
            return Translated(written, [at for at, result in enumerate(results) if result.cut])

        translated([""], 0)  # settings that cannot be are told before the first line, not after it
        return translated

    def _translate(self, translator: Translator) -> Callable[[Sequence[str], int], list[Translation]]:
        if self.consensus:
            if not 1 <= self.consensus <= MOST_DRAWN:
                raise InputError(f"--mbr {self.consensus}: draw between 1 and {MOST_DRAWN}")
            if self.settings or self.terms or self.prefix or self.nbest > 1:
                raise InputError("--mbr chooses among draws: it goes with --sample alone")
            return lambda lines, first: agreed(translator, lines, samples=self.consensus, sampling=self._drawing(first))
        glossary = Glossary.read(self.terms) if self.terms else None

        def translate(lines: Sequence[str], first: int) -> list[Translation]:
            return translator.translate(
                lines,
                nbest=self.nbest,
                prefixes=[self.prefix] * len(lines) if self.prefix else (),
                glossary=glossary,
                sampling=self._drawing(first),
                **self.settings,
            )

        return translate

    def _drawing(self, first: int) -> SamplingConfig | None:
        """With a seed of their own for the lines from here on: no two chunks draw alike; a job that goes on does."""
        if self.sampling is None or not first:
            return self.sampling
        own = hashlib.sha256(f"{self.sampling.seed} {first}".encode()).digest()
        return replace(self.sampling, seed=int.from_bytes(own[:7]))

    def fingerprint(self) -> dict[str, Any]:
        """What decides the output beside the input; a model's description holds the hashes of all its files."""
        return {
            "model": _digest(self.models.run),
            "ensemble": [_digest(path) for path in self.models.ensemble],
            "lm": _digest(self.models.lm) if self.models.lm else None,
            "lm_weight": self.models.lm_weight if self.models.lm else None,
            "engine": self.models.searched_by,
            **self.settings,
            "nbest": self.nbest,
            "prefix": self.prefix,
            "terms": files.digest(self.terms) if self.terms else None,
            "sampling": asdict(self.sampling) if self.sampling else None,
            "consensus": self.consensus,
            "json": self.json,
            "alignments": self.alignments,
        }


def _digest(path: Path) -> str:
    return files.digest(bundle.find(path) / "model.toml")


def _as_text(_: str, result: Translation, *, alignments: bool) -> str:
    ranked = [*_ranked(result)]
    return "\t".join(cell for one in ranked for cell in (one.text, *([_pharaoh(one)] if alignments else [])))


def _as_json(source: str, result: Translation, *, alignments: bool) -> str:
    nbest = [
        {"text": one.text, "score": one.score, "log_probability": one.total, "pieces": one.pieces, "logs": one.logs}
        | ({"alignment": _pharaoh(one)} if alignments else {})
        for one in _ranked(result)
    ]
    record = {"source": source, "text": result.text, "score": result.score, "cut": result.cut, "nbest": nbest}
    if result.terms:
        record["terms"] = [one.record | {"there": one.there} for one in result.terms]
    return json.dumps(record, ensure_ascii=False)


def _pharaoh(one: Translation) -> str:
    return " ".join(f"{source}-{target}" for source, target in one.links)


def _ranked(result: Translation) -> Iterator[Translation]:
    yield result
    yield from result.alternatives
