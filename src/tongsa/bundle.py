"""A model on disk: model.toml, weights.safetensors, pieces.model, card.md. Never pickle."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from tongsa import config as settings
from tongsa import files
from tongsa.decoding import shortlist
from tongsa.decoding.classifier import Classifier
from tongsa.decoding.ctranslate2_engine import CTranslate2Engine, note, usable
from tongsa.decoding.engine import Engine, EngineName
from tongsa.decoding.search import SearchConfig
from tongsa.decoding.shortlist import Shortlist
from tongsa.decoding.translator import Fusion, Translator, nowhere
from tongsa.decoding.writer import Writer
from tongsa.errors import InputError
from tongsa.interface import Config, EncoderDecoder, Task, put, weights
from tongsa.models import KINDS
from tongsa.text import Labels, Pieces, Vocabulary

LABELS, TARGET = "labels.json", "target-pieces.model"
FORMAT = 1
"""Raised when an older tongsa could not read what a newer one writes."""


CAN: dict[Task, str] = {
    "pairs": "this model translates: use tongsa translate, evaluate, score or view",
    "labels": "this model gives labels: use tongsa classify, evaluate, score or view",
    "text": "this is a language model: use tongsa sample, score, evaluate or view",
}


class BundleError(InputError):
    """A folder that is no model, or not any more."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    kind: str
    config: Config
    model: EncoderDecoder
    source: Pieces
    target: Vocabulary
    decoding: SearchConfig
    source_language: str = ""
    target_language: str = ""
    scores: tuple[str, ...] = ()
    """What its outputs are compared by when nothing else is asked for."""
    folder: Path | None = None
    """Where it was loaded from."""

    def translator(
        self, others: Sequence["Bundle"] = (), fusion: Fusion | None = None, engine: EngineName = "auto"
    ) -> Translator:
        """Alone, or the first of an ensemble."""
        self._must_have_learnt("pairs")
        for other in others:
            if (other.source.model, other.target.model) != (self.source.model, self.target.model):
                raise InputError("models with other pieces cannot vote together: train them on the same data")
        models = [other.model for other in others]
        engine_beside = self._engine(engine) if not (others or fusion) else None
        if engine == "ctranslate2" and not engine_beside:
            raise InputError("--engine ctranslate2 runs one model alone: leave out the ensemble and the language model")
        listed = partial(self._shortlist, self.folder) if self.folder else nowhere
        return Translator(
            self.model,
            self.source,
            self.target,
            self.decoding,
            others=models,
            fusion=fusion,
            engine=engine_beside,
            shortlist=listed,
        )

    def _shortlist(self, folder: Path) -> Shortlist:
        return shortlist.read(beside(folder) / shortlist.NAME, self.source, self.target)

    def listed(self) -> Shortlist | None:
        """The list of likely pieces beside the model, if there is one."""
        return self._shortlist(self.folder) if self.folder and self.list_digest else None

    @property
    def list_digest(self) -> str:
        """The sha256 of that list; empty where there is none."""
        place = beside(self.folder) / shortlist.NAME if self.folder else None
        return files.digest(place) if place and place.is_file() else ""

    def _engine(self, name: EngineName) -> Engine | None:
        place = exported(self.folder, name) if self.folder else None
        return CTranslate2Engine(place, torch.get_num_threads(), self.list_digest) if place else None

    def classifier(self) -> Classifier:
        self._must_have_learnt("labels")
        return Classifier(self.model, self.source, self.target)

    def writer(self) -> Writer:
        self._must_have_learnt("text")
        return Writer(self.model, self.source, self.target)

    def reader(self) -> Translator | Classifier | Writer:
        """What this model is, by what it has learnt."""
        made: dict[Task, Callable[[], Translator | Classifier | Writer]]
        made = {"pairs": self.translator, "labels": self.classifier, "text": self.writer}
        return made[self.config.task]()

    def _must_have_learnt(self, task: Task) -> None:
        if self.config.task != task:
            raise InputError(f"{beside(self.folder) if self.folder else self.kind}: {CAN[self.config.task]}")


def beside(folder: Path) -> Path:
    """Where what was made for the bundle in this folder is looked for: in its run, or in itself."""
    return folder.parent if folder.name == "model" else folder


def exported(folder: Path, name: EngineName) -> Path | None:
    """Where the model for CTranslate2 is, if it is asked for, or is there and made of this bundle's very weights."""
    if name not in (known := get_args(EngineName)):
        raise InputError(f"engine {name!r}: there is none of this name; {settings.nearest(name, known)}")
    if name == "torch":
        return None
    place = beside(folder) / "ctranslate2"
    own = files.digest(folder / "weights.safetensors")
    if name == "auto" and not usable(place, own):
        return None
    if note(place).weights != own:
        raise InputError(f"{place}: made of other weights; make it again with: tongsa export --to ctranslate2")
    return place


def save(path: Path, bundle: Bundle, card: str, tensors: dict[str, torch.Tensor] | None = None) -> None:
    """Write a bundle in one piece, in place of what is there; with other numbers than the model's own, if given."""
    values = tensors if tensors is not None else weights(bundle.model)
    content = {
        "weights.safetensors": save_tensors(
            {name: value.detach().contiguous().cpu() for name, value in values.items()}
        ),
        "pieces.model": bundle.source.model,
    }
    if bundle.target is not bundle.source:
        content[LABELS if bundle.config.task == "labels" else TARGET] = bundle.target.model
    description: dict[str, Any] = {
        "format": FORMAT,
        "kind": bundle.kind,
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "jamo": bundle.source.jamo,
        "scores": list(bundle.scores),
        "model": settings.table(bundle.config),
        "decoding": settings.table(bundle.decoding),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in content.items()},
    }
    content["model.toml"] = settings.dump(description).encode("utf-8")
    content["card.md"] = card.encode("utf-8")
    with files.new_folder(path) as folder:
        for name, data in content.items():
            (folder / name).write_bytes(data)


def find(path: Path) -> Path:
    """The bundle that is meant by the path of a run or of the bundle itself."""
    try:
        files.settle(path / "model")
        for folder in (path / "model", path):
            if (folder / "model.toml").is_file():
                return folder
        there = path.exists()
    except OSError as error:  # a text in the place of the run may be too long for a name
        raise BundleError(f"{path}: {error.strerror}; give the folder of a run or of a model") from None
    if not there:
        raise BundleError(f"{path}: no such folder; give the folder of a run or of a model")
    if (path / "run.toml").is_file():
        raise BundleError(
            f"{path}: this run has no model yet; go on with: tongsa train --resume {path} (if it had one: bring "
            f"{path / 'model'} back, or remove {path / 'snapshots'} first)"
        )
    raise BundleError(f"{path}: no model here (no model.toml); give the folder of a run or of a model")


def load(path: Path) -> Bundle:
    folder = find(path)
    description = settings.read(folder / "model.toml")
    version = description.get("format")
    if not isinstance(version, int):
        raise BundleError(f"{folder / 'model.toml'}: damaged (no format in it); copy the whole folder again")
    if version > FORMAT:
        raise BundleError(
            f"{folder}: format {version} was written by a newer tongsa (this one reads {FORMAT}): upgrade"
        )
    try:
        kind = description["kind"]
        if kind not in KINDS:
            raise BundleError(f"{folder / 'model.toml'}: unknown kind {kind!r}; {settings.nearest(kind, KINDS)}")
        data = {name: _checked(folder / name, digest) for name, digest in description["sha256"].items()}
        config = settings.build(KINDS[kind], description["model"], "model")
        source = Pieces(data["pieces.model"], description["jamo"])
        target = _target(data, source)
        model = config.build(len(source), len(target))
        put(model, load_tensors(data["weights.safetensors"]))
        return Bundle(
            kind=kind,
            config=config,
            model=model.eval(),
            source=source,
            target=target,
            decoding=settings.build(SearchConfig, description["decoding"], "decoding"),
            source_language=description["source_language"],
            target_language=description["target_language"],
            scores=tuple(description.get("scores", ())),
            folder=folder,
        )
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise BundleError(f"{folder}: damaged ({error}); copy it again, or train again") from None


def _target(data: dict[str, bytes], source: Pieces) -> Vocabulary:
    if LABELS in data:
        return Labels.parse(data[LABELS])
    return Pieces(data[TARGET], source.jamo) if TARGET in data else source


def _checked(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror}); copy the whole folder again") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise BundleError(f"{path}: damaged (its checksum is wrong); copy the whole folder again")
    return content
