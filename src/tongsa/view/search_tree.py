"""A beam search, looked into: what each step kept, what it pruned and by how much, on a page that needs no network."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from tongsa.decoding.beams import Beams
from tongsa.decoding.search import SearchConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.files import write_text
from tongsa.text import EOS, Vocabulary, normalise
from tongsa.view.document import document

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
"""Unicode categories of what shows nothing, or turns the text around it: written as U+…."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A prefix that the search has looked at."""

    prefix: tuple[int, ...]
    """Without <s>; the last is what this step adds."""
    piece: str
    """The last one by its name, '▁' where a word starts."""
    text: str
    """The whole prefix, as it would be written."""
    parent: int | None
    """Its place among those kept in the step before; none in the first."""
    log: float
    """log p of the last piece."""
    total: float
    """log p of the prefix."""
    merit: float
    """By which candidates are compared: the total, and what rules take from it."""

    @property
    def ended(self) -> bool:
        return self.prefix[-1] == EOS


@dataclass(frozen=True, kw_only=True)
class Step:
    kept: tuple[Candidate, ...]
    """Best first: those that go on, as many as the beam is wide, and those that ended."""
    pruned: tuple[Candidate, ...]
    """The best of those that were not kept."""
    others: int
    """How many more there were."""

    def gap(self, candidate: Candidate) -> float:
        """How far below the last one kept; below 0 for an end that was not among the best."""
        return min(one.merit for one in self.kept) - candidate.merit


@dataclass(frozen=True)
class Finished:
    """A hypothesis that has taken </s>."""

    step: int
    place: int
    score: float


Reason = Literal["certain", "limit", "full", "nothing"]


@dataclass(frozen=True, kw_only=True)
class SearchTree:
    text: str
    config: SearchConfig
    limit: int
    """The longest output, without </s>."""
    steps: tuple[Step, ...]
    finished: tuple[Finished, ...]
    """Best first; behind them those that likelier ones have pushed out."""
    cut: bool = False
    """The source was longer than the model can read."""
    groups: int = 1
    """Of the model's own search; this is one beam, without."""

    @property
    def living(self) -> list[Candidate]:
        """What the search could still have followed when it stopped."""
        return [one for one in self.steps[-1].kept if not one.ended]

    @property
    def reason(self) -> Reason:
        """Why the search stopped."""
        if len(self.steps) > self.limit:
            return "limit"
        if len(self.finished) >= self.config.beam and any(step.kept[0].ended for step in self.steps):
            return "full"
        return "certain" if self.living else "nothing"

    @property
    def bound(self) -> float | None:
        """No living prefix can ever score above this: what merit is left, over the penalty of the longest output."""
        if self.reason != "certain":
            return None
        return max(one.merit for one in self.living) / self.config.penalty(self.limit + 1)

    def finish(self, one: Finished) -> Candidate:
        return self.steps[one.step].kept[one.place]


class Recorder:
    """A witness of one sentence's search, which copies what it is told."""

    def __init__(self, target: Vocabulary, config: SearchConfig, pruned: int) -> None:
        self.target, self.config, self.pruned = target, config, pruned
        self.steps: list[Step] = []

    def __call__(self, beams: Beams, merits: Tensor, place: Tensor) -> None:
        (_,) = beams.sentences  # one sentence, in one group
        prefixes = [tuple(row) for row in beams.prefixes[0, :, 1:].tolist()]
        every = merits[0].double().flatten()
        every = every.masked_fill(~every.isfinite(), -torch.inf)
        kept = [at for at in place[0].tolist() if every[at] > -torch.inf]
        left = every.index_fill(0, torch.tensor(kept, dtype=torch.long, device=every.device), -torch.inf)
        count = int(left.isfinite().sum())
        pruned = left.topk(min(self.pruned, count)).indices.tolist()
        made = [self._candidate(prefixes, at, merits.shape[2], every[at].item()) for at in (*kept, *pruned)]
        self.steps.append(
            Step(kept=tuple(made[: len(kept)]), pruned=tuple(made[len(kept) :]), others=count - len(pruned))
        )

    def _candidate(self, prefixes: Sequence[tuple[int, ...]], place: int, size: int, merit: float) -> Candidate:
        before, piece = prefixes[place // size], place % size
        parents = [one.prefix for one in self.steps[-1].kept] if self.steps else []
        parent = parents.index(before) if before else None
        total, reached = 0.0, 0.0
        if parent is not None:
            total, reached = self.steps[-1].kept[parent].total, self.steps[-1].kept[parent].merit
        log = (merit - reached) / (self.config.repetition if piece in before else 1.0)
        return Candidate(
            prefix=(*before, piece),
            piece=self.target.names([piece])[0],
            text=self.target.join((*before, piece)),
            parent=parent,
            log=log,
            total=total + log,
            merit=merit,
        )


def searched(
    translator: Translator, text: str, *, beam: int | None = None, alpha: float | None = None, pruned: int = 3
) -> SearchTree:
    """The search for the best translation of a text, with so many of the pruned candidates of each step."""
    if not normalise(text):
        raise InputError("search-tree: an empty text has nothing to search for; give a sentence")
    if pruned < 0:
        raise InputError(f"--pruned {pruned}: 0 shows none, 3 the three best; give a number from 0 up")
    own = translator.config
    try:
        config = replace(
            own, groups=1, beam=own.beam if beam is None else beam, alpha=own.alpha if alpha is None else alpha
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    recorder = Recorder(translator.target, config, pruned)
    (found,) = translator.translate([text], witness=recorder, beam=config.beam, alpha=config.alpha, groups=1)
    source = translator.source.split_all([text])[0][: translator.longest - 1]
    return SearchTree(
        text=normalise(text),
        config=config,
        limit=min(len(source) + 1 + config.beyond, translator.longest - 1),
        steps=tuple(recorder.steps),
        finished=_finished(recorder.steps, translator, source, config),
        cut=found.cut,
        groups=own.groups,
    )


def _finished(
    steps: Sequence[Step], translator: Translator, source: Sequence[int], config: SearchConfig
) -> tuple[Finished, ...]:
    found = []
    for number, step in enumerate(steps):
        for place, one in enumerate(step.kept):
            if one.ended:
                score = one.merit / config.penalty(len(one.prefix))
                if config.coverage:
                    score += config.coverage * coverage(translator, source, one.prefix[:-1])
                found.append(Finished(number, place, score))
    likeliest = sorted(found, key=lambda one: -steps[one.step].kept[one.place].merit)[: config.beam]
    return tuple(sorted(found, key=lambda one: (one not in likeliest, -one.score)))


def coverage(translator: Translator, source: Sequence[int], target: Sequence[int]) -> float:
    """Σ log min(1, what a source piece was looked at in all): Wu et al. 2016, equation 14.

    The search has told its witness of the attention before the last step only; teacher forcing gives all of it.
    """
    looked = np.mean([layer.mean(axis=0) for layer in translator.attention(source, target)["cross"]], axis=0)
    read = looked.sum(axis=0).clip(max=1.0)
    return float(np.log(read[read > 0]).sum())


def page_data(title: str, tree: SearchTree) -> dict[str, Any]:
    """What the page draws, ready for JSON."""
    best = tree.finish(tree.finished[0])
    scores = {(one.step, one.place): one.score for one in tree.finished}
    return {
        "title": title,
        "text": tree.text,
        "translation": best.text,
        "cut": tree.cut,
        "groups": tree.groups,
        "beam": tree.config.beam,
        "alpha": tree.config.alpha,
        "normalisation": tree.config.normalisation,
        "coverage": tree.config.coverage,
        "limit": tree.limit,
        "longest": tree.config.penalty(tree.limit + 1),
        "reason": tree.reason,
        "bound": tree.bound,
        "steps": [
            {
                "kept": [
                    told(one, tree.config) | ({"score": scores[number, place]} if one.ended else {})
                    for place, one in enumerate(step.kept)
                ],
                "pruned": [told(one, tree.config) | {"gap": step.gap(one)} for one in step.pruned],
                "others": step.others,
            }
            for number, step in enumerate(tree.steps)
        ],
        "finished": [[one.step, one.place] for one in tree.finished],
    }


def page(title: str, tree: SearchTree) -> str:
    """One HTML page with everything inside: style, script, data."""
    return document(title, {"tree": page_data(title, tree)})


def told(one: Candidate, config: SearchConfig) -> dict[str, Any]:
    penalty = config.penalty(len(one.prefix))
    return {
        "piece": shown(one.piece),
        "text": one.text,
        "parent": one.parent,
        "log": one.log,
        "total": one.total,
        "merit": one.merit,
        "penalty": penalty,
        "score": one.merit / penalty,
        "ended": one.ended,
    }


def shown(piece: str) -> str:
    """A piece with nothing in it that cannot be seen."""
    return "".join(
        f"U+{ord(character):04X}" if unicodedata.category(character) in UNSEEN else character for character in piece
    )


def write_page(path: Path, title: str, tree: SearchTree) -> None:
    """Write the page whole or not at all."""
    write_text(path, page(title, tree))
