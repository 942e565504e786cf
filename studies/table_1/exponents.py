"""Exponents, ratios and crossings that the claims and tables of Table 1 use."""

from collections.abc import Sequence

from studies.intervals import Interval, combine_verdicts, mean_interval
from studies.measurement import fitted_exponent
from studies.study import Text, Values, Verdict

COUNT_EXPONENTS = {"self-attention": (2, 1), "local-attention": (1, 1)}
"""Exponents of n and d in Table 1; recurrent layers and convolutions have (1, 2)."""
RECURRENT_LAYERS = {"rnn", "gru", "lstm"}
SHORT_PATHS = {"self-attention": 0.0, "dilated": None}
"""Exponent of n in the path length, if it is not 1; None is a logarithm."""
TOLERANCE = 0.15
"""A fitted exponent counts as the table's if it is this close: sizes are whole numbers, windows overlap."""


def core_counts(values: Values, axis: str, name: str) -> list[int]:
    """Return multiply-adds without projections, as the paper counts them."""
    counts = values[f"counts_by_{axis}"][name]
    return [total - part for total, part in zip(counts["total"], counts["projections"], strict=True)]


def count_exponents(values: Values, name: str) -> tuple[float, float]:
    return (
        fitted_exponent(values["lengths"], core_counts(values, "length", name)),
        fitted_exponent(values["widths"], core_counts(values, "width", name)),
    )


def step_exponent(values: Values, name: str) -> float:
    return fitted_exponent(values["path_lengths"], values["products"][name])


def path_exponent(values: Values, name: str) -> float:
    return fitted_exponent(values["path_lengths"], [seeds[0] for seeds in values["hops"][name]])


def time_exponents(values: Values, name: str) -> Interval:
    """Return the exponent of CPU time in n over the three largest n."""
    rows = values["costs_by_length"][name]["seconds"][-3:]
    return mean_interval([fitted_exponent(values["lengths"][-3:], list(seed)) for seed in zip(*rows, strict=True)])


def close(pairs: Sequence[tuple[float, float]]) -> Verdict:
    """Return the verdict on "each exponent is the expected one"."""
    return combine_verdicts("holds" if abs(exponent - target) <= TOLERANCE else "fails" for exponent, target in pairs)


def time_ratios(values: Values, name: str) -> list[Interval]:
    """Return the time of self-attention relative to a recurrent layer, for each d larger than n."""
    attention, recurrent = (values["costs_by_width"][layer]["seconds"] for layer in ("self-attention", name))
    return [
        mean_interval([a / b for a, b in zip(attention[i], recurrent[i], strict=True)])
        for i, width in enumerate(values["widths"])
        if width > values["length"]
    ]


def crossing_verdict(crossings: Sequence[int | None], widths: Sequence[int]) -> Verdict:
    """Return whether self-attention has fewer multiply-adds at every n < d."""
    reached = [n is not None and n >= width - 1 for n, width in zip(crossings, widths, strict=True)]
    return "holds" if all(reached) else "partly" if any(reached) else "fails"


def show_crossing(values: Values, name: str) -> Text:
    """Return up to which n self-attention is cheaper, in units of d."""
    last = values["crossings"][name][-1]
    if last is None:
        return Text("never", "없음")
    share = f"n = {last / values['crossing_widths'][-1]:.2f} d"
    return Text(f"up to {share}", f"{share}까지")


ExponentPairs = list[tuple[float, float]]


def exponent_pairs(values: Values) -> tuple[ExponentPairs, ExponentPairs, ExponentPairs]:
    """Return measured and expected exponents of multiply-adds (in n and in d), sequential steps and path length."""
    counts: ExponentPairs = []
    for name in values["hops"]:
        counts += zip(count_exponents(values, name), COUNT_EXPONENTS.get(name, (1, 2)), strict=True)
    steps = [(step_exponent(values, name), 1.0 if name in RECURRENT_LAYERS else 0.0) for name in values["hops"]]
    expected = {name: SHORT_PATHS.get(name, 1.0) for name in values["hops"]}
    paths = [(path_exponent(values, name), target) for name, target in expected.items() if target is not None]
    return counts, steps, paths


def is_logarithmic(values: Values, kernel: int) -> bool:
    """Return whether a dilated stack reaches all n positions with as few layers as its dilations allow."""
    return all(
        set(seeds) == {logarithmic_hops(length, kernel)}
        for length, seeds in zip(values["path_lengths"], values["hops"]["dilated"], strict=True)
    )


def logarithmic_hops(length: int, kernel: int) -> int:
    """Return log_k(n), rounded up: the number of layers with dilations 1, k, k², … whose windows reach n positions."""
    layers = 0
    while kernel**layers < length:
        layers += 1
    return layers
