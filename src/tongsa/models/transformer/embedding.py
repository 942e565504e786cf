"""The input of both stacks: token embeddings and positions (Vaswani et al. 2017, sections 3.4 and 3.5)."""

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.models.transformer.config import TransformerStackConfig
from tongsa.nn.dropout import Dropout
from tongsa.nn.kv_cache import RowGroup
from tongsa.nn.output import embedding_table
from tongsa.nn.positions import PositionalEncoding
from tongsa.nn.recording import record


class TransformerEmbedding(nn.Module):
    """√width times the token embedding plus the position, with dropout (sections 3.4, 3.5, 5.4).

    Without `scale_embeddings` the factor √width is left out.
    """

    def __init__(self, vocab_size: int, config: TransformerStackConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.width)
        self.positional_encoding = PositionalEncoding(
            config.positions, config.width, config.max_positions, config.sinusoid
        )
        self.scales = config.scale_embeddings
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:  # (batch, length, width)
        """Embed tokens (batch, length); the first is at position `start`."""
        embedded = record("embedding.lookup", self, self.token_embedding(tokens))
        if self.scales:
            scale = math.sqrt(self.token_embedding.embedding_dim)
            embedded = record("embedding.scaled", self, embedded * scale, x=embedded, scale=scale)
        positions = self.positional_encoding(start, tokens.shape[1], tokens.device)
        positions = record("embedding.position", self, positions)
        dropped: Tensor = self.dropout(record("embedding.sum", self, embedded + positions, x=embedded, y=positions))
        return dropped

    def step(self, token: Tensor, groups: Sequence[RowGroup]) -> Tensor:  # (row, width)
        """Embed one token of each row (row,), the rows of each group at their own position: not recorded."""
        x = F.embedding(token, self.token_embedding.weight)
        if self.scales:
            x = x.mul_(math.sqrt(self.token_embedding.embedding_dim))
        for group in groups:
            position = self.positional_encoding.forward(group.position, 1, token.device)
            x[group.rows].add_(position)
        return x
