"""Scores of a list of outputs against references, each with a signature that says exactly which score it is."""

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

CHARACTER_LANGUAGES = {"ko", "ja", "zh", "th", "lo", "km", "my", "kor", "jpn", "zho", "tha"}
"""Written without spaces, or with spaces around phrases rather than words: BLEU over characters."""


class Score(NamedTuple):
    value: float
    signature: str


def tokenisation(language: str) -> str:
    """SacreBLEU's name of how BLEU cuts this language when nothing else is asked for."""
    return "char" if language.lower().split("-")[0].split("_")[0] in CHARACTER_LANGUAGES else "13a"


def bleu(outputs: Sequence[str], references: Sequence[str], tokenise: str = "13a") -> Score:
    """Papineni et al. 2002 as sacreBLEU counts it (Post 2018): cased, on plain text."""
    metric = BLEU(tokenize=tokenise)
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Popović 2015: F-score of character n-grams, fair to languages with rich endings."""
    metric = CHRF()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Share of outputs, in percent, that are the reference to the letter."""
    same = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score(100 * same / max(1, len(references)), "exact_match|case:mixed|norm:nfc,space")
