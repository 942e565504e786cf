"""CTranslate2 gives the same results as torch for all supported Transformers; other settings are errors."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch

from export.bundles import SOURCE, TARGET, random_bundle, read_metadata, save_run, transformer
from tiny import padded_batch, sentence
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
from tongsa.nn.positions import SinusoidConfig
from tongsa.tokenization.lexicon import ShortlistCandidates
from tongsa.tokenization.special import BOS, EOS, PAD, UNK

CASES: dict[str, dict[str, object]] = {
    "base": {},
    "pre-norm, more decoder than encoder layers": {"norm": "pre", "encoder_layers": 1, "decoder_layers": 3},
    "pre-norm, swiglu and rms norm": {"norm": "pre", "norm_kind": "rms", "activation": "swiglu"},
    "post-norm, gelu and rms norm": {"norm_kind": "rms", "activation": "gelu"},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none", "norm": "pre"},
    "rotary positions": {"positions": "rotary"},
    "unscaled dot product": {"attention": "dot"},
    "untied embeddings": {"tie_embeddings": "none"},
    "unscaled embeddings, output bias, no other bias in attention": {
        "scale_embeddings": False,
        "output_bias": True,
        "projection_bias": False,
    },
    "one norm for a layer, sinusoids of tensor2tensor": {
        "shared_norm": True,
        "sinusoid": SinusoidConfig(exponent="2i/(d-2)", layout="blocks", first_position=1),
    },
    "two vocabularies": {"tie_embeddings": "target", "target": TARGET},
    "two vocabularies, untied embeddings": {"tie_embeddings": "none", "target": TARGET, "norm": "pre"},
}
cases = pytest.mark.parametrize("name", CASES)
SENTENCES = [sentence(length, seed) for seed, length in enumerate((2, 9, 5, 3, 7, 12))]


def export_engine(folder: Path, model: Bundle, *, threads: int = 1) -> CTranslate2Engine:
    return CTranslate2Engine(export(save_run(folder, model), "ctranslate2"), threads)


def torch_search(model: Bundle, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
    return model.translator().batch_search.search(source, config, nbest)


def forced_log_prob(model: Bundle, source: Sequence[int], tokens: list[int]) -> float:
    """Return the log-probability of the tokens and </s> with teacher forcing."""
    with torch.no_grad():
        log_probs = model.model(padded_batch(list(source)), padded_batch([BOS, *tokens])).log_softmax(dim=-1)
    return float(sum(log_probs[0, i, token] for i, token in enumerate([*tokens, EOS])))


@cases
def test_greedy_search_gives_the_same_tokens_and_log_probs(name: str, tmp_path: Path) -> None:
    model = transformer(**CASES[name])  # type: ignore[arg-type]
    source, config = padded_batch(*SENTENCES), DecodingConfig(beam=1, max_extra_tokens=6)
    results = export_engine(tmp_path, model).search(source, config)
    for (expected,), (hypothesis,) in zip(torch_search(model, source, config), results, strict=True):
        assert hypothesis.tokens == expected.tokens
        assert hypothesis.log_prob == pytest.approx(expected.log_prob, abs=1e-4)
        assert hypothesis.score == pytest.approx(expected.score, abs=1e-4)


def test_comparison_detects_other_weights(tmp_path: Path) -> None:
    """The test above can fail: one weight of a norm is enough."""
    model, source = transformer(), padded_batch(*SENTENCES)
    engine = export_engine(tmp_path, model)
    with torch.no_grad():
        model.model.encoder.layers[0].self_attention_norm.norm.weight[3] += 1  # type: ignore[attr-defined]
    config = DecodingConfig(beam=1, max_extra_tokens=6)
    differences = [
        abs(ours[0].log_prob - theirs[0].log_prob)
        for ours, theirs in zip(torch_search(model, source, config), engine.search(source, config), strict=True)
    ]
    assert max(differences) > 1e-3


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@cases
def test_beam_hypotheses_have_the_log_prob_and_score_of_the_model(name: str, alpha: float, tmp_path: Path) -> None:
    """Random weights seldom give </s> and often <pad>: outputs are truncated, special tokens suppressed."""
    model = transformer(**CASES[name])  # type: ignore[arg-type]
    config = DecodingConfig(beam=3, alpha=alpha, max_extra_tokens=2)
    results = export_engine(tmp_path, model).search(padded_batch(*SENTENCES), config, nbest=3)
    for row, hypotheses in zip(SENTENCES, results, strict=True):
        assert 1 <= len(hypotheses) <= 3
        assert len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) == len(hypotheses)
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) <= len(row) + 2
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)
            assert hypothesis.log_prob == pytest.approx(forced_log_prob(model, row, hypothesis.tokens), abs=1e-4)
            length_penalty = config.length_penalty(len(hypothesis.tokens) + 1)
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / length_penalty, abs=1e-6)


@pytest.mark.parametrize("beam", [1, 3])
def test_result_depends_neither_on_the_batch_nor_on_the_number_of_threads(beam: int, tmp_path: Path) -> None:
    model, config = transformer(norm="pre"), DecodingConfig(beam=beam, max_extra_tokens=3)
    batched = export_engine(tmp_path, model, threads=2).search(padded_batch(*SENTENCES), config)
    for row, hypotheses in zip(SENTENCES, batched, strict=True):
        (alone,) = CTranslate2Engine(tmp_path / "ctranslate2", 1).search(padded_batch(row), config)
        assert hypotheses[0].tokens == alone[0].tokens
        assert hypotheses[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-4)


def test_trained_model_gives_the_results_of_torch_with_any_beam(trained: Path, tmp_path: Path) -> None:
    loaded = bundle.load_bundle(trained)
    engine = CTranslate2Engine(export(trained, "ctranslate2", tmp_path / "exported"), 1)
    texts = ("a b c", "f", "c c b a e d", "한글 a", "g g g g g g g", "가 b 나 d", "e d c b a a b c d e f g")
    source = padded_batch(*([*loaded.source_tokenizer.encode(text), EOS] for text in texts))
    for beam, alpha, normalization in product((1, 2, 4, 7), (0.0, 0.6, 1.8), ("gnmt", "plain")):
        config = DecodingConfig(beam=beam, alpha=alpha, length_normalization=normalization)  # type: ignore[arg-type]
        expected, results = torch_search(loaded, source, config), engine.search(source, config)
        assert [best.tokens for best, *_ in results] == [best.tokens for best, *_ in expected], config
        assert [best.score for best, *_ in results] == pytest.approx([best.score for best, *_ in expected], abs=1e-4)


def test_int8_is_smaller_and_gives_the_same_translations(trained: Path, tmp_path: Path) -> None:
    loaded, before = bundle.load_bundle(trained), (trained / "model" / "weights.safetensors").read_bytes()
    plain = export(trained, "ctranslate2", tmp_path / "plain")
    small = export(trained, "ctranslate2", tmp_path / "small", int8=True)
    assert (small / "model.bin").stat().st_size < 0.8 * (
        plain / "model.bin"
    ).stat().st_size  # positions are not quantized
    source = padded_batch(*([*loaded.source_tokenizer.encode(text), EOS] for text in ("a b c", "f", "c c b a e d")))
    results = CTranslate2Engine(small, 1).search(source, DecodingConfig(beam=1))
    assert [loaded.target_tokenizer.decode(best.tokens) for best, *_ in results] == [
        "다 나 가",
        "바",
        "라 마 가 나 다 다",
    ]
    assert (trained / "model" / "weights.safetensors").read_bytes() == before
    assert load_metadata(small).int8
    assert not is_usable_export(small, str(read_metadata(small)["weights_sha256"])), (
        "an int8 export must be requested explicitly"
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("attention", "additive"),
        ("qk_norm", True),
        ("attention_window", 3),
        ("norm_kind", "batch"),
        ("norm_kind", "group"),
        ("norm_kind", "none"),
        ("key_width", 6),
        ("value_width", 2),
        ("final_norm", "both"),
        ("residual", False),
    ],
)
def test_unsupported_setting_is_named(setting: str, value: object, tmp_path: Path) -> None:
    settings: dict[str, object] = {setting: value, "groups": 4}
    with pytest.raises(InputError, match=rf"model\.{setting} = '?{value}'?: CTranslate2 supports only"):
        export(save_run(tmp_path, transformer(**settings)), "ctranslate2")  # type: ignore[arg-type]
    assert not (tmp_path / "ctranslate2").exists()


def test_unsupported_kind_is_an_error(tmp_path: Path) -> None:
    run = save_run(tmp_path, random_bundle("rnn", RNNConfig(width=8, embedding=8)))
    with pytest.raises(InputError, match=r"'rnn': CTranslate2 supports only 'transformer'\. Export with --to onnx"):
        export(run, "ctranslate2")


def test_engine_supports_lengths_that_fit_and_known_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unbounded = export_engine(tmp_path / "a", transformer())
    assert unbounded.supports(padded_batch(sentence(1997)), DecodingConfig(max_extra_tokens=50))
    assert not unbounded.supports(padded_batch(sentence(1998)), DecodingConfig(max_extra_tokens=50))
    assert not unbounded.supports(padded_batch(sentence(5), [EOS]), DecodingConfig()), "an empty source"
    bounded = export_engine(tmp_path / "b", transformer(positions="learned"))
    assert bounded.supports(padded_batch(sentence(60)), DecodingConfig(max_extra_tokens=50)), (
        "torch stops at position 64, too"
    )
    monkeypatch.setattr(
        ctranslate2, "SUPPORTED_SETTINGS", ("beam", "max_extra_tokens")
    )  # as if alpha were a new setting
    assert unbounded.supports(padded_batch(sentence(5)), DecodingConfig(beam=7))
    assert not unbounded.supports(padded_batch(sentence(5)), DecodingConfig(alpha=0.1))


def run_with_shortlist(tmp_path: Path, seed: int) -> Path:
    """Save a run with a random shortlist; some of its outputs end with </s> before they are truncated."""
    model = transformer(seed=1, tie_embeddings="none")
    with torch.no_grad():
        model.model.decoder.output.weight[EOS] *= 3
    run = save_run(tmp_path, model)
    candidates = np.random.default_rng(seed).integers(
        UNK + 1, len(model.target_tokenizer), (len(model.source_tokenizer), 2), dtype=np.int32
    )
    made_shortlist = Shortlist(ShortlistCandidates(per_token=candidates, always=np.array([5, 7], dtype=np.int32)))
    shortlist.save_shortlist(
        bundle.artifact_folder(bundle.find_bundle(run)) / shortlist.SHORTLIST_FILE,
        made_shortlist,
        model.source_tokenizer,
        model.target_tokenizer,
    )
    return run


@pytest.mark.parametrize("beam", [1, 3, 8])
def test_shortlist_gives_the_results_of_torch(tmp_path: Path, beam: int) -> None:
    """Sentences are translated alone: both engines make a shortlist for each batch, and their batches differ."""
    run = run_with_shortlist(tmp_path, seed=1)
    plain, config = (
        DecodingConfig(beam=beam, max_extra_tokens=6),
        DecodingConfig(beam=beam, max_extra_tokens=6, shortlist=True),
    )
    export(run, "ctranslate2")
    loaded = bundle.load_bundle(run)
    translator, torch_translator = loaded.translator(engine="ctranslate2"), loaded.translator(engine="torch")
    assert isinstance(translator.engine, CTranslate2Engine)
    changed = truncated = 0
    for source in map(padded_batch, SENTENCES):
        assert translator.engine.supports(source, config)
        (results,) = translator.batch_search.search(source, config, nbest=beam)
        (expected,) = torch_translator.batch_search.search(source, config, nbest=beam)
        assert [output.tokens for output in results] == [output.tokens for output in expected]
        # a truncated output is scored again over the full vocabulary
        is_truncated = beam == 1 and len(expected[0].tokens) == int(source.lengths) + 6
        if not is_truncated:
            log_probs = [output.log_prob for output in expected]
            assert [output.log_prob for output in results] == pytest.approx(log_probs, abs=1e-4)
        truncated += is_truncated or translator.engine.search(source, config) == [[]]
        changed += results[0].tokens != translator.batch_search.search(source, plain)[0][0].tokens
    assert changed, "the shortlist changed nothing: the test shows nothing"
    assert beam == 3 or 0 < truncated < len(SENTENCES), "none or all were truncated: the test shows nothing"


def test_engine_does_not_use_an_outdated_shortlist(tmp_path: Path) -> None:
    run, config = run_with_shortlist(tmp_path, seed=1), DecodingConfig(max_extra_tokens=6, shortlist=True)
    export(run, "ctranslate2")
    run_with_shortlist(tmp_path, seed=2)
    engine = bundle.load_bundle(run).translator(engine="ctranslate2").engine
    assert engine and not engine.supports(padded_batch(SENTENCES[1]), config)
    assert engine.supports(padded_batch(SENTENCES[1]), DecodingConfig(max_extra_tokens=6))
    export(run, "ctranslate2")
    again = bundle.load_bundle(run).translator(engine="ctranslate2").engine
    assert again and again.supports(padded_batch(SENTENCES[1]), config)


def test_output_reaches_the_last_position_as_in_torch(tmp_path: Path) -> None:
    model = transformer(positions="learned", max_positions=10, seed=2)
    source, config = padded_batch(sentence(10), sentence(4)), DecodingConfig(beam=1, max_extra_tokens=50)
    expected = [best.tokens for best, *_ in torch_search(model, source, config)]
    assert max(map(len, expected)) == 9, "no output reaches the limit"
    assert [best.tokens for best, *_ in export_engine(tmp_path, model).search(source, config)] == expected


def test_stale_export_is_not_used(tmp_path: Path) -> None:
    folder = export(save_run(tmp_path, transformer()), "ctranslate2")
    weights = str(read_metadata(folder)["weights_sha256"])
    assert is_usable_export(folder, weights)
    assert not is_usable_export(folder, "0" * 64)
    assert not is_usable_export(tmp_path, weights), "no export here"
    save_run(tmp_path, transformer(seed=2))
    again = export(tmp_path, "ctranslate2")
    assert not is_usable_export(again, weights)


def test_missing_library_is_an_error_with_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(save_run(tmp_path, transformer()), "ctranslate2")
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"pip install -e '\.\[fast\]' -c constraints\.txt"):
        CTranslate2Engine(folder, 1)


def test_damaged_folder_is_an_error(tmp_path: Path) -> None:
    folder = export(save_run(tmp_path, transformer()), "ctranslate2")
    content = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="damaged"):
        CTranslate2Engine(folder, 1)
    (folder / "tongsa.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="tongsa export RUN --to ctranslate2"):
        CTranslate2Engine(folder, 1)


def test_nan_weights_give_no_hypothesis(tmp_path: Path) -> None:
    model = transformer()
    with torch.no_grad():
        next(model.model.parameters()).fill_(torch.nan)
    assert export_engine(tmp_path, model).search(
        padded_batch(sentence(3)), DecodingConfig(beam=2, max_extra_tokens=2)
    ) == [[]]


def test_exported_folder_is_usable_without_tongsa(tmp_path: Path) -> None:
    folder = export(save_run(tmp_path, transformer(tie_embeddings="target", target=TARGET)), "ctranslate2")
    for name, tokenizer, text in (("source", SOURCE, " a  bc d "), ("target", TARGET, "가  나다 라")):
        exported = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        assert exported.encode(text) == tokenizer.encode(text), "normalization is part of the file"
    tokens = json.loads((folder / "target_vocabulary.json").read_text("utf-8"))
    assert tokens == [str(index) for index in range(len(TARGET))], "the vocabulary lists token ids"
