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
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.tokenization.special import BOS, EOS, PAD

METADATA_FILE = "tongsa.json"
"""In every exported folder: what made it, and of which weights."""

VMAP_FILE = "vmap.txt"
"""Which pieces a source makes likely, as CTranslate2 reads it."""

SUPPORTED_SETTINGS = ("beam", "length_normalization", "alpha", "max_extra_tokens")
"""The settings of a search that are carried out here; a shortlist too, where one was exported."""

MAX_BATCH_SENTENCES, MAX_BATCH_SENTENCES_WITH_SHORTLIST = 64, 32
"""Sentences that one worker searches side by side; with a shortlist fewer, for the list of few is short."""


def import_library(name: str) -> Any:
    """A module that not everybody has installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(
            "this needs CTranslate2, which is not installed: pip install -e '.[fast]' -c constraints.txt"
        ) from None


@dataclass(frozen=True, kw_only=True)
class ExportMetadata:
    """What an exported folder says of itself."""

    format: str
    weights_sha256: str
    """The sha256 of the weights that it was made of."""
    max_positions: int
    """The longest sequence, </s> included, that the model itself can hold on either side."""
    exported_positions: int
    """The longest that is written down here: no longer than that, and shorter where the model knows no limit."""
    int8: bool
    shortlist_sha256: str = ""
    """The sha256 of the list of likely pieces that was beside the model, if there was one."""


def load_metadata(folder: Path) -> ExportMetadata:
    try:
        content = json.loads((folder / METADATA_FILE).read_text("utf-8"))
        return ExportMetadata(
            **{name: content[name] for name in (field.name for field in fields(ExportMetadata)) if name in content}
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{folder}: no model for CTranslate2 here; make one with: tongsa export RUN --to ctranslate2"
        ) from None


def is_usable_export(folder: Path, weights_sha256: str) -> bool:
    """Whether `folder` can stand in for the model whose weights have this sha256: it is installed, there and fresh.

    Eight bits give other numbers than the weights do: a model in int8 is for who asks for it, and never used by itself.
    """
    if find_spec("ctranslate2") is None or not (folder / METADATA_FILE).is_file():
        return False
    there = load_metadata(folder)
    return there.weights_sha256 == weights_sha256 and not there.int8


class _ScoredTokens(NamedTuple):
    tokens: list[int]
    log_prob: float


class CTranslate2Engine:
    """Answers as `Translator.search` does, from an exported folder, on a CPU.

    The search is the same: an output that finishes frees its place, and a sentence is done when as many have finished
    as the beam is wide, the best candidate of a step among them. That is how CTranslate2 ends without a penalty of its
    own; the likeliest outputs, as many as the beam is wide, come back and are ranked by ours. So the pieces are the
    same, unless two are as likely up to rounding.
    """

    name = "ctranslate2"

    def __init__(self, folder: Path, threads: int, shortlist_sha256: str = "") -> None:
        """With `threads` workers of one thread each: several times faster than one worker of several.

        `shortlist` is the sha256 of the list that is beside the model now: one that was exported is used if it is that.
        """
        self.metadata = load_metadata(folder)
        self.has_shortlist = bool(shortlist_sha256) and self.metadata.shortlist_sha256 == shortlist_sha256
        self.threads = threads
        module = import_library("ctranslate2")
        before = torch.get_num_threads()
        try:
            self._translator = module.Translator(str(folder), inter_threads=threads, intra_threads=1)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{folder}: damaged ({error}); make it again with: tongsa export") from None
        finally:
            torch.set_num_threads(before)  # it has set the threads of whoever calls it

    def supports(self, source: Padded, config: DecodingConfig) -> bool:
        """Whether this request can be answered as torch would: nothing else is asked for, and there is room for it.

        A source with nothing but </s> is left to torch: CTranslate2 gives it back empty without asking the model.
        """
        known = (*SUPPORTED_SETTINGS, "shortlist") if self.has_shortlist else SUPPORTED_SETTINGS
        other = [field.name for field in fields(config) if field.name not in known]
        plain = all(getattr(config, name) == getattr(DecodingConfig(), name) for name in other)
        shortest, longest = int(source.lengths.min()), int(source.lengths.max())
        return plain and shortest > 1 and self._max_length(longest, config) < self.metadata.exported_positions

    def _max_length(self, source_length: int, config: DecodingConfig) -> int:
        return min(source_length + config.max_extra_tokens, self.metadata.max_positions - 1)

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """The best `nbest` hypotheses of each sentence, best first. Many sentences at once keep all workers busy.

        With a shortlist and a beam, nothing for a sentence whose outputs ran over their limit or hold <pad> or <s>:
        they could be scored anew only among all pieces, and compared no more. One output alone has that as its total.
        """
        rows = [
            _token_strings(row[:length])
            for row, length in zip(source.tokens.tolist(), source.lengths.tolist(), strict=True)
        ]
        limits = [self._max_length(len(row), config) for row in rows]
        found: dict[int, list[_ScoredTokens]] = {}
        for together in _group_by_max_length(limits):
            outputs = self._translate_batch([rows[at] for at in together], max(limits[at] for at in together), config)
            found |= dict(zip(together, outputs, strict=True))
        if config.shortlist and config.beam > 1:
            clean = (found[at] if _all_valid(found[at], limit) else [] for at, limit in enumerate(limits))
            return [_rank(outputs, config)[:nbest] for outputs in clean]
        for limit in sorted(set(limits)):
            again = [at for at, own in enumerate(limits) if own == limit and not _all_valid(found[at], limit)]
            if again:
                answers = self._retry_suppressing_special([rows[at] for at in again], limit, config)
                found |= dict(zip(again, answers, strict=True))
        return [_rank(found[at], config)[:nbest] for at in range(len(rows))]

    def _retry_suppressing_special(
        self, rows: list[list[str]], max_length: int, config: DecodingConfig
    ) -> list[list[_ScoredTokens]]:
        """For sentences whose outputs ran over their limit or hold <pad> or <s>: these forbidden, the outputs cut.

        What is forbidden leaves its probability to the others, and a cut output has none for </s>: totals are computed.
        """
        found = self._translate_batch(
            rows, max_length, config, suppress_sequences=[_token_strings([PAD]), _token_strings([BOS])]
        )
        cut = [sorted({_truncate(output.tokens, max_length) for output in outputs}) for outputs in found]
        flat = [(row, pieces) for row, every in zip(rows, cut, strict=True) for pieces in every]
        scored = self._translator.score_batch(
            [row for row, _ in flat],
            [_token_strings(pieces) for _, pieces in flat],
            max_batch_size=MAX_BATCH_SENTENCES,
            max_input_length=0,
        )
        totals = iter(sum(one.log_probs) for one in scored)
        return [[_ScoredTokens([*pieces, EOS], next(totals)) for pieces in every] for every in cut]

    def _translate_batch(
        self, rows: list[list[str]], max_length: int, config: DecodingConfig, **options: Any
    ) -> list[list[_ScoredTokens]]:
        share = -(-len(rows) // self.threads)  # few sentences are shared out among all workers
        answers = self._translator.translate_batch(
            rows,
            max_batch_size=max(
                1, min(share, MAX_BATCH_SENTENCES_WITH_SHORTLIST if config.shortlist else MAX_BATCH_SENTENCES)
            ),
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=0,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max_length + 1,  # and </s>
            return_end_token=True,
            return_scores=True,
            use_vmap=config.shortlist,
            **options,
        )
        return [
            [
                _ScoredTokens([int(token) for token in tokens], score)
                for tokens, score in zip(answer.hypotheses, answer.scores, strict=True)
            ]
            for answer in answers
        ]


def _group_by_max_length(max_lengths: Sequence[int]) -> list[list[int]]:
    """Who may be searched for in one call: nobody with more than twice the limit of another."""
    groups: list[list[int]] = []
    for at in sorted(range(len(max_lengths)), key=max_lengths.__getitem__):
        if not groups or max_lengths[at] > 2 * max_lengths[groups[-1][0]]:
            groups.append([])
        groups[-1].append(at)
    return groups


def _token_strings(tokens: Sequence[int]) -> list[str]:
    return [str(piece) for piece in tokens]


def _all_valid(outputs: list[_ScoredTokens], max_length: int) -> bool:
    """Whether all of them ended by themselves, within their limit, and hold nothing that is never chosen."""
    return all(
        output.tokens[-1:] == [EOS] and len(output.tokens) <= max_length + 1 and not {PAD, BOS} & set(output.tokens)
        for output in outputs
    )


def _truncate(tokens: list[int], max_length: int) -> tuple[int, ...]:
    return tuple(piece for piece in tokens if piece != EOS)[:max_length]


def _rank(outputs: list[_ScoredTokens], config: DecodingConfig) -> list[Hypothesis]:
    hypotheses = (
        Hypothesis(output.tokens[:-1], output.log_prob, output.log_prob / config.length_penalty(len(output.tokens)), [])
        for output in outputs
        if math.isfinite(output.log_prob)
    )
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
