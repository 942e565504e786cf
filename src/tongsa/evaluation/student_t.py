"""Student's t distribution for any positive degrees of freedom, by the incomplete beta function."""

import math
from statistics import NormalDist

MAX_TERMS, MAX_STEPS = 10_000, 50
PRECISION = 1e-15
TINY = 1e-300


def two_sided_p(t: float, degrees: float) -> float:
    """Return the probability that |T| is at least |t|."""
    if math.isnan(t) or math.isnan(degrees):
        return math.nan
    if math.isinf(t):
        return 0.0
    return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def critical_value(level: float, degrees: float) -> float:
    """Return the t with two_sided_p(t) = level, by Newton's method for the logarithms of both.

    log p is a concave function of log t, nearly a line for large t, so the first step goes beyond the solution and the
    others come back to it. The start, the value of the normal distribution, is below.
    """
    if level >= 1:
        return 0.0
    t = -NormalDist().inv_cdf(level / 2)
    for _ in range(MAX_STEPS):
        p = two_sided_p(t, degrees)
        step = (math.log(p) - math.log(level)) * p / (2 * _density(t, degrees) * t)
        t *= math.exp(step)
        if abs(step) < 1e-12:
            break
    return t


def _density(t: float, degrees: float) -> float:
    log_constant = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    return math.exp(log_constant - (degrees + 1) / 2 * math.log1p(t * t / degrees))


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - incomplete_beta(1 - x, b, a)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / (a * _beta_fraction(x, a, b))


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Evaluate 1 + d1/(1 + d2/(1 + …)) by the modified method of Lentz (1976)."""
    numerator, denominator, value = 1.0, 0.0, 1.0
    for term in range(1, MAX_TERMS):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / ((1 + d * denominator) or TINY)
        numerator = (1 + d / numerator) or TINY
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < PRECISION:
            break
    return value
