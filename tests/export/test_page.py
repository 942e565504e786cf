"""What docs/export.md says to type gives what tongsa itself gives."""

import re
from pathlib import Path

import pytest
import torch

from export.bundles import LABELS, TARGET, saved, shaken
from tiny import CONFIGS, padded
from tongsa.bundle import Bundle
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.export import export
from tongsa.tokenization.special import EOS

PAGES = [Path(__file__).parents[2] / page for page in ("docs/export.md", "docs/ko/export.md")]


def block(page: Path, word: str) -> str:
    """The lines of Python that hold this word."""
    (found,) = (code for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL) if word in code)
    return str(found)


@torch.no_grad()
def greedy(made: Bundle, text: str) -> str:
    """At most 99 pieces, as many as the page writes."""
    state = made.model.decoder.start(made.model.encoder(padded([*made.source_tokenizer.encode(text), EOS])))
    ((best,),) = beam_search(decoder_scorer(made.model.decoder), state, torch.tensor([99]), DecodingConfig(beam=1))
    return made.target_tokenizer.decode(best.tokens)


@pytest.mark.parametrize("name", ["rnn_attention", "transformer_lm"])
def test_the_greedy_lines_write_what_torch_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = shaken(name, CONFIGS[name], target=TARGET)
    export(saved(tmp_path / "runs" / "mine", made), "onnx")
    monkeypatch.chdir(tmp_path)
    expected = greedy(made, "I go home")
    assert len(expected) > 3
    for page in PAGES:
        exec(block(page, "step.run"), {})  # noqa: S102 - our own page
        assert " ".join(capsys.readouterr().out.split()) == expected


def test_the_lines_for_a_label_give_that_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = shaken("transformer_classifier", CONFIGS["transformer_classifier"], target=LABELS)
    export(saved(tmp_path / "runs" / "reviews", made), "onnx")
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        exec(block(page, "classifier.run"), {})  # noqa: S102 - our own page
        assert capsys.readouterr().out == f"{made.classifier()('a good film').label}\n"
