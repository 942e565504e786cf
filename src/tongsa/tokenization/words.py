"""Words from subword tokens: word boundaries, word texts, and attention weights merged from tokens to words."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tongsa.data.normalize import SPACE_MARK as SPACE_MARK

BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
SPECIAL_TOKEN = re.compile(r"<[^<>\s]+>")
UNK_STRING = "<unk>"


def word_starts(tokens: Sequence[str]) -> list[int]:
    """Return the index of the first token of each word. A special token such as </s> is a separate word."""
    return [
        i
        for i, token in enumerate(tokens)
        if i == 0 or token.startswith(SPACE_MARK) or is_special(token) or is_special(tokens[i - 1])
    ]


def is_special(token: str) -> bool:
    """Return whether a token has no text, such as </s>. Byte tokens and <unk> are parts of words."""
    return bool(SPECIAL_TOKEN.fullmatch(token)) and token != UNK_STRING and not BYTE_TOKEN.fullmatch(token)


def word_strings(tokens: Sequence[str], starts: Sequence[int]) -> list[str]:
    """Return the text of each word."""
    return [decode_word(tokens[start:end]) for start, end in pairwise([*starts, len(tokens)])]


def decode_word(tokens: Sequence[str]) -> str:
    """Return the text of one word; byte tokens are joined to characters."""
    parts = [
        bytes.fromhex(byte[1]) if (byte := BYTE_TOKEN.fullmatch(token)) else token_bytes(token) for token in tokens
    ]
    return b"".join(parts).decode("utf-8", "replace").replace(SPACE_MARK, " ").strip() or SPACE_MARK


def token_bytes(token: str) -> bytes:
    return token.encode("utf-8", "surrogatepass")


def merge_words(
    weights: NDArray[np.float64],  # (head, query, key)
    query_starts: Sequence[int],
    key_starts: Sequence[int],
) -> NDArray[np.float64]:  # (head, word, word)
    """Merge attention weights: sum over the keys of a word, mean over its queries. Each row still sums to one."""
    sums = np.add.reduceat(np.add.reduceat(weights, key_starts, axis=2), query_starts, axis=1)
    lengths = np.diff([*query_starts, weights.shape[1]])
    merged: NDArray[np.float64] = sums / lengths[:, None]
    return merged


def word_alignment(
    weights: NDArray[np.float64],  # (target token, source token)
    target: Sequence[str],
    source: Sequence[str],
) -> list[tuple[int, int]]:
    """Return for each target word the source word with the largest weight, as (source, target) indices."""
    words = merge_words(weights[None], word_starts(target), word_starts(source))[0]
    return sorted((int(source_word), target_word) for target_word, source_word in enumerate(words.argmax(axis=1)))
