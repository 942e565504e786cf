"""What the doctor writes down: what was seen, what it means, what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tongsa.data.ledger import Pair

Level = Literal["ok", "remark", "warning", "fault"]
"""Fine; worth knowing; probably hurts; makes the result wrong or worthless."""
LEVELS: tuple[Level, ...] = ("ok", "remark", "warning", "fault")

MAX_EXAMPLES = 5
"""A finding names this many lines at most."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    name: str
    level: Level
    seen: str
    """In one sentence, with numbers."""
    means: str = ""
    remedy: str = ""
    examples: tuple[str, ...] = ()
    """Places, each as file:line and what stands there."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers again, for programs."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        """For a person; what is fine takes one line."""
        lines = [f"{self.level:7}  {self.name}: {self.seen}"]
        if self.level != "ok":
            lines += [f"{'':7}  {sentence}" for sentence in (self.means, self.remedy) if sentence]
            lines += [f"{'':11}{example}" for example in self.examples]
        return "\n".join(lines)


def worst_level(findings: Sequence[Finding]) -> Level:
    return max((finding.level for finding in findings), key=LEVELS.index, default="ok")


def level_for_share(share: float, *, remark: float = 0.0, warning: float = 2.0, fault: float = 2.0) -> Level:
    """A level by the share of lines concerned: above `remark`, from `warning` on, from `fault` on; 2 is never."""
    if share >= fault:
        return "fault"
    if share >= warning:
        return "warning"
    return "remark" if share > remark else "ok"


def format_pair(pair: Pair, text: str | None = None) -> str:
    """Where a pair stands, and its beginning."""
    shown = " → ".join(filter(None, (pair.source, pair.target))) if text is None else text
    return f"{pair.file}:{pair.line}: {shown[:80]}{'…' if len(shown) > 80 else ''}"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"
