"""tongsa: train, inspect and serve sequence-to-sequence models.

>>> import tongsa
>>> translator = tongsa.load("runs/demo")
>>> translator("I go home").text
'나는 집에 간다'

Each command of the command line has one function or method here. Wrong input raises `tongsa.InputError`. Modules are
imported on first use, so `import tongsa` does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tongsa.errors import InputError, InterruptedRun

if TYPE_CHECKING:
    from tongsa.api import compare as compare
    from tongsa.api import distil as distil
    from tongsa.api import evaluate as evaluate
    from tongsa.api import export_model as export_model
    from tongsa.api import load as load
    from tongsa.api import resume as resume
    from tongsa.api import train as train
    from tongsa.api import train_demo as train_demo
    from tongsa.decoding.generator import TextGenerator as TextGenerator
    from tongsa.decoding.glossary import Glossary as Glossary
    from tongsa.decoding.results import Translation as Translation
    from tongsa.decoding.sampling import SamplingConfig as SamplingConfig
    from tongsa.decoding.text_classifier import Classification as Classification
    from tongsa.decoding.text_classifier import TextClassifier as TextClassifier
    from tongsa.decoding.translator import Translator as Translator
    from tongsa.document_formats.translation import DocumentReport as DocumentReport
    from tongsa.evaluation.evaluate import EvaluationReport as EvaluationReport
    from tongsa.grid_api import ladder as ladder
    from tongsa.grid_api import train_grid as train_grid
    from tongsa.runs.comparison import Comparison as Comparison
    from tongsa.runs.doctor import run_doctor as doctor
    from tongsa.runs.document_translation import translate_document as translate_document
    from tongsa.runs.file_translation import translate_file as translate_file
    from tongsa.runs.shortlist import build_shortlist as shortlist
    from tongsa.server.background import serve as serve
    from tongsa.server.background import start_server as start_server
    from tongsa.visualize.curves import read_curves as curves
    from tongsa.visualize.family import family as family
    from tongsa.visualize.inspection import inspect as inspect
    from tongsa.visualize.panels import search_tree_page as search_tree
    from tongsa.visualize.panels import view as view
    from tongsa.visualize.trace import Trace as Trace
    from tongsa.visualize.trace import trace as trace

__version__ = "0.1.0"

LAZY_NAMES = {
    "Classification": "decoding.text_classifier:Classification",
    "Comparison": "runs.comparison:Comparison",
    "DocumentReport": "document_formats.translation:DocumentReport",
    "EvaluationReport": "evaluation.evaluate:EvaluationReport",
    "Glossary": "decoding.glossary:Glossary",
    "SamplingConfig": "decoding.sampling:SamplingConfig",
    "TextClassifier": "decoding.text_classifier:TextClassifier",
    "TextGenerator": "decoding.generator:TextGenerator",
    "Trace": "visualize.trace:Trace",
    "Translation": "decoding.results:Translation",
    "Translator": "decoding.translator:Translator",
    "compare": "api:compare",
    "curves": "visualize.curves:read_curves",
    "distil": "api:distil",
    "doctor": "runs.doctor:run_doctor",
    "evaluate": "api:evaluate",
    "export_model": "api:export_model",
    "family": "visualize.family:family",
    "inspect": "visualize.inspection:inspect",
    "ladder": "grid_api:ladder",
    "load": "api:load",
    "resume": "api:resume",
    "search_tree": "visualize.panels:search_tree_page",
    "serve": "server.background:serve",
    "shortlist": "runs.shortlist:build_shortlist",
    "start_server": "server.background:start_server",
    "train": "api:train",
    "train_demo": "api:train_demo",
    "train_grid": "grid_api:train_grid",
    "trace": "visualize.trace:trace",
    "translate_document": "runs.document_translation:translate_document",
    "translate_file": "runs.file_translation:translate_file",
    "view": "visualize.panels:view",
}
"""Names that are imported on first use: module and name in it."""

__all__ = [
    "Classification",
    "Comparison",
    "DocumentReport",
    "EvaluationReport",
    "Glossary",
    "InputError",
    "InterruptedRun",
    "SamplingConfig",
    "TextClassifier",
    "TextGenerator",
    "Trace",
    "Translation",
    "Translator",
    "compare",
    "curves",
    "distil",
    "doctor",
    "evaluate",
    "export_model",
    "family",
    "inspect",
    "ladder",
    "load",
    "resume",
    "search_tree",
    "serve",
    "shortlist",
    "start_server",
    "trace",
    "train",
    "train_demo",
    "train_grid",
    "translate_document",
    "translate_file",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'tongsa' has no attribute {name!r}")
    module, _, attribute = LAZY_NAMES[name].partition(":")
    return getattr(import_module(f"tongsa.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})
