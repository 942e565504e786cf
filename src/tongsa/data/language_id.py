"""Languages by code and name, and a guess at which one a text is in: by its letters, and by its smallest words."""

import re
from collections.abc import Iterable

from tongsa.data.unicode_scripts import script_counts

LANGUAGE_NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
LANGUAGE_SCRIPTS = {
    "ko": "HANGUL",
    "ja": "HAN/KANA",
    "zh": "HAN/KANA",
    "ru": "CYRILLIC",
    "uk": "CYRILLIC",
    "el": "GREEK",
    "ar": "ARABIC",
    "he": "HEBREW",
    "hi": "DEVANAGARI",
    "th": "THAI",
}
"""Of languages that are not written in Latin letters."""
FUNCTION_WORDS = {
    "en": "the of and to in is was that it for on with as he she they you are be at this have from or not i we a an",
    "de": "der die das und in den von zu ist mit sich des auf für nicht ein eine er sie es ich wir dem im auch als war",
    "fr": "le la les de des et en un une est que dans qui pour il elle pas sur au avec ce je nous du se sont par",
    "es": "el la los de que y en un una es por con no se para su al lo como más pero las del está yo son",
    "it": "il la di che e un una in è per non con si da sono del della le i ma come al nel io gli anche",
    "nl": "de het een en van in is dat op te zijn met voor niet aan er om ook als bij ik hij maar wat",
    "pt": "o a os de que e em um uma é do da não com para por se na no mais as dos como eu foi",
    "sv": "och i att det som en på är av för med till den har de inte om ett han jag men var",
}
"""Words that hardly a sentence is without."""
_KANA = re.compile("[\u3040-\u30ff]")


def language_name(code: str) -> str:
    return LANGUAGE_NAMES.get(code, code)


def detect_language(text: str, candidates: Iterable[str]) -> list[tuple[str, float]]:
    """These languages, the likeliest first, with shares that sum to one; a text without letters could be in any."""
    known = list(dict.fromkeys(candidates))
    letters = script_counts(text[:5000])
    total = letters.total() or 1
    words = re.findall(r"[^\W\d_]+", text[:5000].casefold())
    weights = {
        code: _language_score(code, {one: count / total for one, count in letters.items()}, words) for code in known
    }
    if "ja" in weights and "zh" in weights:  # kana are Japanese alone, and hardly a sentence is without
        weights["zh" if _KANA.search(text) else "ja"] *= 0.05
    whole = sum(weights.values()) or 1.0
    return sorted(((code, weight / whole) for code, weight in weights.items()), key=lambda one: -one[1])


def _language_score(code: str, script_shares: dict[str, float], words: list[str]) -> float:
    share = script_shares.get(LANGUAGE_SCRIPTS.get(code, "LATIN"), 0.0)
    small = FUNCTION_WORDS.get(code, "").split()
    found = sum(word in small for word in words) / max(1, len(words))
    return 1e-3 + share * (0.1 + found)
