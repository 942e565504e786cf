"""Damaged and hostile folders are refused, healed or harmless: a seeded part of `make attack`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attacks import ATTACKS
from attacks.fixture import Fixture, make_fixture, resume_run, use_model, use_run
from attacks.outcomes import FALLS, Outcome, WrongAnswerError, message_fault
from attacks.workers import run_case
from test_benchmark_tables import copy_pages, run_tables
from tongsa.errors import InputError

TOOLS = Path(__file__).parent.parent / "tools"
CHEAP = ["model.toml", "model files", "model files, right checksums", "run folder"]
CHEAP += [name for name in ATTACKS if name.startswith("parser: ")]
MESSAGES = {
    "runs/a/model.toml: damaged (no format number). Copy the whole folder again.": "",
    "decoding.beam: 0 is out of range. Write a whole number at least 1 and at most 10,000.": "",
    "translate: --bem: unknown option; did you mean --beam?": "",
    "damaged. Copy it again.": "no place",
    "runs/a: damaged.": "no remedy",
    "runs/a: Copy it again.": "no reason",
    "runs/a: damaged (\x1b[2J). Copy it again.": "several lines, or control characters",
}


@pytest.fixture(scope="module")
def fixture(tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    return make_fixture(tmp_path_factory.mktemp("attack"))


@pytest.mark.parametrize("name", CHEAP)
def test_a_few_cases_of_each_attack_hold(name: str, fixture: Fixture, tmp_path: Path) -> None:
    for number in range(10):
        result = run_case(name, number, 1, fixture, tmp_path)
        assert result.outcome not in FALLS or result.outcome == Outcome.MEMORY, result  # this process may be larger


def test_intact_folders_are_accepted_and_a_changed_answer_is_noticed(fixture: Fixture, tmp_path: Path) -> None:
    """An attack that accepted everything would prove nothing."""
    assert use_model(fixture.run, fixture.answers) == use_run(fixture.run) == Outcome.NO_EFFECT
    with pytest.raises(WrongAnswerError):
        use_model(fixture.run, ["other"])
    run = shutil.copytree(fixture.run, tmp_path / "run")
    resume_run(run, fixture)
    (run / "model" / "weights.safetensors").write_bytes(b"other")
    with pytest.raises(WrongAnswerError):
        resume_run(run, fixture)


@pytest.mark.parametrize("text", MESSAGES)
def test_a_message_needs_a_place_a_reason_and_a_remedy(text: str) -> None:
    assert message_fault(text) == MESSAGES[text]


@pytest.mark.parametrize("word", ["a" * 100_000, ":" * 100_000, ":" * 100_000 + "a", "a" * 99_999 + ":"])
def test_a_message_with_a_word_of_any_length_is_short(word: str) -> None:
    message = str(InputError(f"{word}: no such file. Give another name."))
    assert message.endswith(": no such file. Give another name.") and len(message) < 130
    assert "characters)" in message


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_hundreds_of_cases_are_held_and_recorded(tmp_path: Path) -> None:
    """In a process of its own: children of the test process would begin with its memory."""
    results = copy_pages(tmp_path) / "benchmarks/results"
    command = [sys.executable, str(TOOLS / "attack.py"), "--cases", "12", "--minutes", "10", "--seed", "7", "--record"]
    done = subprocess.run([*command, "--results", str(results)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["what"]: row for row in json.loads((results / "attack.json").read_text("utf-8"))["rows"]}
    assert ATTACKS.keys() <= rows.keys()
    for name in ATTACKS:
        details = rows[name]["details"]
        assert rows[name]["value"] == sum(count for column, count in details.items() if column != "peak, MiB")
    assert run_tables("--root", str(tmp_path)).returncode == 0
