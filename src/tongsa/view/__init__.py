"""What a model looked at and how it learnt, as files that any browser opens without a network."""

from tongsa.view.attention import Reading, page, write_page
from tongsa.view.curves import curves

__all__ = ["Reading", "curves", "page", "write_page"]
