"""Terminology: put glossary terms into a translation, in place of the model's own translation of the source term.

For each sentence with terms:

1. Start from the translation that the search finds without the terms.
2. Align each source term with the word that translates it (term_alignment.py).
3. From left to right, replace the aligned word by the term. If the rest of the translation becomes less likely, also
   let the model continue after the term, and take the result with the more likely rest. A term that the model wrote
   itself is kept. Align again after each change.
4. A result is rejected if it still has the model's own translation of the source term (translated twice), if it has
   text after the end of the sentence, if it leaves out or repeats much of the rest, or if the log-probability of its
   tokens outside the term is more than `max_term_cost` below that of the translation before.
5. If no result is left, let the model continue, and forbid its own translation.
6. A term without a result is left out and reported with the reason.

Placing terms by alignment is better than lexical constraints anywhere in the output (Post and Vilar 2018): these may be
satisfied beside the model's own translation, or after the end of the sentence.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import OutputConstraints
from tongsa.decoding.glossary import count_inner_sentence_ends, find_phrase, text_before_end
from tongsa.decoding.term_alignment import (
    ScoreTokens,
    Tokens,
    Word,
    group_into_words,
    prediction_differences,
    related_words,
)
from tongsa.decoding.term_sentence import TermOccurrence, TermSentence
from tongsa.tokenization.special import UNK
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer

MAX_COST_WITHOUT_SEARCH = 1.0
"""The model continues after a term only if replacing the aligned word costs more than this (nats)."""

MIN_LENGTH_RATIO = 0.6
"""The text after a term may not become shorter or longer than this ratio, in characters."""

Search = Callable[[Sequence[Tokens], Sequence[OutputConstraints]], list[list[Hypothesis]]]
"""Map sources and constraints to n-best lists; a list is empty if no output satisfies the constraints."""


class Attempt(NamedTuple):
    """A term in place of a word of the output."""

    sentence: TermSentence
    occurrence: TermOccurrence
    before: str
    """The output before the term."""
    term: str
    """The required text, with a capital letter at the beginning of the output."""
    after: str
    """The output after the word that is replaced."""
    own_translation: str
    """The replaced word: the model's own translation of the source term."""

    @property
    def prefix(self) -> str:
        return self.before + self.term


class Outcome(NamedTuple):
    """An output with a term."""

    attempt: Attempt
    nbest: list[Hypothesis]
    cost: float
    """Log-probability that the output loses outside the term."""
    rejection: str
    """Why the output is worse than one without the term, and what to do; empty if it is good."""


class TermSearch:
    """Search for translations with terms; all sentences take each step together, in one batch."""

    def __init__(
        self,
        config: DecodingConfig,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: Tokenizer,
        search: Search,
        score_tokens: ScoreTokens,
        *,
        nbest: int,
        always_search: bool,
    ) -> None:
        """With `always_search` the model continues after each term, because rules of the search must be followed."""
        self.config, self.nbest, self.always_search = config, nbest, always_search
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.search, self.score_tokens = search, score_tokens

    def run(self, sentences: Sequence[TermSentence]) -> None:
        """Put the terms into the hypotheses of the sentences."""
        for sentence in sentences:
            self._list_occurrences(sentence)
        while active := [sentence for sentence in sentences if sentence.pending]:
            self._place_next_terms(active)
        if self.nbest > 1:
            self._add_alternatives([sentence for sentence in sentences if sentence.changed])

    def _add_alternatives(self, sentences: Sequence[TermSentence]) -> None:
        """Complete the n-best lists with other continuations after the last term."""
        if not sentences:
            return
        prefixes = self.target_tokenizer.encode_all([sentence.prefix for sentence in sentences])
        outputs = self.search(
            [sentence.source_tokens for sentence in sentences],
            [OutputConstraints(tuple(prefix), prefix_ends_word=True) for prefix in prefixes],
        )
        for sentence, continuations in zip(sentences, outputs, strict=True):
            best = sentence.hypotheses[0]
            others = [hypothesis for hypothesis in continuations if hypothesis.tokens != best.tokens]
            sentence.hypotheses = [best, *others][: self.nbest]

    def _list_occurrences(self, sentence: TermSentence) -> None:
        for requirement in sentence.requirements:
            if UNK in self.target_tokenizer.encode_all([requirement.text])[0]:
                sentence.skipped[requirement.text] = "the tokenizer cannot encode it. Change its spelling."
            else:
                sentence.occurrences += [TermOccurrence(requirement, span) for span in requirement.spans]

    def _text(self, hypothesis: Hypothesis) -> str:
        return self.target_tokenizer.decode(hypothesis.tokens)

    def _place_next_terms(self, sentences: Sequence[TermSentence]) -> None:
        """Place the leftmost pending term of each sentence."""
        losses = prediction_differences(sentences, self.source_tokenizer, self.target_tokenizer, self.score_tokens)
        attempts = [*filter(None, map(self._next_attempt, sentences, losses))]
        outcomes: dict[int, list[Outcome]] = {id(attempt): [] for attempt in attempts}

        def collect(new_outcomes: Iterable[Outcome]) -> None:
            for outcome in new_outcomes:
                outcomes[id(outcome.attempt)].append(outcome)

        def attempts_without_result(max_cost: float) -> list[Attempt]:
            """Return the attempts that have no accepted output with at most this cost."""
            return [
                attempt
                for attempt in attempts
                if not any(not outcome.rejection and outcome.cost <= max_cost for outcome in outcomes[id(attempt)])
            ]

        if not self.always_search:
            collect(self._substitute(attempts))
        collect(self._continue(attempts_without_result(MAX_COST_WITHOUT_SEARCH), forbid_own=False))
        collect(self._continue(attempts_without_result(float("inf")), forbid_own=True))
        for attempt in attempts:
            self._accept_best(outcomes[id(attempt)])

    def _substitute(self, attempts: Sequence[Attempt]) -> Iterator[Outcome]:
        """Replace the aligned words and keep the rest of the outputs."""
        texts = [attempt.prefix + attempt.after for attempt in attempts]
        tokens = dict(zip(map(id, attempts), self.target_tokenizer.encode_all(texts), strict=True))
        short = [attempt for attempt in attempts if len(tokens[id(attempt)]) <= attempt.sentence.max_length]
        scores = self.score_tokens([(attempt.sentence.source_tokens, tokens[id(attempt)]) for attempt in short])
        for attempt, log_probs in zip(short, scores, strict=True):
            total = sum(log_probs)
            score = total / self.config.length_penalty(len(log_probs))
            yield self._check_output(attempt, [Hypothesis(tokens[id(attempt)], total, score, log_probs)])

    def _continue(self, attempts: Sequence[Attempt], *, forbid_own: bool) -> list[Outcome]:
        """Let the model continue after the terms."""
        if not attempts:
            return []
        prefixes = self.target_tokenizer.encode_all([attempt.prefix for attempt in attempts])
        own_words = self.target_tokenizer.encode_all([attempt.own_translation for attempt in attempts])
        outputs = self.search(
            [attempt.sentence.source_tokens for attempt in attempts],
            [
                OutputConstraints(tuple(prefix), True, (tuple(tokens),) if forbid_own and tokens else ())
                for prefix, tokens in zip(prefixes, own_words, strict=True)
            ],
        )
        return [*map(self._check_output, attempts, outputs)]

    def _next_attempt(self, sentence: TermSentence, losses: Sequence[Sequence[float]]) -> Attempt | None:
        """Return what to try for the leftmost pending term; mark terms that the model wrote itself."""
        text, words = (
            self._text(sentence.hypotheses[0]),
            group_into_words(sentence.hypotheses[0].tokens, self.target_tokenizer),
        )
        counted = text_before_end(text, count_inner_sentence_ends(sentence.source))
        loss_of = dict(zip(map(id, sentence.pending), losses, strict=True))
        while sentence.pending:
            aligned = {
                i: related
                for i, occurrence in enumerate(sentence.pending)
                if (related := related_words(words, loss_of[id(occurrence)], sentence, len(counted)))
            }
            if not aligned:
                for occurrence in sentence.pending:
                    occurrence.done = True
                    occurrence.reason = "no word that may change translates the source term. Edit the translation."
                return None
            leftmost = min(aligned, key=lambda i: len(aligned[i][0].before))
            occurrence, related = sentence.pending[leftmost], aligned[leftmost]
            # all occurrences of a term may be aligned with the same word: take the first
            if len(occurrence.requirement.spans) > 1:
                related = [word for word in words if word.is_same(related[0], len(sentence.prefix))] + related[1:]
            occurrence.done = True
            written = [
                (start, end)
                for start, end in find_phrase(counted, occurrence.requirement.text)
                if start >= len(sentence.prefix) and any(word.overlaps(start, end) for word in related)
            ]
            if not written:
                return self._attempt(sentence, occurrence, related[0], text)
            sentence.add_term(occurrence, written[0], text)
        return None

    def _attempt(self, sentence: TermSentence, occurrence: TermOccurrence, word: Word, text: str) -> Attempt | None:
        term = occurrence.requirement.text
        if not word.before.strip() and word.text[:1].isupper():
            term = term[:1].upper() + term[1:]
        if len(self.target_tokenizer.encode_all([word.before + term])[0]) > sentence.max_length:
            occurrence.reason = "no room for it. Raise max_extra_tokens (--set decoding.max_extra_tokens=200)."
            return None
        own_translation = _strip_particles(word.text)
        after = text[len(word.before) + len(word.text) :]
        return Attempt(sentence, occurrence, word.before, term, after, own_translation)

    def _accept_best(self, outcomes: Sequence[Outcome]) -> None:
        """Put the best good outcome of an attempt into its sentence, or say why there is none."""
        attempt = outcomes[0].attempt
        if good := [outcome for outcome in outcomes if not outcome.rejection]:
            attempt.sentence.hypotheses = min(good, key=lambda outcome: outcome.cost).nbest
            attempt.sentence.add_term(attempt.occurrence, (len(attempt.before), len(attempt.prefix)), attempt.prefix)
            attempt.sentence.changed = True
        else:
            attempt.occurrence.reason = outcomes[-1].rejection

    def _check_output(self, attempt: Attempt, nbest: list[Hypothesis]) -> Outcome:
        """Compare an output with the one before the attempt."""
        if not nbest:
            reason = "no output satisfies it together with no_repeat_ngram. Raise no_repeat_ngram, or set it to 0."
            return Outcome(attempt, nbest, 0.0, reason)
        first, end = (len(tokens) for tokens in self.target_tokenizer.encode_all([attempt.before, attempt.prefix]))
        log_prob_before = attempt.sentence.hypotheses[0].log_prob
        rest = nbest[0].log_prob - sum(nbest[0].token_log_probs[first:end])
        cost = log_prob_before - rest
        reason = self._find_error(attempt, self._text(nbest[0]))
        if not reason and cost > self.config.max_term_cost:
            reason = (
                f"with it the rest of the translation has log-probability {rest:.1f}, "
                f"without it {log_prob_before:.1f}; at most {self.config.max_term_cost:g} less is allowed. "
                f"Raise max_term_cost (--set decoding.max_term_cost={int(cost) + 1})."
            )
        return Outcome(attempt, nbest, cost, reason)

    def _find_error(self, attempt: Attempt, new: str) -> str:
        """Return the error in the text of an output and what to do; empty if there is none."""
        old, own_word = self._text(attempt.sentence.hypotheses[0]), attempt.own_translation
        counted = text_before_end(new, count_inner_sentence_ends(attempt.sentence.source))
        span = (len(attempt.before), len(attempt.prefix))
        if span not in find_phrase(counted, attempt.occurrence.requirement.text):
            return "it would not be a whole word there. Edit the translation."
        if own_word and _count(new, own_word) - _count(attempt.term, own_word) >= _count(old, own_word):
            return f'the model also writes its own translation "{own_word}". Edit the translation.'
        allowed = max(count_inner_sentence_ends(attempt.sentence.source), count_inner_sentence_ends(old))
        if count_inner_sentence_ends(new) > allowed:
            return "the model goes on after the end of the sentence. Edit the translation."
        length, old_length = len(new) - len(attempt.prefix), len(attempt.after)
        if not MIN_LENGTH_RATIO * old_length <= length <= old_length / MIN_LENGTH_RATIO:
            return "the model leaves out or repeats a part of the sentence. Edit the translation."
        return ""


def _strip_particles(word: str) -> str:
    """Return a word without punctuation; a Korean word without what may be particles."""
    letters = re.sub(r"^\W+|\W+$", "", word)
    return letters[: max(2, len(letters) - 2)] if re.fullmatch(r"[가-힣]{3,}", letters) else letters


def _count(text: str, word: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}" + ("" if re.search(r"[가-힣]$", word) else r"(?!\w)"), text))
