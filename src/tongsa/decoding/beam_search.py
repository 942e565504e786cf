"""One search for every kind of model, written against interface.py.

Beam search (Sutskever et al. 2014, section 3.2) with the length and coverage penalties of Wu et al. (2016, equation
14), as Vaswani et al. (2017, section 6.1) use it. What may be written, and which of the candidates go on, are asked of
`rules` and `choice`: sampling, diverse beams, forced prefixes and terminology are such answers, not other searches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.beams import DEFAULT_STRATEGY, Beams, Rule, SearchStrategy, Selection, topk_selection
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import Scorer
from tongsa.decoding.topk import BLOCK_SIZE, MIN_BLOCKWISE_CANDIDATES, BeamStep, blockwise_topk
from tongsa.errors import InputError
from tongsa.interface import S
from tongsa.nn.attention import record_attention
from tongsa.nn.beam_layout import BeamLayout
from tongsa.tokenization.special import EOS


class Hypothesis(NamedTuple):
    tokens: list[int]
    """Without <s> and </s>."""
    log_prob: float
    """log p(pieces, </s> | source): a plain sum over the pieces."""
    score: float
    """By which hypotheses are compared: total / penalty(length), what rules add or take, and the coverage."""
    token_log_probs: list[float]
    """log p of each piece, </s> last; empty where an engine does not tell."""


class _FinishedHypothesis(NamedTuple):
    hypothesis: Hypothesis
    ranking_score: float


@dataclass
class _SentenceResult:
    """What one sentence's search has found."""

    max_length: int
    best_has_finished: bool = False
    """Whether the best candidate of some step has ended: whatever lives is worth less than that one."""
    finished: list[_FinishedHypothesis] = field(default_factory=list)

    def is_done(self, best_alive: float, config: DecodingConfig, nbest: int) -> bool:
        """Whether as many as the beam is wide have finished, the best of a step among them; or nothing can change.

        The first is the rule of this search, a heuristic. The second only saves time, and that is proven: merits only
        fall, the penalty only grows, up to its value at the limit, and coverage only takes. So no hypothesis will ever
        score above its merit now over the penalty at the limit, nor push out one that has finished with more merit.
        """
        if best_alive == -torch.inf or (self.best_has_finished and len(self.finished) >= config.beam):
            return True
        if len(self.finished) < nbest:
            return False
        best = self._rank(config.beam)[:nbest]
        bound = best_alive / config.length_penalty(self.max_length + 1)
        return best[-1].hypothesis.score >= bound and min(one.ranking_score for one in best) >= best_alive

    def best_hypotheses(self, config: DecodingConfig, nbest: int) -> list[Hypothesis]:
        return [one.hypothesis for one in self._rank(config.beam)[:nbest]]

    def _rank(self, beam: int) -> list[_FinishedHypothesis]:
        """As many as the beam is wide, those of most merit, by their scores."""
        most = sorted(self.finished, key=lambda one: -one.ranking_score)[:beam]
        return sorted(most, key=lambda one: -one.hypothesis.score)


@torch.inference_mode()
def beam_search(
    scorer: Scorer[S],
    state: S,
    max_lengths: Tensor,
    config: DecodingConfig,
    *,
    nbest: int = 1,
    strategy: SearchStrategy = DEFAULT_STRATEGY,
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
    answers = [_SentenceResult(max_length=limit) for limit in max_lengths.tolist()]
    beams, living = Beams.initial(range(len(answers)), max_lengths.device), BeamLayout(1)
    while beams.sentences:
        logs, state, covered = _score_next_tokens(
            scorer, beams, living, state, with_coverage=config.coverage_penalty > 0
        )
        grown, origin = _extend_beams(beams, StepScores(logs, living, covered), answers, config, strategy)
        keep = [
            row
            for row, (sentence, most) in enumerate(
                zip(grown.sentences, grown.ranking_scores[:, 0].tolist(), strict=True)
            )
            if not answers[sentence].is_done(most, config, nbest)
        ]
        rows = living.scatter(torch.arange(len(logs), device=max_lengths.device), len(grown.sentences)).gather(
            1, origin
        )
        beams = grown.select(keep)
        if keep:
            living = _alive_layout(beams, with_coverage=config.coverage_penalty > 0)
            rows = living.gather(rows if beams is grown else rows[keep])
            if not torch.equal(rows, torch.arange(len(logs), device=rows.device)):
                state = state.select(rows)
        if came := refill(beams.sentences):
            if strategy != DEFAULT_STRATEGY or config.coverage_penalty:
                raise ValueError("rules and coverage do not know who came when: search batch by batch")
            begun = Beams.initial(range(len(answers), len(answers) + len(came[1])), max_lengths.device)
            answers += [_SentenceResult(max_length=limit) for limit in came[1].tolist()]
            state, beams = (state.concat(came[0]), beams.concat(begun)) if keep else (came[0], begun)
            living = _alive_layout(beams, with_coverage=False)
    return [answer.best_hypotheses(config, nbest) for answer in answers]


def _alive_layout(beams: Beams, *, with_coverage: bool) -> BeamLayout:
    """Where in the beams there is a hypothesis to follow. Whoever watches sees all places, empty ones included."""
    there, width = (beams.ranking_scores != -torch.inf).flatten(), beams.shape[1]
    return BeamLayout(width) if with_coverage or bool(there.all()) else BeamLayout(width, there.nonzero().squeeze(1))


def _score_next_tokens(
    scorer: Scorer[S], beams: Beams, layout: BeamLayout, state: S, *, with_coverage: bool
) -> tuple[Tensor, S, Tensor]:
    """Log-scores of all next pieces, the state after the step, and what has been looked at: the mean of attentions."""
    pieces = layout.gather(beams.tokens[:, :, -1])
    if not with_coverage:
        return *scorer(pieces, state), beams.coverage
    with record_attention() as seen:
        logs, state = scorer(pieces, state)
    layers = [weights.mean(dim=1).reshape(*beams.shape, -1) for weights in seen.get("cross", ())]
    if not layers:
        raise InputError("coverage: this kind of model has no attention over the source; leave it at 0")
    looked = torch.stack(layers).mean(dim=0)
    return logs, state, looked + beams.coverage if beams.coverage.shape[2] else looked


class StepScores(NamedTuple):
    """What a step says of the hypotheses that it goes on from."""

    log_probs: Tensor  # (row, piece): log p of each next piece, a row for each that is alive
    layout: BeamLayout
    coverage: Tensor  # (sentence, hypothesis, slot)


def _extend_beams(
    beams: Beams,
    step_scores: StepScores,
    results: list[_SentenceResult],
    config: DecodingConfig,
    strategy: SearchStrategy,
) -> tuple[Beams, Tensor]:
    """Every hypothesis one piece longer, and which one each came from; the finished ones go to the answers."""
    ended, living = _select_candidates(beams, step_scores, results, config, strategy)
    finished = ended.ranking_score.isfinite().nonzero()
    if len(finished):
        outputs = _finished_hypotheses(beams.extend(step_scores.coverage, ended), finished, config)
        most = living.ranking_score[:, 0].tolist()
        for row, output in zip(finished[:, 0].tolist(), outputs, strict=True):
            sentence = beams.sentences[row]
            results[sentence].finished.append(output)
            results[sentence].best_has_finished |= (
                output.ranking_score >= most[row] or sentence in strategy.early_stopping_sentences
            )
    return beams.extend(step_scores.coverage, living), living.parent


def _select_candidates(
    beams: Beams,
    step_scores: StepScores,
    results: list[_SentenceResult],
    config: DecodingConfig,
    strategy: SearchStrategy,
) -> tuple[BeamStep, BeamStep]:
    """Those that end, and those that go on, best first; where there are fewer, what is left of a row has merit -inf."""
    logs = step_scores.log_probs
    full = [
        results[at].max_length < length for at, length in zip(beams.sentences, beams.lengths, strict=True)
    ]  # with </s>
    if (
        strategy == DEFAULT_STRATEGY
        and logs.numel() >= MIN_BLOCKWISE_CANDIDATES
        and logs.shape[1] > EOS + BLOCK_SIZE
        and not any(full)
    ):
        ends = step_scores.layout.scatter(logs[:, EOS], len(beams.sentences))
        going = blockwise_topk(logs, beams.ranking_scores, step_scores.layout, config.beam)
        return _finished_candidates(ends, beams.ranking_scores + ends, going, config.beam), going
    every = step_scores.layout.scatter(logs, len(beams.sentences))  # (sentence, hypothesis, piece)
    merits = _ranking_scores(beams, every, full, strategy.rules)
    if strategy.selection is None:
        others = _mask_eos(merits)
        going = _gather_candidates(topk_selection(config.beam)(others, beams), every, others)
        ended = _finished_candidates(every[:, :, EOS], merits[:, :, EOS], going, config.beam)
    else:
        ended, going = _apply_selection(strategy.selection, every, merits, beams)
    if strategy.observer:
        kept = BeamStep(*(torch.cat(parts, dim=1) for parts in zip(ended, going, strict=True)))
        order = kept.ranking_score.argsort(dim=1, descending=True, stable=True)
        place = (kept.parent * merits.shape[2] + kept.token).gather(1, order)
        strategy.observer(beams, merits, place[:, : int(kept.ranking_score.isfinite().sum(dim=1).max())])
    return ended, going


def _mask_eos(ranking_scores: Tensor) -> Tensor:
    ranking_scores = ranking_scores.clone()
    ranking_scores[:, :, EOS] = -torch.inf
    return ranking_scores


def _finished_candidates(log_probs: Tensor, ranking_scores: Tensor, continuing: BeamStep, beam: int) -> BeamStep:
    """Of the hypotheses with </s> behind them those that are among the best `beam` candidates."""
    every = torch.cat([continuing.ranking_score, ranking_scores], dim=1)
    least = every.topk(min(beam, every.shape[1]), dim=1).values[:, -1:]
    origin = torch.arange(ranking_scores.shape[1], device=ranking_scores.device).expand_as(ranking_scores)
    return BeamStep(
        origin, torch.full_like(origin, EOS), log_probs, ranking_scores.masked_fill(ranking_scores < least, -torch.inf)
    )


def _apply_selection(
    selection: Selection, log_probs: Tensor, ranking_scores: Tensor, beams: Beams
) -> tuple[BeamStep, BeamStep]:
    """The same of a choice: it says who ends, and, asked again without </s> where one does, who goes on."""
    first = _gather_candidates(selection(ranking_scores, beams), log_probs, ranking_scores)
    ends = first.token == EOS
    ended = first._replace(ranking_score=first.ranking_score.masked_fill(~ends, -torch.inf))
    if not bool(ends.any()):
        return ended, first
    if first.token.shape[1] == 1:  # the only one: nothing goes on, and nothing is drawn anew
        return ended, first._replace(ranking_score=first.ranking_score.masked_fill(ends, -torch.inf))
    going = _mask_eos(ranking_scores)
    again = _gather_candidates(selection(going, beams), log_probs, going)
    return ended, BeamStep(
        *(torch.where(ends.any(dim=1, keepdim=True), *both) for both in zip(again, first, strict=True))
    )


def _gather_candidates(flat_indices: Tensor, log_probs: Tensor, ranking_scores: Tensor) -> BeamStep:
    """The candidates at these places (sentence, rank) of a flat row."""
    own, merit, size = (
        log_probs.flatten(1).gather(1, flat_indices),
        ranking_scores.flatten(1).gather(1, flat_indices),
        ranking_scores.shape[2],
    )
    return BeamStep(flat_indices // size, flat_indices % size, own, merit)


def _ranking_scores(beams: Beams, log_probs: Tensor, at_max_length: list[bool], rules: Sequence[Rule]) -> Tensor:
    """What every candidate (sentence, hypothesis, piece) is worth."""
    for rule in rules:
        log_probs = rule(log_probs, beams)
    merits = beams.ranking_scores.unsqueeze(2) + log_probs
    merits[:, :, :EOS] = -torch.inf  # <pad>, <s>: never chosen; the others keep what the model gave them
    if any(at_max_length):  # no room for another piece: only </s> is left
        merits[torch.tensor(at_max_length, device=merits.device), :, EOS + 1 :] = -torch.inf
    return merits


def _finished_hypotheses(beams: Beams, indices: Tensor, config: DecodingConfig) -> Iterator[_FinishedHypothesis]:
    """Those at these places (sentence, hypothesis), which have taken </s>."""
    totals, merits, prefixes, logs, covered = (part[*indices.unbind(1)] for part in beams[1:6])
    read = covered.clamp(max=1.0)
    missed = config.coverage_penalty * read.where(read > 0, 1.0).log().sum(dim=1)  # padding is never looked at
    every = zip(*(part.tolist() for part in (indices[:, 0], prefixes, logs, totals, merits, missed)), strict=True)
    for row, pieces, own, total, merit, less in every:
        first = beams.left_padding[row] + 1
        score = merit / config.length_penalty(len(own) - first) + less
        yield _FinishedHypothesis(Hypothesis(pieces[first:-1], total, score, own[first:]), merit)
