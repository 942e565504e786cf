"""Slots of a pattern: groups of fillings, drawn by group first."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

V = TypeVar("V")
Item = Any
"""A word, or a tuple of words that are chosen together."""
Group = tuple[Sequence[Item], ...]
"""Lists whose product are the fillings."""


def draw(items: Sequence[V], rng: random.Random) -> V:
    return items[int(rng.random() * len(items))]


def parts_of(item: Item) -> tuple[Any, ...]:
    return item if isinstance(item, tuple) else (item,)


def words_of(item: Item) -> tuple[str, ...]:
    return tuple(word for part in parts_of(item) for word in part.words)


class Slot:
    """Groups of fillings; a draw takes a group first, so that large groups do not crowd out small ones."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups = tuple(group for group in groups if all(group))

    def draw(self, rng: random.Random) -> tuple[Any, ...]:
        return flatten(draw(items, rng) for items in draw(self.groups, rng))

    def draw_with(self, word: str, rng: random.Random) -> tuple[Any, ...]:
        """Draw a filling that holds this word."""
        group, index, holding = draw(self.index[word], rng)
        return flatten(draw(holding if i == index else items, rng) for i, items in enumerate(group))

    @cached_property
    def index(self) -> dict[str, list[tuple[Group, int, list[Item]]]]:
        """The items that hold each word, with their group and their list in it."""
        index: dict[str, list[tuple[Group, int, list[Item]]]] = {}
        for group in self.groups:
            for i, items in enumerate(group):
                by_word: dict[str, list[Item]] = {}
                for item in items:
                    for word in dict.fromkeys(words_of(item)):
                        by_word.setdefault(word, []).append(item)
                for word, holding in by_word.items():
                    index.setdefault(word, []).append((group, i, holding))
        return index

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Each filling once: a group given twice only makes a draw likelier."""
        return iter(dict.fromkeys(flatten(items) for group in self.groups for items in product(*group)))

    def __len__(self) -> int:
        single = {item for group in self.groups if len(group) == 1 for item in group[0]}
        return len(single) + sum(math.prod(map(len, group)) for group in self.groups if len(group) > 1)


def flatten(items: Iterable[Item]) -> tuple[Any, ...]:
    parts: list[Any] = []
    for item in items:
        if isinstance(item, tuple):
            parts.extend(item)
        else:
            parts.append(item)
    return tuple(parts)
