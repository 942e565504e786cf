"""Probes: what a model answers to one sentence at one moment of its training, in at most 4 kB of JSON.

    sentence ─► output, log p ─► teacher forcing along the output ─► memory, attention, decoder states, top 5 per step

A language model scores the sentence, and continues its beginning with one sample of a fixed seed. Weights are not
stored. Attention weights and probabilities become 8-bit integers. Of the memory and of the decoder
states, up to 64 evenly spaced columns are kept, as 8-bit integers with a common scale.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.batch import Examples, Ragged
from tongsa.data.normalize import normalize
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.text_model import TextModel
from tongsa.decoding.translator import Translator
from tongsa.interface import Task
from tongsa.nn.attention import RecordedAttention, record_attention

Array = NDArray[np.float32]

PROBES_FILE = "probes.jsonl"
MAX_RECORD_BYTES = 4096
"""Size of one packed probe as a line of JSON."""
MAX_SOURCE_TOKENS = 40
"""Longest sentence that `training.probe` accepts."""
MAX_STEPS = 32
"""Output steps with attention, state and top 5; the untrained model may write much more."""
MAX_OUTPUT_CHARACTERS = 300
MAX_SAMPLE_CHARACTERS = 120
MAX_SAMPLE_TOKENS = 16
MAX_PROMPT_WORDS = 3
"""Words of the sentence that a language model continues."""
SAMPLING = SamplingConfig(top_p=0.9, seed=1)
"""Sampling of a language model's continuation: with the same weights, the same text."""
TOP_COUNT = 5
COLUMNS = (64, 48, 32, 24, 16, 12, 8, 6, 4, 2, 1)
"""Columns of memory and states, from the largest: the first number with which the record fits."""
MIN_COLUMNS_WITH_LAYERS = 16
"""With fewer columns than this, the attention of single layers is left out first."""

Reads = Literal["source", "hops", "history", "slots", "unweighted", "state"]
"""Queries and keys of the attention weights of a probe.

source: output tokens read source tokens; hops: hops read source tokens (a classifier); history: output tokens read
earlier ones (a language model); slots: a classifier pools all slots; unweighted: a decoder reads slots without
attention weights (ByteNet: step t reads slot t); state: one vector, nothing to choose from.
"""


class Sample(NamedTuple):
    """A text that a language model sampled: the beginning that it was given, and the rest."""

    prompt: str
    continuation: str


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The answer of a model to one sentence."""

    text: str
    output: str
    """A translation or a label; for a language model the sentence itself, which it scores."""
    ids: tuple[int, ...]
    """Token ids of the output, </s> last; one label of a classifier."""
    token_log_probs: tuple[float, ...]
    reads: Reads
    alignment: Array | None  # (query, key)
    """Mean over layers and heads; None if nothing is chosen by attention."""
    layers: tuple[Array, ...]  # (query, key) each
    """Mean over the heads of each layer."""
    top_ids: NDArray[np.int64]  # (step, 5)
    top_probabilities: Array  # (step, 5)
    memory: Array  # (slot, width)
    states: Array  # (step, width)
    """Input of the output layer."""
    heads: tuple[Array, ...] = ()  # (head, query, key) each
    """Attention of the single heads of each layer; not part of a record."""
    sample: Sample | None = None
    """The continuation of a language model."""

    @property
    def log_prob(self) -> float:
        return sum(self.token_log_probs)

    def first_steps(self, count: int) -> "Probe":
        """Return the probe with attention, top 5 and states of the first steps only."""
        rows = slice(None) if self.reads == "hops" else slice(count)
        columns = slice(count) if self.reads == "history" else slice(None)
        return replace(
            self,
            alignment=None if self.alignment is None else self.alignment[rows, columns],
            layers=tuple(layer[rows, columns] for layer in self.layers),
            heads=tuple(heads[:, rows, columns] for heads in self.heads),
            top_ids=self.top_ids[:count],
            top_probabilities=self.top_probabilities[:count],
            states=self.states[:count],
        )


def take_probe(model: TextModel, text: str) -> Probe:
    """Let a model translate, classify or score a sentence, and record how."""
    text = normalize(text)
    source, target, output = _answer(model, text)
    examples = Examples(Ragged([source]), Ragged([target]), appends_eos=model.task != "classification")
    batch = examples.batch(np.array([0])).to(model.device)
    recorded: RecordedAttention
    with torch.inference_mode(), record_attention() as recorded:
        memory = model.model.encoder(batch.source)
        hidden = model.model.decoder.hidden(batch.decoder_input, memory)  # (1, step, width)
        log_probs = model.model.decoder.output.logits(hidden).float().log_softmax(dim=-1)[0]  # (step, token)
    top = log_probs.topk(min(TOP_COUNT, log_probs.shape[1]), dim=-1)
    slots = memory.slots[0][memory.mask[0]]
    reads, heads = _attention(recorded, len(slots), model.task)
    layers = [layer.mean(axis=0) for layer in heads]
    return Probe(
        text=text,
        output=output,
        ids=tuple(batch.target.tokens[0].tolist()),
        token_log_probs=tuple(log_probs.gather(1, batch.target.tokens[0].unsqueeze(1)).squeeze(1).tolist()),
        reads=reads,
        alignment=np.mean(layers, axis=0, dtype=np.float32) if layers else None,
        layers=tuple(layers),
        top_ids=top.indices.cpu().numpy(),
        top_probabilities=_to_array(top.values.exp()),
        memory=_to_array(slots),
        states=_to_array(hidden[0]),
        heads=tuple(heads),
        sample=_sample(model, text) if isinstance(model, TextGenerator) else None,
    )


def _answer(model: TextModel, text: str) -> tuple[Sequence[int], Sequence[int], str]:
    """Return the token ids of the source, those of the output, and the output as text."""
    if isinstance(model, Translator):
        request = DecodeRequest(config=model.config_with({"split_sentences": False}))
        translation = model.decode([text], request)[0]
        return *translation.token_ids, translation.text
    if isinstance(model, TextClassifier):
        label = model.classify([text])[0].label
        source = model.source_tokenizer.encode_all([text])[0][: model.max_positions - 1]
        return source, model.target_tokenizer.encode_all([label])[0], label
    assert isinstance(model, TextGenerator)  # noqa: S101 - there are three tasks
    return [], model.target_tokenizer.encode_all([text])[0][: model.max_positions - 1], text


def _sample(model: TextGenerator, text: str) -> Sample:
    """Let a language model continue the first words of a sentence."""
    words = text.split()
    prompt = " ".join(words[: max(1, min(MAX_PROMPT_WORDS, len(words) // 2))])
    sampled = model.continue_text(prompt, SAMPLING, max_tokens=MAX_SAMPLE_TOKENS)
    return Sample(prompt, sampled.removeprefix(prompt))


def _attention(recorded: RecordedAttention, num_slots: int, task: Task) -> tuple[Reads, list[Array]]:
    """Return what the attention connects, and the weights (head, query, key) of each layer."""
    heads = {role: [_to_array(layer[0]) for layer in layers] for role, layers in recorded.items()}
    if heads.get("cross"):
        hops = heads.get("hops")
        # a decoder over hops reads slots; each slot is itself a mean over the source
        return "source", [layer @ hops[0].mean(axis=0) for layer in heads["cross"]] if hops else heads["cross"]
    if heads.get("hops"):
        return "hops", heads["hops"]
    if heads.get("decoder") and not num_slots:
        return "history", heads["decoder"]
    if num_slots > 1:
        return ("slots" if task == "classification" else "unweighted"), []
    return "state", []


def _to_array(values: Tensor) -> Array:
    array: Array = values.float().cpu().numpy()
    return array


def pack_probe(probe: Probe, moment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the moment and the probe for JSON: the most detailed record of at most MAX_RECORD_BYTES."""
    for size in _sizes():
        record = {**moment, **_pack(probe, size)}
        if len(json.dumps(record, ensure_ascii=False).encode("utf-8")) < MAX_RECORD_BYTES:  # one byte ends the line
            break
    return record


class _Size(NamedTuple):
    steps: int
    columns: int
    with_layers: bool


def _sizes() -> Iterator[_Size]:
    """Yield what may be kept, most detailed first."""
    yield from (_Size(MAX_STEPS, columns, True) for columns in COLUMNS if columns >= MIN_COLUMNS_WITH_LAYERS)
    yield from (_Size(MAX_STEPS, columns, False) for columns in COLUMNS if columns <= MIN_COLUMNS_WITH_LAYERS)
    yield from (_Size(steps, 1, False) for steps in (24, 16, 8, 4, 2, 1))


def _pack(probe: Probe, size: _Size) -> dict[str, Any]:
    kept = probe.first_steps(size.steps)
    record: dict[str, Any] = {
        "text": probe.text,
        "output": probe.output[:MAX_OUTPUT_CHARACTERS],
        "log_prob": round(probe.log_prob, 4),
        "ids": probe.ids[: size.steps],
        "token_log_probs": [round(value, 3) for value in probe.token_log_probs[: size.steps]],
        "num_tokens": len(probe.ids),
        "reads": probe.reads,
        "top": {
            "count": kept.top_ids.shape[1],
            "ids": _encode_ids(kept.top_ids),
            "probabilities": _encode(np.sqrt(kept.top_probabilities) * 255),
        },
        "memory": _pack_signed(kept.memory, size.columns),
        "states": _pack_signed(kept.states, size.columns),
    }
    if kept.alignment is not None:
        record["alignment"] = {"shape": kept.alignment.shape, "values": _encode(kept.alignment * 255)}
        if size.with_layers and len(kept.layers) > 1:
            record["layers"] = [_encode(layer * 255) for layer in kept.layers]
    if probe.sample is not None:
        record["sample"] = [part[:MAX_SAMPLE_CHARACTERS] for part in probe.sample]
    return record


def pack_heads(probe: Probe, steps: int) -> list[list[str]]:
    """Return the attention of single heads, by layer and head, along the first output steps."""
    return [[_encode(head * 255) for head in heads] for heads in probe.first_steps(steps).heads]


def _encode(values: Array) -> str:
    """Return numbers from 0 to 255 as bytes in base64."""
    return base64.b64encode(np.rint(values).clip(0, 255).astype(np.uint8).tobytes()).decode("ascii")


def _decode(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(base64.b64decode(text), dtype=np.uint8)


def _decode_fractions(text: str) -> Array:
    return _decode(text).astype(np.float32) / np.float32(255)


def _encode_ids(ids: NDArray[np.int64]) -> str:
    """Return token ids as 24-bit little-endian integers in base64."""
    return base64.b64encode(ids.astype("<u4")[..., None].view(np.uint8)[..., :3].tobytes()).decode("ascii")


def _decode_ids(text: str) -> NDArray[np.int64]:
    low, middle, high = _decode(text).reshape(-1, 3).astype(np.int64).T
    return np.asarray(low + (middle << 8) + (high << 16), dtype=np.int64)


def thin_columns(width: int, count: int) -> NDArray[np.int64]:
    """Return at most `count` evenly spaced columns."""
    return np.arange(width) if width <= count else np.arange(count) * width // count


def _pack_signed(values: Array, max_columns: int) -> dict[str, Any]:
    """Return evenly spaced columns, 128 for zero and 127 steps to the largest absolute value."""
    columns = thin_columns(values.shape[1], max_columns)
    scale = float(np.abs(values).max()) if values.size else 0.0
    scaled = values[:, columns] / (scale or 1.0) * 127 + 128
    shape = (len(values), len(columns))
    return {"shape": shape, "width": values.shape[1], "scale": float(f"{scale:.6g}"), "values": _encode(scaled)}


def _unpack_signed(packed: Mapping[str, Any]) -> Array:
    values: Array = (_decode(packed["values"]).astype(np.float32) - 128) / 127 * packed["scale"]
    return values.reshape(packed["shape"])


def unpack_probe(record: Mapping[str, Any]) -> Probe:
    """Return the probe of a record, with the precision and the columns that were kept."""
    packed = record.get("alignment", {"shape": (), "values": ""})
    matrices = [packed["values"], *record.get("layers", ())] if packed["values"] else []
    decoded = [_decode_fractions(values).reshape(packed["shape"]) for values in matrices]
    top = record["top"]
    return Probe(
        text=record["text"],
        output=record["output"],
        ids=tuple(record["ids"]),
        token_log_probs=tuple(record["token_log_probs"]),
        reads=record["reads"],
        alignment=decoded[0] if decoded else None,
        layers=tuple(decoded[1:]),
        top_ids=_decode_ids(top["ids"]).reshape(-1, top["count"]),
        top_probabilities=np.square(_decode_fractions(top["probabilities"])).reshape(-1, top["count"]),
        memory=_unpack_signed(record["memory"]),
        states=_unpack_signed(record["states"]),
        sample=Sample(*record["sample"]) if "sample" in record else None,
    )
