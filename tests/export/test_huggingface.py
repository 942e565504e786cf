"""transformers loads the export without our code and gives our logits and texts; unsupported settings are errors."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
import transformers
from torch.testing import assert_close

from export.bundles import SETTINGS, SOURCE, TARGET, random_bundle, read_metadata, save_run, transformer
from tiny import padded_batch, sentence
from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.export import export
from tongsa.interface import PresetName
from tongsa.models.rnn import RNNConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.positions import SinusoidConfig
from tongsa.runs import planner
from tongsa.tokenization.special import BOS, EOS, PAD
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

CASES: dict[str, dict[str, object]] = {
    "base": {},
    "gelu, more decoder than encoder layers": {"activation": "gelu", "encoder_layers": 1, "decoder_layers": 3},
    "unscaled dot product": {"attention": "dot"},
    "two heads of odd width": {"width": 18, "heads": 2},
    "untied embeddings": {"tie_embeddings": "none"},
    "tied decoder layers": {"tie_decoder_layers": True, "decoder_layers": 3},
    "two vocabularies": {"tie_embeddings": "target", "target": TARGET},
    "two vocabularies, untied embeddings": {"tie_embeddings": "none", "target": TARGET},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none"},
    "unscaled embeddings, output bias, no other bias in attention": {
        "scale_embeddings": False,
        "output_bias": True,
        "projection_bias": False,
        "tie_embeddings": "none",
        "target": TARGET,
    },
    "one norm for a layer, sinusoids of tensor2tensor": {
        "shared_norm": True,
        "sinusoid": SinusoidConfig(exponent="2i/(d-2)", layout="blocks", first_position=1),
    },
}
PRESETS = Path(planner.__file__).parent / "presets"
NO_SACREMOSES = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
SOURCES, TARGETS = [sentence(5), sentence(9), sentence(3)], [sentence(4, 1), sentence(7, 1), sentence(7, 2)]


def load_model(folder: Path) -> Any:
    read: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained
    model, report = read(folder, output_loading_info=True)
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[problem], "missing weights would be random"
    return model.eval()


def load_tokenizer(folder: Path) -> Any:
    read: Any = transformers.AutoTokenizer.from_pretrained
    return read(folder)


@torch.no_grad()
def logit_differences(expected: Bundle, model: Any) -> torch.Tensor:
    """Return the differences of all logits that are not padding."""
    source, target = padded_batch(*SOURCES), padded_batch(*([BOS, *row[:-1]] for row in TARGETS))
    logits: torch.Tensor = model(
        input_ids=source.tokens, attention_mask=source.mask.long(), decoder_input_ids=target.tokens, use_cache=False
    ).logits
    expected_logits: torch.Tensor = expected.model(source, target)
    vocab_size = expected_logits.shape[2]
    assert torch.all(logits[:, :, vocab_size:] < -1e3), "tokens that do not exist must have no probability"
    logits = logits[:, :, :vocab_size]
    return torch.masked_select(expected_logits - logits, target.mask.unsqueeze(2))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("name", CASES)
def test_logits_equal_those_of_torch(name: str, norm: str, tmp_path: Path) -> None:
    model_bundle = transformer(**CASES[name] | {"norm": norm})  # type: ignore[arg-type]
    differences = logit_differences(model_bundle, load_model(export(save_run(tmp_path, model_bundle), "huggingface")))
    assert_close(differences, torch.zeros_like(differences), atol=1e-4, rtol=0)


@pytest.mark.parametrize("preset", get_args(PresetName))
def test_the_model_of_each_preset_can_be_exported(preset: PresetName, tmp_path: Path) -> None:
    """The Transformer of a preset, with its options but smaller. ONNX has tests for all options of all kinds."""
    table = tomllib.loads((PRESETS / f"{preset}.toml").read_text("utf-8"))
    sizes = {"width": 16, "ffn_width": 24, "heads": 4}
    target = SOURCE if table["tokenizer"].get("shared", True) else TARGET
    model_bundle = transformer(**TransformerConfig().preset(preset)["model"] | sizes | {"target": target})
    run = save_run(tmp_path, model_bundle)
    export(run, "ctranslate2")
    differences = logit_differences(model_bundle, load_model(export(run, "huggingface")))
    assert_close(differences, torch.zeros_like(differences), atol=1e-4, rtol=0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_sinusoids_are_those_of_transformers(norm: str, tmp_path: Path) -> None:
    """A program that computes the positions instead of reading them gives the same model."""
    model = load_model(export(save_run(tmp_path, transformer(norm=norm)), "huggingface"))
    for stack in (model.model.encoder, model.model.decoder):
        assert_close(stack.embed_positions.weight.detach(), stack.embed_positions.create_weight(), atol=1e-6, rtol=0)


def test_comparison_detects_other_weights(tmp_path: Path) -> None:
    model = load_model(export(save_run(tmp_path, transformer(norm="pre")), "huggingface"))
    assert logit_differences(transformer(norm="pre", seed=2), model).abs().max() > 1e-2


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_model_saved_by_transformers_is_the_same(norm: str, tmp_path: Path) -> None:
    model_bundle = transformer(norm=norm, tie_embeddings="none", target=TARGET)
    load_model(export(save_run(tmp_path, model_bundle), "huggingface")).save_pretrained(tmp_path / "again")
    differences = logit_differences(model_bundle, load_model(tmp_path / "again"))
    assert_close(differences, torch.zeros_like(differences), atol=1e-4, rtol=0)


@NO_SACREMOSES
@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_tokenizer_encodes_and_decodes_like_ours(norm: str, separate: bool, tmp_path: Path) -> None:
    model_bundle = transformer(norm=norm, tie_embeddings="target", target=TARGET if separate else SOURCE)
    tokenizer = load_tokenizer(export(save_run(tmp_path, model_bundle), "huggingface"))
    for text in ("a b c", "가 나 다 a", "힣 🙂 é", "  a\u00a0 b\te\u0301 \u1100\u1161▁\n"):
        assert tokenizer(text).input_ids == [*SOURCE.encode(text), EOS]
    ids = model_bundle.target_tokenizer.encode_all(["가 나 다"])[0]
    assert tokenizer(text_target="가 나 다").input_ids == [*ids, EOS]
    assert tokenizer.decode([*ids, EOS], skip_special_tokens=True) == "가 나 다"
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (PAD, EOS)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_greedy_generation_equals_our_search(norm: str, tmp_path: Path) -> None:
    for seed in range(4):
        model_bundle = transformer(seed=seed, norm=norm, tie_embeddings="none", target=TARGET)
        model = load_model(export(save_run(tmp_path, model_bundle), "huggingface"))
        expected = model_bundle.translator().torch_engine.search(
            padded_batch(*SOURCES), DecodingConfig(beam=1, max_extra_tokens=0)
        )
        for row, (best, *_) in zip(SOURCES, expected, strict=True):
            output = model.generate(padded_batch(row).tokens, num_beams=1, length_penalty=1.0, max_length=len(row) + 2)
            assert [token for token in output[0].tolist()[1:] if token != EOS] == best.tokens


def with_tokenizer(model_bundle: Bundle, config: TokenizerConfig) -> Bundle:
    """Return a model with random weights and a tokenizer of this kind."""
    tokenizer = train_tokenizer(["가 나 각 a b one sentence another"], config)
    model = model_bundle.config.build(len(tokenizer), len(tokenizer)).eval()
    return replace(model_bundle, source_tokenizer=tokenizer, target_tokenizer=tokenizer, model=model)


@NO_SACREMOSES
@pytest.mark.parametrize("settings", [{"model": "char"}, {"model": "char", "jamo": True}, {"model": "word"}], ids=str)
def test_example_in_the_folder_gives_our_greedy_output(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(5)
    model_bundle = with_tokenizer(
        replace(transformer(norm="pre", positions="learned"), decoding=DecodingConfig(beam=1)),
        TokenizerConfig(vocab_size=300, **settings),
    )
    folder = export(save_run(tmp_path, model_bundle), "huggingface")
    readme = (folder / "README.md").read_text("utf-8")
    assert readme.startswith("# card")
    assert read_metadata(folder)["tokenizer"] is (settings["model"] != "word")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(example, {})  # noqa: S102 - our own page
    output = capsys.readouterr().out
    for text in ("one sentence", "another sentence"):
        if text in example:
            batch = padded_batch([*model_bundle.source_tokenizer.encode(text), EOS])
            ((best, *_),) = model_bundle.translator().torch_engine.search(batch, DecodingConfig(beam=1))
            exported_length = SETTINGS["max_positions"] // 2 - 2  # without <s> and </s>
            expected = model_bundle.target_tokenizer.decode(best.tokens[:exported_length])
            assert expected
            assert expected in output


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("norm_kind", "rms"),
        ("positions", "rotary"),
        ("activation", "swiglu"),
        ("attention", "additive"),
        ("qk_norm", True),
        ("attention_window", 3),
        ("key_width", 6),
        ("final_norm", "both"),
        ("residual", False),
        ("decoder_cell", "ssru"),
    ],
)
def test_unsupported_setting_is_named_with_a_remedy(setting: str, value: object, tmp_path: Path) -> None:
    run = save_run(tmp_path, transformer(**{setting: value}))  # type: ignore[arg-type]
    remedy = rf"model\.{setting} = '?{value}'?: Hugging Face supports only .*Train with --set model\.{setting}="
    with pytest.raises(InputError, match=remedy):
        export(run, "huggingface")
    assert not (tmp_path / "huggingface").exists()


def test_unsupported_kind_is_an_error(tmp_path: Path) -> None:
    model_bundle = random_bundle("rnn", RNNConfig(width=8, embedding=8))
    with pytest.raises(InputError, match="'rnn': Hugging Face supports only 'transformer'"):
        export(save_run(tmp_path, model_bundle), "huggingface")


def test_decoding_settings_are_exported(tmp_path: Path) -> None:
    model_bundle = replace(transformer(), decoding=DecodingConfig(beam=7, alpha=0.5))
    folder = export(save_run(tmp_path, model_bundle), "huggingface")
    assert bundle.load_bundle(tmp_path).decoding.beam == 7
    settings = json.loads((folder / "generation_config.json").read_text("utf-8"))
    assert (settings["num_beams"], settings["length_penalty"]) == (7, 0.4)  # the slope of ((5 + n) / 6)^0.5 at n = 20
