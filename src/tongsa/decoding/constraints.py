"""Lexical constraints: phrases that an output must contain (dynamic beam allocation, Post and Vilar 2018, section 3).

A plain beam drops a hypothesis with a required phrase as soon as others are likelier. Instead, the beam is divided by
the number of tokens that a hypothesis still needs to complete all phrases:

1. The phrases of an output become one automaton (Aho and Corasick 1975). Its nodes are all prefixes of phrases. Reading
   a token moves to the longest prefix that the output now ends with. A failure link leads from a node to the next
   shorter such prefix, so overlapping phrases and false starts are handled.
2. A phrase is a run of whole words. An occurrence counts when the next token does not continue its last word
   (`TokenClasses.continues_word`), so "lad" does not count in "ladder".
3. A state is the node and how often each phrase was completed. `tokens_needed(state)` is the number of tokens that
   completes the rest, overlaps included. Post and Vilar count completed tokens; the number needed is better.
4. In each step the candidates of a hypothesis are its likeliest tokens, every token of a phrase, and EOS. A candidate
   that can no longer complete all phrases within the maximum length is dropped. So is EOS while a phrase is missing,
   and a new word after the end of the sentence: no phrase may follow it.
5. Each number of tokens needed gets an equal share of the beam. Unused shares go to the best other candidates.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.data.normalize import SPACE_MARK
from tongsa.decoding.beams import Beams, Selection
from tongsa.decoding.glossary import CONTINUES_WORD
from tongsa.tokenization.special import EOS
from tongsa.tokenization.words import BYTE_TOKEN

MAX_PHRASES_PER_OUTPUT = 8
"""Largest number of phrases of an output: the number of states grows as 2 to this power."""


class OutputConstraints(NamedTuple):
    """Token-level constraints on one output."""

    prefix: tuple[int, ...] = ()
    """The output begins with these tokens."""
    phrases: tuple[tuple[int, ...], ...] = ()
    """The output contains each of these token sequences; a sequence listed twice must occur twice."""
    inner_sentence_ends: int = 0
    """No phrase follows a sentence end after this many others."""
    prefix_ends_word: bool = False
    """The token after the prefix does not continue its last word."""

    def __bool__(self) -> bool:
        return bool(self.prefix or self.phrases)

    def map_tokens(self, mapping: Mapping[int, int]) -> "OutputConstraints":
        """Return the same constraints with other token ids, as in a subset of the vocabulary."""
        return self._replace(
            prefix=tuple(mapping[token] for token in self.prefix),
            phrases=tuple(tuple(mapping[token] for token in phrase) for phrase in self.phrases),
        )


class TokenClasses(NamedTuple):
    """Sets of tokens by what they do to a text."""

    continues_word: frozenset[int] = frozenset()
    """Tokens that begin with a letter or digit, of a script with spaces, that belongs to the word before."""
    starts_word: frozenset[int] = frozenset()
    ends_sentence: frozenset[int] = frozenset()
    """Tokens that end with . ! ? …, perhaps with closing quotes."""

    @classmethod
    def from_strings(cls, tokens: Sequence[str]) -> "TokenClasses":
        """Return the classes of a vocabulary."""
        continues, ends = re.compile(CONTINUES_WORD), re.compile(r"[.!?…。！？]['\"”’)\]]*$")
        return cls(
            frozenset(i for i, token in enumerate(tokens) if continues.match(token) or BYTE_TOKEN.fullmatch(token)),
            frozenset(i for i, token in enumerate(tokens) if token.startswith(SPACE_MARK)),
            frozenset(i for i, token in enumerate(tokens) if ends.search(token)),
        )

    def map_tokens(self, mapping: Mapping[int, int]) -> "TokenClasses":
        """Return the same classes with other token ids, as in a subset of the vocabulary."""
        return TokenClasses(*(frozenset(mapping[token] for token in tokens & mapping.keys()) for tokens in self))

    def has_ended(self, tokens: Sequence[int], inner_ends: int) -> bool:
        """Return whether an output ends here: with a sentence end after `inner_ends` others."""
        if not tokens or tokens[-1] not in self.ends_sentence:
            return False
        earlier = sum(first in self.ends_sentence and second in self.starts_word for first, second in pairwise(tokens))
        return earlier >= inner_ends


class ConstraintState(NamedTuple):
    """State of the automaton after some tokens of an output."""

    node: int
    """The longest prefix of a phrase that the output ends with."""
    satisfied_counts: tuple[int, ...]
    """Occurrences of each phrase before the last token, up to the required number."""


class PhraseAutomaton:
    """Aho-Corasick automaton of the phrases of one output; a phrase that is given twice is required twice."""

    def __init__(self, phrases: Iterable[Sequence[int]], continues_word: Container[int] = frozenset()) -> None:
        """`continues_word` are the tokens that make the last word of a phrase another word."""
        self.continues_word = continues_word
        counts = Counter(map(tuple, phrases))
        if not all(counts):
            raise ValueError("an empty phrase is contained in every output")
        self.phrases = list(counts)
        self.required_counts = tuple(counts.values())
        self.alphabet = sorted({token for phrase in self.phrases for token in phrase})
        self.prefixes = sorted({phrase[:end] for phrase in self.phrases for end in range(len(phrase) + 1)}, key=len)
        self.node_ids = {prefix: node for node, prefix in enumerate(self.prefixes)}
        self.initial_state = ConstraintState(0, (0,) * len(self.phrases))

    @cached_property
    def children(self) -> list[dict[int, int]]:
        """For each node: the tokens that extend its prefix, and the nodes that they lead to."""
        children: list[dict[int, int]] = [{} for _ in self.prefixes]
        for node, prefix in enumerate(self.prefixes[1:], start=1):
            children[self.node_ids[prefix[:-1]]][prefix[-1]] = node
        return children

    @cached_property
    def failure_links(self) -> list[int]:
        """For each node: the longest shorter prefix of a phrase that is a suffix of its own prefix."""
        links = [0] * len(self.prefixes)
        for prefix in self.prefixes:  # shorter prefixes first: their links are used below
            if len(prefix) > 1:
                parent = self.node_ids[prefix[:-1]]
                links[self.node_ids[prefix]] = self._next_node(links[parent], prefix[-1], links)
        return links

    @cached_property
    def matched_phrases(self) -> list[list[int]]:
        """For each node: the phrases that its prefix ends with."""
        matches: list[list[int]] = [[] for _ in self.prefixes]
        for i, phrase in enumerate(self.phrases):
            matches[self.node_ids[phrase]].append(i)
        for node in range(1, len(matches)):
            matches[node] += matches[self.failure_links[node]]
        return matches

    def _next_node(self, node: int, token: int, failure_links: Sequence[int]) -> int:
        while token not in self.children[node] and node:
            node = failure_links[node]
        return self.children[node].get(token, 0)

    def advance(self, state: ConstraintState, token: int) -> ConstraintState:
        """Return the state after one more token."""
        node = self._next_node(state.node, token, self.failure_links)
        return ConstraintState(node, self._counts_before(state, token))

    def _counts_before(self, state: ConstraintState, token: int) -> tuple[int, ...]:
        """Return the counts before a token, which decides whether a phrase that ends here ends a word."""
        return state.satisfied_counts if token in self.continues_word else self._counts_at_end(state)

    def _counts_at_end(self, state: ConstraintState) -> tuple[int, ...]:
        """Return the counts if the last word ends here."""
        return self._add_matches(state.satisfied_counts, self.matched_phrases[state.node])

    def _add_matches(self, satisfied_counts: tuple[int, ...], matches: Sequence[int]) -> tuple[int, ...]:
        if not matches:
            return satisfied_counts
        counts = list(satisfied_counts)
        for i in matches:
            counts[i] = min(counts[i] + 1, self.required_counts[i])
        return tuple(counts)

    def state_after(self, tokens: Sequence[int]) -> ConstraintState:
        """Return the state after these tokens from the start of an output."""
        state = self.initial_state
        for token in tokens:
            state = self.advance(state, token)
        return state

    @cached_property
    def tokens_needed(self) -> Callable[[ConstraintState], int]:
        """Number of tokens that suffices from a state to the end of all phrases.

        If no phrase contains another, the phrase that ends first also begins first, and only the next one can overlap
        with it. So it suffices to compare the orders of the phrases (dynamic programming, Held and Karp 1962).
        """
        return cache(self._tokens_needed)

    def _tokens_needed(self, state: ConstraintState) -> int:
        counts = self._counts_at_end(state)
        missing = [i for i, required in enumerate(self.required_counts) if counts[i] < required]
        overlaps = self.overlaps(state.node) if missing else ()
        lengths = (
            len(self.phrases[i]) - overlap + self.tokens_needed(self._state_after_phrase(counts, i, overlap))
            for i in missing
            for overlap in overlaps[i]
            # an overlap must not take back an occurrence that ends here
            if not overlap or self._counts_before(state, self.phrases[i][overlap]) == counts
        )
        return min(lengths, default=0)

    def _state_after_phrase(self, counts: tuple[int, ...], index: int, overlap: int) -> ConstraintState:
        """Return the state after a phrase whose first `overlap` tokens were there already."""
        contained = self.contained_phrases(index, overlap)
        return ConstraintState(self.node_ids[self.phrases[index]], self._add_matches(counts, contained))

    @cached_property
    def overlaps(self) -> Callable[[int], list[list[int]]]:
        """For a node: the numbers of tokens by which each phrase can overlap with the end of the node's prefix."""
        return cache(self._overlaps)

    def _overlaps(self, node: int) -> list[list[int]]:
        overlaps = [[0] for _ in self.phrases]
        while node:
            suffix = self.prefixes[node]
            for i, phrase in enumerate(self.phrases):
                if len(suffix) < len(phrase) and phrase[: len(suffix)] == suffix:
                    overlaps[i].append(len(suffix))
            node = self.failure_links[node]
        return overlaps

    def contained_phrases(self, index: int, overlap: int) -> list[int]:
        """Return the phrases that end inside a phrase, before its end and after its first `overlap` tokens."""
        return [phrase for end, phrase in self._inner_matches[index] if end > overlap]

    @cached_property
    def _inner_matches(self) -> list[list[tuple[int, int]]]:
        """For each phrase: the ends of the phrases that it contains as whole words, and these phrases."""
        return [
            [
                (end, match)
                for end in range(1, len(phrase))
                if phrase[end] not in self.continues_word
                for match in self.matched_phrases[self.node_ids[phrase[:end]]]
            ]
            for phrase in self.phrases
        ]


def satisfiable_phrases(phrases: Sequence[Sequence[int]], prefix: Sequence[int], max_length: int) -> list[int]:
    """Return the indices of phrases that fit together into an output of `max_length` tokens with this prefix.

    If not all fit, shorter phrases come first, so that many are kept. A phrase that fits together with the kept ones is
    left out only if MAX_PHRASES_PER_OUTPUT are kept.
    """
    tokens_left = max_length - len(prefix)
    if len(phrases) <= MAX_PHRASES_PER_OUTPUT and sum(map(len, phrases)) <= tokens_left:
        return [*range(len(phrases))]
    kept: list[int] = []
    for i in sorted(range(len(phrases)), key=lambda i: (len(phrases[i]), i)):
        automaton = PhraseAutomaton(phrases[j] for j in (*kept, i))
        fits = automaton.tokens_needed(automaton.state_after(prefix)) <= tokens_left
        if fits and len(kept) < MAX_PHRASES_PER_OUTPUT:
            kept.append(i)
    return sorted(kept)


class _ConstrainedCandidate(NamedTuple):
    ranking_score: float
    flat_index: int
    """hypothesis · vocabulary size + token."""
    tokens_needed: int


def dynamic_beam_allocation(
    beam: int,
    automata: Sequence[PhraseAutomaton | None],
    constraints: Sequence[OutputConstraints],
    max_lengths: Sequence[int],
    token_classes: TokenClasses,
) -> Selection:
    """Select candidates so that each number of missing tokens has a share of the beam.

    `automata` has an entry for each sentence; None for a sentence without phrases.
    """

    def select(ranking_scores: Tensor, beams: Beams) -> Tensor:  # (sentence, hypothesis, token) -> (sentence, rank)
        flat_scores = ranking_scores.flatten(1)
        selected = flat_scores.topk(min(beam, flat_scores.shape[1]), dim=1).indices
        length = beams.tokens.shape[2]  # BOS included
        for row, sentence in enumerate(beams.sentences):
            automaton = automata[sentence]
            if automaton is None or length <= len(constraints[sentence].prefix):  # inside a prefix there is one candidate
                continue
            tokens_left = max_lengths[sentence] - length + 1  # this token included
            hypotheses = beams.tokens[row, :, 1:].tolist()  # without BOS
            ended = [
                token_classes.has_ended(tokens, constraints[sentence].inner_sentence_ends) for tokens in hypotheses
            ]
            candidates = _constrained_candidates(
                ranking_scores[row],
                [automaton.state_after(tokens) for tokens in hypotheses],
                [token_classes.starts_word if has_ended else frozenset() for has_ended in ended],
                automaton,
                tokens_left,
                beam,
            )
            allocated = _allocate_beam(candidates, beam, automaton.tokens_needed(automaton.initial_state))
            # rows of a tensor have equal length: pad with an impossible candidate (-inf)
            padding = [int(flat_scores[row].argmin())] * (selected.shape[1] - len(allocated))
            selected[row] = torch.tensor([*allocated, *padding], device=selected.device)
        return selected

    return select


def _constrained_candidates(
    ranking_scores: Tensor,  # (hypothesis, token)
    states: Sequence[ConstraintState],
    forbidden: Sequence[Container[int]],
    automaton: PhraseAutomaton,
    tokens_left: int,
    beam: int,
) -> list[_ConstrainedCandidate]:
    """Return the candidates of one sentence that can still complete all phrases, best first.

    `forbidden` are the tokens that each hypothesis cannot take while a phrase is missing.
    """
    vocab_size, candidates = ranking_scores.shape[1], []
    likeliest = ranking_scores.topk(min(beam, vocab_size), dim=1).indices.tolist()
    for hypothesis, state in enumerate(states):
        tokens = list(dict.fromkeys([*likeliest[hypothesis], *automaton.alphabet, EOS]))
        is_missing = automaton.tokens_needed(state) > 0
        for token, score in zip(tokens, ranking_scores[hypothesis, tokens].tolist(), strict=True):
            needed = automaton.tokens_needed(automaton.advance(state, token) if token != EOS else state)
            possible = needed == 0 if token == EOS else needed < tokens_left
            if possible and score > -torch.inf and not (is_missing and token in forbidden[hypothesis]):
                candidates.append(_ConstrainedCandidate(score, hypothesis * vocab_size + token, needed))
    return sorted(candidates, reverse=True)


def _allocate_beam(candidates: list[_ConstrainedCandidate], beam: int, max_needed: int) -> list[int]:
    """Return the flat indices of at most `beam` candidates, best first.

    Each number of tokens needed, from 0 to `max_needed`, has an equal share; the remainder goes to the smallest.
    """
    share, remainder = divmod(beam, max_needed + 1)
    shares = {needed: share + (needed < remainder) for needed in range(max_needed + 1)}
    selected = []
    for candidate in candidates:
        if shares.get(candidate.tokens_needed, 0):
            shares[candidate.tokens_needed] -= 1
            selected.append(candidate)
    in_share = set(selected)
    others = [candidate for candidate in candidates if candidate not in in_share]
    return [candidate.flat_index for candidate in sorted([*selected, *others[: beam - len(selected)]], reverse=True)]
