"""Language names and language identification by script and function words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tongsa.data.unicode_scripts import UNSPACED_SCRIPTS, script_counts

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
SCRIPT_LANGUAGES = {
    "HANGUL": "ko",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "GREEK": "el",
    "HEBREW": "he",
    "ARMENIAN": "hy",
    "GEORGIAN": "ka",
}
"""Scripts of (nearly) one language each."""
MIN_SCRIPT_SHARE = 0.4
"""Share of the letters in a script that decides the language; Korean manuals are full of Latin names."""
MIN_KANA_SHARE, MIN_TYPICAL_LETTERS = 0.05, 0.003
"""Share of kana in Japanese text, and of the letters that distinguish Russian and Ukrainian."""
MIN_WORDS_PER_LINE, MIN_CHARACTERS_PER_LINE = 2.0, 6.0
"""Mean length of a line of running text, in words or, without spaces, in characters; word lists are shorter."""
MIN_CHARACTERS_PER_WORD = 1.5
"""Below this mean length, "words" are symbols such as phonemes."""
MIN_FUNCTION_WORDS, MIN_FUNCTION_WORD_SHARE, MIN_RATIO_TO_NEXT = 8, 0.12, 1.5
"""Evidence for a language in Latin script: distinct function words, their share of all words, and its ratio to the
share of the next language."""
_KANA = re.compile("[\u3040-\u30ff]")
_WORD = re.compile(r"[^\W\d_]+")


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


def guess_language(texts: Sequence[str]) -> str:
    """Return the language code of running text, or "" if the evidence is weak.

    Word lists, phonemes and other symbols are not running text. Scripts decide where they can; Latin script needs many
    different function words.
    """
    text = "\n".join(texts)
    scripts = script_counts(text)
    if not scripts:
        return ""
    script, letters = _main_script(scripts)
    if letters < MIN_SCRIPT_SHARE * scripts.total() or not _is_running_text(texts, script):
        return ""
    if script == "HAN/KANA":
        return "ja" if len(_KANA.findall(text)) >= MIN_KANA_SHARE * letters else "zh"
    if script == "CYRILLIC":
        return _guess_cyrillic(Counter(text.casefold()), letters)
    return _guess_latin(text) if script == "LATIN" else SCRIPT_LANGUAGES.get(script, "")


def has_script_of(code: str, texts: Sequence[str]) -> bool:
    """Return whether running text is in the script of a language."""
    scripts = script_counts("\n".join(texts))
    script, letters = _main_script(scripts)
    is_main = script == LANGUAGE_SCRIPTS.get(code, "LATIN") and letters >= MIN_SCRIPT_SHARE * scripts.total() > 0
    return is_main and _is_running_text(texts, script)


def _main_script(scripts: Counter[str]) -> tuple[str, int]:
    """Return the script that decides: the most frequent one that is not Latin, if it has enough letters."""
    others = [item for item in scripts.most_common() if item[0] != "LATIN"]
    if others and others[0][1] >= MIN_SCRIPT_SHARE * scripts.total():
        return others[0]
    return "LATIN", scripts["LATIN"]


def _is_running_text(texts: Sequence[str], script: str) -> bool:
    if script in UNSPACED_SCRIPTS:
        return sum(len("".join(text.split())) for text in texts) >= MIN_CHARACTERS_PER_LINE * len(texts)
    words = [word for text in texts for word in text.split()]
    is_symbolic = sum(map(len, words)) < MIN_CHARACTERS_PER_WORD * len(words)
    return not is_symbolic and len(words) >= MIN_WORDS_PER_LINE * len(texts)


def _guess_cyrillic(counts: Counter[str], letters: int) -> str:
    """Return ru or uk by letters that the other languages in Cyrillic script lack."""
    shares = {code: sum(counts[letter] for letter in typical) / letters for code, typical in _CYRILLIC_LETTERS.items()}
    code = max(shares, key=lambda code: shares[code])
    is_clear = shares[code] >= MIN_TYPICAL_LETTERS and min(shares.values()) < MIN_TYPICAL_LETTERS
    return code if is_clear and not counts["ў"] else ""  # ў: Belarusian


_CYRILLIC_LETTERS = {"ru": "ыэ", "uk": "їє"}


def _guess_latin(text: str) -> str:
    words = Counter(_WORD.findall(text.casefold()))
    # one-letter words may be symbols: i in I_JUMP, a and o in phonetic transcriptions
    function_words = {
        code: [word for word in listed.split() if len(word) > 1] for code, listed in FUNCTION_WORDS.items()
    }
    shares = {code: sum(words[word] for word in listed) for code, listed in function_words.items()}
    best, following = sorted(shares, key=lambda code: -shares[code])[:2]
    is_clear = shares[best] >= max(MIN_FUNCTION_WORD_SHARE * words.total(), MIN_RATIO_TO_NEXT * shares[following])
    distinct = sum(words[word] > 0 for word in function_words[best])
    return best if is_clear and distinct >= MIN_FUNCTION_WORDS else ""
