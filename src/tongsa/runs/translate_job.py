"""A translation job: models, request and output format. A value that can be sent to another host and built there."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tongsa import bundle, storage
from tongsa.decoding.documents import DocumentError
from tongsa.decoding.engines.names import EngineName
from tongsa.decoding.generator import ShallowFusion
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.mbr import mbr_decode
from tongsa.decoding.request import MAX_SAMPLES_PER_TEXT, DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.text_model import check_model_tag
from tongsa.decoding.training_comparison import input_remarks
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.export.ctranslate2_cache import Log, check_engine_name, load_engine
from tongsa.runs.translate_file import TranslatedChunk

_LINE_BREAK = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
LineFormatter = Callable[[str, Translation], str]
"""From a source and its translation to a line of the output."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """Folders of the models of a job, and the engine."""

    run: Path
    ensemble: tuple[Path, ...] = ()
    """Models whose probabilities are averaged with those of `run`."""
    lm: Path | None = None
    """A language model for shallow fusion."""
    lm_weight: float = 0.0
    engine: EngineName = "auto"
    device: str = "cpu"
    """Device of the models; CTranslate2 exports run on the CPU."""

    def build(self, log: Log) -> Translator:
        """Load the models. `log` gets a line if the model is converted for the engine, or cannot be."""
        check_engine_name(self.engine)
        is_single = not (self.ensemble or self.lm)
        if not is_single and self.engine not in ("auto", "torch"):
            raise InputError(
                f"engine {self.engine}: this engine runs a single model. Leave out the ensemble and the language "
                "model, or use --engine torch."
            )
        first, *others = (bundle.load_bundle(path, self.device) for path in (self.run, *self.ensemble))
        lm = bundle.load_bundle(self.lm, self.device) if self.lm else None
        fusion = ShallowFusion(lm.generator(), self.lm_weight) if lm else None
        uses_torch = not is_single or (self.engine == "auto" and self.device != "cpu")
        return first.translator(others, fusion, None if uses_torch else load_engine(first, self.engine, log))


@dataclass(frozen=True, kw_only=True)
class TranslateJobConfig:
    """Everything that determines the output of a job, apart from its input."""

    models: ModelSpec
    decoding_overrides: Mapping[str, Any] = field(default_factory=dict)
    """Fields of DecodingConfig that replace the model's own."""
    nbest: int = 1
    prefix: str = ""
    """Forced beginning of every output."""
    tag: str = ""
    """Tag before every line, such as <2ko>."""
    glossary: Path | None = None
    """File of terms that must be translated in a given way, or copied."""
    sampling: SamplingConfig | None = None
    """Sample outputs instead of beam search."""
    mbr_samples: int = 0
    """Number of samples for minimum Bayes risk decoding; 0 switches it off."""
    as_json: bool = False
    alignments: bool = False
    """Write word alignments as `i-j`: source word and target word, counted from 0."""

    def build(self, log: Log, format_line: LineFormatter | None = None) -> "LineTranslator":
        """Load the models and return the function that translates lines; `format_line` replaces text and JSON."""
        translator = self.models.build(log)
        format_line = format_line or partial(_format_json if self.as_json else _format_text, alignments=self.alignments)
        return LineTranslator(self, translator, self.request(translator), format_line)

    def request(self, translator: Translator) -> DecodeRequest:
        """Return the request of the job; wrong settings raise an error before the first line is read."""
        check_model_tag(translator, self.tag)
        if self.mbr_samples:
            if not 1 <= self.mbr_samples <= MAX_SAMPLES_PER_TEXT:
                raise InputError(f"--mbr {self.mbr_samples}: out of range. Give 1 to {MAX_SAMPLES_PER_TEXT}.")
            if self.decoding_overrides.keys() - {"split_sentences"} or self.glossary or self.prefix or self.nbest > 1:
                raise InputError(
                    "--mbr: not with beam search settings. "
                    "Leave out --beam, --alpha, --nbest, --prefix, --glossary and --set decoding."
                )
            sampling = self.sampling or SamplingConfig()
            config = translator.config_with(self.decoding_overrides)
            return DecodeRequest(config=config, nbest=self.mbr_samples, sampling=sampling)
        return DecodeRequest(
            config=translator.config_with(self.decoding_overrides),
            nbest=self.nbest,
            glossary=Glossary.read(self.glossary) if self.glossary else None,
            sampling=self.sampling,
        )

    def sampling_at(self, first_line: int) -> SamplingConfig | None:
        """Return the sampling settings with a seed that depends on the position in the input.

        So chunks draw different samples, and a resumed job draws the same samples as an uninterrupted one.
        """
        if self.sampling is None or not first_line:
            return self.sampling
        digest = hashlib.sha256(f"{self.sampling.seed} {first_line}".encode()).digest()
        return replace(self.sampling, seed=int.from_bytes(digest[:7]))


@dataclass(frozen=True)
class LineTranslator:
    """A job with its models in memory: a function that translates lines."""

    job: TranslateJobConfig
    translator: Translator
    request: DecodeRequest
    format_line: LineFormatter

    def __call__(self, lines: Sequence[str], first_line: int) -> TranslatedChunk:
        """Translate lines; `first_line` is the number of lines before them in the input."""
        try:
            translations = self._translate(lines, first_line)
        except DocumentError as error:
            raise InputError(f"line {first_line + error.index + 1:,}: {error.reason}") from None
        output = [self.format_line(line, translation) for line, translation in zip(lines, translations, strict=True)]
        remarks = [(i, remark) for i, translation in enumerate(translations) for remark in _remarks(translation)]
        truncated = [i for i, translation in enumerate(translations) if translation.truncated]
        return TranslatedChunk(output, truncated, remarks)

    def _translate(self, lines: Sequence[str], first_line: int) -> list[Translation]:
        job, sampling = self.job, self.job.sampling_at(first_line)
        lines = [f"{job.tag} {line}" if line.strip() else line for line in lines] if job.tag else lines
        if job.mbr_samples:
            return mbr_decode(
                self.translator, lines, num_samples=job.mbr_samples, sampling=sampling, config=self.request.config
            )
        prefixes = [job.prefix] * len(lines) if job.prefix else ()
        return self.translator.decode(lines, replace(self.request, prefixes=prefixes, sampling=sampling))

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that determines the output. The hash of model.toml covers the hashes of a model's files."""
        job, models = self.job, self.job.models
        return {
            "model": _model_sha256(models.run),
            "ensemble": [_model_sha256(path) for path in models.ensemble],
            "lm": _model_sha256(models.lm) if models.lm else None,
            "lm_weight": models.lm_weight if models.lm else None,
            "engine": self.translator.engine_name,
            **{f"decoding.{name}": value for name, value in job.decoding_overrides.items()},
            "nbest": job.nbest,
            "prefix": job.prefix,
            **({"tag": job.tag} if job.tag else {}),
            "glossary": storage.file_sha256(job.glossary) if job.glossary else None,
            "sampling": asdict(job.sampling) if job.sampling else None,
            "mbr_samples": job.mbr_samples,
            "json": job.as_json,
            "alignments": job.alignments,
        }


def _model_sha256(path: Path) -> str:
    return storage.folder_file_sha256(bundle.find_bundle(path) / "model.toml")


def _remarks(translation: Translation) -> Iterator[str]:
    """Yield the remarks about an input and its translation: one line about the input, one for each term left out."""
    for term in translation.terms:
        if term.skipped_reason:
            yield f"term left out: {term.term.source} → {term.text}: {term.skipped_reason}"
    remarks = [*input_remarks(translation)]
    if any(sentence.is_empty for sentence in translation.sentences):
        remarks.append("empty translation")
    elif translation.low_score:
        remarks.append("low score")
    if remarks:
        yield "; ".join(remarks)


def _format_text(_: str, translation: Translation, *, alignments: bool) -> str:
    """Return the output on one line, without surrounding white space.

    The white space between its sentences is that of the source, which may have tabs and line separators.
    """
    cells = []
    for hypothesis in translation.nbest:
        cells.append(_LINE_BREAK.sub(" ", hypothesis.text.strip()))
        if alignments:
            cells.append(_pharaoh_alignment(hypothesis))
    return "\t".join(cell.replace("\t", " ") for cell in cells) if len(cells) > 1 else cells[0]


def _format_json(source: str, translation: Translation, *, alignments: bool) -> str:
    record = {"source": source} | translation.record
    if alignments:
        for hypothesis, hypothesis_record in zip(translation.nbest, record["nbest"], strict=True):
            hypothesis_record["alignment"] = _pharaoh_alignment(hypothesis)
    return json.dumps(record, ensure_ascii=False)


def _pharaoh_alignment(translation: Translation) -> str:
    return " ".join(f"{source}-{target}" for source, target in translation.word_alignment)
