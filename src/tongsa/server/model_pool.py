"""Models of a server: loaded after the port is open, selected by name or languages, replaced while requests run."""

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa.config import did_you_mean
from tongsa.data.model_summary import ModelSummary
from tongsa.decoding.documents import Document
from tongsa.errors import InputError
from tongsa.server.config import ServerConfig
from tongsa.server.errors import MAX_QUOTED_CHARACTERS, APIError, bad_request_error, busy_error, shorten
from tongsa.server.queue import BatchLimits, ModelQueue, QueueMetrics, QueueRoom
from tongsa.server.queued_sentence import QueuedSentence
from tongsa.server.turns import TicketLock
from tongsa.tokenization.special import UNK

if TYPE_CHECKING:
    from tongsa.decoding.generator import TextGenerator
    from tongsa.decoding.text_classifier import TextClassifier
    from tongsa.decoding.translator import Translator

LOG = logging.getLogger("tongsa.server")
PROBE_INPUTS = {"seq2seq": ([UNK], [UNK]), "classification": ([UNK], [0]), "language_model": ([], [UNK])}
"""Task → token ids of a source and a target. A forward pass on them shows which attention a model has."""


@dataclass(frozen=True)
class ModelSource:
    """Name of a model on this server, and its folder."""

    name: str
    folder: Path


def parse_model_sources(arguments: Sequence[str]) -> list[ModelSource]:
    """Parse RUN or NAME=RUN; the default name is that of the folder. The name of a run of a grid has a "=" itself."""
    sources: dict[str, ModelSource] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or _has_model(Path(argument)):
            path, name = argument, os.path.basename(os.path.realpath(argument))  # noqa: PTH119 - no error for a loop
        folder = Path(path)
        if not name:
            raise InputError(f"{argument}: no name. Write NAME=RUN.")
        if name in sources:
            raise InputError(f"{folder}: another model is called {name!r} already. Write NAME=RUN.")
        if not _has_model(folder):
            raise InputError(f"{folder}: no model here (no model.toml). Give the folder of a run or of a model.")
        sources[name] = ModelSource(name, folder)
    return list(sources.values())


def _has_model(folder: Path) -> bool:
    return any((path / "model.toml").is_file() for path in (folder, folder / "model"))


TRAINING_UNITS = {"seq2seq": "pairs", "classification": "labeled_texts", "language_model": "texts"}
"""Task → unit of its training data."""


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory."""

    name: str
    kind: str
    task: str
    source_language: str
    target_language: str
    parameters: int
    text_model: Any
    """Translator, TextClassifier or TextGenerator, by the task."""
    has_cross_attention: bool
    """The model attends to its source: alignments and coverage are known."""
    has_attention: bool
    """The model has attention weights to show."""
    summary: ModelSummary
    """Training data, dev score, examples, control tags."""
    static_views: Mapping[str, Any]
    """Data of the views that do not depend on a text: "positions" and "curves", where the model has them."""
    _supported_lengths: dict[int, bool] = field(default_factory=dict, repr=False)

    @property
    def engine(self) -> str:
        return getattr(self.text_model, "engine_name", "torch")

    @property
    def views(self) -> list[str]:
        """Names of the views that /v1 can draw."""
        attention, tree = ["attention"] * self.has_attention, ["tree"] * (self.task == "seq2seq")
        return [*attention, *tree, "trace", *self.static_views]

    def batch_limits(self, config: ServerConfig) -> BatchLimits:
        """Return when a batch is closed: CTranslate2 searches one in each worker, torch one with all threads."""
        import torch

        tokens, wait_seconds, threads = config.batch_tokens, config.batch_wait_ms / 1000, torch.get_num_threads()
        limits = BatchLimits(tokens, wait_seconds, tokens, workers=1, torch_threads=threads)
        if getattr(self.text_model, "engine", None) is None:
            return limits
        from tongsa.decoding.engines.ctranslate2 import max_batch_sentences

        max_sentences = max_batch_sentences(self.text_model.config)
        return limits._replace(sentences=max_sentences, workers=self.text_model.engine.threads)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the length of each text in source tokens, </s> included."""
        return [len(tokens) + 1 for tokens in self.text_model.source_tokenizer.encode_all(texts)]

    def split_text(self, text: str, max_tokens: int) -> Document:
        """Return the sentences of a text, or its lines without decoding.split_sentences; long ones are split."""
        if self.text_model.config.split_sentences:
            document: Document = self.text_model.split_text(text, max_tokens)
        else:
            document = self.text_model.split_to_fit(Document.of_lines(text), max_tokens)
        return document

    def engine_supports(self, token_count: int) -> bool:
        """Return whether the fast engine accepts a source of this length.

        The answer depends on the sentence alone: sentences for torch and for the engine never share a batch.
        """
        engine = getattr(self.text_model, "engine", None)
        if not engine:
            return False
        if token_count not in self._supported_lengths:
            from tongsa.batch import pad

            source = pad([[UNK] * token_count])
            self._supported_lengths[token_count] = engine.supports(source, self.text_model.config)
        return self._supported_lengths[token_count]

    def copies_words(self, text: str) -> bool:
        """Return whether placeholders or words of a text may be copied, which takes another search, by torch."""
        from tongsa.decoding.training_comparison import PLACEHOLDER

        return self.text_model.config.copy_unseen_words or bool(PLACEHOLDER.search(text))

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
            "summary": asdict(self.summary) | {"training_unit": TRAINING_UNITS[self.task]},
        }


def load_model(source: ModelSource, config: ServerConfig) -> LoadedModel:
    from tongsa.bundle import load_bundle
    from tongsa.export.ctranslate2_cache import load_engine
    from tongsa.visualize import panels

    def log(message: str) -> None:
        LOG.info(message, extra={"model": source.name})

    bundle = load_bundle(source.folder, own_kinds=config.own_kinds)
    task = bundle.config.task
    text_model: Translator | TextClassifier | TextGenerator = (
        bundle.translator(engine=load_engine(bundle, config.engine, log)) if task == "seq2seq" else bundle.text_model()
    )
    attention = text_model.attention(*PROBE_INPUTS[task])
    return LoadedModel(
        name=source.name,
        kind=bundle.kind,
        task=task,
        source_language=bundle.source_language,
        target_language=bundle.target_language,
        parameters=sum(parameter.numel() for parameter in bundle.model.parameters()),
        text_model=text_model,
        has_cross_attention=task == "seq2seq" and bool(attention.get("cross")),
        has_attention=any(map(len, attention.values())),
        summary=bundle.summary,
        static_views=panels.position_panel(text_model) | _training_curves(source, bundle.folder),
    )


def _training_curves(source: ModelSource, folder: Path | None) -> dict[str, Any]:
    """Return the curves of the model's run; an unreadable journal must not stop the model from loading."""
    from tongsa.visualize import panels

    try:
        return panels.training_panel(folder)
    except (OSError, TypeError, ValueError) as error:
        LOG.warning("training curves not loaded", extra={"model": source.name, "reason": str(error)})
        return {}


class ModelPool:
    """The models of a server, each with its queue. A reload replaces the whole table at once."""

    def __init__(self, sources: Sequence[ModelSource], config: ServerConfig, metrics: QueueMetrics) -> None:
        self.sources, self.config, self.metrics = list(sources), config, metrics
        self.lock = TicketLock()
        self.queues: dict[str, ModelQueue] = {}
        self._load_lock = threading.Lock()
        self._torch_threads = 0
        """Threads of torch when the models were first loaded."""

    @property
    def is_ready(self) -> bool:
        return len(self.queues) == len(self.sources)

    def has_room(self, request_count: int) -> bool:
        """Return whether one more request may come; `request_count` are in progress, each with a sentence or more."""
        queues = self.queues.values()
        if not queues:  # still loading: the route says so
            return True
        max_requests = len(queues) * self.config.max_queued_sentences
        return request_count < max_requests and any(queue.has_room for queue in queues)

    def load(self) -> None:
        """Load all models. At a reload, a model that cannot be loaded is kept as it was."""
        import torch

        from tongsa.torch_threads import torch_threads

        with self._load_lock:
            queues: dict[str, ModelQueue] = {}
            # a reload runs while the threads of the queues use fewer threads, and new threads begin with their number
            self._torch_threads = self._torch_threads or torch.get_num_threads()
            for source in self.sources:
                try:
                    with torch_threads(self._torch_threads):
                        queues[source.name] = self._create_queue(load_model(source, self.config))
                    LOG.info("model loaded", extra={"model": source.name})
                except Exception as error:
                    if source.name not in self.queues:
                        raise
                    LOG.error("model not reloaded", extra={"model": source.name, "reason": str(error)})
                    queues[source.name] = self.queues[source.name]
            before, self.queues = self.queues, queues
            for name, queue in before.items():
                if queue is not queues[name]:
                    queue.close()  # it still finishes what it has accepted

    def _create_queue(self, model: LoadedModel) -> ModelQueue:
        if getattr(model.text_model, "engine", None) is not None:
            model.text_model.engine.workers_per_call = 1  # the threads of the queue share the work
        return ModelQueue(
            model.name,
            model,
            limits=model.batch_limits(self.config),
            # of several models none can take all requests: the others could not be served
            room=QueueRoom(
                self.config.max_queued_sentences, max(1, self.config.max_concurrent_requests // len(self.sources))
            ),
            lock=self.lock,
            metrics=self.metrics,
        )

    def _open_queue(self, model_name: str) -> ModelQueue:
        if (queue := self.queues.get(model_name)) is None:
            raise busy_error("The server is shutting down. Send the request again in a moment.")
        return queue

    async def wait_for_room(self, model_name: str, count: int) -> None:
        """Wait until `count` more sentences fit into the queue of a model, after a reload into that of the new one."""
        while not await self._open_queue(model_name).wait_for_room(count):
            pass

    def submit(self, model_name: str, sentences: Sequence[QueuedSentence]) -> None:
        """Queue sentences for a model; retry when a reload has just closed its queue."""
        while not self._open_queue(model_name).submit(sentences):
            pass

    def drain(self) -> None:
        """Finish what is queued, then stop."""
        queues, self.queues = self.queues, {}
        for queue in queues.values():
            queue.drain()

    def select(
        self,
        model: str | None = None,
        languages: tuple[str | None, str | None] = (None, None),
        tasks: Sequence[str] = ("seq2seq",),
    ) -> ModelQueue:
        """Return the queue of the model with this name, or of the first one with these languages (source, target)."""
        if not self.is_ready:
            raise busy_error("The models are still being loaded. Send the request again in a moment.", retry_after=3.0)
        if model is not None:
            return self._select_by_name(model, tasks)
        candidates = [queue for queue in self.queues.values() if queue.model.task in tasks]
        source, target = languages
        for queue in candidates:
            if source in (None, queue.model.source_language) and target in (None, queue.model.target_language):
                return queue
        directions = (f"{queue.model.source_language}→{queue.model.target_language}" for queue in candidates)
        available = ", ".join(directions) or "none"
        direction = f" from {source or 'any'} to {target or 'any'}" if source or target else ""
        message = f"No model for {' or '.join(tasks)}{direction}. Available here: {available}."
        raise APIError(404, "unknown_model", message)

    def _select_by_name(self, name: str, tasks: Sequence[str]) -> ModelQueue:
        queues = self.queues
        if name not in queues:
            name = shorten(name, MAX_QUOTED_CHARACTERS)  # comparing names takes quadratic time
            raise APIError(404, "unknown_model", f"model: {name!r} is unknown; {did_you_mean(name, queues)}")
        if (task := queues[name].model.task) not in tasks:
            message = f"model: {name!r} is a model for {task}. Choose one for {' or '.join(tasks)}."
            raise bad_request_error(message)
        return queues[name]

    def list_models(self) -> list[dict[str, Any]]:
        first_of_task: dict[str, str] = {}
        for name, queue in self.queues.items():
            first_of_task.setdefault(queue.model.task, name)
        return [
            queue.model.info(default=first_of_task[queue.model.task] == name) for name, queue in self.queues.items()
        ]
