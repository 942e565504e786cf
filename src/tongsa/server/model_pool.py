"""Which models there are: loaded behind the open port, chosen by name or languages, replaced while they are asked."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongsa.config import did_you_mean
from tongsa.errors import InputError
from tongsa.server.api.requests import ModelSelector
from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError, bad_request_error, busy_error
from tongsa.server.queue import ModelQueue, QueuedSentence, QueueMetrics, TicketLock
from tongsa.tokenization.special import UNK

LOG = logging.getLogger("tongsa.server")
PROBE_INPUTS = {"seq2seq": ([UNK], [UNK]), "classification": ([UNK], [0]), "language_model": ([], [UNK])}
"""Task → the indices of a source and a target. What a model looks at along them tells whether it looks at anything."""


@dataclass(frozen=True)
class ModelSource:
    """Where a model is, and what it is called here."""

    name: str
    folder: Path


def parse_model_sources(arguments: Sequence[str]) -> list[ModelSource]:
    """From RUN or NAME=RUN; a run is called as its folder is."""
    found: dict[str, ModelSource] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        folder = Path(path if equals else argument)
        name = name if equals else (folder.resolve().name)
        if not name:
            raise InputError(f"{argument}: no name; write NAME=RUN")
        if name in found:
            raise InputError(f"{folder}: another model is called {name!r} already; write NAME=RUN")
        if not any((place / "model.toml").is_file() for place in (folder, folder / "model")):
            raise InputError(f"{folder}: no model here (no model.toml); give the folder of a run or of a model")
        found[name] = ModelSource(name, folder)
    return list(found.values())


@dataclass(frozen=True)
class LoadedModel:
    """A model that answers."""

    name: str
    kind: str
    task: str
    source_language: str
    target_language: str
    parameters: int
    text_model: Any
    """A Translator, a Classifier or a Writer."""
    has_cross_attention: bool
    """Whether it looks at its source, so that what it has read can be told."""
    has_attention: bool
    """Whether it has attention to look at."""
    static_views: Mapping[str, Any]
    """Of "positions" and "curves" those that it has, ready to be drawn: no text changes them."""

    @property
    def engine(self) -> str:
        beside = getattr(self.text_model, "engine", None)
        return beside.name if beside else "torch"

    @property
    def views(self) -> list[str]:
        """What can be looked at."""
        attention, tree = ["attention"] * self.has_attention, ["tree"] * (self.task == "seq2seq")
        return [*attention, *tree, *self.static_views]

    def count_tokens(self, text: str) -> int:
        """In pieces, </s> included."""
        return len(self.text_model.source.split(text)) + 1

    def engine_supports(self, token_count: int) -> bool:
        """Whether the engine beside torch takes a text of this size; who else is in the batch must not decide it."""
        from tongsa.batch import pad

        engine = getattr(self.text_model, "engine", None)
        return bool(engine and engine.supports(pad([[UNK] * token_count]), self.text_model.config))

    def info(self, *, default: bool) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "task": self.task,
            "source_language": self.source_language,
            "target_language": self.target_language,
            "engine": self.engine,
            "parameters": self.parameters,
            "views": self.views,
            "default": default,
        }


def load_model(source: ModelSource, config: ServerConfig) -> LoadedModel:
    from tongsa import bundle
    from tongsa.visualize import panels

    found = bundle.load_bundle(source.folder)
    task = found.config.task
    reader = found.translator(engine=config.engine) if task == "seq2seq" else found.text_model()
    seen = reader.attention(*PROBE_INPUTS[task])
    return LoadedModel(
        name=source.name,
        kind=found.kind,
        task=task,
        source_language=found.source_language,
        target_language=found.target_language,
        parameters=sum(parameter.numel() for parameter in found.model.parameters()),
        text_model=reader,
        has_cross_attention=task == "seq2seq" and bool(seen.get("cross")),
        has_attention=any(map(len, seen.values())),
        static_views=panels.position_panel(reader) | _training_curves(source, found.folder),
    )


def _training_curves(source: ModelSource, folder: Path | None) -> dict[str, Any]:
    """The curves of its run. A journal that cannot be read is no reason not to translate."""
    from tongsa.visualize import panels

    try:
        return panels.training_panel(folder)
    except (OSError, TypeError, ValueError) as error:
        LOG.warning("no curves", extra={"model": source.name, "reason": str(error)})
        return {}


class ModelPool:
    """The models of a server, each with its worker. The table is replaced whole: who reads it sees one or the other."""

    def __init__(self, sources: Sequence[ModelSource], config: ServerConfig, metrics: QueueMetrics) -> None:
        self.sources, self.config, self.metrics = list(sources), config, metrics
        self.lock = TicketLock()
        self.queues: dict[str, ModelQueue] = {}
        self._load_lock = threading.Lock()

    @property
    def is_ready(self) -> bool:
        return len(self.queues) == len(self.sources)

    def load(self) -> None:
        """All of them, or those that changed again: what cannot be loaded any more is kept as it was."""
        with self._load_lock:
            fresh: dict[str, ModelQueue] = {}
            for place in self.sources:
                try:
                    fresh[place.name] = self._create_queue(load_model(place, self.config))
                    LOG.info("model loaded", extra={"model": place.name})
                except Exception as error:
                    if place.name not in self.queues:
                        raise
                    LOG.error("model kept as it was", extra={"model": place.name, "reason": str(error)})
                    fresh[place.name] = self.queues[place.name]
            before, self.queues = self.queues, fresh
            for name, worker in before.items():
                if worker is not fresh[name]:
                    worker.close()  # what it has accepted it answers

    def _create_queue(self, model: LoadedModel) -> ModelQueue:
        return ModelQueue(
            model.name,
            model,
            batch_tokens=self.config.batch_tokens,
            batch_wait_seconds=self.config.batch_wait_ms / 1000,
            max_queued_sentences=self.config.max_queued_sentences,
            lock=self.lock,
            metrics=self.metrics,
        )

    def submit(self, model_name: str, sentences: Sequence[QueuedSentence]) -> None:
        """To the worker of today: one that was replaced a moment ago takes nothing more."""
        while not self.queues[model_name].submit(sentences):
            if not self.is_ready:
                raise busy_error("the server is closing; ask again in a moment")

    def drain(self) -> None:
        """Answer what was accepted, then stop."""
        workers, self.queues = self.queues, {}
        for worker in workers.values():
            worker.drain()

    def select(self, selector: ModelSelector, tasks: Sequence[str] = ("seq2seq",)) -> ModelQueue:
        """The model that is meant, by name or languages; the first that fits where little is said."""
        workers = self.queues
        if not self.is_ready:
            raise busy_error("the models are still being loaded; ask again in a moment", retry_after=3.0)
        if selector.model is not None:
            if selector.model not in workers:
                raise APIError(
                    404, "unknown_model", f"model {selector.model!r}: {did_you_mean(selector.model, workers)}"
                )
            worker = workers[selector.model]
            if worker.model.task not in tasks:
                raise bad_request_error(
                    f"model {selector.model!r} has learnt {worker.model.task}; this is for {' or '.join(tasks)}"
                )
            return worker
        able = [worker for worker in workers.values() if worker.model.task in tasks]
        for worker in able:
            if _matches_languages(worker.model, selector):
                return worker
        pairs = ", ".join(f"{one.model.source_language}→{one.model.target_language}" for one in able) or "none"
        asked = (
            f" from {selector.source_language or 'any'} to {selector.target_language or 'any'}"
            if selector.source_language or selector.target_language
            else ""
        )
        raise APIError(404, "unknown_model", f"no model for {' or '.join(tasks)}{asked}; there are: {pairs}")

    def list_models(self) -> list[dict[str, Any]]:
        first: dict[str, str] = {}
        for name, worker in self.queues.items():
            first.setdefault(worker.model.task, name)
        return [worker.model.told(default=first[worker.model.task] == name) for name, worker in self.queues.items()]


def _matches_languages(model: LoadedModel, selector: ModelSelector) -> bool:
    return selector.source_language in (None, model.source_language) and selector.target_language in (
        None,
        model.target_language,
    )
