"""Phrases that an output must hold: lexically constrained beams that keep their promise.

Dynamic beam allocation (Post and Vilar 2018, section 3) shares the beam out among hypotheses that have come differently
far with the phrases, so that one search of ordinary width finds an output with all of them. Theirs counts the pieces
that were met; here an automaton (Aho and Corasick 1975) of all the phrases knows how many pieces are still needed at
least, overlaps included. Whoever could no longer hold everything within the limit is not followed, so that an output
with all the phrases is found whenever there is one of that length.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from tongsa.decoding.beams import Beams, Selection
from tongsa.tokenization.special import EOS

MAX_PHRASES_PER_OUTPUT = 8
"""Phrases in one output: there are 2 to this power of ways to have met some of them."""


class ConstraintState(NamedTuple):
    """How far an output has come with its phrases."""

    node: int
    """The longest end of the output that begins a phrase, as a node of the tree of phrases."""
    satisfied_counts: tuple[int, ...]
    """How often each phrase is there, counted up to as often as it is wanted."""


class PhraseAutomaton:
    """The automaton of the phrases of one output; none is empty, and one that is given twice is wanted twice."""

    def __init__(self, phrases: Iterable[Sequence[int]]) -> None:
        counts = Counter(map(tuple, phrases))
        if not all(counts):
            raise ValueError("an empty phrase: every output holds it already")
        self.phrases = list(counts)
        self.required_counts = tuple(counts.values())
        self.alphabet = sorted({piece for phrase in self.phrases for piece in phrase})
        self.prefixes = sorted({phrase[:end] for phrase in self.phrases for end in range(len(phrase) + 1)}, key=len)
        self.node_ids = {beginning: at for at, beginning in enumerate(self.prefixes)}
        self.initial_state = ConstraintState(0, (0,) * len(self.phrases))

    @cached_property
    def children(self) -> list[dict[int, int]]:
        """For each node: the pieces that make its beginning longer, and the nodes that they lead to."""
        found: list[dict[int, int]] = [{} for _ in self.prefixes]
        for at, beginning in enumerate(self.prefixes[1:], start=1):
            found[self.node_ids[beginning[:-1]]][beginning[-1]] = at
        return found

    @cached_property
    def failure_links(self) -> list[int]:
        """For each node: that of the longest other beginning which its own ends with."""
        found = [0] * len(self.prefixes)
        for beginning in self.prefixes:  # the shorter first
            if len(beginning) > 1:
                parent = self.node_ids[beginning[:-1]]
                found[self.node_ids[beginning]] = self._next_node(found[parent], beginning[-1], found)
        return found

    @cached_property
    def matched_phrases(self) -> list[list[int]]:
        """For each node: the phrases that its beginning ends with."""
        found: list[list[int]] = [[] for _ in self.prefixes]
        for at, phrase in enumerate(self.phrases):
            found[self.node_ids[phrase]].append(at)
        for at in range(1, len(found)):
            found[at] += found[self.failure_links[at]]
        return found

    def _next_node(self, node: int, token: int, failure_links: Sequence[int]) -> int:
        while token not in self.children[node] and node:
            node = failure_links[node]
        return self.children[node].get(token, 0)

    def advance(self, state: ConstraintState, token: int) -> ConstraintState:
        node = self._next_node(state.node, token, self.failure_links)
        return ConstraintState(node, self._add_matches(state.satisfied_counts, self.matched_phrases[node]))

    def _add_matches(self, satisfied_counts: tuple[int, ...], matches: Sequence[int]) -> tuple[int, ...]:
        """What is met when these phrases have come, too."""
        if not matches:
            return satisfied_counts
        counts = list(satisfied_counts)
        for at in matches:
            counts[at] = min(counts[at] + 1, self.required_counts[at])
        return tuple(counts)

    def state_after(self, tokens: Sequence[int]) -> ConstraintState:
        found = self.initial_state
        for piece in tokens:
            found = self.advance(found, piece)
        return found

    @cached_property
    def tokens_needed(self) -> Callable[[ConstraintState], int]:
        """The fewest pieces from a progress to all phrases.

        Of those that lie in no other, whichever is complete first has begun first, and the next one can overlap with
        that one alone: so the shortest way is one of the orders (Held and Karp 1962), whatever the phrases' lengths.
        """
        return cache(self._tokens_needed)

    def _tokens_needed(self, state: ConstraintState) -> int:
        left = [at for at, wanted in enumerate(self.required_counts) if state.satisfied_counts[at] < wanted]
        overlaps = self.overlaps(state.node) if left else ()
        ways = (
            len(self.phrases[at])
            - overlap
            + self.tokens_needed(
                ConstraintState(
                    self.node_ids[self.phrases[at]],
                    self._add_matches(state.satisfied_counts, self.contained_phrases(at, overlap)),
                )
            )
            for at in left
            for overlap in overlaps[at]
        )
        return min(ways, default=0)

    @cached_property
    def overlaps(self) -> Callable[[int], list[list[int]]]:
        """From a node to the numbers of pieces, fewer than all, of each phrase that its beginning may end with."""
        return cache(self._overlaps)

    def _overlaps(self, node: int) -> list[list[int]]:
        found = [[0] for _ in self.phrases]
        while node:
            ending = self.prefixes[node]
            for at, phrase in enumerate(self.phrases):
                if len(ending) < len(phrase) and phrase[: len(ending)] == ending:
                    found[at].append(len(ending))
            node = self.failure_links[node]
        return found

    def contained_phrases(self, index: int, overlap: int) -> list[int]:
        """The phrases that come with this one, itself included, when so many of its pieces are there already."""
        return [other for end, other in self._match_ends[index] if end > overlap]

    @cached_property
    def _match_ends(self) -> list[list[tuple[int, int]]]:
        return [
            [
                (end, other)
                for end in range(1, len(phrase) + 1)
                for other in self.matched_phrases[self.node_ids[phrase[:end]]]
            ]
            for phrase in self.phrases
        ]


def satisfiable_phrases(phrases: Sequence[Sequence[int]], prefix: Sequence[int], max_length: int) -> list[int]:
    """The places of those that an output of at most `limit` pieces which begins so can hold together.

    If not all can, the short ones go first, so that many are kept; none is left out that fits beside those, unless
    MOST are kept.
    """
    room = max_length - len(prefix)
    if len(phrases) <= MAX_PHRASES_PER_OUTPUT and sum(map(len, phrases)) <= room:
        return [*range(len(phrases))]
    kept: list[int] = []
    for at in sorted(range(len(phrases)), key=lambda at: (len(phrases[at]), at)):
        together = PhraseAutomaton(phrases[one] for one in (*kept, at))
        if len(kept) < MAX_PHRASES_PER_OUTPUT and together.tokens_needed(together.state_after(prefix)) <= room:
            kept.append(at)
    return sorted(kept)


class _ConstrainedCandidate(NamedTuple):
    ranking_score: float
    flat_index: int
    """In the flat row of all candidates of its sentence."""
    tokens_needed: int
    """Pieces that it still needs at least, to hold all phrases."""


def dynamic_beam_allocation(
    beam: int, automata: Sequence[PhraseAutomaton | None], max_lengths: Sequence[int], prefix_lengths: Sequence[int]
) -> Selection:
    """The beam of each sentence shared out by how many pieces a hypothesis still needs; None has no phrases.

    Of the first `begun` pieces of a sentence there is nothing to choose.
    """

    def choose(merits: Tensor, beams: Beams) -> Tensor:
        every = merits.flatten(1)
        places = every.topk(min(beam, every.shape[1]), dim=1).indices
        for row, sentence in enumerate(beams.sentences):
            if (wanted := automata[sentence]) is not None and beams.tokens.shape[2] > prefix_lengths[sentence]:
                room = max_lengths[sentence] - beams.tokens.shape[2] + 1  # pieces, this one included
                found = _constrained_candidates(merits[row], beams.tokens[row].tolist(), wanted, room, beam)
                places[row] = _pad_selection(
                    _allocate_beam(found, beam, wanted.tokens_needed(wanted.initial_state)), every[row], places.shape[1]
                )
        return places

    return choose


def _constrained_candidates(
    ranking_scores: Tensor, prefixes: Sequence[Sequence[int]], automaton: PhraseAutomaton, tokens_left: int, beam: int
) -> list[_ConstrainedCandidate]:
    """The likeliest pieces after each hypothesis, and those that bring it nearer to its phrases; all can get there."""
    size, found = ranking_scores.shape[1], []
    likeliest = ranking_scores.topk(min(beam, size), dim=1).indices.tolist()
    for at, prefix in enumerate(prefixes):
        progress = automaton.state_after(prefix[1:])
        pieces = list(dict.fromkeys([*likeliest[at], *automaton.alphabet, EOS]))
        for piece, merit in zip(pieces, ranking_scores[at, pieces].tolist(), strict=True):
            needed = automaton.tokens_needed(automaton.advance(progress, piece) if piece != EOS else progress)
            possible = needed == 0 if piece == EOS else needed < tokens_left
            if possible and merit > -torch.inf:
                found.append(_ConstrainedCandidate(merit, at * size + piece, needed))
    return sorted(found, reverse=True)


def _allocate_beam(candidates: list[_ConstrainedCandidate], beam: int, max_needed: int) -> list[int]:
    """Equal shares for each number of pieces needed, the rest for the nearest; what a share leaves goes to the best."""
    share, rest = divmod(beam, max_needed + 1)
    room = {needed: share + (needed < rest) for needed in range(max_needed + 1)}
    chosen = []
    for candidate in candidates:
        if room.get(candidate.tokens_needed, 0):
            room[candidate.tokens_needed] -= 1
            chosen.append(candidate)
    taken = set(chosen)
    left = [candidate for candidate in candidates if candidate not in taken]
    return [candidate.flat_index for candidate in sorted([*chosen, *left[: beam - len(chosen)]], reverse=True)]


def _pad_selection(flat_indices: list[int], ranking_scores: Tensor, count: int) -> Tensor:
    """So many places: a candidate that is impossible stands for each that is missing."""
    impossible = int(ranking_scores.argmin())
    return torch.tensor([*flat_indices, *[impossible] * (count - len(flat_indices))], device=ranking_scores.device)
