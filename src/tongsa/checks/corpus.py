"""Checks of a corpus: train/test leakage, duplicates, copies, dropped lines, unknown tokens, labels."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tongsa.bounded_files import MAX_WEIGHTS_BYTES, MalformedTextError, UnreadableFileError, parse_json, read_lines
from tongsa.checks.finding import LEVELS, MAX_EXAMPLES, Finding, format_pair, level_for_share, percent
from tongsa.data.ledger import Pair
from tongsa.tokenization.special import UNK
from tongsa.tokenization.tokenizer import Tokenizer

Item = TypeVar("Item")

LEAK_WARNING, LEAK_FAULT = 0.01, 0.2
"""A few percent of a set may recur by chance (“Thank you.”); a fifth of it does not."""
SAME_SOURCE_WARNING = 0.2
"""The same source with another target is common: homographs, paraphrases."""
DUPLICATES_REMARK, DUPLICATES_WARNING = 0.02, 0.3
COPIES_REMARK, COPIES_WARNING, COPIES_FAULT = 0.01, 0.1, 0.95
"""Spelling correction copies half of its lines; a corpus that copies nearly all teaches nothing."""
UNKNOWN_REMARK, UNKNOWN_WARNING, UNKNOWN_FAULT = 0.001, 0.01, 0.2
DROPPED_WARNING, DROPPED_FAULT = 0.05, 0.5
DROP_REMEDIES = {
    "empty": "empty: remove the line, or add the missing side",
    "no-tab": "no-tab: write source<TAB>target, or correct data.columns",
    "no-column": "no-column: check the delimiter of these lines, or correct data.columns",
    "bad-quotes": "bad-quotes: double the quotes inside a quoted cell",
    "unterminated-quote": "unterminated-quote: add the closing quote, or double the quote if it belongs to the text",
    "missing-language": "missing-language: correct data.source_language and data.target_language",
    "too-long-line": "too-long-line: split the texts into sentences",
    "bad-json": "bad-json: write one JSON object per line",
    "missing-key": "missing-key: rename the keys to source and target",
    "not-utf8": "not-utf8: these lines are in another encoding than the rest; write the whole file in UTF-8",
    "too-long": "too-long: split the texts into sentences, or raise data.max_tokens",
    "length-ratio": "length-ratio: correct these lines, one side is many times longer than the other",
    "unknown-label": "unknown-label: correct the label, or add lines with it to train",
}
MAJORITY_WARNING = 0.95
MIN_EXAMPLES_PER_LABEL = 10
"""A label with fewer examples is hardly learned."""
LABEL_IN_TEXT_WARNING = 0.5
"""A larger share of texts that contain their own label gives the answer away."""

_BYTE_TOKEN = re.compile("<0x[0-9A-F]{2}>")


def evenly_spaced(items: Sequence[Item], count: int) -> Sequence[Item]:
    """Return at most `count` items, evenly spaced, in order."""
    return items if len(items) <= count else [items[i * len(items) // count] for i in range(count)]


def _casefolded_pair(pair: Pair) -> tuple[str, str]:
    """Return the pair without case, so that “Ein Hund.” and “ein Hund.” are equal."""
    return pair.source.casefold(), pair.target.casefold()


def check_leakage(
    known_pairs: Iterable[Pair], held_out: Sequence[Pair], name: str, known_name: str = "train"
) -> Finding:
    """Find lines of the held-out set `name` that also occur in `known_pairs`, the set `known_name`."""
    same, same_source = _find_overlap(known_pairs, held_out)
    share = len(same) / max(1, len(held_out))
    level = max(
        level_for_share(share, warning=LEAK_WARNING, fault=LEAK_FAULT),
        level_for_share(len(same_source) / max(1, len(held_out)), warning=SAME_SOURCE_WARNING),
        key=LEVELS.index,
    )
    percentage = percent(len(same), len(held_out))
    seen = f"{len(same):,} of {len(held_out):,} lines of {name} ({percentage}) are also in {known_name}"
    examples = [f"{format_pair(pair)}  = {_location(known)}" for pair, known in same[:MAX_EXAMPLES]]
    examples += [
        f"{format_pair(pair)}  has another target in {_location(known)}" for pair, known in same_source[:MAX_EXAMPLES]
    ]
    return Finding(
        name=f"leakage into {name}" if known_name == "train" else f"leakage from {known_name} into {name}",
        level=level,
        seen=seen + (f"; {len(same_source):,} more sources occur there with another target" if same_source else ""),
        means="memorized lines are scored as if they were unseen: the score is too high"
        if known_name == "train"
        else f"the best model is chosen on lines that it is scored on: the score of {name} is too high",
        remedy=f"remove these lines from {known_name}, or report the overlap with the score",
        examples=tuple(examples[:MAX_EXAMPLES]),
        numbers={"lines": len(held_out), "same": len(same), "same_source": len(same_source), "share": share},
    )


def _find_overlap(
    known_pairs: Iterable[Pair], held_out: Sequence[Pair]
) -> tuple[list[tuple[Pair, Pair]], list[tuple[Pair, Pair]]]:
    """Return the held-out pairs that are known, and those whose source is known with another target.

    Each comes with the first known pair like it. The known pairs are read once: they may be larger than memory.
    """
    held_out_keys = {_casefolded_pair(pair) for pair in held_out}
    held_out_sources = {source for source, _ in held_out_keys if source}
    by_pair: dict[tuple[str, str], Pair] = {}
    by_source: dict[str, Pair] = {}
    for pair in known_pairs:
        key = _casefolded_pair(pair)
        if key in held_out_keys:
            by_pair.setdefault(key, pair)
        elif key[0] in held_out_sources:
            by_source.setdefault(key[0], pair)
    same, same_source = list[tuple[Pair, Pair]](), list[tuple[Pair, Pair]]()
    for pair in held_out:
        key = _casefolded_pair(pair)
        if key in by_pair:
            same.append((pair, by_pair[key]))
        elif key[0] in by_source:
            same_source.append((pair, by_source[key[0]]))
    return same, same_source


def _location(pair: Pair) -> str:
    return f"{pair.file}:{pair.line}"


def check_duplicates(train: Sequence[Pair]) -> Finding:
    """Find pairs that occur more than once in train."""
    counts = Counter(map(_casefolded_pair, train))
    extra = len(train) - len(counts)
    repeated = [(key, count) for key, count in counts.most_common(MAX_EXAMPLES) if count > 1]
    further_targets = len(counts) - len({source for source, _ in counts}) if train and train[0].source else 0
    seen = f"{extra:,} of {len(train):,} lines ({percent(extra, len(train))}) are duplicates"
    return Finding(
        name="duplicates",
        level=level_for_share(extra / max(1, len(train)), remark=DUPLICATES_REMARK, warning=DUPLICATES_WARNING),
        seen=seen + (f"; {further_targets:,} sources have a further target" if further_targets else ""),
        means="repeated pairs get more weight in training, and an epoch has less new data than it seems",
        remedy="remove the duplicates (sort -u), unless they are intended",
        examples=tuple(f"{count:,} × {' → '.join(filter(None, key))[:80]}" for key, count in repeated),
        numbers={"lines": len(train), "repeated": extra, "further_targets": further_targets},
    )


def check_copies(train: Sequence[Pair]) -> Finding:
    """Find pairs whose target equals their source."""
    copies = [pair for pair in train if pair.source.casefold() == pair.target.casefold()]
    return Finding(
        name="copies",
        level=level_for_share(
            len(copies) / max(1, len(train)), remark=COPIES_REMARK, warning=COPIES_WARNING, fault=COPIES_FAULT
        ),
        seen=f"{len(copies):,} of {len(train):,} targets ({percent(len(copies), len(train))}) equal their source",
        means="untranslated lines; a few percent are enough to make a model copy (Khayrallah and Koehn 2018)",
        remedy="remove them; if all pairs are copies, check data.train and data.columns",
        examples=tuple(format_pair(pair, pair.source) for pair in copies[:MAX_EXAMPLES]),
        numbers={"lines": len(train), "copies": len(copies)},
    )


def check_dropped(ledger_path: Path) -> Finding:
    """Report the dropped lines in the ledger of a run."""
    *entries, last = _read_ledger(ledger_path)
    read = int(last["totals"]["read"])
    # a line with several reasons counts under the first; the entries of repairs have none
    drops = [entry | entry.get("reasons", [{}])[0] for entry in entries if "repairs" not in entry]
    dropped = [entry for entry in drops if entry["reason"] != "header"]
    counts = Counter(entry["reason"] for entry in dropped)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    first = {entry["reason"]: entry for entry in reversed(dropped)}  # an example of each reason
    return Finding(
        name="dropped lines",
        level=level_for_share(len(dropped) / max(1, read), warning=DROPPED_WARNING, fault=DROPPED_FAULT),
        seen=f"{len(dropped):,} of {read:,} lines ({percent(len(dropped), read)}) were dropped"
        + (f": {reasons}" if dropped else ""),
        means="these lines are not used; many with the same reason suggest a wrong format or a wrong limit",
        remedy="; ".join(DROP_REMEDIES[reason] for reason in counts if reason in DROP_REMEDIES),
        examples=tuple(
            f"{entry['file']}:{entry['line']}: {entry['reason']} {entry.get('detail', '')}".rstrip()
            for entry in list(first.values())[:MAX_EXAMPLES]
        ),
        numbers={"lines": read, "dropped": len(dropped)},
    )


def _read_ledger(ledger_path: Path) -> list[dict[str, Any]]:
    """Return the entries of a ledger; the last one has the totals."""
    try:
        entries = [parse_json(line) for line in read_lines(ledger_path, MAX_WEIGHTS_BYTES)]
        int(entries[-1]["totals"]["read"])
    except (MalformedTextError, IndexError, KeyError, TypeError, ValueError):
        raise UnreadableFileError(ledger_path, "damaged") from None
    return entries


def check_unknown_tokens(pairs: Sequence[Pair], texts: Sequence[str], tokenizer: Tokenizer, name: str) -> Finding:
    """Count the unknown tokens and byte tokens in `texts`, one side of `pairs`."""
    byte_tokens = {
        token
        for token, string in enumerate(tokenizer.token_strings(range(len(tokenizer))))
        if _BYTE_TOKEN.fullmatch(string)
    }
    rows = tokenizer.encode_all(texts)
    total = max(1, sum(map(len, rows)))
    unknown_counts = [sum(token == UNK for token in row) for row in rows]
    byte_counts = [sum(token in byte_tokens for token in row) for row in rows]
    counts = zip(pairs, unknown_counts, byte_counts, strict=True)
    lines = [pair for pair, unknown, in_bytes in counts if unknown + in_bytes]
    unknown_share, byte_share = sum(unknown_counts) / total, sum(byte_counts) / total
    level = max(
        level_for_share(unknown_share, remark=UNKNOWN_REMARK, warning=UNKNOWN_WARNING, fault=UNKNOWN_FAULT),
        level_for_share(byte_share, remark=UNKNOWN_WARNING, warning=UNKNOWN_FAULT),
        key=LEVELS.index,
    )
    return Finding(
        name=f"unknown tokens, {name}",
        level=level,
        seen=f"{percent(sum(unknown_counts), total)} of {total:,} tokens are unknown, "
        f"{percent(sum(byte_counts), total)} are bytes, in {len(lines):,} of {len(rows):,} lines",
        means="the model can neither read nor write unknown tokens; it learns bytes slowly",
        remedy="raise tokenizer.vocab_size; use tokenizer.model unigram or bpe with tokenizer.byte_fallback; for "
        "Hangul, tokenizer.jamo; check the language of these lines",
        examples=tuple(format_pair(pair) for pair in lines[:MAX_EXAMPLES]),
        numbers={"tokens": total, "unknown": unknown_share, "bytes": byte_share},
    )


def check_label_balance(train: Sequence[Pair]) -> Finding:
    """Check the distribution of the labels."""
    counts = Counter(pair.target for pair in train)
    (label, majority), *_ = counts.most_common(1)
    rare = sorted(name for name, count in counts.items() if count < MIN_EXAMPLES_PER_LABEL)
    is_unbalanced = majority / len(train) >= MAJORITY_WARNING
    return Finding(
        name="label balance",
        level="warning" if is_unbalanced else "remark" if rare else "ok",
        seen=f"{len(counts):,} labels; {percent(majority, len(train))} of {len(train):,} lines have {label!r}"
        + (f"; {len(rare):,} labels have fewer than {MIN_EXAMPLES_PER_LABEL} lines" if rare else ""),
        means=f"always answering {label!r} gives {percent(majority, len(train))} accuracy; rare labels are not learned",
        remedy="use training.best_metric = macro_f1; collect more examples of the rare labels, or merge them",
        examples=tuple(f"{name!r}: {counts[name]} lines" for name in rare[:MAX_EXAMPLES]),
        numbers={"labels": len(counts), "majority": majority / len(train), "rare": len(rare)},
    )


def check_contradictions(train: Sequence[Pair]) -> Finding:
    """Find equal texts with different labels."""
    first: dict[str, Pair] = {}
    conflicts = [
        (pair, earlier)
        for pair in train
        if (earlier := first.setdefault(pair.source.casefold(), pair)).target != pair.target
    ]
    return Finding(
        name="contradictions",
        level=level_for_share(len(conflicts) / max(1, len(train)), remark=0.001, warning=0.05),
        seen=f"{len(conflicts):,} of {len(train):,} lines ({percent(len(conflicts), len(train))}) "
        "have another label than an earlier line with the same text",
        means="no model can be right on both; this limits the accuracy",
        remedy="give each text one label",
        examples=tuple(
            f"{format_pair(pair)}  but {_location(earlier)}: {earlier.target}"
            for pair, earlier in conflicts[:MAX_EXAMPLES]
        ),
        numbers={"lines": len(train), "contradictions": len(conflicts)},
    )


def check_label_in_text(train: Sequence[Pair]) -> Finding:
    """Find texts that contain their own label."""
    leaking = [pair for pair in train if _contains_word(pair.target.casefold(), pair.source.casefold())]
    return Finding(
        name="label in text",
        level=level_for_share(len(leaking) / max(1, len(train)), remark=0.1, warning=LABEL_IN_TEXT_WARNING),
        seen=f"{len(leaking):,} of {len(train):,} texts ({percent(len(leaking), len(train))}) contain their label",
        means="the model may learn to look for that word, and fail on texts without it",
        remedy="remove the word from the texts if it comes from their collection (a tag, a file name)",
        examples=tuple(format_pair(pair) for pair in leaking[:MAX_EXAMPLES]),
        numbers={"lines": len(train), "leaking": len(leaking)},
    )


def _contains_word(label: str, text: str) -> bool:
    """Return whether a text contains a label as a word. Labels of one character (0, A) are ignored."""
    return len(label) > 1 and label in text and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text) is not None


def check_unseen_labels(train_labels: Iterable[str], held_out: Sequence[Pair], name: str) -> Finding:
    """Find lines of a held-out set whose label does not occur in train."""
    known = set(train_labels)
    unseen = [pair for pair in held_out if pair.target not in known]
    return Finding(
        name=f"labels of {name}",
        level="fault" if unseen else "ok",
        seen=f"{len(unseen):,} of {len(held_out):,} lines of {name} have a label that does not occur in train",
        means=f"the model cannot predict this label, and the evaluation on {name} will fail",
        remedy=f"correct these labels, or remove the lines from {name}",
        examples=tuple(format_pair(pair) for pair in unseen[:MAX_EXAMPLES]),
        numbers={"lines": len(held_out), "unseen": len(unseen)},
    )
