"""Guided tours of the trace page: a list of steps in JSON, built in or written by a teacher.

    {"title": {"en": "…", "ko": "…"},
     "steps": [{"en": "One score is a dot product.", "ko": "…", "tensor": "attention.scores", "cell": [2, 3]}]}

A step shows the card of a recorded tensor (`tensor`, with `side`, `layer` and `path` to choose among several of that
name) or of a stage without tensors (`stage`), and may select a cell, a step of the decoder and a head, numbered from
1; −1 is the last. `edit` is a change that the reader can try when the page comes from a server.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tongsa.errors import InputError, describe_os_error
from tongsa.visualize.js_modules import read_asset

BUILT_IN = ("transformer", "rnn")
MIN_STEPS = 5
"""A built-in tour is offered if the model records the tensors of at least so many steps."""
SIDES = ("text", "encoder", "memory", "decoder", "output", "search")
STEP_TYPES: dict[str, tuple[type, ...]] = {
    "en": (str,),
    "ko": (str,),
    "tensor": (str,),
    "side": (str, list),
    "layer": (int,),
    "path": (str,),
    "stage": (str,),
    "cell": (list,),
    "step": (int,),
    "head": (int,),
    "edit": (dict,),
}
"""Key of a step → the types of its value."""


def load_tour(path: str | Path) -> dict[str, Any]:
    """Read and check a tour from a JSON file."""
    path = Path(path)
    try:
        tour = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {describe_os_error(error)}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}). Correct the file.") from None
    return check_tour(tour, str(path))


def check_tour(tour: Any, location: str) -> dict[str, Any]:
    """Return a tour, or raise InputError with the first step that is wrong."""
    if not isinstance(tour, dict) or not isinstance(tour.get("steps"), list) or not tour["steps"]:
        raise InputError(f'{location}: no steps. Write {{"steps": [{{"en": "…", "tensor": "attention.scores"}}]}}.')
    for number, step in enumerate(tour["steps"], 1):
        _check_step(step, f"{location}: step {number}")
    return tour


def _check_step(step: Any, location: str) -> None:
    if not isinstance(step, dict) or not (step.get("en") or step.get("ko")):
        raise InputError(f'{location}: no text. Write "en" or "ko", or both.')
    for key, value in step.items():
        if key not in STEP_TYPES:
            raise InputError(f"{location}: unknown key {key!r}. Use one of {', '.join(STEP_TYPES)}.")
        if not isinstance(value, STEP_TYPES[key]) or isinstance(value, bool):
            names = " or ".join(kind.__name__ for kind in STEP_TYPES[key])
            raise InputError(f"{location}: {key} is {value!r}. Give {names}.")
    if not all(isinstance(number, int) for number in step.get("cell", ())):
        raise InputError(f'{location}: cell is {step["cell"]!r}. Give numbers from 1, such as "cell": [2, 3].')
    if step.get("stage", "text") not in SIDES:
        raise InputError(f"{location}: stage is {step['stage']!r}. Use one of {', '.join(SIDES)}.")


def default_tour(names: Collection[str]) -> dict[str, Any] | None:
    """Return the built-in tour that fits the recorded names best; None if none does."""
    tours = [json.loads(read_asset(f"tours/{name}.json")) for name in BUILT_IN]

    def matching_steps(tour: dict[str, Any]) -> int:
        return sum(step.get("tensor") in names for step in tour["steps"])

    best = max(tours, key=matching_steps)
    return best if matching_steps(best) >= MIN_STEPS else None
