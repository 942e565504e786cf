"""Arguments about models that several commands share: the run, device, search, sampling, ensemble."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa.cli.parser import ListAction, is_not_file
from tongsa.decoding.engines.names import ENGINE_NAMES
from tongsa.errors import InputError
from tongsa.program import format_command

if TYPE_CHECKING:
    from tongsa.bundle import Bundle
    from tongsa.decoding.sampling import SamplingConfig
    from tongsa.runs.translate_job import ModelSpec

DECODING_FLAGS = ("beam", "alpha", "split_sentences")
"""Decoding settings that have a flag."""
SAMPLING_FLAGS = ("temperature", "top_k", "top_p", "min_p", "seed")


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")


def add_tag_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tag", default="", metavar="TAG", help="tag before each source, e.g. '<2ko>' (docs/data.md)")


def add_text_file_argument(parser: argparse.ArgumentParser, content: str) -> None:
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help=f"{content} (default: stdin)")


def add_threads_argument(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: chosen by PyTorch)")


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("machine")
    add_threads_argument(group)
    group.add_argument("--device", metavar="NAME", help="cpu, cuda, cuda:1, mps or auto")


def load_model(options: argparse.Namespace) -> "Bundle":
    """Load the model of RUN, with the threads and on the device of the arguments."""
    from tongsa import bundle

    return bundle.load_bundle(options.run, device=configure_device(options))


def check_argument_order(options: argparse.Namespace) -> None:
    """Raise InputError if a text file is in the position of RUN, and a folder in that of FILE."""
    run, file = getattr(options, "run", None), getattr(options, "file", "-")
    if not isinstance(run, Path) or file == "-" or not run.is_file() or not Path(file).is_dir():
        return
    exchanged = {run: file, Path(file): str(run)}
    words = [exchanged.get(Path(word), word) for word in options.argv[1:]]
    command = format_command(" ".join([options.command, *["{}"] * len(words)]), *words)
    raise InputError(f"{run}: a file, but the model comes first. Write: {command}")


def configure_device(options: argparse.Namespace) -> str:
    """Set the number of threads and return the name of the device; models run on the CPU by default."""
    set_threads(options)
    if options.device is None:
        return "cpu"
    from tongsa.runs.hardware import resolve_device

    return str(resolve_device(options.device, "--device"))


MAX_THREADS = 4096
"""No machine has more cores; torch takes any number, and overflows."""


def set_threads(options: argparse.Namespace) -> None:
    if options.threads is None:
        return
    if options.threads < 1:
        raise InputError(f"--threads {options.threads}: too few. Give at least 1.")
    if options.threads > MAX_THREADS:
        raise InputError(f"--threads {options.threads}: too many. Give at most {MAX_THREADS}.")
    import torch

    torch.set_num_threads(options.threads)


def add_set_argument(parser: argparse.ArgumentParser, example: str) -> None:
    """Add --set, which may be repeated."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help=f"change a setting, e.g. {example}"
    )


def add_beam_arguments(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--beam", type=int, metavar="N", help="beam width; 1 is greedy (default: the model's)")
    parser.add_argument("--alpha", type=float, metavar="A", help="length penalty (default: the model's)")


def add_search_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the arguments that `decoding_settings` reads, but for --set, and --engine; return their group."""
    group = parser.add_argument_group("search")
    add_beam_arguments(group)
    group.add_argument(
        "--no-split",
        dest="split_sentences",
        action="store_const",
        const=False,
        help="take each line as one sentence (decoding.split_sentences)",
    )
    group.add_argument("--engine", choices=ENGINE_NAMES, default="auto", help="decoding engine (docs/export.md)")
    return group


def add_decoding_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `model_spec` and `decoding_settings` read."""
    group = add_search_arguments(parser)
    group.add_argument(
        "--ensemble",
        action=ListAction,
        belongs=is_not_file,
        type=Path,
        default=(),
        metavar="RUN",
        help="average with these models",
    )
    group.add_argument("--lm", type=Path, metavar="RUN", help="language model for shallow fusion, same tokenizer")
    group.add_argument("--lm-weight", type=float, default=0.2, metavar="W", help="weight of --lm (default: 0.2)")
    add_device_arguments(parser)
    add_set_argument(parser, "decoding.no_repeat_ngram=3 (docs/decoding.md)")


def add_sampling_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `sampling_config` reads."""
    group = parser.add_argument_group("sampling")
    group.add_argument("--temperature", type=float, metavar="T", help="softmax temperature (default: 1)")
    group.add_argument("--top-k", type=int, metavar="K", help="sample from the K most probable tokens")
    group.add_argument("--top-p", type=float, metavar="P", help="nucleus sampling with probability P")
    group.add_argument("--min-p", type=float, metavar="P", help="sample from tokens with P times the top probability")
    group.add_argument("--seed", type=int, metavar="N", help="random seed of the samples (default: 1)")


def sampling_flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return the sampling settings that have a flag, without those that are not set."""
    return {name: value for name in SAMPLING_FLAGS if (value := getattr(options, name)) is not None}


def sampling_config(options: argparse.Namespace, settings: dict[str, Any]) -> "SamplingConfig":
    """Return the sampling settings of the flags, and of `--set sampling.KEY`."""
    from tongsa import config
    from tongsa.decoding.sampling import SamplingConfig

    return config.build_config(SamplingConfig, settings | sampling_flags(options), "sampling")


def model_spec(options: argparse.Namespace) -> "ModelSpec":
    """Return the models that the arguments name, not loaded yet."""
    from tongsa.runs.translate_job import ModelSpec

    return ModelSpec(
        run=options.run,
        ensemble=tuple(options.ensemble),
        lm=options.lm,
        lm_weight=options.lm_weight,
        engine=options.engine,
        device=configure_device(options),
    )


def decoding_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of DecodingConfig that the command line changes; the others keep the model's values."""
    return parse_tables(options.set, ["decoding", "data"])["decoding"] | decoding_flags(options)


def decoding_flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return the decoding settings that have a flag, without those that are not set."""
    return {name: value for name in DECODING_FLAGS if (value := getattr(options, name)) is not None}


def parse_tables(assignments: Sequence[str], tables: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse `table.key=value` words into one dictionary per table; other tables are an error."""
    from tongsa.cli.setting_table import all_settings
    from tongsa.config import did_you_mean, keys_ending_in

    for word in assignments:
        parsed = parse_assignments([word])
        (table,) = parsed
        if table not in tables and isinstance(parsed[table], dict):
            raise InputError(f"--set {word}: no table {table!r} here; {did_you_mean(table, tables)}")
        if not isinstance(parsed[table], dict):
            keys = keys_ending_in(table, (setting.key for name in tables for setting in all_settings()[name]))
            if keys:
                raise InputError(f"--set {word}: no such setting. Write --set {keys[0]}={word.partition('=')[2]}.")
            raise InputError(f"--set {word}: no such setting. See {format_command('settings {}', tables[0])}")
    return {name: {} for name in tables} | parse_assignments(assignments)


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse `key.path=value` words into a nested dictionary."""
    from tongsa import config

    values: dict[str, Any] = {}
    for word in assignments:
        config.override(values, word)
    return values
