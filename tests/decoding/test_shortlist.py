"""A shortlist narrows what is scored, never what is asked for."""

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
from tongsa.decoding.glossary import Glossary
from tongsa.decoding.scorers import decoder_scorer, subset_scorer
from tongsa.decoding.shortlist import Shortlist
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.runs.recipe import parse_recipe
from tongsa.tokenization.shortlist import ShortlistCandidates, shortlist_candidates
from tongsa.tokenization.special import EOS, UNK
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

TEXTS = ["the cat sleeps", "나는 고양이를 좋아한다", "a dog reads", "GitHub"]
PIECES = train_tokenizer(TEXTS, TokenizerConfig(model="bpe", vocab_size=330))
TRANSLATING = [name for name, config in CONFIGS.items() if config.task == "seq2seq"]


def listed(each: list[int], frequent: list[int]) -> Shortlist:
    """The same candidates for each piece of a source."""
    rows = np.tile(np.array(each or [0], dtype=np.int32), (len(PIECES), 1))
    return Shortlist(ShortlistCandidates(rows, np.array(frequent, dtype=np.int32)))


def translator(kind: str = "transformer", found: Shortlist | None = None) -> Translator:
    torch.manual_seed(2)
    model = CONFIGS[kind].build(len(PIECES), len(PIECES)).eval()
    made = found or listed([], [])
    return Translator(model, PIECES, PIECES, DecodingConfig(beam=3, max_extra_tokens=4), load_shortlist=lambda: made)


@pytest.mark.parametrize("kind", TRANSLATING)
def test_with_the_whole_vocabulary_on_the_list_nothing_changes(kind: str) -> None:
    whole = translator(kind, listed([], list(range(len(PIECES)))))
    plain, short = (whole.translate(TEXTS, nbest=3, shortlist=asked) for asked in (False, True))
    for one, other in zip(plain, short, strict=True):
        assert one.tokens == other.tokens and [each.text for each in one.alternatives] == [
            each.text for each in other.alternatives
        ]
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


@pytest.mark.parametrize("kind", TRANSLATING)
def test_nothing_that_is_not_on_the_list_is_written(kind: str) -> None:
    letters = PIECES.encode("cat")
    narrow = translator(kind, listed(letters, []))
    allowed = set(PIECES.token_strings([*letters, UNK]))
    for one in narrow.translate(TEXTS, nbest=3, shortlist=True):
        assert set(one.tokens) <= allowed
    assert any(set(one.tokens) - allowed for one in narrow.translate(TEXTS)), "unasked, the list changes nothing"


def test_beginnings_and_terms_that_are_not_on_the_list_are_written_all_the_same() -> None:
    narrow = translator(found=listed(PIECES.encode("cat"), []))
    begun = narrow.translate(TEXTS, prefixes=["고양이", "", "dog", "나는"], shortlist=True)
    assert [one.text[: len(prefix)] for one, prefix in zip(begun, ["고양이", "", "dog", "나는"], strict=True)] == [
        "고양이",
        "",
        "dog",
        "나는",
    ]
    glossary = Glossary.from_pairs([("cat", "고양이")], copies=["dog", "GitHub"])
    held = narrow.translate(TEXTS, glossary=glossary, shortlist=True)
    assert ["고양이" in held[0].text, "dog" in held[2].text, "GitHub" in held[3].text] == [True] * 3


def test_other_ways_to_go_on_see_every_piece() -> None:
    narrow = translator(found=listed(PIECES.encode("cat"), []))
    listed_, free = (narrow.alternatives("the cat sleeps", count=5, shortlist=asked) for asked in (True, False))
    assert [one.tokens[0] for one in listed_] == [one.tokens[0] for one in free]


@given(st.integers(0, 10**6), st.sets(st.integers(UNK, SIZE - 1)), st.integers(0, 4), st.integers(1, 4))
def test_a_search_among_some_pieces_is_that_of_a_table_with_no_others(
    seed: int, some: set[int], limit: int, beam: int
) -> None:
    """Against a table in which the others are forbidden: the same outputs, in the same order."""
    table, pieces = Table(seed), torch.tensor([0, 1, 2, *sorted(some)])
    config, limits = DecodingConfig(beam=beam), torch.tensor([limit, limit])
    scorer = subset_scorer(decoder_scorer(table), pieces)
    first, second = beam_search(scorer, table.start(sentences(2), pieces), limits, config, nbest=beam)

    def forbidding(piece: torch.Tensor, state: Prefixes) -> tuple[torch.Tensor, Prefixes]:
        logits, state = table.step(piece, state)
        others = [at for at in range(SIZE) if at not in pieces]
        logits[:, others] = -torch.inf
        return logits.log_softmax(-1), state

    expected = beam_search(forbidding, table.start(sentences(2)), limits, config, nbest=beam)
    for found, wanted in zip((first, second), expected, strict=True):
        own = [[int(pieces[at]) for at in one.tokens] for one in found]
        possible = [one.tokens for one in wanted if one.score > -torch.inf]
        assert own[: len(possible)] == possible


def test_each_piece_becomes_what_stood_beside_it() -> None:
    generator = np.random.default_rng(1)
    sources = [list(generator.choice(np.arange(4, 20), size=5, replace=False)) for _ in range(400)]
    targets = [[piece + 30 for piece in source] for source in sources]
    found = shortlist_candidates([*sources, []], [*targets, [4]], (20, 60), num_candidates=2, num_always=3)
    assert found.per_token[4:, 0].tolist() == list(range(34, 50))
    assert not found.per_token[:4].any(), "what was in no pair becomes nothing"
    counts = np.bincount(np.concatenate(targets))
    assert sorted(counts[found.always]) == sorted(counts)[-3:]


def test_a_list_holds_what_ends_an_output_and_what_is_needed() -> None:
    pieces = listed([9, 7], [8]).vocab_subset(pad([[5, EOS], [6, 6, EOS]]), required_tokens=[300, 7])
    assert pieces.tolist() == [0, 1, 2, 3, 7, 8, 9, 300]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    config = CONFIGS["rnn_attention"]
    torch.manual_seed(3)
    made = Bundle(
        kind=kind_of("rnn_attention"),
        config=config,
        model=config.build(len(PIECES), len(PIECES)).eval(),
        source_tokenizer=PIECES,
        target_tokenizer=PIECES,
        decoding=DecodingConfig(beam=2, max_extra_tokens=3),
    )
    bundle.save_bundle(tmp_path / "달리기" / "model", made, "# card")
    (tmp_path / "쌍.tsv").write_text("".join(f"{text}\t{text}\n" for text in TEXTS), "utf-8")
    return tmp_path / "달리기"


def made(run: Path) -> Path:
    assert main(["shortlist", str(run), "--data", str(run.parent / "쌍.tsv"), "--candidates", "2", "--always", "5"]) == 0
    return run / shortlist.SHORTLIST_FILE


def asked(run: Path) -> list[str]:
    return [one.text for one in bundle.load_bundle(run).translator().translate(TEXTS, shortlist=True)]


def test_a_list_is_made_beside_the_model_and_used_when_asked_for(run: Path) -> None:
    path = made(run)
    plain = [one.text for one in bundle.load_bundle(run).translator().translate(TEXTS)]
    assert asked(run) != plain
    path.unlink()
    assert [one.text for one in bundle.load_bundle(run).translator().translate(TEXTS)] == plain
    with pytest.raises(InputError, match=r"no shortlist here; make one with: tongsa shortlist"):
        asked(run)


def test_a_damaged_or_foreign_list_is_refused_with_a_sentence(run: Path) -> None:
    path = made(run)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"damaged .*make it again"):
        asked(run)
    path.write_bytes(b"\0" * 40)
    with pytest.raises(InputError, match="damaged"):
        asked(run)
    other = train_tokenizer(["other texts"], TokenizerConfig(model="char", vocab_size=300))
    shortlist.save_shortlist(path, listed([4], [5]), PIECES, other)
    with pytest.raises(InputError, match="made for other pieces"):
        asked(run)
    far = ShortlistCandidates(np.full((len(PIECES), 2), len(PIECES), dtype=np.int32), np.array([4], dtype=np.int32))
    shortlist.save_shortlist(path, Shortlist(far), PIECES, PIECES)
    with pytest.raises(InputError, match="its numbers are no pieces"):
        asked(run)
    save_file({"each": far.per_token}, path)
    with pytest.raises(InputError, match="damaged"):
        asked(run)
    path.write_bytes(whole)
    assert asked(run)


def test_what_cannot_be_done_is_said_and_nothing_is_written(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = run.parent / "empty.tsv"
    empty.write_text("", "utf-8")
    assert main(["shortlist", str(run), "--data", str(empty)]) == 2
    assert "no usable line" in capsys.readouterr().err
    assert main(["shortlist", str(run), "--data", str(run.parent / "쌍.tsv"), "--candidates", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err
    assert not (run / shortlist.SHORTLIST_FILE).exists()
    with pytest.raises(InputError, match="save it, make one"):
        Translator(bundle.load_bundle(run).model, PIECES, PIECES, DecodingConfig()).translate(TEXTS, shortlist=True)


def test_a_recipe_cannot_ask_for_a_list_that_is_not_there_yet() -> None:
    with pytest.raises(InputError, match=r"decoding.shortlist: made of a trained model"):
        parse_recipe({"data": {"train": ["a.tsv"]}, "decoding": {"shortlist": True}})
