import math
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.errors import InputError
from tongsa.visualize import curves_svg
from tongsa.visualize.curves import MAX_POINTS, Curves, ticks

SVG = "{http://www.w3.org/2000/svg}"
RECORDS: list[dict[str, float]] = [{"step": n, "loss": 8 / n} for n in range(1, 2001)]
RECORDS += [{"step": n, "dev_loss": 9 / n, "bleu": n / 100} for n in range(500, 2001, 500)]


def svg_points(records: list[dict[str, float]], key: str) -> list[tuple[float, ...]]:
    """Return the points of a curve, not those of its sample in the legend, which is not followed by a dot."""
    tree = list(ET.fromstring(curves_svg({"run": records})))  # noqa: S314 - our own SVG
    pairs = pairwise(tree)
    line = next(a for a, b in pairs if a.tag == f"{SVG}polyline" and a.get("class") == key and b.tag == f"{SVG}circle")
    return [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]


@pytest.mark.parametrize(
    "records",
    [[], RECORDS, RECORDS[:1], [{"step": 1, "loss": math.nan}], [{"step": 3, "bleu": 0}], [{"epoch": 1}]],
)
def test_svg_is_well_formed_and_has_a_text_alternative(records: list[dict[str, float]]) -> None:
    tree = ET.fromstring(curves_svg({"run": records}))  # noqa: S314 - our own SVG
    assert tree.tag == f"{SVG}svg" and tree.get("aria-label")


def test_falling_loss_falls_and_rising_score_rises() -> None:
    loss, bleu = [[y for _, y in svg_points(RECORDS, key)] for key in ("dev_loss", "bleu")]
    assert loss == sorted(loss) and bleu == sorted(bleu, reverse=True)  # in SVG, y grows downwards


def test_long_curves_are_thinned() -> None:
    assert 1 < len(svg_points(RECORDS, "loss")) <= MAX_POINTS


def test_short_curves_keep_all_points() -> None:
    assert len(svg_points(RECORDS, "dev_loss")) == 4


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_enclose_the_values(low: float, span: float) -> None:
    marks = ticks(low, low + span)
    slack = 1e-6 * max(1.0, abs(low), span)
    assert marks[0] <= low + slack and marks[-1] >= low + span - slack
    assert 2 <= len(marks) <= 8 and marks == sorted(set(marks))


def test_an_unknown_key_is_an_error_that_names_the_keys() -> None:
    curves = Curves({"run": RECORDS, "new": []})
    assert [*curves.points("bleu")] == ["run"] and len(curves.points("bleu")["run"]) == 4
    with pytest.raises(InputError, match=r"no 'blue' in the journal\. Choose from loss, dev_loss, bleu\."):
        curves.points("blue")
    with pytest.raises(InputError, match="Nothing is recorded yet"):
        Curves({"new": []}).points("loss")


def test_curves_are_printed_in_one_short_line() -> None:
    printed = repr(Curves({"run": RECORDS, "new": []}))
    assert printed == (
        "<Curves: run: loss 0.004 at step 2000, dev_loss 0.0045 at step 2000, bleu 20 at step 2000; "
        "new: nothing recorded yet>"
    )
