"""A beam search, looked into: what each step kept, what it pruned and by how much, on a page that needs no network."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from tongsa.data.normalize import normalize
from tongsa.decoding.beams import Beams
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.storage import write_text
from tongsa.tokenization.special import EOS
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.visualize.page import render_html

INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
"""Unicode categories of what shows nothing, or turns the text around it: written as U+…."""


@dataclass(frozen=True, kw_only=True)
class TreeCandidate:
    """A prefix that the search has looked at."""

    prefix: tuple[int, ...]
    """Without <s>; the last is what this step adds."""
    token: str
    """The last one by its name, '▁' where a word starts."""
    text: str
    """The whole prefix, as it would be written."""
    parent: int | None
    """Its place among those kept in the step before; none in the first."""
    token_log_prob: float
    """log p of the last piece."""
    log_prob: float
    """log p of the prefix."""
    ranking_score: float
    """By which candidates are compared: the total, and what rules take from it."""

    @property
    def is_finished(self) -> bool:
        return self.prefix[-1] == EOS


@dataclass(frozen=True, kw_only=True)
class TreeStep:
    kept: tuple[TreeCandidate, ...]
    """Best first: those that go on, as many as the beam is wide, and those that ended."""
    pruned: tuple[TreeCandidate, ...]
    """The best of those that were not kept."""
    more_pruned: int
    """How many more there were."""

    def gap(self, candidate: TreeCandidate) -> float:
        """How far below the last one kept; below 0 for an end that was not among the best."""
        return min(one.ranking_score for one in self.kept) - candidate.ranking_score


@dataclass(frozen=True)
class FinishedHypothesis:
    """A hypothesis that has taken </s>."""

    step: int
    rank: int
    score: float


StopReason = Literal["certain", "limit", "full", "nothing"]


@dataclass(frozen=True, kw_only=True)
class SearchTree:
    text: str
    config: DecodingConfig
    max_tokens: int
    """The longest output, without </s>."""
    steps: tuple[TreeStep, ...]
    finished: tuple[FinishedHypothesis, ...]
    """Best first; behind them those that likelier ones have pushed out."""
    truncated: bool = False
    """The source was longer than the model can read."""
    beam_groups: int = 1
    """Of the model's own search; this is one beam, without."""

    @property
    def alive(self) -> list[TreeCandidate]:
        """What the search could still have followed when it stopped."""
        return [one for one in self.steps[-1].kept if not one.is_finished]

    @property
    def stop_reason(self) -> StopReason:
        """Why the search stopped."""
        if len(self.steps) > self.max_tokens:
            return "limit"
        if len(self.finished) >= self.config.beam and any(step.kept[0].is_finished for step in self.steps):
            return "full"
        return "certain" if self.alive else "nothing"

    @property
    def score_bound(self) -> float | None:
        """No living prefix can ever score above this: what merit is left, over the penalty of the longest output."""
        if self.stop_reason != "certain":
            return None
        return max(one.ranking_score for one in self.alive) / self.config.length_penalty(self.max_tokens + 1)

    def finished_candidate(self, finished: FinishedHypothesis) -> TreeCandidate:
        return self.steps[finished.step].kept[finished.rank]


class SearchRecorder:
    """A witness of one sentence's search, which copies what it is told."""

    def __init__(self, tokenizer: Tokenizer, config: DecodingConfig, max_pruned: int) -> None:
        self.tokenizer, self.config, self.max_pruned = tokenizer, config, max_pruned
        self.steps: list[TreeStep] = []

    def __call__(self, beams: Beams, ranking_scores: Tensor, selected: Tensor) -> None:
        (_,) = beams.sentences  # one sentence, in one group
        prefixes = [tuple(row) for row in beams.tokens[0, :, 1:].tolist()]
        every = ranking_scores[0].double().flatten()
        every = every.masked_fill(~every.isfinite(), -torch.inf)
        kept = [at for at in selected[0].tolist() if every[at] > -torch.inf]
        left = every.index_fill(0, torch.tensor(kept, dtype=torch.long, device=every.device), -torch.inf)
        count = int(left.isfinite().sum())
        pruned = left.topk(min(self.max_pruned, count)).indices.tolist()
        made = [self._candidate(prefixes, at, ranking_scores.shape[2], every[at].item()) for at in (*kept, *pruned)]
        self.steps.append(
            TreeStep(kept=tuple(made[: len(kept)]), pruned=tuple(made[len(kept) :]), more_pruned=count - len(pruned))
        )

    def _candidate(
        self, prefixes: Sequence[tuple[int, ...]], flat_index: int, vocab_size: int, ranking_score: float
    ) -> TreeCandidate:
        before, piece = prefixes[flat_index // vocab_size], flat_index % vocab_size
        parents = [one.prefix for one in self.steps[-1].kept] if self.steps else []
        parent = parents.index(before) if before else None
        total, reached = 0.0, 0.0
        if parent is not None:
            total, reached = self.steps[-1].kept[parent].log_prob, self.steps[-1].kept[parent].ranking_score
        log = (ranking_score - reached) / (self.config.repetition_penalty if piece in before else 1.0)
        return TreeCandidate(
            prefix=(*before, piece),
            token=self.tokenizer.token_strings([piece])[0],
            text=self.tokenizer.decode((*before, piece)),
            parent=parent,
            token_log_prob=log,
            log_prob=total + log,
            ranking_score=ranking_score,
        )


def build_search_tree(
    translator: Translator, text: str, *, beam: int | None = None, alpha: float | None = None, max_pruned: int = 3
) -> SearchTree:
    """The search for the best translation of a text, with so many of the pruned candidates of each step."""
    if not normalize(text):
        raise InputError("search-tree: an empty text has nothing to search for; give a sentence")
    if max_pruned < 0:
        raise InputError(f"--pruned {max_pruned}: 0 shows none, 3 the three best; give a number from 0 up")
    own = translator.config
    try:
        config = replace(
            own, beam_groups=1, beam=own.beam if beam is None else beam, alpha=own.alpha if alpha is None else alpha
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    recorder = SearchRecorder(translator.target_tokenizer, config, max_pruned)
    (found,) = translator.translate([text], observer=recorder, beam=config.beam, alpha=config.alpha, groups=1)
    source = translator.source_tokenizer.encode_all([text])[0][: translator.max_positions - 1]
    return SearchTree(
        text=normalize(text),
        config=config,
        max_tokens=min(len(source) + 1 + config.max_extra_tokens, translator.max_positions - 1),
        steps=tuple(recorder.steps),
        finished=_finished_hypotheses(recorder.steps, translator, source, config),
        truncated=found.truncated,
        beam_groups=own.beam_groups,
    )


def _finished_hypotheses(
    steps: Sequence[TreeStep], translator: Translator, source: Sequence[int], config: DecodingConfig
) -> tuple[FinishedHypothesis, ...]:
    found = []
    for number, step in enumerate(steps):
        for place, one in enumerate(step.kept):
            if one.is_finished:
                score = one.ranking_score / config.length_penalty(len(one.prefix))
                if config.coverage_penalty:
                    score += config.coverage_penalty * coverage_penalty(translator, source, one.prefix[:-1])
                found.append(FinishedHypothesis(number, place, score))
    likeliest = sorted(found, key=lambda one: -steps[one.step].kept[one.rank].ranking_score)[: config.beam]
    return tuple(sorted(found, key=lambda one: (one not in likeliest, -one.score)))


def coverage_penalty(translator: Translator, source: Sequence[int], target: Sequence[int]) -> float:
    """Σ log min(1, what a source piece was looked at in all): Wu et al. 2016, equation 14.

    The search has told its witness of the attention before the last step only; teacher forcing gives all of it.
    """
    looked = np.mean([layer.mean(axis=0) for layer in translator.attention(source, target)["cross"]], axis=0)
    read = looked.sum(axis=0).clip(max=1.0)
    return float(np.log(read[read > 0]).sum())


def page_data(title: str, tree: SearchTree) -> dict[str, Any]:
    """What the page draws, ready for JSON."""
    best = tree.finished_candidate(tree.finished[0])
    scores = {(one.step, one.rank): one.score for one in tree.finished}
    return {
        "title": title,
        "text": tree.text,
        "translation": best.text,
        "cut": tree.truncated,
        "groups": tree.beam_groups,
        "beam": tree.config.beam,
        "alpha": tree.config.alpha,
        "normalisation": tree.config.length_normalization,
        "coverage": tree.config.coverage_penalty,
        "limit": tree.max_tokens,
        "longest": tree.config.length_penalty(tree.max_tokens + 1),
        "reason": tree.stop_reason,
        "bound": tree.score_bound,
        "steps": [
            {
                "kept": [
                    candidate_data(one, tree.config) | ({"score": scores[number, place]} if one.is_finished else {})
                    for place, one in enumerate(step.kept)
                ],
                "pruned": [candidate_data(one, tree.config) | {"gap": step.gap(one)} for one in step.pruned],
                "others": step.more_pruned,
            }
            for number, step in enumerate(tree.steps)
        ],
        "finished": [[one.step, one.rank] for one in tree.finished],
    }


def page_html(title: str, tree: SearchTree) -> str:
    """One HTML page with everything inside: style, script, data."""
    return render_html(title, {"tree": page_data(title, tree)})


def candidate_data(candidate: TreeCandidate, config: DecodingConfig) -> dict[str, Any]:
    penalty = config.length_penalty(len(candidate.prefix))
    return {
        "piece": printable(candidate.token),
        "text": candidate.text,
        "parent": candidate.parent,
        "log": candidate.token_log_prob,
        "total": candidate.log_prob,
        "merit": candidate.ranking_score,
        "penalty": penalty,
        "score": candidate.ranking_score / penalty,
        "ended": candidate.is_finished,
    }


def printable(token: str) -> str:
    """A piece with nothing in it that cannot be seen."""
    return "".join(
        f"U+{ord(character):04X}" if unicodedata.category(character) in INVISIBLE_CATEGORIES else character
        for character in token
    )


def write_page(path: Path, title: str, tree: SearchTree) -> None:
    """Write the page whole or not at all."""
    write_text(path, page_html(title, tree))
