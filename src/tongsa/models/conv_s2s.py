"""Convolutional Sequence to Sequence Learning (Gehring, Auli, Grangier, Yarats, Dauphin 2017).

    source ─► embedding e ─► [residual gated convolution] × N ─► keys z, values z + e (the slots of the memory)
                                                                       │
    target ─► embedding g ─► [causal gated convolution ─► attention] × N ─► logits

Weight normalization is left out: the paper uses it to speed up training (section 4.2), and it changes no equation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Kernel, Layers, PositionCount, Width, check_ranges
from tongsa.interface import EncoderDecoder, Memory, PresetName, Task
from tongsa.nn.beam_layout import PerSentence
from tongsa.nn.conv import GatedConvolution, init_normal
from tongsa.nn.decoder_state import RowState
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.output import OutputProjection, embedding_table
from tongsa.nn.positions import PositionalEncoding, StartPosition
from tongsa.nn.recording import record, record_copy, record_weights

EMBEDDING_STD = 0.1
"""Standard deviation of the initial embeddings (section 3.5)."""
SQRT_HALF = math.sqrt(0.5)
"""Factor of each residual sum: a sum of two inputs has twice their variance (section 3.4)."""


PRESETS: dict[PresetName, tuple[int, int, int, int, float, str]] = {
    "tiny": (128, 128, 2, 2, 0.1, "target"),
    "small": (160, 192, 3, 2, 0.1, "target"),
    "short": (256, 256, 3, 2, 0.1, "none"),
    "medium": (256, 256, 5, 4, 0.15, "target"),
    "large": (512, 512, 11, 9, 0.1, "all"),
}
"""Width, hidden, encoder_layers, decoder_layers, dropout, tie_embeddings."""


@dataclass(frozen=True, kw_only=True)
class ConvS2SConfig:
    """The defaults are the paper's model for WMT'16 English-Romanian."""

    width: Width = 512
    """Width of embeddings, of the memory and of the input of the output layer (f)."""
    hidden: Width = 512
    """Width of the output of every convolution (d)."""
    kernel: Kernel = 3
    """Kernel width (k): centered on the position in the encoder, ending at it in the decoder."""
    encoder_layers: Layers = 20
    """Convolutions of the encoder."""
    decoder_layers: Layers = 20
    """Convolutions of the decoder; each has its own attention."""
    dropout: Fraction = 0.2
    """On embeddings, on the input of every convolution and before the output layer (section 4.2)."""
    max_positions: PositionCount = 1024
    """Number of learned position embeddings, which is the longest sequence (section 3.1)."""
    tie_embeddings: Literal["all", "target", "none"] = "none"
    """One matrix for source, target and output; for target and output; or three, as in the paper."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel {self.kernel}: even. Use an odd kernel: it can be centered on a position.")

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
        source_embedding = ConvEmbedding(source_vocab_size, self)
        target_embedding = source_embedding if self.tie_embeddings == "all" else ConvEmbedding(target_vocab_size, self)
        if self.tie_embeddings == "none":
            output_embedding, std = embedding_table(target_vocab_size, self.width), self._output_std
        else:
            output_embedding, std = target_embedding.token_embedding, EMBEDDING_STD
        nn.init.normal_(output_embedding.weight, std=std)
        encoder = ConvEncoder(source_embedding, self)
        return EncoderDecoder(encoder, ConvDecoder(target_embedding, output_embedding, self), self.max_positions)

    @property
    def _output_std(self) -> float:
        return math.sqrt((1 - self.dropout) / self.width)


class ConvEmbedding(nn.Module):
    """Token embedding plus position embedding (section 3.1), both from N(0, 0.1) (section 3.5)."""

    def __init__(self, vocab_size: int, config: ConvS2SConfig) -> None:
        super().__init__()
        self.token_embedding = embedding_table(vocab_size, config.width)
        self.positional_encoding = PositionalEncoding("learned", config.width, config.max_positions)
        self.dropout = Dropout(config.dropout)
        for table in (self.token_embedding, self.positional_encoding.learned_embedding):
            assert table is not None  # noqa: S101 - for the type: these positions are learned
            nn.init.normal_(table.weight, std=EMBEDDING_STD)

    def forward(self, tokens: Tensor, start: StartPosition = 0) -> Tensor:  # (batch, length, width)
        embedded = record("embedding.lookup", self, self.token_embedding(tokens))
        positions = self.positional_encoding(start, tokens.shape[1], tokens.device)
        positions = record("embedding.position", self, positions)
        dropped: Tensor = self.dropout(record("embedding.sum", self, embedded + positions, x=embedded, y=positions))
        return dropped


class ConvEncoder(nn.Module):
    """Residual convolutions; a slot holds the key z and the value z + e of equation 2, concatenated."""

    def __init__(self, embedding: ConvEmbedding, config: ConvS2SConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.input_projection = init_normal(Linear(config.width, config.hidden), 1 - config.dropout)
        self.layers = nn.ModuleList(
            GatedConvolution(config.hidden, config.kernel, config.kernel // 2, keep_prob=1 - config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.output_projection = init_normal(Linear(config.hidden, config.width), 1.0)
        self.decoder_layers = config.decoder_layers

    def forward(self, source: Padded) -> Memory:
        mask = source.mask.unsqueeze(-1).to(self.input_projection.weight.dtype)  # (batch, length, 1)
        embedded = self.embedding(source.tokens)  # (batch, length, width)
        x = record("conv.input", self, self.input_projection(embedded), x=embedded)  # (batch, length, hidden)
        for layer in self.layers:
            y = layer(record_copy(self.dropout(x) * mask, x))  # padding is zero, like positions outside the sentence
            x = record("residual.convolution", layer, (x + y) * SQRT_HALF, x=x, y=y, scale=SQRT_HALF)
        keys = self.output_projection(x)  # (batch, length, width)
        # same values, but the gradient is divided by the number of decoder layers that read them (section 3.4)
        keys = record("conv.keys", self, torch.lerp(keys.detach(), keys, 1 / self.decoder_layers), x=x)
        values = record("conv.values", self, keys + embedded, x=keys, y=embedded)
        slots = record("conv.slots", self, torch.cat([keys, values], dim=-1), x=keys, y=values)
        return Memory(slots, source.mask)


class ConvMemory(NamedTuple):
    """Keys, values and mask for the attention of all layers, computed once for each sentence."""

    keys: Tensor  # (sentence, slot, width)
    values: Tensor  # (sentence, slot, width)
    mask: Tensor  # (sentence, slot)


def precompute_memory(decoder: nn.Module, memory: Memory) -> ConvMemory:
    """Split slots into keys and values, and scale the values by m √(1/m) = √m for m slots (section 3.4).

    A mean over m slots has 1/m of their variance: the factor restores it.
    """
    keys, values = memory.slots.chunk(2, dim=-1)
    scale = memory.mask.sum(dim=1).to(values.dtype).view(-1, 1, 1).sqrt()
    values = record("multistep.values", decoder, values * scale, x=values, scale=scale)
    return ConvMemory(keys, values, memory.mask)


class MultiStepAttention(nn.Module):
    """c = Σ a (z + e) with a = softmax(d·z) and d = W h + b + g: equations 1 and 2."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.query_projection = init_normal(Linear(config.hidden, config.width), 1.0)
        self.output_projection = init_normal(Linear(config.width, config.hidden), 1.0)

    def forward(self, hidden: Tensor, embedded: Tensor, memory: ConvMemory) -> Tensor:  # (batch, query, hidden)
        query = record("multistep.query", self, self.query_projection(hidden) + embedded, h=hidden, g=embedded)
        scores = query @ memory.keys.mT  # (batch, query, slot)
        scores = record("multistep.scores", self, scores, Q=query, K=memory.keys, scale=1.0)
        mask = memory.mask.unsqueeze(1)
        masked = record("multistep.masked", self, scores.masked_fill(~mask, -torch.inf), S=scores, mask=mask)
        weights = record("multistep.weights", self, masked.softmax(dim=-1), S=masked)
        record_weights("cross", weights.unsqueeze(1))
        context = record("multistep.context", self, weights @ memory.values, A=weights, V=memory.values)
        return record("multistep.output", self, self.output_projection(context), x=context)


@dataclass(frozen=True)
class ConvState(RowState):
    """Decoder state: convolution inputs of earlier positions, and the memory."""

    cache: tuple[Tensor, ...]  # for each layer: the last inputs of its convolution (row, kernel - 1, hidden)
    memory: PerSentence[ConvMemory]
    position: StartPosition
    """Position of the next token: one for all rows, or one for each row (row,)."""
    output_subset: OutputProjection | None = None
    """Output layer of a vocabulary subset; None scores all tokens."""


class ConvDecoderLayer(nn.Module):
    """A causal convolution and attention, both residual (sections 3.2 and 3.3)."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.convolution = GatedConvolution(
            config.hidden, config.kernel, config.kernel - 1, keep_prob=1 - config.dropout
        )
        self.attention = MultiStepAttention(config)

    def forward(self, x: Tensor, embedded: Tensor, memory: ConvMemory) -> Tensor:  # (batch, length, hidden)
        y = self.convolution(self.dropout(x))
        x = record("residual.convolution", self, (x + y) * SQRT_HALF, x=x, y=y, scale=SQRT_HALF)
        y = self.attention(x, embedded, memory)
        return record("residual.attention", self, (x + y) * SQRT_HALF, x=x, y=y, scale=SQRT_HALF)

    def step(
        self, x: Tensor, embedded: Tensor, cache: Tensor, memory: PerSentence[ConvMemory]
    ) -> tuple[Tensor, Tensor]:
        """Advance by one position: inputs (row, hidden) to outputs (row, hidden) and the next cache."""
        convolved, cache = self.convolution.step(self.dropout(x), cache)
        x = (x + convolved) * SQRT_HALF
        # all hypotheses of a sentence are queries of one product
        context = self.attention(memory.scatter(x), memory.scatter(embedded), memory.tensors)
        x = (x + memory.gather(context)) * SQRT_HALF
        return x, cache


class ConvDecoder(nn.Module):
    """Causal convolutions with attention in every layer (section 3.3)."""

    def __init__(self, embedding: ConvEmbedding, output_embedding: nn.Embedding, config: ConvS2SConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.input_projection = init_normal(Linear(config.width, config.hidden), 1 - config.dropout)
        layers = nn.ModuleList(ConvDecoderLayer(config) for _ in range(config.decoder_layers))
        self.layers: Sequence[ConvDecoderLayer] = layers  # type: ignore[assignment]
        self.output_projection = init_normal(Linear(config.hidden, config.width), 1.0)
        self.output_embedding = output_embedding
        self.bias = nn.Parameter(torch.zeros(output_embedding.num_embeddings))

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_embedding.weight, self.bias)

    def _readout(self, hidden: Tensor) -> Tensor:  # (…, width)
        readout: Tensor = self.dropout(record("readout.output", self, self.output_projection(hidden), x=hidden))
        return readout

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, width)
        precomputed = precompute_memory(self, memory)
        embedded = self.embedding(target.tokens)
        x = record("conv.input", self, self.input_projection(embedded), x=embedded)  # (batch, length, hidden)
        for layer in self.layers:
            x = layer(x, embedded, precomputed)
        return self._readout(x)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, token)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> ConvState:
        left_padding, hidden = self.layers[0].convolution.left_padding, self.input_projection.out_features
        zeros = memory.slots.new_zeros(memory.slots.shape[0], left_padding, hidden)
        return ConvState(
            cache=(zeros,) * len(self.layers),
            memory=PerSentence(precompute_memory(self, memory)),
            position=0,
            output_subset=self.output.subset(vocab_subset),
        )

    def step(self, token: Tensor, state: ConvState) -> tuple[Tensor, ConvState]:
        embedded = self.embedding(token.view(-1, 1), start=state.position).squeeze(1)  # (row, width)
        x = self.input_projection(embedded)  # (row, hidden)
        caches: list[Tensor] = []
        for layer, cache in zip(self.layers, state.cache, strict=True):
            x, next_cache = layer.step(x, embedded, cache, state.memory)
            caches.append(next_cache)
        logits = (state.output_subset or self.output).logits(self._readout(x))
        return logits, replace(state, cache=tuple(caches), position=state.position + 1)
