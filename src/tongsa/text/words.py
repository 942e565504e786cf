"""From pieces back to words: what the pieces of one word read and were read, put together."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SPACE = "▁"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
MARK = re.compile(r"<[^<>\s]+>")


def word_starts(pieces: Sequence[str]) -> list[int]:
    """Where words begin: at a space, and on both sides of a mark such as </s>."""
    return [
        i
        for i, piece in enumerate(pieces)
        if i == 0 or piece.startswith(SPACE) or is_mark(piece) or is_mark(pieces[i - 1])
    ]


def is_mark(piece: str) -> bool:
    """True for pieces that stand for no text; a byte and an unknown character are parts of a word."""
    return bool(MARK.fullmatch(piece)) and piece != "<unk>" and not BYTE.fullmatch(piece)


def word_labels(pieces: Sequence[str], starts: Sequence[int]) -> list[str]:
    """The words as they are written."""
    return [written(pieces[begin:end]) for begin, end in pairwise([*starts, len(pieces)])]


def written(pieces: Sequence[str]) -> str:
    """The text of one word; a character that fell into bytes is whole again."""
    parts = [bytes.fromhex(byte[1]) if (byte := BYTE.fullmatch(piece)) else encoded(piece) for piece in pieces]
    return b"".join(parts).decode("utf-8", "replace").replace(SPACE, " ").strip() or SPACE


def encoded(piece: str) -> bytes:
    return piece.encode("utf-8", "surrogatepass")


def merge_words(
    weights: NDArray[np.float64],  # (head, query, key)
    queries: Sequence[int],
    keys: Sequence[int],
) -> NDArray[np.float64]:  # (head, word, word)
    """Sum over the keys of a word, mean over its queries: every row still sums to one."""
    sums = np.add.reduceat(np.add.reduceat(weights, keys, axis=2), queries, axis=1)
    lengths = np.diff([*queries, weights.shape[1]])
    merged: NDArray[np.float64] = sums / lengths[:, None]
    return merged


def links(
    weights: NDArray[np.float64],  # (target piece, source piece)
    target: Sequence[str],
    source: Sequence[str],
) -> list[tuple[int, int]]:
    """For each word of the target the word of the source that it looked at most: (source, target), from 0 up."""
    words = merge_words(weights[None], word_starts(target), word_starts(source))[0]
    return sorted((int(read), reader) for reader, read in enumerate(words.argmax(axis=1)))
