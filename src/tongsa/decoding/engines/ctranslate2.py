"""The CTranslate2 engine (Klein et al. 2020): the same beam search on an exported model, faster on CPUs."""

import importlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch

from tongsa.batch import Padded
from tongsa.config import did_you_mean
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines.engine import EngineName
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.storage import file_sha256
from tongsa.tokenization.special import BOS, EOS, PAD

METADATA_FILE = "tongsa.json"
"""Metadata file in each exported folder, with the hash of the exported weights."""

VMAP_FILE = "vmap.txt"
"""The shortlist in CTranslate2's format."""

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


def import_library(name: str) -> Any:
    """Import an optional library."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError("CTranslate2 is not installed. Run: pip install -e '.[fast]' -c constraints.txt") from None


@dataclass(frozen=True, kw_only=True)
class ExportMetadata:
    """Description of an exported folder."""

    format: str
    weights_sha256: str
    """SHA-256 of the weights that it was made from."""
    max_positions: int
    """Longest sequence, EOS included, that the model can process on either side."""
    exported_positions: int
    """Longest sequence that the export can process: shorter if the model has no limit."""
    int8: bool
    shortlist_sha256: str = ""
    """SHA-256 of the shortlist that was exported; empty if there was none."""


def load_metadata(folder: Path) -> ExportMetadata:
    try:
        content = json.loads((folder / METADATA_FILE).read_text("utf-8"))
        return ExportMetadata(
            **{name: content[name] for name in (field.name for field in fields(ExportMetadata)) if name in content}
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"{folder}: no CTranslate2 model. Make one: {format_command('export RUN --to ctranslate2')}"
        ) from None


def is_usable_export(folder: Path, weights_sha256: str) -> bool:
    """Return whether `folder` has an export of these weights and CTranslate2 is installed.

    An int8 export gives other results than the weights, so it is used only with engine "ctranslate2".
    """
    if find_spec("ctranslate2") is None or not (folder / METADATA_FILE).is_file():
        return False
    metadata = load_metadata(folder)
    return metadata.weights_sha256 == weights_sha256 and not metadata.int8


def find_export(folder: Path, weights: Path, engine: EngineName) -> Path | None:
    """Return the folder of the export that belongs to a model, or None to decode with torch.

    "auto" uses the export if it was made from exactly these weights. `folder` is the run, or a bundle without a run.
    """
    if engine not in (known := get_args(EngineName)):
        raise InputError(f"engine {engine!r}: unknown engine; {did_you_mean(engine, known)}")
    if engine == "torch":
        return None
    export, weights_sha256 = folder / "ctranslate2", file_sha256(weights)
    if engine == "auto" and not is_usable_export(export, weights_sha256):
        return None
    if load_metadata(export).weights_sha256 != weights_sha256:
        command = format_command("export {} --to ctranslate2", folder)
        raise InputError(f"{export}: exported from other weights. Export again: {command}")
    return export


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

    name = "ctranslate2"

    def __init__(self, folder: Path, threads: int, shortlist_sha256: str = "") -> None:
        """Start `threads` workers with one thread each: several times faster than one worker with several.

        `shortlist_sha256` is the hash of the model's current shortlist. An exported shortlist is used if it matches.
        """
        self.metadata = load_metadata(folder)
        self.has_shortlist = bool(shortlist_sha256) and self.metadata.shortlist_sha256 == shortlist_sha256
        self.threads = threads
        module = import_library("ctranslate2")
        threads_before = torch.get_num_threads()
        try:
            self._translator = module.Translator(str(folder), inter_threads=threads, intra_threads=1)
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"{folder}: damaged ({error}). Make it again: {format_command('export RUN --to ctranslate2')}"
            ) from None
        finally:
            torch.set_num_threads(threads_before)  # the constructor changes the calling program's threads

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

        With a shortlist and a beam, a list is empty if an output exceeds its maximum length or contains PAD or BOS.
        Such outputs could be scored again only over the whole vocabulary, and these scores are not comparable.
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
        invalid = [i for i, max_length in enumerate(max_lengths) if not _all_valid(outputs[i], max_length)]
        if config.shortlist and config.beam > 1:
            outputs |= {i: [] for i in invalid}
        else:
            for max_length in sorted({max_lengths[i] for i in invalid}):
                again = [i for i in invalid if max_lengths[i] == max_length]
                retried = self._retry_suppressing_special([rows[i] for i in again], max_length, config)
                outputs |= dict(zip(again, retried, strict=True))
        return [_rank(outputs[i], config)[:nbest] for i in range(len(rows))]

    def _retry_suppressing_special(
        self, rows: list[list[str]], max_length: int, config: DecodingConfig
    ) -> list[list[_ScoredTokens]]:
        """Search again without PAD and BOS, truncate the outputs, and score them.

        Suppressed tokens leave their probability to the others, and a truncated output has no probability for EOS. So
        the scores of the search are not log-probabilities and are computed by teacher forcing.
        """
        results = self._translate_batch(
            rows, max_length, config, suppress_sequences=[_token_strings([PAD]), _token_strings([BOS])]
        )
        truncated = [sorted({_truncate(output.tokens, max_length) for output in outputs}) for outputs in results]
        pairs = [(row, tokens) for row, outputs in zip(rows, truncated, strict=True) for tokens in outputs]
        scored = self._translator.score_batch(
            [row for row, _ in pairs],
            [_token_strings(tokens) for _, tokens in pairs],
            max_batch_size=MAX_BATCH_SENTENCES,
            max_input_length=0,
        )
        log_probs = iter(sum(result.log_probs) for result in scored)
        return [[_ScoredTokens([*tokens, EOS], next(log_probs)) for tokens in outputs] for outputs in truncated]

    def _translate_batch(
        self, rows: list[list[str]], max_length: int, config: DecodingConfig, **options: Any
    ) -> list[list[_ScoredTokens]]:
        sentences_per_worker = -(-len(rows) // self.threads)  # few sentences are divided evenly between the workers
        max_batch_size = MAX_BATCH_SENTENCES_WITH_SHORTLIST if config.shortlist else MAX_BATCH_SENTENCES
        results = self._translator.translate_batch(
            rows,
            max_batch_size=max(1, min(sentences_per_worker, max_batch_size)),
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=0,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max_length + 1,  # EOS included
            return_end_token=True,
            return_scores=True,
            use_vmap=config.shortlist,
            **options,
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


def _truncate(tokens: list[int], max_length: int) -> tuple[int, ...]:
    return tuple(token for token in tokens if token != EOS)[:max_length]


def _rank(outputs: list[_ScoredTokens], config: DecodingConfig) -> list[Hypothesis]:
    hypotheses = (
        Hypothesis(output.tokens[:-1], output.log_prob, output.log_prob / config.length_penalty(len(output.tokens)), [])
        for output in outputs
        if math.isfinite(output.log_prob)
    )
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
