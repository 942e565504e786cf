"""Subword tokenizers: lossless, deterministic, sampled for regularization."""

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
from tongsa.tokenization.regularization import UnigramModel, bpe_dropout, build_lattice, sample_segmentation
from tongsa.tokenization.special import BOS, EOS, PAD, UNK
from tongsa.tokenization.subword import ModelType, SubwordTokenizer, TokenizerConfig, sample_rows, train_tokenizer

TEXTS = [
    "the cat sat on the mat and the dog ran away",
    "a dog runs, the cats run: running is what they do",
    "그는 학교에 갔다. 나는 집에 갔었다. 1234",
    "she said <s> and </s> and <unk> 12 times",
] * 5
LOSSLESS: list[ModelType] = ["unigram", "bpe", "char"]


@cache
def trained_tokenizer(model: ModelType, jamo: bool = False, byte_fallback: bool = True) -> SubwordTokenizer:
    return train_tokenizer(TEXTS, TokenizerConfig(model=model, vocab_size=400, jamo=jamo, byte_fallback=byte_fallback))


fragments = st.sampled_from(
    ["<s>", "</s>", "<unk>", "<pad>", "<0x41>", "▁", "▅", "⁇", " ", "\u3000", "the cat", "갔다"]
)
hard_text = st.lists(fragments | st.text(st.characters(codec=None), max_size=4), max_size=8).map("".join)


@pytest.mark.parametrize("jamo", [False, True])
@pytest.mark.parametrize("model", LOSSLESS)
@given(text=hard_text)
@example(text="")
@example(text=" ")
@example(text="\ufffd\uffff\U0010ffff\ufdd0")
@example(text="...a , b 007 👩\u200d🚀 \u1112\u1161")
def test_decode_inverts_encode(model: ModelType, jamo: bool, text: str) -> None:
    tokenizer = trained_tokenizer(model, jamo)
    tokens = tokenizer.encode(text)
    assert tokenizer.decode([BOS, *tokens, EOS, PAD]) == normalize(text)
    assert not {PAD, BOS, EOS, UNK} & set(tokens)


@pytest.mark.parametrize("model", ["unigram", "bpe"])
@given(text=hard_text, alpha=st.sampled_from([0.01, 0.3, 1.0]), seed=st.integers())
@settings(max_examples=50)
def test_decode_inverts_a_sampled_segmentation(model: ModelType, text: str, alpha: float, seed: int) -> None:
    tokenizer = trained_tokenizer(model, jamo=True)
    assert tokenizer.decode(tokenizer.sample_all([text], alpha, [seed])[0]) == normalize(text)


@given(st.lists(st.sampled_from(["the", "cat", "갔다.", "running"]) | st.just("zebra")))
def test_each_unknown_word_is_one_unk(words: list[str]) -> None:
    tokenizer = trained_tokenizer("word")
    assert tokenizer.encode(" ".join(words)).count(UNK) == words.count("zebra")
    assert tokenizer.decode(tokenizer.encode(" ".join(words))) == " ".join(words).replace("zebra", "⁇")


def test_without_byte_fallback_an_unknown_character_is_unk() -> None:
    tokenizer = trained_tokenizer("unigram", byte_fallback=False)
    assert tokenizer.encode("dog 😀😀")[-1] == UNK
    assert tokenizer.sample_all(["dog 😀😀"], 0.5, [0])[0].count(UNK) == 1


@pytest.mark.parametrize("model", ["unigram", "bpe", "char", "word"])
def test_training_is_deterministic_and_the_model_type_is_detected(model: ModelType) -> None:
    again = train_tokenizer(iter(TEXTS), TokenizerConfig(model=model, vocab_size=400))
    assert again.model_type == model
    assert again.model_bytes == trained_tokenizer(model).model_bytes
    assert len(again) <= 400
    assert again.token_strings([PAD, BOS, EOS, UNK]) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_encode_all_equals_encode_for_each_text() -> None:
    tokenizer = trained_tokenizer("unigram")
    many = [f"{text} {number}" for number in range(700) for text in TEXTS[:3]]
    assert tokenizer.encode_all(many) == [tokenizer.encode(text) for text in many]
    assert tokenizer.encode_all([]) == []


def test_decode_all_equals_decode_for_each_output() -> None:
    tokenizer = trained_tokenizer("unigram")
    outputs = [[], *tokenizer.encode_all(TEXTS), [EOS], [EOS, *tokenizer.encode(TEXTS[0])]]
    assert tokenizer.decode_all(outputs) == [tokenizer.decode(tokens) for tokens in outputs]
    assert tokenizer.decode_all([]) == []
    assert tokenizer.decode_all([[]]) == tokenizer.decode_all([[EOS]]) == [""]


def test_token_strings_show_spaces_and_composed_syllables() -> None:
    assert (
        "".join(
            trained_tokenizer("char", jamo=True).token_strings(trained_tokenizer("char", jamo=True).encode("the 갔다"))
        )
        != "▁the▁갔다"
    )
    assert "".join(trained_tokenizer("char").token_strings(trained_tokenizer("char").encode("the 갔다"))) == "▁the▁갔다"
    assert "▁갔다" in train_tokenizer(["갔다 갔다 가다"], TokenizerConfig(model="bpe", jamo=True)).token_strings(
        range(260, 275)
    )


# --- sampled segmentations


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_a_sample_depends_on_text_alpha_and_seed_only(model: ModelType) -> None:
    tokenizer = trained_tokenizer(model)
    seeds = range(7, 7 + len(TEXTS))
    first = tokenizer.sample_all(TEXTS, 0.3, seeds)
    tokenizer.sample_all(TEXTS, 0.9, seeds)
    assert tokenizer.sample_all(TEXTS[::-1], 0.3, seeds[::-1]) == first[::-1]
    assert [tokenizer.sample_all([text], 0.3, [seed])[0] for text, seed in zip(TEXTS, seeds, strict=True)] == first
    assert tokenizer.sample_all(TEXTS, 0.3, [seed + 1 for seed in seeds]) != first
    assert len({tuple(tokens) for tokens in first}) > 4  # four texts with more than four segmentations


@pytest.mark.parametrize("model", ["unigram", "bpe", "char", "word"])
def test_alpha_zero_is_the_plain_encoding(model: ModelType) -> None:
    assert trained_tokenizer(model).sample_all(TEXTS, 0, range(len(TEXTS))) == trained_tokenizer(model).encode_all(
        TEXTS
    )


@pytest.mark.parametrize("model", ["char", "word"])
def test_char_and_word_models_have_one_segmentation(model: ModelType) -> None:
    assert trained_tokenizer(model).sample_all(TEXTS, 0.5, range(len(TEXTS))) == trained_tokenizer(model).encode_all(
        TEXTS
    )


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_another_process_samples_the_same(model: ModelType, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    trained_tokenizer(model).save(path)
    program = (
        "import sys; from pathlib import Path; from tongsa.tokenization.subword import SubwordTokenizer;"
        "print(*SubwordTokenizer.load(Path(sys.argv[1])).sample_all(['the cats ran away', '갔다'], 0.2, [5, 6]))"
    )
    answer = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    rows = trained_tokenizer(model).sample_all(["the cats ran away", "갔다"], 0.2, [5, 6])
    assert answer.stdout.strip() == " ".join(map(str, rows))


def test_bpe_without_dropout_equals_sentencepiece() -> None:
    tokenizer = trained_tokenizer("bpe")
    assert tokenizer.sample_all(TEXTS, 1e-12, range(len(TEXTS))) == tokenizer.encode_all(TEXTS)
    assert all(len(part) == 1 for part in bpe_dropout("▁the", {"th": 0.0, "▁the": -1.0}, 1.0, Random(0)))


def test_a_large_alpha_gives_the_most_probable_segmentation() -> None:
    tokenizer = trained_tokenizer("unigram")
    cold = tokenizer.sample_all(TEXTS, 1000.0, range(len(TEXTS)))
    for drawn, best in zip(cold, tokenizer.encode_all(TEXTS), strict=True):
        scores = [sum(map(tokenizer._processor.get_score, tokens)) for tokens in (drawn, best)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_sampling_frequencies_match_the_probabilities() -> None:
    alphabet = UnigramModel.from_log_probs({"a": -1.0, "b": -2.0, "ab": -2.5})  # P(a b) = e⁻³, P(ab) = e⁻²·⁵
    nodes, generator = build_lattice("ab", alphabet, alpha=0.5), Random(0)
    counts = Counter(" ".join(sample_segmentation("ab", nodes, generator)) for _ in range(4000))
    assert counts["ab"] / 4000 == pytest.approx(1 / (1 + 2.718281828**-0.25), abs=0.03)
    assert set(counts) == {"ab", "a b"}


# --- training: edge cases


@pytest.mark.parametrize("model", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("texts", [["a"], ["a a a"], ["가나다"], ["▅ x <s>"], ["1", "2 3"]])
def test_a_tiny_text_gives_a_smaller_vocabulary(model: ModelType, texts: list[str]) -> None:
    tokenizer = train_tokenizer(texts, TokenizerConfig(model=model))
    assert 4 < len(tokenizer) < 300
    assert tokenizer.decode(tokenizer.encode(texts[0].replace("<s>", "").replace("▅", ""))).strip("▅ ")


@pytest.mark.parametrize("texts", [[], ["", " \t"], ["<s>", "▅"]])
def test_no_text_is_an_error(texts: list[str]) -> None:
    with pytest.raises(CorpusError, match="no text to train a tokenizer on"):
        train_tokenizer(texts, TokenizerConfig())


rare_character_texts = ["".join(map(chr, range(0x4E00 + start, 0x4E00 + start + 50))) for start in range(0, 3100, 50)]
skewed_texts = rare_character_texts + ["".join(map(chr, range(0x4E00, 0x4E00 + 2500)))] * 200


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("model", LOSSLESS)
@pytest.mark.parametrize("texts", [TEXTS, skewed_texts], ids=["small alphabet", "large alphabet"])
def test_a_too_small_vocab_size_names_the_minimum(model: ModelType, byte_fallback: bool, texts: list[str]) -> None:
    def train_with_size(size: int) -> SubwordTokenizer:
        return train_tokenizer(texts, TokenizerConfig(model=model, vocab_size=size, byte_fallback=byte_fallback))

    with pytest.raises(InputError, match="too small for this text") as caught:
        train_with_size(20)
    minimum = int(str(caught.value).split("at least ")[1].rstrip("."))
    assert len(train_with_size(minimum)) <= minimum
    with pytest.raises(InputError, match=f"Write at least {minimum}"):
        train_with_size(minimum - 1)


def test_rare_characters_of_a_large_alphabet_become_bytes() -> None:
    tokenizer = train_tokenizer(skewed_texts, TokenizerConfig(model="char"))
    assert len(tokenizer) < 260 + 3100
    assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in rare_character_texts)


@pytest.mark.parametrize("model", LOSSLESS)
def test_a_very_long_line_is_used_for_training(model: ModelType) -> None:
    tokenizer = train_tokenizer(["x" * 70_000 + " gaga" * 2_000], TokenizerConfig(model=model, vocab_size=270))
    assert {"▁", "g", "x"} <= set(tokenizer.token_strings(range(len(tokenizer))))


def test_a_huge_corpus_is_sampled_uniformly() -> None:
    rows = sample_rows(10_000, 1000)
    assert rows == sorted(set(rows)) and len(rows) == 1000
    assert 4500 < sum(rows) / 1000 < 5500
    assert sample_rows(7, 1000) == list(range(7))


def test_repeated_text_does_not_slow_training_down() -> None:
    repeated = train_tokenizer(
        ["the cat sat on the mat"] * 20_000 + ["gaga"], TokenizerConfig()
    )  # takes minutes without counting the words first
    assert repeated.token_strings(repeated.encode("the cat")) == ["▁the", "▁cat"]


def test_the_order_of_the_texts_does_not_matter() -> None:
    assert (
        train_tokenizer(TEXTS[::-1], TokenizerConfig(vocab_size=400)).model_bytes
        == trained_tokenizer("unigram").model_bytes
    )


# --- on disk


def test_a_loaded_tokenizer_equals_the_saved_one(tmp_path: Path) -> None:
    tokenizer = trained_tokenizer("bpe", jamo=True)
    tokenizer.save(tmp_path / "tokenizer.model")
    other = SubwordTokenizer.load(tmp_path / "tokenizer.model", jamo=True)
    assert (other.model_bytes, other.jamo) == (tokenizer.model_bytes, True)
    assert other.encode_all(TEXTS) == tokenizer.encode_all(TEXTS)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.model"]


@pytest.mark.parametrize(
    "content", [b"", b"junk", trained_tokenizer("char").model_bytes[:-9], trained_tokenizer("char").model_bytes[:200]]
)
def test_a_damaged_model_is_an_error_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer\.model: .*Copy the file again"):
        SubwordTokenizer.load(tmp_path / "tokenizer.model")


def test_a_missing_model_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.model: cannot be read"):
        SubwordTokenizer.load(tmp_path / "gone.model")


@pytest.mark.parametrize("alpha", [-0.1, 1.5, float("nan")])
def test_invalid_subword_regularization_is_an_error(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"out of range\. Write a number in \[0, 1\]"):
        TokenizerConfig(subword_regularization=alpha)
    with pytest.raises(InputError, match="one segmentation only"):
        TokenizerConfig(model="char", subword_regularization=0.1)
