"""One layer of self-attention that must report its neighbors, with one head or several; averaging without training."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from studies.study import MeasureOptions
from tongsa.nn.multi_head import HeadConfig, SelfAttention
from tongsa.nn.positions import sinusoids
from tongsa.nn.recording import recording

HEADS = (1, 2, 4, 8)
WIDTH, VOCABULARY, LENGTH = 64, 12, 16
OFFSETS = (-2, -1, 1, 2)
"""Neighbors that every position must name, each with its offset."""
STEPS, BATCH, LEARNING_RATE = 800, 32, 3e-3
TEST_SENTENCES = 500
SPREAD_LENGTHS = (4, 16, 64, 256)


def build_attention(heads: int) -> SelfAttention:
    """Return self-attention whose heads divide the same width: all have the same number of parameters."""
    config = HeadConfig(count=heads, key_width=WIDTH // heads, value_width=WIDTH // heads)
    return SelfAttention(WIDTH, config, "encoder", gain=1.0)


class NeighborModel(nn.Module):
    """Embedding and position, one attention without a residual, logits of the token at each offset."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.attention = build_attention(heads)
        self.output = nn.Linear(WIDTH, len(OFFSETS) * VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:  # (batch, length, offset, token)
        x = self.embedding(tokens) + sinusoids(tokens.shape[1], WIDTH)
        mask = torch.ones(tokens.shape, dtype=torch.bool)
        logits: Tensor = self.output(self.attention(x, mask))
        return logits.view(*tokens.shape, len(OFFSETS), VOCABULARY)


def neighbors(tokens: Tensor) -> Tensor:  # (batch, length - 4, offset)
    """Return the tokens at each offset of the positions that have all of them."""
    edge, length = max(OFFSETS), tokens.shape[1]
    return torch.stack([tokens[:, edge + offset : length - edge + offset] for offset in OFFSETS], dim=-1)


def train_neighbors(heads: int, seed: int, steps: int) -> dict[str, float]:
    """Train one model; return the accuracy for each neighbor on new sentences, and how many positions a head reads."""
    torch.manual_seed(seed)
    model = NeighborModel(heads)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    generator = torch.Generator().manual_seed(seed)
    inner = slice(max(OFFSETS), LENGTH - max(OFFSETS))
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / steps)
        tokens = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=generator)
        loss = F.cross_entropy(model(tokens)[:, inner].flatten(0, 2), neighbors(tokens).flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    tokens = torch.randint(VOCABULARY, (TEST_SENTENCES, LENGTH), generator=generator)
    with torch.no_grad(), recording(model) as recorder:
        right = model(tokens)[:, inner].argmax(-1) == neighbors(tokens)
    (weights,) = (recorded.value for recorded in recorder.tensors if recorded.name == "attention.weights")
    entropy = -torch.xlogy(weights, weights).sum(-1)[:, :, inner].mean()
    return {"accuracy": float(right.float().mean()) * 100, "positions": float(entropy.exp())}


def output_spread(heads: int, length: int, seed: int) -> float:
    """Return how much the outputs of an untrained layer differ between positions, relative to its values.

    Ratio of standard deviations over positions: 1 if each output is the value of one position, 0 if all are the mean.
    """
    torch.manual_seed(seed)
    attention = build_attention(heads)
    with torch.no_grad(), recording(attention) as recorder:
        attention(torch.randn(4, length, WIDTH), torch.ones(4, length, dtype=torch.bool))
    by_name = {recorded.name: recorded.value for recorded in recorder.tensors}
    context, values = by_name["attention.context"], by_name["attention.value"]
    return float(context.std(2).mean() / values.std(2).mean())


def measure(options: MeasureOptions) -> dict[str, Any]:
    steps = 30 if options.quick else STEPS
    trained = {heads: [train_neighbors(heads, seed, steps) for seed in options.seeds] for heads in HEADS}
    return {
        "heads": list(HEADS),
        "steps": steps,
        "offsets": list(OFFSETS),
        "vocabulary": VOCABULARY,
        "accuracy": [[seed["accuracy"] for seed in trained[heads]] for heads in HEADS],
        "positions": [[seed["positions"] for seed in trained[heads]] for heads in HEADS],
        "spread_lengths": list(SPREAD_LENGTHS),
        "spread": {
            heads: [[output_spread(heads, length, seed) for seed in options.seeds] for length in SPREAD_LENGTHS]
            for heads in (HEADS[0], HEADS[-1])
        },
    }
