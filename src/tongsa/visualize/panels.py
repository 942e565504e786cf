"""One page about a model and some texts: attention, search tree, positional encodings, training curves."""

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
from tongsa.visualize import attention, curves, positions, search_tree
from tongsa.visualize.attention import AttentionExample
from tongsa.visualize.examples import classification_example, language_model_example, translation_example
from tongsa.visualize.page import Page

AnyTextModel = Translator | TextClassifier | TextGenerator


def view(model: str | Path | Bundle | AnyTextModel, texts: str | Sequence[str]) -> Page:
    """Return a page about a run, a bundle or a model from `tongsa.load`, and a text or a list of texts.

    A notebook displays the page; `.save("page.html")` writes it, as `tongsa view` does.
    """
    texts = [texts] if isinstance(texts, str) else list(texts)
    if not texts or not all(map(normalize, texts)):
        raise InputError("view: the text is empty. Give a sentence.")
    text_model = _text_model(model)
    title = _page_title(text_model, texts[0])
    panels = model_panels(text_model, texts, title) | training_panel(text_model.info.folder)
    if not panels:
        raise InputError(
            f"{title}: nothing to show. This kind of model has no attention and no beam search, and "
            "there is no journal.jsonl of its training. Choose another model."
        )
    return Page(title, panels)


def search_tree_page(
    model: str | Path | Bundle | AnyTextModel,
    text: str,
    *,
    beam: int | None = None,
    alpha: float | None = None,
    pruned: int = 3,
) -> Page:
    """Return a page of one beam search: the hypotheses kept, and the best `pruned` ones of each step that were not."""
    text_model = _text_model(model)
    if not isinstance(text_model, Translator):
        raise InputError(f"search-tree: {text_model.info.kind} does not translate. Give a model that translates.")
    tree = search_tree.build_search_tree(text_model, text, beam=beam, alpha=alpha, max_pruned=pruned)
    title = _page_title(text_model, text)
    return Page(title, {"tree": search_tree.page_data(title, tree)})


def _text_model(model: str | Path | Bundle | AnyTextModel) -> AnyTextModel:
    loaded = bundle.load_bundle(Path(model)) if isinstance(model, (str, Path)) else model
    return loaded.text_model() if isinstance(loaded, Bundle) else loaded


def _page_title(text_model: AnyTextModel, text: str) -> str:
    folder = text_model.info.run_folder
    return f"{folder.name}: {text}" if folder else text


def model_panels(text_model: AnyTextModel, texts: Sequence[str], title: str) -> dict[str, Any]:
    """Return the panels that a model has for some texts; the search tree is that of the first text."""
    panels: dict[str, Any] = {}
    examples = attention_examples(text_model, texts)
    if any(example.weights for example in examples):
        panels["attention"] = attention.page_data(title, examples)
    if isinstance(text_model, Translator):
        panels["tree"] = search_tree.page_data(title, search_tree.build_search_tree(text_model, texts[0]))
    return panels | position_panel(text_model)


def attention_examples(text_model: AnyTextModel, texts: Sequence[str]) -> list[AttentionExample]:
    if isinstance(text_model, TextClassifier):
        return [classification_example(*pair) for pair in zip(text_model.classify(texts), texts, strict=True)]
    if isinstance(text_model, TextGenerator):
        return [language_model_example(text_model, text) for text in texts]
    return [translation_example(*pair) for pair in zip(text_model.translate(texts), texts, strict=True)]


def position_panel(text_model: AnyTextModel) -> dict[str, Any]:
    """Return the panel of the positional encodings, which do not depend on a text; empty if there are none."""
    tables = positions.position_encodings(text_model.model)
    return {"positions": positions.page_data(tables)} if tables else {}


def training_panel(folder: Path | None) -> dict[str, Any]:
    """Return the panel of the training curves, if the bundle's run still has its journal."""
    path = folder.parent / "journal.jsonl" if folder else None
    records = journal.read_journal(path) if path and path.is_file() else []
    data = curves.page_data(records)
    return {"curves": data} if data["panels"] else {}
