"""One search for every kind of model, written against interface.py.

Beam search (Sutskever et al. 2014, section 3.2) with the length penalty of Wu et al. (2016, equation 14), as Vaswani et
al. (2017, section 6.1) use it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.sampling import Draw
from tongsa.decoding.scorers import Scorer
from tongsa.interface import S
from tongsa.text import BOS, EOS, PAD


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    beam: int = 4
    """Hypotheses kept side by side; 1 is greedy search."""
    alpha: float = 0.6
    """Strength of the length penalty: 0 compares plain log-probabilities and so favours short outputs."""
    beyond: int = 50
    """An output may be this much longer than its source (section 6.1)."""

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ValueError(f"beam {self.beam} is not at least 1")
        if not 0 <= self.alpha < float("inf"):
            raise ValueError(f"alpha {self.alpha} is not a number from 0 up")
        if self.beyond < 0:
            raise ValueError(f"beyond {self.beyond} is negative")


class Hypothesis(NamedTuple):
    pieces: list[int]
    """Without <s> and </s>."""
    total: float
    """log p(pieces, </s> | source): a plain sum over the pieces."""
    score: float
    """total / penalty(length), by which hypotheses are compared."""


def penalty(length: int, alpha: float) -> float:
    """((5 + |Y|) / 6)^α, where |Y| counts </s> too."""
    return float(((5 + length) / 6) ** alpha)


@dataclass
class _Answer:
    """What one sentence's search has found."""

    limit: int
    finished: list[Hypothesis] = field(default_factory=list)

    def certain(self, best_alive: float, config: SearchConfig, nbest: int) -> bool:
        """Whether nothing is left to follow, or no living hypothesis can still enter the best `nbest`.

        The second is proven, not hoped: a total only falls and the penalty only grows, up to its value at the limit, so
        no hypothesis will ever score above its total now over the penalty at the limit.
        """
        if best_alive == -torch.inf:
            return True
        if len(self.finished) < nbest:
            return False
        threshold = sorted((hypothesis.score for hypothesis in self.finished), reverse=True)[nbest - 1]
        return threshold >= best_alive / penalty(self.limit + 1, config.alpha)


class _Beams(NamedTuple):
    """Living hypotheses: for each sentence still searched, the same number of them."""

    sentences: list[int]
    totals: Tensor  # (sentence, hypothesis)
    prefixes: Tensor  # (sentence, hypothesis, piece), each beginning with <s>

    def rows(self, keep: list[int]) -> "_Beams":
        kept = torch.tensor(keep, dtype=torch.long, device=self.totals.device)
        return _Beams([self.sentences[row] for row in keep], self.totals[kept], self.prefixes[kept])


@torch.inference_mode()
def search(
    scorer: Scorer[S],
    state: S,
    limits: Tensor,
    config: SearchConfig,
    *,
    nbest: int = 1,
    draw: Draw | None = None,
) -> list[list[Hypothesis]]:
    """The best `nbest` hypotheses of each sentence, best first.

    `state` has one row for each sentence; `limits` (sentence,) says how many pieces each output may have. Each step
    keeps a sentence's best prefixes, as many as `beam` less those finished: an output that takes </s> keeps its place
    in the beam, so what is living and likely is never crowded out by what is finished and unlikely. A sentence leaves
    the batch as soon as its answer is certain. With `draw` and a beam of one the choice is drawn, not the best.
    """
    answers = [_Answer(limit=limit) for limit in limits.tolist()]
    count = len(answers)
    beams = _Beams(
        sentences=list(range(count)),
        totals=torch.zeros(count, 1, device=limits.device),
        prefixes=torch.full((count, 1, 1), BOS, device=limits.device),
    )
    while beams.sentences:
        logs, state = scorer(beams.prefixes[:, :, -1].flatten(), state)
        before = beams.totals.shape[1]
        beams, origin = _grown(beams, logs, answers, config, draw)
        keep = [
            row
            for row, (sentence, best) in enumerate(zip(beams.sentences, beams.totals[:, 0].tolist(), strict=True))
            if not answers[sentence].certain(best, config, nbest)
        ]
        beams = beams.rows(keep)
        if keep:
            kept = torch.tensor(keep, device=limits.device)
            state = state.select((kept.unsqueeze(1) * before + origin[kept]).flatten())
    ranked = (sorted(answer.finished, key=lambda hypothesis: -hypothesis.score) for answer in answers)
    return [hypotheses[:nbest] for hypotheses in ranked]


def _grown(
    beams: _Beams, logs: Tensor, answers: list[_Answer], config: SearchConfig, draw: Draw | None
) -> tuple[_Beams, Tensor]:
    """Every hypothesis one piece longer, and which one each came from; the finished ones go to the answers."""
    scores = beams.totals.unsqueeze(2) + logs.view(*beams.totals.shape, -1)
    scores[:, :, [PAD, BOS]] = -torch.inf  # never chosen; the others keep the probabilities that the model gave them
    length = beams.prefixes.shape[2]  # of the outputs now, </s> included
    full = torch.tensor([answers[at].limit < length for at in beams.sentences], device=scores.device)
    if bool(full.any()):  # no room for another piece: only </s> is left
        others = torch.arange(scores.shape[2], device=scores.device) != EOS
        scores = scores.masked_fill(full[:, None, None] & others, -torch.inf)
    every = scores.flatten(1)
    place = (draw(every) if draw else every).topk(min(config.beam, every.shape[1]), dim=1).indices
    totals = every.gather(1, place)
    origin, pieces = place // scores.shape[2], place % scores.shape[2]  # (sentence, rank)
    rank = torch.arange(totals.shape[1], device=totals.device)
    room = torch.tensor([config.beam - len(answers[at].finished) for at in beams.sentences], device=totals.device)
    totals = totals.masked_fill(rank >= room.unsqueeze(1), -torch.inf)
    ends = pieces == EOS
    for row, place_in_beam in (ends & totals.isfinite()).nonzero().tolist():
        total = totals[row, place_in_beam].item()
        output = beams.prefixes[row, origin[row, place_in_beam], 1:].tolist()
        answers[beams.sentences[row]].finished.append(Hypothesis(output, total, total / penalty(length, config.alpha)))
    living = (rank + ends * len(rank)).argsort(dim=1)  # those that go on come first, in their order
    totals, origin, pieces = (part.gather(1, living) for part in (totals.masked_fill(ends, -torch.inf), origin, pieces))
    prefixes = beams.prefixes.gather(1, origin.unsqueeze(2).expand(-1, -1, length))
    return _Beams(beams.sentences, totals, torch.cat([prefixes, pieces.unsqueeze(2)], dim=2)), origin
