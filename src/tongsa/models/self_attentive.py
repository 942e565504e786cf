"""A Structured Self-attentive Sentence Embedding (Lin, Feng, dos Santos, Yu, Xiang, Zhou, Bengio 2017)."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import EncoderDecoder, Memory, Task
from tongsa.layers.attention import sighted
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear, vectors
from tongsa.layers.penalty import charge
from tongsa.layers.recurrence import over_time, remembered
from tongsa.models.additive import AdditiveConfig
from tongsa.models.additive import Decoder as AdditiveDecoder
from tongsa.models.classifier import Classifier, flattened

LONGEST = 1024
"""Nothing in the model sets a limit; beyond this a sentence is no sentence."""


@dataclass(frozen=True, kw_only=True)
class SelfAttentiveConfig:
    """The defaults of u, d_a, r, penalty, hidden and dropout are the paper's for age and sentiment (section 4.1)."""

    reader: Literal["classifier", "decoder"] = "classifier"
    """What reads the hops: a classifier, as in the paper, or the decoder of Bahdanau et al. (2015)."""
    embedding: int = 100
    """Width of the vectors of pieces (d)."""
    width: int = 300
    """Width of each direction of the LSTM (u)."""
    layers: int = 1
    """Layers of the LSTM."""
    attention: int = 350
    """Hidden units of the attention (d_a)."""
    hops: int = 30
    """Rows of the sentence's matrix, each of which looks at it in its own way (r)."""
    penalty: float = 1.0
    """Coefficient of ‖AAᵀ - I‖², which keeps the hops apart (section 2.2); a decoder's loss is counted by piece, and so
    is the penalty then."""
    hidden: int = 2000
    """Units between the hops and the answer: the classifier's hidden layer, or the decoder's maxout layer."""
    dropout: float = 0.5
    """In what reads the hops (section 4.1)."""
    input_dropout: float = 0.0
    """On vectors of pieces and between the layers of the LSTM: not in the paper."""

    def __post_init__(self) -> None:
        for rate in (self.dropout, self.input_dropout):
            if not 0 <= rate < 1:
                raise ValueError(f"dropout {rate} is not in [0, 1)")
        if min(self.embedding, self.width, self.layers, self.attention, self.hops, self.hidden) < 1:
            raise ValueError("embedding, width, layers, attention, hops and hidden are at least 1")
        if self.penalty < 0:
            raise ValueError(f"penalty {self.penalty} is negative: it would draw the hops together")

    @property
    def task(self) -> Task:
        return "labels" if self.reader == "classifier" else "pairs"

    def build(self, source: int, target: int) -> EncoderDecoder:
        reader = self._classifier(target) if self.reader == "classifier" else self._decoder(target)
        return EncoderDecoder(Encoder(source, self), reader, LONGEST)

    def _classifier(self, labels: int) -> Classifier:
        return Classifier(flattened, self.hops * 2 * self.width, self.hidden, labels, self.dropout)

    def _decoder(self, size: int) -> AdditiveDecoder:
        """Its first state comes from the backward half of the first hop; in its paper, from that of the first piece."""
        config = AdditiveConfig(embedding=self.embedding, width=self.width, readout=self.hidden, dropout=self.dropout)
        return AdditiveDecoder(vectors(size, self.embedding), vectors(size, self.hidden), config)


def turned(source: Padded) -> Tensor:  # (length · batch,)
    """Where each place of (length, batch) finds its piece when every sentence runs backwards; its own inverse."""
    batch, length = source.pieces.shape
    place = torch.arange(length, device=source.pieces.device).unsqueeze(1)
    opposite = torch.where(place < source.lengths, source.lengths - 1 - place, place)  # (length, batch)
    return (opposite * batch + torch.arange(batch, device=source.pieces.device)).flatten()


def reordered(values: Tensor, order: Tensor) -> Tensor:  # (length, batch, width)
    return values.flatten(0, 1).index_select(0, order).view_as(values)


def states_of(layer: nn.LSTM, inputs: Tensor) -> Tensor:  # (length, batch, width)
    """What torch's own layer shows at every time; an exported graph cannot hold it for any length, and steps."""
    if not torch.compiler.is_exporting():
        shown: Tensor = layer(inputs)[0]
        return shown
    own = dict(layer.named_parameters())

    def step(projected: Tensor, state: Tensor) -> Tensor:  # (batch, 2 · width)
        hidden, cell = state.chunk(2, dim=1)
        return remembered(projected + F.linear(hidden, own["weight_hh_l0"]), cell)

    projected = F.linear(inputs, own["weight_ih_l0"], own["bias_ih_l0"] + own["bias_hh_l0"]).transpose(0, 1)
    states, _ = over_time(step, projected, projected.new_zeros(projected.shape[0], 2 * layer.hidden_size))
    return states[..., : layer.hidden_size].transpose(0, 1)


class BothDirections(nn.Module):
    """h_t = [LSTM→(w_t, h_{t-1}), LSTM←(w_t, h_{t+1})]: equations 2 and 3."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs, width)
        self.backwards = nn.LSTM(inputs, width)

    def forward(self, inputs: Tensor, turned: Tensor) -> Tensor:  # (length, batch, 2 · width)
        """Each sentence is turned round by itself: both directions meet the padding last, and nothing is packed.

        With sentences of like length that takes about two thirds of the time of a packed bidirectional LSTM on a CPU.
        """
        # float32 throughout: many CPUs that multiply in bf16 have no LSTM for it
        with torch.autocast(inputs.device.type, enabled=False):
            forwards = states_of(self.forwards, inputs)
            backwards = states_of(self.backwards, reordered(inputs, turned))
        return torch.cat([forwards, reordered(backwards, turned)], dim=2)


class Hops(nn.Module):
    """A = softmax(W_s2 tanh(W_s1 Hᵀ)): equation 6, without biases as there."""

    def __init__(self, width: int, hidden: int, hops: int) -> None:
        super().__init__()
        self.hidden = Linear(width, hidden, bias=False)
        self.score = Linear(hidden, hops, bias=False)

    def forward(self, places: Tensor, mask: Tensor) -> Tensor:  # (batch, hop, place)
        energy: Tensor = self.score(torch.tanh(self.hidden(places))).mT
        return energy.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=2)


def penalization(weights: Tensor) -> Tensor:  # (batch,)
    """P = ‖AAᵀ - I‖² (Frobenius) of each sentence: equation 8. It is 0 if each hop has one place of its own."""
    overlap = weights @ weights.mT  # (batch, hop, hop)
    return (overlap - torch.eye(overlap.shape[1], device=overlap.device)).square().sum(dim=(1, 2))


class Encoder(nn.Module):
    """M = AH, a slot for each hop: equation 7."""

    def __init__(self, size: int, config: SelfAttentiveConfig) -> None:
        super().__init__()
        self.vectors = vectors(size, config.embedding)
        widths = [config.embedding] + [2 * config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(BothDirections(width, config.width) for width in widths)
        self.hops = Hops(2 * config.width, config.attention, config.hops)
        self.dropout = Dropout(config.input_dropout)
        self.penalty = config.penalty

    def forward(self, source: Padded) -> Memory:
        places = self._read(source)
        weights = self.hops(places, source.mask)  # (batch, hop, place)
        sighted("hops", weights.unsqueeze(1))
        if self.training and self.penalty:
            charge(self.penalty * penalization(weights).sum())
        return Memory(weights @ places, torch.ones_like(weights[..., 0], dtype=torch.bool))

    def _read(self, source: Padded) -> Tensor:  # (batch, place, 2 · width)
        """H, equation 4; what stands in the padding is nothing, and is never looked at."""
        order = turned(source)
        values: Tensor = self.vectors(source.pieces.T)  # (length, batch, embedding)
        for layer in self.layers:
            values = layer(self.dropout(values), order)
        return values.transpose(0, 1)
