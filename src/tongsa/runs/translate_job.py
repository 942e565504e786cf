"""What `tongsa translate` is asked for, as a value: enough to do it here, on another host, or again after a death."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tongsa import bundle, storage
from tongsa.decoding.engines.engine import EngineName
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.mbr import mbr_decode
from tongsa.decoding.results import Translation
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import MAX_SAMPLES_PER_TEXT, ShallowFusion, Translator
from tongsa.errors import InputError
from tongsa.runs.translate_file import TranslatedChunk

LineTranslator = Callable[[Sequence[str], int], TranslatedChunk]
"""From some lines, and how many stand before them, to what becomes of them."""
LineFormatter = Callable[[str, Translation], str]
"""From a source and its translation to a line of the output."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    run: Path
    ensemble: tuple[Path, ...] = ()
    """Models that vote with it."""
    lm: Path | None = None
    """A language model that has a say."""
    lm_weight: float = 0.0
    engine: EngineName = "auto"

    @property
    def resolved_engine(self) -> str:
        """Which engine that is, here and now."""
        alone = not (self.ensemble or self.lm)
        return (
            "ctranslate2" if alone and bundle.ctranslate2_folder(bundle.find_bundle(self.run), self.engine) else "torch"
        )

    def build(self) -> Translator:
        first, *others = (bundle.load_bundle(path) for path in (self.run, *self.ensemble))
        fusion = ShallowFusion(bundle.load_bundle(self.lm).generator(), self.lm_weight) if self.lm else None
        return first.translator(others, fusion, self.engine)


@dataclass(frozen=True, kw_only=True)
class TranslateJobConfig:
    """Models, how they search, and how a line of the output is written."""

    models: ModelSpec
    decoding_overrides: Mapping[str, Any] = field(default_factory=dict)
    """Of the search, where they differ from the model's own."""
    nbest: int = 1
    prefix: str = ""
    """How every output begins."""
    glossary: Path | None = None
    """A glossary: what must be translated in a given way, or copied."""
    sampling: SamplingConfig | None = None
    """Outputs are drawn, not searched for."""
    mbr_samples: int = 0
    """Of so many draws the one that agrees best with all."""
    as_json: bool = False
    alignments: bool = False
    """Which word came from which, as `i-j`: source and target, counted from 0."""

    def build(self, format_line: LineFormatter | None = None) -> LineTranslator:
        """`write` says what a line of the output is, where that is neither text nor a record of everything."""
        translate = self._make_translate(self.models.build())
        format_line = format_line or partial(_format_json if self.as_json else _format_text, alignments=self.alignments)

        def translated(lines: Sequence[str], first: int) -> TranslatedChunk:
            results = translate(lines, first)
            pairs = zip(lines, results, strict=True)
            written = [format_line(source, result) for source, result in pairs]
            return TranslatedChunk(written, [at for at, result in enumerate(results) if result.truncated])

        translated([""], 0)  # settings that cannot be are told before the first line, not after it
        return translated

    def _make_translate(self, translator: Translator) -> Callable[[Sequence[str], int], list[Translation]]:
        if self.mbr_samples:
            if not 1 <= self.mbr_samples <= MAX_SAMPLES_PER_TEXT:
                raise InputError(f"--mbr {self.mbr_samples}: draw between 1 and {MAX_SAMPLES_PER_TEXT}")
            if self.decoding_overrides or self.glossary or self.prefix or self.nbest > 1:
                raise InputError("--mbr chooses among draws: it goes with --sample alone")
            return lambda lines, first: mbr_decode(
                translator, lines, num_samples=self.mbr_samples, sampling=self._sampling_config(first)
            )
        glossary = Glossary.read(self.glossary) if self.glossary else None

        def translate(lines: Sequence[str], first: int) -> list[Translation]:
            return translator.translate(
                lines,
                nbest=self.nbest,
                prefixes=[self.prefix] * len(lines) if self.prefix else (),
                glossary=glossary,
                sampling=self._sampling_config(first),
                **self.decoding_overrides,
            )

        return translate

    def _sampling_config(self, first_line: int) -> SamplingConfig | None:
        """With a seed of their own for the lines from here on: no two chunks draw alike; a job that goes on does."""
        if self.sampling is None or not first_line:
            return self.sampling
        own = hashlib.sha256(f"{self.sampling.seed} {first_line}".encode()).digest()
        return replace(self.sampling, seed=int.from_bytes(own[:7]))

    def fingerprint(self) -> dict[str, Any]:
        """What decides the output beside the input; a model's description holds the hashes of all its files."""
        return {
            "model": _model_sha256(self.models.run),
            "ensemble": [_model_sha256(path) for path in self.models.ensemble],
            "lm": _model_sha256(self.models.lm) if self.models.lm else None,
            "lm_weight": self.models.lm_weight if self.models.lm else None,
            "engine": self.models.resolved_engine,
            **self.decoding_overrides,
            "nbest": self.nbest,
            "prefix": self.prefix,
            "terms": storage.file_sha256(self.glossary) if self.glossary else None,
            "sampling": asdict(self.sampling) if self.sampling else None,
            "consensus": self.mbr_samples,
            "json": self.as_json,
            "alignments": self.alignments,
        }


def _model_sha256(path: Path) -> str:
    return storage.file_sha256(bundle.find_bundle(path) / "model.toml")


def _format_text(_: str, translation: Translation, *, alignments: bool) -> str:
    ranked = [*_nbest(translation)]
    return "\t".join(cell for one in ranked for cell in (one.text, *([_pharaoh_alignment(one)] if alignments else [])))


def _format_json(source: str, translation: Translation, *, alignments: bool) -> str:
    nbest = [
        {
            "text": one.text,
            "score": one.score,
            "log_probability": one.log_prob,
            "pieces": one.tokens,
            "logs": one.token_log_probs,
        }
        | ({"alignment": _pharaoh_alignment(one)} if alignments else {})
        for one in _nbest(translation)
    ]
    record = {
        "source": source,
        "text": translation.text,
        "score": translation.score,
        "cut": translation.truncated,
        "nbest": nbest,
    }
    if translation.terms:
        record["terms"] = [one.record | {"there": one.satisfied} for one in translation.terms]
    return json.dumps(record, ensure_ascii=False)


def _pharaoh_alignment(translation: Translation) -> str:
    return " ".join(f"{source}-{target}" for source, target in translation.word_alignment)


def _nbest(translation: Translation) -> Iterator[Translation]:
    yield translation
    yield from translation.alternatives
