"""A Structured Self-attentive Sentence Embedding (Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio 2017).

source ─► bidirectional LSTM ─► H (length, 2u) ─► r attention hops A (r, length) ─► M = AH (r, 2u), the memory
                                                                                    │
                                                          classifier, or decoder of Bahdanau et al. ─► logits
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.config import Fraction, Layers, Penalty, Width, check_ranges
from tongsa.interface import EncoderDecoder, Memory, PresetName, Task
from tongsa.models.pooled_classifier import PooledClassifier, flatten_slots
from tongsa.models.rnn_attention import RNNAttentionConfig, RNNAttentionDecoder
from tongsa.nn.auxiliary_loss import add_auxiliary_loss
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.output import embedding_table
from tongsa.nn.recording import is_recording_tensors, record, record_copy, record_weights
from tongsa.nn.rnn import lstm_update, unroll

MAX_POSITIONS = 1024
"""Longest sentence. The architecture has no limit; longer inputs are probably not sentences."""


CLASSIFIER_PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"embedding": 192, "width": 128, "attention": 128, "hops": 6, "hidden": 192},
    "small": {"embedding": 256, "width": 192, "attention": 192, "hops": 6, "hidden": 256},
    "short": {"embedding": 384, "width": 320, "attention": 256, "hops": 8, "hidden": 384},
    "medium": {"embedding": 384, "width": 448, "attention": 256, "hops": 8, "hidden": 384},
    "large": {"embedding": 768, "width": 1024, "attention": 512, "hops": 12, "hidden": 1024},
}
DECODER_PRESETS: dict[PresetName, dict[str, Any]] = {
    "tiny": {"embedding": 96, "width": 128, "attention": 128, "hops": 6, "hidden": 96},
    "small": {"embedding": 160, "width": 192, "attention": 192, "hops": 8, "hidden": 160},
    "short": {"embedding": 256, "width": 256, "attention": 256, "hops": 8, "hidden": 256},
    "medium": {"embedding": 256, "width": 384, "attention": 256, "hops": 12, "hidden": 256},
    "large": {"embedding": 512, "width": 640, "attention": 512, "hops": 12, "hidden": 512},
}


@dataclass(frozen=True, kw_only=True)
class StructuredSelfAttentionConfig:
    """The defaults of u, d_a, r, penalty, hidden and dropout are those for age and sentiment (section 4.1)."""

    head: Literal["classifier", "decoder"] = "classifier"
    """The network that reads the hops: a classifier as in the paper, or the decoder of Bahdanau et al. (2015)."""
    embedding: Width = 100
    """Width of the token embeddings (d)."""
    width: Width = 300
    """Width of each direction of the LSTM (u)."""
    layers: Layers = 1
    """Layers of the LSTM."""
    attention: Width = 350
    """Hidden units of the attention (d_a)."""
    hops: Width = 30
    """Attention hops: rows of the sentence matrix, each with its own weights over the tokens (r)."""
    penalty: Penalty = 1.0
    """Coefficient of ‖AAᵀ - I‖², which keeps the hops different (section 2.2). Like the loss, it is divided by the
    number of target tokens."""
    hidden: Width = 2000
    """Width of the classifier's hidden layer, or of the decoder's maxout layer."""
    dropout: Fraction = 0.5
    """In the classifier or decoder (section 4.1)."""
    input_dropout: Fraction = 0.0
    """On embeddings and between the layers of the LSTM: not in the paper."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def task(self) -> Task:
        return "classification" if self.head == "classifier" else "seq2seq"

    def preset(self, name: PresetName) -> dict[str, Any]:
        """Return the sizes of a preset: about as many parameters as the Transformer's."""
        return {"model": (CLASSIFIER_PRESETS if self.head == "classifier" else DECODER_PRESETS)[name]}

    def build(self, source_vocab_size: int, target_vocab_size: int) -> EncoderDecoder:
        head = (
            self._build_classifier(target_vocab_size)
            if self.head == "classifier"
            else self._build_decoder(target_vocab_size)
        )
        return EncoderDecoder(StructuredSelfAttentionEncoder(source_vocab_size, self), head, MAX_POSITIONS)

    def _build_classifier(self, num_labels: int) -> PooledClassifier:
        return PooledClassifier(flatten_slots, self.hops * 2 * self.width, self.hidden, num_labels, self.dropout)

    def _build_decoder(self, vocab_size: int) -> RNNAttentionDecoder:
        """Return a decoder. Its initial state is from the backward half of the first hop, not of the first token."""
        config = RNNAttentionConfig(
            embedding=self.embedding, width=self.width, maxout_width=self.hidden, dropout=self.dropout
        )
        return RNNAttentionDecoder(
            embedding_table(vocab_size, self.embedding), embedding_table(vocab_size, self.hidden), config
        )


def reversal_indices(source: Padded) -> Tensor:  # (length · batch,)
    """Return the permutation of (length, batch) that reverses each sentence but not its padding; its own inverse."""
    batch, length = source.tokens.shape
    position = torch.arange(length, device=source.tokens.device).unsqueeze(1)
    mirrored = torch.where(position < source.lengths, source.lengths - 1 - position, position)  # (length, batch)
    return (mirrored * batch + torch.arange(batch, device=source.tokens.device)).flatten()


def permute_tokens(values: Tensor, order: Tensor) -> Tensor:  # (length, batch, width)
    return values.flatten(0, 1).index_select(0, order).view_as(values)


def run_lstm(layer: nn.LSTM, inputs: Tensor, reversal: Tensor | None = None) -> Tensor:  # (length, batch, width)
    """Return the hidden states of torch's LSTM; with `reversal` it reads the sentences from right to left.

    It is unrolled to record its gates, and for export: an exported nn.LSTM has a fixed length.
    """
    if torch.compiler.is_exporting() or is_recording_tensors():
        return _run_unrolled(layer, inputs, reversal)
    if reversal is None:
        return layer(inputs)[0]  # type: ignore[no-any-return]
    return permute_tokens(layer(permute_tokens(inputs, reversal))[0], reversal)


def _run_unrolled(layer: nn.LSTM, inputs: Tensor, reversal: Tensor | None) -> Tensor:  # (length, batch, width)
    parameters = dict(layer.named_parameters())

    def step(projected: Tensor, state: Tensor) -> Tensor:  # (batch, 2 · width)
        hidden, cell = state.chunk(2, dim=1)
        gates = projected + F.linear(hidden, parameters["weight_hh_l0"])
        return lstm_update(layer, record("lstm.gates", layer, gates, a=projected, h=hidden), cell)

    bias = parameters["bias_ih_l0"] + parameters["bias_hh_l0"]
    projected = F.linear(inputs, parameters["weight_ih_l0"], bias)
    projected = record("rnn.projected", layer, projected, x=inputs)
    if reversal is not None:
        projected = record_copy(permute_tokens(projected, reversal), projected)
    initial = projected.new_zeros(projected.shape[1], 2 * layer.hidden_size)
    states, _ = unroll(step, projected.transpose(0, 1), initial, is_mirrored=reversal is not None)
    hidden = states[..., : layer.hidden_size].transpose(0, 1)
    return hidden if reversal is None else record_copy(permute_tokens(hidden, reversal), hidden)


class BidirectionalLSTM(nn.Module):
    """h_t = [LSTM→(w_t, h_{t-1}), LSTM←(w_t, h_{t+1})]: equations 2 and 3."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.forward_lstm = nn.LSTM(input_width, width)
        self.backward_lstm = nn.LSTM(input_width, width)

    def forward(self, inputs: Tensor, reversal: Tensor) -> Tensor:  # (length, batch, 2 · width)
        """Run both directions. Sentences are reversed without their padding, so both directions read the padding last.

        No packed sequences are needed: with sentences of similar length this takes about two thirds of the time of
        torch's packed bidirectional LSTM on a CPU.
        """
        # always float32: on many CPUs with bf16 matrix products there is no bf16 LSTM kernel
        with torch.autocast(inputs.device.type, enabled=False):
            forwards = run_lstm(self.forward_lstm, inputs)
            backwards = run_lstm(self.backward_lstm, inputs, reversal)
        states = torch.cat([forwards, backwards], dim=2)
        return record("rnn.annotations", self, states, x=forwards, y=backwards)


class HopAttention(nn.Module):
    """A = softmax(W_s2 tanh(W_s1 Hᵀ)): equation 6, without biases as there."""

    def __init__(self, width: int, hidden: int, hops: int) -> None:
        super().__init__()
        self.hidden_projection = Linear(width, hidden, bias=False)
        self.score_projection = Linear(hidden, hops, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:  # (batch, hop, position)
        hidden = record("hops.hidden", self, torch.tanh(self.hidden_projection(states)), H=states)
        scores = record("hops.scores", self, self.score_projection(hidden).mT, x=hidden)
        masked = scores.masked_fill(~mask.unsqueeze(1), -torch.inf)
        masked = record("hops.masked", self, masked, S=scores, mask=mask.unsqueeze(1))
        return record("hops.weights", self, masked.softmax(dim=2), S=masked)


def penalization_term(weights: Tensor) -> Tensor:  # (batch,)
    """Return P = ‖AAᵀ - I‖² (Frobenius) of each sentence: equation 8. It is 0 if each hop has its own token."""
    overlap = weights @ weights.mT  # (batch, hop, hop)
    return (overlap - torch.eye(overlap.shape[1], device=overlap.device)).square().sum(dim=(1, 2))


class StructuredSelfAttentionEncoder(nn.Module):
    """M = AH, one slot for each hop: equation 7."""

    def __init__(self, vocab_size: int, config: StructuredSelfAttentionConfig) -> None:
        super().__init__()
        self.embedding = embedding_table(vocab_size, config.embedding)
        widths = [config.embedding] + [2 * config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(BidirectionalLSTM(width, config.width) for width in widths)
        self.hop_attention = HopAttention(2 * config.width, config.attention, config.hops)
        self.dropout = Dropout(config.input_dropout)
        self.penalty = config.penalty

    def forward(self, source: Padded) -> Memory:
        states = self._hidden_states(source)
        weights = self.hop_attention(states, source.mask)  # (batch, hop, position)
        record_weights("hops", weights.unsqueeze(1))
        if self.training and self.penalty:
            add_auxiliary_loss(self.penalty * penalization_term(weights).sum())
        if is_recording_tensors():
            record("hops.penalty", self.hop_attention, penalization_term(weights), A=weights)
        slots = record("hops.embedding", self.hop_attention, weights @ states, A=weights, V=states)
        return Memory(slots, torch.ones_like(weights[..., 0], dtype=torch.bool))

    def _hidden_states(self, source: Padded) -> Tensor:  # (batch, position, 2 · width)
        """Return H, equation 4. Its values in the padding are meaningless, and masked later."""
        reversal = reversal_indices(source)
        x = record("embedding.lookup", self, self.embedding(source.tokens.T))  # (length, batch, embedding)
        for layer in self.layers:
            x = layer(self.dropout(x), reversal)
        return x.transpose(0, 1)
