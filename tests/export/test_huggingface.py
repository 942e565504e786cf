"""MarianMTModel of transformers loads the folder and says the same as torch; what Marian has no place for is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.testing import assert_close

from export.bundles import SOURCE, TARGET, saved, shaken, told, transformer
from tiny import padded, sentence
from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.export import export, huggingface
from tongsa.models.rnn import RNNConfig
from tongsa.tokenization.special import BOS, EOS, PAD
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

CASES: dict[str, dict[str, object]] = {
    "as the paper has it": {},
    "gelu, more decoder than encoder": {"activation": "gelu", "encoder_layers": 1, "decoder_layers": 3},
    "plain products": {"attention": "dot"},
    "two heads of odd width": {"width": 18, "heads": 2},
    "three matrices": {"share": "none"},
    "two vocabularies": {"share": "target", "target": TARGET},
    "two vocabularies, three matrices": {"share": "none", "target": TARGET},
}
SOURCES, TARGETS = [sentence(5), sentence(9), sentence(3)], [sentence(4, 1), sentence(7, 1), sentence(7, 2)]


def loaded(folder: Path) -> Any:
    read: Any = transformers.MarianMTModel.from_pretrained
    model, report = read(folder, output_loading_info=True)
    positions = {f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
    assert set(report["missing_keys"]) <= positions, "a weight that the folder lacks is drawn at random"
    assert not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    return model.eval()


@torch.no_grad()
def differences(made: Bundle, model: Any) -> torch.Tensor:
    """Of all logits that count."""
    source, target = padded(*SOURCES), padded(*([BOS, *row[:-1]] for row in TARGETS))
    theirs: torch.Tensor = model(
        input_ids=source.tokens, attention_mask=source.mask.long(), decoder_input_ids=target.tokens, use_cache=False
    ).logits
    ours: torch.Tensor = made.model(source, target)
    return torch.masked_select(ours - theirs, target.mask.unsqueeze(2))


@pytest.mark.parametrize("name", CASES)
def test_its_logits_are_those_of_torch(name: str, tmp_path: Path) -> None:
    made = transformer(**CASES[name])  # type: ignore[arg-type]
    found = differences(made, loaded(export(saved(tmp_path, made), "huggingface")))
    assert_close(found, torch.zeros_like(found), atol=1e-4, rtol=0)


def test_a_width_in_another_order_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without the permutation the positions are wrong, and nothing else would tell."""
    made = transformer()
    monkeypatch.setattr(huggingface, "_marian_permutation", torch.arange)
    found = differences(made, loaded(export(saved(tmp_path, made), "huggingface")))
    assert found.abs().max() > 1e-2


def test_saved_by_transformers_it_is_still_the_same(tmp_path: Path) -> None:
    made = transformer()
    loaded(export(saved(tmp_path, made), "huggingface")).save_pretrained(tmp_path / "again")
    found = differences(made, loaded(tmp_path / "again"))
    assert_close(found, torch.zeros_like(found), atol=1e-4, rtol=0)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("apart", [False, True])
def test_its_tokenizer_splits_and_joins_as_our_pieces_do(apart: bool, tmp_path: Path) -> None:
    made = transformer(share="target", target=TARGET if apart else SOURCE)
    tokenizer = transformers.MarianTokenizer.from_pretrained(export(saved(tmp_path, made), "huggingface"))
    for text in ("a b c", "가 나 다 a", "힣 🙂 é"):
        assert tokenizer(text).input_ids == [*SOURCE.encode(text), EOS]
    indices = made.target_tokenizer.encode_all(["가 나 다"])[0]
    assert tokenizer(text_target="가 나 다").input_ids == [*indices, EOS]
    assert tokenizer.decode([*indices, EOS], skip_special_tokens=True) == "가 나 다"
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (PAD, EOS)


def test_it_generates_greedily_what_our_search_finds(tmp_path: Path) -> None:
    made, rows = transformer(seed=3), SOURCES
    model = loaded(export(saved(tmp_path, made), "huggingface"))
    source, config = padded(*rows), DecodingConfig(beam=1, max_extra_tokens=0)
    ours = made.translator().search(source, config)
    for row, answer in zip(rows, ours, strict=True):
        alone = padded(row)
        output = model.generate(alone.tokens, num_beams=1, length_penalty=1.0, max_length=len(row) + 2)
        assert [piece for piece in output[0].tolist()[1:] if piece != EOS] == answer[0].tokens


def test_where_the_tokenizer_would_split_otherwise_there_is_none(tmp_path: Path) -> None:
    pieces = train_tokenizer(["가 나 다 a b"], TokenizerConfig(model="char", vocab_size=300, jamo=True))
    made = transformer()
    taken_apart = Bundle(**{**vars(made), "source": pieces, "target": pieces})
    taken_apart = Bundle(**{**vars(taken_apart), "model": made.config.build(len(pieces), len(pieces)).eval()})
    folder = export(saved(tmp_path / "jamo", taken_apart), "huggingface")
    assert told(folder)["tokenizer"] is False
    assert not (folder / "vocab.json").exists()
    assert told(export(saved(tmp_path / "plain", made), "huggingface"))["tokenizer"] is True


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("norm", "pre"),
        ("norm_kind", "rms"),
        ("positions", "learned"),
        ("positions", "rotary"),
        ("activation", "swiglu"),
        ("attention", "additive"),
        ("query_norm", True),
        ("neighbourhood", 3),
        ("key_width", 6),
    ],
)
def test_a_setting_without_a_place_in_marian_is_named(setting: str, value: object, tmp_path: Path) -> None:
    run = saved(tmp_path, transformer(**{setting: value}))  # type: ignore[arg-type]
    remedy = rf"Marian cannot hold model\.{setting} = '?{value}.*train with --set model\.{setting}="
    with pytest.raises(InputError, match=remedy):
        export(run, "huggingface")
    assert not (tmp_path / "huggingface").exists()


def test_another_kind_is_refused_by_marian(tmp_path: Path) -> None:
    made = shaken("rnn", RNNConfig(width=8, embedding=8))
    with pytest.raises(InputError, match="'recurrent', only 'transformer'; try --to onnx"):
        export(saved(tmp_path, made), "huggingface")


def test_the_search_of_the_bundle_is_handed_on(tmp_path: Path) -> None:
    made = Bundle(**{**vars(transformer()), "decoding": DecodingConfig(beam=7, alpha=0.3)})
    folder = export(saved(tmp_path, made), "huggingface")
    assert bundle.load_bundle(tmp_path).decoding.beam == 7
    settings = json.loads((folder / "generation_config.json").read_text("utf-8"))
    assert (settings["num_beams"], settings["length_penalty"]) == (7, 0.3)
