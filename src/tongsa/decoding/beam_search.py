"""Beam search for every kind of model (Sutskever et al. 2014, section 3.2), written against interface.py.

1. Every sentence starts with one hypothesis, BOS. All hypotheses of all sentences are rows of one batch.
2. A step scores each possible next token of each row: log-probabilities (row, token).
3. Rules change these scores or forbid tokens. The ranking score of a candidate is that of its hypothesis plus the
   score of the token: a log-probability, not yet normalized by length.
4. Of the best `beam` candidates of a sentence, those that end with EOS are finished hypotheses.
5. The best `beam` candidates that do not end with EOS continue. Their rows of the decoder state are selected.
6. A sentence is done when `beam` hypotheses have finished, and the best candidate of some step was one of them; or
   when no hypothesis that is alive can still enter the n-best list.
7. Sentences that are done leave the batch. With continuous batching others join.
8. Finished hypotheses are compared by score = log-probability / length penalty + coverage penalty (Wu et al. 2016,
   equation 14; Vaswani et al. 2017, section 6.1).

Sampling, diverse beams, forced prefixes and forbidden phrases are rules and selections (beams.py) of this search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.beams import (
    DEFAULT_STRATEGY,
    Beams,
    Rule,
    SearchStrategy,
    Selection,
    gather_parents,
    topk_selection,
)
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import Scorer
from tongsa.decoding.topk import BeamStep, gather_candidates, topk_candidates
from tongsa.errors import InputError
from tongsa.interface import S
from tongsa.nn.attention import record_attention
from tongsa.nn.beam_layout import BeamLayout
from tongsa.tokenization.special import EOS


class Hypothesis(NamedTuple):
    """A finished output."""

    tokens: list[int]
    """Without BOS and EOS."""
    log_prob: float
    """log p(tokens, EOS | source): the sum over the tokens."""
    score: float
    """Ranking score / length penalty + coverage penalty, which decides the order of hypotheses."""
    token_log_probs: list[float]
    """Log-probability of each token, EOS last; empty if the engine does not return them."""


class _FinishedHypothesis(NamedTuple):
    """A hypothesis with its score before length normalization."""

    hypothesis: Hypothesis
    ranking_score: float


@dataclass
class _SentenceResult:
    """Finished hypotheses of one sentence."""

    max_length: int
    best_has_finished: bool = False
    """The best candidate of some step has finished: all hypotheses that are alive rank below it."""
    finished: list[_FinishedHypothesis] = field(default_factory=list)

    def is_done(self, best_alive: float, config: DecodingConfig, nbest: int) -> bool:
        """Return whether the search of this sentence can stop; `best_alive` is the best unfinished ranking score.

        The first condition is the stopping rule of this search, a heuristic. The second never changes the result.
        Ranking scores only fall, the length penalty only grows, and the coverage penalty is never positive. So no
        hypothesis can score above its current ranking score / the length penalty at the maximum length.
        """
        if best_alive == -torch.inf or (self.best_has_finished and len(self.finished) >= config.beam):
            return True
        if len(self.finished) < nbest:
            return False
        best = self.rank(config.beam)[:nbest]
        bound = best_alive / config.length_penalty(self.max_length + 1)
        return best[-1].hypothesis.score >= bound and min(other.ranking_score for other in best) >= best_alive

    def rank(self, beam: int) -> list[_FinishedHypothesis]:
        """Return the `beam` finished hypotheses with the best ranking scores, sorted by score."""
        best = sorted(self.finished, key=lambda finished: -finished.ranking_score)[:beam]
        return sorted(best, key=lambda finished: -finished.hypothesis.score)


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
    """Return the best `nbest` hypotheses of each sentence, best first.

    `state` has a row for each sentence; `max_lengths` (sentence,) is the largest number of tokens of each output.
    `refill` is called after each step with the sentences that are alive. It may return the state and maximum lengths
    of sentences that join the batch. This needs plain beam search: rules do not know when a sentence joined.
    """
    results = [_SentenceResult(max_length) for max_length in max_lengths.tolist()]
    beams, layout = Beams.initial(range(len(results)), max_lengths.device), BeamLayout(1)
    with_coverage = config.coverage_penalty > 0
    while beams.sentences:
        log_probs, state, coverage = _score_next_tokens(scorer, beams, layout, state, with_coverage=with_coverage)
        extended, parent = _extend_beams(beams, StepScores(log_probs, layout, coverage), results, config, strategy)
        keep = _unfinished_rows(extended, results, config, nbest)
        beams = extended.select(keep)
        is_greedy = layout.width == extended.shape[1] == 1
        if keep and not (is_greedy and beams is extended):  # then all rows continue as they are
            row_ids = torch.arange(len(log_probs), device=max_lengths.device)  # rows of the state
            rows = gather_parents(layout.scatter(row_ids, len(extended.sentences)), parent)  # (sentence, hypothesis)
            layout = _alive_layout(beams, with_coverage=with_coverage)
            rows = layout.gather(rows if beams is extended else rows[keep])  # (row,)
            if not torch.equal(rows, row_ids):
                state = state.select(rows)
        if (joining := refill(beams.sentences)) is not None:
            if strategy != DEFAULT_STRATEGY or config.coverage_penalty:
                raise ValueError("continuous batching needs plain beam search without a coverage penalty")
            new_state, new_max_lengths = joining
            first = len(results)
            results += [_SentenceResult(max_length) for max_length in new_max_lengths.tolist()]
            new_beams = Beams.initial(range(first, len(results)), max_lengths.device)
            state, beams = (state.concat(new_state), beams.concat(new_beams)) if keep else (new_state, new_beams)
            layout = _alive_layout(beams, with_coverage=False)
    return [[finished.hypothesis for finished in result.rank(config.beam)[:nbest]] for result in results]


def _unfinished_rows(beams: Beams, results: list[_SentenceResult], config: DecodingConfig, nbest: int) -> list[int]:
    """Return the indices of the sentences whose search continues."""
    best = zip(beams.sentences, beams.ranking_scores[:, 0].tolist(), strict=True)
    return [row for row, (sentence, score) in enumerate(best) if not results[sentence].is_done(score, config, nbest)]


def _alive_layout(beams: Beams, *, with_coverage: bool) -> BeamLayout:
    """Return the layout of the hypotheses that have a row in the batch.

    Hypotheses with a ranking score of -inf do not exist and are not computed. With coverage all have a row, so that
    recorded attention has the shape of the beams.
    """
    alive, beam = (beams.ranking_scores != -torch.inf).flatten(), beams.shape[1]
    return BeamLayout(beam) if with_coverage or bool(alive.all()) else BeamLayout(beam, alive.nonzero().squeeze(1))


def _score_next_tokens(
    scorer: Scorer[S], beams: Beams, layout: BeamLayout, state: S, *, with_coverage: bool
) -> tuple[Tensor, S, Tensor]:
    """Return log-probabilities (row, token), the state after the step, and coverage (sentence, hypothesis, slot)."""
    tokens = layout.gather(beams.tokens[:, :, -1])  # (row,)
    if not with_coverage:
        return *scorer(tokens, state), beams.coverage
    with record_attention() as attention:
        log_probs, state = scorer(tokens, state)
    layers = [weights.mean(dim=1).reshape(*beams.shape, -1) for weights in attention.get("cross", ())]  # mean of heads
    if not layers:
        raise InputError("coverage_penalty: this kind of model has no attention over the source. Leave it at 0.")
    coverage = torch.stack(layers).mean(dim=0)  # (sentence, hypothesis, slot)
    return log_probs, state, coverage + beams.coverage if beams.coverage.shape[2] else coverage


class StepScores(NamedTuple):
    """Scores of one step, for the hypotheses that it extends."""

    log_probs: Tensor  # (row, token), a row for each hypothesis that is alive
    layout: BeamLayout
    coverage: Tensor  # (sentence, hypothesis, slot)


def _extend_beams(
    beams: Beams,
    step_scores: StepScores,
    results: list[_SentenceResult],
    config: DecodingConfig,
    strategy: SearchStrategy,
) -> tuple[Beams, Tensor]:
    """Return the continuing hypotheses and their parents (sentence, hypothesis); add finished ones to the results."""
    ending, continuing = _select_candidates(beams, step_scores, results, config, strategy)
    # (finished, 2): row and hypothesis
    if ending is not None and len(finished := (ending.ranking_score > -torch.inf).nonzero()):
        outputs = _finished_hypotheses(beams.extend(step_scores.coverage, ending), finished, config)
        best_continuing = continuing.ranking_score[:, 0].tolist()
        for row, output in zip(finished[:, 0].tolist(), outputs, strict=True):
            sentence = beams.sentences[row]
            results[sentence].finished.append(output)
            results[sentence].best_has_finished |= output.ranking_score >= best_continuing[row]
    return beams.extend(step_scores.coverage, continuing), continuing.parent


def _select_candidates(
    beams: Beams,
    step_scores: StepScores,
    results: list[_SentenceResult],
    config: DecodingConfig,
    strategy: SearchStrategy,
) -> tuple[BeamStep | None, BeamStep]:
    """Return the candidates that finish, perhaps None, and those that continue, best first."""
    log_probs, num_sentences = step_scores.log_probs, len(beams.sentences)
    at_max_length = [  # lengths count BOS
        results[sentence].max_length < length for sentence, length in zip(beams.sentences, beams.lengths, strict=True)
    ]
    if strategy == DEFAULT_STRATEGY and not any(at_max_length) and log_probs.shape[1] > EOS + 1:
        # the fast path: no scores are changed, and only those of EOS are copied into the shape of the beams
        eos_log_probs = step_scores.layout.scatter(log_probs[:, EOS], num_sentences)  # (sentence, hypothesis)
        continuing = topk_candidates(log_probs, beams.ranking_scores, step_scores.layout, config.beam)
        eos_scores = beams.ranking_scores + eos_log_probs
        fills_beam = continuing.token.shape[1] == config.beam
        if fills_beam and not bool((eos_scores >= continuing.ranking_score[:, -1:]).any()):
            return None, continuing  # usual in a small batch: `beam` candidates are better than all that would end
        return _finished_candidates(eos_log_probs, eos_scores, continuing, config.beam), continuing
    scattered = step_scores.layout.scatter(log_probs, num_sentences)  # (sentence, hypothesis, token)
    ranking_scores = _ranking_scores(beams, scattered, at_max_length, strategy.rules)  # (sentence, hypothesis, token)
    if strategy.selection is None:
        without_eos = _mask_eos(ranking_scores)
        continuing = gather_candidates(topk_selection(config.beam)(without_eos, beams), scattered, without_eos)
        ending = _finished_candidates(scattered[:, :, EOS], ranking_scores[:, :, EOS], continuing, config.beam)
    else:
        ending, continuing = _apply_selection(strategy.selection, scattered, ranking_scores, beams)
    if strategy.observer:
        strategy.observer(beams, ranking_scores, _selected_indices(ending, continuing, ranking_scores.shape[2]))
    return ending, continuing


def _selected_indices(ending: BeamStep, continuing: BeamStep, vocab_size: int) -> Tensor:  # (sentence, rank)
    """Return the flat indices of all candidates that finish or continue, best first."""
    both = BeamStep(*(torch.cat(parts, dim=1) for parts in zip(ending, continuing, strict=True)))
    order = both.ranking_score.argsort(dim=1, descending=True, stable=True)
    flat_indices = (both.parent * vocab_size + both.token).gather(1, order)
    return flat_indices[:, : int(both.ranking_score.isfinite().sum(dim=1).max())]


def _mask_eos(ranking_scores: Tensor) -> Tensor:
    ranking_scores = ranking_scores.clone()
    ranking_scores[:, :, EOS] = -torch.inf
    return ranking_scores


def _finished_candidates(log_probs: Tensor, ranking_scores: Tensor, continuing: BeamStep, beam: int) -> BeamStep:
    """Return the hypotheses with EOS that are among the best `beam` candidates; the others have score -inf.

    log_probs, ranking_scores: (sentence, hypothesis), of EOS after each hypothesis.
    """
    candidates = torch.cat([continuing.ranking_score, ranking_scores], dim=1)
    threshold = candidates.topk(min(beam, candidates.shape[1]), dim=1).values[:, -1:]
    parent = torch.arange(ranking_scores.shape[1], device=ranking_scores.device).expand_as(ranking_scores)
    kept_scores = ranking_scores.masked_fill(ranking_scores < threshold, -torch.inf)
    return BeamStep(parent, torch.full_like(parent, EOS), log_probs, kept_scores)


def _apply_selection(
    selection: Selection, log_probs: Tensor, ranking_scores: Tensor, beams: Beams
) -> tuple[BeamStep, BeamStep]:
    """Return the candidates that finish and those that continue, by a selection instead of the top k."""
    first = gather_candidates(selection(ranking_scores, beams), log_probs, ranking_scores)
    ends = first.token == EOS
    ending = first._replace(ranking_score=first.ranking_score.masked_fill(~ends, -torch.inf))
    if not bool(ends.any()):
        return ending, first
    if first.token.shape[1] == 1:  # beam 1, as in sampling: the only hypothesis ends
        return ending, first._replace(ranking_score=first.ranking_score.masked_fill(ends, -torch.inf))
    # a finished hypothesis leaves the beam: select again among the candidates that do not end
    without_eos = _mask_eos(ranking_scores)
    second = gather_candidates(selection(without_eos, beams), log_probs, without_eos)
    any_ends = ends.any(dim=1, keepdim=True)
    return ending, BeamStep(*(torch.where(any_ends, *both) for both in zip(second, first, strict=True)))


def _ranking_scores(beams: Beams, log_probs: Tensor, at_max_length: list[bool], rules: Sequence[Rule]) -> Tensor:
    """Return the ranking score of every candidate (sentence, hypothesis, token)."""
    for rule in rules:
        log_probs = rule(log_probs, beams)
    scores = beams.ranking_scores.unsqueeze(2) + log_probs
    scores[:, :, :EOS] = -torch.inf  # PAD and BOS are never selected; the others keep their probabilities
    if any(at_max_length):  # only EOS is left
        scores[torch.tensor(at_max_length, device=scores.device), :, EOS + 1 :] = -torch.inf
    return scores


def _finished_hypotheses(beams: Beams, indices: Tensor, config: DecodingConfig) -> Iterator[_FinishedHypothesis]:
    """Yield the hypotheses at indices (finished, 2), which end with EOS."""
    log_probs, ranking_scores, tokens, token_log_probs, coverage = (part[*indices.unbind(1)] for part in beams[1:6])
    attended = coverage.clamp(max=1.0)  # (finished, slot)
    # padding slots get no attention and must not count: log(1) = 0
    penalties = config.coverage_penalty * attended.where(attended > 0, 1.0).log().sum(dim=1)
    columns = (indices[:, 0], tokens, token_log_probs, log_probs, ranking_scores, penalties)
    for row, ids, id_log_probs, log_prob, ranking_score, penalty in zip(*map(Tensor.tolist, columns), strict=True):
        first = beams.left_padding[row] + 1  # after padding and BOS
        score = ranking_score / config.length_penalty(len(id_log_probs) - first) + penalty
        yield _FinishedHypothesis(Hypothesis(ids[first:-1], log_prob, score, id_log_probs[first:]), ranking_score)
