"""The Python examples in docs/export.md give the results of tongsa itself."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from export.bundles import LABELS, TARGET, random_bundle, save_run, transformer
from tiny import CONFIGS, padded_batch
from tongsa.bundle import Bundle
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.export import ctranslate2, export, huggingface
from tongsa.tokenization.special import EOS

PAGES = [Path(__file__).parents[2] / page for page in ("docs/export.md", "docs/ko/export.md")]


def code_block(page: Path, word: str) -> str:
    """Return the one Python block of a page that contains this word."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    (block,) = (code for code in blocks if word in code)
    return block


@torch.no_grad()
def greedy(bundle: Bundle, text: str) -> str:
    """Return the greedy translation of at most 99 tokens, the limit of the page's example."""
    state = bundle.model.decoder.start(bundle.model.encoder(padded_batch([*bundle.source_tokenizer.encode(text), EOS])))
    ((best,),) = beam_search(decoder_scorer(bundle.model.decoder), state, torch.tensor([99]), DecodingConfig(beam=1))
    return bundle.target_tokenizer.decode(best.tokens)


@pytest.mark.parametrize("name", ["rnn_attention", pytest.param("transformer_lm", marks=pytest.mark.slow)])
def test_greedy_example_gives_the_output_of_torch(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = random_bundle(name, CONFIGS[name], target=TARGET)
    export(save_run(tmp_path / "runs" / "mine", bundle), "onnx")
    monkeypatch.chdir(tmp_path)
    expected = greedy(bundle, "I go home")
    assert len(expected) > 3
    for page in PAGES:
        exec(code_block(page, "step.run"), {})  # noqa: S102 - our own page
        assert " ".join(capsys.readouterr().out.split()) == expected


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_hugging_face_example_gives_the_output_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"norm": "pre", "positions": "learned", "max_positions": 200, "tie_embeddings": "none"}
    bundle = replace(transformer(target=TARGET, seed=11, **settings), decoding=DecodingConfig(beam=1))
    export(save_run(tmp_path / "runs" / "mine", bundle), "huggingface")
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        exec(code_block(page, "AutoTokenizer"), {})  # noqa: S102 - our own page
        (output,) = ast.literal_eval(capsys.readouterr().out)
        assert len(output) > 3
        assert output == greedy(bundle, "I go home")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_table_of_settings_agrees_with_the_exporters(page: Path) -> None:
    rows = [
        line.strip("| ").split(" | ")
        for line in page.read_text("utf-8").splitlines()
        if line.startswith("| `") and "[model]" not in line
    ]
    documented = {row[0].strip("`"): row[1:] for row in rows if len(row) == 4}
    for column, exporter in enumerate((ctranslate2, huggingface)):
        for setting, values in exporter.SUPPORTED_VALUES.items():
            supported = ", ".join(f"`{str(value).lower()}`" for value in values)
            assert documented[setting][column] == supported, (exporter.__name__, setting)
        partial = {setting for setting, cells in documented.items() if cells[column].startswith("`")}
        assert partial - exporter.SUPPORTED_VALUES.keys() == {"kind", "key_width`, `value_width"}


def test_classification_example_gives_the_label_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = random_bundle("transformer_classifier", CONFIGS["transformer_classifier"], target=LABELS)
    export(save_run(tmp_path / "runs" / "reviews", bundle), "onnx")
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        exec(code_block(page, "classifier.run"), {})  # noqa: S102 - our own page
        assert capsys.readouterr().out == f"{bundle.classifier()('a good film').label}\n"
