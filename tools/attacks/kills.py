"""SIGKILL of trainings, jobs and exports, at random moments and at system calls; then the same command again."""

from functools import cache
from pathlib import Path
from random import Random

from attacks.command_lines import run_command
from attacks.fixture import SETTINGS, Fixture, answers, saved_bytes, translation_command
from attacks.outcomes import Outcome, WrongAnswerError
from kill_points import count_calls, kill_during, killed_before_call
from tongsa import runs
from tongsa.bundle import load_bundle, save_bundle
from tongsa.errors import InputError

TRAINING_SECONDS = 0.6
"""Latest moment of a kill; an undisturbed training of the fixture takes about 0.3 s."""


def train(run: Path, fixture: Fixture) -> None:
    """Start a run, or resume it, as the same command with --resume-if-exists does."""
    if (run / "run.toml").exists():
        runs.resume(run, quiet=True)
    else:
        runs.train(data=fixture.pairs, run=run, settings=SETTINGS, quiet=True)


def translate(output: Path, fixture: Fixture) -> None:
    if not output.exists():
        run_command(translation_command(fixture, output))


def save(model: Path, fixture: Fixture) -> None:
    save_bundle(model, load_bundle(fixture.run), "")


def train_with_kills(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Kill a training one to four times at random moments; the end has the bytes of the undisturbed run."""
    run, killed = scratch / "run", False
    for _ in range(rng.randint(1, 4)):
        killed |= kill_during(lambda: train(run, fixture), rng.random() * TRAINING_SECONDS)
    train(run, fixture)
    return _compare_run(run, fixture, killed=killed)


def train_killed_at_call(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    count = count_training_calls(fixture)
    run, killed = scratch / "run", False
    for _ in range(rng.choice((1, 1, 2, 3))):
        killed |= killed_before_call(rng.randint(1, count), lambda: train(run, fixture), after=rng.random() < 0.5)
    train(run, fixture)
    return _compare_run(run, fixture, killed=killed)


def _compare_run(run: Path, fixture: Fixture, *, killed: bool) -> Outcome:
    if saved_bytes(run) != fixture.saved:
        raise WrongAnswerError("the resumed run has other bytes than the undisturbed one")
    leftovers = [path.name for path in (*run.glob(".*"), *(run / "checkpoints").glob(".*"))]
    if leftovers:
        raise WrongAnswerError(f"left behind: {leftovers}")
    return Outcome.HEALED if killed else Outcome.NO_EFFECT


def translate_killed_at_call(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    count, output, killed = count_job_calls(fixture), scratch / "out.txt", False
    for _ in range(rng.choice((1, 1, 2, 3))):
        killed |= killed_before_call(
            rng.randint(1, count), lambda: translate(output, fixture), after=rng.random() < 0.5
        )
    translate(output, fixture)
    if output.read_bytes() != (fixture.folder / "counted.txt").read_bytes():
        raise WrongAnswerError("the resumed job wrote other bytes")
    return Outcome.HEALED if killed else Outcome.NO_EFFECT


def save_killed_at_call(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Kill the replacement of a model: afterwards there is a complete one, the old or the new."""
    model = scratch / "model"
    save(model, fixture)
    count = count_saving_calls(fixture)
    killed = killed_before_call(rng.randint(1, count), lambda: save(model, fixture), after=rng.random() < 0.5)
    try:
        texts = answers(load_bundle(model))
    except InputError as error:
        raise WrongAnswerError(f"no model after the kill: {error}") from None
    if texts != fixture.answers:
        raise WrongAnswerError("another model than before")
    save(model, fixture)
    return Outcome.HEALED if killed else Outcome.NO_EFFECT


@cache
def count_training_calls(fixture: Fixture) -> int:
    return len(count_calls(lambda: train(fixture.folder / "counted-run", fixture)))


@cache
def count_job_calls(fixture: Fixture) -> int:
    return len(count_calls(lambda: translate(fixture.folder / "counted.txt", fixture)))


@cache
def count_saving_calls(fixture: Fixture) -> int:
    """Count the calls that replace a model."""
    model = fixture.folder / "counted-model"
    save(model, fixture)
    return len(count_calls(lambda: save(model, fixture)))
