"""Self-contained pages about a model: attention, search tree, positional encodings, training curves.

>>> import tongsa
>>> tongsa.view("runs/demo", "I go home").save("page.html")
"""

from tongsa.visualize.attention import AttentionExample, page_html, write_page
from tongsa.visualize.curves import curves_svg
from tongsa.visualize.page import Page

__all__ = ["AttentionExample", "Page", "curves_svg", "page_html", "write_page"]
