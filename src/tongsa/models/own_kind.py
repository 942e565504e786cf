"""Find a kind of model by its name: a key of KINDS, or "package.module:Config" for a class of the user's own.

A name of the second form imports the module, and importing executes it. So it is imported from installed packages, from
PYTHONPATH and from the current directory, but never from the folder of the model that names it: a model that was
downloaded brings no code.
"""

import dataclasses
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from tongsa.config import ConfigError, did_you_mean
from tongsa.interface import ModelConfig
from tongsa.models import KINDS


def is_own_kind(kind: str) -> bool:
    """Return whether the name has the form package.module:Config."""
    return ":" in kind


def find_kind(kind: Any, model_folder: Path | None = None) -> type[ModelConfig]:
    """Return the settings class of a kind.

    Args:
        kind: A key of KINDS, or package.module:Config.
        model_folder: Folder of the model that names the kind; no code is imported from it.

    """
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    if not isinstance(kind, str) or not is_own_kind(kind):
        raise ConfigError(
            f"model.kind: {kind!r} is not a kind of model; {did_you_mean(str(kind), KINDS)}; "
            "a kind of your own is written package.module:Config"
        )
    module_name, _, class_name = kind.partition(":")
    module = _import_module(kind, module_name, model_folder)
    config_class = getattr(module, class_name, None)
    if config_class is None:
        raise ConfigError(
            f"model.kind: {kind!r}: {module.__file__} has no {class_name!r}. Write the name of its settings class."
        )
    if not (
        dataclasses.is_dataclass(config_class) and hasattr(config_class, "build") and hasattr(config_class, "task")
    ):
        raise ConfigError(
            f"model.kind: {kind!r}: not the settings of a model. "
            "Write a frozen dataclass with `task` and `build` (docs/own-kind.md)."
        )
    return config_class  # type: ignore[return-value]


def _import_module(kind: str, module_name: str, model_folder: Path | None) -> Any:
    current = str(Path.cwd())
    if current not in sys.path:  # as `python -m` does, but last: no file here hides an installed package
        sys.path.append(current)
    try:
        top_level = importlib.util.find_spec(module_name.partition(".")[0])  # this does not execute the module
    except (ImportError, ValueError):
        top_level = None
    if top_level is not None and model_folder is not None and _is_inside(top_level, model_folder):
        raise ConfigError(
            f"model.kind: {kind!r}: the module is in the folder of the model, and code of a model is not executed. "
            "If you trust it, move it to the current directory or install it."
        )
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"model.kind: {kind!r}: no module {module_name!r}. Run tongsa in the folder of {module_name}.py, "
                "or install the package that has it."
            ) from None
        raise ConfigError(f"model.kind: {kind!r}: {module_name} needs {error.name!r}. Install it.") from None
    except Exception as error:
        raise ConfigError(
            f"model.kind: {kind!r}: {module_name} cannot be imported ({type(error).__name__}: {error}). "
            f"Repair it until `python -m {module_name}` runs."
        ) from error


def _is_inside(spec: importlib.machinery.ModuleSpec, folder: Path) -> bool:
    """Return whether a module or package would be loaded from the folder."""
    locations = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return any(folder.resolve() in Path(location).resolve().parents for location in locations)
