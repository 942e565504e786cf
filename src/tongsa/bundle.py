"""Bundle: a trained model as a folder with model.toml, weights.safetensors, tokenizer.model and card.md. No pickle."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save as save_safetensors

from tongsa import config as settings
from tongsa import storage, tensor_file
from tongsa.bounded_files import MAX_PROFILE_BYTES, MAX_SHORTLIST_BYTES, UnreadableFileError
from tongsa.bundle_description import (
    DESCRIPTION_FILE,
    FORMAT_VERSION,
    LABELS_FILE,
    LOAD_REMEDY,
    PROFILE_FILE,
    TARGET_TOKENIZER_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    BundleError,
    count_layers,
    read_description,
    read_files,
)
from tongsa.data.model_summary import ModelSummary
from tongsa.data.training_profile import TrainingProfile
from tongsa.decoding import shortlist
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines.engine import Engine
from tongsa.decoding.generator import ShallowFusion, TextGenerator
from tongsa.decoding.shortlist import Shortlist, missing_shortlist
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.text_model import ModelDescription
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, ModelConfig, Task, named_tensors
from tongsa.models.own_kind import find_kind, is_own_kind
from tongsa.program import format_command
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer

TASK_COMMAND_HINTS: dict[Task, str] = {
    "seq2seq": "this model translates: use tongsa translate, evaluate, score or view",
    "classification": "this model gives labels: use tongsa classify, evaluate, score or view",
    "language_model": "this is a language model: use tongsa sample, score, evaluate or view",
}


MAX_REPLACEMENTS_DURING_LOAD = 100
"""A load begins again this many times if the model is replaced meanwhile; then an error is final."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A trained model with its tokenizers and settings."""

    kind: str
    """Kind of model: a key of KINDS, or package.module:Config."""
    config: ModelConfig
    model: EncoderDecoder
    source_tokenizer: SubwordTokenizer
    target_tokenizer: Tokenizer
    decoding: DecodingConfig
    source_language: str = ""
    target_language: str = ""
    metrics: tuple[str, ...] = ()
    """Default metrics for evaluation."""
    profile: TrainingProfile | None = None
    """Profile of the training data; models of older versions have none."""
    term_replacement: bool = False
    """Trained on sources with replaced terms (data.term_replacement): glossary terms are replaced in the source."""
    summary: ModelSummary = field(default_factory=ModelSummary)
    """Summary of the training data: examples, control tags, number of pairs, score."""
    folder: Path | None = None
    """Folder that the bundle was loaded from."""
    weights_sha256: str = ""
    """SHA-256 of the weights that were loaded; empty for a model that is only in memory."""

    @property
    def info(self) -> ModelDescription:
        return ModelDescription(
            kind=self.kind,
            source_language=self.source_language,
            target_language=self.target_language,
            metrics=self.metrics,
            folder=self.folder,
        )

    def translator(
        self, ensemble: Sequence["Bundle"] = (), fusion: ShallowFusion | None = None, engine: Engine | None = None
    ) -> Translator:
        """Return a translator for this model; optionally an ensemble with other models, or with shallow fusion.

        `engine` searches instead of torch where it can; export/ctranslate2_cache.py loads it.
        """
        self._require_task("seq2seq")
        for other in ensemble:
            self._require_same_tokenizers(other)
        models = [other.model for other in ensemble]
        load_shortlist = partial(self._read_shortlist, self.folder) if self.folder else missing_shortlist
        return Translator(
            self.model,
            self.source_tokenizer,
            self.target_tokenizer,
            self.decoding,
            ensemble=models,
            fusion=fusion,
            engine=engine,
            load_shortlist=load_shortlist,
            source_language=self.source_language,
            profile=self.profile,
            term_replacement=all(bundle.term_replacement for bundle in (self, *ensemble)),
            info=self.info,
        )

    def _read_shortlist(self, folder: Path) -> Shortlist:
        return shortlist.load_shortlist(
            artifact_folder(folder) / shortlist.SHORTLIST_FILE, self.source_tokenizer, self.target_tokenizer
        )

    def load_shortlist(self) -> Shortlist | None:
        """Return the vocabulary shortlist of this model, if one was built."""
        return self._read_shortlist(self.folder) if self.folder and self.shortlist_sha256 else None

    @property
    def shortlist_sha256(self) -> str:
        """SHA-256 of the shortlist; empty without one."""
        path = artifact_folder(self.folder) / shortlist.SHORTLIST_FILE if self.folder else None
        return storage.folder_file_sha256(path, MAX_SHORTLIST_BYTES) if path and path.is_file() else ""

    def classifier(self) -> TextClassifier:
        self._require_task("classification")
        return TextClassifier(
            self.model, self.source_tokenizer, self.target_tokenizer, profile=self.profile, info=self.info
        )

    def generator(self) -> TextGenerator:
        self._require_task("language_model")
        return TextGenerator(self.model, self.source_tokenizer, self.target_tokenizer, info=self.info)

    def text_model(self) -> Translator | TextClassifier | TextGenerator:
        """Return the translator, classifier or generator, by the model's task."""
        builders: dict[Task, Callable[[], Translator | TextClassifier | TextGenerator]]
        builders = {"seq2seq": self.translator, "classification": self.classifier, "language_model": self.generator}
        return builders[self.config.task]()

    def _require_task(self, task: Task) -> None:
        if self.config.task != task:
            raise InputError(
                f"{artifact_folder(self.folder) if self.folder else self.kind}: {TASK_COMMAND_HINTS[self.config.task]}"
            )

    def _require_same_tokenizers(self, other: "Bundle") -> None:
        """Raise InputError unless both models have the same vocabularies: an ensemble averages over tokens."""
        source, target = self.source_tokenizer, self.target_tokenizer
        if (
            other.source_tokenizer.model_bytes != source.model_bytes
            or other.target_tokenizer.model_bytes != target.model_bytes
        ):
            first, second = (
                artifact_folder(bundle.folder) if bundle.folder else bundle.kind for bundle in (self, other)
            )
            flags = f"--set tokenizer.reuse_from={first}"
            flags += " --set tokenizer.shared=false" if target is not source else ""
            flags += " --set tokenizer.jamo=true" if source.jamo else ""
            raise InputError(
                f"{second}: its tokenizer differs from that of {first}; models of an ensemble need the same tokenizer. "
                f"Train it again with {flags}"
            )


def artifact_folder(folder: Path) -> Path:
    """Return the folder of files that belong to a bundle (exports, shortlist): its run, or the bundle itself."""
    return folder.parent if folder.name == "model" else folder


def save_bundle(path: Path, bundle: Bundle, card: str, tensors: dict[str, torch.Tensor] | None = None) -> None:
    """Write a bundle, atomically, over an older one. `tensors` replace the model's weights, if given.

    Other processes may load the older one meanwhile.
    """
    values = tensors if tensors is not None else named_tensors(bundle.model)
    content = {
        WEIGHTS_FILE: save_safetensors({name: value.detach().contiguous().cpu() for name, value in values.items()}),
        TOKENIZER_FILE: bundle.source_tokenizer.model_bytes,
    }
    if bundle.target_tokenizer is not bundle.source_tokenizer:
        content[LABELS_FILE if bundle.config.task == "classification" else TARGET_TOKENIZER_FILE] = (
            bundle.target_tokenizer.model_bytes
        )
    if bundle.profile is not None and len(profile := bundle.profile.to_bytes()) <= MAX_PROFILE_BYTES:
        content[PROFILE_FILE] = profile  # a larger one could not be read again; a model works without one
    description: dict[str, Any] = {
        "format": FORMAT_VERSION,
        "kind": bundle.kind,
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "jamo": bundle.source_tokenizer.jamo,
        "metrics": list(bundle.metrics),
        "term_replacement": bundle.term_replacement,
        "summary": settings.to_table(bundle.summary),
        "model": settings.to_table(bundle.config),
        "decoding": settings.to_table(bundle.decoding),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    content["model.toml"] = settings.dump_toml(description).encode("utf-8")
    content["card.md"] = card.encode("utf-8")
    with storage.lock_replacement(path), storage.replace_folder(path) as folder:
        for name, data in content.items():
            (folder / name).write_bytes(data)


def find_bundle(path: Path) -> Path:
    """Return the folder of the bundle, given the folder of a run or of the bundle."""
    try:
        storage.wait_for_replacement(path / "model")
        for folder in (path / "model", path):
            if (folder / "model.toml").is_file():
                return folder
        exists = path.exists()
    except OSError as error:  # for example a text instead of a path: the file name is too long
        raise BundleError(f"{path}: {error.strerror}. Give the folder of a run or of a model.") from None
    if not exists:
        raise BundleError(f"{path}: no such folder. Give the folder of a run or of a model.")
    if (path / "run.toml").is_file():
        raise BundleError(
            f"{path}: this run has no model yet. Resume it: {format_command('train --resume {}', path)} "
            f"(if its model was deleted, first restore {path / 'model'} or remove {path / 'checkpoints'})"
        )
    raise BundleError(f"{path}: no model here (no model.toml). Give the folder of a run or of a model.")


def load_bundle(path: Path, device: str = "cpu", *, own_kinds: bool = True) -> Bundle:
    """Load a model. One of the user's own kind imports the module of that kind; `own_kinds=False` refuses to.

    Its parameters are frozen, so that products may read copies of them (nn/packed_linear.py); to train it, call
    `bundle.model.requires_grad_()`.

    Nothing in the folder is believed: settings have ranges, files have checksums, and the names, shapes and dtypes of
    the weights are compared with the settings before memory is taken.

    The folder may be replaced meanwhile: if files of two models were read, the new one is loaded.
    """
    for _ in range(MAX_REPLACEMENTS_DURING_LOAD):
        before = _folder_version(path)
        try:
            return _load(find_bundle(path), device, own_kinds=own_kinds)
        except InputError:
            if _folder_version(path) == before:
                raise
    return _load(find_bundle(path), device, own_kinds=own_kinds)


def _folder_version(path: Path) -> list[tuple[int, int] | None]:
    """Return values that change when a bundle is replaced: the identity and age of its folder and of model.toml."""
    versions: list[tuple[int, int] | None] = []
    for part in (path / "model", path / "model" / DESCRIPTION_FILE, path, path / DESCRIPTION_FILE):
        try:
            status = part.stat()
            versions.append((status.st_ino, status.st_ctime_ns))
        except (OSError, ValueError):
            versions.append(None)
    return versions


def _load(folder: Path, device: str, *, own_kinds: bool) -> Bundle:
    description = read_description(folder)
    config_class = _find_kind(description.kind, folder, own_kinds=own_kinds)
    try:
        with tensor_file.open_tensors(folder / WEIGHTS_FILE) as weights:  # opened before the model may be replaced
            data, sha256 = read_files(folder, description), description.sha256[WEIGHTS_FILE]
            config = settings.build_config(config_class, description.model, "model")
            source, target = _read_tokenizers(folder, data, jamo=description.jamo)
            model = tensor_file.load_model(
                weights,
                sha256,
                lambda: config.build(len(source), len(target)),
                min_tensors=count_layers(config),
                is_own_kind=is_own_kind(description.kind),
            )
        profile = None
        if PROFILE_FILE in data:
            profile = TrainingProfile.from_bytes(data[PROFILE_FILE], description.source_language)
    except UnreadableFileError:
        raise
    except (InputError, KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise BundleError(f"{folder}: damaged ({error}). {LOAD_REMEDY}") from None
    return Bundle(
        kind=description.kind,
        config=config,
        model=model.to(device).eval().requires_grad_(requires_grad=False),
        source_tokenizer=source,
        target_tokenizer=target,
        decoding=description.decoding,
        source_language=description.source_language,
        target_language=description.target_language,
        metrics=description.metrics,
        profile=profile,
        term_replacement=description.term_replacement,
        summary=description.summary,
        folder=folder,
        weights_sha256=sha256,
    )


def _read_tokenizers(folder: Path, data: Mapping[str, bytes], *, jamo: bool) -> tuple[SubwordTokenizer, Tokenizer]:
    """Return the tokenizers of source and target, or one for both; raise BundleError with the path of a damaged one."""
    readers: dict[str, Callable[[bytes], Tokenizer]]
    readers = {
        LABELS_FILE: LabelTokenizer.from_bytes,
        TARGET_TOKENIZER_FILE: lambda content: SubwordTokenizer(content, jamo),
    }
    name = TOKENIZER_FILE
    try:
        source = SubwordTokenizer(data[name], jamo)
        for name, read in readers.items():
            if name in data:
                return source, read(data[name])
    except (InputError, ValueError) as error:
        raise BundleError(f"{folder / name}: damaged ({error}). {LOAD_REMEDY}") from None
    return source, source


def _find_kind(kind: str, folder: Path, *, own_kinds: bool) -> type[ModelConfig]:
    """Return the settings class of a kind; no code is imported from the folder of the model or of its run."""
    if is_own_kind(kind) and not own_kinds:
        raise BundleError(
            f"{folder / 'model.toml'}: kind {kind!r} is code outside tongsa. To let the server execute it, "
            "add --set own_kinds=true"
        )
    parent = folder.resolve().parent
    try:
        return find_kind(kind, parent if (parent / "run.toml").exists() else folder)
    except settings.ConfigError as error:
        raise BundleError(f"{folder / 'model.toml'}: {error}") from None
