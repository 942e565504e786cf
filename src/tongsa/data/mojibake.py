"""Mojibake: text that was decoded with a wrong encoding and saved again."""

from contextlib import suppress

MIN_HANGUL_SHARE = 0.8
"""Share of Hangul in a text that was EUC-KR or CP949, decoded as Latin-1."""
MIN_COMMON_SHARE = 0.6
"""Share of the syllables of EUC-KR in a Korean text in CP949."""


def restore_text(text: str) -> tuple[str, str] | None:
    """Return the encoding and the original of a damaged text, or None if it looks sound.

    Both are empty if the text is damaged but cannot be restored.
    """
    if "\ufffd" in text or _is_question_marks(text):
        return "", ""
    if text.isascii():
        return None
    raw = _undo_latin1(text)
    if raw is None:
        return None
    original = raw.decode("utf-8", "replace")
    restored = sum(character > "\x7f" and character != "\ufffd" for character in original)
    if restored > original.count("\ufffd"):
        return ("", "") if "\ufffd" in original else ("UTF-8", original)
    return _restore_korean(raw)


def _restore_korean(raw: bytes) -> tuple[str, str] | None:
    """Return the text of bytes in EUC-KR or CP949; None if they are probably neither.

    The second byte of a syllable that only CP949 has may be an ASCII letter, so Änderung would be Korean: nearly all
    syllables must be those of EUC-KR.
    """
    for name, codec in (("EUC-KR", "euc_kr"), ("CP949", "cp949")):
        with suppress(UnicodeDecodeError):
            original = raw.decode(codec)
            non_ascii = [character for character in original if character > "\x7f"]
            hangul = [character for character in non_ascii if "가" <= character <= "힣"]
            common = len(hangul) if name == "EUC-KR" else sum(map(_is_in_euc_kr, hangul))
            if len(hangul) > MIN_HANGUL_SHARE * len(non_ascii) and common > MIN_COMMON_SHARE * len(hangul):
                return name, original
    return None


def _is_in_euc_kr(syllable: str) -> bool:
    with suppress(UnicodeEncodeError):
        return len(syllable.encode("euc_kr")) == 2  # others are written as four jamo
    return False


def _is_question_marks(text: str) -> bool:
    """Return whether several words are made of question marks: letters replaced when the text was saved."""
    words = text.split()
    return len(words) > 1 and all("??" in word and not word.strip("?.,!") for word in words[:-1])


def _undo_latin1(text: str) -> bytes | None:
    """Return the bytes that give this text in Latin-1 or CP1252; None if neither has one of its characters."""
    try:
        return b"".join(letter.encode("latin1" if ord(letter) < 256 else "cp1252") for letter in text)
    except UnicodeEncodeError:
        return None
