"""Additive attention (Bahdanau, Cho, Bengio 2015)."""

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear
from tongsa.nn.recording import record


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
        return record("alignment.key", self, self.key_projection(slots), x=slots)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:  # (batch, query, slot)
        """Return the weights of the slots for queries (batch, query, width); the mask is (batch, slot)."""
        projected = record("alignment.query", self, self.query_projection(query), x=query)
        sums = projected.unsqueeze(2) + keys.unsqueeze(1)  # (batch, query, slot, hidden)
        scores: Tensor = sums.tanh_() @ self.score_vector[0]  # in place: this is the largest tensor of a time step
        scores = record("alignment.scores", self, scores, Q=projected, K=keys, v=self.score_vector)
        masked = scores.masked_fill(~mask.unsqueeze(1), -torch.inf)
        masked = record("alignment.masked", self, masked, S=scores, mask=mask.unsqueeze(1))
        return record("alignment.weights", self, masked.softmax(dim=-1), S=masked)
