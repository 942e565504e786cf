"""The interface of all models, the page to read first: an encoder returns a Memory, a decoder reads it.

    source ──encoder──► Memory ──decoder──► logits of the next token
                        slots + mask

Decoders, classifiers, search, ensembles and visualizations see only the Memory. Search and ensembles depend on this
interface alone, so they are written once for all kinds of model.
"""

from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.nn.output import OutputProjection

Task = Literal["seq2seq", "language_model", "classification"]
"""Task of a model: a target for each source; text without a source; one label for each source."""


class Memory(NamedTuple):
    """The output of an encoder: vectors that a decoder may attend to."""

    slots: Tensor  # (batch, slot, width)
    mask: Tensor  # (batch, slot), True where a slot may be read


class DecoderState(Protocol):
    """The state of a decoder between two steps: one row for each hypothesis.

    `nn.decoder_state.RowState` implements both methods for any dataclass of tensors.
    """

    def select(self, rows: Tensor) -> Self:
        """Return the state of these rows: a beam repeats, drops and reorders its hypotheses."""
        ...

    def concat(self, other: Self) -> Self:
        """Return these rows followed by those of another state, perhaps at another step (continuous batching)."""
        ...


S = TypeVar("S", bound=DecoderState)


class Encoder(Protocol):
    """An encoder network: from source tokens to a Memory."""

    def __call__(self, source: Padded) -> Memory: ...


class StepDecoder(Protocol[S]):
    """Step-by-step decoding: the only interface that search needs. Tests implement it with a table of scores."""

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> S:
        """Return the state before the first token. With `vocab_subset` (token,) the steps score only these tokens."""
        ...

    def step(self, token: Tensor, state: S) -> tuple[Tensor, S]:
        """Read one token (row,); return the logits of the next (row, token) and the state after it.

        The logits are a new tensor, which the search overwrites.
        """
        ...


class Decoder(StepDecoder[S], Protocol[S]):
    """A decoder network. A classifier is one too: its target is a single label."""

    @property
    def output(self) -> OutputProjection:
        """The output layer, from hidden states to logits."""
        ...

    def hidden(self, target: Padded, memory: Memory) -> Tensor:
        """Teacher forcing: the input (batch, length, width) of the output layer, for a target that begins with <s>."""
        ...

    def __call__(self, target: Padded, memory: Memory) -> Tensor:
        """Return output.logits(hidden(target, memory)): (batch, length, token)."""
        ...


class EncoderDecoder(nn.Module):
    """A whole model: source and shifted target in, logits out."""

    encoder: Encoder
    decoder: Decoder[Any]

    def __init__(self, encoder: Encoder, decoder: Decoder[Any], max_positions: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.max_positions = max_positions
        """Longest sequence, </s> included, that either side can process."""

    def forward(self, source: Padded, target: Padded) -> Tensor:  # (batch, length, token)
        return self.decoder(target, self.encoder(source))


PresetName = Literal["tiny", "small", "short", "medium", "large"]
"""Presets of all kinds, from few parameters to many. `runs/presets/NAME.toml` has the settings that all kinds share."""


class ModelConfig(Protocol):
    """Settings of a kind of model: a frozen dataclass that builds it.

    A method `preset(name: PresetName)` is optional. It returns the sizes of the kind as tables of a recipe, and what
    else differs from the shared settings: {"model": {"width": 256}, "training": {"lr": {"peak": 2e-3}}}.
    Without it, the defaults of the dataclass are used.
    """

    @property
    def task(self) -> Task: ...

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        """Return a new model for these vocabulary sizes, its weights drawn from torch's generator."""
        ...


def named_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return all parameters and buffers by name; a shared one appears once."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


@torch.no_grad()
def load_tensors(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copy values into all parameters and buffers; names and shapes must match exactly."""
    current = named_tensors(model)
    if current.keys() != tensors.keys():
        raise KeyError(f"tensor names differ: {sorted(current.keys() ^ tensors.keys())[:4]}")
    for name, value in tensors.items():
        if current[name].shape != value.shape:
            raise ValueError(f"{name}: shape {tuple(value.shape)} does not match {tuple(current[name].shape)}")
        current[name].copy_(value)
