"""Settings of the filters and repairs: [data.filters] of a recipe and of `tongsa data clean`."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from tongsa.config import AtMost, In, Positive, check_ranges

RepairName = Literal["control_characters", "mojibake", "markup", "compatibility_jamo", "nfc"]
REPAIR_NAMES: tuple[RepairName, ...] = ("mojibake", "control_characters", "markup", "compatibility_jamo", "nfc")
"""In the order in which they run: mojibake needs control characters, which stand for bytes."""
Switch = bool | Literal["auto"]
Count = Annotated[int, In(0), AtMost(10**6)]
Share = Annotated[float, In(0, 1)]
OFF_BY_DEFAULT = frozenset({"language", "numbers", "alignment", "model_score", "near_duplicates", "same_target"})
"""Filters that "auto" leaves off: they need more than the text, or would drop good pairs of a small corpus."""


@dataclass(frozen=True, kw_only=True)
class FilterConfig:
    """Each filter is "auto", true, false, or a threshold; "learn" takes percentiles of the corpus."""

    defaults: bool = False
    """Use the repairs and filters that are "auto"; without it only those that are set."""
    repairs: tuple[RepairName, ...] | Literal["auto"] = "auto"
    """Repairs of the texts before the filters; "auto" is all of them."""
    length: tuple[Count, Count] | bool | Literal["auto", "learn"] = "auto"
    """Smallest and largest length of a side, in words, or in characters for ko, ja, zh and th."""
    ratio: Annotated[float, In(1), AtMost(10**6)] | bool | Literal["auto", "learn"] = "auto"
    """Largest ratio of the lengths in characters, of which each gets 10 more."""
    copies: Positive | bool | Literal["auto"] = "auto"
    """Letters and digits from which on a target that equals its source is a copy; off between equal languages."""
    script: Share | bool | Literal["auto"] = "auto"
    """Smallest share of the letters of a side in the script of its language."""
    language: Share | bool | Literal["auto"] = "auto"
    """Smallest probability of the language of a side, by py3langid (extra `clean`)."""
    markup: Switch = "auto"
    """Drop pairs with a tag or an entity on one side only."""
    mojibake: Switch = "auto"
    """Drop pairs with characters that are lost: �, ????, or a wrong encoding that was not repaired."""
    numbers: Share | bool | Literal["auto"] = "auto"
    """Largest share of the numbers (two digits or more) without a counterpart on the other side."""
    urls: Count | bool | Literal["auto"] = "auto"
    """Largest difference in the number of addresses."""
    placeholders: Count | bool | Literal["auto"] = "auto"
    """Largest number of placeholders ({name}, %s) without a counterpart."""
    alignment: Switch = "auto"
    """Drop blocks of lines where the sides have slipped."""
    model_score: Annotated[float, In(-(10**6), 10**6)] | bool | Literal["auto", "learn"] = "auto"
    """Smallest score of a pair: mean log-probability of a target token by `model`."""
    model: str = ""
    """Folder of the run that scores the pairs: a translation model, or a language model of the target side."""
    duplicates: Switch = "auto"
    """Keep one of the pairs with the same letters and digits on both sides."""
    same_target: Switch = "auto"
    """Keep the best of several sources for a target."""
    near_duplicates: Share | bool | Literal["auto"] = "auto"
    """Keep one of the pairs whose similarity is at least this (Jaccard, of 5-grams of letters)."""
    percentiles: tuple[Annotated[float, In(0, 100)], Annotated[float, In(0, 100)]] = (0.5, 99.5)
    """Percentiles between which "learn" keeps the pairs."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if isinstance(self.length, tuple) and self.length[0] > self.length[1]:
            raise ValueError("length: the smallest is above the largest. Exchange them.")
        if self.percentiles[0] >= self.percentiles[1]:
            raise ValueError("percentiles: the first is not below the second. Write for example [0.5, 99.5].")
        if self.model and self.setting("model_score") is False:
            raise ValueError('model: nothing uses its scores. Set model_score too, for example to "learn".')

    def setting(self, name: str) -> Any:
        """Return False for a filter that is off, True for its default threshold, or "learn" or the threshold."""
        value = getattr(self, name)
        return self.defaults and name not in OFF_BY_DEFAULT if value == "auto" else value

    @property
    def repair_names(self) -> tuple[RepairName, ...]:
        """The repairs, in the order in which they run."""
        if self.repairs == "auto":
            return REPAIR_NAMES if self.defaults else ()
        return tuple(name for name in REPAIR_NAMES if name in self.repairs)

    @property
    def filter_names(self) -> tuple[str, ...]:
        """The filters that are on, in the order in which they run."""
        return tuple(name for name in FILTER_NAMES if self.setting(name) is not False)

    @property
    def is_on(self) -> bool:
        return bool(self.repair_names or self.filter_names)


FILTER_NAMES = tuple(
    field.name for field in fields(FilterConfig) if field.name not in ("defaults", "repairs", "model", "percentiles")
)
