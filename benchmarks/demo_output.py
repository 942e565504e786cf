"""The end of `make demo` in README.md and README.ko.md, with times and scores of benchmarks/results/quality.json."""

from collections.abc import Mapping
from typing import Any

ROWS = ("demo-epyc", "demo-long-epyc")
"""Rows of the results: 1,000 unseen sentences, and sentences longer than any in training."""
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:char|…|beam:4|alpha:0.6"
OUTPUT = """\
```
  <casual> I slept at twelve o'clock
    ✓ 난 열두 시에 잤어
  <polite> He can play badminton
    ✓ 그는 배드민턴을 칠 수 있어요
  Jimin takes a rest because she is sick
    ✓ 지민은 아파서 쉰다
  …
Trained in {trained}, everything in {everything}.
  test       exact match  {exact} %   BLEU  {bleu}   (1,000 sentences, {signature})
  test-long  exact match  {long_exact} %   BLEU  {long_bleu}   (500 sentences longer than any in training)
```"""


def demo_output(figures: Mapping[str, Any]) -> str:
    """Return the block; `figures` has the value of each row by its id, and its details by id and name."""
    test, long = ROWS
    return OUTPUT.format(
        trained=minutes(figures[f"{test} seconds in updates"]),
        everything=minutes(figures[f"{test} seconds, whole command"]),
        exact=figures[test],
        signature=SIGNATURE,
        bleu=figures[f"{test} BLEU (tok:char)"],
        long_exact=figures[long],
        long_bleu=figures[f"{long} BLEU (tok:char)"],
    )


def minutes(seconds: int) -> str:
    """Return a duration as the demo prints it, 2:09."""
    return f"{seconds // 60}:{seconds % 60:02d}"
