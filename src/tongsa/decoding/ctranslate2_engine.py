"""Search by CTranslate2 (Klein et al. 2020): the same model, the same search."""

import importlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tongsa.batch import Padded
from tongsa.decoding.search import Hypothesis, SearchConfig
from tongsa.errors import InputError
from tongsa.text import BOS, EOS, PAD

NOTE = "tongsa.json"
"""In every exported folder: what made it, and of which weights."""

LIST = "vmap.txt"
"""Which pieces a source makes likely, as CTranslate2 reads it."""

KNOWN = ("beam", "normalisation", "alpha", "beyond")
"""The settings of a search that are carried out here; a shortlist too, where one was exported."""

AT_ONCE, LISTED = 64, 32
"""Sentences that one worker searches side by side; with a shortlist fewer, for the list of few is short."""


def library(name: str) -> Any:
    """A module that not everybody has installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError("this needs CTranslate2, which is not installed: pip install 'tongsa[fast]'") from None


@dataclass(frozen=True, kw_only=True)
class Note:
    """What an exported folder says of itself."""

    to: str
    weights: str
    """The sha256 of the weights that it was made of."""
    longest: int
    """The longest sequence, </s> included, that the model itself can hold on either side."""
    places: int
    """The longest that is written down here: no longer than that, and shorter where the model knows no limit."""
    int8: bool
    shortlist: str = ""
    """The sha256 of the list of likely pieces that was beside the model, if there was one."""


def note(folder: Path) -> Note:
    try:
        content = json.loads((folder / NOTE).read_text("utf-8"))
        return Note(**{name: content[name] for name in (field.name for field in fields(Note)) if name in content})
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{folder}: no model for CTranslate2 here; make one with: tongsa export RUN --to ctranslate2"
        ) from None


def usable(folder: Path, weights: str) -> bool:
    """Whether `folder` can stand in for the model whose weights have this sha256: it is installed, there and fresh.

    Eight bits give other numbers than the weights do: a model in int8 is for who asks for it, and never used by itself.
    """
    if find_spec("ctranslate2") is None or not (folder / NOTE).is_file():
        return False
    there = note(folder)
    return there.weights == weights and not there.int8


class _Output(NamedTuple):
    pieces: list[int]
    total: float


class CTranslate2Engine:
    """Answers as `Translator.search` does, from an exported folder, on a CPU.

    The search is the same: an output that finishes frees its place, and a sentence is done when as many have finished
    as the beam is wide, the best candidate of a step among them. That is how CTranslate2 ends without a penalty of its
    own; the likeliest outputs, as many as the beam is wide, come back and are ranked by ours. So the pieces are the
    same, unless two are as likely up to rounding.
    """

    name = "ctranslate2"

    def __init__(self, folder: Path, threads: int, shortlist: str = "") -> None:
        """With `threads` workers of one thread each: several times faster than one worker of several.

        `shortlist` is the sha256 of the list that is beside the model now: one that was exported is used if it is that.
        """
        self.note = note(folder)
        self.listed = bool(shortlist) and self.note.shortlist == shortlist
        self.threads = threads
        module = library("ctranslate2")
        before = torch.get_num_threads()
        try:
            self._translator = module.Translator(str(folder), inter_threads=threads, intra_threads=1)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{folder}: damaged ({error}); make it again with: tongsa export") from None
        finally:
            torch.set_num_threads(before)  # it has set the threads of whoever calls it

    def supports(self, source: Padded, config: SearchConfig) -> bool:
        """Whether this request can be answered as torch would: nothing else is asked for, and there is room for it.

        A source with nothing but </s> is left to torch: CTranslate2 gives it back empty without asking the model.
        """
        known = (*KNOWN, "shortlist") if self.listed else KNOWN
        other = [field.name for field in fields(config) if field.name not in known]
        plain = all(getattr(config, name) == getattr(SearchConfig(), name) for name in other)
        shortest, longest = int(source.lengths.min()), int(source.lengths.max())
        return plain and shortest > 1 and self._limit(longest, config) < self.note.places

    def _limit(self, length: int, config: SearchConfig) -> int:
        return min(length + config.beyond, self.note.longest - 1)

    def search(self, source: Padded, config: SearchConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """The best `nbest` hypotheses of each sentence, best first. Many sentences at once keep all workers busy.

        With a shortlist and a beam, nothing for a sentence whose outputs ran over their limit or hold <pad> or <s>:
        they could be scored anew only among all pieces, and compared no more. One output alone has that as its total.
        """
        rows = [
            _tokens(row[:length]) for row, length in zip(source.pieces.tolist(), source.lengths.tolist(), strict=True)
        ]
        limits = [self._limit(len(row), config) for row in rows]
        found: dict[int, list[_Output]] = {}
        for together in _of_like_limits(limits):
            outputs = self._outputs([rows[at] for at in together], max(limits[at] for at in together), config)
            found |= dict(zip(together, outputs, strict=True))
        if config.shortlist and config.beam > 1:
            clean = (found[at] if _clean(found[at], limit) else [] for at, limit in enumerate(limits))
            return [_ranked(outputs, config)[:nbest] for outputs in clean]
        for limit in sorted(set(limits)):
            again = [at for at, own in enumerate(limits) if own == limit and not _clean(found[at], limit)]
            if again:
                answers = self._once_more([rows[at] for at in again], limit, config)
                found |= dict(zip(again, answers, strict=True))
        return [_ranked(found[at], config)[:nbest] for at in range(len(rows))]

    def _once_more(self, rows: list[list[str]], limit: int, config: SearchConfig) -> list[list[_Output]]:
        """For sentences whose outputs ran over their limit or hold <pad> or <s>: these forbidden, the outputs cut.

        What is forbidden leaves its probability to the others, and a cut output has none for </s>: totals are computed.
        """
        found = self._outputs(rows, limit, config, suppress_sequences=[_tokens([PAD]), _tokens([BOS])])
        cut = [sorted({_cut(output.pieces, limit) for output in outputs}) for outputs in found]
        flat = [(row, pieces) for row, every in zip(rows, cut, strict=True) for pieces in every]
        scored = self._translator.score_batch(
            [row for row, _ in flat],
            [_tokens(pieces) for _, pieces in flat],
            max_batch_size=AT_ONCE,
            max_input_length=0,
        )
        totals = iter(sum(one.log_probs) for one in scored)
        return [[_Output([*pieces, EOS], next(totals)) for pieces in every] for every in cut]

    def _outputs(
        self, rows: list[list[str]], limit: int, config: SearchConfig, **forbidden: Any
    ) -> list[list[_Output]]:
        share = -(-len(rows) // self.threads)  # few sentences are shared out among all workers
        answers = self._translator.translate_batch(
            rows,
            max_batch_size=max(1, min(share, LISTED if config.shortlist else AT_ONCE)),
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=0,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=limit + 1,  # and </s>
            return_end_token=True,
            return_scores=True,
            use_vmap=config.shortlist,
            **forbidden,
        )
        return [
            [
                _Output([int(token) for token in tokens], score)
                for tokens, score in zip(answer.hypotheses, answer.scores, strict=True)
            ]
            for answer in answers
        ]


def _of_like_limits(limits: Sequence[int]) -> list[list[int]]:
    """Who may be searched for in one call: nobody with more than twice the limit of another."""
    groups: list[list[int]] = []
    for at in sorted(range(len(limits)), key=limits.__getitem__):
        if not groups or limits[at] > 2 * limits[groups[-1][0]]:
            groups.append([])
        groups[-1].append(at)
    return groups


def _tokens(pieces: Sequence[int]) -> list[str]:
    return [str(piece) for piece in pieces]


def _clean(outputs: list[_Output], limit: int) -> bool:
    """Whether all of them ended by themselves, within their limit, and hold nothing that is never chosen."""
    return all(
        output.pieces[-1:] == [EOS] and len(output.pieces) <= limit + 1 and not {PAD, BOS} & set(output.pieces)
        for output in outputs
    )


def _cut(pieces: list[int], limit: int) -> tuple[int, ...]:
    return tuple(piece for piece in pieces if piece != EOS)[:limit]


def _ranked(outputs: list[_Output], config: SearchConfig) -> list[Hypothesis]:
    hypotheses = (
        Hypothesis(output.pieces[:-1], output.total, output.total / config.penalty(len(output.pieces)), [])
        for output in outputs
        if math.isfinite(output.total)
    )
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
