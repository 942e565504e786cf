"""Search tree of a beam search: the candidates that each step kept and pruned, as one self-contained page."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from tongsa.data.normalize import normalize
from tongsa.decoding.beams import Beams
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.tokenization.special import EOS
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.visualize.examples import translate_sentence
from tongsa.visualize.page import render_html

DECIMALS = 4
"""Decimals of the numbers in the page's data: the page shows three."""
SCORE_DECIMALS = 6
"""More decimals for finished scores: rounded twice, −0.33249 would be shown as −0.333, and beside it as −0.332."""

INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
"""Unicode categories of invisible characters and of those that change the text direction: shown as U+…."""


@dataclass(frozen=True, kw_only=True)
class TreeCandidate:
    """A prefix that the search scored."""

    prefix: tuple[int, ...]
    """Token ids without <s>; the last one was added in this step."""
    token: str
    """The last token as a string; '▁' marks the start of a word."""
    parent: int | None
    """Index of its parent among the candidates kept in the previous step; None in the first step."""
    token_log_prob: float
    """Log-probability of the last token."""
    log_prob: float
    """Log-probability of the prefix."""
    ranking_score: float
    """Log-probability after the search rules, such as a repetition penalty; candidates are compared by it."""

    @property
    def is_finished(self) -> bool:
        return self.prefix[-1] == EOS


@dataclass(frozen=True, kw_only=True)
class TreeStep:
    """Candidates of one step."""

    kept: tuple[TreeCandidate, ...]
    """Best first: at most `beam` that stay alive, and the finished ones."""
    pruned: tuple[TreeCandidate, ...]
    """The best candidates that were not kept."""
    more_pruned: int
    """Number of pruned candidates that are not listed."""

    def gap(self, candidate: TreeCandidate) -> float:
        """Return the distance to the last kept candidate.

        It is negative for an </s> above that candidate but not among the best `beam` candidates.
        """
        return min(kept.ranking_score for kept in self.kept) - candidate.ranking_score


@dataclass(frozen=True)
class FinishedHypothesis:
    """A hypothesis that ends with </s>: its step, its rank in the step, and its score."""

    step: int
    rank: int
    score: float


StopReason = Literal["certain", "limit", "full", "nothing"]


@dataclass(frozen=True, kw_only=True)
class SearchTree:
    """All steps of the beam search for one text."""

    text: str
    config: DecodingConfig
    max_tokens: int
    """Maximum output length without </s>."""
    steps: tuple[TreeStep, ...]
    finished: tuple[FinishedHypothesis, ...]
    """Best first; then those that were replaced by likelier ones."""
    translation: str = ""
    """The best output as text."""
    truncated: bool = False
    """True if the source was longer than the model accepts."""
    beam_groups: int = 1
    """Beam groups of the model's own settings; the tree always shows one beam without groups."""

    @property
    def alive(self) -> list[TreeCandidate]:
        """Hypotheses that were alive when the search stopped."""
        return [candidate for candidate in self.steps[-1].kept if not candidate.is_finished]

    @property
    def stop_reason(self) -> StopReason:
        """The reason why the search stopped."""
        if len(self.steps) > self.max_tokens:
            return "limit"
        if len(self.finished) >= self.config.beam and any(step.kept[0].is_finished for step in self.steps):
            return "full"
        return "certain" if self.alive else "nothing"

    @property
    def score_bound(self) -> float | None:
        """Upper bound of the score of all alive hypotheses: their ranking score over the largest length penalty."""
        if self.stop_reason != "certain":
            return None
        return max(alive.ranking_score for alive in self.alive) / self.config.length_penalty(self.max_tokens + 1)

    def finished_candidate(self, finished: FinishedHypothesis) -> TreeCandidate:
        return self.steps[finished.step].kept[finished.rank]


class SearchRecorder:
    """Search observer that records all steps of one sentence's search."""

    def __init__(self, tokenizer: Tokenizer, config: DecodingConfig, max_pruned: int) -> None:
        self.tokenizer, self.config, self.max_pruned = tokenizer, config, max_pruned
        self.steps: list[TreeStep] = []

    def __call__(self, beams: Beams, ranking_scores: Tensor, selected: Tensor) -> None:
        (_,) = beams.sentences  # one sentence in one group
        prefixes = [tuple(row) for row in beams.tokens[0, :, 1:].tolist()]
        scores = ranking_scores[0].double().flatten()
        scores = scores.masked_fill(~scores.isfinite(), -torch.inf)
        kept = [index for index in selected[0].tolist() if scores[index] > -torch.inf]
        others = scores.index_fill(0, torch.tensor(kept, dtype=torch.long, device=scores.device), -torch.inf)
        count = int(others.isfinite().sum())
        pruned = others.topk(min(self.max_pruned, count)).indices.tolist()
        candidates = [
            self._candidate(prefixes, index, ranking_scores.shape[2], scores[index].item())
            for index in (*kept, *pruned)
        ]
        self.steps.append(
            TreeStep(
                kept=tuple(candidates[: len(kept)]),
                pruned=tuple(candidates[len(kept) :]),
                more_pruned=count - len(pruned),
            )
        )

    def _candidate(
        self, prefixes: Sequence[tuple[int, ...]], flat_index: int, vocab_size: int, ranking_score: float
    ) -> TreeCandidate:
        prefix, token = prefixes[flat_index // vocab_size], flat_index % vocab_size
        parents = [candidate.prefix for candidate in self.steps[-1].kept] if self.steps else []
        parent = parents.index(prefix) if prefix else None
        log_prob, parent_score = 0.0, 0.0
        if parent is not None:
            log_prob, parent_score = self.steps[-1].kept[parent].log_prob, self.steps[-1].kept[parent].ranking_score
        # the search observes ranking scores only: undo the repetition penalty, which multiplies the log-probability
        token_log_prob = (ranking_score - parent_score) / (self.config.repetition_penalty if token in prefix else 1.0)
        return TreeCandidate(
            prefix=(*prefix, token),
            token=self.tokenizer.token_strings([token])[0],
            parent=parent,
            token_log_prob=token_log_prob,
            log_prob=log_prob + token_log_prob,
            ranking_score=ranking_score,
        )


def build_search_tree(
    translator: Translator, text: str, *, beam: int | None = None, alpha: float | None = None, max_pruned: int = 3
) -> SearchTree:
    """Return the search tree of a text, with the best `max_pruned` pruned candidates of each step."""
    if not normalize(text):
        raise InputError("search-tree: the text is empty. Give a sentence.")
    if max_pruned < 0:
        raise InputError(f"--pruned {max_pruned}: must be 0 or more. 0 shows none, 3 the three best.")
    defaults = translator.config
    try:
        config = replace(
            defaults,
            beam_groups=1,
            beam=defaults.beam if beam is None else beam,
            alpha=defaults.alpha if alpha is None else alpha,
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    recorder = SearchRecorder(translator.target_tokenizer, config, max_pruned)
    translation = translate_sentence(translator, text, recorder, beam=config.beam, alpha=config.alpha, beam_groups=1)
    source = translator.source_tokenizer.encode_all([text])[0][: translator.max_positions - 1]
    return SearchTree(
        text=normalize(text),
        config=config,
        max_tokens=min(len(source) + 1 + config.max_extra_tokens, translator.max_positions - 1),
        steps=tuple(recorder.steps),
        finished=_finished_hypotheses(recorder.steps, translator, source, config),
        translation=translation.text,
        truncated=translation.truncated,
        beam_groups=defaults.beam_groups,
    )


def _finished_hypotheses(
    steps: Sequence[TreeStep], translator: Translator, source: Sequence[int], config: DecodingConfig
) -> tuple[FinishedHypothesis, ...]:
    """Return the finished hypotheses, best first; the likeliest `beam` of them are compared, the others follow."""
    hypotheses = []
    for number, step in enumerate(steps):
        for rank, candidate in enumerate(step.kept):
            if candidate.is_finished:
                score = candidate.ranking_score / config.length_penalty(len(candidate.prefix))
                if config.coverage_penalty:
                    score += config.coverage_penalty * coverage_penalty(translator, source, candidate.prefix[:-1])
                hypotheses.append(FinishedHypothesis(number, rank, score))
    by_likelihood = sorted(hypotheses, key=lambda item: -steps[item.step].kept[item.rank].ranking_score)
    compared = by_likelihood[: config.beam]
    return tuple(sorted(hypotheses, key=lambda item: (item not in compared, -item.score)))


def coverage_penalty(translator: Translator, source: Sequence[int], target: Sequence[int]) -> float:
    """Return Σ log min(1, total attention on a source token): Wu et al. 2016, equation 14.

    The observer does not see the attention of the last step, so it is computed again with teacher forcing.
    """
    attention = np.mean([layer.mean(axis=0) for layer in translator.attention(source, target)["cross"]], axis=0)
    coverage = attention.sum(axis=0).clip(max=1.0)
    return float(np.log(coverage[coverage > 0]).sum())


def page_data(title: str, tree: SearchTree) -> dict[str, Any]:
    """Return the page's data, ready for JSON. It has no prefixes: the page joins the tokens along the parents."""
    return {
        "title": title,
        "text": tree.text,
        "translation": tree.translation,
        "truncated": tree.truncated,
        "beam_groups": tree.beam_groups,
        "beam": tree.config.beam,
        "alpha": tree.config.alpha,
        "length_normalization": tree.config.length_normalization,
        "coverage_penalty": tree.config.coverage_penalty,
        "max_tokens": tree.max_tokens,
        "max_length_penalty": round(tree.config.length_penalty(tree.max_tokens + 1), DECIMALS),
        "stop_reason": tree.stop_reason,
        "score_bound": None if tree.score_bound is None else round(tree.score_bound, DECIMALS),
        "steps": [step_data(tree, number) for number in range(len(tree.steps))],
        "finished": [[hypothesis.step, hypothesis.rank] for hypothesis in tree.finished],
    }


def step_data(tree: SearchTree, number: int) -> dict[str, Any]:
    """Return the candidates of a step; a finished one has its score, which includes the coverage penalty."""
    step = tree.steps[number]
    scores = {hypothesis.rank: hypothesis.score for hypothesis in tree.finished if hypothesis.step == number}
    return {
        "length_penalty": round(tree.config.length_penalty(number + 1), DECIMALS),
        "kept": [
            candidate_data(candidate) | ({"score": round(scores[rank], SCORE_DECIMALS)} if rank in scores else {})
            for rank, candidate in enumerate(step.kept)
        ],
        "pruned": [
            candidate_data(candidate) | {"gap": round(step.gap(candidate), DECIMALS)} for candidate in step.pruned
        ],
        "more_pruned": step.more_pruned,
    }


def candidate_data(candidate: TreeCandidate) -> dict[str, Any]:
    return {
        "token": printable(candidate.token),
        "parent": candidate.parent,
        "token_log_prob": round(candidate.token_log_prob, DECIMALS),
        "log_prob": round(candidate.log_prob, DECIMALS),
        "ranking_score": round(candidate.ranking_score, DECIMALS),
        **({"is_finished": True} if candidate.is_finished else {}),
    }


def page_html(title: str, tree: SearchTree) -> str:
    """Return a self-contained HTML page with style, script and data."""
    return render_html(title, {"tree": {"trees": [page_data(title, tree)]}}, [sentence_data(tree)])


def sentence_data(tree: SearchTree) -> dict[str, Any]:
    """Return the texts of the sentence for the page's header."""
    return {"text": tree.text, "translation": tree.translation, "is_label": False, "reference": "", "score": None}


def printable(token: str) -> str:
    """Return a token with its invisible characters written as U+…."""
    return "".join(
        f"U+{ord(character):04X}" if unicodedata.category(character) in INVISIBLE_CATEGORIES else character
        for character in token
    )
