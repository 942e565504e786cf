"""All ways to look into a model and what it makes of some texts, as one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.decoding.classifier import Classifier
from tongsa.decoding.translator import Translator
from tongsa.decoding.writer import Writer
from tongsa.errors import InputError
from tongsa.text import normalise
from tongsa.training import journal
from tongsa.view import attention, positions, search_tree
from tongsa.view.attention import Reading
from tongsa.view.curves import page_data as told_curves
from tongsa.view.document import Page
from tongsa.view.readings import judgement, reading, writing

Reader = Translator | Classifier | Writer


def view(model: str | Path | Bundle | Reader, *texts: str) -> Page:
    """A page for a run, a bundle or what `tongsa.load` gives: attention, the beam's tree, positions, curves.

    A notebook shows what comes back; `.save("page.html")` writes it, as `tongsa view` does.
    """
    if not texts or not all(map(normalise, texts)):
        raise InputError("view: an empty text has nothing to look at; give a sentence")
    loaded = bundle.load(Path(model)) if isinstance(model, (str, Path)) else model
    folder = loaded.folder if isinstance(loaded, Bundle) else None
    reader = loaded.reader() if isinstance(loaded, Bundle) else loaded
    title = f"{Path(model).name}: {texts[0]}" if isinstance(model, (str, Path)) else texts[0]
    panels = panels_of(reader, texts, title) | past(folder)
    if not panels:
        raise InputError(
            f"{model}: nothing to look at: this kind has no attention, no search, and no journal beside it"
        )
    return Page(title, panels)


def panels_of(reader: Reader, texts: Sequence[str], title: str) -> dict[str, Any]:
    """What one model shows of some texts; the tree is that of the first."""
    found: dict[str, Any] = {}
    seen = readings(reader, texts)
    if any(one.weights for one in seen):
        found["attention"] = attention.page_data(title, seen)
    if isinstance(reader, Translator):
        found["tree"] = search_tree.page_data(title, search_tree.searched(reader, texts[0]))
    return found | places(reader)


def readings(reader: Reader, texts: Sequence[str]) -> list[Reading]:
    if isinstance(reader, Classifier):
        return [judgement(*one) for one in zip(reader.classify(texts), texts, strict=True)]
    if isinstance(reader, Writer):
        return [writing(reader, text) for text in texts]
    return [reading(*one) for one in zip(reader.translate(texts), texts, strict=True)]


def places(reader: Reader) -> dict[str, Any]:
    """How the model knows where a piece stands, whatever the text."""
    tables = positions.tables(reader.model)
    return {"positions": positions.page_data(tables)} if tables else {}


def past(folder: Path | None) -> dict[str, Any]:
    """How the model was trained, where its journal is still beside it."""
    place = folder.parent / "journal.jsonl" if folder else None
    records = journal.read(place) if place and place.is_file() else []
    told = told_curves(records)
    return {"curves": told} if told["panels"] else {}
