"""The output that agrees best with the others: minimum Bayes risk (Kumar and Byrne 2004, section 2).

Draws from the model stand for what it believes (Eikema and Aziz 2022, section 3); the candidate with the highest mean
utility against all of them is taken, where the likeliest output may be an odd one out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from sacrebleu.metrics.chrf import CHRF

from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translation import Translation
from tongsa.decoding.translator import Translator

Utility = Callable[[str, str], float]
"""How good a candidate is if another text is right."""
SAMPLES = 32


@cache
def _chrf() -> CHRF:
    return CHRF()


def chrf(candidate: str, right: str) -> float:
    """The F-score of character n-grams, from 0 to 1 (Popović 2015)."""
    return float(_chrf().sentence_score(candidate, [right]).score) / 100


def utilities(candidates: Sequence[str], evidence: Sequence[str], utility: Utility = chrf) -> list[float]:
    """The mean utility of each candidate against the evidence; equal texts are compared once."""
    counts = Counter(evidence)
    found = {
        candidate: sum(count * utility(candidate, text) for text, count in counts.items()) / len(evidence)
        for candidate in set(candidates)
    }
    return [found[candidate] for candidate in candidates]


def agreed(
    translator: Translator,
    texts: Sequence[str],
    *,
    samples: int = SAMPLES,
    sampling: SamplingConfig | None = None,
    utility: Utility = chrf,
) -> list[Translation]:
    """One translation for each text: the draw that agrees best with all draws; its score is its mean utility."""
    found = []
    for drawn in translator.translate(texts, nbest=samples, sampling=sampling or SamplingConfig()):
        candidates = [drawn, *drawn.alternatives]
        values = utilities([one.text for one in candidates], [one.text for one in candidates], utility)
        best = max(range(len(candidates)), key=values.__getitem__)
        found.append(replace(candidates[best], score=values[best], alternatives=()))
    return found
