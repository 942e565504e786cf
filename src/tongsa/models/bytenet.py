"""ByteNet: Neural Machine Translation in Linear Time (Kalchbrenner, Espeholt, Simonyan, van den Oord et al. 2016).

    source ─► embedding ─► [residual block, dilated convolution] × N ─► one slot for each source token
                                                                         │ dynamic unfolding: step t reads slot t
    target ─► embedding ─────────────────────────────────────────────────+─► [block, causal] × N ─► ReLU ─► logits

No attention, no recurrence and no position encoding: the decoder is stacked on the encoder, position on position.
Sections are those of the second version of the paper.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Dilation, Fraction, Kernel, Layers, Width, check_ranges
from tongsa.interface import EncoderDecoder, Memory, PresetName, Task
from tongsa.nn.beam_layout import PerSentence
from tongsa.nn.conv import DilatedConvolution, SeparableConvolution
from tongsa.nn.decoder_state import RowState
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.norms import LayerNorm
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import NO_POSITION_LIMIT, StartPosition
from tongsa.nn.recording import record, record_copy

PRESETS: dict[PresetName, tuple[int, int, int, int, float, str]] = {
    "tiny": (160, 80, 5, 5, 0.1, "target"),
    "small": (256, 128, 5, 5, 0.1, "target"),
    "short": (320, 160, 5, 5, 0.1, "none"),
    "medium": (352, 176, 10, 10, 0.15, "target"),
    "large": (800, 400, 15, 15, 0.1, "all"),
}
"""Width, hidden, encoder_layers, decoder_layers, dropout, tie_embeddings."""


@dataclass(frozen=True, kw_only=True)
class ByteNetConfig:
    """The defaults are the paper's model for WMT English-German, from characters to characters (section 6)."""

    width: Width = 1600
    """Width of embeddings, of the residual sums and of the memory (2d)."""
    hidden: Width = 800
    """Width of the convolution inside a block (d)."""
    encoder_kernel: Kernel = 3
    """Kernel width in the encoder (k), centered on the position."""
    decoder_kernel: Kernel = 3
    """Kernel width in the decoder, ending at the position."""
    encoder_layers: Layers = 30
    """Residual blocks of the encoder."""
    decoder_layers: Layers = 30
    """Residual blocks of the decoder."""
    max_dilation: Dilation = 16
    """The dilation is doubled from block to block up to this number (r), then it starts again at 1 (section 3.5)."""
    convolution: Literal["full", "separable"] = "full"
    """Convolution with the dilation: one matrix as in the paper, or a depthwise separable one (Kaiser et al. 2017)."""
    dropout: Fraction = 0.0
    """On embeddings, on the output of every block and before the output layer."""
    tie_embeddings: Literal["all", "target", "none"] = "none"
    """One matrix for source, target and output; for target and output; or three."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.encoder_kernel % 2 == 0:
            raise ValueError(
                f"encoder_kernel {self.encoder_kernel}: even. Use an odd kernel: it can be centered on a position."
            )

    @property
    def task(self) -> Task:
        return "seq2seq"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        names = ("width", "hidden", "encoder_layers", "decoder_layers", "dropout", "tie_embeddings")
        return {"model": dict(zip(names, PRESETS[name], strict=True))}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        if self.tie_embeddings == "all" and source_vocab_size != target_vocab_size:
            raise ValueError(
                'tie_embeddings = "all": needs one vocabulary for both sides. Set tokenizer.shared = true.'
            )
        source_embedding = target_embedding = ByteNetEmbedding(source_vocab_size, self)
        if self.tie_embeddings != "all":
            target_embedding = ByteNetEmbedding(target_vocab_size, self)
        output_embedding = target_embedding.token_embedding
        if self.tie_embeddings == "none":
            output_embedding = embedding_table(target_vocab_size, self.width)
        encoder = ByteNetEncoder(source_embedding, self)
        return EncoderDecoder(encoder, ByteNetDecoder(target_embedding, output_embedding, self), NO_POSITION_LIMIT)


def dilations(layers: int, max_dilation: int) -> list[int]:
    """Return 1, 2, 4, … up to max_dilation, from the start again until there is one for each layer (section 3.5)."""
    doubled = [1]
    while 2 * doubled[-1] <= max_dilation:
        doubled.append(2 * doubled[-1])
    return [doubled[index % len(doubled)] for index in range(layers)]


class ByteNetEmbedding(nn.Module):
    """√width times the token embedding, so that its elements have variance 1 like the outputs of the blocks."""

    def __init__(self, vocab_size: int, config: ByteNetConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.width)
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:  # (…, width)
        scale = math.sqrt(self.token_embedding.embedding_dim)
        embedded = record("embedding.lookup", self, self.token_embedding(tokens))
        dropped: Tensor = self.dropout(record("embedding.scaled", self, embedded * scale, x=embedded, scale=scale))
        return dropped


class BlockConvolution(nn.Module):
    """Norm, ReLU, 1×1 from 2d to d; norm, ReLU, dilated convolution; norm, ReLU, 1×1 from d to 2d (figure 3, left)."""

    def __init__(self, config: ByteNetConfig, kernel: int, left_padding: int, dilation: int, gain: float) -> None:
        super().__init__()
        self.input_norm = LayerNorm(config.width)
        self.input_projection = Linear(config.width, config.hidden)
        self.window_norm = LayerNorm(config.hidden)
        convolution = DilatedConvolution if config.convolution == "full" else SeparableConvolution
        self.window_convolution = convolution(config.hidden, kernel, left_padding, dilation=dilation)
        self.output_norm = LayerNorm(config.hidden)
        self.output_projection = Linear(config.hidden, config.width, gain=gain)

    def _activate(self, norm: LayerNorm, x: Tensor, mask: Tensor) -> Tensor:
        normed = norm(x, mask)
        return record("conv.relu", self, F.relu(normed), x=normed)

    def _reduce(self, x: Tensor, mask: Tensor) -> Tensor:  # (…, hidden)
        activated = self._activate(self.input_norm, x, mask)
        reduced = record("conv.pointwise", self, self.input_projection(activated), x=activated)
        return self._activate(self.window_norm, reduced, mask)

    def _expand(self, x: Tensor, mask: Tensor) -> Tensor:  # (…, width)
        activated = self._activate(self.output_norm, x, mask)
        return record("conv.pointwise", self, self.output_projection(activated), x=activated)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # (batch, length, width)
        reduced = self._reduce(x, mask)
        # padding is zero, like positions outside the sentence
        inputs = record_copy(reduced * mask.unsqueeze(-1).to(reduced.dtype), reduced)
        return self._expand(self.window_convolution(inputs), mask)

    def step(self, x: Tensor, mask: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """Advance by one position: inputs (row, width) to outputs (row, width) and the next cache."""
        convolved, cache = self.window_convolution.step(self._reduce(x, mask), cache)
        return self._expand(convolved, mask), cache


class ByteNetBlock(nn.Module):
    """x + F(x): section 3.6."""

    def __init__(self, config: ByteNetConfig, kernel: int, left_padding: int, dilation: int, gain: float) -> None:
        super().__init__()
        self.convolution = BlockConvolution(config, kernel, left_padding, dilation, gain)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # (batch, length, width)
        y = self.convolution(x, mask)
        return record("residual.convolution", self, self.dropout.add_residual(x, y), x=x, y=y, scale=1.0)

    def step(self, x: Tensor, mask: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        y, cache = self.convolution.step(x, mask, cache)
        return self.dropout.add_residual(x, y), cache


def build_blocks(config: ByteNetConfig, layers: int, kernel: int, *, causal: bool) -> nn.ModuleList:
    """Return the blocks of one side. As no norm follows the sums, each of N blocks starts scaled by 1/√N."""
    left_padding = kernel - 1 if causal else kernel // 2
    return nn.ModuleList(
        ByteNetBlock(config, kernel, left_padding, dilation, layers**-0.5)
        for dilation in dilations(layers, config.max_dilation)
    )


class ByteNetEncoder(nn.Module):
    """Dilated convolutions over the source: one slot for each token (sections 3.1 and 3.2)."""

    def __init__(self, embedding: ByteNetEmbedding, config: ByteNetConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = build_blocks(config, config.encoder_layers, config.encoder_kernel, causal=False)

    def forward(self, source: Padded) -> Memory:
        x = self.embedding(source.tokens)
        for layer in self.layers:
            x = layer(x, source.mask)
        return Memory(x, source.mask)


class ByteNetMemory(NamedTuple):
    """The memory, zero in the padding."""

    slots: Tensor  # (sentence, slot, width)
    mask: Tensor  # (sentence, slot)


@dataclass(frozen=True)
class ByteNetState(RowState):
    """Decoder state: convolution inputs of earlier positions, and the memory."""

    cache: tuple[Tensor, ...]  # for each layer: the last inputs of its convolution (row, cache length, hidden)
    memory: PerSentence[ByteNetMemory]
    position: StartPosition
    """Position of the next token: one for all rows, or one for each row (row,)."""
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""


class ByteNetReadout(nn.Module):
    """One more 1×1 convolution and ReLU before the output layer, with the norm before the activation (section 3.6)."""

    def __init__(self, config: ByteNetConfig) -> None:
        super().__init__()
        self.output_projection = Linear(config.width, config.width)
        self.norm = LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # (…, width)
        projected = record("readout.output", self, self.output_projection(x), x=x)
        normed = self.norm(projected, mask)
        readout: Tensor = self.dropout(record("readout.relu", self, F.relu(normed), x=normed))
        return readout


class ByteNetDecoder(nn.Module):
    """Causal dilated convolutions over the sum of target embeddings and slots (sections 3.1 to 3.6)."""

    def __init__(self, embedding: ByteNetEmbedding, output_embedding: nn.Embedding, config: ByteNetConfig) -> None:
        super().__init__()
        self.embedding = embedding
        layers = build_blocks(config, config.decoder_layers, config.decoder_kernel, causal=True)
        self.layers: Sequence[ByteNetBlock] = layers  # type: ignore[assignment]
        self.hidden_width = config.hidden
        self.readout = ByteNetReadout(config)
        self.output_embedding = output_embedding
        self.bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings))

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.bias)

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        embedded, mask = self.embedding(target.tokens), target.mask
        # dynamic unfolding: slot t at step t, and zeros after the last slot; a negative padding drops slots
        slots = F.pad(zero_padding(memory).slots, (0, 0, 0, embedded.shape[1] - memory.slots.shape[1]))
        slots = record("unfolding.slots", self, slots, m=memory.slots)
        x = record("unfolding.sum", self, embedded + slots, x=embedded, y=slots)
        for layer in self.layers:
            x = layer(x, mask)
        readout: Tensor = self.readout(x, mask)
        return readout

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> ByteNetState:
        lengths = [layer.convolution.window_convolution.cache_length for layer in self.layers]
        return ByteNetState(
            cache=tuple(memory.slots.new_zeros(memory.slots.shape[0], length, self.hidden_width) for length in lengths),
            memory=PerSentence(zero_padding(memory)),
            position=0,
            output_subset=self.output.subset(vocab_subset),
        )

    def step(self, token: Tensor, state: ByteNetState) -> tuple[Tensor, ByteNetState]:
        x = self.embedding(token) + read_slots(state.memory, torch.zeros_like(token) + state.position)  # (row, width)
        mask = torch.ones_like(token, dtype=torch.bool)
        caches: list[Tensor] = []
        for layer, cache in zip(self.layers, state.cache, strict=True):
            x, next_cache = layer.step(x, mask, cache)
            caches.append(next_cache)
        logits = (state.output_subset or self.output).logits(self.readout(x, mask))
        return logits, replace(state, cache=tuple(caches), position=state.position + 1)


def zero_padding(memory: Memory) -> ByteNetMemory:
    """Return the memory with zeros in the padding, which a decoder reads when its output is longer than the source."""
    return ByteNetMemory(memory.slots * memory.mask.unsqueeze(-1).to(memory.slots.dtype), memory.mask)


def read_slots(memory: PerSentence[ByteNetMemory], positions: Tensor) -> Tensor:  # (row, width)
    """Return the slot at the position of each row (row,); zeros after the last slot of the sentence."""
    slots, mask = memory.tensors
    lengths = mask.sum(dim=1, keepdim=True)  # (sentence, 1)
    grid = memory.scatter(positions)  # (sentence, hypothesis)
    index = torch.minimum(grid, lengths - 1).unsqueeze(-1).expand(-1, -1, slots.shape[2])
    is_inside = (grid < lengths).unsqueeze(-1).to(slots.dtype)
    return memory.gather(slots.gather(1, index) * is_inside)
