"""Language names and language identification by script and function words."""

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
"""Script of each language that does not use the Latin script."""
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
"""Frequent function words: nearly every sentence contains some."""
_KANA = re.compile("[\u3040-\u30ff]")


def language_name(code: str) -> str:
    return LANGUAGE_NAMES.get(code, code)


def detect_language(text: str, candidates: Iterable[str]) -> list[tuple[str, float]]:
    """Return the candidates with their probabilities, most probable first.

    A text without letters gets the same probability for each candidate.
    """
    codes = list(dict.fromkeys(candidates))
    letters = script_counts(text[:5000])
    total = letters.total() or 1
    words = re.findall(r"[^\W\d_]+", text[:5000].casefold())
    script_shares = {script: count / total for script, count in letters.items()}
    scores = {code: _language_score(code, script_shares, words) for code in codes}
    if "ja" in scores and "zh" in scores:  # kana occur in nearly every Japanese sentence and never in Chinese
        scores["zh" if _KANA.search(text) else "ja"] *= 0.05
    total_score = sum(scores.values()) or 1.0
    return sorted(((code, score / total_score) for code, score in scores.items()), key=lambda item: -item[1])


def _language_score(code: str, script_shares: dict[str, float], words: list[str]) -> float:
    share = script_shares.get(LANGUAGE_SCRIPTS.get(code, "LATIN"), 0.0)
    function_words = FUNCTION_WORDS.get(code, "").split()
    function_word_share = sum(word in function_words for word in words) / max(1, len(words))
    return 1e-3 + share * (0.1 + function_word_share)
