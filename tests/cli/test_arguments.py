"""Arguments mean the same in every command, may be typed in any order, and are suggested when misspelled."""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from command_line import run_command
from tongsa.cli import COMMANDS, build_parser
from tongsa.cli.model_arguments import set_threads
from tongsa.cli.setting_table import COMMAND_SECTIONS, all_settings, command_keys
from tongsa.config import Table, override, to_table
from tongsa.errors import InputError
from tongsa.models import KINDS
from tongsa.program import PROGRAM_VARIABLE, format_command
from tongsa.runs.recipe import parse_recipe

FOLDER_COMMANDS = ("export", "ladder", "data get", "data split")
OTHER_MEANING = {(command, name) for command in FOLDER_COMMANDS for name in ("-o", "--output")}
"""A folder of several files."""


def command_options() -> dict[str, dict[str, argparse.Action]]:
    return {
        command: {name: action for action in parser.arguments() for name in action.option_strings}
        for command, parser in build_parser().leaf_commands().items()
    }


def test_an_option_takes_the_same_values_in_every_command() -> None:
    forms = defaultdict(set)
    for command, options in command_options().items():
        for name, action in options.items():
            if (command, name) not in OTHER_MEANING:
                form = (action.nargs, action.type, action.metavar, str(action.choices), type(action).__name__)
                forms[name].add(form)
    assert {name: variants for name, variants in forms.items() if len(variants) > 1} == {}


@pytest.mark.parametrize(
    ("names", "commands"),
    [
        (["--columns", "--header"], "train doctor evaluate compare score shortlist inspect ladder"),
        (["--data"], "train doctor evaluate compare shortlist inspect ladder"),
        (["--dev", "--test"], "train doctor ladder"),
        (
            ["-o", "--output"],
            "doctor translate evaluate score view search-tree family inspect trace classify sample export settings "
            "compare ladder",
        ),
        (["--threads"], "demo doctor train translate evaluate compare score classify sample distil ladder serve"),
        (["--device"], "demo doctor train translate evaluate compare score classify sample distil ladder"),
        (["--seed"], "demo doctor train translate sample distil inspect"),
        (["--temperature", "--top-k", "--top-p", "--min-p"], "translate sample"),
        (["--set"], "demo doctor train translate evaluate compare sample distil ladder shortlist serve"),
        (["--json"], "doctor translate evaluate compare score classify sample settings inspect"),
    ],
)
def test_commands_that_need_an_option_have_it(names: list[str], commands: str) -> None:
    for name in names:
        having = {command for command, options in command_options().items() if name in options}
        assert {command for command in having if not command.startswith("data ")} == set(commands.split())


SAME_COMMANDS = [
    ["evaluate model --data a.de a.en", "evaluate --data a.de a.en model", "evaluate --data a.de --data a.en model"],
    ["evaluate model --data a.de --metrics bleu chrf", "evaluate --data a.de --metrics bleu chrf model"],
    [
        "translate model a.de --ensemble b c",
        "translate model --ensemble b c a.de",
        "translate --ensemble b c -- model a.de",
    ],
    ["translate model - --ensemble b", "translate model --ensemble b -"],
    ["translate model a.de --beam 5 -o x", "translate --beam=5 model -ox a.de", "translate model --beam 5 a.de -o x"],
    [
        "train r.toml --data a.de a.en --dev a.de --run new",
        "train --data a.de a.en --dev a.de r.toml --run new",
        "train --run new --dev a.de --data a.de a.en r.toml",
    ],
    ["view model text -o x.html", "view -o x.html model text", "view model -o x.html text"],
    ["score model a.tsv --columns 2 1", "score --columns 2 1 model a.tsv", "score model --columns 2 1 a.tsv"],
    ["shortlist model --data a.tsv --always 5", "shortlist --always 5 --data a.tsv model"],
    ["compare b c --data a.tsv --beam 1", "compare --data a.tsv b c --beam 1", "compare --beam 1 b --data a.tsv c"],
    ["serve b c --port 1", "serve --port 1 b c", "serve b --port 1 c"],
    ["export model --to onnx", "export --to onnx model"],
    ["view model -5", "view -- model -5"],
]


@pytest.mark.parametrize("forms", SAME_COMMANDS, ids=lambda forms: forms[0])
def test_options_may_precede_or_follow_files(forms: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("model", "b", "c"):
        Path(name).mkdir()
    for name in ("a.de", "a.en", "a.tsv", "r.toml"):
        Path(name).touch()
    first, *others = (vars(build_parser().parse_args(form.split())) for form in forms)
    assert others == [first] * len(others)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("trian", "'trian': unknown command; did you mean 'train'?"),
        ("translate model --baem 5", "--baem: unknown option of tongsa translate; did you mean '--beam'?"),
        ("translate model --bea 5", "did you mean '--beam'?"),
        ("export model --to onxx", "--to: 'onxx': unknown value; did you mean 'onnx'?"),
        ("evaluate model --data x --metrics blue", "did you mean 'bleu'?"),
        ("settings training.lr.warmpu", "did you mean 'training.lr.warmup'?"),
        ("settings warmpu", "did you mean 'warmup'?"),
        ("settings conv_s2", "did you mean 'conv_s2s'?"),
        ("train --data x --run y --set trainin.steps=3", "did you mean 'training'?"),
        ("train --data x --run y --set kind=rnn", "--set: kind: unknown key; did you mean 'model.kind'?"),
        ("train --data x --run y --set training.warmup=3", "did you mean 'training.lr.warmup'?"),
        ("train --data x --run y --set lr.warmup=3", "did you mean 'training.lr.warmup'?"),
        ("serve model --set characters=3", "did you mean 'limits.characters'?"),
        ("translate model --set temperature=2", "Write --set sampling.temperature=2."),
        ("translate model --set colour=2", "--set colour=2: no such setting. See tongsa settings decoding"),
        (
            "--seed 3 train --run y",
            "--seed: an option before the command. Options follow it: tongsa train --run y --seed 3",
        ),
        ("--jsn", "Options follow it: tongsa COMMAND --jsn"),
        (
            "translate x model --beam 2",
            "x: a file, but the model comes first. Write: tongsa translate model x --beam 2",
        ),
        ("classify ./x model", "Write: tongsa classify model x"),
        ("sample model --set samplin.top_k=3", "no table 'samplin' here; did you mean 'sampling'?"),
        ("sample model --set top_k=3", "Write --set sampling.top_k=3."),
        ("translate model --beam five", "--beam: not a whole number: 'five'"),
        ("translate model --beam", "--beam: expected one argument"),
        ("translate", "translate: missing: RUN"),
        ("evaluate --data a b", "missing: RUN (--data took all words after it: write other arguments before it)"),
        ("sample model extra", "'extra': unexpected argument"),
        ("score model --columns 1", "--columns: expected 2 arguments"),
    ],
)
def test_a_wrong_word_gets_a_sentence_and_a_suggestion(words: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    (tmp_path / "model").mkdir()
    result = run_command(*words.split(), cwd=tmp_path)
    assert (result.code, result.stdout) == (2, "")
    assert message in result.error
    assert len(result.stderr.splitlines()) == 1


def test_every_setting_has_a_meaning_and_its_default_is_valid() -> None:
    for section, settings in all_settings().items():
        for setting in settings:
            assert setting.meaning, f"{setting.key}: no docstring below the field"
            assert setting.values != "any value", setting
            if section in ("data", "tokenizer", "model", "training", "decoding"):
                values: Table = {"model": {"kind": setting.kind}} if setting.kind else {}
                override(values, setting.key + "=0")  # creates the tables
                _replace(values, setting.key, setting.default)
                parse_recipe(values)


def _replace(values: Table, key: str, value: object) -> None:
    *tables, last = key.split(".")
    for name in tables:
        values = values[name]
    values[last] = value


def test_the_keys_of_a_recipe_are_those_that_settings_lists() -> None:
    recipe = parse_recipe({"data": {}, "model": {"kind": "rnn"}})

    def flat(table: dict, path: str) -> set[str]:  # type: ignore[type-arg]
        keys = (
            flat(value, f"{path}{key}.") if isinstance(value, dict) else {path + key} for key, value in table.items()
        )
        return set().union(*keys)

    listed = {
        setting.key for settings in all_settings().values() for setting in settings if setting.kind in ("", "rnn")
    }
    assert flat(recipe.to_table(), "") <= listed
    assert flat(to_table(recipe.training), "training.") <= set(command_keys("train"))
    assert set(COMMAND_SECTIONS) == {name for name, options in command_options().items() if "--set" in options}


@pytest.mark.parametrize(
    ("key", "first_line", "count"),
    [
        ("training.lr", "training.lr.schedule = ", 5),
        ("label_smoothing", "training.label_smoothing = 0.1", 1),
        ("limits", "limits.characters = 20000", 12),
        ("data.columns", "data.columns = [1, 2]", 1),
    ],
)
def test_settings_shows_a_subtree(key: str, first_line: str, count: int) -> None:
    lines = run_command("settings", key).stdout.splitlines()
    assert lines[1].startswith(first_line)
    assert len([line for line in lines if " = " in line and not line.startswith(" ")]) == count
    assert len(run_command("settings", key, "--json").stdout.splitlines()) == count


def test_bash_completes_commands_options_values_and_settings(tmp_path: Path) -> None:
    script = run_command("completion", "bash").stdout
    cases = {
        "tr": {"trace", "train", "translate"},
        "export runs/mine --to o": {"onnx"},
        "train --set training.lr.wa": {"training.lr.warmup="},
        "translate --set sampling.top_": {"sampling.top_k=", "sampling.top_p="},
        "settings decoding.beam": {"decoding.beam", "decoding.beam_groups"},
        "score --re": {"--rerank"},
        "completion z": {"zsh"},
        "view runs/mine": set(),
        "data noi": {"noise"},
        "data noise --he": {"--header", "--help"},
        "train --set ''": {f"{key}=" for key in command_keys("train")},
        "train --set model.kind =": set(KINDS),
        "train --set model.kind = transformer": {"transformer", "transformer_classifier", "transformer_lm"},
        "train --set model.kind=rnn_": {"model.kind=rnn_attention", "model.kind=rnn_lm"},
        "serve --set output_checks =": {"true", "false"},
        "train --set training.steps =": set(),
    }
    tests = "".join(
        f'COMP_WORDS=(tongsa {words}); COMP_CWORD={len(words.split())}; _tongsa; echo "${{COMPREPLY[@]}}"\n'
        for words in cases
    )
    result = subprocess.run(
        ["/bin/bash", "-c", script + tests], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert result.stderr == ""
    assert [set(line.split()) for line in result.stdout.splitlines()] == list(cases.values())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell: str) -> None:
    script = run_command("completion", shell).stdout
    words = set(re.findall(r"[\w-]+", script))
    for command, options in command_options().items():
        assert set(command.split()) <= words
        for name in options:
            assert name in words or (shell == "fish" and name.lstrip("-") in words), (command, name)


@pytest.mark.parametrize(
    ("started", "original", "expected"),
    [
        (".venv/bin/tongsa", ["python", ".venv/bin/tongsa"], ".venv/bin/tongsa"),
        ("/my tools/tongsa", ["python", "/my tools/tongsa"], "'/my tools/tongsa'"),
        ("/x/tongsa/__main__.py", [".venv/bin/python", "-m", "tongsa"], ".venv/bin/python -m tongsa"),
        ("/x/tongsa/cli/__main__.py", ["python3", "-m", "tongsa.cli"], "python3 -m tongsa.cli"),
        ("/x/notebook.py", ["python3", "/x/notebook.py"], "tongsa"),
    ],
)
def test_a_printed_command_is_that_of_the_user(
    started: str, original: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROGRAM_VARIABLE, raising=False)
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setattr(sys, "orig_argv", original)
    assert format_command("train --resume {}", Path("my run")) == f"{expected} train --resume 'my run'"


def test_a_program_on_the_path_is_printed_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tongsa"
    program.touch(mode=0o755)
    monkeypatch.delenv(PROGRAM_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert format_command("demo") == "tongsa demo"


@pytest.mark.parametrize("command", ["", *COMMANDS, *sorted(build_parser().leaf_commands().keys() - COMMANDS.keys())])
def test_a_help_page_fits_on_a_terminal(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = run_command(*command.split(), "--help").stdout.splitlines()
    assert max(map(len, lines)) <= 120
    assert len(lines) <= 65


def test_a_number_of_threads_that_no_machine_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"too many\. Give at most 4096\.$"):
        set_threads(argparse.Namespace(threads=10**20))
    set_threads(argparse.Namespace(threads=1))  # as in all tests


def test_two_hyphens_are_no_value_of_an_option(tmp_path: Path) -> None:
    failed = run_command("translate", str(tmp_path), "--threads=--")
    assert failed.code == 2
    assert failed.error == "tongsa: --threads=--: -- is no value. Write the value of --threads."
    assert "--threads" not in run_command("translate", str(tmp_path), "--threads=1").error


def test_an_argument_with_a_line_end_is_quoted_on_one_line() -> None:
    failed = run_command("translate", "no\nmodel")
    assert failed.code == 2 and "\n" not in failed.error and "no\\nmodel" in failed.error
