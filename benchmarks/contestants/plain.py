"""`torch.nn.Transformer`, embeddings, sinusoids and a tied output, as tutorials write it.

Its dropout also falls on attention weights and inside the position-wise network, where the paper, tongsa and Marian
have none. The contestant `plain_residual` is the same model without those two: the stricter comparison.
"""

import math

import torch
import torch.nn.functional as F
from ordinary import Ordinary
from task import PAD, Corpus, Task
from torch import Tensor, nn
from work import serve

LONGEST = 512


class Plain(nn.Module):
    def __init__(self, task: Task, pieces: int) -> None:
        super().__init__()
        size = task.size
        self.width = size.width
        self.vectors = nn.Embedding(pieces, size.width, padding_idx=PAD)
        nn.init.normal_(self.vectors.weight, std=size.width**-0.5)
        self.dropout = nn.Dropout(task.dropout)
        self.transformer = nn.Transformer(
            size.width, size.heads, size.layers, size.layers, size.inner, task.dropout, batch_first=True
        )
        self.register_buffer("positions", sinusoids(LONGEST, size.width), persistent=False)

    def embedded(self, pieces: Tensor) -> Tensor:
        vectors = self.vectors(pieces) * math.sqrt(self.width)
        return self.dropout(vectors + self.positions[: pieces.shape[1]])

    def forward(self, source: Tensor, shifted: Tensor) -> Tensor:  # (batch, length, piece)
        length = shifted.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden = self.transformer(
            self.embedded(source),
            self.embedded(shifted),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=shifted == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.vectors.weight)


def sinusoids(length: int, width: int) -> Tensor:  # (place, width)
    angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def residual_only(model: Plain) -> Plain:
    """Dropout on what each sub-layer adds, and nowhere else in it."""
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout = nn.Dropout(0.0)
    return model


def contestant(task: Task, corpus: Corpus) -> Ordinary:
    model = Plain(task, corpus.pieces)
    return Ordinary(residual_only(model) if task.kind == "plain_residual" else model, task, corpus)


if __name__ == "__main__":
    serve(contestant)
