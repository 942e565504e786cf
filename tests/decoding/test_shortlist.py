"""A shortlist limits the tokens that are scored, never what a request requires."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from table import SIZE, Prefixes, Table, sentences
from tiny import CONFIGS, kind_of
from tongsa import bundle
from tongsa.batch import pad
from tongsa.bundle import Bundle
from tongsa.cli import main
from tongsa.decoding import shortlist
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer, subset_scorer
from tongsa.decoding.shortlist import Shortlist
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.runs.recipe import parse_recipe
from tongsa.tokenization.lexicon import ShortlistCandidates, shortlist_candidates
from tongsa.tokenization.special import EOS, UNK
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

TEXTS = ["the cat sleeps", "나는 고양이를 좋아한다", "a dog reads", "GitHub"]
TOKENIZER = train_tokenizer(TEXTS, TokenizerConfig(model="bpe", vocab_size=330))
SEQ2SEQ = [name for name, config in CONFIGS.items() if config.task == "seq2seq"]


def make_shortlist(candidates: list[int], always: list[int]) -> Shortlist:
    """Return a shortlist with the same candidates for every source token."""
    rows = np.tile(np.array(candidates or [0], dtype=np.int32), (len(TOKENIZER), 1))
    return Shortlist(ShortlistCandidates(rows, np.array(always, dtype=np.int32)))


def make_translator(kind: str, candidates: Shortlist) -> Translator:
    torch.manual_seed(2)
    model = CONFIGS[kind].build(len(TOKENIZER), len(TOKENIZER)).eval()
    decoding = DecodingConfig(beam=3, max_extra_tokens=4)
    return Translator(model, TOKENIZER, TOKENIZER, decoding, load_shortlist=lambda: candidates)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_a_shortlist_of_the_whole_vocabulary_changes_nothing(kind: str) -> None:
    translator = make_translator(kind, make_shortlist([], list(range(len(TOKENIZER)))))
    plain, listed = (translator.translate(TEXTS, nbest=3, shortlist=enabled) for enabled in (False, True))
    for expected, translation in zip(plain, listed, strict=True):
        assert translation.tokens == expected.tokens
        assert [other.text for other in translation.nbest] == [other.text for other in expected.nbest]
        assert translation.token_log_probs == pytest.approx(expected.token_log_probs, abs=1e-5)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_only_listed_tokens_are_produced(kind: str) -> None:
    letters = TOKENIZER.encode("cat")
    translator = make_translator(kind, make_shortlist(letters, []))
    allowed = set(TOKENIZER.token_strings([*letters, UNK]))
    for translation in translator.translate(TEXTS, nbest=3, shortlist=True):
        assert set(translation.tokens) <= allowed
    free = translator.translate(TEXTS)
    assert any(set(translation.tokens) - allowed for translation in free), "the shortlist is used without the setting"


def test_prefixes_are_produced_even_if_they_are_not_listed() -> None:
    translator = make_translator("transformer", make_shortlist(TOKENIZER.encode("cat"), []))
    prefixes = ["고양이", "", "dog", "나는"]
    translations = translator.translate(TEXTS, prefixes=prefixes, shortlist=True)
    for translation, prefix in zip(translations, prefixes, strict=True):
        assert translation.text.startswith(prefix)


def test_alternatives_consider_the_whole_vocabulary() -> None:
    translator = make_translator("transformer", make_shortlist(TOKENIZER.encode("cat"), []))
    listed, free = (translator.alternatives("the cat sleeps", count=5, shortlist=enabled) for enabled in (True, False))
    assert [alternative.tokens[0] for alternative in listed] == [alternative.tokens[0] for alternative in free]


@given(st.integers(0, 10**6), st.sets(st.integers(UNK, SIZE - 1)), st.integers(0, 4), st.integers(1, 4))
def test_a_search_in_a_subset_equals_a_search_with_the_other_tokens_forbidden(
    seed: int, tokens: set[int], max_length: int, beam: int
) -> None:
    table, subset = Table(seed), torch.tensor([0, 1, 2, *sorted(tokens)])
    config, max_lengths = DecodingConfig(beam=beam), torch.tensor([max_length, max_length])
    scorer = subset_scorer(decoder_scorer(table), subset)
    results = beam_search(scorer, table.start(sentences(2), subset), max_lengths, config, nbest=beam)

    def forbid_others(token: torch.Tensor, state: Prefixes) -> tuple[torch.Tensor, Prefixes]:
        logits, state = table.step(token, state)
        logits[:, [other for other in range(SIZE) if other not in subset]] = -torch.inf
        return logits.log_softmax(-1), state

    expected = beam_search(forbid_others, table.start(sentences(2)), max_lengths, config, nbest=beam)
    for nbest, expected_nbest in zip(results, expected, strict=True):
        outputs = [[int(subset[i]) for i in hypothesis.tokens] for hypothesis in nbest]
        possible = [hypothesis.tokens for hypothesis in expected_nbest if hypothesis.score > -torch.inf]
        assert outputs[: len(possible)] == possible


def test_candidates_are_the_tokens_that_occur_together() -> None:
    generator = np.random.default_rng(1)
    sources = [list(generator.choice(np.arange(4, 20), size=5, replace=False)) for _ in range(400)]
    targets = [[token + 30 for token in source] for source in sources]
    candidates = shortlist_candidates([*sources, []], [*targets, [4]], (20, 60), num_candidates=2, num_always=3)
    assert candidates.per_token[4:, 0].tolist() == list(range(34, 50))
    assert not candidates.per_token[:4].any(), "a token that is in no pair has no candidates"
    counts = np.bincount(np.concatenate(targets))
    assert sorted(counts[candidates.always]) == sorted(counts)[-3:]


def test_a_subset_contains_special_and_required_tokens() -> None:
    source = pad([[5, EOS], [6, 6, EOS]])
    subset = make_shortlist([9, 7], [8]).vocab_subset(source, required_tokens=[300, 7])
    assert subset.tolist() == [0, 1, 2, 3, 7, 8, 9, 300]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    config = CONFIGS["rnn_attention"]
    torch.manual_seed(3)
    model_bundle = Bundle(
        kind=kind_of("rnn_attention"),
        config=config,
        model=config.build(len(TOKENIZER), len(TOKENIZER)).eval(),
        source_tokenizer=TOKENIZER,
        target_tokenizer=TOKENIZER,
        decoding=DecodingConfig(beam=2, max_extra_tokens=3),
    )
    bundle.save_bundle(tmp_path / "달리기" / "model", model_bundle, "# card")
    (tmp_path / "쌍.tsv").write_text("".join(f"{text}\t{text}\n" for text in TEXTS), "utf-8")
    return tmp_path / "달리기"


def learn(run: Path) -> Path:
    data = str(run.parent / "쌍.tsv")
    assert main(["shortlist", str(run), "--data", data, "--candidates", "2", "--always", "5"]) == 0
    return run / shortlist.SHORTLIST_FILE


def translate(run: Path, *, with_shortlist: bool = True) -> list[str]:
    translator = bundle.load_bundle(run).translator()
    return [translation.text for translation in translator.translate(TEXTS, shortlist=with_shortlist)]


def test_a_shortlist_is_stored_with_the_model_and_used_only_with_the_setting(run: Path) -> None:
    path = learn(run)
    plain = translate(run, with_shortlist=False)
    assert translate(run) != plain
    path.unlink()
    assert translate(run, with_shortlist=False) == plain
    with pytest.raises(InputError, match=r"no shortlist\. Make one: tongsa shortlist RUN --data FILE"):
        translate(run)


def test_a_damaged_or_foreign_shortlist_is_refused(run: Path) -> None:
    path = learn(run)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"damaged .*Make it again"):
        translate(run)
    path.write_bytes(b"\0" * 40)
    with pytest.raises(InputError, match="damaged"):
        translate(run)
    other = train_tokenizer(["other texts"], TokenizerConfig(model="char", vocab_size=300))
    shortlist.save_shortlist(path, make_shortlist([4], [5]), TOKENIZER, other)
    with pytest.raises(InputError, match="another tokenizer"):
        translate(run)
    too_large = np.full((len(TOKENIZER), 2), len(TOKENIZER), dtype=np.int32)
    candidates = ShortlistCandidates(too_large, np.array([4], dtype=np.int32))
    shortlist.save_shortlist(path, Shortlist(candidates), TOKENIZER, TOKENIZER)
    with pytest.raises(InputError, match="outside of the vocabulary"):
        translate(run)
    save_file({"per_token": too_large}, path)
    with pytest.raises(InputError, match="damaged"):
        translate(run)
    path.write_bytes(content)
    assert translate(run)


def test_a_shortlist_that_cannot_be_learnt_is_not_written(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = run.parent / "empty.tsv"
    empty.write_text("", "utf-8")
    assert main(["shortlist", str(run), "--data", str(empty)]) == 2
    assert "empty.tsv" in capsys.readouterr().err
    assert main(["shortlist", str(run), "--data", str(run.parent / "쌍.tsv"), "--candidates", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err
    assert not (run / shortlist.SHORTLIST_FILE).exists()
    translator = Translator(bundle.load_bundle(run).model, TOKENIZER, TOKENIZER, DecodingConfig())
    with pytest.raises(InputError, match=r"this model has none\. Save the model, run tongsa shortlist"):
        translator.translate(TEXTS, shortlist=True)


def test_a_recipe_cannot_enable_a_shortlist() -> None:
    with pytest.raises(InputError, match=r"decoding.shortlist: "):
        parse_recipe({"data": {"train": ["a.tsv"]}, "decoding": {"shortlist": True}})


def test_a_shortlist_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "shortlist.safetensors"
    rows = np.broadcast_to(np.zeros((1, 1), dtype=np.int32), (len(TOKENIZER), 10**6))  # takes no memory
    with pytest.raises(InputError, match=r"Give fewer --candidates\."):
        shortlist.save_shortlist(path, Shortlist(ShortlistCandidates(rows, rows[0])), TOKENIZER, TOKENIZER)
    assert not path.exists()
    shortlist.save_shortlist(path, make_shortlist([5], [6]), TOKENIZER, TOKENIZER)
    assert path.exists()
