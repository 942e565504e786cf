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
from tongsa.visualize import attention, curves, positions, search_tree
from tongsa.visualize.attention import AttentionExample
from tongsa.visualize.examples import (
    classification_example,
    language_model_example,
    translate_sentence,
    translation_example,
)
from tongsa.visualize.mechanism import attention_mechanisms
from tongsa.visualize.page import Page

AnyTextModel = Translator | TextClassifier | TextGenerator


def view(
    model: str | Path | Bundle | AnyTextModel,
    texts: str | Sequence[str],
    *,
    samples: Sequence[str] = (),
    compare: Sequence[str | Path] = (),
) -> Page:
    """Return a page about a run, a bundle or a model from `tongsa.load`, and a text or a list of texts.

    Heads are named after their pattern in the texts and in the `samples`, further sentences that are not shown. The
    training curves also show the runs in `compare`. A notebook displays the page; `.save("page.html")` writes it, as
    `tongsa view` does.
    """
    texts = [texts] if isinstance(texts, str) else list(texts)
    if not texts or not all(map(normalize, texts)):
        raise InputError("view: the text is empty. Give a sentence.")
    text_model = load_text_model(model)
    examples = attention_examples(text_model, texts)
    return examples_page(text_model, examples, samples=attention_examples(text_model, samples), compare=compare)


def examples_page(
    text_model: AnyTextModel,
    examples: Sequence[AttentionExample],
    *,
    title: str = "",
    samples: Sequence[AttentionExample] = (),
    compare: Sequence[str | Path] = (),
) -> Page:
    """Return a page with all panels of a model for some examples."""
    title = title or model_title(text_model)
    panels = model_panels(text_model, examples, title, samples) | training_panel(text_model.info.folder, compare)
    if not panels:
        raise InputError(
            f"{title}: nothing to show. This kind of model has no attention and no beam search, and "
            "there is no journal.jsonl of its training. Choose another model."
        )
    return Page(title, panels, [attention.sentence_data(example) for example in examples])


def search_tree_page(
    model: str | Path | Bundle | AnyTextModel,
    text: str,
    *,
    beam: int | None = None,
    alpha: float | None = None,
    pruned: int = 3,
) -> Page:
    """Return a page of one beam search: the hypotheses kept, and the best `pruned` ones of each step that were not."""
    text_model = load_text_model(model)
    if not isinstance(text_model, Translator):
        raise InputError(f"search-tree: {text_model.info.kind} does not translate. Give a model that translates.")
    tree = search_tree.build_search_tree(text_model, text, beam=beam, alpha=alpha, max_pruned=pruned)
    title = model_title(text_model)
    panel = {"trees": [search_tree.page_data(title, tree)]}
    return Page(title, {"tree": panel}, [search_tree.sentence_data(tree)])


def load_text_model(model: str | Path | Bundle | AnyTextModel) -> AnyTextModel:
    """Return the model of a run or a bundle; a loaded model as it is."""
    loaded = bundle.load_bundle(Path(model)) if isinstance(model, (str, Path)) else model
    return loaded.text_model() if isinstance(loaded, Bundle) else loaded


def model_title(text_model: AnyTextModel) -> str:
    """Return the name of the run, or the kind of a model that was never saved."""
    folder = text_model.info.run_folder
    return folder.resolve().name if folder else text_model.info.kind or "tongsa"


def model_panels(
    text_model: AnyTextModel,
    examples: Sequence[AttentionExample],
    title: str,
    samples: Sequence[AttentionExample] = (),
) -> dict[str, Any]:
    """Return the panels that a model has for some examples: attention, a search tree of each, positions."""
    panels: dict[str, Any] = {}
    if any(example.weights for example in examples):
        mechanisms = attention_mechanisms(text_model.model)
        panels["attention"] = attention.page_data(title, examples, mechanisms=mechanisms, samples=samples)
    if isinstance(text_model, Translator):
        trees = [search_tree.build_search_tree(text_model, example.text) for example in examples]
        panels["tree"] = {"trees": [search_tree.page_data(title, tree) for tree in trees]}
    return panels | position_panel(text_model)


def attention_examples(text_model: AnyTextModel, texts: Sequence[str]) -> list[AttentionExample]:
    if isinstance(text_model, TextClassifier):
        return [classification_example(*pair) for pair in zip(text_model.classify(texts), texts, strict=True)]
    if isinstance(text_model, TextGenerator):
        return [language_model_example(text_model, text) for text in texts]
    return [translation_example(translate_sentence(text_model, text), text) for text in texts]


def position_panel(text_model: AnyTextModel) -> dict[str, Any]:
    """Return the panel of the positional encodings, which do not depend on a text; empty if there are none."""
    tables = positions.position_encodings(text_model.model)
    return {"positions": positions.page_data(tables)} if tables else {}


def training_panel(folder: Path | None, compare: Sequence[str | Path] = ()) -> dict[str, Any]:
    """Return the panel of the training curves, if the bundle's run still has its journal; `compare` adds other runs."""
    runs = [folder.parent] if folder and (folder.parent / "journal.jsonl").is_file() else []
    if not runs and not compare:
        return {}
    data = curves.page_data(curves.read_curves([*runs, *compare]).journals)
    return {"curves": data} if data["panels"] else {}
