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

from tongsa import files
from tongsa.batch import Padded
from tongsa.errors import InputError
from tongsa.text import UNK, Vocabulary
from tongsa.text.shortlist import Candidates, candidates

NAME = "shortlist.safetensors"
AGAIN = "make it again with: tongsa shortlist RUN --pairs FILE"


@dataclass(frozen=True)
class Shortlist:
    candidates: Candidates

    def pieces(self, source: Padded, needed: Iterable[int] = ()) -> Tensor:  # (piece,)
        """What may be written for any sentence of this batch, rising: <pad>, <s>, </s> and <unk> first.

        `needed` are there whatever the list says: pieces of a prefix or of a term.
        """
        read = np.unique(source.pieces.cpu().numpy())
        parts = [np.arange(UNK + 1), self.candidates.frequent, self.candidates.each[read].ravel()]
        found = np.unique(np.concatenate([*parts, np.fromiter(needed, dtype=np.int64)]))
        return torch.from_numpy(found.astype(np.int64)).to(source.pieces.device)


def learnt(
    pairs: Sequence[tuple[str, str]], source: Vocabulary, target: Vocabulary, *, each: int, frequent: int
) -> Shortlist:
    """From pairs of texts, cut as the model cuts them."""
    rows = source.split_all([one for one, _ in pairs]), target.split_all([other for _, other in pairs])
    if not any(all(map(len, pair)) for pair in zip(*rows, strict=True)):
        raise InputError("no pair with a piece on either side: nothing to learn a list from")
    return Shortlist(candidates(*rows, (len(source), len(target)), each, frequent))


def write(path: Path, shortlist: Shortlist, source: Vocabulary, target: Vocabulary) -> None:
    files.write_bytes(path, save(shortlist.candidates._asdict(), metadata=_owners(source, target)))


def read(path: Path, source: Vocabulary, target: Vocabulary) -> Shortlist:
    """The list of a model with these pieces, or a sentence about what is wrong with it."""
    if not path.is_file():
        raise InputError(f"{path}: no shortlist here; make one with: tongsa shortlist RUN --pairs FILE")
    try:
        with safe_open(path, framework="numpy") as file:
            owners = file.metadata()
            found = Candidates(*(file.get_tensor(name) for name in Candidates._fields))
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: damaged ({error}); {AGAIN}") from None
    if owners != _owners(source, target):
        raise InputError(f"{path}: made for other pieces; {AGAIN}")
    if not _fits(found, len(source), len(target)):
        raise InputError(f"{path}: damaged (its numbers are no pieces); {AGAIN}")
    return Shortlist(found)


def _owners(source: Vocabulary, target: Vocabulary) -> dict[str, str]:
    return {name: hashlib.sha256(side.model).hexdigest() for name, side in (("source", source), ("target", target))}


def _fits(found: Candidates, source: int, target: int) -> bool:
    shapes = found.each.ndim == 2 and len(found.each) == source and found.frequent.ndim == 1
    whole = all(part.dtype == np.int32 for part in found)
    return shapes and whole and all(part.min(initial=0) >= 0 and part.max(initial=0) < target for part in found)
