"""Sentence alignment: known edits are recovered, every sentence is in one bead."""

import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tongsa.cli import main
from tongsa.tokenization.sentence_alignment import BEADS, align_sentences

SENTENCES = st.lists(st.text("ab ", max_size=30), max_size=12)


@given(SENTENCES, SENTENCES)
def test_every_sentence_is_in_exactly_one_bead(source: list[str], target: list[str]) -> None:
    beads = align_sentences(source, target)
    assert [i for bead in beads for i in bead.source] == list(range(len(source)))
    assert [j for bead in beads for j in bead.target] == list(range(len(target)))
    assert {(len(bead.source), len(bead.target)) for bead in beads} <= BEADS.keys()


def _document(count: int) -> tuple[list[str], list[str]]:
    draw = random.Random(5)
    words = [("".join(draw.choices("abcdefg", k=5)), "".join(draw.choices("stuvwxyz", k=6))) for _ in range(80)]
    sentences = [draw.choices(words, k=draw.randint(4, 14)) for _ in range(count)]
    return [" ".join(a for a, _ in s) for s in sentences], [" ".join(b for _, b in s) for s in sentences]


def test_insertions_deletions_and_merges_are_recovered() -> None:
    source, target = _document(120)
    target = [*target[:20], *target[21:50], f"{target[50]} {target[51]}", *target[52:80], target[80], *target[81:]]
    source = [*source[:90], f"{source[90]} {source[91]}", *source[92:]]
    target.insert(60, "nothing in the source translates to these words")
    beads = align_sentences(source, target)
    shapes = [(bead.source.start, len(bead.source), len(bead.target)) for bead in beads]
    assert [shape for shape in shapes if shape[1:] != (1, 1)] == [(20, 1, 0), (50, 2, 1), (62, 0, 1), (90, 1, 2)]


def test_unaligned_lines_are_in_the_ledger(tmp_path: Path) -> None:
    source, target = _document(40)
    (tmp_path / "a.txt").write_text("\n".join(source) + "\n\n")
    (tmp_path / "b.txt").write_text("\n".join([*target[:10], *target[11:]]) + "\n")
    output = tmp_path / "out.tsv"
    command = ["data", "align", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-o", str(output)]
    assert main(command) == 0
    pairs = [line.split("\t")[:2] for line in output.read_text().splitlines()]
    assert pairs == [[a, b] for i, (a, b) in enumerate(zip(source, target, strict=True)) if i != 10]
    ledger = (tmp_path / "out.tsv.ledger.jsonl").read_text()
    assert '"line": 11, "reason": "unaligned"' in ledger and '"read": 80, "kept": 78' in ledger
    assert main(command) == 2
