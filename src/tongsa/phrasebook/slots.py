"""What a pattern is made of: slots to fill, and the sentence that the fillings make."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast, overload

from tongsa.phrasebook.clauses import Pair


class Worded(Protocol):
    @property
    def words(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=Worded)
V = TypeVar("V")


class Word(NamedTuple):
    """A word that is only itself: an adverb, a numeral, a style."""

    english: str
    korean: str
    lemmas: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return self.lemmas

    @property
    def pair(self) -> Pair:
        return self.english, self.korean


class Joint(NamedTuple):
    """Fillings that must suit each other and so are chosen together."""

    parts: tuple[Any, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for part in self.parts for word in part.words)


def drawn(items: Sequence[V], rng: random.Random) -> V:
    return items[int(rng.random() * len(items))]


class Crossed(Sequence[Joint]):
    """Every joint of one filling from each list, made when asked for."""

    def __init__(self, *lists: Sequence[Worded]) -> None:
        self.lists = lists
        self.length = math.prod(map(len, lists))

    def __len__(self) -> int:
        return self.length

    def draw_with(self, word: str, rng: random.Random) -> Joint:
        """A joint that holds this word in one of its parts."""
        holding = [[item for item in items if word in item.words] for items in self.lists]
        held = drawn([place for place, items in enumerate(holding) if items], rng)
        return Joint(
            tuple(drawn(holding[place] if place == held else items, rng) for place, items in enumerate(self.lists))
        )

    @overload
    def __getitem__(self, index: int) -> Joint: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Joint]: ...
    def __getitem__(self, index: int | slice) -> Joint | Sequence[Joint]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self.length))]
        if index >= self.length:
            raise IndexError(index)
        parts = []
        for items in reversed(self.lists):
            index, place = divmod(index, len(items))
            parts.append(items[place])
        return Joint(tuple(reversed(parts)))


class Slot(Generic[T]):
    """Groups of fillings; a draw takes any group first, so that large groups do not crowd out small ones."""

    def __init__(self, groups: Iterable[Sequence[T]]) -> None:
        self.groups = tuple(group for group in groups if group)

    def draw(self, rng: random.Random) -> T:
        return drawn(drawn(self.groups, rng), rng)

    def draw_with(self, word: str, rng: random.Random) -> T:
        """A filling that holds this word."""
        group = drawn([group for group, words in zip(self.groups, self.lemmas, strict=True) if word in words], rng)
        if isinstance(group, Crossed):
            return cast("T", group.draw_with(word, rng))
        return drawn([item for item in group if word in item.words], rng)

    @cached_property
    def lemmas(self) -> list[frozenset[str]]:
        """The words of each group."""
        return [
            frozenset(
                word
                for items in (group.lists if isinstance(group, Crossed) else (group,))
                for item in items
                for word in item.words
            )
            for group in self.groups
        ]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset().union(*self.lemmas)

    def __iter__(self) -> Iterator[T]:
        """Each filling once: a group given twice only makes a draw likelier."""
        return iter(dict.fromkeys(item for group in self.groups for item in group))

    def __len__(self) -> int:
        crossed = sum(len(group) for group in self.groups if isinstance(group, Crossed))
        return crossed + len({item for group in self.groups if not isinstance(group, Crossed) for item in group})


class Pattern(NamedTuple):
    name: str
    slots: tuple[Slot[Any], ...]
    say: Callable[..., Pair]
    fixed: tuple[str, ...]
    """Content words that every sentence of the pattern holds."""
    weight: float

    @property
    def size(self) -> int:
        return math.prod(map(len, self.slots))

    @property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.fixed).union(*(slot.vocabulary for slot in self.slots))

    def words(self, fillings: Sequence[Worded]) -> tuple[str, ...]:
        chosen = [word for filling in fillings for word in filling.words]
        return tuple(dict.fromkeys((*chosen, *self.fixed)))


class Chapter(list[Pattern]):
    """Patterns of one theme, in the order written."""

    def pattern(
        self, name: str, *slots: Slot[Any], fixed: str = "", weight: float = 1.0
    ) -> Callable[[Callable[..., Pair]], Callable[..., Pair]]:
        def add(say: Callable[..., Pair]) -> Callable[..., Pair]:
            self.append(Pattern(name, slots, say, tuple(fixed.split()), weight))
            return say

        return add
