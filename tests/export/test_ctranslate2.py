"""CTranslate2 gives the same results as torch for all supported Transformers; other settings are errors."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch

from command_line import printed_command, run_command
from export.bundles import SOURCE, TARGET, random_bundle, save_run, transformer
from tiny import padded_batch, sentence
from tongsa import bundle
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.decoding import shortlist
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines import ctranslate2
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine
from tongsa.decoding.shortlist import Shortlist
from tongsa.errors import InputError
from tongsa.export import export
from tongsa.export.ctranslate2_cache import load_engine
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
    "tied decoder layers": {"tie_decoder_layers": True, "decoder_layers": 3},
    "two vocabularies": {"tie_embeddings": "target", "target": TARGET},
    "two vocabularies, untied embeddings": {"tie_embeddings": "none", "target": TARGET, "norm": "pre"},
}
cases = pytest.mark.parametrize("name", CASES)
SENTENCES = [sentence(length, seed) for seed, length in enumerate((2, 9, 5, 3, 7, 12))]


def export_engine(folder: Path, model: Bundle, *, threads: int = 1) -> CTranslate2Engine:
    return CTranslate2Engine(export(save_run(folder, model), "ctranslate2"), threads)


def torch_search(model: Bundle, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
    return model.translator().torch_engine.search(source, config, nbest)


def forced_log_probs(model: Bundle, source: Sequence[int], tokens: Sequence[int]) -> list[float]:
    """Return the log-probability of each token and of </s> with teacher forcing."""
    with torch.no_grad():
        log_probs = model.model(padded_batch(list(source)), padded_batch([BOS, *tokens])).log_softmax(dim=-1)
    return [float(log_probs[0, i, token]) for i, token in enumerate([*tokens, EOS])]


def score_with_library(folder: Path, source: Sequence[int], tokens: Sequence[int]) -> list[float]:
    """Return what `forced_log_probs` returns, computed by CTranslate2 alone."""
    translator = pytest.importorskip("ctranslate2").Translator(str(folder), intra_threads=1)
    (result,) = translator.score_batch([list(map(str, source))], [list(map(str, tokens))])
    return list(result.log_probs)


def decode_with_library(folder: Path, source: Sequence[int], max_length: int) -> list[int]:
    """Return the greedy output of CTranslate2 alone, truncated: random weights seldom give </s> and often <pad>."""
    translator = pytest.importorskip("ctranslate2").Translator(str(folder), intra_threads=1)
    (result,) = translator.translate_batch(
        [list(map(str, source))],
        beam_size=1,
        max_decoding_length=max_length,
        suppress_sequences=[[str(PAD)], [str(BOS)]],
    )
    return list(map(int, result.hypotheses[0]))


@cases
def test_converted_model_gives_the_log_probs_and_the_greedy_output_of_torch(name: str, tmp_path: Path) -> None:
    """Log-probabilities with teacher forcing, and token by token with a cache."""
    model = transformer(**CASES[name])  # type: ignore[arg-type]
    folder, config = export(save_run(tmp_path, model), "ctranslate2"), DecodingConfig(beam=1, max_extra_tokens=6)
    for seed, source in enumerate(SENTENCES):
        target = sentence(2 + 3 * seed, seed)[:-1]
        expected = forced_log_probs(model, source, target)
        assert score_with_library(folder, source, target) == pytest.approx(expected, abs=1e-4)
        ((best, *_),) = torch_search(model, padded_batch(source), config)
        assert decode_with_library(folder, source, len(source) + 6) == best.tokens


def test_comparison_detects_other_weights(tmp_path: Path) -> None:
    """The test above can fail: one weight of a norm is enough."""
    model, source, target = transformer(), SENTENCES[1], sentence(5)[:-1]
    folder = export(save_run(tmp_path, model), "ctranslate2")
    with torch.no_grad():
        model.model.encoder.layers[0].self_attention_norm.norm.weight[3] += 1  # type: ignore[attr-defined]
    differences = np.subtract(score_with_library(folder, source, target), forced_log_probs(model, source, target))
    assert np.abs(differences).max() > 1e-3


@pytest.mark.parametrize("beam", [1, 3])
@cases
def test_random_models_have_the_outputs_and_scores_of_torch(name: str, beam: int, tmp_path: Path) -> None:
    """Most of their outputs do not end, and torch searches again for those."""
    model = bundle.load_bundle(save_run(tmp_path, transformer(**CASES[name])))  # type: ignore[arg-type]
    with_engine = model.translator(engine=load_engine(model, "ctranslate2", print))
    texts = ["a b c", "g f e d c b a", "가 나", "a", "d d d d"]
    results, expected = (
        translator.translate(texts, beam=beam, nbest=beam, max_extra_tokens=6)
        for translator in (with_engine, model.translator())
    )
    for result, translation in zip(results, expected, strict=True):
        assert [output.tokens for output in result.nbest] == [output.tokens for output in translation.nbest]
        scores = [(output.score, output.log_prob) for output in translation.nbest]
        assert [(output.score, output.log_prob) for output in result.nbest] == [
            pytest.approx(pair, abs=1e-4) for pair in scores
        ]


@pytest.mark.parametrize("beam", [1, 3])
def test_result_depends_neither_on_the_batch_nor_on_the_number_of_threads(
    beam: int, trained: Path, tmp_path: Path
) -> None:
    folder, config = export(trained, "ctranslate2", tmp_path / "exported"), DecodingConfig(beam=beam)
    tokenizer = bundle.load_bundle(trained).source_tokenizer
    rows = [[*tokenizer.encode(text), EOS] for text in ("a b c", "f", "c c b a e d", "g g g g g g g", "e d")]
    batched = CTranslate2Engine(folder, 2).search(padded_batch(*rows), config)
    for row, hypotheses in zip(rows, batched, strict=True):
        (alone,) = CTranslate2Engine(folder, 1).search(padded_batch(row), config)
        assert hypotheses[0].tokens == alone[0].tokens
        assert hypotheses[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-4)


def test_trained_model_gives_the_results_of_torch_with_any_beam(trained: Path, tmp_path: Path) -> None:
    loaded = bundle.load_bundle(trained)
    engine = CTranslate2Engine(export(trained, "ctranslate2", tmp_path / "exported"), 1)
    texts = ("a b c", "f", "c c b a e d", "한글 a", "g g g g g g g", "가 b 나 d", "e d c b a a b c d e f g")
    source = padded_batch(*([*loaded.source_tokenizer.encode(text), EOS] for text in texts))
    for beam, alpha, normalization in product((1, 2, 4, 7), (0.0, 0.6, 1.8), ("gnmt", "plain")):
        config = DecodingConfig(beam=beam, alpha=alpha, length_normalization=normalization)  # type: ignore[arg-type]
        pairs = list(zip(engine.search(source, config), torch_search(loaded, source, config), strict=True))
        ended = [(result[0], expected[0]) for result, expected in pairs if result]  # torch searches the others
        assert len(ended) >= 3
        assert [result.tokens for result, _ in ended] == [expected.tokens for _, expected in ended], config
        scores = [expected.score for _, expected in ended]
        assert [result.score for result, _ in ended] == pytest.approx(scores, abs=1e-4)


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
    assert (CTranslate2Engine(plain, 1).name, CTranslate2Engine(small, 1).name) == ("ctranslate2", "ctranslate2-int8")


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
        ("decoder_cell", "ssru"),
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
    loaded = bundle.load_bundle(run)
    translator, torch_translator = loaded.translator(engine=load_engine(loaded, "auto", print)), loaded.translator()
    assert isinstance(translator.engine, CTranslate2Engine)
    engine, changed, left_to_torch = translator.engine, 0, 0
    for source in map(padded_batch, SENTENCES):
        assert engine.supports(source, config)
        (results,), (expected,) = (
            search(source, config, nbest=beam) for search in (engine.search, torch_translator.torch_engine.search)
        )
        if results:
            assert [output.tokens for output in results] == [output.tokens for output in expected]
            log_probs = [output.log_prob for output in expected]
            if beam == 1 and len(expected[0].tokens) == source.tokens.shape[1] + config.max_extra_tokens:
                assert results[0].log_prob < log_probs[0], "the score of an output without an end has no shortlist"
            else:
                assert [output.log_prob for output in results] == pytest.approx(log_probs, abs=1e-4)
        left_to_torch += not results
        changed += expected[0].tokens != torch_translator.torch_engine.search(source, plain)[0][0].tokens
    assert changed, "the shortlist changed nothing: the test shows nothing"
    assert left_to_torch < len(SENTENCES), "no output was compared: the test shows nothing"


def test_engine_does_not_use_an_outdated_shortlist(tmp_path: Path) -> None:
    run, config = run_with_shortlist(tmp_path, seed=1), DecodingConfig(max_extra_tokens=6, shortlist=True)
    folder = export(run, "ctranslate2")
    run_with_shortlist(tmp_path, seed=2)
    loaded = bundle.load_bundle(run)
    engine = CTranslate2Engine(folder, 1, loaded.shortlist_sha256)
    assert not engine.supports(padded_batch(SENTENCES[1]), config)
    assert engine.supports(padded_batch(SENTENCES[1]), DecodingConfig(max_extra_tokens=6))
    converted = load_engine(loaded, "auto", print)
    assert converted and converted.supports(padded_batch(SENTENCES[1]), config), "the model is converted again"


def test_outputs_that_do_not_end(tmp_path: Path) -> None:
    """Greedy search never changes earlier tokens, so they are cut; with a beam they are left to torch."""
    model = transformer(positions="learned", max_positions=10, seed=2)
    source, config = padded_batch(sentence(10), sentence(4)), DecodingConfig(beam=1, max_extra_tokens=50)
    expected, engine = torch_search(model, source, config), export_engine(tmp_path, model)
    assert [len(best.tokens) for best, *_ in expected] == [9, 9], "not all outputs reach the limit"
    for (result,), (hypothesis,) in zip(engine.search(source, config), expected, strict=True):
        assert result.tokens == hypothesis.tokens
        assert (result.log_prob, result.score) == pytest.approx((hypothesis.log_prob, hypothesis.score), abs=1e-4)
    assert engine.search(source, replace(config, beam=2)) == [[], []]


def test_missing_library_is_an_error_with_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(save_run(tmp_path, transformer()), "ctranslate2")
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"pip install -e '\.\[fast\]' -c constraints\.txt"):
        CTranslate2Engine(folder, 1)


def test_damaged_folder_is_an_error(tmp_path: Path) -> None:
    folder = export(save_run(tmp_path, transformer()), "ctranslate2")
    content = (folder / "model.bin").read_bytes()
    (folder / "model.bin").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="damaged") as error:
        CTranslate2Engine(folder, 1)
    (folder / "tongsa.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match=r"no CTranslate2 model\. Make one") as other_error:
        CTranslate2Engine(folder, 1)
    for message in (str(error.value), str(other_error.value)):
        command, _, *flags = printed_command(message)
        assert run_command(command, tmp_path, *flags).code == 0
        assert CTranslate2Engine(folder, 1).name == "ctranslate2"


def test_nan_weights_are_not_exported(tmp_path: Path) -> None:
    model = transformer()
    with torch.no_grad():
        next(model.model.parameters()).fill_(torch.nan)
    with pytest.raises(InputError, match="a weight is NaN"):
        export_engine(tmp_path, model)


def test_exported_folder_is_usable_without_tongsa(tmp_path: Path) -> None:
    folder = export(save_run(tmp_path, transformer(tie_embeddings="target", target=TARGET)), "ctranslate2")
    for name, tokenizer, text in (("source", SOURCE, " a  bc d "), ("target", TARGET, "가  나다 라")):
        exported = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        assert exported.encode(text) == tokenizer.encode(text), "normalization is part of the file"
    tokens = json.loads((folder / "target_vocabulary.json").read_text("utf-8"))
    assert tokens == [str(index) for index in range(len(TARGET))], "the vocabulary lists token ids"
