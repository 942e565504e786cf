"""The rule of each study: other numbers give another verdict."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from studies.results import read_results
from studies.study import ROOT, VERDICTS, load_study
from studies.table_1.exponents import close, crossing_verdict, logarithmic_hops

Change = Callable[[dict[str, Any]], object]


def swap_costs(values: dict[str, Any]) -> None:
    cost = values["cost"]
    cost["additive"], cost["scaled-dot"] = cost["scaled-dot"], cost["additive"]


def halve_scaled_gradient(values: dict[str, Any]) -> None:
    gradients = values["statistics"]["scaled-dot"]["score_gradient"]
    gradients[-1] = [value / 2 for value in gradients[-1]]


CHANGES: list[tuple[str, int, str, Change]] = [
    ("mask", 0, "fails", lambda values: values["ordinary"]["after float32"].update(weights=[1e-2])),
    ("scaling", 2, "fails", halve_scaled_gradient),
    ("scaling", 4, "fails", swap_costs),
    ("norm_example", 0, "fails", lambda values: values["example"].update(batch_norm=[0.0, 1.0, 2.0])),
    ("norm_example", 2, "partly", lambda values: values["batch_of_one"].update(batch=[1.0, 1.1, 0.9])),
    ("positions_rotation", 0, "fails", lambda values: values["rotation_errors"].update({"4": [0.5]})),
    ("memory", 1, "fails", lambda values: values["peak_bytes"].update(local=values["peak_bytes"]["full"])),
    ("resolution", 1, "undecided", lambda values: values["accuracy"].__setitem__(2, values["accuracy"][0])),
    ("why_qkv", 1, "fails", lambda values: values["shares"]["trained"].update(projected={"largest": [90.0, 91.0]})),
]


@pytest.mark.parametrize(("name", "index", "verdict", "change"), CHANGES)
def test_the_verdict_follows_the_numbers(name: str, index: int, verdict: str, change: Change) -> None:
    study, recorded = load_study(name), read_results(ROOT / name)["values"]
    values = deepcopy(recorded)
    change(values)
    assert study.claims(values)[index].verdict == verdict
    assert study.claims(recorded)[index].verdict != verdict


def test_every_recorded_claim_has_a_verdict_and_both_languages() -> None:
    for path in sorted(ROOT.glob("*/results.json")):
        claims = load_study(path.parent.name).claims(read_results(path.parent)["values"])
        assert claims
        for claim in claims:
            assert claim.verdict in VERDICTS
            for text in (claim.source, claim.says, claim.ran, claim.seen):
                assert text.en
                assert text.ko


def test_self_attention_must_be_cheaper_at_every_n_below_d() -> None:
    assert crossing_verdict([63, 127], [64, 128]) == "holds"
    assert crossing_verdict([63, None], [64, 128]) == "partly"
    assert crossing_verdict([None, 20], [64, 128]) == "fails"
    assert close([(1.96, 2.0), (1.0, 1.0)]) == "holds"
    assert close([(1.7, 2.0), (1.0, 1.0)]) == "partly"
    assert [logarithmic_hops(length, 3) for length in (2, 3, 4, 9, 10, 27)] == [1, 1, 2, 2, 3, 3]
