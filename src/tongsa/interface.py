"""The page to read first: what an encoder leaves, and how it is read.

An encoder leaves a Memory: slots and a mask. Whatever reads it (decoder, classifier, search, picture) sees only that.
Search and ensembles are written once against this page, never against a kind of model.
"""

from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from tongsa.batch import Padded

Task = Literal["seq2seq", "language_model", "classification"]
"""What is learnt: a target for each source; texts by themselves, without a source; one label for each source."""


class Memory(NamedTuple):
    slots: Tensor  # (batch, slot, width)
    mask: Tensor  # (batch, slot), True where a slot may be read


class DecoderState(Protocol):
    """What a decoder carries from step to step, one row for each hypothesis."""

    def select(self, rows: Tensor) -> Self:
        """The same state for these rows: how a beam repeats, drops and reorders its hypotheses."""
        ...

    def concat(self, other: Self) -> Self:
        """These rows, and behind them those of another state, which may have begun later: how places are refilled."""
        ...


S = TypeVar("S", bound=DecoderState)


class Encoder(Protocol):
    def __call__(self, source: Padded) -> Memory: ...


class Decoder(Protocol[S]):
    """A network, an ensemble, or a ten-line table in a test. A classifier is one too: its only piece is the label."""

    def __call__(self, target: Padded, memory: Memory) -> Tensor:
        """Teacher forcing: logits (batch, length, piece) for a target that begins with <s>."""
        ...

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> S:
        """The state before the first piece. From there on only the pieces `among` (piece,) are scored, if given."""
        ...

    def step(self, token: Tensor, state: S) -> tuple[Tensor, S]:
        """One piece (batch,) further: logits (batch, piece), or of those among the state's; and the state after it."""
        ...


class EncoderDecoder(nn.Module):
    """Source and shifted target in, logits out."""

    encoder: Encoder
    decoder: Decoder[Any]

    def __init__(self, encoder: Encoder, decoder: Decoder[Any], max_positions: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.max_positions = max_positions
        """The longest sequence, </s> included, that either side can hold."""

    def forward(self, source: Padded, target: Padded) -> Tensor:  # (batch, length, piece)
        return self.decoder(target, self.encoder(source))


class ModelConfig(Protocol):
    """Settings of a kind of model: a frozen dataclass that builds it."""

    @property
    def task(self) -> Task: ...

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        """A new model for these vocabulary sizes, its weights drawn from torch's generator."""
        ...


def named_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every number of a model by name; shared ones once."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


@torch.no_grad()
def load_tensors(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Set every number of a model; the names must be the same on both sides."""
    own = named_tensors(model)
    if own.keys() != tensors.keys():
        raise KeyError(f"names differ: {sorted(own.keys() ^ tensors.keys())[:4]}")
    for name, value in tensors.items():
        if own[name].shape != value.shape:
            raise ValueError(f"{name}: {tuple(value.shape)} where {tuple(own[name].shape)} is wanted")
        own[name].copy_(value)
