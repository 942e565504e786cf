"""Findings of `tongsa doctor`: observation, meaning and remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tongsa.data.ledger import Pair

Level = Literal["ok", "remark", "warning", "fault"]
"""ok: no problem. remark: worth knowing. warning: probably harmful. fault: makes the result wrong or useless."""
LEVELS: tuple[Level, ...] = ("ok", "remark", "warning", "fault")

MAX_EXAMPLES = 5
"""Maximum number of example lines in a finding."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of one check: observation, meaning and remedy."""

    name: str
    level: Level
    seen: str
    """The observation in one sentence, with numbers."""
    means: str = ""
    remedy: str = ""
    examples: tuple[str, ...] = ()
    """Example lines, each as file:line and text."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The numbers of the observation, for programs."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        """Human-readable text; one line if the level is ok."""
        lines = [f"{self.level:7}  {self.name}: {self.seen}"]
        if self.level != "ok":
            lines += [f"{'':7}  {sentence}" for sentence in (self.means, self.remedy) if sentence]
            lines += [f"{'':11}{example}" for example in self.examples]
        return "\n".join(lines)


def worst_level(findings: Sequence[Finding]) -> Level:
    return max((finding.level for finding in findings), key=LEVELS.index, default="ok")


def level_for_share(share: float, *, remark: float = 0.0, warning: float = 2.0, fault: float = 2.0) -> Level:
    """Return the level for a share of lines: above `remark`, from `warning` on, from `fault` on. 2 means never."""
    if share >= fault:
        return "fault"
    if share >= warning:
        return "warning"
    return "remark" if share > remark else "ok"


def format_pair(pair: Pair, text: str | None = None) -> str:
    """Return file, line and the first characters of a pair."""
    shown = " → ".join(filter(None, (pair.source, pair.target))) if text is None else text
    return f"{pair.file}:{pair.line}: {shown[:80]}{'…' if len(shown) > 80 else ''}"


def percent(part: float, total: float) -> str:
    return f"{100 * part / total:.1f} %" if total else "0 %"
