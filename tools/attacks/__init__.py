"""The attacks of tools/attack.py by name. A case is a function of a random generator, the fixture and a folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from attacks import command_lines, kills, models, parsers, run_folders
from attacks.fixture import Fixture
from attacks.outcomes import Outcome

Case = Callable[[Random, Fixture, Path], Outcome]


@dataclass(frozen=True)
class Attack:
    """An attack, and the cases that it needs to be worth its time."""

    case: Case
    cases: int
    """Cases by default; as many as take some ten to sixty seconds."""
    limits_success: bool = True
    """Whether the limit of memory holds for a case without damage, too: a long text or a wide beam may take more."""
    prepare: Callable[[Fixture], object] = lambda _: None
    """Work that all cases share: done once, before there are children."""


ATTACKS: dict[str, Attack] = {
    "model.toml": Attack(models.attack_description, 3_000),
    "model files": Attack(models.attack_model_files, 3_000),
    "model files, right checksums": Attack(models.attack_model_files_with_right_checksums, 3_000),
    "pipes, links, devices": Attack(models.attack_special_files, 1_000),
    "sparse files of the largest size": Attack(models.attack_sparse_files, 100),
    "shortlist": Attack(models.attack_shortlist, 2_000),
    "CTranslate2 exports": Attack(models.attack_export, 1_000),
    "run folder": Attack(run_folders.attack_run, 1_000),
    "checkpoint, right checksum": Attack(run_folders.attack_checkpoint, 1_000),
    "run folder, trained to its end": Attack(run_folders.attack_whole_resume, 300),
    "strange names in a run": Attack(run_folders.attack_strange_names, 200),
    "prepared data": Attack(run_folders.attack_prepared_data, 200, prepare=run_folders.prepare_data),
    "journal of a run": Attack(run_folders.attack_journal, 10_000),
    "translation job": Attack(run_folders.attack_translation_job, 300, prepare=run_folders.interrupt_job),
    "grid": Attack(run_folders.attack_grid, 100, prepare=run_folders.train_small_grid),
    "SIGKILL of a training": Attack(kills.train_with_kills, 60),
    "SIGKILL at a system call: training": Attack(kills.train_killed_at_call, 60, prepare=kills.count_training_calls),
    "SIGKILL at a system call: job": Attack(kills.translate_killed_at_call, 60, prepare=kills.count_job_calls),
    "SIGKILL at a system call: model": Attack(kills.save_killed_at_call, 60, prepare=kills.count_saving_calls),
    "parser: model.toml": Attack(parsers.parse_description, 10_000),
    "parser: tensor files": Attack(parsers.parse_tensors, 10_000),
    "parser: tokenizer": Attack(parsers.parse_tokenizer, 10_000),
    "parser: labels": Attack(parsers.parse_labels, 10_000),
    "parser: export": Attack(parsers.parse_export, 10_000),
    "parser: counters of a checkpoint": Attack(parsers.parse_progress, 10_000),
    "parser: corpora": Attack(parsers.parse_corpus, 10_000),
    "parser: command lines": Attack(command_lines.attack_parser, 10_000),
    "command lines that run": Attack(command_lines.attack_command, 1_000, limits_success=False),
}
