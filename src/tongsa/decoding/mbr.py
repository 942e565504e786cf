"""The output that agrees best with the others: minimum Bayes risk (Kumar and Byrne 2004, section 2).

Draws from the model stand for what it believes (Eikema and Aziz 2022, section 3); the candidate with the highest mean
utility against all of them is taken, where the likeliest output may be an odd one out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from sacrebleu.metrics.chrf import CHRF

from tongsa.decoding.results import Translation
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.translator import Translator

Utility = Callable[[str, str], float]
"""How good a candidate is if another text is right."""
DEFAULT_NUM_SAMPLES = 32


@cache
def _chrf_metric() -> CHRF:
    return CHRF()


def chrf(candidate: str, reference: str) -> float:
    """The F-score of character n-grams, from 0 to 1 (Popović 2015)."""
    return float(_chrf_metric().sentence_score(candidate, [reference]).score) / 100


def expected_utilities(
    candidates: Sequence[str], pseudo_references: Sequence[str], utility: Utility = chrf
) -> list[float]:
    """The mean utility of each candidate against the evidence; equal texts are compared once."""
    counts = Counter(pseudo_references)
    found = {
        candidate: sum(count * utility(candidate, text) for text, count in counts.items()) / len(pseudo_references)
        for candidate in set(candidates)
    }
    return [found[candidate] for candidate in candidates]


def mbr_decode(
    translator: Translator,
    texts: Sequence[str],
    *,
    num_samples: int = DEFAULT_NUM_SAMPLES,
    sampling: SamplingConfig | None = None,
    utility: Utility = chrf,
) -> list[Translation]:
    """One translation for each text: the draw that agrees best with all draws; its score is its mean utility."""
    found = []
    for drawn in translator.translate(texts, nbest=num_samples, sampling=sampling or SamplingConfig()):
        candidates = [drawn, *drawn.alternatives]
        values = expected_utilities([one.text for one in candidates], [one.text for one in candidates], utility)
        best = max(range(len(candidates)), key=values.__getitem__)
        found.append(replace(candidates[best], score=values[best], alternatives=()))
    return found
