"""`tongsa completion`: a script that completes commands, options, values and setting keys in a shell."""

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tongsa.cli.output import print_result
from tongsa.cli.parser import CommandParser

HELP = "print a script that completes commands, options and settings in bash, zsh or fish"
DESCRIPTION = """\
Print a completion script for a shell. It is static: print it again after an update of tongsa.

  tongsa completion bash > ~/.local/share/bash-completion/completions/tongsa
  tongsa completion zsh > ~/.zfunc/_tongsa         a folder of $fpath
  tongsa completion fish > ~/.config/fish/completions/tongsa.fish
"""


Choices = Mapping[str, list[str]]
"""Key of a setting → its allowed words."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(SCRIPTS), metavar="SHELL", help=", ".join(SCRIPTS))


def run(options: argparse.Namespace) -> None:
    from tongsa.cli import build_parser
    from tongsa.cli.setting_table import setting_choices

    print_result(SCRIPTS[options.shell](list(describe_commands(build_parser())), setting_choices()))


class OptionWords(NamedTuple):
    """An option: its names, its help, and the words that may follow."""

    names: list[str]
    help: str
    takes_value: bool
    values: list[str]
    """Known values; empty for files, numbers and texts."""


class CommandWords(NamedTuple):
    name: str
    help: str
    options: list[OptionWords]
    values: list[str]
    """Known values of the positional argument; empty for files and texts."""


def describe_commands(parser: CommandParser) -> Iterator[CommandWords]:
    """Yield what can be completed after each command."""
    from tongsa.cli.setting_table import COMMAND_SECTIONS, all_settings, command_keys

    all_keys = dict.fromkeys(setting.key for settings in all_settings().values() for setting in settings)
    for name, command in parser.leaf_commands().items():
        options, values = [], list[str]()
        for action in command.arguments():
            choices = [str(choice) for choice in action.choices or ()]
            if not action.option_strings:
                values += list(all_keys) if (name, action.dest) == ("settings", "key") else choices
                continue
            if action.dest == "set" and name in COMMAND_SECTIONS:
                choices = [f"{key}=" for key in command_keys(name)]
            options.append(OptionWords(list(action.option_strings), action.help or "", action.nargs != 0, choices))
        yield CommandWords(name, _command_help(parser, name), options, values)


def _command_help(parser: CommandParser, name: str) -> str:
    group, _, rest = name.partition(" ")
    return _command_help(parser.commands()[group], rest) if rest else parser.command_helps()[group]


def _groups(commands: list[CommandWords]) -> dict[str, list[str]]:
    """Return the commands of each group: data → get, noise."""
    groups = dict[str, list[str]]()
    for command in commands:
        group, _, name = command.name.partition(" ")
        if name:
            groups.setdefault(group, []).append(name)
    return groups


def _first_words(commands: list[CommandWords]) -> str:
    return " ".join(dict.fromkeys(command.name.partition(" ")[0] for command in commands))


BASH = """\
# bash completion of tongsa, printed by: tongsa completion bash
_tongsa() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=
    local command=${{COMP_WORDS[1]}} key= prefix=
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word"))
        return
    fi
    case "$command" in
{groups}
    esac
    # KEY=VALUE is three words, because "=" is one of COMP_WORDBREAKS; without it, one word
    if [ "$word" = "=" ]; then key=$previous word=
    elif [ "$previous" = "=" ]; then key=${{COMP_WORDS[COMP_CWORD-2]}}
    elif [ "$previous" = "--set" ] && [ "${{word#*=}}" != "$word" ]; then
        key=${{word%%=*}} prefix=${{word%%=*}}= word=${{word#*=}}
    fi
    if [ -n "$key" ]; then
        case "$key" in
{choices}
        esac
        COMPREPLY=($(compgen -P "$prefix" -W "$words" -- "$word"))
        return
    fi
    case "$command $previous" in
{values}
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        case "${{COMPREPLY[0]}}" in *=) compopt -o nospace 2> /dev/null ;; esac
        return
    fi
    case "$command" in
{options}
    esac
    case "$word" in -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;; esac
    case "$command" in
{positionals}
    esac
}}
complete -o default -F _tongsa tongsa
"""


def bash_script(commands: list[CommandWords], choices: Choices) -> str:
    """Return the script for bash; files are completed where nothing else is known."""
    values = [
        f'        "{command.name} {name}") words="{" ".join(option.values)}" ;;'
        for command in commands
        for option in command.options
        for name in option.names
        if option.values
    ]
    options = [f'        "{command.name}") words="{_option_names(command)}" ;;' for command in commands]
    groups = [
        f'        {group}) if [ "$COMP_CWORD" = 2 ]; then COMPREPLY=($(compgen -W "{" ".join(names)} --help" '
        f'-- "$word")); return; fi; command="$command ${{COMP_WORDS[2]}}" ;;'
        for group, names in _groups(commands).items()
    ]
    positionals = [
        f'        "{command.name}") [ "${{word#-}}" = "$word" ] && '
        f'COMPREPLY=($(compgen -W "{" ".join(command.values)}" -- "$word")) ;;'
        for command in commands
        if command.values
    ]
    return BASH.format(
        commands=_first_words(commands),
        groups="\n".join(groups),
        choices="\n".join(f'        {key}) words="{" ".join(words)}" ;;' for key, words in choices.items()),
        values="\n".join(values),
        options="\n".join(options),
        positionals="\n".join(positionals),
    )


ZSH = """\
#compdef tongsa
# zsh completion of tongsa, printed by: tongsa completion zsh
_tongsa() {{
    if (( CURRENT == 2 )); then
        compadd -- {commands} --help --version
        return
    fi
    local command=$words[2]
    case "$command" in
{groups}
    esac
    if [[ $words[CURRENT-1] == --set && $PREFIX == *=* ]]; then
        compadd -- {assignments}
        return
    fi
    case "$command $words[CURRENT-1]" in
{values}
    esac
    if [[ $PREFIX == -* ]]; then
        case "$command" in
{options}
        esac
        return
    fi
    case "$command" in
{positionals}
    *) _files ;;
    esac
}}
_tongsa "$@"
"""


def zsh_script(commands: list[CommandWords], choices: Choices) -> str:
    """Return the script for zsh."""
    values = [
        f'    "{command.name} {name}") compadd {"-S " + repr("") if option.names == ["--set"] else ""} -- '
        f"{' '.join(option.values)}; return ;;"
        for command in commands
        for option in command.options
        for name in option.names
        if option.values
    ]
    return ZSH.format(
        commands=_first_words(commands),
        groups="\n".join(
            f"    {group}) if (( CURRENT == 3 )); then compadd -- {' '.join(names)} --help; return; fi; "
            'command="$words[2] $words[3]" ;;'
            for group, names in _groups(commands).items()
        ),
        assignments=" ".join(_assignments(choices)),
        values="\n".join(values),
        options="\n".join(f'        "{command.name}") compadd -- {_option_names(command)} ;;' for command in commands),
        positionals="\n".join(
            f'    "{command.name}") compadd -- {" ".join(command.values)} ;;' for command in commands if command.values
        ),
    )


def fish_script(commands: list[CommandWords], choices: Choices) -> str:
    """Return the script for fish; a key and its values are words of one list."""
    lines = ["# fish completion of tongsa"]
    lines += [f"complete -c tongsa -n __fish_use_subcommand -f -a {group}" for group in _groups(commands)]
    for command in commands:
        group, _, name = command.name.rpartition(" ")
        first = f"'__fish_seen_subcommand_from {group}'" if group else "__fish_use_subcommand"
        lines.append(f"complete -c tongsa -n {first} -f -a {name} -d {shlex.quote(command.help)}")
        condition = "-n '" + "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.name.split()) + "'"
        if command.values:
            lines.append(f"complete -c tongsa {condition} -f -a '{' '.join(command.values)}'")
        for option in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            keys = {key: words for key, words in choices.items() if f"{key}=" in option.values}
            words = [*option.values, *_assignments(keys)]
            value = f" -x -a '{' '.join(words)}'" if words else " -r" if option.takes_value else ""
            lines.append(f"complete -c tongsa {condition} {names}{value} -d {shlex.quote(option.help)}")
    return "\n".join(lines)


def _assignments(choices: Choices) -> list[str]:
    return [f"{key}={word}" for key, words in choices.items() for word in words]


def _option_names(command: CommandWords) -> str:
    return " ".join(name for option in command.options for name in option.names)


SCRIPTS: dict[str, Callable[[list[CommandWords], Choices], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
