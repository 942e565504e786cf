"""Agreement of metric differences with people (Kocmi et al. 2024, "Navigating the Metrics Maze").

The paper compares 6,530 pairs of translation systems that people have also judged (data set ToShip23). For each metric
it fits the share of pairs in which people prefer the same system as the metric, as a function of the difference of the
two scores: a sigmoid a / (1 + exp(−b·difference)). `FITS` has a and b as the authors publish them with their tool
MT-Thresholds (repository kocmitom/MT-Thresholds, thresholds.json); their table of thresholds follows from these.

It is known for BLEU with the tokenizer 13a and for chrF, with sacreBLEU's other defaults. In the same data, BLEU agrees
with people for 75 % of the pairs of related systems (one is an improved version of the other), but only for 59 % of the
unrelated ones (same repository, appendix/accuracy_results.tex), so the share is too high for unrelated systems.
"""

import math
from typing import NamedTuple


class SigmoidFit(NamedTuple):
    """Share of agreeing pairs in percent: upper limit and steepness."""

    limit: float
    steepness: float


FITS = {"bleu": SigmoidFit(88.33, 0.96639), "chrf": SigmoidFit(93.0, 1.11427)}
LARGEST_THRESHOLDS = {"bleu": 85.0, "chrf": 90.0}
"""Largest share in the authors' table; the sigmoid is not used beyond it."""
COIN_TOSS = 50.0
RELATED_BLEU_AGREEMENT, UNRELATED_BLEU_AGREEMENT = 74.8, 59.1
"""Percentage of pairs of related and of unrelated systems for which BLEU agrees with people."""
KNOWN_SIGNATURES = {"bleu": "tok:13a", "chrf": "nc:6|nw:0"}
"""Part of the signature of the scores that the fits are about."""


def human_agreement(metric: str, signature: str, difference: float) -> float | None:
    """Return the percentage of system pairs with such a difference whose order people confirm; None if not known.

    It is 50, a coin toss, for small differences, and at most the largest share of the authors' table.
    """
    if metric not in FITS or KNOWN_SIGNATURES[metric] not in signature or math.isnan(difference):
        return None
    fit = FITS[metric]
    share = fit.limit / (1 + math.exp(-fit.steepness * abs(difference)))
    return min(max(share, COIN_TOSS), LARGEST_THRESHOLDS[metric])
