"""Trace of one text: every named tensor from tokens to logits, with its equation, operands and line of code.

    text ─► tokens ─► encoder ─► memory ─► decoder (teacher forcing along the output) ─► logits ─► top 5, search tree

The data is one dictionary, ready for JSON: the trace page reads it, `/v1/trace` returns it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tongsa.bundle import Bundle
from tongsa.data.normalize import normalize
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.visualize import search_tree
from tongsa.visualize.contrast import Attribution, contrast_data
from tongsa.visualize.edit import Edit
from tongsa.visualize.equations import equations
from tongsa.visualize.logit_lens import LensToken, logit_lens
from tongsa.visualize.packing import FloatType
from tongsa.visualize.page import Page
from tongsa.visualize.panels import AnyTextModel, load_text_model
from tongsa.visualize.tours import default_tour
from tongsa.visualize.trace_example import Example, RecordedRun, make_example, run_recorded
from tongsa.visualize.trace_output import output_data
from tongsa.visualize.trace_source import excerpts, source_line
from tongsa.visualize.trace_stages import Stage, StageNote, is_of_source, layer_number, new_stage, stages_of
from tongsa.visualize.trace_tensors import INTERNAL_NAMES, Array, TensorWriter, TraceTensor, join_steps
from tongsa.visualize.what_if import possible_edits, run_edited, token_id

VERSION = 1
MAX_CONTRASTS = 1
"""Steps whose decision is explained on the page."""
MAX_FLOAT32_NUMBERS = 420_000
"""A page of 2 MB; with more numbers it stores them in half precision."""
MAX_FLOAT16_NUMBERS = 900_000
"""With still more numbers the page has only the first and the last layer."""


class Trace:
    """All tensors of one text; a notebook displays it as a page."""

    def __init__(
        self, text_model: AnyTextModel, example: Example, run: RecordedRun, layers: Sequence[int] | None = None
    ) -> None:
        self.text_model, self.example, self.run, self.layers = text_model, example, run, layers
        self.tour: dict[str, Any] | None = None
        """A guided tour that replaces the built-in one."""
        self._all, self._owners = join_steps(run.recorder.tensors)
        if layers is not None and not set(layers) <= {*self.all_layers}:
            count = max(self.all_layers, default=0)
            raise InputError(f"layers {list(layers)}: the model has layers 1 to {count}. Give these.")

    @cached_property
    def all_layers(self) -> list[int]:
        """Numbers of the model's layers, from 1."""
        return sorted({number for tensor in self._all if (number := layer_number(tensor.path))})

    @property
    def is_reduced(self) -> bool:
        """True if the page lacks layers, or has half precision, because of its size."""
        recorded = self.data["recorded"]
        return recorded["precision"] == "float16" or (self.layers is None and recorded["layers"] is not None)

    @cached_property
    def tensors(self) -> dict[str, Array]:
        """Every tensor by module path and name: "encoder.layers.0.self_attention.attention.attention.scores"."""
        return {tensor.key: tensor.array for tensor in self._all if tensor.name not in INTERNAL_NAMES}

    @property
    def page(self) -> Page:
        """The trace as one HTML page."""
        name = self._model_data()["name"]
        return Page(": ".join(filter(None, (name, self.example.text))), {"trace": self.data})

    def save(self, path: str | Path) -> Path:
        """Write the page atomically."""
        return self.page.save(path)

    def _repr_html_(self) -> str:
        return self.page._repr_html_()

    def __repr__(self) -> str:
        return f"<Trace: {len(self._all)} tensors, {self.example.text!r} → {self.example.output_text!r}>"

    @cached_property
    def page_tensors(self) -> list[TraceTensor]:
        """Tensors of the chosen layers, and those outside the layers."""
        return self._tensors_of(self._page_layers)

    def _tensors_of(self, layers: Sequence[int] | None) -> list[TraceTensor]:
        return [
            tensor
            for tensor in self._all
            if layers is None or layer_number(tensor.path) in (None, *layers)
            if tensor.name not in INTERNAL_NAMES
        ]

    @cached_property
    def _page_layers(self) -> list[int] | None:
        """Layers of the page: those that were asked for, or the first and the last if all are too many numbers."""
        if self.layers is not None:
            return list(self.layers)
        if self._count_numbers(self._tensors_of(None)) <= MAX_FLOAT16_NUMBERS:
            return None
        numbers: dict[str, list[int]] = {}
        for tensor in self._all:
            if number := layer_number(tensor.path):
                numbers.setdefault(tensor.path.partition(".")[0], []).append(number)  # of the encoder, of the decoder
        return sorted({number for side in numbers.values() for number in (min(side), max(side))}) or None

    def _writer(self, tensors: Sequence[TraceTensor], dtype: FloatType = "float32") -> TensorWriter:
        return TensorWriter(self.run.recorder.tensors, self._owners, tensors, dtype)

    def _count_numbers(self, tensors: Sequence[TraceTensor]) -> int:
        writer = self._writer(tensors)
        return sum(tensor.array.size for tensor in tensors if writer.is_stored(tensor))

    @cached_property
    def data(self) -> dict[str, Any]:
        """The data of the page, ready for JSON."""
        locations = {tensor.id: source_line(tensor.first) for tensor in self.page_tensors}
        numbers = self._count_numbers(self.page_tensors)
        precision: FloatType = "float32" if numbers <= MAX_FLOAT32_NUMBERS else "float16"
        writer = self._writer(self.page_tensors, precision)
        tensors = {
            tensor.id: writer.data(tensor, locations[tensor.id]) | {"labels": self._labels(tensor)}
            for tensor in self.page_tensors
        }
        used = {tensor.name for tensor in self.page_tensors}
        table = {name: dataclasses.asdict(equation) for name, equation in equations().items() if name in used}
        return {
            "version": VERSION,
            "model": self._model_data(),
            "texts": self._text_data(),
            "source": self._source_data(),
            "target": self._target_data(),
            "stages": [dataclasses.asdict(stage) for stage in self._stages()],
            "tensors": tensors,
            "equations": table,
            "code": {
                file: [excerpt._asdict() for excerpt in functions]
                for file, functions in excerpts(locations.values()).items()
            },
            "output": output_data(
                self.text_model, self.run.logits, self.example.outputs, is_edited=self._all[-1].is_edited
            ),
            "logit_lens": {id_: lens for id_, lens in self._lens.items() if id_ in tensors},
            "search": self._tree,
            "recorded": {
                "layers": self._page_layers,
                "all_layers": self.all_layers,
                "chosen": self.layers is not None,
                "precision": precision,
                "numbers": numbers,
                "truncated": self.example.truncated,
            },
            "tour": self.tour or default_tour(used),
            "what_if": possible_edits(self.text_model, self.run.recorder.tensors),
            "contrasts": self._default_contrasts(),
        }

    @cached_property
    def _attribution(self) -> Attribution:
        return Attribution(self.text_model.model, self.run.recorder.tensors, self._owners)

    def contrast(self, step: int, a: str, b: str) -> dict[str, Any]:
        """Split the difference of the logits of two tokens at a step, from 1, over the parts of the model.

        The values of "terms" sum to "difference".
        """
        if not 1 <= step <= len(self.example.outputs):
            raise InputError(f"step {step}: the output has {len(self.example.outputs)} steps. Count from 1.")
        tokenizer = self.text_model.target_tokenizer
        tokens = token_id(tokenizer, a), token_id(tokenizer, b)
        return contrast_data(self._attribution, step - 1, tokens, (a, b))

    def _default_contrasts(self) -> list[dict[str, Any]]:
        """Compare the token that was written with the likeliest other one, at the steps with the closest decisions."""
        logits, tokenizer = self.run.logits, self.text_model.target_tokenizer
        pairs = [
            (token, others[0] if others[0] != token else others[1])
            for token, others in zip(self.example.outputs, logits.topk(2).indices.tolist(), strict=True)
        ]
        margins = [float(logits[step, a] - logits[step, b]) for step, (a, b) in enumerate(pairs)]
        closest = sorted(range(len(pairs)), key=lambda step: abs(margins[step]))[:MAX_CONTRASTS]
        return [
            contrast_data(self._attribution, step, pairs[step], tokenizer.token_strings(pairs[step]))
            for step in sorted(closest)
        ]

    def _model_data(self) -> dict[str, str]:
        info, folder = self.text_model.info, self.text_model.info.run_folder
        return {
            "name": folder.name if folder else "",
            "kind": info.kind,
            "task": self.text_model.task,
            "source_language": info.source_language,
            "target_language": info.target_language,
        }

    def _text_data(self) -> dict[str, Any]:
        example = self.example
        return {
            "source": example.text,
            "normalized": normalize(example.text),
            "output": example.output_text,
            "log_prob": example.log_prob,
            "score": example.score,
            "is_forced": example.is_forced,
        }

    def _source_data(self) -> dict[str, Any]:
        source = self.example.source
        return {"tokens": self.text_model.source_tokenizer.token_strings(source), "ids": list(source)}

    def _target_data(self) -> dict[str, Any]:
        tokenizer, example = self.text_model.target_tokenizer, self.example
        is_label = self.text_model.task == "classification"
        inputs = ["<s>"] if is_label else tokenizer.token_strings(example.inputs)
        return {"inputs": inputs, "outputs": tokenizer.token_strings(example.outputs), "ids": list(example.outputs)}

    def _labels(self, tensor: TraceTensor) -> list[str]:
        """Return what each axis counts: "source", "target", "hop", "slot", or "" for numbers."""
        memory = "source" if self.run.memory.shape[1] == len(self.example.source) else "slot"
        memory = "hop" if any("hop" in other.axes for other in self._all) else memory
        output = "" if self.text_model.task == "classification" else "target"  # a classifier reads no output tokens
        side = "source" if is_of_source(tensor.path) else output
        keys = side if side == "source" or "self_attention" in tensor.path else memory
        names = {"token": side, "query": side, "time": side, "key": keys, "slot": memory, "hop": "hop"}
        return [names.get(axis, "") for axis in tensor.axes]

    def _stages(self) -> list[Stage]:
        index = self.run.recorder.index(self.run.memory)
        stages = stages_of(self.page_tensors, None if index is None else self._owners[index])
        for stage in stages:
            if stage.id == "memory":
                stage.note = self._memory_note()
        search = [new_stage("search", "search", "search")] if self._tree else []
        return [new_stage("text", "text", "text"), *stages, *search]

    def _memory_note(self) -> StageNote:
        if not self.run.memory.shape[1]:
            return "empty_memory"
        is_read = any(tensor.path.startswith("decoder") and tensor.name.endswith(".weights") for tensor in self._all)
        if self.text_model.task != "seq2seq" or is_read:
            return ""
        return "unweighted" if self.run.memory.shape[1] > 1 else "no_attention"

    @cached_property
    def logit_lens(self) -> dict[str, list[LensToken]]:
        """State of a Transformer decoder's residual stream, by its key → the token that each position would write."""
        return {tensor.key: self._lens[tensor.id] for tensor in self._all if tensor.id in self._lens}

    @cached_property
    def _lens(self) -> Mapping[str, list[LensToken]]:
        return logit_lens(self.text_model, self.run, self._all, self._owners)

    @cached_property
    def _tree(self) -> Mapping[str, Any] | None:
        if not isinstance(self.text_model, Translator) or self.example.is_forced:
            return None
        return search_tree.page_data("", search_tree.build_search_tree(self.text_model, self.example.text))


def trace(
    model: str | Path | Bundle | AnyTextModel,
    text: str,
    *,
    target: str | None = None,
    layers: Sequence[int] | None = None,
    edits: Sequence[Edit | Mapping[str, Any]] = (),
) -> Trace:
    """Record every named tensor of a run, a bundle or a model from `tongsa.load`, for one text.

    target: Output to record instead of the model's own output; for a classifier a label.
    layers: Numbers of the layers, from 1, to put on the page; by default all.
    edits: Changes of the computation, such as {"type": "scale_off"}; the edited model then decodes greedily.

    A notebook displays the trace; `.tensors` has all values, `.save("page.html")` writes the page.
    """
    text_model = load_text_model(model)
    example = make_example(text_model, text, target)
    if not edits:
        return Trace(text_model, example, run_recorded(text_model.model, example), layers)
    parsed = [edit if isinstance(edit, Edit) else Edit.from_dict(edit) for edit in edits]
    return Trace(text_model, *run_edited(text_model, example, parsed), layers)
