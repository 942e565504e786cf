"""Arguments about data and training that mean the same in every command: files, columns, seed, threads, device."""

import argparse
from typing import Any

from tongsa.cli.model_arguments import add_device_arguments, add_set_argument
from tongsa.cli.parser import ListAction, is_not_folder, is_not_recipe

FILES: dict[str, Any] = {"action": ListAction, "belongs": is_not_recipe, "default": (), "metavar": "FILE"}


def add_training_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --data, --dev, --test, --columns and --header of a run."""
    parser.add_argument(
        "--data",
        **FILES,
        help="training files or patterns, instead of the recipe's: .tsv .csv .jsonl .tmx .po .xliff .parquet, text",
    )
    parser.add_argument("--dev", **FILES, help="dev files (default: a part of --data)")
    parser.add_argument("--test", **FILES, help="test files, scored once at the end")
    add_format_arguments(parser)


def add_data_argument(parser: argparse.ArgumentParser, help_text: str, *, required: bool = True) -> None:
    """Add --data, --columns and --header for the files of a trained model."""
    parser.add_argument(
        "--data", action=ListAction, belongs=is_not_folder, required=required, metavar="FILE", help=help_text
    )
    add_format_arguments(parser)


def add_format_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--columns",
        nargs=2,
        type=int,
        metavar="N",
        help="columns of source and target in TSV, CSV and Parquet (default: 1 2)",
    )
    parser.add_argument("--header", action="store_true", help="skip the first line of each TSV or CSV file")


def add_training_arguments(parser: argparse.ArgumentParser, example: str) -> None:
    """Add --seed, --threads, --device and --set of a run."""
    parser.add_argument("--seed", type=int, metavar="N", help="random seed of the run (default: 1)")
    add_device_arguments(parser)
    add_set_argument(parser, example)


def training_settings(options: argparse.Namespace) -> list[str]:
    """Return the assignments of --set, and after them those of the flags, which win."""
    flags = {
        "data.columns": getattr(options, "columns", None),
        "data.header": "true" if getattr(options, "header", False) else None,
        "training.seed": options.seed,
        "training.threads": options.threads,
        "training.device": options.device,
    }
    return [*options.set, *(f"{key}={value}" for key, value in flags.items() if value is not None)]
