"""Trained translation models: gradient of an output token by each source token, against their distance."""

import tomllib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from studies.trained_runs import Evaluation
from tongsa import bundle
from tongsa.batch import Batch
from tongsa.demo import read_split
from tongsa.interface import EncoderDecoder

KINDS = {
    "rnn": [
        "model.kind=rnn",
        "model.width=128",
        "model.embedding=96",
        "model.context_input=start",
        "model.output=linear",
    ],
    "rnn_attention": ["model.kind=rnn_attention", "model.width=128", "model.embedding=96", "model.maxout_width=96"],
    "transformer": ["model.width=128", "model.ffn_width=256", "model.encoder_layers=1", "model.decoder_layers=1"],
}
PAIRS, OUTPUTS = 64, 6
"""Long test pairs, and output positions of each of them."""
BINS = ((1, 6), (7, 12), (13, 18), (19, 24), (25, 99))
"""Distances: tokens between the source token and the output, in reading order."""


def source_gradients(model: EncoderDecoder, batch: Batch, position: int) -> Tensor:  # (pair, source token)
    """Return the gradient norm of the reference token's logit at an output position, by each source embedding."""
    embeddings: list[Tensor] = []
    assert isinstance(model.encoder, nn.Module)  # noqa: S101
    table = next(module for module in model.encoder.modules() if isinstance(module, nn.Embedding))
    hook = table.register_forward_hook(lambda _module, _inputs, output: embeddings.append(output))
    logits = model(batch.source, batch.decoder_input)[:, position]
    hook.remove()
    chosen = logits.gather(1, batch.target.tokens[:, position : position + 1]).sum()
    (gradient,) = torch.autograd.grad(chosen, embeddings[0])
    norms: Tensor = gradient.norm(dim=-1)
    return norms


def relative_gradients(model: EncoderDecoder, batch: Batch) -> list[float | None]:
    """Return the mean gradient of each bin of distances, relative to the mean over the source sentence."""
    sums, counts = torch.zeros(len(BINS)), torch.zeros(len(BINS))
    source_lengths, target_lengths = batch.source.lengths, batch.target.lengths
    index = torch.arange(batch.source.tokens.shape[1])
    for position in range(0, int(target_lengths.min()), max(1, int(target_lengths.min()) // OUTPUTS)):
        norms = source_gradients(model.eval(), batch, position)
        is_token = batch.source.mask
        mean = (norms * is_token).sum(1, keepdim=True) / source_lengths.unsqueeze(1)
        distance = source_lengths.unsqueeze(1) - index + position
        for i, (low, high) in enumerate(BINS):
            inside = is_token & (distance >= low) & (distance <= high)
            sums[i] += (norms / mean)[inside].sum()
            counts[i] += inside.sum()
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def evaluate(run: Path) -> Evaluation:
    """Return the gradients of the trained model, and of one with the same settings and new weights."""
    loaded = bundle.load_bundle(run)
    loaded.model.requires_grad_()
    batch = loaded.translator().encode_pairs(read_split("test-long")[:PAIRS]).batch(np.arange(PAIRS))
    torch.manual_seed(tomllib.loads((run / "run.toml").read_text("utf-8"))["training"]["seed"])
    untrained = loaded.config.build(len(loaded.source_tokenizer), len(loaded.target_tokenizer))
    return {"untrained": relative_gradients(untrained, batch), "trained": relative_gradients(loaded.model, batch)}
