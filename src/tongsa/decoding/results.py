"""Results of decoding: a translation with its scores, n-best list, terms, attention and word alignment.

The translation of a text of several sentences is the joined translation of its sentences (`join_translations`). Its
tokens have </s> between the sentences, so that one log-probability belongs to each token and to the last </s>. A stop
that was added to a sentence (`complete_sentences`) is part of its text, but of no token.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import fmean
from typing import Any

import numpy as np

from tongsa.data.normalize import normalize
from tongsa.decoding.documents import Document
from tongsa.decoding.glossary import TermResult
from tongsa.decoding.text_model import Matrix, mean_alignment
from tongsa.errors import InputError
from tongsa.tokenization.words import word_alignment

EOS_STRING = "</s>"

AttentionFunction = Callable[[tuple[int, ...], tuple[int, ...]], dict[str, list[Matrix]]]
"""Map the token ids of a source and of its output to attention weights, by role."""
ScoreFunction = Callable[[tuple[int, ...], tuple[int, ...]], list[float]]
"""Map the token ids of a source and of its output to the log-probability of each output token."""


@dataclass(frozen=True)
class Translation:
    """A translation of one text: of one sentence, or of several in `sentences`."""

    text: str
    score: float
    """Log-probability after rules and length normalization, which decides the order of hypotheses.

    For several sentences the mean of their scores.
    """
    log_prob: float
    """log p(text | source): the sum over the tokens."""
    tokens: tuple[str, ...]
    source_tokens: tuple[str, ...]
    terms: tuple[TermResult, ...] = ()
    """Result of each glossary term that occurs in the source."""
    truncated: bool = False
    """The source was longer than the model can read; only its beginning was translated."""
    alternatives: tuple["Translation", ...] = ()
    """The n-best list after this translation, best first; of several sentences all have the same rank."""
    source: str = ""
    tag: str = ""
    """Tag before the source, such as <2ko>: the first of the source tokens, but no part of `source`."""
    start: int = 0
    """Position of the source in the text that it is a sentence of, in characters."""
    target_start: int = 0
    """Position of the translation in the translated text."""
    final_punctuation: str = ""
    """The stop of the source sentence that the model did not write.

    In a text of several sentences it is the end of `text`; to a single sentence it is not added.
    """
    unseen_words: tuple[str, ...] = ()
    """Words of the source that do not occur in the training data."""
    low_score: bool = False
    """The output is empty, or the model finds it less probable than nearly all outputs for the dev set."""
    longer_than_training: bool = False
    """The source is much longer than any source of the training data."""
    _sentences: tuple["Translation", ...] | None = field(default=None, repr=False)
    _token_ids: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    _token_log_probs: tuple[float, ...] = field(default=(), repr=False)
    _score_fn: ScoreFunction | None = field(default=None, repr=False, compare=False)
    _attention_fn: AttentionFunction | None = field(default=None, repr=False, compare=False)

    @property
    def sentences(self) -> tuple["Translation", ...]:
        """The translated sentences in order, with their positions in both texts."""
        return (self,) if self._sentences is None else self._sentences

    @property
    def end(self) -> int:
        """Position after the last character of the source."""
        return self.start + len(self.source)

    @property
    def target_end(self) -> int:
        """Position after the last character of the translation."""
        return self.target_start + len(self.text)

    @property
    def is_empty(self) -> bool:
        """The model wrote nothing for a source that has tokens."""
        return bool(self.source_tokens) and not self.text

    @property
    def mean_log_prob(self) -> float:
        """Mean log-probability per token, EOS included."""
        return self.log_prob / (len(self.tokens) + 1)

    @property
    def nbest(self) -> tuple["Translation", ...]:
        """The n-best list, best first: this translation and its alternatives."""
        return (self, *self.alternatives)

    @property
    def num_satisfied_terms(self) -> int:
        return sum(term.satisfied for term in self.terms)

    @property
    def satisfies_terms(self) -> bool:
        return self.num_satisfied_terms == len(self.terms)

    @property
    def token_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ids of the source tokens and of the output tokens of one sentence, both without EOS."""
        return self._token_ids

    @property
    def token_log_probs(self) -> tuple[float, ...]:
        """Log-probability of each token, EOS last."""
        if self._sentences is not None:
            return tuple(chain.from_iterable(sentence.token_log_probs for sentence in self._sentences))
        if self._token_log_probs or self._score_fn is None:
            return self._token_log_probs
        return tuple(self._score_fn(*self._token_ids))  # CTranslate2 returns only their sum

    @property
    def alignment(self) -> Matrix:  # (target token and EOS, source token and EOS)
        """Cross-attention of each output token to each source token: the mean over layers and heads."""
        if self._sentences is not None:
            return _block_diagonal([sentence.alignment for sentence in self._sentences if sentence.source_tokens])
        return mean_alignment(self.attention)

    @property
    def word_alignment(self) -> list[tuple[int, int]]:
        """For each output word the source word with the most attention: pairs (source, target), counted from 0."""
        if self._sentences is not None:
            return [
                (
                    source + _words_before(self.source, sentence.start),
                    target + _words_before(self.text, sentence.target_start),
                )
                for sentence in self._sentences
                for source, target in sentence.word_alignment
            ]
        if not self.tokens:
            return []
        return self.align_words(self.alignment)

    def align_words(self, alignment: Matrix) -> list[tuple[int, int]]:
        """Return the word alignment of one sentence from its alignment, if that is known already."""
        links = word_alignment(alignment[:-1, :-1].astype(np.float64), self.tokens, self.source_tokens)
        return [(source - 1, target) for source, target in links if source] if self.tag else links

    def without_tag(self, tag: str) -> "Translation":
        """Return the translation of the source after its tag, and its alternatives."""
        if not tag:
            return self
        alternatives = tuple(replace(other, tag=tag) for other in self.alternatives)
        return replace(self, source=self.source.removeprefix(f"{tag} "), tag=tag, alternatives=alternatives)

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Attention weights (head, query, key) of each layer, by role: "encoder", "decoder", "cross"."""
        if self._sentences is not None and len(self._sentences) == 1:
            return self._sentences[0].attention
        if self._sentences:
            raise InputError(
                f"attention: a text of {len(self._sentences)} sentences. Give one sentence, or read the attention of "
                "each of `sentences`."
            )
        if self._attention_fn is None:
            raise InputError(
                "attention: this translation was made without a model. Translate the text with a Translator."
            )
        return self._attention_fn(*self._token_ids)

    @property
    def hypothesis_record(self) -> dict[str, Any]:
        """The hypothesis for JSON, without the fields that all hypotheses of the text share."""
        return {
            "text": self.text,
            "score": self.score,
            "log_prob": self.log_prob,
            "tokens": list(self.tokens),
            "token_log_probs": list(self.token_log_probs),
        }

    @property
    def record(self) -> dict[str, Any]:
        """The translation for JSON, with its n-best list."""
        nbest = [hypothesis.hypothesis_record for hypothesis in self.nbest]
        return (
            nbest[0]
            | {
                "source_tokens": list(self.source_tokens),
                "truncated": self.truncated,
                "terms": [term.record for term in self.terms],
                "nbest": nbest,
                "sentences": [sentence.sentence_record for sentence in self.sentences],
            }
            | self.input_warnings
        )

    @property
    def sentence_record(self) -> dict[str, Any]:
        """A sentence of a text for JSON; positions are counted in characters."""
        return {
            "source": self.source,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "target_start": self.target_start,
            "target_end": self.target_end,
            "final_punctuation": self.final_punctuation,
            "score": self.score,
            "log_prob": self.log_prob,
            "truncated": self.truncated,
        } | self.input_warnings

    @property
    def input_warnings(self) -> dict[str, Any]:
        """The fields that compare the input with the training data, for JSON."""
        return {
            "unseen_words": list(self.unseen_words),
            "low_score": self.low_score,
            "longer_than_training": self.longer_than_training,
        }


def complete_sentences(document: Document, translations: Sequence[Translation]) -> list[Translation]:
    """Return the translations of the sentences of a text with the stops that the model did not write."""

    def complete(i: int, hypothesis: Translation) -> Translation:
        return replace(
            hypothesis,
            text=document.complete(i, hypothesis.text),
            final_punctuation=document.final_punctuation(i, hypothesis.text),
            alternatives=tuple(complete(i, alternative) for alternative in hypothesis.alternatives),
        )

    return [complete(i, translation) for i, translation in enumerate(translations)]


def join_translations(document: Document, translations: Sequence[Translation]) -> Translation:
    """Return the translation of a text from the translations of its sentences."""
    if document.is_one_sentence:
        return translations[0]
    joined = _join(document, translations)
    ranks = max((len(translation.nbest) for translation in translations), default=1)
    alternatives = tuple(
        _join(document, [translation.nbest[min(rank, len(translation.nbest) - 1)] for translation in translations])
        for rank in range(1, ranks)
    )
    return replace(joined, alternatives=alternatives)


def _join(document: Document, translations: Sequence[Translation]) -> Translation:
    outputs = [translation.text for translation in translations]
    positions = zip(document.spans, document.target_starts(outputs), strict=True)
    sentences = tuple(
        replace(translation, start=span.start, target_start=target_start)
        for translation, (span, target_start) in zip(translations, positions, strict=True)
    )
    decoded = [sentence for sentence in sentences if sentence.source_tokens]  # one of control characters has no tokens
    return Translation(
        text=document.join(outputs),
        score=fmean([sentence.score for sentence in sentences]) if sentences else 0.0,
        log_prob=sum(sentence.log_prob for sentence in sentences),
        tokens=_join_tokens(sentence.tokens for sentence in decoded),
        source_tokens=_join_tokens(sentence.source_tokens for sentence in decoded),
        terms=tuple(chain.from_iterable(sentence.terms for sentence in sentences)),
        truncated=any(sentence.truncated for sentence in sentences),
        source=document.text,
        unseen_words=tuple(dict.fromkeys(chain.from_iterable(sentence.unseen_words for sentence in sentences))),
        low_score=any(sentence.low_score for sentence in sentences),
        longer_than_training=any(sentence.longer_than_training for sentence in sentences),
        _sentences=sentences,
    )


def _join_tokens(tokens_per_sentence: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Join the tokens of sentences, with </s> between two of them."""
    joined: tuple[str, ...] = ()
    for i, tokens in enumerate(tokens_per_sentence):
        joined += ((EOS_STRING,) if i else ()) + tokens
    return joined


def _words_before(text: str, position: int) -> int:
    """Return the index of the word at a position. A sentence may start inside a word: white space is not required."""
    return len(normalize(text[:position] + "x").split()) - 1


def _block_diagonal(matrices: Sequence[Matrix]) -> Matrix:
    rows, columns = (sum(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    joined: Matrix = np.zeros((rows, columns), dtype=np.float32)
    row = column = 0
    for matrix in matrices:
        height, width = matrix.shape
        joined[row : row + height, column : column + width] = matrix
        row, column = row + height, column + width
    return joined
