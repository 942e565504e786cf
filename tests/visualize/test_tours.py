"""Guided tours: the built-in ones fit the recorded tensors, and a wrong file is refused with the step."""

import json
from pathlib import Path
from typing import Any

import pytest

from tongsa.errors import InputError
from tongsa.visualize.equations import equations
from tongsa.visualize.js_modules import read_asset
from tongsa.visualize.tours import BUILT_IN, check_tour, default_tour, load_tour


@pytest.mark.parametrize("name", BUILT_IN)
def test_steps_of_a_built_in_tour_name_recorded_tensors_in_both_languages(name: str) -> None:
    tour = check_tour(json.loads(read_asset(f"tours/{name}.json")), name)
    assert {step["tensor"] for step in tour["steps"] if "tensor" in step} <= equations().keys()
    assert all(step["en"] and step["ko"] for step in tour["steps"])
    assert len(tour["steps"]) >= 14


def test_the_tour_follows_the_recorded_tensors() -> None:
    names = equations().keys()
    transformer = default_tour({name for name in names if name.startswith(("attention", "ffn", "residual", "norm"))})
    recurrent = default_tour({name for name in names if name.startswith(("gru", "rnn", "alignment", "maxout"))})
    assert transformer and recurrent and transformer["title"] != recurrent["title"]
    assert default_tour({"conv.glu"}) is None


def test_a_teachers_tour_is_loaded(tmp_path: Path) -> None:
    tour = {"steps": [{"en": "Look.", "tensor": "attention.scores", "cell": [1, -1], "step": 2}]}
    path = tmp_path / "tour.json"
    path.write_text(json.dumps(tour), "utf-8")
    assert load_tour(path) == tour


@pytest.mark.parametrize(
    ("tour", "message"),
    [
        ({}, "no steps"),
        ({"steps": [{"en": "a"}, {"tensor": "x"}]}, r"step 2: no text"),
        ({"steps": [{"en": "a", "tensr": "x"}]}, "unknown key 'tensr'"),
        ({"steps": [{"en": "a", "cell": "1,2"}]}, "cell is '1,2'. Give list"),
        ({"steps": [{"en": "a", "cell": [1, "b"]}]}, "Give numbers from 1"),
        ({"steps": [{"en": "a", "stage": "middle"}]}, "Use one of text, encoder"),
        ({"steps": [{"en": "a", "step": True}]}, "step is True"),
    ],
)
def test_a_wrong_tour_is_an_error_that_names_the_step(tour: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_tour(tour, "my.json")


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_tour(tmp_path / "absent.json")
    (tmp_path / "bad.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match="not JSON"):
        load_tour(tmp_path / "bad.json")
