"""From pieces back to words: what the pieces of one word read and were read, put together."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SPACE_MARK = "▁"
BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
SPECIAL_TOKEN = re.compile(r"<[^<>\s]+>")


def word_starts(tokens: Sequence[str]) -> list[int]:
    """Where words begin: at a space, and on both sides of a mark such as </s>."""
    return [
        i
        for i, piece in enumerate(tokens)
        if i == 0 or piece.startswith(SPACE_MARK) or is_special(piece) or is_special(tokens[i - 1])
    ]


def is_special(token: str) -> bool:
    """True for pieces that stand for no text; a byte and an unknown character are parts of a word."""
    return bool(SPECIAL_TOKEN.fullmatch(token)) and token != "<unk>" and not BYTE_TOKEN.fullmatch(token)


def word_strings(tokens: Sequence[str], starts: Sequence[int]) -> list[str]:
    """The words as they are written."""
    return [decode_word(tokens[begin:end]) for begin, end in pairwise([*starts, len(tokens)])]


def decode_word(tokens: Sequence[str]) -> str:
    """The text of one word; a character that fell into bytes is whole again."""
    parts = [
        bytes.fromhex(byte[1]) if (byte := BYTE_TOKEN.fullmatch(piece)) else token_bytes(piece) for piece in tokens
    ]
    return b"".join(parts).decode("utf-8", "replace").replace(SPACE_MARK, " ").strip() or SPACE_MARK


def token_bytes(token: str) -> bytes:
    return token.encode("utf-8", "surrogatepass")


def merge_words(
    weights: NDArray[np.float64],  # (head, query, key)
    query_starts: Sequence[int],
    key_starts: Sequence[int],
) -> NDArray[np.float64]:  # (head, word, word)
    """Sum over the keys of a word, mean over its queries: every row still sums to one."""
    sums = np.add.reduceat(np.add.reduceat(weights, key_starts, axis=2), query_starts, axis=1)
    lengths = np.diff([*query_starts, weights.shape[1]])
    merged: NDArray[np.float64] = sums / lengths[:, None]
    return merged


def word_alignment(
    weights: NDArray[np.float64],  # (target piece, source piece)
    target: Sequence[str],
    source: Sequence[str],
) -> list[tuple[int, int]]:
    """For each word of the target the word of the source that it looked at most: (source, target), from 0 up."""
    words = merge_words(weights[None], word_starts(target), word_starts(source))[0]
    return sorted((int(read), reader) for reader, read in enumerate(words.argmax(axis=1)))
