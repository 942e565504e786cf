"""Statistics of hidden states: the residual stream before and after every norm, recurrent and convolutional states.

The four numbers are mean, standard deviation, largest absolute value, and the mean length (L2 norm) of the vectors.
Positions of padding do not count. The spread of the length is that of each vector over the draws, averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.visualize.inspection_batch import Array, RecordedBatch
from tongsa.visualize.inspection_draws import Draws, summarize_draws
from tongsa.visualize.trace_stages import is_of_source, layer_number, part_of
from tongsa.visualize.trace_tensors import TraceTensor

STATE_NAMES = (
    "norm.layer",
    "norm.rms",
    "norm.group",
    "norm.batch",
    "residual.self_attention",
    "residual.ssru",
    "residual.cross_attention",
    "residual.feed_forward",
    "residual.convolution",
    "residual.attention",
    "embedding.sum",
    "embedding.scaled",
    "unfolding.sum",
    "gru.state",
    "lstm.hidden",
    "lstm.cell",
    "ssru.cell",
    "elman.state",
    "rnn.summary",
    "rnn.last_states",
    "rnn.initial_state",
    "hops.embedding",
    "conv.slots",
    "pool.mean",
    "pool.flat",
    "maxout.output",
    "readout.output",
)
STATISTICS = ("mean", "deviation", "largest", "norm")
"""Statistics of a site, in this order."""


class Moments(NamedTuple):
    """Moments of vectors, from which the statistics of any union of vectors follow."""

    elements: int
    mean: float
    squares: float
    """Sum of the squared distances from the mean."""
    largest: float
    norms: Array  # (vector,)
    """Length of each vector."""

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets (Chan, Golub, LeVeque 1983, equation 2.1)."""
        elements, distance = self.elements + other.elements, other.mean - self.mean
        return Moments(
            elements=elements,
            mean=self.mean + distance * other.elements / elements,
            squares=self.squares + other.squares + distance**2 * self.elements * other.elements / elements,
            largest=max(self.largest, other.largest),
            norms=np.concatenate([self.norms, other.norms]),
        )

    @property
    def statistics(self) -> Array:
        """Mean, deviation and largest value."""
        return np.array([self.mean, np.sqrt(self.squares / self.elements), self.largest])


def summarize_moments(draws: Sequence[Moments]) -> Draws:
    """Return the four statistics of a site in each mode: the first moments are without dropout, the others draws."""
    statistics = summarize_draws([moments.statistics for moments in draws])
    norms = summarize_draws([moments.norms for moments in draws])  # (vector,)
    return Draws(*(np.append(values, lengths.mean()) for values, lengths in zip(statistics, norms, strict=True)))


def moments(vectors: NDArray[np.float32]) -> Moments:
    """Return the moments of vectors (vector, width)."""
    values = vectors.astype(np.float64)
    mean = float(values.mean())
    return Moments(
        elements=values.size,
        mean=mean,
        squares=float(np.square(values - mean).sum()),
        largest=float(np.abs(values).max()),
        norms=np.linalg.norm(values, axis=1),
    )


@dataclass(frozen=True)
class StateSite:
    """A point of the computation where states are measured."""

    name: str
    path: str
    occurrence: int

    @property
    def side(self) -> str:
        return "encoder" if self.path.startswith("encoder") else "decoder"

    @property
    def layer(self) -> int | None:
        return layer_number(self.path)


def is_state(tensor: TraceTensor) -> bool:
    return tensor.name in STATE_NAMES


def site_of(tensor: TraceTensor) -> StateSite:
    return StateSite(tensor.name, tensor.path, tensor.occurrence)


def token_vectors(tensor: TraceTensor, values: Sequence[Tensor], recording: RecordedBatch) -> NDArray[np.float32]:
    """Return the vectors (vector, width) of a tensor without padding; `values` has one tensor for each time step."""
    batch = recording.batch
    side = batch.source if is_of_source(tensor.path) else batch.decoder_input
    stacked = torch.stack([*values], dim=1) if tensor.is_loop else values[0]  # (batch, …, width)
    is_by_token = tensor.axes[0] in ("token", "time")
    if is_by_token and stacked.shape[1] == side.tokens.shape[1]:
        mask = side.mask
        # a mirrored LSTM reads each sentence reversed, padding last, and records the last step as time 0
        stacked = stacked[mask.flip(1) if tensor.path.endswith("backward_lstm") else mask]
    array: NDArray[np.float32] = stacked.float().cpu().numpy()
    return array.reshape(-1, array.shape[-1])


class StateStatistics:
    """Moments of all sites in all draws, filled batch by batch."""

    def __init__(self, draws: int) -> None:
        self.parts: dict[StateSite, str] = {}
        """Part of the model of each site, in the order of the computation."""
        self.repeated: set[StateSite] = set()
        """Sites whose values a norm reads, which has them as "before", and embeddings to which a position is added."""
        self._moments: list[dict[tuple[StateSite, str], Moments]] = [{} for _ in range(draws + 1)]

    def add(self, draw: int, recording: RecordedBatch) -> None:
        """Add a batch; draw 0 is the recording without dropout."""
        for tensor in filter(is_state, recording.tensors):
            site = site_of(tensor)
            self.parts.setdefault(site, part_of(tensor))
            self._merge(draw, site, "after", tensor, [step.value for step in tensor.steps], recording)
            before = tensor.first.operands.get("x")
            if tensor.name.startswith("norm.") and isinstance(before, Tensor):
                self._merge(draw, site, "before", tensor, [before], recording)
            if tensor.name.startswith(("norm.", "embedding.")) and draw == 0:
                self.repeated |= {site_of(other) for other in recording.tensors if other.first.value is before}

    def _merge(
        self, draw: int, site: StateSite, part: str, tensor: TraceTensor, values: Sequence[Tensor], batch: RecordedBatch
    ) -> None:
        added = moments(token_vectors(tensor, values, batch))
        known = self._moments[draw].get((site, part))
        self._moments[draw][site, part] = added if known is None else known.merge(added)

    def results(self) -> dict[StateSite, Mapping[str, Draws]]:
        """Return "before" (norms only) and "after" of each site: four statistics in each mode."""
        return {
            site: {
                part: summarize_moments([moments[site, part] for moments in self._moments])
                for part in ("before", "after")
                if (site, part) in self._moments[0]
            }
            for site in self.parts
            if site not in self.repeated
        }
