"""SentencePiece models for other programs: tongsa's normalization and jamo become rules inside the model.

tongsa normalizes a text before SentencePiece sees it (data/normalize.py), so its own models have no rules. An exported
model has them: programs without tongsa tokenize like tongsa. A SentencePiece model is a protocol buffer, and the
concatenation of two serialized messages is their merge. So the rules are appended.
"""

import tempfile
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import sentencepiece
from sentencepiece import SentencePieceNormalizer

from tongsa.data.normalize import from_jamo, normalize, to_jamo
from tongsa.tokenization.subword import SubwordTokenizer

NORMALIZER_FIELD, DENORMALIZER_FIELD = 3, 5
"""Field numbers in the message ModelProto: rules for the text before encoding and after decoding."""
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
SURROGATES = range(0xD800, 0xE000)


def portable_model(tokenizer: SubwordTokenizer) -> bytes:
    """Return the model of a tokenizer with rules for its normalization.

    Rules replace fixed strings. They miss NUL, combining marks in an unusual order, and control characters between a
    letter and its mark.
    """
    before, after = _normalizer_spec(tokenizer.jamo), _denormalizer_spec(tokenizer.jamo)
    return tokenizer.model_bytes + _field(NORMALIZER_FIELD, before) + _field(DENORMALIZER_FIELD, after)


def normalization_rules(*, jamo: bool) -> dict[str, str]:
    """Return the replacements that normalize a text, except for repeated spaces."""
    rules: dict[str, str] = {}
    for code in range(1, 0x110000):
        if code in SURROGATES:
            continue
        character = chr(code)
        normalized = " " if character.isspace() else normalize(character)
        prepared = to_jamo(normalized) if jamo else normalized
        rules[character] = prepared
        if normalized == character and not (jamo and code in HANGUL_SYLLABLES):
            rules |= dict.fromkeys(_decompositions(character), prepared)
    return {string: replacement for string, replacement in rules.items() if string != replacement}


def _decompositions(character: str) -> list[str]:
    """Return the canonical decomposition of a character, and its forms with the first marks composed."""
    decomposed = unicodedata.normalize("NFD", character)
    prefixes = (unicodedata.normalize("NFC", decomposed[:end]) + decomposed[end:] for end in range(1, len(decomposed)))
    return [string for string in prefixes if from_jamo(string) == character]


@cache
def _normalizer_spec(jamo: bool) -> bytes:
    return _compile_rules(normalization_rules(jamo=jamo), mark_spaces=True)


@cache
def _denormalizer_spec(jamo: bool) -> bytes:
    """Return rules for the output: white space as in a normalized text, and syllables instead of jamo."""
    rules = {string: new for string, new in normalization_rules(jamo=False).items() if new == " "}
    syllables = map(chr, HANGUL_SYLLABLES if jamo else ())
    return _compile_rules(rules | {to_jamo(syllable): syllable for syllable in syllables}, mark_spaces=False)


def _compile_rules(rules: Mapping[str, str], *, mark_spaces: bool) -> bytes:
    """Return a serialized NormalizerSpec. With `mark_spaces`, each word begins with ▁ after it."""
    sentencepiece.set_min_log_level(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        lines = "".join(f"{_hex(old)}\t{_hex(new)}\n" for old, new in rules.items())
        path.write_text(lines, "utf-8", newline="\n")
        normalizer = SentencePieceNormalizer(
            rule_tsv=str(path),
            add_dummy_prefix=mark_spaces,
            escape_whitespaces=mark_spaces,
            remove_extra_whitespaces=True,
        )
    spec: bytes = normalizer.serialized_normalizer_spec()
    return spec


def _hex(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


def _field(number: int, message: bytes) -> bytes:
    """Return a message as a field of another one: tag, length as a varint, content."""
    length, size = b"", len(message)
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + message
