"""Alignment of glossary terms with words of an output, by prediction difference (Li et al. 2019, section 4).

A source term is deleted, and the output is scored again. The word that loses most of its log-probability translates
the term. This needs no attention, so it works for every kind of model.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tongsa.data.normalize import SPACE_MARK, normalize
from tongsa.decoding.glossary import UNSPACED_LETTERS
from tongsa.decoding.term_sentence import TermSentence
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer

RELATED_LOSS_RATIO = 0.3
"""A word belongs to the translation of a term if it loses this share of what the aligned word loses."""

Tokens = Sequence[int]
ScoreTokens = Callable[[Sequence[tuple[Tokens, Tokens]]], list[list[float]]]
"""Map pairs of source and target tokens to the log-probability of each target token, EOS last."""


class Word(NamedTuple):
    """A word of an output, with the tokens before it."""

    first_token: int
    end_token: int
    before: str
    """The text before it, with the space between."""
    text: str

    def is_same(self, other: "Word", min_start: int) -> bool:
        """Return whether the word is equal to another and stands after `min_start` characters."""
        return self.text == other.text and len(self.before) >= min_start

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether the word shares characters with a part of the output."""
        return start < len(self.before) + len(self.text) and len(self.before) < end


def group_into_words(tokens: Tokens, tokenizer: Tokenizer) -> list[Word]:
    """Divide an output into words, where a term may begin; in scripts without spaces every token is a word."""
    strings = tokenizer.token_strings(tokens)
    starts = [i for i in range(len(strings)) if i == 0 or _starts_word(strings[i - 1], strings[i])]
    texts = tokenizer.decode_all(tokens[:i] for i in [*starts, len(tokens)])
    words = []
    for (first, end), (before, after) in zip(pairwise([*starts, len(tokens)]), pairwise(texts), strict=True):
        space = " " if before and strings[first].startswith(SPACE_MARK) else ""
        words.append(Word(first, end, before + space, after[len(before + space) :]))
    return words


def prediction_differences(
    sentences: Sequence[TermSentence],
    source_tokenizer: SubwordTokenizer,
    target_tokenizer: Tokenizer,
    score_tokens: ScoreTokens,
) -> list[list[list[float]]]:
    """Return what each word of each output loses without each pending term of the source."""
    pairs: list[tuple[Tokens, Tokens]] = []
    for sentence in sentences:
        erased = [
            normalize(sentence.source[: occurrence.span[0]] + sentence.source[occurrence.span[1] :])
            for occurrence in sentence.pending
        ]
        sources = [sentence.source_tokens, *source_tokenizer.encode_all(erased)]
        length = len(sentence.source_tokens)  # of a truncated source the model reads no more
        pairs += [(source[:length], sentence.hypotheses[0].tokens) for source in sources]
    scores = iter(score_tokens(pairs))
    losses: list[list[list[float]]] = []
    for sentence in sentences:
        words, with_term = group_into_words(sentence.hypotheses[0].tokens, target_tokenizer), next(scores)
        per_term = []
        for _ in sentence.pending:
            without_term = next(scores)
            differences = [a - b for a, b in zip(with_term, without_term, strict=True)]
            per_term.append([sum(differences[word.first_token : word.end_token]) for word in words])
        losses.append(per_term)
    return losses


def related_words(words: Sequence[Word], losses: Sequence[float], sentence: TermSentence, end: int) -> list[Word]:
    """Return the words that depend on a source term, the one that loses most first.

    They stand after the fixed prefix, and before the end of the sentence at character `end`.
    """
    losing = [
        (loss, i)
        for i, (word, loss) in enumerate(zip(words, losses, strict=True))
        # a placed term may be so unlikely that its loss means nothing
        if re.search(r"\w", word.text) and not any(word.overlaps(*span) for span in sentence.placed)
    ]
    max_loss = max((loss for loss, _ in losing), default=0.0)
    related = [(loss, i) for loss, i in losing if loss > 0 and loss >= RELATED_LOSS_RATIO * max_loss]
    return [words[i] for _, i in sorted(related, reverse=True) if len(sentence.prefix) <= len(words[i].before) < end]


def _starts_word(previous: str, token: str) -> bool:
    if token.startswith(SPACE_MARK):
        return True
    if previous == SPACE_MARK:
        return False
    return bool(re.match(rf"[\W{UNSPACED_LETTERS}]", token) or re.search(r"\W$", previous))
