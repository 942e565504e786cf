"""Additive attention (Bahdanau, Cho, Bengio 2015)."""

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear


class AdditiveAttention(nn.Module):
    """Weigh slots by v·tanh(W query + U slot): section 3.1, appendix A.1.2."""

    def __init__(self, query_width: int, slot_width: int, hidden_width: int) -> None:
        super().__init__()
        self.query_projection = Linear(query_width, hidden_width, bias=False)
        self.key_projection = Linear(slot_width, hidden_width)
        self.score_vector = nn.Parameter(
            torch.empty(1, hidden_width)
        )  # one row, so that it is drawn as the matrix it is
        nn.init.xavier_uniform_(self.score_vector)

    def keys(self, slots: Tensor) -> Tensor:  # (batch, slot, hidden)
        """U slot does not depend on the query: computed once per sentence."""
        keys: Tensor = self.key_projection(slots)
        return keys

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:  # (batch, query, slot)
        """Weights of the slots for each query (batch, query, width); the mask is (batch, slot)."""
        sums = self.query_projection(query).unsqueeze(2) + keys.unsqueeze(1)  # (batch, query, slot, hidden)
        energy: Tensor = sums.tanh_() @ self.score_vector[0]  # in place: the largest tensor of the loop over time
        return energy.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=-1)
