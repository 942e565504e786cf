"""CTranslate2 says the same as torch, for every Transformer that it can run, and refuses the others by name."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from export.bundles import SOURCE, TARGET, saved, shaken, told, transformer
from tiny import padded, sentence
from tongsa import bundle
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.decoding import shortlist
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines import ctranslate2
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine, is_usable_export, load_metadata
from tongsa.decoding.shortlist import Shortlist
from tongsa.errors import InputError
from tongsa.export import export
from tongsa.models.rnn import RNNConfig
from tongsa.tokenization.lexicon import ShortlistCandidates
from tongsa.tokenization.special import BOS, EOS, PAD, UNK

CASES: dict[str, dict[str, object]] = {
    "as the paper has it": {},
    "norm before, more decoder than encoder": {"norm": "pre", "encoder_layers": 1, "decoder_layers": 3},
    "swiglu and rms norm before": {"norm": "pre", "norm_kind": "rms", "activation": "swiglu"},
    "gelu and rms norm after": {"norm_kind": "rms", "activation": "gelu"},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none", "norm": "pre"},
    "rotary positions": {"positions": "rotary"},
    "plain products": {"attention": "dot"},
    "three matrices": {"share": "none"},
    "two vocabularies": {"share": "target", "target": TARGET},
    "two vocabularies, three matrices": {"share": "none", "target": TARGET, "norm": "pre"},
}
cases = pytest.mark.parametrize("name", CASES)
SENTENCES = [sentence(length, seed) for seed, length in enumerate((2, 9, 5, 3, 7, 12))]


def engine(folder: Path, made: Bundle, *, int8: bool = False, threads: int = 1) -> CTranslate2Engine:
    return CTranslate2Engine(export(saved(folder, made), "ctranslate2", int8=int8), threads)


def of_torch(made: Bundle, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
    return made.translator().search(source, config, nbest)


def total(made: Bundle, source: Sequence[int], pieces: list[int]) -> float:
    """Log p of the pieces and </s> by teacher forcing."""
    with torch.no_grad():
        logs = made.model(padded(list(source)), padded([BOS, *pieces])).log_softmax(dim=-1)
    return float(sum(logs[0, at, piece] for at, piece in enumerate([*pieces, EOS])))


@cases
def test_greedy_search_finds_the_same_pieces_with_the_same_totals(name: str, tmp_path: Path) -> None:
    made = transformer(**CASES[name])  # type: ignore[arg-type]
    source, config = padded(*SENTENCES), DecodingConfig(beam=1, max_extra_tokens=6)
    theirs = engine(tmp_path, made).search(source, config)
    for ours, answer in zip(of_torch(made, source, config), theirs, strict=True):
        assert answer[0].tokens == ours[0].tokens
        assert answer[0].log_prob == pytest.approx(ours[0].log_prob, abs=1e-4)
        assert answer[0].score == pytest.approx(ours[0].score, abs=1e-4)


def test_other_weights_are_noticed(tmp_path: Path) -> None:
    """The test above can fail: one weight in a norm is enough."""
    made, source = transformer(), padded(*SENTENCES)
    other = engine(tmp_path, made)
    with torch.no_grad():
        made.model.encoder.layers[0].around_attention.norm.weight[3] += 1  # type: ignore[attr-defined]
    config = DecodingConfig(beam=1, max_extra_tokens=6)
    differences = [
        abs(ours[0].log_prob - theirs[0].log_prob)
        for ours, theirs in zip(of_torch(made, source, config), other.search(source, config), strict=True)
    ]
    assert max(differences) > 1e-3


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@cases
def test_every_hypothesis_has_the_total_and_score_that_the_model_gives_it(
    name: str, alpha: float, tmp_path: Path
) -> None:
    """Random weights hardly ever end by themselves and love <pad> as much as any: cut, forbidden, computed again."""
    made = transformer(**CASES[name])  # type: ignore[arg-type]
    config = DecodingConfig(beam=3, alpha=alpha, max_extra_tokens=2)
    answers = engine(tmp_path, made).search(padded(*SENTENCES), config, nbest=3)
    for row, hypotheses in zip(SENTENCES, answers, strict=True):
        assert 1 <= len(hypotheses) <= 3
        assert len({tuple(one.tokens) for one in hypotheses}) == len(hypotheses)
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        for one in hypotheses:
            assert len(one.tokens) <= len(row) + 2
            assert not {PAD, BOS, EOS} & set(one.tokens)
            assert one.log_prob == pytest.approx(total(made, row, one.tokens), abs=1e-4)
            assert one.score == pytest.approx(
                one.log_prob / DecodingConfig(alpha=alpha).length_penalty(len(one.tokens) + 1), abs=1e-6
            )


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_is_answered_alike_in_any_company_and_by_any_number_of_workers(beam: int, tmp_path: Path) -> None:
    made = transformer(norm="pre")
    config, two = DecodingConfig(beam=beam, max_extra_tokens=3), engine(tmp_path, made, threads=2)
    together = two.search(padded(*SENTENCES), config)
    for row, answer in zip(SENTENCES, together, strict=True):
        (alone,) = CTranslate2Engine(tmp_path / "ctranslate2", 1).search(padded(row), config)
        assert answer[0].tokens == alone[0].tokens
        assert answer[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-4)


def test_a_trained_model_finds_what_torch_finds_with_any_beam(trained: Path, tmp_path: Path) -> None:
    loaded = bundle.load_bundle(trained)
    fast = CTranslate2Engine(export(trained, "ctranslate2", tmp_path / "fast"), 1)
    texts = ("a b c", "f", "c c b a e d", "한글 a", "g g g g g g g", "가 b 나 d", "e d c b a a b c d e f g")
    source = padded(*([*loaded.source_tokenizer.encode(text), EOS] for text in texts))
    for beam, alpha, normalisation in product((1, 2, 4, 7), (0.0, 0.6, 1.8), ("gnmt", "plain")):
        config = DecodingConfig(beam=beam, alpha=alpha, length_normalization=normalisation)  # type: ignore[arg-type]
        ours, theirs = of_torch(loaded, source, config), fast.search(source, config)
        assert [one[0].tokens for one in theirs] == [one[0].tokens for one in ours], config
        assert [one[0].score for one in theirs] == pytest.approx([one[0].score for one in ours], abs=1e-4)


def test_int8_is_smaller_and_nearly_the_same(trained: Path, tmp_path: Path) -> None:
    loaded, before = bundle.load_bundle(trained), (trained / "model" / "weights.safetensors").read_bytes()
    plain = export(trained, "ctranslate2", tmp_path / "plain")
    small = export(trained, "ctranslate2", tmp_path / "small", int8=True)
    assert (small / "model.bin").stat().st_size < 0.8 * (plain / "model.bin").stat().st_size  # much of it is positions
    source = padded(*([*loaded.source_tokenizer.encode(text), EOS] for text in ("a b c", "f", "c c b a e d")))
    found = CTranslate2Engine(small, 1).search(source, DecodingConfig(beam=1))
    assert [loaded.target_tokenizer.decode(one[0].tokens) for one in found] == ["다 나 가", "바", "라 마 가 나 다 다"]
    assert (trained / "model" / "weights.safetensors").read_bytes() == before
    assert load_metadata(small).int8
    assert not is_usable_export(small, str(told(small)["weights"])), "eight bits are never used by themselves"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("attention", "additive"),
        ("query_norm", True),
        ("neighbourhood", 3),
        ("norm_kind", "batch"),
        ("norm_kind", "group"),
        ("norm_kind", "none"),
        ("key_width", 6),
        ("value_width", 2),
    ],
)
def test_a_setting_that_cannot_be_run_is_named(setting: str, value: object, tmp_path: Path) -> None:
    settings = {setting: value, "beam_groups": 4}
    with pytest.raises(InputError, match=rf"CTranslate2 cannot hold model\.{setting} = '?{value}"):
        export(saved(tmp_path, transformer(**settings)), "ctranslate2")  # type: ignore[arg-type]
    assert not (tmp_path / "ctranslate2").exists()


def test_another_kind_is_refused(tmp_path: Path) -> None:
    made = shaken("rnn", RNNConfig(width=8, embedding=8))
    with pytest.raises(InputError, match="'recurrent', only 'transformer'; try --to onnx"):
        export(saved(tmp_path, made), "ctranslate2")


def test_it_supports_what_fits_and_what_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unbounded = engine(tmp_path / "a", transformer())
    assert unbounded.supports(padded(sentence(1997)), DecodingConfig(max_extra_tokens=50))
    assert not unbounded.supports(padded(sentence(1998)), DecodingConfig(max_extra_tokens=50))
    assert not unbounded.supports(padded(sentence(5), [EOS]), DecodingConfig()), (
        "it does not ask the model about nothing"
    )
    bounded = engine(tmp_path / "b", transformer(positions="learned"))
    assert bounded.supports(padded(sentence(60)), DecodingConfig(max_extra_tokens=50)), (
        "torch stops at the 64th place too"
    )
    monkeypatch.setattr(
        ctranslate2, "SUPPORTED_SETTINGS", ("beam", "max_extra_tokens")
    )  # as if alpha had been added yesterday
    assert unbounded.supports(padded(sentence(5)), DecodingConfig(beam=7))
    assert not unbounded.supports(padded(sentence(5)), DecodingConfig(alpha=0.1))


def with_list(tmp_path: Path, seed: int) -> Path:
    """A run with a shortlist beside it, some of whose outputs end by themselves."""
    made = transformer(seed=1, share="none")
    with torch.no_grad():
        made.model.decoder.output.weight[EOS] *= 3  # type: ignore[attr-defined]
    run = saved(tmp_path, made)
    drawn = np.random.default_rng(seed).integers(
        UNK + 1, len(made.target_tokenizer), (len(made.source_tokenizer), 2), dtype=np.int32
    )
    listed = Shortlist(ShortlistCandidates(per_token=drawn, always=np.array([5, 7], dtype=np.int32)))
    shortlist.save_shortlist(
        bundle.artifact_folder(bundle.find_bundle(run)) / shortlist.SHORTLIST_FILE,
        listed,
        made.source_tokenizer,
        made.target_tokenizer,
    )
    return run


@pytest.mark.parametrize("beam", [1, 3, 8])
def test_a_shortlist_leaves_the_same_as_in_torch(tmp_path: Path, beam: int) -> None:
    """One sentence at a time: both make a list for each batch, and batches differ."""
    run = with_list(tmp_path, seed=1)
    plain, config = (
        DecodingConfig(beam=beam, max_extra_tokens=6),
        DecodingConfig(beam=beam, max_extra_tokens=6, shortlist=True),
    )
    export(run, "ctranslate2")
    loaded = bundle.load_bundle(run)
    other, by_torch = loaded.translator(engine="ctranslate2"), loaded.translator(engine="torch")
    assert isinstance(other.engine, CTranslate2Engine)
    fewer = left = 0
    for one in map(padded, SENTENCES):
        assert other.engine.supports(one, config)
        (theirs,), (ours,) = other.search(one, config, nbest=beam), by_torch.search(one, config, nbest=beam)
        assert [output.tokens for output in theirs] == [output.tokens for output in ours]
        cut = beam == 1 and len(ours[0].tokens) == int(one.lengths) + 6  # then its total is one among all pieces
        if not cut:
            assert [output.log_prob for output in theirs] == pytest.approx(
                [output.log_prob for output in ours], abs=1e-4
            )
        left += cut or other.engine.search(one, config) == [[]]
        fewer += theirs[0].tokens != other.search(one, plain)[0][0].tokens
    assert fewer, "the list has left out nothing: the test shows nothing"
    assert beam == 3 or 0 < left < len(SENTENCES), "no output was cut, or all were: the test shows nothing"


def test_a_list_that_was_made_again_is_not_mistaken_for_the_one_that_was_exported(tmp_path: Path) -> None:
    run, config = with_list(tmp_path, seed=1), DecodingConfig(max_extra_tokens=6, shortlist=True)
    export(run, "ctranslate2")
    with_list(tmp_path, seed=2)
    engine = bundle.load_bundle(run).translator(engine="ctranslate2").engine
    assert engine and not engine.supports(padded(SENTENCES[1]), config)
    assert engine.supports(padded(SENTENCES[1]), DecodingConfig(max_extra_tokens=6))
    export(run, "ctranslate2")
    again = bundle.load_bundle(run).translator(engine="ctranslate2").engine
    assert again and again.supports(padded(SENTENCES[1]), config)


def test_an_output_fills_the_last_place_as_in_torch(tmp_path: Path) -> None:
    made = transformer(positions="learned", longest=10, seed=2)
    source, config = padded(sentence(10), sentence(4)), DecodingConfig(beam=1, max_extra_tokens=50)
    ours = of_torch(made, source, config)
    assert max(len(one[0].tokens) for one in ours) == 9, "none of them reaches the limit"
    assert [one[0].tokens for one in engine(tmp_path, made).search(source, config)] == [one[0].tokens for one in ours]


def test_a_stale_export_is_recognised(tmp_path: Path) -> None:
    folder = export(saved(tmp_path, transformer()), "ctranslate2")
    weights = str(told(folder)["weights"])
    assert is_usable_export(folder, weights)
    assert not is_usable_export(folder, "0" * 64)
    assert not is_usable_export(tmp_path, weights), "no export here"
    saved(tmp_path, transformer(seed=2))
    again = export(tmp_path, "ctranslate2")
    assert not is_usable_export(again, weights)


def test_without_the_library_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(saved(tmp_path, transformer()), "ctranslate2")
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"pip install 'tongsa\[fast\]'"):
        CTranslate2Engine(folder, 1)


def test_a_damaged_folder_is_explained(tmp_path: Path) -> None:
    folder = export(saved(tmp_path, transformer()), "ctranslate2")
    content = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="damaged"):
        CTranslate2Engine(folder, 1)
    (folder / "tongsa.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="tongsa export RUN --to ctranslate2"):
        CTranslate2Engine(folder, 1)


def test_weights_that_are_no_numbers_give_no_hypothesis(tmp_path: Path) -> None:
    made = transformer()
    with torch.no_grad():
        next(made.model.parameters()).fill_(torch.nan)
    assert engine(tmp_path, made).search(padded(sentence(3)), DecodingConfig(beam=2, max_extra_tokens=2)) == [[]]


def test_the_folder_can_be_read_without_tongsa(tmp_path: Path) -> None:
    folder = export(saved(tmp_path, transformer(share="target", target=TARGET)), "ctranslate2")
    assert (folder / "source.spm").read_bytes() == SOURCE.model_bytes
    assert (folder / "target.spm").read_bytes() == TARGET.model_bytes
    tokens = json.loads((folder / "target_vocabulary.json").read_text("utf-8"))
    assert tokens == [str(index) for index in range(len(TARGET))], "its tokens are the indices that sentencepiece gives"
