"""The CTranslate2 engine (Klein et al. 2020): the same beam search on an exported model, faster on CPUs."""

import importlib
import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import torch

from tongsa.batch import Padded
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines.ctranslate2_files import damaged_error, load_metadata, verify_files
from tongsa.errors import InputError
from tongsa.tokenization.special import BOS, EOS, PAD

SUPPORTED_SETTINGS = (
    "split_sentences",
    "copy_unseen_words",
    "beam",
    "length_normalization",
    "alpha",
    "max_extra_tokens",
    "max_term_cost",
)
"""Settings of DecodingConfig that this engine supports; `shortlist` too, if one was exported."""

MAX_BATCH_SENTENCES, MAX_BATCH_SENTENCES_WITH_SHORTLIST = 64, 32
"""Batch size of one worker; smaller with a shortlist, because the shortlist of few sentences is shorter."""


MAX_SCORED_SENTENCES = 16
"""Outputs that one worker scores at once: the logits of all their positions are in memory."""


def max_batch_sentences(config: DecodingConfig) -> int:
    """Return how many sentences one worker searches at once."""
    return MAX_BATCH_SENTENCES_WITH_SHORTLIST if config.shortlist else MAX_BATCH_SENTENCES


def import_library(name: str) -> Any:
    """Import an optional library."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError("CTranslate2 is not installed. Run: pip install -e '.[fast]' -c constraints.txt") from None


class _ScoredTokens(NamedTuple):
    tokens: list[int]
    log_prob: float


class CTranslate2Engine:
    """Beam search by CTranslate2 on an exported folder, on a CPU.

    Without a length penalty CTranslate2 stops like beam_search.py. A finished hypothesis leaves the beam. A sentence is
    done when `beam` hypotheses have finished, including the best candidate of a step. So its length penalty is off, and
    all `beam` hypotheses are returned and ranked here. The tokens are the same as torch's unless two hypotheses are
    equally likely up to rounding.
    """

    def __init__(self, folder: Path, threads: int, shortlist_sha256: str = "") -> None:
        """Start `threads` workers with one thread each: several times faster than one worker with several.

        `shortlist_sha256` is the hash of the model's current shortlist. An exported shortlist is used if it matches.
        """
        self.metadata = load_metadata(folder)
        verify_files(folder, self.metadata)
        self.name: str = self.metadata.engine
        self.has_shortlist = bool(shortlist_sha256) and self.metadata.shortlist_sha256 == shortlist_sha256
        self.threads = threads
        self.workers_per_call = threads
        """Workers that share the sentences of a call. The server makes several calls at once, for one worker each."""
        module = import_library("ctranslate2")
        threads_before = torch.get_num_threads()
        try:
            self._translator = module.Translator(str(folder), inter_threads=threads, intra_threads=1)
        except (RuntimeError, ValueError, TypeError, OSError, MemoryError) as error:
            raise damaged_error(folder, error) from None
        finally:
            torch.set_num_threads(threads_before)  # the constructor changes the calling program's threads
        if load_metadata(folder) != self.metadata:  # another process replaced the folder between the two readings
            raise damaged_error(folder, "it was replaced while it was read")

    def supports(self, source: Padded, config: DecodingConfig) -> bool:
        """Return whether this batch can be searched with the same result as torch.

        A source that is only EOS is left to torch: CTranslate2 returns an empty output without running the model.
        """
        supported = (*SUPPORTED_SETTINGS, "shortlist") if self.has_shortlist else SUPPORTED_SETTINGS
        others = [field.name for field in fields(config) if field.name not in supported]
        defaults = DecodingConfig()
        if any(getattr(config, name) != getattr(defaults, name) for name in others):
            return False
        max_length = self._max_length(int(source.lengths.max()), config)
        return int(source.lengths.min()) > 1 and max_length < self.metadata.exported_positions

    def _max_length(self, source_length: int, config: DecodingConfig) -> int:
        return min(source_length + config.max_extra_tokens, self.metadata.max_positions - 1)

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """Return the best `nbest` hypotheses of each sentence; many sentences in one call keep all workers busy.

        A list is empty if an output contains PAD or BOS, which torch never allows, or with a beam above 1 if it exceeds
        its maximum length. CTranslate2 has other rules for these cases, so its output would differ.
        """
        rows = [
            _token_strings(row[:length])
            for row, length in zip(source.tokens.tolist(), source.lengths.tolist(), strict=True)
        ]
        max_lengths = [self._max_length(len(row), config) for row in rows]
        outputs: dict[int, list[_ScoredTokens]] = {}
        for group in _group_by_max_length(max_lengths):
            group_outputs = self._translate_batch([rows[i] for i in group], max(max_lengths[i] for i in group), config)
            outputs |= dict(zip(group, group_outputs, strict=True))
        if config.beam == 1:
            self._end_at_maximum(rows, outputs, max_lengths)
        return [
            _rank(outputs[i], config)[:nbest] if _all_valid(outputs[i], max_length) else []
            for i, max_length in enumerate(max_lengths)
        ]

    def _end_at_maximum(
        self, rows: list[list[str]], outputs: dict[int, list[_ScoredTokens]], max_lengths: Sequence[int]
    ) -> None:
        """End outputs of greedy search that exceed their maximum length as torch does: there, only EOS is left.

        Greedy search never changes the tokens before, so the output needs no other search, only another score. It is
        one over the whole vocabulary, also with a shortlist.
        """
        too_long = {
            i: output.tokens[: max_lengths[i]]
            for i, [output] in outputs.items()
            if len(output.tokens) > max_lengths[i] and not {PAD, BOS, EOS} & set(output.tokens[: max_lengths[i]])
            if output.tokens[max_lengths[i]] != EOS
        }
        if too_long:
            scored = self._translator.score_batch(
                [rows[i] for i in too_long],
                [*map(_token_strings, too_long.values())],
                max_batch_size=self._batch_size(len(too_long), MAX_SCORED_SENTENCES),
                max_input_length=0,
            )
            for (i, tokens), score in zip(too_long.items(), scored, strict=True):
                outputs[i] = [_ScoredTokens([*tokens, EOS], sum(score.log_probs))]

    def _batch_size(self, sentences: int, max_sentences: int) -> int:
        """Return how many sentences a worker takes at once: few sentences are divided evenly."""
        return max(1, min(-(-sentences // self.workers_per_call), max_sentences))

    def _translate_batch(
        self, rows: list[list[str]], max_length: int, config: DecodingConfig
    ) -> list[list[_ScoredTokens]]:
        results = self._translator.translate_batch(
            rows,
            max_batch_size=self._batch_size(len(rows), max_batch_sentences(config)),
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=0,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max_length + 1,  # EOS included
            return_end_token=True,
            return_scores=True,
            use_vmap=config.shortlist,
        )
        return [
            [
                _ScoredTokens([int(token) for token in tokens], score)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]


def _group_by_max_length(max_lengths: Sequence[int]) -> list[list[int]]:
    """Group sentences for one call each: in a group no maximum length is more than twice another."""
    groups: list[list[int]] = []
    for i in sorted(range(len(max_lengths)), key=max_lengths.__getitem__):
        if not groups or max_lengths[i] > 2 * max_lengths[groups[-1][0]]:
            groups.append([])
        groups[-1].append(i)
    return groups


def _token_strings(tokens: Sequence[int]) -> list[str]:
    return [str(token) for token in tokens]


def _all_valid(outputs: list[_ScoredTokens], max_length: int) -> bool:
    """Return whether all outputs end with EOS within the maximum length and contain neither PAD nor BOS."""
    return all(
        output.tokens[-1:] == [EOS] and len(output.tokens) <= max_length + 1 and not {PAD, BOS} & set(output.tokens)
        for output in outputs
    )


def _rank(outputs: list[_ScoredTokens], config: DecodingConfig) -> list[Hypothesis]:
    hypotheses = (
        Hypothesis(output.tokens[:-1], output.log_prob, output.log_prob / config.length_penalty(len(output.tokens)), [])
        for output in outputs
        if math.isfinite(output.log_prob)
    )
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
