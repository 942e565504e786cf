"""`tongsa settings`: every setting with default, range and meaning."""

import argparse
import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tongsa.cli.output import add_results_argument, print_result
from tongsa.errors import InputError
from tongsa.program import format_command

if TYPE_CHECKING:
    from tongsa.cli.setting_table import Setting

HELP = "list every setting with default, range and meaning"
DESCRIPTION = """\
List the settings that --set changes, with default, allowed values and meaning.

  tongsa settings                    all of them, section by section
  tongsa settings training.lr        the keys that begin so
  tongsa settings conv_s2s           the [model] settings of one kind
  tongsa settings label_smoothing    a key without its section
  tongsa settings decoding --json    one JSON object per line

Sections data, tokenizer, model, training and decoding are those of a recipe. A preset or a recipe changes many of the
defaults; run.toml in the folder of a run has the values in force. The keys of `tongsa serve` have no section.
"""
WIDTH = 88


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "key", nargs="?", default="", metavar="KEY", help="section, key, part of a key, or kind of model"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_results_argument(parser)


def run(options: argparse.Namespace) -> None:
    from tongsa.cli.setting_table import all_settings

    table = all_settings()
    del table["data format"], table["data noise"], table["data cleaning"]  # parts of [data]
    selected = {name: select_settings(settings, options.key, name) for name, settings in table.items()}
    if not any(selected.values()):
        raise _unknown_key(options.key, [setting for settings in table.values() for setting in settings])
    if options.json:
        for setting in (setting for settings in selected.values() for setting in settings):
            print_result(json.dumps(setting.as_json(), ensure_ascii=False, default=str))
        return
    print_result("\n".join(_format_sections(selected)))


def select_settings(settings: "Sequence[Setting]", word: str, section: str) -> "list[Setting]":
    """Return the settings of a section, of a kind, with this key, below it, or with this last part."""
    if word in ("", section):
        return list(settings)
    return [
        setting
        for setting in settings
        if word in (setting.kind, setting.key, setting.key.rpartition(".")[2]) or setting.key.startswith(f"{word}.")
    ]


def _unknown_key(word: str, settings: "Sequence[Setting]") -> InputError:
    from tongsa.config import did_you_mean

    keys = dict.fromkeys(setting.key for setting in settings)
    names = dict.fromkeys(name for key in keys for name in (key.rpartition(".")[2], key.partition(".")[0]))
    kinds = dict.fromkeys(setting.kind for setting in settings if setting.kind)
    hint = did_you_mean(word, keys if "." in word else [*names, *kinds])
    hint = hint if hint.endswith("?") else f"see the list: {format_command('settings')}"
    return InputError(f"{word}: no such setting; {hint}")


def _format_sections(sections: "dict[str, list[Setting]]") -> list[str]:
    lines: list[str] = []
    heading = ""
    for name, settings in sections.items():
        for setting in settings:
            title = f"[{name}]" + (f' with kind = "{setting.kind}"' if setting.kind else "")
            if title != heading:
                lines += ["", title] if lines else [title]
                heading = title
            lines += _format_setting(setting)
    return lines


def _format_setting(setting: "Setting") -> list[str]:
    default = json.dumps(setting.default, ensure_ascii=False, default=str)
    opening = f"{setting.key} = {'none' if setting.default is None else default}"
    details = textwrap.wrap(f"({setting.values}) {setting.meaning}", WIDTH - 4, break_on_hyphens=False)
    return [opening, *(f"    {line}" for line in details)]
