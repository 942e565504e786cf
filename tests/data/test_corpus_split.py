"""Laws of the split: nothing is lost, nothing is on two sides."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tongsa.cli import main
from tongsa.data.corpus_split import split_rows, text_keys


@given(st.lists(st.tuples(*[st.integers(0, 12)] * 3), max_size=60), st.integers(0, 9), st.integers(0, 9))
def test_equal_keys_stay_on_one_side_and_counts_add_up(rows: list[tuple[int, int, int]], dev: int, test: int) -> None:
    keys = [np.array([row[i] for row in rows], np.uint64) for i in range(3)]
    split = split_rows(keys, dev, test, seed=3)
    parts = [split.train, split.dev, split.test]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(rows)))
    assert len(split.dev) <= dev and len(split.test) <= test
    for column in keys:
        sides = [set(column[part].tolist()) for part in parts]
        assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2])


def test_keys_ignore_case_and_punctuation() -> None:
    keys = text_keys(["Hello, world!", "hello world", "other", "!?", "!!"], 5).tolist()
    assert keys[0] == keys[1] and len(set(keys)) == 4


def test_documents_stay_whole_and_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    lines = [f"source {i}\ttarget {i}\tbook {i // 10}\n" if i % 7 else f"bad {i}\n" for i in range(400)]
    (tmp_path / "corpus.tsv").write_text("".join(lines))
    command = [
        "data",
        "split",
        str(tmp_path / "corpus.tsv"),
        "--dev-size",
        "30",
        "--test-size",
        "30",
        "--document-column",
        "3",
    ]
    assert [main([*command, "-o", str(tmp_path / name)]) for name in "ab"] == [0, 0]
    read = {name: (tmp_path / "a" / f"{name}.tsv").read_text().splitlines() for name in ("train", "dev", "test")}
    assert read == {name: (tmp_path / "b" / f"{name}.tsv").read_text().splitlines() for name in read}
    assert sum(map(len, read.values())) == sum("\t" in line for line in lines)
    books = [{int(line.split("\t")[0].split()[1]) // 10 for line in part} for part in read.values()]
    assert not (books[0] & books[1] or books[0] & books[2] or books[1] & books[2])
    assert 20 <= len(read["dev"]) <= 30
    assert main([*command, "-o", str(tmp_path / "a")]) == 2  # never replaces a folder


def test_blank_lines_separate_documents(tmp_path: Path) -> None:
    text = "\n\n".join("\n".join(f"s{d} {i}\tt{d} {i}" for i in range(5)) for d in range(30)) + "\n"
    (tmp_path / "corpus.tsv").write_text(text)
    folder = tmp_path / "out"
    options = ["--dev-size", "10", "--test-size", "10", "--by-document", "-o", str(folder)]
    assert main(["data", "split", str(tmp_path / "corpus.tsv"), *options]) == 0
    for name in ("dev", "test"):
        documents = [line.split()[0] for line in (folder / f"{name}.tsv").read_text().splitlines()]
        assert len(documents) == 10 and all(documents.count(document) == 5 for document in documents)
