"""The ledger of read, kept and dropped lines."""

import json
from pathlib import Path

import pytest

from tongsa.data.corpus import read_pairs
from tongsa.data.ledger import Ledger, LengthLimits, Pair
from tongsa.errors import InputError


def sample_ledger(folder: Path) -> tuple[Ledger, list[Pair]]:
    file = folder / "a.tsv"
    file.write_text("a\tb\nbad\n가\t나\n", encoding="utf-8")
    ledger = Ledger(folder / "runs" / "ledger.jsonl")
    with ledger:
        pairs = list(read_pairs([file], ledger))
        ledger.revoke(pairs[1], "too-long", "가")
    return ledger, pairs


def test_the_file_lists_each_dropped_line_and_ends_with_totals(tmp_path: Path) -> None:
    ledger, pairs = sample_ledger(tmp_path)
    file = pairs[0].file
    assert ledger.path is not None
    entries = [json.loads(line) for line in ledger.path.read_text(encoding="utf-8").splitlines()]
    counts = {"read": 3, "kept": 1, "dropped": {"no-tab": 1, "too-long": 1}}
    assert entries == [
        {"file": file, "line": 2, "reason": "no-tab", "detail": "expected column 2, got 1"},
        {"file": file, "line": 3, "reason": "too-long", "detail": "가"},
        {"totals": counts | {"files": {file: counts}}},
    ]
    assert "가" in ledger.path.read_text(encoding="utf-8")
    ledger.check()


def test_summary_of_a_ledger(tmp_path: Path) -> None:
    ledger, _ = sample_ledger(tmp_path)
    assert ledger.summary() == f"3 pairs read, 1 kept, 2 dropped (1 no tab, 1 too long); see {ledger.path}"
    assert Ledger(None).summary() == "0 pairs read, all kept"


def test_an_exception_leaves_the_previous_ledger_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text("old")
    with pytest.raises(KeyError), Ledger(path) as ledger:
        ledger.count_read("a")
        ledger.drop("a", 1, "empty")
        raise KeyError
    assert path.read_text() == "old"
    assert '"empty"' in (tmp_path / "ledger.jsonl.part").read_text()


def test_counts_that_do_not_add_up_fail_an_assertion() -> None:
    ledger = Ledger(None)
    ledger.count_read("a")
    with pytest.raises(AssertionError, match="1 read, but 0 kept and 0 dropped"):
        ledger.check()


def test_a_file_name_that_is_not_utf8_can_be_recorded(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        ledger.count_read("\udcff.tsv")
        ledger.drop("\udcff.tsv", 1, "empty")
    entry = json.loads((tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert entry["file"] == "\udcff.tsv"


@pytest.mark.parametrize(
    ("lengths", "reason"),
    [
        ((256, 200), None),
        ((257, 200), "too-long"),
        ((200, 257), "too-long"),
        ((1, 19), None),
        ((1, 20), "length-ratio"),
        ((101, 10), "length-ratio"),
        ((100, 10), None),
    ],
)
def test_length_limits(lengths: tuple[int, int], reason: str | None) -> None:
    dropped = LengthLimits().drop_reason(*lengths)
    assert (dropped and dropped[0]) == reason


def test_a_ratio_of_zero_allows_any_ratio() -> None:
    assert LengthLimits(max_length_ratio=0).drop_reason(1, 256) is None


@pytest.mark.parametrize("ratio", [-1.0, 0.5, float("nan")])
def test_invalid_limits_are_errors(ratio: float) -> None:
    with pytest.raises(InputError, match="max_length_ratio"):
        LengthLimits(max_length_ratio=ratio)
    with pytest.raises(InputError, match="max_tokens"):
        LengthLimits(max_tokens=0)


def test_including_a_ledger_gives_the_same_file_as_recording_directly(tmp_path: Path) -> None:
    direct, pairs = sample_ledger(tmp_path)
    in_memory = Ledger(None)
    assert list(read_pairs([pairs[0].file], in_memory)) == pairs
    with Ledger(tmp_path / "included.jsonl") as included:
        included.include(in_memory)
        included.revoke(pairs[1], "too-long", "가")
    included.check()
    assert direct.path is not None
    assert (tmp_path / "included.jsonl").read_bytes() == direct.path.read_bytes()
