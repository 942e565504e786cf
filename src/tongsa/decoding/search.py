"""One search for every kind of model, written against interface.py.

Beam search (Sutskever et al. 2014, section 3.2) with the length and coverage penalties of Wu et al. (2016, equation
14), as Vaswani et al. (2017, section 6.1) use it. What may be written, and which of the candidates go on, are asked of
`rules` and `choice`: sampling, diverse beams, forced prefixes and terminology are such answers, not other searches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.beams import FREE, Beams, Choice, Guide, Rule, best
from tongsa.decoding.likeliest import BLOCK, MANY, Chosen, likeliest
from tongsa.decoding.scorers import Scorer
from tongsa.errors import InputError
from tongsa.interface import S
from tongsa.layers.attention import watching
from tongsa.layers.shared import Rectangle
from tongsa.text import EOS


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    beam: int = 4
    """Hypotheses kept side by side; 1 is greedy search."""
    normalisation: Literal["gnmt", "plain", "none"] = "gnmt"
    """A total is divided by ((5 + length) / 6)^alpha; by length^alpha, with alpha 1 the mean of its pieces; or not."""
    alpha: float = 0.6
    """Strength of the length penalty: 0 compares plain log-probabilities and so favours short outputs."""
    coverage: float = 0.0
    """Strength of the coverage penalty: an output loses by source pieces that it has looked at too little."""
    beyond: int = 50
    """An output may be this much longer than its source (section 6.1)."""
    at_least: int = 0
    """No output is shorter than this many pieces."""
    no_repeat: int = 0
    """No run of this many pieces comes twice in an output; 0 allows all."""
    repetition: float = 1.0
    """Above 1, the log-probability of a piece that is there already is multiplied by this (Keskar et al. 2019, 4.1)."""
    groups: int = 1
    """Parts of the beam that keep away from each other's pieces (Vijayakumar et al. 2018); their number divides it."""
    diversity: float = 0.5
    """How far they keep away: what a piece loses for each earlier group that takes it at the same place."""
    shortlist: bool = False
    """Only pieces that the list beside the model allows for a source are scored: faster, and not always the same."""

    def __post_init__(self) -> None:
        for name, least in (("beam", 1), ("beyond", 0), ("at_least", 0), ("no_repeat", 0), ("groups", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)} is not at least {least}")
        for name, lowest in (("alpha", 0.0), ("coverage", 0.0), ("diversity", 0.0), ("repetition", 1.0)):
            if not lowest <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} {getattr(self, name)} is not a number from {lowest:g} up")
        if self.normalisation not in ("gnmt", "plain", "none"):
            raise ValueError(f"normalisation {self.normalisation!r} is not gnmt, plain or none")
        if self.beam % self.groups:
            raise ValueError(f"groups {self.groups} does not divide the beam {self.beam}")

    @property
    def free(self) -> bool:
        """Whether nothing but how likely an output is, and how long, has a say: then places may be refilled."""
        asked = (self.coverage, self.at_least, self.no_repeat, self.repetition - 1, self.groups - 1, self.shortlist)
        return not any(asked)

    def penalty(self, length: int) -> float:
        """What a total is divided by; the length counts </s> too."""
        base = {"gnmt": (5 + length) / 6, "plain": float(length), "none": 1.0}[self.normalisation]
        return float(base**self.alpha)


class Hypothesis(NamedTuple):
    pieces: list[int]
    """Without <s> and </s>."""
    total: float
    """log p(pieces, </s> | source): a plain sum over the pieces."""
    score: float
    """By which hypotheses are compared: total / penalty(length), what rules add or take, and the coverage."""
    logs: list[float]
    """log p of each piece, </s> last; empty where an engine does not tell."""


class _Finished(NamedTuple):
    hypothesis: Hypothesis
    merit: float


@dataclass
class _Answer:
    """What one sentence's search has found."""

    limit: int
    settled: bool = False
    """Whether the best candidate of some step has ended: whatever lives is worth less than that one."""
    finished: list[_Finished] = field(default_factory=list)

    def done(self, best_alive: float, config: SearchConfig, nbest: int) -> bool:
        """Whether as many as the beam is wide have finished, the best of a step among them; or nothing can change.

        The first is the rule of this search, a heuristic. The second only saves time, and that is proven: merits only
        fall, the penalty only grows, up to its value at the limit, and coverage only takes. So no hypothesis will ever
        score above its merit now over the penalty at the limit, nor push out one that has finished with more merit.
        """
        if best_alive == -torch.inf or (self.settled and len(self.finished) >= config.beam):
            return True
        if len(self.finished) < nbest:
            return False
        best = self._ranked(config.beam)[:nbest]
        bound = best_alive / config.penalty(self.limit + 1)
        return best[-1].hypothesis.score >= bound and min(one.merit for one in best) >= best_alive

    def best(self, config: SearchConfig, nbest: int) -> list[Hypothesis]:
        return [one.hypothesis for one in self._ranked(config.beam)[:nbest]]

    def _ranked(self, beam: int) -> list[_Finished]:
        """As many as the beam is wide, those of most merit, by their scores."""
        most = sorted(self.finished, key=lambda one: -one.merit)[:beam]
        return sorted(most, key=lambda one: -one.hypothesis.score)


@torch.inference_mode()
def search(
    scorer: Scorer[S],
    state: S,
    limits: Tensor,
    config: SearchConfig,
    *,
    nbest: int = 1,
    guide: Guide = FREE,
    refill: Callable[[list[int]], tuple[S, Tensor] | None] = lambda _: None,
) -> list[list[Hypothesis]]:
    """The best `nbest` hypotheses of each sentence, best first.

    `state` has one row for each sentence; `limits` (sentence,) says how many pieces each output may have. Of the best
    `beam` candidates of a step those that take </s> have finished, and the best `beam` that do not go on. A sentence is
    done when `beam` outputs have finished and the best candidate of a step was one of them, and leaves the batch as
    soon as its answer is certain. Then `refill`, told who is still searched for, may give the state and limits of
    others to take the empty places; nobody else's answer changes by it. Only a free search without coverage can tell
    apart who came when.
    """
    answers = [_Answer(limit=limit) for limit in limits.tolist()]
    beams, living = Beams.first(range(len(answers)), limits.device), Rectangle(1)
    while beams.sentences:
        logs, state, covered = _step(scorer, beams, living, state, watch=config.coverage > 0)
        grown, origin = _grown(beams, Judged(logs, living, covered), answers, config, guide)
        keep = [
            row
            for row, (sentence, most) in enumerate(zip(grown.sentences, grown.merits[:, 0].tolist(), strict=True))
            if not answers[sentence].done(most, config, nbest)
        ]
        rows = living.filled(torch.arange(len(logs), device=limits.device), len(grown.sentences)).gather(1, origin)
        beams = grown.select(keep)
        if keep:
            living = _living(beams, watch=config.coverage > 0)
            rows = living.rows(rows if beams is grown else rows[keep])
            if not torch.equal(rows, torch.arange(len(logs), device=rows.device)):
                state = state.select(rows)
        if came := refill(beams.sentences):
            if guide != FREE or config.coverage:
                raise ValueError("rules and coverage do not know who came when: search batch by batch")
            begun = Beams.first(range(len(answers), len(answers) + len(came[1])), limits.device)
            answers += [_Answer(limit=limit) for limit in came[1].tolist()]
            state, beams = (state.beside(came[0]), beams.beside(begun)) if keep else (came[0], begun)
            living = _living(beams, watch=False)
    return [answer.best(config, nbest) for answer in answers]


def _living(beams: Beams, *, watch: bool) -> Rectangle:
    """Where in the beams there is a hypothesis to follow. Whoever watches sees all places, empty ones included."""
    there, width = (beams.merits != -torch.inf).flatten(), beams.places[1]
    return Rectangle(width) if watch or bool(there.all()) else Rectangle(width, there.nonzero().squeeze(1))


def _step(scorer: Scorer[S], beams: Beams, living: Rectangle, state: S, *, watch: bool) -> tuple[Tensor, S, Tensor]:
    """Log-scores of all next pieces, the state after the step, and what has been looked at: the mean of attentions."""
    pieces = living.rows(beams.prefixes[:, :, -1])
    if not watch:
        return *scorer(pieces, state), beams.covered
    with watching() as seen:
        logs, state = scorer(pieces, state)
    layers = [weights.mean(dim=1).reshape(*beams.places, -1) for weights in seen.get("cross", ())]
    if not layers:
        raise InputError("coverage: this kind of model has no attention over the source; leave it at 0")
    looked = torch.stack(layers).mean(dim=0)
    return logs, state, looked + beams.covered if beams.covered.shape[2] else looked


class Judged(NamedTuple):
    """What a step says of the hypotheses that it goes on from."""

    logs: Tensor  # (row, piece): log p of each next piece, a row for each that is alive
    living: Rectangle
    covered: Tensor  # (sentence, hypothesis, slot)


def _grown(
    beams: Beams, judged: Judged, answers: list[_Answer], config: SearchConfig, guide: Guide
) -> tuple[Beams, Tensor]:
    """Every hypothesis one piece longer, and which one each came from; the finished ones go to the answers."""
    ended, living = _chosen(beams, judged, answers, config, guide)
    finished = ended.merit.isfinite().nonzero()
    if len(finished):
        outputs = _hypotheses(beams.longer(judged.covered, ended), finished, config)
        most = living.merit[:, 0].tolist()
        for row, output in zip(finished[:, 0].tolist(), outputs, strict=True):
            sentence = beams.sentences[row]
            answers[sentence].finished.append(output)
            answers[sentence].settled |= output.merit >= most[row] or sentence in guide.eager
    return beams.longer(judged.covered, living), living.origin


def _chosen(
    beams: Beams, judged: Judged, answers: list[_Answer], config: SearchConfig, guide: Guide
) -> tuple[Chosen, Chosen]:
    """Those that end, and those that go on, best first; where there are fewer, what is left of a row has merit -inf."""
    logs = judged.logs
    full = [answers[at].limit < length for at, length in zip(beams.sentences, beams.lengths, strict=True)]  # with </s>
    if guide == FREE and logs.numel() >= MANY and logs.shape[1] > EOS + BLOCK and not any(full):
        ends = judged.living.filled(logs[:, EOS], len(beams.sentences))
        going = likeliest(logs, beams.merits, judged.living, config.beam)
        return _ended(ends, beams.merits + ends, going, config.beam), going
    every = judged.living.filled(logs, len(beams.sentences))  # (sentence, hypothesis, piece)
    merits = _merits(beams, every, full, guide.rules)
    if guide.choice is None:
        others = _without_end(merits)
        going = _at(best(config.beam)(others, beams), every, others)
        ended = _ended(every[:, :, EOS], merits[:, :, EOS], going, config.beam)
    else:
        ended, going = _asked(guide.choice, every, merits, beams)
    if guide.witness:
        kept = Chosen(*(torch.cat(parts, dim=1) for parts in zip(ended, going, strict=True)))
        order = kept.merit.argsort(dim=1, descending=True, stable=True)
        place = (kept.origin * merits.shape[2] + kept.piece).gather(1, order)
        guide.witness(beams, merits, place[:, : int(kept.merit.isfinite().sum(dim=1).max())])
    return ended, going


def _without_end(merits: Tensor) -> Tensor:
    merits = merits.clone()
    merits[:, :, EOS] = -torch.inf
    return merits


def _ended(logs: Tensor, merits: Tensor, going: Chosen, beam: int) -> Chosen:
    """Of the hypotheses with </s> behind them those that are among the best `beam` candidates."""
    every = torch.cat([going.merit, merits], dim=1)
    least = every.topk(min(beam, every.shape[1]), dim=1).values[:, -1:]
    origin = torch.arange(merits.shape[1], device=merits.device).expand_as(merits)
    return Chosen(origin, torch.full_like(origin, EOS), logs, merits.masked_fill(merits < least, -torch.inf))


def _asked(choice: Choice, logs: Tensor, merits: Tensor, beams: Beams) -> tuple[Chosen, Chosen]:
    """The same of a choice: it says who ends, and, asked again without </s> where one does, who goes on."""
    first = _at(choice(merits, beams), logs, merits)
    ends = first.piece == EOS
    ended = first._replace(merit=first.merit.masked_fill(~ends, -torch.inf))
    if not bool(ends.any()):
        return ended, first
    if first.piece.shape[1] == 1:  # the only one: nothing goes on, and nothing is drawn anew
        return ended, first._replace(merit=first.merit.masked_fill(ends, -torch.inf))
    going = _without_end(merits)
    again = _at(choice(going, beams), logs, going)
    return ended, Chosen(
        *(torch.where(ends.any(dim=1, keepdim=True), *both) for both in zip(again, first, strict=True))
    )


def _at(place: Tensor, logs: Tensor, merits: Tensor) -> Chosen:
    """The candidates at these places (sentence, rank) of a flat row."""
    own, merit, size = logs.flatten(1).gather(1, place), merits.flatten(1).gather(1, place), merits.shape[2]
    return Chosen(place // size, place % size, own, merit)


def _merits(beams: Beams, logs: Tensor, full: list[bool], rules: Sequence[Rule]) -> Tensor:
    """What every candidate (sentence, hypothesis, piece) is worth."""
    for rule in rules:
        logs = rule(logs, beams)
    merits = beams.merits.unsqueeze(2) + logs
    merits[:, :, :EOS] = -torch.inf  # <pad>, <s>: never chosen; the others keep what the model gave them
    if any(full):  # no room for another piece: only </s> is left
        merits[torch.tensor(full, device=merits.device), :, EOS + 1 :] = -torch.inf
    return merits


def _hypotheses(beams: Beams, which: Tensor, config: SearchConfig) -> Iterator[_Finished]:
    """Those at these places (sentence, hypothesis), which have taken </s>."""
    totals, merits, prefixes, logs, covered = (part[*which.unbind(1)] for part in beams[1:6])
    read = covered.clamp(max=1.0)
    missed = config.coverage * read.where(read > 0, 1.0).log().sum(dim=1)  # padding is never looked at
    every = zip(*(part.tolist() for part in (which[:, 0], prefixes, logs, totals, merits, missed)), strict=True)
    for row, pieces, own, total, merit, less in every:
        first = beams.late[row] + 1
        score = merit / config.penalty(len(own) - first) + less
        yield _Finished(Hypothesis(pieces[first:-1], total, score, own[first:]), merit)
