"""Damaged and hostile folders are refused, healed or harmless: a seeded part of `make attack`."""

import pytest

from attack import attack_all, run_case
from attack_cases import ATTACKS, Fixture, WrongAnswerError, make_fixture, use_model, use_run

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
@pytest.mark.timeout(1200)
def test_a_thousand_cases_are_held() -> None:
    table, falls = attack_all(seed=7, cases=1000, minutes=10)
    assert falls == []
    assert set(table) == set(ATTACKS)
