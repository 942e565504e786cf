from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.errors import InputError
from tongsa.text import Labels, normalise
from tongsa.text.labels import MOST

label = st.text(st.characters(codec=None), min_size=1, max_size=8).filter(normalise)
columns = st.lists(label, min_size=2, max_size=20).filter(lambda column: len({normalise(one) for one in column}) > 1)


@given(columns)
@example(["긍정", "부정", "긍정"])
@example(["👍", "👎", "👩\u200d🚀", "👩", "🚀"])
@example(["</s>", "<pad>", "<unk>", "▁", '"', "\\", "\u2028a", "very good", "1"])
def test_every_label_comes_back(column: list[str]) -> None:
    labels = Labels.learn(column)
    indices = labels.split_all(column)
    assert {index for row in indices for index in row} == set(range(len(labels)))
    assert [labels.join(row) for row in indices] == [normalise(one) for one in column]
    assert labels.sample_all(column, 0.1, 7) == indices == [labels.split(one) for one in column]
    assert labels.names(row[0] for row in indices) == [normalise(one) for one in column]


@given(columns, st.integers())
def test_indices_do_not_depend_on_the_order_of_lines(column: list[str], seed: int) -> None:
    shuffled = column * 2
    Random(seed).shuffle(shuffled)
    assert Labels.learn(shuffled).split_all(column) == Labels.learn(column).split_all(column)


@given(columns)
@example(["긍정", "부정"])
@example(["👍🏽", "👎"])
@example(["\ud800", "\x85b", "\u2029c"])
def test_saved_and_loaded_labels_are_the_same(tmp_path_factory: pytest.TempPathFactory, column: list[str]) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.json"
    labels = Labels.learn(column)
    labels.save(path)
    assert Labels.load(path).known == labels.known
    assert Labels.load(path).split_all(column) == labels.split_all(column)


def test_the_file_can_be_read_by_eye(tmp_path: Path) -> None:
    Labels.learn(["부정", "긍정", "부정"]).save(tmp_path / "labels.json")
    assert (tmp_path / "labels.json").read_text("utf-8") == '[\n "긍정",\n "부정"\n]\n'


def test_one_label_in_two_spellings_is_one() -> None:
    assert len(Labels.learn(["\u1112\u1161\u11ab", "한", " 한 ", "글"])) == 2


def test_a_label_never_seen_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"'중립': a label never seen in training; known are '긍정', '부정'$"):
        Labels.learn(["긍정", "부정"]).split_all(["긍정", "중립"])
    with pytest.raises(InputError, match=r"'x': .* known are '00', '01', .*, '09' and 90 more$"):
        Labels.learn(f"{number:02}" for number in range(100)).split("x")


def test_a_column_that_cannot_be_labels_is_refused() -> None:
    for column in ([], ["good"], ["good", " good"]):
        with pytest.raises(InputError, match="two or more distinct labels"):
            Labels.learn(column)
    with pytest.raises(InputError, match="an empty label"):
        Labels.learn(["good", "bad", " "])
    assert len(Labels.learn(map(str, range(MOST)))) == MOST
    with pytest.raises(
        InputError, match=r"1,001 distinct labels, such as '0', '1', '10', .* is this a column of labels\?"
    ):
        Labels.learn(map(str, range(MOST + 1)))


@pytest.mark.parametrize("content", [b"", b"{}", b'["a", 1]', b"\xff\xfe", b'["b", "a"]', b'["a", "a", "b"]', b'["a"]'])
def test_a_damaged_file_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"labels\.json: "):
        Labels.load(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"labels\.json: cannot be read"):
        Labels.load(tmp_path / "labels.json")
