"""Damaged and hostile folders are refused, healed or harmless: a seeded part of `make attack`."""

import subprocess
import sys
from pathlib import Path

import pytest

from attack import run_case
from attack_cases import ATTACKS, Fixture, WrongAnswerError, make_fixture, use_model, use_run

TOOLS = Path(__file__).parent.parent / "tools"
CHEAP = ["model.toml", "model files", "model files, right checksums", "tokenizer", "labels", "run folder"]


@pytest.fixture(scope="module")
def fixture(tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    return make_fixture(tmp_path_factory.mktemp("attack"))


@pytest.mark.parametrize("name", CHEAP)
def test_a_few_cases_of_each_attack_are_held(name: str, fixture: Fixture) -> None:
    for number in range(10):
        outcome, reason = run_case(name, number, 1, fixture)
        assert outcome in ("held", "memory"), reason  # the test process itself may be larger than a child


def test_intact_folders_are_accepted_and_a_changed_answer_is_noticed(fixture: Fixture) -> None:
    """An attack that reported "held" for everything would prove nothing."""
    use_model(fixture.run, fixture, same_answers=True)
    use_run(fixture.run)
    with pytest.raises(WrongAnswerError):
        use_model(fixture.run, Fixture(fixture.run, ["other"]), same_answers=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_hundreds_of_cases_are_held() -> None:
    """In a process of its own: children of the test process would begin with its memory."""
    command = [sys.executable, str(TOOLS / "attack.py"), "--seed", "7", "--cases", "300", "--minutes", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(name in done.stdout for name in ATTACKS)
