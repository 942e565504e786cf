"""Additive attention (Bahdanau, Cho, Bengio 2015)."""

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear


class AdditiveAttention(nn.Module):
    """Attention weights from the scores v·tanh(W query + U slot): section 3.1, appendix A.1.2."""

    def __init__(self, query_width: int, slot_width: int, hidden_width: int) -> None:
        super().__init__()
        self.query_projection = Linear(query_width, hidden_width, bias=False)
        self.key_projection = Linear(slot_width, hidden_width)
        # v as a matrix with one row: Glorot initialization needs two dimensions
        self.score_vector = nn.Parameter(torch.empty(1, hidden_width))
        nn.init.xavier_uniform_(self.score_vector)

    def keys(self, slots: Tensor) -> Tensor:  # (batch, slot, hidden)
        """Project the slots once per sentence: U slot does not depend on the query."""
        keys: Tensor = self.key_projection(slots)
        return keys

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:  # (batch, query, slot)
        """Return the weights of the slots for queries (batch, query, width); the mask is (batch, slot)."""
        sums = self.query_projection(query).unsqueeze(2) + keys.unsqueeze(1)  # (batch, query, slot, hidden)
        scores: Tensor = sums.tanh_() @ self.score_vector[0]  # in place: this is the largest tensor of a time step
        return scores.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=-1)
