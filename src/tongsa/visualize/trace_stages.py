"""Stages of a trace: its tensors, grouped by the part of the model, in the order of the computation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from tongsa.visualize.trace_tensors import TraceTensor

Side = Literal["text", "encoder", "memory", "decoder", "output", "search"]
StageNote = Literal["", "empty_memory", "no_attention", "unweighted"]

TITLES = {
    "text": ("Text", "텍스트"),
    "embedding": ("Embedding", "임베딩"),
    "self_attention": ("Self-attention", "자기 어텐션"),
    "ssru": ("SSRU", "SSRU"),
    "cross_attention": ("Cross-attention", "교차 어텐션"),
    "feed_forward": ("Feed-forward network", "피드포워드 네트워크"),
    "final_norm": ("Final norm", "마지막 정규화"),
    "input": ("Input projection", "입력 투영"),
    "convolution": ("Convolution", "합성곱"),
    "unfolding": ("Dynamic unfolding", "동적 펼치기"),
    "keys_values": ("Keys and values", "키와 값"),
    "attention": ("Cross-attention", "교차 어텐션"),
    "hop_attention": ("Attention hops", "어텐션 홉"),
    "recurrent": ("Recurrent layer", "순환 층"),
    "forward": ("Recurrent layer, left to right", "순환 층 (왼쪽에서 오른쪽)"),
    "backward": ("Recurrent layer, right to left", "순환 층 (오른쪽에서 왼쪽)"),
    "annotations": ("Annotations", "주석 벡터"),
    "summary": ("Summary", "요약 벡터"),
    "initial_state": ("Initial state", "초기 상태"),
    "maxout": ("Maxout", "맥스아웃"),
    "readout": ("Readout", "출력 직전 층"),
    "classifier": ("Classifier", "분류기"),
    "dropout": ("Dropout", "드롭아웃"),
    "memory": ("Memory", "메모리"),
    "output": ("Output", "출력"),
    "search": ("Search", "탐색"),
}
"""Parts of a model: English and Korean title."""

PART_OF_NAME = {
    "rnn.annotations": "annotations",
    "rnn.summary": "summary",
    "rnn.last_states": "summary",
    "rnn.initial_state": "initial_state",
    "rnn.both_last_states": "initial_state",
    "conv.input": "input",
    "conv.keys": "keys_values",
    "conv.values": "keys_values",
    "conv.slots": "keys_values",
    "multistep.values": "keys_values",
}
PART_OF_GROUP = {
    "rnn": "recurrent",
    "gru": "recurrent",
    "lstm": "recurrent",
    "elman": "recurrent",
    "conv": "convolution",
    "alignment": "attention",
    "multistep": "attention",
    "hops": "hop_attention",
    "pool": "classifier",
}
"""Part of a name's first word, where it is not the word itself."""
SUBLAYERS = ("self_attention", "ssru", "cross_attention", "feed_forward", "final_norm")


@dataclass
class Stage:
    """One entry of the page's map."""

    id: str
    side: Side
    layer: int | None
    title: str
    title_ko: str
    tensors: list[str] = field(default_factory=list)
    note: StageNote = ""
    """A remark: no slots (a language model), one vector without attention, or several read without attention."""


def new_stage(key: str, side: Side, part: str, layer: int | None = None) -> Stage:
    title, title_ko = TITLES.get(part) or (part.replace("_", " ").capitalize(),) * 2  # of a user's own kind
    return Stage(key, side, layer, title, title_ko)


def layer_number(path: str) -> int | None:
    """Return the layer of a module, from 1; None outside the layers."""
    if match := re.search(r"(?:^|\.)(upper_)?layers\.(\d+)", path):
        return int(match[2]) + (2 if match[1] else 1)
    return 1 if ".first_layer" in path else None


def is_of_source(path: str) -> bool:
    """Return True if a module's tensors have the positions of the source: also the norm of the memory in a decoder."""
    return path.startswith("encoder") or ".cross_attention_memory_norm" in path


def part_of(tensor: TraceTensor) -> str:
    """Return the part of the model that a tensor belongs to."""
    group, _, last = tensor.name.partition(".")
    if group == "residual":
        return last
    for sublayer in SUBLAYERS:
        if f".{sublayer}" in tensor.path:
            return sublayer
    if group == "norm" and (owner := re.search(r"\.(convolution|readout)\b", tensor.path)):
        return owner[1]  # a norm before an activation, not one of a sub-layer
    part = PART_OF_NAME.get(tensor.name) or PART_OF_GROUP.get(group, group)
    if part == "recurrent" and (direction := re.search(r"\.(forward|backward)_", tensor.path)):
        return direction[1]
    return part


def stages_of(tensors: Sequence[TraceTensor], memory: TraceTensor | None) -> list[Stage]:
    """Return the stages of encoder, memory, decoder and output, in the order of the computation."""
    stages: dict[str, Stage] = {}
    positions: dict[str, list[int]] = {}
    for position, tensor in enumerate(tensors):
        side: Side = "encoder" if tensor.path.startswith("encoder") else "decoder"
        part, layer = part_of(tensor), layer_number(tensor.path)
        if part == "output":
            side = "output"
        key = "output" if part == "output" else f"{side}.layers.{layer - 1}.{part}" if layer else f"{side}.{part}"
        if key not in stages:
            stages[key] = new_stage(key, side, part, layer)
        stages[key].tensors.append(tensor.id)
        positions.setdefault(key, []).append(position)
    # some tensors of a stage are computed once, before or after the loop in which the others are
    ordered = sorted(stages.values(), key=lambda stage: median(positions[stage.id]))
    memory_stage = new_stage("memory", "memory", "memory")
    memory_stage.tensors = [memory.id] if memory else []
    by_side = {side: [stage for stage in ordered if stage.side == side] for side in ("encoder", "decoder", "output")}
    return [*by_side["encoder"], memory_stage, *by_side["decoder"], *by_side["output"]]
