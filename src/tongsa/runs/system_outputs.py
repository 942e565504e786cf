"""Outputs of a system on a test set, decoded once: those of a model are kept in the folder of its run.

A file `outputs/KEY.json` belongs to one model (checksum of model.toml, which has the checksums of all its files), test
set, decoding settings, requested engine and device. If any of these changes, the model decodes again.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from tongsa import bundle, storage
from tongsa.bounded_files import UnreadableFileError, read_json
from tongsa.decoding.engines.names import EngineName
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.shortlist import SHORTLIST_FILE
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import decoding_signature, teacher_forced_perplexity
from tongsa.runs.systems import AlignedTestSet, Log, System, read_outputs
from tongsa.runs.translate_job import ModelSpec

FOLDER = "outputs"
MAX_OUTPUTS_BYTES = 64 << 20
"""Size of saved outputs: those of a larger test set are decoded again."""
VERSION = 1
"""Increased when a change of tongsa gives other outputs or when the file gets another content."""
LogProbs = list[tuple[float, int]]
"""Sum of the log-probabilities of each reference, and its number of tokens; 0 tokens if it is too long."""


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """How the models of a comparison decode."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of DecodingConfig that replace those of each model."""
    engine: EngineName = "auto"
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class SystemOutputs:
    """Outputs of a system, one for each pair; none for a language model, which is only scored."""

    texts: list[str] = field(default_factory=list)
    log_probs: LogProbs | None = None
    """None for a file of outputs."""
    perplexity_signature: str = ""
    decoding: str = ""
    """Decoding settings, as in the signature of a score."""
    seconds: float | None = None
    """Time of the decoding, when it was done."""
    truncated: int = 0


def system_outputs(system: System, test_set: AlignedTestSet, options: DecodingOptions, log: Log) -> SystemOutputs:
    """Return the outputs of a system: read from its file, from an earlier comparison, or decoded now."""
    if system.origin == "outputs":
        return SystemOutputs(texts=read_outputs(system.path, test_set))
    model_folder = bundle.find_bundle(system.path)
    path = bundle.artifact_folder(model_folder) / FOLDER / f"{_key(model_folder, test_set, options)}.json"
    saved = _load(path, len(test_set.pairs))
    if saved is None and path.exists():
        log(f"{system.name}: {path} is damaged; the outputs are made again")
    if saved is not None:
        log(f"{system.name}: outputs of an earlier comparison, {path}")
        return saved
    try:
        outputs = decode(system, test_set, options, log)
    except InputError as error:
        raise InputError(f"{system.path}: {error}") from None
    log(f"{system.name}: {len(test_set.pairs):,} sentences in {outputs.seconds:.1f} s")
    with suppress(InputError, OSError):  # a read-only folder: decode again next time
        storage.write_text(path, json.dumps(asdict(outputs), ensure_ascii=False))
    return outputs


def _key(model_folder: Path, test_set: AlignedTestSet, options: DecodingOptions) -> str:
    shortlist = bundle.artifact_folder(model_folder) / SHORTLIST_FILE
    parts = {
        "model": storage.folder_file_sha256(model_folder / "model.toml"),
        "shortlist": storage.folder_file_sha256(shortlist) if shortlist.is_file() else "",
        "pairs": [(pair.source, pair.target) for pair in test_set.pairs],
        "decoding": dict(options.settings),
        "engine": options.engine,
        "device": options.device,
        "version": VERSION,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _load(path: Path, count: int) -> SystemOutputs | None:
    """Return saved outputs; None if there are none, or if the file is not complete."""
    try:
        outputs = SystemOutputs(**read_json(path, MAX_OUTPUTS_BYTES))
        rows = [(float(total), int(tokens)) for total, tokens in outputs.log_probs or ()]
        strings = [*outputs.texts, outputs.perplexity_signature, outputs.decoding]
        is_typed = all(isinstance(text, str) for text in strings) and all(math.isfinite(total) for total, _ in rows)
    except (UnreadableFileError, ValueError, TypeError, OverflowError):
        return None
    is_complete = is_typed and len(outputs.texts) in (0, count) and len(outputs.log_probs or ()) == count
    return outputs if is_complete else None


def decode(system: System, test_set: AlignedTestSet, options: DecodingOptions, log: Log) -> SystemOutputs:
    """Decode the sources of a test set with a model, and score the references."""
    pairs = [(pair.source, pair.target) for pair in test_set.pairs]
    text_model = load_text_model(system, options, log)
    started_at = perf_counter()
    if isinstance(text_model, TextClassifier):
        return _classify(text_model, pairs)
    if isinstance(text_model, TextGenerator):
        log_probs, signature = _score(text_model, pairs)
        seconds = perf_counter() - started_at
        return SystemOutputs(log_probs=log_probs, perplexity_signature=signature, seconds=seconds)
    request = DecodeRequest(config=text_model.config_with(options.settings))
    translations = text_model.decode([source for source, _ in pairs], request)
    seconds = perf_counter() - started_at
    log_probs, signature = _score(text_model, pairs)
    return SystemOutputs(
        texts=[translation.text for translation in translations],
        log_probs=log_probs,
        perplexity_signature=signature,
        decoding=decoding_signature(text_model, request.config).strip("|"),
        seconds=seconds,
        truncated=sum(translation.truncated for translation in translations),
    )


def _score(text_model: Translator | TextGenerator, pairs: Sequence[tuple[str, str]]) -> tuple[LogProbs, str]:
    statistics = teacher_forced_perplexity(text_model, pairs)
    return [(total, int(count)) for total, count in statistics.rows.tolist()], statistics.signature


def load_text_model(system: System, options: DecodingOptions, log: Log) -> Translator | TextClassifier | TextGenerator:
    if system.model and system.model.task != "seq2seq":
        if options.settings:
            name = next(iter(options.settings))
            raise InputError(f"decoding.{name}: {system.name} does not translate. Leave it out.")
        return bundle.load_bundle(system.path, options.device).text_model()
    return ModelSpec(run=system.path, engine=options.engine, device=options.device).build(log)


def _classify(classifier: TextClassifier, pairs: Sequence[tuple[str, str]]) -> SystemOutputs:
    classifier.target_tokenizer.encode_all([label for _, label in pairs])  # an unknown label is reported at once
    started_at = perf_counter()
    results = classifier.classify([source for source, _ in pairs])
    labels = [label for _, label in pairs]
    probabilities = [result.probabilities[label] for result, label in zip(results, labels, strict=True)]
    return SystemOutputs(
        texts=[result.label for result in results],
        log_probs=[(math.log(max(1e-38, probability)), 1) for probability in probabilities],
        perplexity_signature=f"perplexity|unit:label|labels:{len(classifier.target_tokenizer)}",
        seconds=perf_counter() - started_at,
        truncated=sum(result.truncated for result in results),
    )
