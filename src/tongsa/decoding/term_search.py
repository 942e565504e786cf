"""Terminology: put glossary terms into a translation, in place of the model's own translation of the source term.

For each sentence with terms:

1. Start from the translation that the search finds without the terms.
2. Align each source term: delete it from the source, and see which word of the translation loses most of its
   log-probability (prediction difference, Li et al. 2019, section 4). This needs no attention, so it works for every
   kind of model.
3. From left to right: keep the translation up to the aligned word, write the term there, and let the model continue.
   A term that the model wrote itself is kept. Align again after each change.
4. A result is rejected if it still has the model's own translation of the source term (translated twice), if it has
   text after the end of the sentence, or if its log-probability is more than `max_term_cost` below that of step 1.
5. If a term was rejected, search once with all terms as lexical constraints (constraints.py). The same checks apply.
   The result is used if it satisfies more terms.
6. A term that is still missing is reported with a reason.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tongsa.data.normalize import SPACE_MARK, normalize
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import OutputConstraints
from tongsa.decoding.glossary import (
    UNSPACED_SCRIPTS,
    Span,
    TermRequirement,
    TermResult,
    count_inner_sentence_ends,
    find_phrase,
    text_before_end,
)
from tongsa.decoding.term_constraints import OutputLimits, TermConstraint, constraint_phrases, term_constraints
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer

MAX_POSITIONS_TRIED = 3
"""Positions in the output that are tried for one term."""
RELATED_LOSS_RATIO = 0.3
"""A word belongs to the translation of a term if it loses this share of what the aligned word loses."""

Tokens = Sequence[int]
Search = Callable[[Sequence[Tokens], Sequence[OutputConstraints]], list[list[Hypothesis]]]
"""Map sources and constraints to n-best lists; a list is empty if no output satisfies the constraints."""
ScoreTokens = Callable[[Sequence[tuple[Tokens, Tokens]]], list[list[float]]]
"""Map pairs of source and target tokens to the log-probability of each target token, EOS last."""


class Word(NamedTuple):
    """A word of an output, with the tokens before it."""

    first_token: int
    end_token: int
    before: str
    """The text before it, with the space between."""
    text: str


@dataclass
class TermOccurrence:
    """One occurrence of a term in a source."""

    requirement: TermRequirement
    span: Span
    done: bool = False
    in_place: bool = False
    reason: str = ""
    own_translation: str = ""
    """The word that the model wrote for it without the glossary."""


@dataclass
class TermSentence:
    """A source text with terms, and its translation so far."""

    source: str
    source_tokens: Tokens
    limits: OutputLimits
    requirements: tuple[TermRequirement, ...]
    hypotheses: list[Hypothesis]
    """N-best list of the search without the terms; afterwards the n-best list with them."""
    prefix: str = ""
    """Beginning of the output that does not change any more: a forced prefix, later the text up to the last term."""
    occurrences: list[TermOccurrence] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """For the text of each term that cannot be enforced: the reason."""

    @property
    def pending(self) -> list[TermOccurrence]:
        return [occurrence for occurrence in self.occurrences if not occurrence.done]

    def skip_all(self, reason: str) -> None:
        """Give a reason why no term is enforced."""
        self.skipped = {requirement.text: reason for requirement in self.requirements}

    def results(self, text: str) -> tuple[TermResult, ...]:
        """Return the result of each term in an output."""
        counted = text_before_end(text, count_inner_sentence_ends(self.source))
        return tuple(self._result(requirement, counted) for requirement in self.requirements)

    def _result(self, requirement: TermRequirement, text: str) -> TermResult:
        ours = [occurrence for occurrence in self.occurrences if occurrence.requirement is requirement]
        count = len(find_phrase(text, requirement.text))
        in_place = sum(occurrence.in_place for occurrence in ours) >= requirement.times <= count
        reasons = [self.skipped.get(requirement.text, ""), *(occurrence.reason for occurrence in ours)]
        reason = next(filter(None, reasons), "") if count < requirement.times else ""
        return TermResult(requirement.term, requirement.text, requirement.times, count, in_place, reason)


class Attempt(NamedTuple):
    """A beginning of an output that ends with a term in place."""

    occurrence: TermOccurrence
    prefix: str


class TermSearch:
    """Search for translations with terms; all sentences take each step together, in one batch."""

    def __init__(
        self,
        config: DecodingConfig,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: Tokenizer,
        search: Search,
        score_tokens: ScoreTokens,
    ) -> None:
        self.max_cost = config.max_term_cost
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.search, self.score_tokens = search, score_tokens

    def run(self, sentences: Sequence[TermSentence]) -> None:
        """Put the terms into the hypotheses of the sentences."""
        free = [sentence.hypotheses for sentence in sentences]
        for sentence in sentences:
            self._list_occurrences(sentence)
        active = list(sentences)
        while active := [sentence for sentence in active if sentence.pending]:
            self._place_next_terms(active)
        self._search_constrained(
            [(sentence, nbest) for sentence, nbest in zip(sentences, free, strict=True) if self._missing(sentence)]
        )

    def _list_occurrences(self, sentence: TermSentence) -> None:
        constraints = self._constraints(sentence)
        for constraint in constraints:
            requirement = constraint.requirement
            if constraint.skipped_reason:
                sentence.skipped[requirement.text] = constraint.skipped_reason
            spans = requirement.spans[: constraint.times] if requirement.term.copied else requirement.spans
            if constraint.times:
                sentence.occurrences += [TermOccurrence(requirement, span) for span in spans]

    def _constraints(self, sentence: TermSentence) -> list[TermConstraint]:
        tokens = self.target_tokenizer.encode_all([requirement.text for requirement in sentence.requirements])
        return term_constraints(sentence.requirements, tokens, sentence.limits)

    def _text(self, hypothesis: Hypothesis) -> str:
        return self.target_tokenizer.decode(hypothesis.tokens)

    def _missing(self, sentence: TermSentence) -> bool:
        results = sentence.results(self._text(sentence.hypotheses[0]))
        return any(not result.satisfied and result.text not in sentence.skipped for result in results)

    # -- in place ------------------------------------------------------------------------------------------------

    def _place_next_terms(self, sentences: Sequence[TermSentence]) -> None:
        """Place the leftmost pending term of each sentence."""
        attempts = [
            (sentence, attempt)
            for sentence, losses in zip(sentences, self._losses(sentences), strict=True)
            for attempt in self._attempts(sentence, losses)
        ]
        if not attempts:
            return
        outputs = self.search(
            [sentence.source_tokens for sentence, _ in attempts],
            [
                OutputConstraints(tuple(tokens), prefix_ends_word=True)
                for tokens in self.target_tokenizer.encode_all([attempt.prefix for _, attempt in attempts])
            ],
        )
        by_sentence: dict[int, list[tuple[Attempt, list[Hypothesis]]]] = {}
        for (sentence, attempt), nbest in zip(attempts, outputs, strict=True):
            by_sentence.setdefault(id(sentence), []).append((attempt, nbest))
        for sentence in sentences:
            if tried := by_sentence.get(id(sentence)):
                self._accept_best(sentence, tried)

    def _losses(self, sentences: Sequence[TermSentence]) -> list[list[list[float]]]:
        """Return what each word of each output loses without each pending term of the source."""
        pairs: list[tuple[Tokens, Tokens]] = []
        for sentence in sentences:
            erased = [
                normalize(sentence.source[: occurrence.span[0]] + sentence.source[occurrence.span[1] :])
                for occurrence in sentence.pending
            ]
            sources = [sentence.source_tokens, *self.source_tokenizer.encode_all(erased)]
            pairs += [(source, sentence.hypotheses[0].tokens) for source in sources]
        scores = iter(self.score_tokens(pairs))
        losses: list[list[list[float]]] = []
        for sentence in sentences:
            words, with_term = self.words(sentence.hypotheses[0].tokens), next(scores)
            per_term = []
            for _ in sentence.pending:
                without_term = next(scores)
                differences = [a - b for a, b in zip(with_term, without_term, strict=True)]
                per_term.append([sum(differences[word.first_token : word.end_token]) for word in words])
            losses.append(per_term)
        return losses

    def words(self, tokens: Tokens) -> list[Word]:
        """Divide an output into words, where a term may begin; in scripts without spaces every token is a word."""
        strings = self.target_tokenizer.token_strings(tokens)
        starts = [i for i in range(len(strings)) if i == 0 or _starts_word(strings[i - 1], strings[i])]
        texts = [self.target_tokenizer.decode(tokens[:i]) for i in [*starts, len(tokens)]]
        words = []
        for (first, end), (before, after) in zip(
            pairwise([*starts, len(tokens)]), pairwise(texts), strict=True
        ):
            space = " " if before and strings[first].startswith(SPACE_MARK) else ""
            words.append(Word(first, end, before + space, after[len(before + space) :]))
        return words

    def _attempts(self, sentence: TermSentence, losses: Sequence[Sequence[float]]) -> list[Attempt]:
        """Return the beginnings to try for the leftmost term; mark terms that the model wrote itself."""
        text = text_before_end(self._text(sentence.hypotheses[0]), count_inner_sentence_ends(sentence.source))
        words = self.words(sentence.hypotheses[0].tokens)
        loss_of = dict(zip(map(id, sentence.pending), losses, strict=True))
        while pending := sentence.pending:
            aligned = [
                (_related_words(words, loss_of[id(occurrence)], len(sentence.prefix)), i)
                for i, occurrence in enumerate(pending)
            ]
            for related, i in aligned:
                if not related:
                    pending[i].done = True
                    pending[i].reason = "no word of the translation depends on it. Write the term by hand."
            aligned = [(related, i) for related, i in aligned if related]
            if not aligned:
                return []
            related, i = min(aligned, key=lambda item: (len(item[0][0].before), item[1]))
            occurrence = pending[i]
            occurrence.own_translation = related[0].text
            written = [
                end
                for start, end in find_phrase(text, occurrence.requirement.text)
                if start >= len(sentence.prefix)
                and any(start < len(word.before) + len(word.text) and len(word.before) < end for word in related)
            ]
            if not written:
                return [*self._beginnings(sentence, occurrence, related)]
            occurrence.done = occurrence.in_place = True
            sentence.prefix = text[: written[0]]
        return []

    def _beginnings(
        self, sentence: TermSentence, occurrence: TermOccurrence, words: Sequence[Word]
    ) -> Iterator[Attempt]:
        for before in dict.fromkeys(word.before for word in words[:MAX_POSITIONS_TRIED]):
            term = occurrence.requirement.text
            if not before.strip() and words[0].text[:1].isupper():
                term = term[:1].upper() + term[1:]
            prefix = before + term
            if len(self.target_tokenizer.encode_all([prefix])[0]) <= sentence.limits.max_length:
                yield Attempt(occurrence, prefix)
        occurrence.done = True
        occurrence.reason = "no room for it. Raise max_extra_tokens (--set decoding.max_extra_tokens=200)."

    def _accept_best(self, sentence: TermSentence, tried: Sequence[tuple[Attempt, list[Hypothesis]]]) -> None:
        occurrence, before = tried[0][0].occurrence, sentence.hypotheses[0]
        reasons = []
        for attempt, nbest in sorted(tried, key=lambda item: -item[1][0].score if item[1] else 0.0):
            reason = self._rejection(sentence, occurrence, before, nbest)
            if not reason:
                sentence.hypotheses, sentence.prefix = nbest, attempt.prefix
                occurrence.in_place, occurrence.reason = True, ""
                return
            reasons.append(reason)
        occurrence.reason = reasons[0]

    def _rejection(
        self, sentence: TermSentence, occurrence: TermOccurrence, before: Hypothesis, nbest: Sequence[Hypothesis]
    ) -> str:
        """Return why an output with a term is worse than none, and what to do; empty if it is good."""
        if not nbest:
            return "no output satisfies it together with the other settings. Set no_repeat_ngram to 0."
        old, new = self._text(before), self._text(nbest[0])
        own = _stem(occurrence.own_translation)
        if own and own not in occurrence.requirement.text and _count(new, own) >= _count(old, own):
            return (
                f'the model also writes its own translation "{occurrence.own_translation}". '
                "Use that, or train a model with data.term_replacement."
            )
        ends = max(count_inner_sentence_ends(sentence.source), count_inner_sentence_ends(old))
        if count_inner_sentence_ends(new) > ends:
            return "the model writes it after the end of the sentence. Train a model with data.term_replacement."
        cost = before.log_prob - nbest[0].log_prob
        if cost > self.max_cost:
            return (
                f"the translation with it has log-probability {nbest[0].log_prob:.1f}, without it {before.log_prob:.1f}; "
                f"at most {self.max_cost:g} less is allowed. Raise max_term_cost (--set decoding.max_term_cost="
                f"{int(cost) + 1})."
            )
        return ""

    # -- lexical constraints -------------------------------------------------------------------------------------

    def _search_constrained(self, items: Sequence[tuple[TermSentence, list[Hypothesis]]]) -> None:
        """Search with all terms as constraints where terms are missing."""
        if not items:
            return
        outputs = self.search(
            [sentence.source_tokens for sentence, _ in items],
            [
                OutputConstraints(
                    tuple(sentence.limits.prefix),
                    constraint_phrases(self._constraints(sentence)),
                    count_inner_sentence_ends(sentence.source),
                )
                for sentence, _ in items
            ],
        )
        for (sentence, free), nbest in zip(items, outputs, strict=True):
            if nbest and self._is_better(sentence, free[0], nbest):
                sentence.hypotheses = nbest
                for occurrence in sentence.occurrences:
                    occurrence.in_place = False

    def _is_better(self, sentence: TermSentence, free: Hypothesis, nbest: list[Hypothesis]) -> bool:
        old, new = (
            sum(result.satisfied for result in sentence.results(self._text(hypothesis)))
            for hypothesis in (sentence.hypotheses[0], nbest[0])
        )
        terms = len({id(occurrence.requirement) for occurrence in sentence.occurrences})
        return (
            new > old
            and free.log_prob - nbest[0].log_prob <= terms * self.max_cost
            and not any(
                self._rejection(sentence, occurrence, free, nbest)
                for occurrence in sentence.occurrences
                if occurrence.reason
            )
        )


def _related_words(words: Sequence[Word], losses: Sequence[float], min_start: int) -> list[Word]:
    """Return the words that depend on a source term: the one that loses most, then the others, from the left."""
    candidates = [
        (loss, word)
        for word, loss in zip(words, losses, strict=True)
        if len(word.before) >= min_start and re.search(r"\w", word.text)
    ]
    if not candidates:
        return []
    most, aligned = max(candidates, key=lambda item: item[0])
    if most <= 0:
        return []
    others = [word for loss, word in candidates if loss >= RELATED_LOSS_RATIO * most and word is not aligned]
    return [aligned, *others]


def _starts_word(previous: str, token: str) -> bool:
    if token.startswith(SPACE_MARK):
        return True
    if previous == SPACE_MARK:
        return False
    return bool(re.match(rf"[\W{UNSPACED_SCRIPTS}]", token) or re.search(r"\W$", previous))


def _stem(word: str) -> str:
    """Return a word without punctuation; a Korean word without what may be particles."""
    letters = re.sub(r"^\W+|\W+$", "", word)
    return letters[: max(2, len(letters) - 2)] if re.fullmatch(r"[가-힣]{3,}", letters) else letters


def _count(text: str, word: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}" + ("" if re.search(r"[가-힣]$", word) else r"(?!\w)"), text))
