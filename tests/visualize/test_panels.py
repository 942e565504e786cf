"""Pages for all kinds of models."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import tongsa
from tiny import CONFIGS, WITHOUT_ATTENTION, kind_of
from tongsa.bundle import Bundle, save_bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.nn.positions import PAPER_SINUSOIDS
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.visualize import Page, curves, js_modules
from tongsa.visualize.js_modules import bundle_script, import_order, read_asset
from tongsa.visualize.mechanism import UNMASKED, attention_mechanisms
from tongsa.visualize.packing import MAX_UINT16, pack_uint16, unpack_uint16
from tongsa.visualize.panels import attention_examples
from tongsa.visualize.positions import page_data, position_encodings

TOKENIZER = train_tokenizer(["a b c d e f g 가 나 다"], TokenizerConfig(model="char", vocab_size=300))
LABELS = LabelTokenizer(("나쁨", "좋음"))
TEXT = "가 나 a"
ROLES = {
    "rnn_attention": {"cross"},
    "conv_s2s": {"cross"},
    "bytenet": set[str](),
    "rnn_lm": set[str](),
    "rnn": set[str](),
    "structured_self_attention": {"hops"},
    "structured_self_attention, decoder": {"hops", "cross"},
    "transformer": {"cross", "encoder", "decoder"},
    "transformer, ssru decoder": {"cross", "encoder"},
    "transformer_classifier": {"encoder"},
    "transformer_lm": {"decoder"},
}
"""Attention roles by kind, or by the name of a test configuration."""


def random_bundle(name: str) -> Bundle:
    torch.manual_seed(1)
    config = CONFIGS[name]
    target = LABELS if config.task == "classification" else TOKENIZER
    model = config.build(len(TOKENIZER), len(target)).eval()
    decoding = DecodingConfig(beam=2, max_extra_tokens=2)
    return Bundle(
        kind=kind_of(name),
        config=config,
        model=model,
        source_tokenizer=TOKENIZER,
        target_tokenizer=target,
        decoding=decoding,
    )


@pytest.mark.parametrize("name", CONFIGS)
def test_page_has_all_attention_roles_of_the_model(name: str) -> None:
    roles = ROLES.get(name, ROLES[kind_of(name)])
    if kind_of(name) == "rnn_lm":
        with pytest.raises(InputError, match="nothing to show"):
            tongsa.view(random_bundle(name), TEXT)
        return
    page = tongsa.view(random_bundle(name), TEXT)
    attention = page.panels.get("attention", {"examples": [{"roles": []}]})
    assert {role["role"] for role in attention["examples"][0]["roles"]} == roles
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
def test_position_encodings_of_each_kind_are_found_and_equal_ones_merged(name: str, kinds: list[str]) -> None:
    assert [table.kind for table in position_encodings(CONFIGS[name].build(20, 20))] == kinds


def test_sinusoids_follow_the_paper() -> None:
    (table,) = position_encodings(CONFIGS["transformer"].build(20, 20))
    assert table.used_by == ("encoder", "decoder")
    assert_allclose(table.values[3, :2], [np.sin(3), np.cos(3)], atol=1e-6)


def test_the_page_stores_sinusoids_of_another_formula_and_computes_those_of_the_paper() -> None:
    other = next(
        name for name, config in CONFIGS.items() if getattr(config, "sinusoid", None) not in (None, PAPER_SINUSOIDS)
    )
    for name, is_stored in (("transformer", False), (other, True)):
        encodings = position_encodings(CONFIGS[name].build(20, 20))
        (table,) = page_data(encodings)["tables"]
        assert (table["values"] is not None) == is_stored
    packed = unpack_uint16(table["values"]["packed"]) / (MAX_UINT16 - 1) * 2 - 1
    assert_allclose(packed * table["values"]["max_abs"], encodings[0].values.flatten(), atol=1e-4)


def test_packed_numbers_are_unpacked_again() -> None:
    numbers = np.array([0, 1, 255, 256, 65_535, 0.4])
    assert unpack_uint16(pack_uint16(numbers)).tolist() == [0, 1, 255, 256, 65_535, 0]


def test_curves_of_a_journal_have_learning_rate_and_scores() -> None:
    journal: list[dict[str, Any]] = [
        {"step": n, "loss": 1 / n, "lr": n * 1e-5, "grad_norm": float("nan")} for n in range(1, 11)
    ]
    journal += [{"step": 10, "validation": {"bleu": 12.5, "dev_loss": 0.3}}]
    data = curves.page_data({"one": journal, "two": journal[:3]})
    panels = {panel["name"]: panel["lines"] for panel in data["panels"]}
    assert data["runs"] == ["one", "two"]
    assert panels.keys() == {"loss", "score", "lr"}  # grad_norm is never finite and has no curve
    assert panels["loss"][1] == {"key": "dev_loss", "run": 0, "points": [(10.0, 0.3)]}
    assert panels["score"] == [{"key": "bleu", "run": 0, "points": [(10.0, 12.5)]}]
    assert [(line["run"], line["points"][-1]) for line in panels["lr"]] == [(0, (10.0, 1e-4)), (1, (3.0, 3e-5))]


def test_page_of_a_run_has_its_training_curves(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", random_bundle("transformer"), "# card")
    assert "curves" not in tongsa.view(tmp_path, TEXT).panels
    (tmp_path / "journal.jsonl").write_text(json.dumps({"step": 1, "loss": 2.0}) + "\n", "utf-8")
    page = tongsa.view(tmp_path, TEXT)
    assert list(page.panels) == ["attention", "tree", "positions", "curves"]
    assert page.title == tmp_path.name
    assert [sentence["text"] for sentence in page.sentences] == [TEXT]
    assert page.save(tmp_path / "page.html").read_text("utf-8") == page.html


def test_page_of_a_loaded_model(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", random_bundle("structured_self_attention"), "# card")
    assert tongsa.view(tongsa.load(tmp_path), TEXT).title == tmp_path.name


def test_every_sentence_has_its_tree_and_samples_only_name_the_heads() -> None:
    page = tongsa.view(random_bundle("transformer"), [TEXT, "나 b"], samples=["다 c a", "가 b", "나"])
    assert [tree["text"] for tree in page.panels["tree"]["trees"]] == [TEXT, "나 b"]
    attention = page.panels["attention"]
    assert len(attention["examples"]) == 2
    for names in attention["head_names"].values():
        for unit, layers in names.items():
            for layer in layers:
                assert all(1 <= head["count"] <= head["sentences"] <= 5 for head in layer), unit


def test_masks_and_score_functions_are_read_from_the_model() -> None:
    windowed = tongsa.view(
        random_bundle("transformer, rotary positions, rms norm and swiglu with a window of 4"), TEXT
    ).panels["attention"]["mechanisms"]
    assert windowed["encoder"] == {"score": "scaled-dot", "before": 2, "after": 1}
    assert windowed["decoder"] == {"score": "scaled-dot", "before": 3, "after": 0}
    scores = {
        name: tongsa.view(random_bundle(name), TEXT).panels["attention"]["mechanisms"]
        for name in ROLES
        if name not in WITHOUT_ATTENTION
    }
    assert scores["rnn_attention"]["cross"]["score"] == "alignment"
    assert scores["conv_s2s"]["cross"]["score"] == "multi-step"
    assert scores["structured_self_attention"]["hops"]["score"] == "hops"
    assert scores["transformer_lm"]["decoder"] == {"score": "scaled-dot", "before": None, "after": 0}


@pytest.mark.parametrize("name", [name for name in CONFIGS if ROLES.get(name, ROLES[kind_of(name)])])
def test_no_weight_falls_on_a_masked_cell(name: str) -> None:
    bundle = random_bundle(name)
    (example,) = attention_examples(bundle.text_model(), [TEXT])
    mechanisms = attention_mechanisms(bundle.model)
    for role, layers in example.weights.items():
        for layer in layers:
            weights = np.asarray(layer)
            allowed = mechanisms.get(role, UNMASKED).allowed_cells(*weights.shape[1:])
            assert not weights[:, ~allowed].any()
            assert weights[:, allowed].all(), "a cell that may be read has some weight"


@pytest.mark.parametrize("texts", [(), ("",), ("a", " \t")])
def test_empty_text_is_an_error(texts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="Give a sentence"):
        tongsa.view(random_bundle("rnn_attention"), texts)


def test_title_cannot_break_out_of_the_notebook_frame() -> None:
    frame = Page('"><script>alert(1)</script>', {})._repr_html_()
    assert frame.count("<") == frame.count(">") == 2 and "<script" not in frame


def test_no_file_of_the_page_hides_one_of_the_views() -> None:
    """The server delivers both folders under /static/."""
    folders = (files("tongsa.visualize") / "assets", files("tongsa.server") / "static")
    views, page = ({entry.name for entry in folder.iterdir()} for folder in folders)
    assert not views & page


def test_bundled_modules_come_before_their_importers() -> None:
    names = import_order("offline_page.js")
    assert len(names) == len(set(names)) and names[-1] == "offline_page.js"
    for i, name in enumerate(names):
        imported = [line.split('"./')[1].rstrip('";') for line in read_asset(name).splitlines() if ' from "./' in line]
        assert set(imported) <= set(names[:i]), name
    assert "@param" not in bundle_script("offline_page.js")  # comments are left out


@pytest.mark.parametrize(
    "line", ["export default 1;", "export { a };", 'import b from "./dom.js";', 'import "./dom.js";']
)
def test_forms_that_the_bundle_would_lose_are_refused(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(js_modules, "read_asset", lambda _: f"const a = 1;\n{line}\n")
    with pytest.raises(AssertionError, match="cannot contain"):
        bundle_script("a.js")


def test_bundle_keeps_casts_and_imports_over_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {
        "a.js": 'import {\n  $,\n  b as c,\n} from "./b.js";\n/** @type {X} */ (c).run();\n/** Doc. */\nconst d = $;\n',
        "b.js": "export const $ = 1;\nexport const b = 2;\n",
    }
    monkeypatch.setattr(js_modules, "read_asset", modules.__getitem__)
    script = bundle_script("a.js")
    assert "const { $, b: c } = module_b;\n/** @type {X} */ (c).run();\nconst d = $;" in script
    assert "return { $, b };" in script
