"""Labels as the vocabulary of a classifier."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.tokenization.labels import MAX_LABELS, LabelTokenizer

label = st.text(st.characters(codec=None), min_size=1, max_size=8).filter(normalize)
columns = st.lists(label, min_size=2, max_size=20).filter(lambda column: len({normalize(text) for text in column}) > 1)


@given(columns)
@example(["긍정", "부정", "긍정"])
@example(["👍", "👎", "👩\u200d🚀", "👩", "🚀"])
@example(["</s>", "<pad>", "<unk>", "▁", '"', "\\", "\u2028a", "very good", "1"])
def test_decode_inverts_encode(column: list[str]) -> None:
    labels = LabelTokenizer.from_texts(column)
    tokens = labels.encode_all(column)
    assert {index for row in tokens for index in row} == set(range(len(labels)))
    assert [labels.decode(row) for row in tokens] == [normalize(text) for text in column]
    assert labels.sample_all(column, 0.1, range(len(column))) == tokens == [labels.encode(text) for text in column]
    assert labels.token_strings(row[0] for row in tokens) == [normalize(text) for text in column]


@given(columns, st.integers())
def test_ids_do_not_depend_on_the_order_of_lines(column: list[str], seed: int) -> None:
    shuffled = column * 2
    Random(seed).shuffle(shuffled)
    assert LabelTokenizer.from_texts(shuffled).encode_all(column) == LabelTokenizer.from_texts(column).encode_all(
        column
    )


@given(columns)
@example(["긍정", "부정"])
@example(["👍🏽", "👎"])
@example(["\ud800", "\x85b", "\u2029c"])
def test_loaded_labels_equal_the_saved_ones(tmp_path_factory: pytest.TempPathFactory, column: list[str]) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.json"
    labels = LabelTokenizer.from_texts(column)
    labels.save(path)
    assert LabelTokenizer.load(path).labels == labels.labels
    assert LabelTokenizer.load(path).encode_all(column) == labels.encode_all(column)


def test_the_file_is_readable_json(tmp_path: Path) -> None:
    LabelTokenizer.from_texts(["부정", "긍정", "부정"]).save(tmp_path / "labels.json")
    assert (tmp_path / "labels.json").read_text("utf-8") == '[\n "긍정",\n "부정"\n]\n'


def test_equivalent_unicode_spellings_are_one_label() -> None:
    assert len(LabelTokenizer.from_texts(["\u1112\u1161\u11ab", "한", " 한 ", "글"])) == 2


def test_an_unknown_label_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'중립': not a label of the training data. Choose from '긍정', '부정'$"):
        LabelTokenizer.from_texts(["긍정", "부정"]).encode_all(["긍정", "중립"])
    with pytest.raises(InputError, match=r"'x': .* Choose from '00', '01', .*, '09' and 90 more$"):
        LabelTokenizer.from_texts(f"{number:02}" for number in range(100)).encode("x")


def test_a_column_that_cannot_be_labels_is_an_error() -> None:
    for column in ([], ["good"], ["good", " good"]):
        with pytest.raises(InputError, match="two distinct labels are needed"):
            LabelTokenizer.from_texts(column)
    with pytest.raises(InputError, match="an empty label"):
        LabelTokenizer.from_texts(["good", "bad", " "])
    assert len(LabelTokenizer.from_texts(map(str, range(MAX_LABELS)))) == MAX_LABELS
    with pytest.raises(InputError, match=r"1,001 distinct labels, such as '0', '1', '10'; at most 1,000 are allowed"):
        LabelTokenizer.from_texts(map(str, range(MAX_LABELS + 1)))


@pytest.mark.parametrize("content", [b"", b"{}", b'["a", 1]', b"\xff\xfe", b'["b", "a"]', b'["a", "a", "b"]', b'["a"]'])
def test_a_damaged_file_is_an_error_with_its_path(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"labels\.json: "):
        LabelTokenizer.load(path)


def test_a_missing_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"labels\.json: cannot be read"):
        LabelTokenizer.load(tmp_path / "labels.json")
