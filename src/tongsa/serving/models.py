"""Which models there are: loaded behind the open port, chosen by name or languages, replaced while they are asked."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongsa.config import nearest
from tongsa.errors import InputError
from tongsa.serving.batching import Job, Meter, Turns, Worker
from tongsa.serving.config import ServingConfig
from tongsa.serving.refusal import Refusal, bad, busy
from tongsa.serving.requests import Which
from tongsa.text.pieces import UNK

LOG = logging.getLogger("tongsa.serving")
SHORTEST = {"pairs": ([UNK], [UNK]), "labels": ([UNK], [0]), "text": ([], [UNK])}
"""Task → the indices of a source and a target. What a model looks at along them tells whether it looks at anything."""


@dataclass(frozen=True)
class Place:
    """Where a model is, and what it is called here."""

    name: str
    folder: Path


def places(arguments: Sequence[str]) -> list[Place]:
    """From RUN or NAME=RUN; a run is called as its folder is."""
    found: dict[str, Place] = {}
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
        found[name] = Place(name, folder)
    return list(found.values())


@dataclass(frozen=True)
class Served:
    """A model that answers."""

    name: str
    kind: str
    task: str
    source_language: str
    target_language: str
    parameters: int
    reader: Any
    """A Translator, a Classifier or a Writer."""
    watched: bool
    """Whether it looks at its source, so that what it has read can be told."""
    seen: bool
    """Whether it has attention to look at."""
    drawings: Mapping[str, Any]
    """Of "positions" and "curves" those that it has, ready to be drawn: no text changes them."""

    @property
    def engine(self) -> str:
        beside = getattr(self.reader, "engine", None)
        return beside.name if beside else "torch"

    @property
    def views(self) -> list[str]:
        """What can be looked at."""
        attention, tree = ["attention"] * self.seen, ["tree"] * (self.task == "pairs")
        return [*attention, *tree, *self.drawings]

    def size(self, text: str) -> int:
        """In pieces, </s> included."""
        return len(self.reader.source.split(text)) + 1

    def quick(self, size: int) -> bool:
        """Whether the engine beside torch takes a text of this size; who else is in the batch must not decide it."""
        from tongsa.batch import pad

        engine = getattr(self.reader, "engine", None)
        return bool(engine and engine.supports(pad([[UNK] * size]), self.reader.config))

    def told(self, *, default: bool) -> dict[str, Any]:
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


def loaded(place: Place, config: ServingConfig) -> Served:
    from tongsa import bundle
    from tongsa.view import panels

    found = bundle.load(place.folder)
    task = found.config.task
    reader = found.translator(engine=config.engine) if task == "pairs" else found.reader()
    seen = reader.attention(*SHORTEST[task])
    return Served(
        name=place.name,
        kind=found.kind,
        task=task,
        source_language=found.source_language,
        target_language=found.target_language,
        parameters=sum(parameter.numel() for parameter in found.model.parameters()),
        reader=reader,
        watched=task == "pairs" and bool(seen.get("cross")),
        seen=any(map(len, seen.values())),
        drawings=panels.places(reader) | _past(place, found.folder),
    )


def _past(place: Place, folder: Path | None) -> dict[str, Any]:
    """The curves of its run. A journal that cannot be read is no reason not to translate."""
    from tongsa.view import panels

    try:
        return panels.past(folder)
    except (OSError, TypeError, ValueError) as error:
        LOG.warning("no curves", extra={"model": place.name, "reason": str(error)})
        return {}


class Models:
    """The models of a server, each with its worker. The table is replaced whole: who reads it sees one or the other."""

    def __init__(self, wanted: Sequence[Place], config: ServingConfig, meter: Meter) -> None:
        self.places, self.config, self.meter = list(wanted), config, meter
        self.turns = Turns()
        self.workers: dict[str, Worker] = {}
        self._loading = threading.Lock()

    @property
    def ready(self) -> bool:
        return len(self.workers) == len(self.places)

    def load(self) -> None:
        """All of them, or those that changed again: what cannot be loaded any more is kept as it was."""
        with self._loading:
            fresh: dict[str, Worker] = {}
            for place in self.places:
                try:
                    fresh[place.name] = self._worker(loaded(place, self.config))
                    LOG.info("model loaded", extra={"model": place.name})
                except Exception as error:
                    if place.name not in self.workers:
                        raise
                    LOG.error("model kept as it was", extra={"model": place.name, "reason": str(error)})
                    fresh[place.name] = self.workers[place.name]
            before, self.workers = self.workers, fresh
            for name, worker in before.items():
                if worker is not fresh[name]:
                    worker.close()  # what it has accepted it answers

    def _worker(self, served: Served) -> Worker:
        return Worker(
            served.name,
            served,
            tokens=self.config.batch_tokens,
            wait=self.config.wait_ms / 1000,
            bound=self.config.queue,
            turns=self.turns,
            meter=self.meter,
        )

    def submit(self, name: str, jobs: Sequence[Job]) -> None:
        """To the worker of today: one that was replaced a moment ago takes nothing more."""
        while not self.workers[name].submit(jobs):
            if not self.ready:
                raise busy("the server is closing; ask again in a moment")

    def finish(self) -> None:
        """Answer what was accepted, then stop."""
        workers, self.workers = self.workers, {}
        for worker in workers.values():
            worker.finish()

    def chosen(self, which: Which, tasks: Sequence[str] = ("pairs",)) -> Worker:
        """The model that is meant, by name or languages; the first that fits where little is said."""
        workers = self.workers
        if not self.ready:
            raise busy("the models are still being loaded; ask again in a moment", again=3.0)
        if which.model is not None:
            if which.model not in workers:
                raise Refusal(404, "unknown_model", f"model {which.model!r}: {nearest(which.model, workers)}")
            worker = workers[which.model]
            if worker.model.task not in tasks:
                raise bad(f"model {which.model!r} has learnt {worker.model.task}; this is for {' or '.join(tasks)}")
            return worker
        able = [worker for worker in workers.values() if worker.model.task in tasks]
        for worker in able:
            if _speaks(worker.model, which):
                return worker
        pairs = ", ".join(f"{one.model.source_language}→{one.model.target_language}" for one in able) or "none"
        asked = f" from {which.source or 'any'} to {which.target or 'any'}" if which.source or which.target else ""
        raise Refusal(404, "unknown_model", f"no model for {' or '.join(tasks)}{asked}; there are: {pairs}")

    def told(self) -> list[dict[str, Any]]:
        first: dict[str, str] = {}
        for name, worker in self.workers.items():
            first.setdefault(worker.model.task, name)
        return [worker.model.told(default=first[worker.model.task] == name) for name, worker in self.workers.items()]


def _speaks(served: Served, which: Which) -> bool:
    return which.source in (None, served.source_language) and which.target in (None, served.target_language)
