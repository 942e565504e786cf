"""The pairs that the package ships."""

from pathlib import Path

import pytest

from tongsa.demo import SPLITS, read_pairs, read_split, write_splits
from tongsa.demo.demo import PAGE_EXAMPLES, demo_recipe_path


def test_a_split_is_pairs_of_text() -> None:
    assert [len(read_split(split)) for split in SPLITS] == [20000, 500, 1000, 500]
    assert ("I love you", "나는 너를 사랑한다") in read_split("train")
    assert ("<casual> I love you", "난 너를 사랑해") in read_split("train")


def test_an_unknown_split_is_an_error() -> None:
    with pytest.raises(KeyError):
        read_split("validation")


def test_splits_are_written_as_files_of_pairs(tmp_path: Path) -> None:
    paths = write_splits(tmp_path / "data")
    assert [path.name for path in paths.values()] == ["train.tsv", "dev.tsv", "test.tsv", "test-long.tsv"]
    lines = paths["test"].read_text("utf-8").splitlines()
    assert [tuple(line.split("\t")) for line in lines] == read_split("test")


def test_sentences_that_open_the_page_were_trained_on() -> None:
    assert set(PAGE_EXAMPLES) <= {source for source, _ in read_pairs()["train"]}


def test_the_recipe_is_beside_the_pairs() -> None:
    assert demo_recipe_path().is_file()
