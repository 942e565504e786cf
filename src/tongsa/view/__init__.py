"""What a model looked at and how it learnt, as files that any browser opens without a network.

>>> import tongsa
>>> tongsa.view("runs/demo", "I go home").save("page.html")
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tongsa.view.attention import Reading, page, write_page
from tongsa.view.curves import curves
from tongsa.view.document import Page

if TYPE_CHECKING:
    from tongsa.bundle import Bundle
    from tongsa.view.panels import Reader

__all__ = ["Page", "Reading", "curves", "page", "write_page"]


class _View(ModuleType):
    """The package can be called: `tongsa.view(…)` is the verb, `tongsa.view.curves` a part of it."""

    def __call__(self, model: "str | Path | Bundle | Reader", *texts: str) -> Page:
        """All ways to look into a model and what it makes of some texts, as a page that a notebook shows."""
        from tongsa.view.panels import view

        return view(model, *texts)


sys.modules[__name__].__class__ = _View
