"""MarianMTModel of transformers loads the export and gives the logits of torch; unsupported settings are errors."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.testing import assert_close

from export.bundles import SOURCE, TARGET, random_bundle, read_metadata, save_run, transformer
from tiny import padded_batch, sentence
from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.export import export, huggingface
from tongsa.models.rnn import RNNConfig
from tongsa.tokenization.special import BOS, EOS, PAD
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

CASES: dict[str, dict[str, object]] = {
    "base": {},
    "gelu, more decoder than encoder layers": {"activation": "gelu", "encoder_layers": 1, "decoder_layers": 3},
    "unscaled dot product": {"attention": "dot"},
    "two heads of odd width": {"width": 18, "heads": 2},
    "untied embeddings": {"tie_embeddings": "none"},
    "two vocabularies": {"tie_embeddings": "target", "target": TARGET},
    "two vocabularies, untied embeddings": {"tie_embeddings": "none", "target": TARGET},
}
SOURCES, TARGETS = [sentence(5), sentence(9), sentence(3)], [sentence(4, 1), sentence(7, 1), sentence(7, 2)]


def load_marian(folder: Path) -> Any:
    read: Any = transformers.MarianMTModel.from_pretrained
    model, report = read(folder, output_loading_info=True)
    positions = {f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
    assert set(report["missing_keys"]) <= positions, "missing weights would be random"
    assert not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    return model.eval()


@torch.no_grad()
def logit_differences(expected: Bundle, model: Any) -> torch.Tensor:
    """Return the logit_differences of all logits that are not padding."""
    source, target = padded_batch(*SOURCES), padded_batch(*([BOS, *row[:-1]] for row in TARGETS))
    logits: torch.Tensor = model(
        input_ids=source.tokens, attention_mask=source.mask.long(), decoder_input_ids=target.tokens, use_cache=False
    ).logits
    expected_logits: torch.Tensor = expected.model(source, target)
    return torch.masked_select(expected_logits - logits, target.mask.unsqueeze(2))


@pytest.mark.parametrize("name", CASES)
def test_logits_equal_those_of_torch(name: str, tmp_path: Path) -> None:
    model_bundle = transformer(**CASES[name])  # type: ignore[arg-type]
    differences = logit_differences(model_bundle, load_marian(export(save_run(tmp_path, model_bundle), "huggingface")))
    assert_close(differences, torch.zeros_like(differences), atol=1e-4, rtol=0)


def test_comparison_detects_a_wrong_permutation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without the permutation only the positions are wrong."""
    model_bundle = transformer()
    monkeypatch.setattr(huggingface, "_marian_permutation", torch.arange)
    differences = logit_differences(model_bundle, load_marian(export(save_run(tmp_path, model_bundle), "huggingface")))
    assert differences.abs().max() > 1e-2


def test_model_saved_by_transformers_is_the_same(tmp_path: Path) -> None:
    model_bundle = transformer()
    load_marian(export(save_run(tmp_path, model_bundle), "huggingface")).save_pretrained(tmp_path / "again")
    differences = logit_differences(model_bundle, load_marian(tmp_path / "again"))
    assert_close(differences, torch.zeros_like(differences), atol=1e-4, rtol=0)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("separate", [False, True])
def test_marian_tokenizer_encodes_and_decodes_like_ours(separate: bool, tmp_path: Path) -> None:
    model_bundle = transformer(tie_embeddings="target", target=TARGET if separate else SOURCE)
    tokenizer = transformers.MarianTokenizer.from_pretrained(export(save_run(tmp_path, model_bundle), "huggingface"))
    for text in ("a b c", "가 나 다 a", "힣 🙂 é"):
        assert tokenizer(text).input_ids == [*SOURCE.encode(text), EOS]
    ids = model_bundle.target_tokenizer.encode_all(["가 나 다"])[0]
    assert tokenizer(text_target="가 나 다").input_ids == [*ids, EOS]
    assert tokenizer.decode([*ids, EOS], skip_special_tokens=True) == "가 나 다"
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (PAD, EOS)


def test_greedy_generation_equals_our_search(tmp_path: Path) -> None:
    model_bundle = transformer(seed=3)
    model = load_marian(export(save_run(tmp_path, model_bundle), "huggingface"))
    expected = model_bundle.translator().search(padded_batch(*SOURCES), DecodingConfig(beam=1, max_extra_tokens=0))
    for row, (best, *_) in zip(SOURCES, expected, strict=True):
        output = model.generate(padded_batch(row).tokens, num_beams=1, length_penalty=1.0, max_length=len(row) + 2)
        assert [token for token in output[0].tolist()[1:] if token != EOS] == best.tokens


def test_no_tokenizer_files_if_marian_tokenizer_would_split_differently(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["가 나 다 a b"], TokenizerConfig(model="char", vocab_size=300, jamo=True))
    model_bundle = transformer()
    with_jamo = replace(
        model_bundle,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        model=model_bundle.config.build(len(tokenizer), len(tokenizer)).eval(),
    )
    folder = export(save_run(tmp_path / "jamo", with_jamo), "huggingface")
    assert read_metadata(folder)["tokenizer"] is False
    assert not (folder / "vocab.json").exists()
    assert read_metadata(export(save_run(tmp_path / "plain", model_bundle), "huggingface"))["tokenizer"] is True


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("norm", "pre"),
        ("norm_kind", "rms"),
        ("positions", "learned"),
        ("positions", "rotary"),
        ("activation", "swiglu"),
        ("attention", "additive"),
        ("qk_norm", True),
        ("attention_window", 3),
        ("key_width", 6),
    ],
)
def test_unsupported_setting_is_named_with_a_remedy(setting: str, value: object, tmp_path: Path) -> None:
    run = save_run(tmp_path, transformer(**{setting: value}))  # type: ignore[arg-type]
    remedy = rf"model\.{setting} = '?{value}'?: Marian supports only .*Train with --set model\.{setting}="
    with pytest.raises(InputError, match=remedy):
        export(run, "huggingface")
    assert not (tmp_path / "huggingface").exists()


def test_unsupported_kind_is_an_error(tmp_path: Path) -> None:
    model_bundle = random_bundle("rnn", RNNConfig(width=8, embedding=8))
    with pytest.raises(InputError, match="'rnn': Marian supports only 'transformer'"):
        export(save_run(tmp_path, model_bundle), "huggingface")


def test_decoding_settings_are_exported(tmp_path: Path) -> None:
    model_bundle = replace(transformer(), decoding=DecodingConfig(beam=7, alpha=0.3))
    folder = export(save_run(tmp_path, model_bundle), "huggingface")
    assert bundle.load_bundle(tmp_path).decoding.beam == 7
    settings = json.loads((folder / "generation_config.json").read_text("utf-8"))
    assert (settings["num_beams"], settings["length_penalty"]) == (7, 0.3)
