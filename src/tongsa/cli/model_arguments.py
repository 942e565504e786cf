"""Arguments that several commands share: the run, the decoding settings, the models of an ensemble."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.runs.translate_job import ModelSpec

DECODING_FLAGS = ("beam", "alpha", "split_sentences")
"""Decoding settings that have a flag."""


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run or of a model")


def add_set_argument(parser: argparse.ArgumentParser, example: str) -> None:
    """Add --set, which may be repeated."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help=f"change a setting, e.g. {example}"
    )


def add_beam_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--beam", type=int, metavar="N", help="beam width; 1 is greedy (default: the model's)")
    parser.add_argument("--alpha", type=float, metavar="A", help="length penalty (default: the model's)")


def add_decoding_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `model_spec` and `decoding_settings` read."""
    add_beam_arguments(parser)
    parser.add_argument(
        "--no-split",
        dest="split_sentences",
        action="store_const",
        const=False,
        help="take each line as one sentence (decoding.split_sentences)",
    )
    add_set_argument(parser, "decoding.no_repeat_ngram=3 (docs/decoding.md)")
    parser.add_argument(
        "--engine", choices=["auto", "torch", "ctranslate2"], default="auto", help="decoding engine (docs/export.md)"
    )
    parser.add_argument("--ensemble", nargs="+", type=Path, default=(), metavar="RUN", help="average with these models")
    parser.add_argument("--lm", type=Path, metavar="RUN", help="language model for shallow fusion, same tokenizer")
    parser.add_argument("--lm-weight", type=float, default=0.2, metavar="W", help="weight of --lm (default: 0.2)")


def model_spec(options: argparse.Namespace) -> "ModelSpec":
    """Return the models that the arguments name, not loaded yet."""
    from tongsa.runs.translate_job import ModelSpec

    return ModelSpec(
        run=options.run,
        ensemble=tuple(options.ensemble),
        lm=options.lm,
        lm_weight=options.lm_weight,
        engine=options.engine,
    )


def decoding_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of DecodingConfig that the command line changes; the others keep the model's values."""
    return parse_tables(options.set, ["decoding"])["decoding"] | decoding_flags(options)


def decoding_flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return the decoding settings that have a flag, without those that are not set."""
    return {name: value for name in DECODING_FLAGS if (value := getattr(options, name)) is not None}


def parse_tables(assignments: Sequence[str], tables: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse `table.key=value` words into one dictionary per table; other tables are an error."""
    values: dict[str, Any] = {name: {} for name in tables}
    for word in assignments:
        parsed = parse_assignments([word])
        (table,) = parsed
        if table not in tables or not isinstance(parsed[table], dict):
            raise InputError(f"--set {word}: no such setting. Write --set {tables[0]}.{word}.")
        values[table] |= parsed[table]
    return values


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse `key.path=value` words into a nested dictionary."""
    from tongsa import config

    values: dict[str, Any] = {}
    for word in assignments:
        config.override(values, word)
    return values
