"""Additive attention (Bahdanau, Cho, Bengio 2015)."""

import torch
from torch import Tensor, nn

from tongsa.layers.linear import Linear


class AdditiveAttention(nn.Module):
    """Weigh slots by v·tanh(W query + U slot): section 3.1, appendix A.1.2."""

    def __init__(self, query: int, slot: int, hidden: int) -> None:
        super().__init__()
        self.from_query = Linear(query, hidden, bias=False)
        self.from_slot = Linear(slot, hidden)
        self.score = nn.Parameter(torch.empty(1, hidden))  # one row, so that it is drawn as the matrix it is
        nn.init.xavier_uniform_(self.score)

    def keys(self, slots: Tensor) -> Tensor:  # (batch, slot, hidden)
        """U slot does not depend on the query: computed once per sentence."""
        keys: Tensor = self.from_slot(slots)
        return keys

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:  # (batch, query, slot)
        """Weights of the slots for each query (batch, query, width); the mask is (batch, slot)."""
        sums = self.from_query(query).unsqueeze(2) + keys.unsqueeze(1)  # (batch, query, slot, hidden)
        energy: Tensor = sums.tanh_() @ self.score[0]  # in place: the largest tensor of the loop over time
        return energy.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=-1)
