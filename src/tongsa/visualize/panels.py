"""All ways to look into a model and what it makes of some texts, as one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.normalize import normalize
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.training import journal
from tongsa.visualize import attention, positions, search_tree
from tongsa.visualize.attention import AttentionExample
from tongsa.visualize.curves import page_data as told_curves
from tongsa.visualize.page import Page
from tongsa.visualize.readings import classification_example, language_model_example, translation_example

AnyTextModel = Translator | TextClassifier | TextGenerator


def view(model: str | Path | Bundle | AnyTextModel, *texts: str) -> Page:
    """A page for a run, a bundle or what `tongsa.load` gives: attention, the beam's tree, positions, curves.

    A notebook shows what comes back; `.save("page.html")` writes it, as `tongsa view` does.
    """
    if not texts or not all(map(normalize, texts)):
        raise InputError("view: an empty text has nothing to look at; give a sentence")
    loaded = bundle.load_bundle(Path(model)) if isinstance(model, (str, Path)) else model
    folder = loaded.folder if isinstance(loaded, Bundle) else None
    reader = loaded.text_model() if isinstance(loaded, Bundle) else loaded
    title = f"{Path(model).name}: {texts[0]}" if isinstance(model, (str, Path)) else texts[0]
    panels = model_panels(reader, texts, title) | training_panel(folder)
    if not panels:
        raise InputError(
            f"{model}: nothing to look at: this kind has no attention, no search, and no journal beside it"
        )
    return Page(title, panels)


def model_panels(text_model: AnyTextModel, texts: Sequence[str], title: str) -> dict[str, Any]:
    """What one model shows of some texts; the tree is that of the first."""
    found: dict[str, Any] = {}
    seen = attention_examples(text_model, texts)
    if any(one.weights for one in seen):
        found["attention"] = attention.page_data(title, seen)
    if isinstance(text_model, Translator):
        found["tree"] = search_tree.page_data(title, search_tree.build_search_tree(text_model, texts[0]))
    return found | position_panel(text_model)


def attention_examples(text_model: AnyTextModel, texts: Sequence[str]) -> list[AttentionExample]:
    if isinstance(text_model, TextClassifier):
        return [classification_example(*one) for one in zip(text_model.classify(texts), texts, strict=True)]
    if isinstance(text_model, TextGenerator):
        return [language_model_example(text_model, text) for text in texts]
    return [translation_example(*one) for one in zip(text_model.translate(texts), texts, strict=True)]


def position_panel(text_model: AnyTextModel) -> dict[str, Any]:
    """How the model knows where a piece stands, whatever the text."""
    tables = positions.position_encodings(text_model.model)
    return {"positions": positions.page_data(tables)} if tables else {}


def training_panel(folder: Path | None) -> dict[str, Any]:
    """How the model was trained, where its journal is still beside it."""
    place = folder.parent / "journal.jsonl" if folder else None
    records = journal.read_journal(place) if place and place.is_file() else []
    told = told_curves(records)
    return {"curves": told} if told["panels"] else {}
