"""Texts of any number of sentences: split for the model, and joined again with the white space of the source.

Command line, Python and server share this file, so they give the same sentences. No torch: the server imports it
before the models are loaded.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from tongsa.data.sentence_splitter import Span, split_in_half
from tongsa.errors import InputError

MAX_SENTENCE_TOKENS = 256
"""A longer sentence is translated in parts, because time grows quadratically with the length."""


class DocumentError(InputError):
    """A text that cannot be decoded as requested, with its index from 0 and the reason."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"text {index + 1}: {reason}")
        self.index, self.reason = index, reason


class Document(NamedTuple):
    """A text and the spans of its sentences. Between the spans is only white space."""

    text: str
    spans: Sequence[Span]

    @property
    def sentences(self) -> list[str]:
        return [self.text[slice(*span)] for span in self.spans]

    @property
    def is_one_sentence(self) -> bool:
        """True if the whole text is one sentence, without white space around it."""
        return list(self.spans) == [(0, len(self.text))]

    def split_to_fit(self, fits: Callable[[str], bool]) -> Self:
        """Split sentences that do not fit into parts that do. Nothing is lost."""
        spans = [part for span in self.spans for part in _split_span(self.text, span, fits)]
        return self._replace(spans=spans)

    def spans_with_space(self) -> Iterator[tuple[Span, str]]:
        """Yield the span of each sentence and the white space before it."""
        end = 0
        for span in self.spans:
            yield span, self.text[end : span.start]
            end = span.end

    def join(self, outputs: Sequence[str]) -> str:
        """Return the outputs of the sentences with the white space of the source between them."""
        parts = [space + output for (_, space), output in zip(self.spans_with_space(), outputs, strict=True)]
        return "".join(parts) + self.text[self.spans[-1].end if self.spans else 0 :]

    def target_starts(self, outputs: Sequence[str]) -> list[int]:
        """Return the position of each output in the joined text."""
        starts, end = [], 0
        for (_, space), output in zip(self.spans_with_space(), outputs, strict=True):
            starts.append(end + len(space))
            end = starts[-1] + len(output)
        return starts


def _split_span(text: str, span: Span, fits: Callable[[str], bool]) -> list[Span]:
    """Split a sentence that is too long in halves until all parts fit; a single character is not split."""
    if span.end - span.start < 2 or fits(text[slice(*span)]):
        return [span]
    return [
        part for half in split_in_half(text, span) if half.end > half.start for part in _split_span(text, half, fits)
    ]


def require_one_sentence(documents: Sequence[Document]) -> None:
    """Raise DocumentError for the first text of several sentences: a forced prefix begins one sentence."""
    for i, document in enumerate(documents):
        if len(document.spans) > 1:
            raise DocumentError(
                i,
                f"{len(document.spans)} sentences, but a prefix needs one. Give one sentence, or take the text as one: "
                "--no-split, in Python split_sentences=False.",
            )
