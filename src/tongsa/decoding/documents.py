"""Texts of any number of sentences: split for the model, and joined again with the white space of the source.

In a text of several sentences, one whose source ends with a stop and whose output has none gets the stop. The output
for a single sentence stays what the model wrote.

Command line, Python and server share this file, so they give the same sentences. No torch: the server imports it
before the models are loaded.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from tongsa.data.sentence_splitter import CLOSING_PUNCTUATION, STOPS, Span, split_in_half, split_lines
from tongsa.data.unicode_scripts import script_counts
from tongsa.errors import InputError

MAX_SENTENCE_TOKENS = 256
"""A longer sentence is translated in parts, because time grows quadratically with the length."""
_CLOSING = CLOSING_PUNCTUATION.replace("\\", "")
_FULLWIDTH = str.maketrans(".?!", "。？！")
_LIKE_LETTERS = "%‰&#@*/⁇"
"""Punctuation in Unicode that ends no sentence; ⁇ is how the tokenizer writes an unknown token."""


class DocumentError(InputError):
    """A text that cannot be decoded as requested, with its index from 0 and the reason."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"text {index + 1}: {reason}")
        self.index, self.reason = index, reason


class Document(NamedTuple):
    """A text and the spans of its sentences. Between the spans is only white space."""

    text: str
    spans: Sequence[Span]
    unfinished_ends: frozenset[int] = frozenset()
    """Ends of spans that may not be the end of a sentence: where a long one was split, and of lines."""

    @classmethod
    def of_lines(cls, text: str) -> Self:
        """Return a text whose lines are decoded as they are, each of one or several sentences."""
        spans = split_lines(text)
        return cls(text, spans, frozenset(span.end for span in spans))

    @property
    def sentences(self) -> list[str]:
        return [self.text[slice(*span)] for span in self.spans]

    @property
    def is_one_sentence(self) -> bool:
        """True if the whole text is one sentence, without white space around it."""
        return list(self.spans) == [(0, len(self.text))]

    def split_to_fit(self, fit: Callable[[Sequence[str]], Sequence[bool]]) -> Self:
        """Split sentences that do not fit into parts that do; `fit` tells which of some texts fit. Nothing is lost."""
        parts_per_sentence = [
            [span] if fits else _split_span(self.text, span, fit)
            for span, fits in zip(self.spans, fit(self.sentences), strict=True)
        ]
        inner_ends = {part.end for parts in parts_per_sentence for part in parts[:-1]}
        spans = [part for parts in parts_per_sentence for part in parts]
        return self._replace(spans=spans, unfinished_ends=self.unfinished_ends | inner_ends)

    def spans_with_space(self) -> Iterator[tuple[Span, str]]:
        """Yield the span of each sentence and the white space before it."""
        end = 0
        for span in self.spans:
            yield span, self.text[end : span.start]
            end = span.end

    def final_punctuation(self, i: int, output: str) -> str:
        """Return the stop that sentence `i` has and its output lacks; "" if it lacks none."""
        span = self.spans[i]
        return "" if span.end in self.unfinished_ends else missing_stop(self.text[slice(*span)], output)

    def complete(self, i: int, output: str) -> str:
        """Return the output of sentence `i`, in a text of several sentences with the stop that it lacks."""
        return output + self.final_punctuation(i, output) if len(self.spans) > 1 else output

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


def _split_span(text: str, span: Span, fit: Callable[[Sequence[str]], Sequence[bool]]) -> list[Span]:
    """Split a sentence that is too long in halves until all parts fit; a single character is not split."""
    if span.end - span.start < 2:
        return [span]
    halves = [half for half in split_in_half(text, span) if half.end > half.start]
    return [
        part
        for half, fits in zip(halves, fit([text[slice(*half)] for half in halves]), strict=True)
        for part in ([half] if fits else _split_span(text, half, fit))
    ]


def missing_stop(source: str, output: str) -> str:
    """Return the stop at the end of a source, in the form of the output's script, if the output ends without one."""
    body = source.rstrip(_CLOSING)
    stops = body[len(body.rstrip(STOPS)) :]
    end = output.rstrip().rstrip(_CLOSING)[-1:]
    if not stops or not end or (unicodedata.category(end).startswith("P") and end not in _LIKE_LETTERS):
        return ""
    if set(stops) & {"?", "？"}:
        stop = "?"
    elif set(stops) & {"!", "！"}:
        stop = "!"
    else:
        stop = "." if stops in (".", "。") else "…"
    return stop.translate(_FULLWIDTH) if _is_han_or_kana(output) else stop


def _is_han_or_kana(text: str) -> bool:
    """Return whether most letters of a text are Chinese or Japanese, whose stops are as wide as letters."""
    return [script for script, _ in script_counts(text).most_common(1)] == ["HAN/KANA"]


def require_one_sentence(documents: Sequence[Document]) -> None:
    """Raise DocumentError for the first text of several sentences: a forced prefix begins one sentence."""
    for i, document in enumerate(documents):
        if len(document.spans) > 1:
            raise DocumentError(
                i,
                f"{len(document.spans)} sentences, but a prefix needs one. Give one sentence, or take the text as one: "
                "--no-split, in Python split_sentences=False.",
            )
