"""What is wrong with a corpus: lines that leak, repeat, copy, were lost, or that the vocabulary cannot write."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tongsa.checks.finding import LEVELS, MAX_EXAMPLES, Finding, format_pair, level_for_share, percent
from tongsa.data.ledger import Pair
from tongsa.tokenization.special import UNK
from tongsa.tokenization.tokenizer import Tokenizer

Item = TypeVar("Item")

LEAK_WARNING, LEAK_FAULT = 0.01, 0.2
"""Short lines (“Thank you.”) recur by themselves in some percent of a set; a fifth of it does not."""
SAME_SOURCE_WARNING = 0.2
"""The same source with another target is what homographs and paraphrases look like."""
DUPLICATES_REMARK, DUPLICATES_WARNING = 0.02, 0.3
COPIES_REMARK, COPIES_WARNING, COPIES_FAULT = 0.01, 0.1, 0.95
"""Spelling correction copies half of its lines; what copies nearly all has nothing to teach."""
UNKNOWN_REMARK, UNKNOWN_WARNING, UNKNOWN_FAULT = 0.001, 0.01, 0.2
DROPPED_WARNING, DROPPED_FAULT = 0.05, 0.5
MAJORITY_WARNING = 0.95
MIN_EXAMPLES_PER_LABEL = 10
"""A label with fewer examples than this is hardly learnt."""
LABEL_IN_TEXT_WARNING = 0.5
"""Labels named by so many of their own texts give the answer away."""

_BYTE_TOKEN = re.compile("<0x[0-9A-F]{2}>")


def evenly_spaced(items: Sequence[Item], count: int) -> Sequence[Item]:
    """At most `count` items, evenly spread over all, in order."""
    return items if len(items) <= count else [items[at * len(items) // count] for at in range(count)]


def _casefolded_pair(pair: Pair) -> tuple[str, str]:
    """Case is no difference: “Ein Hund.” gives “ein Hund.” away."""
    return pair.source.casefold(), pair.target.casefold()


def check_leakage(
    known_pairs: Iterable[Pair], held_out: Sequence[Pair], name: str, known_name: str = "train"
) -> Finding:
    """Lines of a held-out set, `name`, that stand in what was known before it, `home`, as well."""
    wanted = {_casefolded_pair(pair) for pair in held_out}
    sources = {source for source, _ in wanted if source}
    met: dict[tuple[str, str], Pair] = {}
    asked: set[str] = set()
    for pair in known_pairs:
        key = _casefolded_pair(pair)
        if key in wanted:
            met.setdefault(key, pair)
        elif key[0] in sources:
            asked.add(key[0])
    same = [pair for pair in held_out if _casefolded_pair(pair) in met]
    other = [pair for pair in held_out if _casefolded_pair(pair) not in met and pair.source.casefold() in asked]
    level = max(
        level_for_share(len(same) / max(1, len(held_out)), warning=LEAK_WARNING, fault=LEAK_FAULT),
        level_for_share(len(other) / max(1, len(held_out)), warning=SAME_SOURCE_WARNING),
        key=LEVELS.index,
    )
    seen = f"{len(same):,} of {len(held_out):,} lines of {name} ({percent(len(same), len(held_out))}) stand in {known_name} as well"
    return Finding(
        name=f"leakage into {name}" if known_name == "train" else f"leakage from {known_name} into {name}",
        level=level,
        seen=seen + (f"; {len(other):,} more sources do, with another target" if other else ""),
        means="what was learnt by heart is scored as if it had been understood: the score is too high"
        if known_name == "train"
        else f"the model is chosen by lines that it is scored on: the score of {name} is too high",
        remedy=f"take these lines out of {known_name}, or say with the score that {name} is not all unseen",
        examples=tuple(
            f"{format_pair(pair)}  = {_location(met[_casefolded_pair(pair)])}" for pair in same[:MAX_EXAMPLES]
        )
        + tuple(
            f"{format_pair(pair)}  (another target in train)"
            for pair in other[: MAX_EXAMPLES - len(same[:MAX_EXAMPLES])]
        ),
        numbers={"lines": len(held_out), "same": len(same), "same_source": len(other)},
    )


def _location(pair: Pair) -> str:
    return f"{pair.file}:{pair.line}"


def check_duplicates(train: Sequence[Pair]) -> Finding:
    """Pairs that stand in train more than once."""
    counts = Counter(map(_casefolded_pair, train))
    extra = len(train) - len(counts)
    most = [(key, count) for key, count in counts.most_common(MAX_EXAMPLES) if count > 1]
    several = len(counts) - len({source for source, _ in counts}) if train and train[0].source else 0
    seen = f"{extra:,} of {len(train):,} lines ({percent(extra, len(train))}) repeat another one"
    return Finding(
        name="duplicates",
        level=level_for_share(extra / max(1, len(train)), remark=DUPLICATES_REMARK, warning=DUPLICATES_WARNING),
        seen=seen + (f"; {several:,} more targets for a source that has one already" if several else ""),
        means="what is repeated weighs more: the model leans towards it, and an epoch is shorter than it looks",
        remedy="keep one of each (sort -u), unless the repetition is meant",
        examples=tuple(f"{count:,} × {' → '.join(filter(None, key))[:80]}" for key, count in most),
        numbers={"lines": len(train), "repeated": extra, "further_targets": several},
    )


def check_copies(train: Sequence[Pair]) -> Finding:
    """Pairs whose target is their source."""
    found = [pair for pair in train if pair.source.casefold() == pair.target.casefold()]
    return Finding(
        name="copies",
        level=level_for_share(
            len(found) / max(1, len(train)), remark=COPIES_REMARK, warning=COPIES_WARNING, fault=COPIES_FAULT
        ),
        seen=f"the target is the source in {len(found):,} of {len(train):,} pairs ({percent(len(found), len(train))})",
        means="lines that were never translated; a few percent teach a model to copy (Khayrallah and Koehn 2018)",
        remedy="take them out; if all are copies, a file was given twice: look at data.train and data.columns",
        examples=tuple(format_pair(pair, pair.source) for pair in found[:MAX_EXAMPLES]),
        numbers={"lines": len(train), "copies": len(found)},
    )


def check_dropped(ledger_path: Path) -> Finding:
    """What reading has lost, by the ledger of a run."""
    *entries, last = _read_ledger(ledger_path)
    read = int(last["totals"]["read"])
    lost = [entry for entry in entries if entry["reason"] != "header"]
    counts = Counter(entry["reason"] for entry in lost)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    first = {entry["reason"]: entry for entry in reversed(lost)}  # one of each kind says more than five alike
    return Finding(
        name="dropped lines",
        level=level_for_share(len(lost) / max(1, read), warning=DROPPED_WARNING, fault=DROPPED_FAULT),
        seen=f"{len(lost):,} of {read:,} lines ({percent(len(lost), read)}) cannot be used"
        + (f": {reasons}" if lost else ""),
        means="they are left out; many with one reason are a wrong form or a wrong limit rather than bad lines",
        remedy="empty, no-tab, bad-json, missing-key: look at the file, data.columns and data.header; too-long, "
        "length-ratio: data.max_tokens and data.max_length_ratio; not-utf8: convert it with iconv",
        examples=tuple(
            f"{entry['file']}:{entry['line']}: {entry['reason']} {entry.get('detail', '')}".rstrip()
            for entry in list(first.values())[:MAX_EXAMPLES]
        ),
        numbers={"lines": read, "dropped": len(lost)},
    )


def _read_ledger(ledger_path: Path) -> list[dict[str, Any]]:
    with ledger_path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def check_unknown_tokens(pairs: Sequence[Pair], texts: Sequence[str], tokenizer: Tokenizer, name: str) -> Finding:
    """How much of `texts`, one side of `pairs`, the vocabulary has no piece for."""
    spelt = {
        index
        for index, piece in enumerate(tokenizer.token_strings(range(len(tokenizer))))
        if _BYTE_TOKEN.fullmatch(piece)
    }
    rows = tokenizer.encode_all(texts)
    pieces = max(1, sum(map(len, rows)))
    lost = [sum(index == UNK for index in row) for row in rows]
    in_bytes = [sum(index in spelt for index in row) for row in rows]
    lines = [pair for pair, one, two in zip(pairs, lost, in_bytes, strict=True) if one + two]
    share, byte_share = sum(lost) / pieces, sum(in_bytes) / pieces
    level = max(
        level_for_share(share, remark=UNKNOWN_REMARK, warning=UNKNOWN_WARNING, fault=UNKNOWN_FAULT),
        level_for_share(byte_share, remark=UNKNOWN_WARNING, warning=UNKNOWN_FAULT),
        key=LEVELS.index,
    )
    return Finding(
        name=f"unknown pieces, {name}",
        level=level,
        seen=f"{percent(sum(lost), pieces)} of {pieces:,} pieces are unknown, "
        f"{percent(sum(in_bytes), pieces)} are bytes, in {len(lines):,} of {len(rows):,} lines",
        means="what is unknown can be neither read nor written; what is spelt in bytes is learnt slowly",
        remedy="raise tokenizer.vocab_size; choose tokenizer.model unigram or bpe with tokenizer.byte_fallback; for Hangul, "
        "tokenizer.jamo; and see whether the line is in the language you mean",
        examples=tuple(format_pair(pair) for pair in lines[:MAX_EXAMPLES]),
        numbers={"pieces": pieces, "unknown": share, "bytes": byte_share},
    )


def check_label_balance(train: Sequence[Pair]) -> Finding:
    """How the labels are shared out."""
    counts = Counter(pair.target for pair in train)
    (label, most), *_ = counts.most_common(1)
    rare = sorted(name for name, count in counts.items() if count < MIN_EXAMPLES_PER_LABEL)
    lopsided = most / len(train) >= MAJORITY_WARNING
    return Finding(
        name="balance of labels",
        level="warning" if lopsided else "remark" if rare else "ok",
        seen=f"{len(counts):,} labels; {label!r} on {percent(most, len(train))} of {len(train):,} lines"
        + (f"; {len(rare):,} labels on fewer than {MIN_EXAMPLES_PER_LABEL} lines" if rare else ""),
        means=f"a model that always says {label!r} is right in {percent(most, len(train))}; rare labels are not learnt",
        remedy="judge by macro_f1 (training.best_metric); gather more of the rare labels or join them",
        examples=tuple(f"{name!r}: {counts[name]} lines" for name in rare[:MAX_EXAMPLES]),
        numbers={"labels": len(counts), "majority": most / len(train), "rare": len(rare)},
    )


def check_contradictions(train: Sequence[Pair]) -> Finding:
    """Texts that have one label here and another one there."""
    first: dict[str, Pair] = {}
    found = [
        (pair, before)
        for pair in train
        if (before := first.setdefault(pair.source.casefold(), pair)).target != pair.target
    ]
    return Finding(
        name="contradictions",
        level=level_for_share(len(found) / max(1, len(train)), remark=0.001, warning=0.05),
        seen=f"{len(found):,} of {len(train):,} lines ({percent(len(found), len(train))}) "
        "have another label than the same text before",
        means="nobody can be right on both; so much of the accuracy is out of reach",
        remedy="decide on one label for each text",
        examples=tuple(
            f"{format_pair(pair)}  but {_location(before)}: {before.target}" for pair, before in found[:MAX_EXAMPLES]
        ),
        numbers={"lines": len(train), "contradictions": len(found)},
    )


def check_label_in_text(train: Sequence[Pair]) -> Finding:
    """Texts in which their own label is written."""
    named = [pair for pair in train if _contains_word(pair.target.casefold(), pair.source.casefold())]
    return Finding(
        name="labels in the text",
        level=level_for_share(len(named) / max(1, len(train)), remark=0.1, warning=LABEL_IN_TEXT_WARNING),
        seen=f"the label stands in the text of {len(named):,} of {len(train):,} lines "
        f"({percent(len(named), len(train))})",
        means="the model may learn to find that word instead of reading; where it is missing, it will fail",
        remedy="take the word out of the texts if it is a mark of how they were gathered (a tag, a file name)",
        examples=tuple(format_pair(pair) for pair in named[:MAX_EXAMPLES]),
        numbers={"lines": len(train), "named": len(named)},
    )


def _contains_word(label: str, text: str) -> bool:
    """As a word of its own; a label of one character (0, 1, A) stands in many texts by chance."""
    return len(label) > 1 and label in text and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text) is not None


def check_unseen_labels(train_labels: Iterable[str], held_out: Sequence[Pair], name: str) -> Finding:
    """Lines of a held-out set whose label is not among those learnt."""
    taught = set(train_labels)
    strange = [pair for pair in held_out if pair.target not in taught]
    return Finding(
        name=f"labels of {name}",
        level="fault" if strange else "ok",
        seen=f"{len(strange):,} of {len(held_out):,} lines of {name} have a label that train has not",
        means=f"no model can give that answer, and scoring {name} will stop there when training is over",
        remedy=f"correct these labels, or take the lines out of {name}",
        examples=tuple(format_pair(pair) for pair in strange[:MAX_EXAMPLES]),
        numbers={"lines": len(held_out), "strange": len(strange)},
    )
