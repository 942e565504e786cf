"""Layers without training: gradient against distance; and layers that learn to recall a token from far back."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.multi_head import HeadConfig, SelfAttention
from tongsa.nn.positions import sinusoids
from tongsa.nn.rnn import CellKind, RecurrentLayer

RECURRENT: dict[str, CellKind] = {"rnn": "tanh", "gru": "gru", "lstm": "lstm"}
LAYERS = (*RECURRENT, "self-attention")
WIDTH, HEADS, BATCH, GRADIENT_BATCH = 32, 2, 16, 128
DISTANCES = (1, 2, 4, 8, 16, 32, 64, 128)
VOCABULARY, LEARNING_RATE = 8, 3e-3
TEST_SENTENCES = 500


class SequenceLayer(nn.Module):
    """A recurrent layer, or self-attention over inputs with sinusoidal positions."""

    def __init__(self, name: str) -> None:
        super().__init__()
        if name in RECURRENT:
            self.inner: nn.Module = RecurrentLayer(WIDTH, WIDTH, RECURRENT[name])
        else:
            heads = HeadConfig(count=HEADS, key_width=WIDTH // HEADS, value_width=WIDTH // HEADS)
            self.inner = SelfAttention(WIDTH, heads, "encoder", gain=1.0)

    def forward(self, inputs: Tensor) -> Tensor:  # (batch, length, width)
        if isinstance(self.inner, RecurrentLayer):
            return self.inner(inputs, None)[0]  # type: ignore[no-any-return]
        positions = sinusoids(inputs.shape[1], WIDTH).to(inputs)
        mask = torch.ones(inputs.shape[:2], dtype=torch.bool)
        return self.inner(inputs + positions, mask)  # type: ignore[no-any-return]


def gradients_by_distance(name: str, seed: int) -> list[float]:
    """Return the gradient of the last output by the input at each distance, relative to the four nearest ones."""
    torch.manual_seed(seed)
    layer = SequenceLayer(name).double()
    inputs = torch.randn(GRADIENT_BATCH, max(DISTANCES) + 1, WIDTH, dtype=torch.float64, requires_grad=True)
    last = layer(inputs)[:, -1]
    (gradient,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), inputs)
    norms = gradient.norm(dim=-1).mean(0)  # (position,)
    return [float(norms[-1 - distance] / norms[-5:-1].mean()) for distance in DISTANCES]


class RecallModel(nn.Module):
    """Embedding, one layer, and logits of the first token at the last position."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layer = SequenceLayer(name)
        self.output = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Tensor) -> Tensor:  # (batch, token)
        logits: Tensor = self.output(self.layer(self.embedding(tokens))[:, -1])
        return logits


def learn_recall(name: str, distance: int, seed: int, steps: int) -> float:
    """Train a model to name the token `distance` positions back; return its accuracy on new sequences in percent."""
    torch.manual_seed(seed)
    model, generator = RecallModel(name), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    for _ in range(steps):
        tokens = torch.randint(VOCABULARY, (BATCH, distance + 1), generator=generator)
        loss = F.cross_entropy(model(tokens), tokens[:, 0])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    tokens = torch.randint(VOCABULARY, (TEST_SENTENCES, distance + 1), generator=generator)
    with torch.no_grad():
        return float((model(tokens).argmax(-1) == tokens[:, 0]).float().mean()) * 100
