"""What is wrong with a corpus: lines that leak, repeat, copy, were lost, or that the vocabulary cannot write."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tongsa.text.finding import LEVELS, SHOWN, Finding, graded, percent, place
from tongsa.text.ledger import Pair
from tongsa.text.pieces import UNK
from tongsa.text.vocabulary import Vocabulary

Item = TypeVar("Item")

LEAK_WARNING, LEAK_FAULT = 0.01, 0.2
"""Short lines (“Thank you.”) recur by themselves in some percent of a set; a fifth of it does not."""
OTHER_WARNING = 0.2
"""The same source with another target is what homographs and paraphrases look like."""
DUPLICATES_REMARK, DUPLICATES_WARNING = 0.02, 0.3
COPIES_REMARK, COPIES_WARNING, COPIES_FAULT = 0.01, 0.1, 0.95
"""Spelling correction copies half of its lines; what copies nearly all has nothing to teach."""
UNKNOWN_REMARK, UNKNOWN_WARNING, UNKNOWN_FAULT = 0.001, 0.01, 0.2
DROPPED_WARNING, DROPPED_FAULT = 0.05, 0.5
MAJORITY = 0.95
RARE = 10
"""A label with fewer examples than this is hardly learnt."""
MARKED = 0.5
"""Labels named by so many of their own texts give the answer away."""

_BYTE = re.compile("<0x[0-9A-F]{2}>")


def spread(items: Sequence[Item], count: int) -> Sequence[Item]:
    """At most `count` items, evenly spread over all, in order."""
    return items if len(items) <= count else [items[at * len(items) // count] for at in range(count)]


def _key(pair: Pair) -> tuple[str, str]:
    """Case is no difference: “Ein Hund.” gives “ein Hund.” away."""
    return pair.source.casefold(), pair.target.casefold()


def leakage(known: Iterable[Pair], held: Sequence[Pair], name: str, home: str = "train") -> Finding:
    """Lines of a held-out set, `name`, that stand in what was known before it, `home`, as well."""
    wanted = {_key(pair) for pair in held}
    sources = {source for source, _ in wanted if source}
    met: dict[tuple[str, str], Pair] = {}
    asked: set[str] = set()
    for pair in known:
        key = _key(pair)
        if key in wanted:
            met.setdefault(key, pair)
        elif key[0] in sources:
            asked.add(key[0])
    same = [pair for pair in held if _key(pair) in met]
    other = [pair for pair in held if _key(pair) not in met and pair.source.casefold() in asked]
    level = max(
        graded(len(same) / max(1, len(held)), warning=LEAK_WARNING, fault=LEAK_FAULT),
        graded(len(other) / max(1, len(held)), warning=OTHER_WARNING),
        key=LEVELS.index,
    )
    seen = f"{len(same):,} of {len(held):,} lines of {name} ({percent(len(same), len(held))}) stand in {home} as well"
    return Finding(
        name=f"leakage into {name}" if home == "train" else f"leakage from {home} into {name}",
        level=level,
        seen=seen + (f"; {len(other):,} more sources do, with another target" if other else ""),
        means="what was learnt by heart is scored as if it had been understood: the score is too high"
        if home == "train"
        else f"the model is chosen by lines that it is scored on: the score of {name} is too high",
        remedy=f"take these lines out of {home}, or say with the score that {name} is not all unseen",
        examples=tuple(f"{place(pair)}  = {_at(met[_key(pair)])}" for pair in same[:SHOWN])
        + tuple(f"{place(pair)}  (another target in train)" for pair in other[: SHOWN - len(same[:SHOWN])]),
        figures={"lines": len(held), "same": len(same), "same_source": len(other)},
    )


def _at(pair: Pair) -> str:
    return f"{pair.file}:{pair.line}"


def duplicates(train: Sequence[Pair]) -> Finding:
    """Pairs that stand in train more than once."""
    counts = Counter(map(_key, train))
    extra = len(train) - len(counts)
    most = [(key, count) for key, count in counts.most_common(SHOWN) if count > 1]
    several = len(counts) - len({source for source, _ in counts}) if train and train[0].source else 0
    seen = f"{extra:,} of {len(train):,} lines ({percent(extra, len(train))}) repeat another one"
    return Finding(
        name="duplicates",
        level=graded(extra / max(1, len(train)), remark=DUPLICATES_REMARK, warning=DUPLICATES_WARNING),
        seen=seen + (f"; {several:,} more targets for a source that has one already" if several else ""),
        means="what is repeated weighs more: the model leans towards it, and an epoch is shorter than it looks",
        remedy="keep one of each (sort -u), unless the repetition is meant",
        examples=tuple(f"{count:,} × {' → '.join(filter(None, key))[:80]}" for key, count in most),
        figures={"lines": len(train), "repeated": extra, "further_targets": several},
    )


def copies(train: Sequence[Pair]) -> Finding:
    """Pairs whose target is their source."""
    found = [pair for pair in train if pair.source.casefold() == pair.target.casefold()]
    return Finding(
        name="copies",
        level=graded(len(found) / max(1, len(train)), remark=COPIES_REMARK, warning=COPIES_WARNING, fault=COPIES_FAULT),
        seen=f"the target is the source in {len(found):,} of {len(train):,} pairs ({percent(len(found), len(train))})",
        means="lines that were never translated; a few percent teach a model to copy (Khayrallah and Koehn 2018)",
        remedy="take them out; if all are copies, a file was given twice: look at data.train and data.columns",
        examples=tuple(place(pair, pair.source) for pair in found[:SHOWN]),
        figures={"lines": len(train), "copies": len(found)},
    )


def dropped(ledger: Path) -> Finding:
    """What reading has lost, by the ledger of a run."""
    *entries, last = _records(ledger)
    read = int(last["totals"]["read"])
    lost = [entry for entry in entries if entry["reason"] != "header"]
    counts = Counter(entry["reason"] for entry in lost)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    first = {entry["reason"]: entry for entry in reversed(lost)}  # one of each kind says more than five alike
    return Finding(
        name="dropped lines",
        level=graded(len(lost) / max(1, read), warning=DROPPED_WARNING, fault=DROPPED_FAULT),
        seen=f"{len(lost):,} of {read:,} lines ({percent(len(lost), read)}) cannot be used"
        + (f": {reasons}" if lost else ""),
        means="they are left out; many with one reason are a wrong form or a wrong limit rather than bad lines",
        remedy="empty, no-tab, bad-json, missing-key: look at the file, data.columns and data.header; too-long, "
        "length-ratio: data.longest and data.ratio; not-utf8: convert it with iconv",
        examples=tuple(
            f"{entry['file']}:{entry['line']}: {entry['reason']} {entry.get('detail', '')}".rstrip()
            for entry in list(first.values())[:SHOWN]
        ),
        figures={"lines": read, "dropped": len(lost)},
    )


def _records(ledger: Path) -> list[dict[str, Any]]:
    with ledger.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def unknown(pairs: Sequence[Pair], texts: Sequence[str], vocabulary: Vocabulary, name: str) -> Finding:
    """How much of `texts`, one side of `pairs`, the vocabulary has no piece for."""
    spelt = {index for index, piece in enumerate(vocabulary.names(range(len(vocabulary)))) if _BYTE.fullmatch(piece)}
    rows = vocabulary.split_all(texts)
    pieces = max(1, sum(map(len, rows)))
    lost = [sum(index == UNK for index in row) for row in rows]
    in_bytes = [sum(index in spelt for index in row) for row in rows]
    lines = [pair for pair, one, two in zip(pairs, lost, in_bytes, strict=True) if one + two]
    share, byte_share = sum(lost) / pieces, sum(in_bytes) / pieces
    level = max(
        graded(share, remark=UNKNOWN_REMARK, warning=UNKNOWN_WARNING, fault=UNKNOWN_FAULT),
        graded(byte_share, remark=UNKNOWN_WARNING, warning=UNKNOWN_FAULT),
        key=LEVELS.index,
    )
    return Finding(
        name=f"unknown pieces, {name}",
        level=level,
        seen=f"{percent(sum(lost), pieces)} of {pieces:,} pieces are unknown, "
        f"{percent(sum(in_bytes), pieces)} are bytes, in {len(lines):,} of {len(rows):,} lines",
        means="what is unknown can be neither read nor written; what is spelt in bytes is learnt slowly",
        remedy="raise pieces.size; choose pieces.kind unigram or bpe with pieces.byte_fallback; for Hangul, "
        "pieces.jamo; and see whether the line is in the language you mean",
        examples=tuple(place(pair) for pair in lines[:SHOWN]),
        figures={"pieces": pieces, "unknown": share, "bytes": byte_share},
    )


def balance(train: Sequence[Pair]) -> Finding:
    """How the labels are shared out."""
    counts = Counter(pair.target for pair in train)
    (label, most), *_ = counts.most_common(1)
    rare = sorted(name for name, count in counts.items() if count < RARE)
    lopsided = most / len(train) >= MAJORITY
    return Finding(
        name="balance of labels",
        level="warning" if lopsided else "remark" if rare else "ok",
        seen=f"{len(counts):,} labels; {label!r} on {percent(most, len(train))} of {len(train):,} lines"
        + (f"; {len(rare):,} labels on fewer than {RARE} lines" if rare else ""),
        means=f"a model that always says {label!r} is right in {percent(most, len(train))}; rare labels are not learnt",
        remedy="judge by macro_f1 (training.criterion); gather more of the rare labels or join them",
        examples=tuple(f"{name!r}: {counts[name]} lines" for name in rare[:SHOWN]),
        figures={"labels": len(counts), "majority": most / len(train), "rare": len(rare)},
    )


def contradictions(train: Sequence[Pair]) -> Finding:
    """Texts that have one label here and another one there."""
    first: dict[str, Pair] = {}
    found = [
        (pair, before)
        for pair in train
        if (before := first.setdefault(pair.source.casefold(), pair)).target != pair.target
    ]
    return Finding(
        name="contradictions",
        level=graded(len(found) / max(1, len(train)), remark=0.001, warning=0.05),
        seen=f"{len(found):,} of {len(train):,} lines ({percent(len(found), len(train))}) "
        "have another label than the same text before",
        means="nobody can be right on both; so much of the accuracy is out of reach",
        remedy="decide on one label for each text",
        examples=tuple(f"{place(pair)}  but {_at(before)}: {before.target}" for pair, before in found[:SHOWN]),
        figures={"lines": len(train), "contradictions": len(found)},
    )


def given_away(train: Sequence[Pair]) -> Finding:
    """Texts in which their own label is written."""
    named = [pair for pair in train if _stands_in(pair.target.casefold(), pair.source.casefold())]
    return Finding(
        name="labels in the text",
        level=graded(len(named) / max(1, len(train)), remark=0.1, warning=MARKED),
        seen=f"the label stands in the text of {len(named):,} of {len(train):,} lines "
        f"({percent(len(named), len(train))})",
        means="the model may learn to find that word instead of reading; where it is missing, it will fail",
        remedy="take the word out of the texts if it is a mark of how they were gathered (a tag, a file name)",
        examples=tuple(place(pair) for pair in named[:SHOWN]),
        figures={"lines": len(train), "named": len(named)},
    )


def _stands_in(label: str, text: str) -> bool:
    """As a word of its own; a label of one character (0, 1, A) stands in many texts by chance."""
    return len(label) > 1 and label in text and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text) is not None


def strange_labels(known: Iterable[str], held: Sequence[Pair], name: str) -> Finding:
    """Lines of a held-out set whose label is not among those learnt."""
    taught = set(known)
    strange = [pair for pair in held if pair.target not in taught]
    return Finding(
        name=f"labels of {name}",
        level="fault" if strange else "ok",
        seen=f"{len(strange):,} of {len(held):,} lines of {name} have a label that train has not",
        means=f"no model can give that answer, and scoring {name} will stop there when training is over",
        remedy=f"correct these labels, or take the lines out of {name}",
        examples=tuple(place(pair) for pair in strange[:SHOWN]),
        figures={"lines": len(held), "strange": len(strange)},
    )
