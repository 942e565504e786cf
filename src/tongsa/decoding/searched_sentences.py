"""Sentences between search and translation: n-best lists of tokens with what is needed to make texts of them.

A translator searches (`Translator.search`) and then makes translations (`Translator.finish`). The server does both at
the same time, for different batches.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tongsa.data.normalize import normalize
from tongsa.decoding.batches import EncodedTexts
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.glossary import TermRequirement, has_text_after_end
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.term_sentence import TermSentence


class SearchedSentences(NamedTuple):
    texts: Sequence[str]
    request: DecodeRequest
    """With the words that are copied as terms of its glossary."""
    read_texts: Sequence[str]
    """Texts that the encoder reads, some with terms of the glossary in place."""
    requirements: Mapping[int, tuple[TermRequirement, ...]]
    """Terms that each output must contain; empty without a glossary."""
    encoded: EncodedTexts
    nbest_lists: Mapping[int, list[Hypothesis]]
    """Hypotheses of each text that is not empty, best first, by the index of the text."""

    @property
    def needs_term_search(self) -> bool:
        """Making translations searches again, for the terms of a glossary."""
        return bool(self.request.glossary)

    def term_sentences(self) -> dict[int, TermSentence]:
        """Return the sentences with terms, by index."""
        prefixes = self.request.prefixes
        return {
            i: TermSentence(
                self.read_texts[i],
                self.encoded.source(i).tolist(),
                self.encoded.max_lengths[i],
                self.requirements[i],
                self.nbest_lists[i],
                normalize(prefixes[i]) if prefixes else "",
            )
            for i in sorted(self.requirements.keys() & self.nbest_lists.keys())
            if self.requirements[i]
        }


def find_missed_terms(translations: Sequence[Translation], texts: Sequence[str]) -> list[int]:
    """Return the indices of the translations that lack a term, or have text after the end."""
    return [
        i
        for i, translation in enumerate(translations)
        if translation.terms and term_quality(translation, texts[i]) < (True, len(translation.terms))
    ]


def term_quality(translation: Translation, text: str) -> tuple[bool, int]:
    return not has_text_after_end(translation.text, text), translation.num_satisfied_terms
