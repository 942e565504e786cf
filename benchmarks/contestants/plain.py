"""`torch.nn.Transformer`, embeddings, sinusoids and a tied output, as tutorials write it.

It also applies dropout to attention weights and in the feed-forward network, unlike the paper, tongsa and Marian.
The contestant `plain_residual` is the same model without those two: the stricter comparison.
"""

import math

import torch
import torch.nn.functional as F
from ordinary import Ordinary
from task import PAD, Corpus, Task
from torch import Tensor, nn
from work import serve

MAX_POSITIONS = 512


class Plain(nn.Module):
    def __init__(self, task: Task, vocab_size: int) -> None:
        super().__init__()
        size = task.size
        self.width = size.width
        self.embedding = nn.Embedding(vocab_size, size.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=size.width**-0.5)
        self.dropout = nn.Dropout(task.dropout)
        self.transformer = nn.Transformer(
            size.width, size.heads, size.layers, size.layers, size.ffn_width, task.dropout, batch_first=True
        )
        self.register_buffer("positions", sinusoids(MAX_POSITIONS, size.width), persistent=False)

    def embed(self, tokens: Tensor) -> Tensor:
        embeddings = self.embedding(tokens) * math.sqrt(self.width)
        return self.dropout(embeddings + self.positions[: tokens.shape[1]])

    def forward(self, source: Tensor, decoder_input: Tensor) -> Tensor:  # (batch, length, vocabulary)
        length = decoder_input.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden = self.transformer(
            self.embed(source),
            self.embed(decoder_input),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=decoder_input == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)


def sinusoids(length: int, width: int) -> Tensor:  # (position, width)
    angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def residual_only(model: Plain) -> Plain:
    """Keep the dropout of the residual branches and remove the others."""
    for module in model.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout = nn.Dropout(0.0)
    return model


def contestant(task: Task, corpus: Corpus) -> Ordinary:
    model = Plain(task, corpus.vocab_size)
    return Ordinary(residual_only(model) if task.kind == "plain_residual" else model, task, corpus)


if __name__ == "__main__":
    serve(contestant)
