"""Every kind of model can be looked into, whatever it has learnt."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import tongsa
from tiny import CONFIGS, kind_of
from tongsa.bundle import Bundle, save_bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.visualize import Page
from tongsa.visualize.curves import page_data as told_curves
from tongsa.visualize.modules import bundle_script, import_order, read_asset
from tongsa.visualize.packing import pack_uint16, unpack_uint16
from tongsa.visualize.positions import position_encodings

PIECES = train_tokenizer(["a b c d e f g 가 나 다"], TokenizerConfig(model="char", vocab_size=300))
LABELS = LabelTokenizer(("나쁨", "좋음"))
TEXT = "가 나 a"
ROLES = {
    "rnn_attention": {"cross"},
    "conv_s2s": {"cross"},
    "rnn_lm": set[str](),
    "rnn": set[str](),
    "structured_self_attention": {"hops"},
    "structured_self_attention, decoder": {"hops", "cross"},
    "transformer": {"cross", "encoder", "decoder"},
    "transformer_classifier": {"encoder"},
    "transformer_lm": {"decoder"},
}
"""What there is to look at, by kind, or by kind and option."""


def small(name: str) -> Bundle:
    torch.manual_seed(1)
    config = CONFIGS[name]
    target = LABELS if config.task == "classification" else PIECES
    model = config.build(len(PIECES), len(target)).eval()
    decoding = DecodingConfig(beam=2, max_extra_tokens=2)
    return Bundle(
        kind=kind_of(name),
        config=config,
        model=model,
        source_tokenizer=PIECES,
        target_tokenizer=target,
        decoding=decoding,
    )


@pytest.mark.parametrize("name", CONFIGS)
def test_every_attention_of_every_kind_is_on_the_page(name: str) -> None:
    wanted = ROLES.get(name, ROLES[kind_of(name)])
    if kind_of(name) == "rnn_lm":
        with pytest.raises(InputError, match="nothing to look at"):
            tongsa.view(small(name), TEXT)
        return
    page = tongsa.view(small(name), TEXT)
    told = page.panels.get("attention", {"readings": [{"roles": []}]})
    assert {role["role"] for role in told["readings"][0]["roles"]} == wanted
    assert ("tree" in page.panels) == (CONFIGS[name].task == "seq2seq")
    assert TEXT in page.html


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("transformer", ["sinusoidal"]),
        ("transformer, additive attention with a window of 3", ["learned"]),
        ("transformer, rotary positions, rms norm and swiglu with a window of 4", ["rotary"]),
        ("transformer, neither norm nor positions", []),
        ("conv_s2s", ["learned", "learned"]),
        ("rnn_attention", []),
    ],
)
def test_positions_of_every_kind_are_found_and_equal_ones_once(name: str, kinds: list[str]) -> None:
    assert [table.kind for table in position_encodings(CONFIGS[name].build(20, 20))] == kinds


def test_sinusoids_are_those_of_the_paper_and_alike_by_distance_alone() -> None:
    (table,) = position_encodings(CONFIGS["transformer"].build(20, 20))
    assert table.used_by == ("encoder", "decoder")
    assert_allclose(table.values[3, :2], [np.sin(3), np.cos(3)], atol=1e-6)
    likeness = table.cosine_similarity
    assert_allclose(np.diag(likeness), 1)
    for distance in (1, 5):
        assert np.ptp(np.diag(likeness, distance)) < 1e-5


def test_numbers_come_back_from_a_page() -> None:
    numbers = np.array([0, 1, 255, 256, 65_535, 0.4])
    assert unpack_uint16(pack_uint16(numbers)).tolist() == [0, 1, 255, 256, 65_535, 0]


def test_curves_of_a_journal_hold_rate_and_scores() -> None:
    journal: list[dict[str, Any]] = [
        {"step": n, "loss": 1 / n, "rate": n * 1e-5, "norm": float("nan")} for n in range(1, 11)
    ]
    journal += [{"step": 10, "validation": {"bleu": 12.5, "dev_loss": 0.3}}]
    told = {panel["name"]: panel["lines"] for panel in told_curves(journal)["panels"]}
    assert told.keys() == {"loss", "score", "rate"}  # what was never a number has no curve
    assert told["loss"]["dev_loss"] == [(10.0, 0.3)] and told["score"] == {"bleu": [(10.0, 12.5)]}
    assert told["rate"]["rate"][-1] == (10.0, 1e-4)


def test_a_run_brings_its_journal_along(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", small("transformer"), "# card")
    assert "curves" not in tongsa.view(tmp_path, TEXT).panels
    (tmp_path / "journal.jsonl").write_text(json.dumps({"step": 1, "loss": 2.0}) + "\n", "utf-8")
    page = tongsa.view(tmp_path, TEXT)
    assert list(page.panels) == ["attention", "tree", "positions", "curves"]
    assert page.title == f"{tmp_path.name}: {TEXT}"
    assert page.save(tmp_path / "page.html").read_text("utf-8") == page.html


def test_a_reader_that_is_loaded_already_can_be_looked_into(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", small("structured_self_attention"), "# card")
    assert tongsa.view(tongsa.load(tmp_path), TEXT).title == TEXT


@pytest.mark.parametrize("texts", [(), ("",), ("a", " \t")])
def test_nothing_to_read_is_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="give a sentence"):
        tongsa.view(small("rnn_attention"), *texts)


def test_a_frame_in_a_notebook_cannot_be_broken_out_of() -> None:
    shown = Page('"><script>alert(1)</script>', {})._repr_html_()
    assert shown.count("<") == shown.count(">") == 2 and "<script" not in shown


def test_modules_stand_before_whoever_imports_them_and_no_import_is_left() -> None:
    names = import_order("view.js")
    assert len(names) == len(set(names)) and names[-1] == "view.js"
    for at, name in enumerate(names):
        imported = [line.split('"./')[1].rstrip('";') for line in read_asset(name).splitlines() if ' from "./' in line]
        assert set(imported) <= set(names[:at]), name
    script = bundle_script("view.js")
    assert not [line for line in script.splitlines() if line.startswith(("import ", "export "))]
