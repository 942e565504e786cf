"""Only pieces that the source makes likely are scored: a list beside the model, made once from pairs of texts."""

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
from tongsa.errors import InputError
from tongsa.tokenization.lexicon import ShortlistCandidates, shortlist_candidates
from tongsa.tokenization.special import UNK
from tongsa.tokenization.tokenizer import Tokenizer

SHORTLIST_FILE = "shortlist.safetensors"
REBUILD_HINT = "make it again with: tongsa shortlist RUN --pairs FILE"


@dataclass(frozen=True)
class Shortlist:
    candidates: ShortlistCandidates

    def vocab_subset(self, source: Padded, required_tokens: Iterable[int] = ()) -> Tensor:  # (piece,)
        """What may be written for any sentence of this batch, rising: <pad>, <s>, </s> and <unk> first.

        `needed` are there whatever the list says: pieces of a prefix or of a term.
        """
        read = np.unique(source.tokens.cpu().numpy())
        parts = [np.arange(UNK + 1), self.candidates.always, self.candidates.per_token[read].ravel()]
        found = np.unique(np.concatenate([*parts, np.fromiter(required_tokens, dtype=np.int64)]))
        return torch.from_numpy(found.astype(np.int64)).to(source.tokens.device)


def learn_shortlist(
    pairs: Sequence[tuple[str, str]],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    *,
    num_candidates: int,
    num_always: int,
) -> Shortlist:
    """From pairs of texts, cut as the model cuts them."""
    rows = (
        source_tokenizer.encode_all([one for one, _ in pairs]),
        target_tokenizer.encode_all([other for _, other in pairs]),
    )
    if not any(all(map(len, pair)) for pair in zip(*rows, strict=True)):
        raise InputError("no pair with a piece on either side: nothing to learn a list from")
    return Shortlist(
        shortlist_candidates(*rows, (len(source_tokenizer), len(target_tokenizer)), num_candidates, num_always)
    )


def save_shortlist(path: Path, shortlist: Shortlist, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
    storage.write_bytes(
        path, save(shortlist.candidates._asdict(), metadata=_tokenizer_hashes(source_tokenizer, target_tokenizer))
    )


def load_shortlist(path: Path, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> Shortlist:
    """The list of a model with these pieces, or a sentence about what is wrong with it."""
    if not path.is_file():
        raise InputError(f"{path}: no shortlist here; make one with: tongsa shortlist RUN --pairs FILE")
    try:
        with safe_open(path, framework="numpy") as file:
            owners = file.metadata()
            found = ShortlistCandidates(*(file.get_tensor(name) for name in ShortlistCandidates._fields))
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: damaged ({error}); {REBUILD_HINT}") from None
    if owners != _tokenizer_hashes(source_tokenizer, target_tokenizer):
        raise InputError(f"{path}: made for other pieces; {REBUILD_HINT}")
    if not _is_valid(found, len(source_tokenizer), len(target_tokenizer)):
        raise InputError(f"{path}: damaged (its numbers are no pieces); {REBUILD_HINT}")
    return Shortlist(found)


def _tokenizer_hashes(source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> dict[str, str]:
    return {
        name: hashlib.sha256(side.model_bytes).hexdigest()
        for name, side in (("source", source_tokenizer), ("target", target_tokenizer))
    }


def _is_valid(arrays: ShortlistCandidates, source_size: int, target_size: int) -> bool:
    shapes = arrays.per_token.ndim == 2 and len(arrays.per_token) == source_size and arrays.always.ndim == 1
    whole = all(part.dtype == np.int32 for part in arrays)
    return shapes and whole and all(part.min(initial=0) >= 0 and part.max(initial=0) < target_size for part in arrays)
