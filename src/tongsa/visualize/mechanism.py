"""Score function and mask of each attention role of a model, for the captions and the hatching of the page."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import nn

Score = Literal["scaled-dot", "dot", "additive", "alignment", "multi-step", "hops"]
"""q·k/√d_k, q·k or v·tanh(q + k) of heads; the alignment model of Bahdanau et al. 2015; the multi-step attention of
Gehring et al. 2017; the hops of Lin et al. 2017."""


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Score function of a role, and the keys that a query may read."""

    score: Score | None = None
    """None if it is not known."""
    before: int | None = None
    """Number of keys that a query sees before its own; None is all."""
    after: int | None = None
    """Number of keys that a query sees after its own; None is all, 0 is causal attention."""

    def allowed_cells(self, queries: int, keys: int) -> NDArray[np.bool_]:  # (query, key)
        """Return the mask of the cells that may be read."""
        offset = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        allowed = np.ones((queries, keys), dtype=np.bool_)
        if self.before is not None:
            allowed &= offset >= -self.before
        if self.after is not None:
            allowed &= offset <= self.after
        return allowed


UNMASKED = Mechanism()
CAUSAL = Mechanism(after=0)


class HasWeights(Protocol):
    """An example with attention weights by role."""

    @property
    def weights(self) -> Iterable[str]: ...


def default_mechanisms(examples: Iterable[HasWeights]) -> dict[str, Mechanism]:
    """Return the masks of roles when the model is not known: a decoder is causal."""
    roles = dict.fromkeys(role for example in examples for role in example.weights)
    return {role: CAUSAL if role == "decoder" else UNMASKED for role in roles}


def attention_mechanisms(model: "nn.Module") -> dict[str, Mechanism]:
    """Return the mechanism of each role, read from the modules of a model."""
    # imported here: the server's own process, which draws no page, does not import torch
    from tongsa.models.conv_s2s import MultiStepAttention
    from tongsa.nn.additive_attention import AdditiveAttention
    from tongsa.nn.multi_head import CrossAttention, SelfAttention

    mechanisms = {"decoder": CAUSAL, "hops": Mechanism(score="hops")}
    for module in model.modules():
        if isinstance(module, SelfAttention):
            before, after = module.window or (None, 0 if module.role == "decoder" else None)
            mechanisms[module.role] = Mechanism(score=module.heads.score_function, before=before, after=after)
        elif isinstance(module, CrossAttention):
            mechanisms["cross"] = Mechanism(score=module.heads.score_function)
        elif isinstance(module, MultiStepAttention):
            mechanisms["cross"] = Mechanism(score="multi-step")
        elif isinstance(module, AdditiveAttention):
            mechanisms["cross"] = Mechanism(score="alignment")
    return mechanisms
