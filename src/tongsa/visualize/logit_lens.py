"""Logit lens: the token that each state of a Transformer decoder's residual stream would write (nostalgebraist 2020).

    x_l ─► final norm ─► output projection ─► softmax

Every sub-layer adds to the same vector, so the last two steps of the model can read it after any layer, as if the
layers that follow added nothing. After the last layer the lens shows what the model itself writes. Other kinds of
model have no such stream: their lens is empty.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tongsa.models.transformer.residual import SublayerNorm
from tongsa.nn.recording import record, recording
from tongsa.visualize.panels import AnyTextModel
from tongsa.visualize.trace_example import RecordedRun
from tongsa.visualize.trace_tensors import TraceTensor

RESIDUAL_STREAM = frozenset(
    {
        "embedding.sum",
        "residual.self_attention",
        "residual.ssru",
        "residual.cross_attention",
        "residual.feed_forward",
    }
)
"""Recorded names of the stream's states; with post-norm, the norm of the sum is the state."""


class LensToken(NamedTuple):
    """The likeliest token of one position, and its probability."""

    token: str
    probability: float


def residual_stream(decoder: Any, tensors: Sequence[TraceTensor], owners: Sequence[TraceTensor]) -> list[TraceTensor]:
    """Return the states of a decoder's residual stream in order; none for a decoder without one."""
    norm = next((module for module in decoder.modules() if isinstance(module, SublayerNorm)), None)
    sums = [tensor for tensor in tensors if tensor.path.startswith("decoder") and tensor.name in RESIDUAL_STREAM]
    if norm is None or len(sums) < 2:  # another kind, or `residual = false`: only the embeddings are a sum
        return []
    if norm.is_pre_norm:
        return sums
    # post-norm: what the next sub-layer reads is the norm of the sum
    norms = {owner.id: norm for norm, owner in _norm_inputs(tensors, owners)}
    return [norms.get(tensor.id, tensor) for tensor in sums]


def _norm_inputs(
    tensors: Sequence[TraceTensor], owners: Sequence[TraceTensor]
) -> Iterator[tuple[TraceTensor, TraceTensor]]:
    """Yield each norm with the tensor that it normalizes."""
    for tensor in tensors:
        if tensor.name.startswith("norm.") and "x" in tensor.first.sources:
            yield tensor, owners[tensor.first.sources["x"]]


@torch.inference_mode()
def logit_lens(
    text_model: AnyTextModel, run: RecordedRun, tensors: Sequence[TraceTensor], owners: Sequence[TraceTensor]
) -> Mapping[str, list[LensToken]]:
    """Return, by tensor id, the likeliest token of each position at each state of the decoder's residual stream."""
    model = text_model.model
    decoder: Any = model.decoder
    lens: dict[str, list[LensToken]] = {}
    for state in residual_stream(decoder, tensors, owners):
        hidden = state.first.value  # (1, position, width)
        with recording(model, edits=run.recorder.edits) as recorder:  # an edited norm is edited here too
            recorder.enter("decoder")
            normed = decoder.final_norm(hidden, torch.ones_like(hidden[..., 0], dtype=torch.bool))
            logits: Tensor = record("output.logits", decoder, decoder.output.logits(normed), h=normed)
        probabilities, tokens = logits[0].float().softmax(dim=-1).max(dim=-1)
        names = text_model.target_tokenizer.token_strings(tokens.tolist())
        rounded = [float(f"{probability:.4g}") for probability in probabilities.tolist()]
        lens[state.id] = [LensToken(*row) for row in zip(names, rounded, strict=True)]
    return lens
