"""Shortlist: the output tokens that a source makes likely. Scoring only these makes decoding faster.

A shortlist is learned once from pairs of texts (tokenization/lexicon.py) and stored with the model.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import Tensor

from tongsa import storage
from tongsa.batch import Padded
from tongsa.bounded_files import MAX_JSON_BYTES, MAX_SHORTLIST_BYTES, UnreadableFileError, open_regular
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.tokenization.lexicon import ShortlistCandidates, shortlist_candidates
from tongsa.tokenization.special import UNK
from tongsa.tokenization.tokenizer import Tokenizer

SHORTLIST_FILE = "shortlist.safetensors"
REBUILD_HINT = f"Make it again: {format_command('shortlist RUN --data FILE')}"


@dataclass(frozen=True)
class Shortlist:
    """A vocabulary shortlist: candidate output tokens of each source token, and frequent tokens."""

    candidates: ShortlistCandidates

    def vocab_subset(self, source: Padded, required_tokens: Iterable[int] = ()) -> Tensor:  # (token,)
        """Return the tokens to score for a batch, ascending: special tokens, candidates, and required tokens.

        `required_tokens` are tokens of prefixes and glossary terms, which must always be possible.
        """
        source_tokens = np.unique(source.tokens.cpu().numpy())
        parts = [np.arange(UNK + 1), self.candidates.always, self.candidates.per_token[source_tokens].ravel()]
        subset = np.unique(np.concatenate([*parts, np.fromiter(required_tokens, dtype=np.int64)]))
        return torch.from_numpy(subset.astype(np.int64)).to(source.tokens.device)


def learn_shortlist(
    pairs: Sequence[tuple[str, str]],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    *,
    num_candidates: int,
    num_always: int,
) -> Shortlist:
    """Learn a shortlist from pairs of texts."""
    rows = (
        source_tokenizer.encode_all([source for source, _ in pairs]),
        target_tokenizer.encode_all([target for _, target in pairs]),
    )
    if not any(all(map(len, pair)) for pair in zip(*rows, strict=True)):
        raise InputError("shortlist: no pair has tokens on both sides. Give the pairs that the model was trained on.")
    return Shortlist(
        shortlist_candidates(*rows, (len(source_tokenizer), len(target_tokenizer)), num_candidates, num_always)
    )


def save_shortlist(path: Path, shortlist: Shortlist, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
    size = sum(array.nbytes for array in shortlist.candidates)
    if size > MAX_SHORTLIST_BYTES - MAX_JSON_BYTES:
        raise InputError(
            f"shortlist: {size:,} bytes; a shortlist may have {MAX_SHORTLIST_BYTES:,}. Give fewer --candidates."
        )
    storage.write_bytes(
        path,
        save(
            shortlist.candidates._asdict(),
            metadata=_tokenizer_hashes(source_tokenizer, target_tokenizer)
            | {"arrays": _arrays_sha256(shortlist.candidates)},
        ),
    )


def load_shortlist(path: Path, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> Shortlist:
    """Load the shortlist of a model with these tokenizers."""
    if not path.is_file():
        raise InputError(f"{path}: no shortlist. Make one: {format_command('shortlist RUN --data FILE')}")
    try:
        with open_regular(path, MAX_SHORTLIST_BYTES), safe_open(path, framework="numpy") as file:
            hashes = file.metadata() or {}
            candidates = ShortlistCandidates(*(file.get_tensor(name) for name in ShortlistCandidates._fields))
    except UnreadableFileError as error:
        raise InputError(f"{path}: {error.reason}. {REBUILD_HINT}") from None
    except (SafetensorError, OSError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: damaged ({error}). {REBUILD_HINT}") from None
    if hashes.pop("arrays", checksum := _arrays_sha256(candidates)) != checksum:  # older versions wrote none
        raise InputError(f"{path}: damaged (its checksum is wrong). {REBUILD_HINT}")
    if hashes != _tokenizer_hashes(source_tokenizer, target_tokenizer):
        raise InputError(f"{path}: made for another tokenizer. {REBUILD_HINT}")
    if not _is_valid(candidates, len(source_tokenizer), len(target_tokenizer)):
        raise InputError(f"{path}: damaged (token ids outside of the vocabulary). {REBUILD_HINT}")
    return Shortlist(candidates)


def _tokenizer_hashes(source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> dict[str, str]:
    return {
        name: hashlib.sha256(tokenizer.model_bytes).hexdigest()
        for name, tokenizer in (("source", source_tokenizer), ("target", target_tokenizer))
    }


def _arrays_sha256(candidates: ShortlistCandidates) -> str:
    """Return the checksum of the arrays, which is stored beside them."""
    digest = hashlib.sha256()
    for array in candidates:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _is_valid(arrays: ShortlistCandidates, source_size: int, target_size: int) -> bool:
    right_shape = arrays.per_token.ndim == 2 and len(arrays.per_token) == source_size and arrays.always.ndim == 1
    return right_shape and all(
        part.dtype == np.int32 and part.min(initial=0) >= 0 and part.max(initial=0) < target_size for part in arrays
    )


def missing_shortlist() -> Shortlist:
    """Raise InputError: a model that was not loaded from a folder has no shortlist."""
    raise InputError("shortlist: this model has none. Save the model, run tongsa shortlist, and load it again.")
