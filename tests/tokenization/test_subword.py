import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tongsa.data.corpus import CorpusError
from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.tokenization import subword as module
from tongsa.tokenization.regularization import UnigramModel, bpe_dropout, build_lattice, sample_segmentation
from tongsa.tokenization.special import BOS, EOS, PAD, UNK
from tongsa.tokenization.subword import ModelType, SubwordTokenizer, TokenizerConfig, train_tokenizer

TEXTS = [
    "the cat sat on the mat and the dog ran away",
    "a dog runs, the cats run: running is what they do",
    "그는 학교에 갔다. 나는 집에 갔었다. 1234",
    "she said <s> and </s> and <unk> 12 times",
] * 5
LOSSLESS: list[ModelType] = ["unigram", "bpe", "char"]


@cache
def learnt(kind: ModelType, jamo: bool = False, byte_fallback: bool = True) -> SubwordTokenizer:
    return train_tokenizer(TEXTS, TokenizerConfig(model=kind, vocab_size=400, jamo=jamo, byte_fallback=byte_fallback))


fragments = st.sampled_from(
    ["<s>", "</s>", "<unk>", "<pad>", "<0x41>", "▁", "▅", "⁇", " ", "\u3000", "the cat", "갔다"]
)
hard_text = st.lists(fragments | st.text(st.characters(codec=None), max_size=4), max_size=8).map("".join)


@pytest.mark.parametrize("jamo", [False, True])
@pytest.mark.parametrize("kind", LOSSLESS)
@given(text=hard_text)
@example(text="")
@example(text=" ")
@example(text="\ufffd\uffff\U0010ffff\ufdd0")
@example(text="...a , b 007 👩\u200d🚀 \u1112\u1161")
def test_nothing_is_lost_between_split_and_join(kind: ModelType, jamo: bool, text: str) -> None:
    pieces = learnt(kind, jamo)
    indices = pieces.encode(text)
    assert pieces.decode([BOS, *indices, EOS, PAD]) == normalize(text)
    assert not {PAD, BOS, EOS, UNK} & set(indices)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(text=hard_text, alpha=st.sampled_from([0.01, 0.3, 1.0]), seed=st.integers())
@settings(max_examples=50)
def test_nothing_is_lost_in_a_drawn_segmentation(kind: ModelType, text: str, alpha: float, seed: int) -> None:
    pieces = learnt(kind, jamo=True)
    assert pieces.decode(pieces.sample_all([text], alpha, seed)[0]) == normalize(text)


@given(st.lists(st.sampled_from(["the", "cat", "갔다.", "running"]) | st.just("zebra")))
def test_each_unknown_word_is_one_unk(words: list[str]) -> None:
    pieces = learnt("word")
    assert pieces.encode(" ".join(words)).count(UNK) == words.count("zebra")
    assert pieces.decode(pieces.encode(" ".join(words))) == " ".join(words).replace("zebra", "⁇")


def test_without_byte_fallback_an_unknown_character_is_unk() -> None:
    pieces = learnt("unigram", byte_fallback=False)
    assert pieces.encode("dog 😀😀")[-1] == UNK
    assert pieces.sample_all(["dog 😀😀"], 0.5, 0)[0].count(UNK) == 1


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_a_model_knows_its_kind_and_is_learnt_alike_every_time(kind: ModelType) -> None:
    again = train_tokenizer(iter(TEXTS), TokenizerConfig(model=kind, vocab_size=400))
    assert again.model_type == kind
    assert again.model_bytes == learnt(kind).model_bytes
    assert len(again) <= 400
    assert again.token_strings([PAD, BOS, EOS, UNK]) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_many_texts_are_split_as_each_alone() -> None:
    pieces = learnt("unigram")
    many = [f"{text} {number}" for number in range(700) for text in TEXTS[:3]]
    assert pieces.encode_all(many) == [pieces.encode(text) for text in many]
    assert pieces.encode_all([]) == []


def test_names_show_spaces_and_whole_syllables() -> None:
    assert "".join(learnt("char", jamo=True).token_strings(learnt("char", jamo=True).encode("the 갔다"))) != "▁the▁갔다"
    assert "".join(learnt("char").token_strings(learnt("char").encode("the 갔다"))) == "▁the▁갔다"
    assert "▁갔다" in train_tokenizer(["갔다 갔다 가다"], TokenizerConfig(model="bpe", jamo=True)).token_strings(
        range(260, 275)
    )


# --- drawn segmentations


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_draw_depends_on_text_alpha_and_seed_alone(kind: ModelType) -> None:
    pieces = learnt(kind)
    first = pieces.sample_all(TEXTS, 0.3, 7)
    pieces.sample_all(TEXTS, 0.9, 1)
    assert pieces.sample_all(TEXTS, 0.3, 7) == first
    assert pieces.sample_all(TEXTS, 0.3, 8) != first
    assert len({tuple(indices) for indices in first}) > 4  # four texts, cut in more than four ways


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_alpha_zero_is_the_plain_split(kind: ModelType) -> None:
    assert learnt(kind).sample_all(TEXTS, 0, 7) == learnt(kind).encode_all(TEXTS)


@pytest.mark.parametrize("kind", ["char", "word"])
def test_what_can_be_cut_in_one_way_is(kind: ModelType) -> None:
    assert learnt(kind).sample_all(TEXTS, 0.5, 7) == learnt(kind).encode_all(TEXTS)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_another_process_draws_the_same(kind: ModelType, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    learnt(kind).save(path)
    program = (
        "import sys; from pathlib import Path; from tongsa.data import Pieces;"
        "print(Pieces.load(Path(sys.argv[1])).sample_all(['the cats ran away', '갔다'], 0.2, 5))"
    )
    answer = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == str(learnt(kind).sample_all(["the cats ran away", "갔다"], 0.2, 5))


def test_merges_without_dropout_are_those_of_sentencepiece() -> None:
    pieces = learnt("bpe")
    assert pieces.sample_all(TEXTS, 1e-12, 0) == pieces.encode_all(TEXTS)
    assert all(len(part) == 1 for part in bpe_dropout("▁the", {"th": 0.0, "▁the": -1.0}, 1.0, Random(0)))


def test_a_cold_draw_is_the_likeliest_segmentation() -> None:
    pieces = learnt("unigram")
    cold = pieces.sample_all(TEXTS, 1000.0, 0)
    for drawn, best in zip(cold, pieces.encode_all(TEXTS), strict=True):
        scores = [sum(map(pieces._processor.get_score, indices)) for indices in (drawn, best)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_segmentations_are_drawn_as_often_as_they_are_likely() -> None:
    alphabet = UnigramModel.from_log_probs({"a": -1.0, "b": -2.0, "ab": -2.5})  # P(a b) = e⁻³, P(ab) = e⁻²·⁵
    nodes, generator = build_lattice("ab", alphabet, alpha=0.5), Random(0)
    counts = Counter(" ".join(sample_segmentation("ab", nodes, generator)) for _ in range(4000))
    assert counts["ab"] / 4000 == pytest.approx(1 / (1 + 2.718281828**-0.25), abs=0.03)
    assert set(counts) == {"ab", "a b"}


# --- learning at the edges


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("texts", [["a"], ["a a a"], ["가나다"], ["▅ x <s>"], ["1", "2 3"]])
def test_a_tiny_text_gives_fewer_pieces_than_asked(kind: ModelType, texts: list[str]) -> None:
    pieces = train_tokenizer(texts, TokenizerConfig(model=kind))
    assert 4 < len(pieces) < 300
    assert pieces.decode(pieces.encode(texts[0].replace("<s>", "").replace("▅", ""))).strip("▅ ")


@pytest.mark.parametrize("texts", [[], ["", " \t"], ["<s>", "▅"]])
def test_no_text_is_an_error(texts: list[str]) -> None:
    with pytest.raises(CorpusError, match="no text to learn pieces from"):
        train_tokenizer(texts, TokenizerConfig())


many_characters = ["".join(map(chr, range(0x4E00 + start, 0x4E00 + start + 50))) for start in range(0, 3100, 50)]
some_often = many_characters + ["".join(map(chr, range(0x4E00, 0x4E00 + 2500)))] * 200


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("texts", [TEXTS, some_often], ids=["small alphabet", "large alphabet"])
def test_a_size_too_small_names_the_smallest_that_works(kind: ModelType, byte_fallback: bool, texts: list[str]) -> None:
    def sized(size: int) -> SubwordTokenizer:
        return train_tokenizer(texts, TokenizerConfig(model=kind, vocab_size=size, byte_fallback=byte_fallback))

    with pytest.raises(InputError, match="needs at least") as caught:
        sized(20)
    smallest = int(str(caught.value).split("at least ")[1].split()[0])
    assert len(sized(smallest)) <= smallest
    with pytest.raises(InputError, match=f"needs at least {smallest}"):
        sized(smallest - 1)


def test_a_large_alphabet_leaves_its_rarest_characters_to_bytes() -> None:
    pieces = train_tokenizer(some_often, TokenizerConfig(model="char"))
    assert len(pieces) < 260 + 3100
    assert all(pieces.decode(pieces.encode(text)) == text for text in many_characters)


@pytest.mark.parametrize("kind", LOSSLESS)
def test_a_very_long_line_is_learnt_from(kind: ModelType) -> None:
    pieces = train_tokenizer(["x" * 70_000 + " gaga" * 2_000], TokenizerConfig(model=kind, vocab_size=270))
    assert {"▁", "g", "x"} <= set(pieces.token_strings(range(len(pieces))))


def test_a_huge_corpus_is_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TRAINING_TEXTS", 1000)
    words = module._count_words((str(number) for number in range(10_000)), jamo=False)
    assert words.total() == 1000
    assert 4500 < sum(map(int, words)) / 1000 < 5500


def test_a_text_repeated_many_times_is_learnt_from_at_once() -> None:
    repeated = train_tokenizer(
        ["the cat sat on the mat"] * 20_000 + ["gaga"], TokenizerConfig()
    )  # minutes if fed as it is
    assert repeated.token_strings(repeated.encode("the cat")) == ["▁the", "▁cat"]


def test_the_order_of_the_texts_does_not_matter() -> None:
    assert train_tokenizer(TEXTS[::-1], TokenizerConfig(vocab_size=400)).model_bytes == learnt("unigram").model_bytes


# --- on disk


def test_saved_and_loaded_pieces_are_the_same(tmp_path: Path) -> None:
    pieces = learnt("bpe", jamo=True)
    pieces.save(tmp_path / "tokenizer.model")
    other = SubwordTokenizer.load(tmp_path / "tokenizer.model", jamo=True)
    assert (other.model_bytes, other.jamo) == (pieces.model_bytes, True)
    assert other.encode_all(TEXTS) == pieces.encode_all(TEXTS)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.model"]


@pytest.mark.parametrize("content", [b"", b"junk", learnt("char").model_bytes[:-9], learnt("char").model_bytes[:200]])
def test_a_damaged_model_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(InputError, match=r"pieces\.model: .*copy it again"):
        SubwordTokenizer.load(tmp_path / "tokenizer.model")


def test_a_missing_model_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.model: cannot be read"):
        SubwordTokenizer.load(tmp_path / "gone.model")


@pytest.mark.parametrize("sampling", [-0.1, 1.5, float("nan")])
def test_impossible_sampling_is_refused(sampling: float) -> None:
    with pytest.raises(InputError, match="from 0"):
        TokenizerConfig(subword_regularization=sampling)
    with pytest.raises(InputError, match="one way only"):
        TokenizerConfig(model="char", subword_regularization=0.1)
