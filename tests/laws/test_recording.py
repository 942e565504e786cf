"""Laws of recording and of traces, for every kind of model."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import tongsa
from operations import OPERATIONS, PageTensors
from tiny import CONFIGS, kind_of, padded_batch, sentence, tiny
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn.recording import Recorder, record, recording
from tongsa.tokenization.labels import LabelTokenizer
from tongsa.tokenization.special import BOS, EOS
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.visualize.equations import RECOMPUTED, equations
from tongsa.visualize.packing import unpack_floats
from tongsa.visualize.trace import Trace, trace
from tongsa.visualize.trace_source import source_line
from tongsa.visualize.what_if import token_id

kinds = pytest.mark.parametrize("kind", CONFIGS)
PAIR = padded_batch(sentence(5), sentence(8)), padded_batch([BOS, *sentence(6, 1)], [BOS, *sentence(3, 1)])
"""A padded batch: source and decoder input."""


@cache
def tiny_trace(kind: str) -> Trace:
    """Return the trace of one text; the weights are random, so the output is given."""
    tokenizer = train_tokenizer(["a b c d e f g"], TokenizerConfig(model="char", vocab_size=300))
    config = CONFIGS[kind]
    target_tokenizer = LabelTokenizer(["no", "yes"]) if config.task == "classification" else tokenizer
    torch.manual_seed(3)
    model = Bundle(
        kind=kind_of(kind),
        config=config,
        model=randomize(config.build(len(tokenizer), len(target_tokenizer))),
        source_tokenizer=tokenizer,
        target_tokenizer=target_tokenizer,
        decoding=DecodingConfig(beam=2, max_extra_tokens=2),
        source_language="en",
        target_language="ko",
    ).text_model()
    return trace(model, "a b c", target="b d" if config.task == "seq2seq" else None)


def randomize(model: EncoderDecoder) -> EncoderDecoder:
    """Make every vector of a norm, every bias and every running statistic different from its initial value."""
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            if value.dim() == 1:
                value.add_(torch.rand_like(value) * (0.5 if "var" in name or "weight" in name else 0.1))
    return model


def run(model: EncoderDecoder, source: Padded, target: Padded) -> tuple[torch.Tensor, Recorder]:
    with torch.no_grad(), recording(model) as recorder:
        recorder.enter("encoder")
        memory = model.encoder(source)
        recorder.enter("decoder")
        return model.decoder(target, memory), recorder


@kinds
def test_a_recorded_computation_gives_the_same_logits(kind: str) -> None:
    model = tiny(kind)
    with torch.no_grad():
        fused = model(*PAIR)
    recorded, recorder = run(model, *PAIR)
    assert_close(recorded, fused)
    assert torch.equal(recorder.tensors[-1].value, recorded)


@kinds
def test_stepping_records_what_teacher_forcing_records(kind: str) -> None:
    """The page shows step t as row t: the logits of every step are those of the recorded rows."""
    result = tiny_trace(kind)
    model, example = result.text_model.model, result.example
    with torch.no_grad():
        state = model.decoder.start(model.encoder(padded_batch(list(example.source or (2,)))))
        for step, token in enumerate(example.inputs):
            logits, state = model.decoder.step(torch.tensor([token]), state)
            assert_close(logits[0], result.run.logits[step])


@kinds
def test_every_recorded_name_has_an_equation_and_its_line_contains_the_name(kind: str) -> None:
    _, recorder = run(tiny(kind), *PAIR)
    for recorded in recorder.tensors:
        equation = equations()[recorded.name]
        assert equation.en.endswith(".")
        assert equation.ko.endswith(".")
        location = source_line(recorded)
        assert f'"{recorded.name}"' in Path(location.path).read_text("utf-8").splitlines()[location.line - 1]
        assert location.file.startswith("src/tongsa/")


def test_every_equation_is_recorded_by_some_kind() -> None:
    names = {recorded.name for kind in CONFIGS for recorded in run(tiny(kind), *PAIR)[1].tensors}
    in_training = {"dropout.output", "attention.dropped"}
    assert equations().keys() == names | in_training


def test_formulas_are_the_same_in_every_language() -> None:
    greek = {"gamma", "beta", "epsilon"}
    functions = {"concat", "log", "max", "mean", "silu", "softmax", "sqrt", "tanh", "var", "variance"}
    variables = {"PE", "id", "pos", "rate", "scale", "table"}
    words = {word for equation in equations().values() for word in re.findall(r"[A-Za-z]{2,}", equation.formula)}
    assert words <= greek | functions | variables


def check_page_numbers(result: Trace) -> None:
    """Compare the numbers that the page shows, stored or computed, with the recorded ones."""
    page = PageTensors(result.data)
    for (key, tensor), array_key in zip(result.data["tensors"].items(), result.tensors, strict=True):
        if tensor["name"] != "output.logits":
            np.testing.assert_allclose(page[key], result.tensors[array_key], rtol=1e-4, atol=2e-5, err_msg=array_key)


@kinds
def test_tensors_are_computed_again_from_their_operands(kind: str) -> None:
    result = tiny_trace(kind)
    page = PageTensors(result.data)
    recomputed = 0
    for (key, tensor), array_key in zip(result.data["tensors"].items(), result.tensors, strict=True):
        equation = result.data["equations"][tensor["name"]]
        recorded = result.tensors[array_key]
        assert list(recorded.shape) == tensor["shape"]
        assert len(tensor["axes"]) == len(tensor["labels"]) == recorded.ndim
        if tensor["name"] == "output.logits":
            continue
        np.testing.assert_allclose(page[key], recorded, atol=2e-5, err_msg=array_key)
        if equation["operation"] in RECOMPUTED:
            np.testing.assert_allclose(page.recompute(key), recorded, atol=2e-5, err_msg=array_key)
            recomputed += 1
        if tensor["values"] is None:
            rows = np.where(np.isfinite(recorded), recorded, 0).reshape(-1, recorded.shape[-1] if recorded.ndim else 1)
            np.testing.assert_allclose(unpack_floats(tensor["check"]["rows"]), rows.sum(1), atol=2e-5)
            cells = tensor["check"]["cells"]
            np.testing.assert_allclose([value for _, value in cells], recorded.flat[[i for i, _ in cells]], rtol=1e-6)
    assert recomputed


def test_every_operation_of_the_page_is_used_by_some_kind() -> None:
    used = {table["operation"] for kind in CONFIGS for table in tiny_trace(kind).data["equations"].values()}
    assert OPERATIONS.keys() <= used


@kinds
def test_stages_hold_every_tensor_and_the_data_is_json(kind: str) -> None:
    data = tiny_trace(kind).data
    assert json.dumps(data, allow_nan=False)
    staged = [key for stage in data["stages"] if stage["id"] != "memory" for key in stage["tensors"]]
    assert sorted(staged) == sorted(data["tensors"])
    assert all(stage["title"] and stage["title_ko"] for stage in data["stages"])
    for tensor in data["tensors"].values():
        excerpts = data["code"][tensor["file"]]
        assert any(part["start"] <= tensor["line"] < part["start"] + len(part["lines"]) for part in excerpts)


@kinds
def test_the_logits_of_the_page_are_products_with_the_output_embedding(kind: str) -> None:
    result = tiny_trace(kind)
    output, logits = (
        result.data["output"],
        next(tensor for tensor in result.data["tensors"].values() if tensor["name"] == "output.logits"),
    )
    hidden = PageTensors(result.data)[logits["operands"]["h"]]
    embedding = output["embedding"]
    rows = unpack_floats(embedding["values"]).reshape(embedding["shape"])
    products = hidden.reshape(-1, rows.shape[1]) @ rows.T + np.array(embedding["bias"] or 0)
    for step, chosen in enumerate(output["chosen"]):
        column = embedding["ids"].index(chosen["id"])
        assert products[min(step, len(products) - 1), column] == pytest.approx(chosen["logit"], abs=1e-4)
        assert chosen["log_prob"] == pytest.approx(chosen["logit"] - output["logsumexp"][step], abs=1e-5)


def test_nothing_is_recorded_outside_and_nothing_is_kept() -> None:
    model, value = tiny("transformer"), torch.ones(1)
    assert record("name", model, value, x=value) is value
    with recording(model) as first:
        pass
    run(model, *PAIR)
    assert first.tensors == []
    assert record("name", model, value) is value


def test_a_recording_belongs_to_its_thread() -> None:
    model = tiny("transformer")
    with ThreadPoolExecutor(1) as pool, recording(model) as recorder:
        pool.submit(lambda: model(*PAIR)).result()
    assert recorder.tensors == []


def test_an_edit_replaces_a_value_where_it_is_recorded() -> None:
    model = tiny("transformer")
    with torch.no_grad():
        plain = model(*PAIR)
        zeros = [lambda recorded: recorded.value * 0 if recorded.name == "attention.context" else None]
        with recording(model, edits=zeros) as recorder:
            edited = model(*PAIR)
    assert not torch.allclose(plain, edited)
    assert all(not recorded.value.any() for recorded in recorder.tensors if recorded.name == "attention.context")


def test_dropout_is_recorded_in_training_and_reads_on() -> None:
    model = tiny("transformer").train()
    _, recorder = run(model, *PAIR)
    dropped = [recorded for recorded in recorder.tensors if recorded.name == "dropout.output"]
    residual = next(recorded for recorded in recorder.tensors if recorded.name == "residual.self_attention")
    assert recorder.tensors[residual.sources["y"]].name == "dropout.output"
    x, y = (recorder.tensors[residual.sources[symbol]].value for symbol in "xy")
    assert_close(residual.value, x + y)
    assert dropped


def test_the_page_of_a_model_with_dropout_switched_on_shows_dropped_attention_weights() -> None:
    kind = next(name for name, config in CONFIGS.items() if getattr(config, "attention_dropout", 0))
    edited = tiny_trace(kind).text_model.trace("a b c", target="b d", edits=[{"type": "dropout", "seed": 3}])
    names = edited.data["tensors"].values()
    dropped = [tensor for tensor in names if tensor["name"] == "attention.dropped"]
    assert {len(tensor["shape"]) for tensor in dropped} == {3}
    assert {tuple(tensor["labels"][1:]) for tensor in dropped} == {
        ("source", "source"),
        ("target", "target"),
        ("target", "source"),
    }
    contexts = [tensor for tensor in names if tensor["name"] == "attention.context"]
    by_id = edited.data["tensors"]
    assert {by_id[tensor["operands"]["A"]]["name"] for tensor in contexts} == {"attention.dropped"}


def test_a_decoder_that_normalizes_the_memory_labels_it_as_source() -> None:
    kind = next(name for name, config in CONFIGS.items() if getattr(config, "final_norm", "") == "decoder")
    data = tiny_trace(kind).data
    norms = [tensor for tensor in data["tensors"].values() if "memory_norm" in tensor["path"]]
    assert len(norms) == 2
    assert {tensor["labels"][0] for tensor in norms} == {"source"}
    stage = next(stage for stage in data["stages"] if stage["id"] == "decoder.layers.0.cross_attention")
    assert any("memory_norm" in data["tensors"][key]["path"] for key in stage["tensors"])


def test_a_compiled_function_does_not_record() -> None:
    class Double(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return record("name", self, 2 * x, x=x)

    double = Double()
    compiled = torch.compile(double, backend="eager", fullgraph=True)
    with recording(double) as recorder:
        assert_close(compiled(torch.ones(2)), 2 * torch.ones(2))
    assert recorder.tensors == []


def test_trace_is_a_method_of_every_text_model() -> None:
    result = tiny_trace("transformer")
    again = result.text_model.trace("a b c", target="b d", layers=[2])
    assert isinstance(again, tongsa.Trace)
    paths = [tensor["path"] for tensor in again.data["tensors"].values() if ".layers." in tensor["path"]]
    assert {path.split(".")[2] for path in paths} == {"1"}
    assert_close(again.run.logits, result.run.logits)


@kinds
def test_the_terms_of_a_contrast_sum_to_the_difference_of_the_logits(kind: str) -> None:
    result = tiny_trace(kind)
    tokenizer, last = result.text_model.target_tokenizer, len(result.example.outputs)
    a, b = tokenizer.token_strings([0, 1] if result.text_model.task == "classification" else [EOS, len(tokenizer) - 1])
    contrast = result.contrast(last, a, b)
    logits = result.run.logits[last - 1]
    difference = logits[token_id(tokenizer, a)] - logits[token_id(tokenizer, b)]
    assert contrast["difference"] == pytest.approx(difference.item(), abs=1e-4)
    assert sum(term["value"] for term in contrast["terms"]) == pytest.approx(difference.item(), abs=1e-4)
    assert len(contrast["terms"]) > 1 or kind_of(kind) in ("rnn", "rnn_lm")  # some read the state alone


EDITS: dict[str, dict[str, Any]] = {
    "scale_off": {},
    "positions_off": {},
    "norm_off": {},
    "causal_off": {},
    "dropout": {"seed": 3},
    "temperature": {"value": 0.5},
    "source_token": {"index": 0, "token": "d"},
    "source_text": {"text": "d e"},
    "force": {"step": 1, "token": "c"},
}


@kinds
def test_every_possible_edit_changes_the_logits(kind: str) -> None:
    result = tiny_trace(kind)
    text, target = result.example.text, result.example.output_text if result.text_model.task == "seq2seq" else None
    possible = set(result.data["what_if"])
    for edit_type in possible & EDITS.keys():
        edited = result.text_model.trace(text, target=target, edits=[{"type": edit_type, **EDITS[edit_type]}])
        assert not torch.equal(edited.run.logits, result.run.logits), edit_type
        check_page_numbers(edited)
        again = result.text_model.trace(text, target=target, edits=[{"type": edit_type, **EDITS[edit_type]}])
        assert torch.equal(edited.run.logits, again.run.logits), edit_type
    for tensor in result.data["tensors"].values():
        if tensor["name"].endswith(".weights"):
            weights = [0.0] * (tensor["shape"][-1] - 1) + [2.0]
            row = {"type": "attention_row", "path": tensor["path"], "query": tensor["shape"][-2], "weights": weights}
            heads_off = {"type": "head_off", "path": tensor["path"], "head": 1}
            assert "attention_row" in possible
            edited = result.text_model.trace(text, target=target, edits=[row])
            key = next(key for key in edited.tensors if key.startswith(tensor["path"]) and key.endswith("weights"))
            rows = edited.tensors[key].reshape(-1, *tensor["shape"][-2:])
            np.testing.assert_allclose(rows[0, -1], np.array(weights) / 2)
            check_page_numbers(edited)
            if "head" in tensor["axes"]:
                edited = result.text_model.trace(text, target=target, edits=[heads_off])
                assert not torch.equal(edited.run.logits, result.run.logits)


def test_an_edited_translator_decodes_greedily() -> None:
    model = tiny_trace("transformer").text_model
    edited = model.trace("a b c", edits=[{"type": "temperature", "value": 1.0}])
    assert isinstance(model, Translator)
    (greedy,) = model.translate(["a b c"], beam=1, split_sentences=False)
    written = edited.example.outputs
    assert written[: len(greedy.token_ids[1])] == greedy.token_ids[1]
    forced = model.trace("a b c", edits=[{"type": "force", "step": 2, "token": "c"}])
    assert forced.example.outputs[1] == token_id(model.target_tokenizer, "c")
    assert forced.example.outputs[0] == written[0]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"type": "nothing"}, "unknown"),
        ({}, "no type"),
        ({"type": "scale_off", "color": 1}, "color"),
        ({"type": "temperature", "value": 0}, "positive"),
        ({"type": "attention_row", "weights": [0, 0]}, "positive"),
        ({"type": "head_off", "path": "encoder.layers.0.self_attention.attention", "head": 9}, "4 heads"),
        ({"type": "force", "step": 0, "token": "c"}, "from 1"),
        ({"type": "force", "step": 1, "token": "a b c d"}, "not one token"),
        ({"type": "source_token", "index": 99, "token": "c"}, "tokens"),
    ],
)
def test_a_wrong_edit_is_refused(edit: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tiny_trace("transformer").text_model.trace("a b c", target="b d", edits=[edit])


@kinds
def test_the_logit_lens_ends_with_what_the_model_writes(kind: str) -> None:
    result = tiny_trace(kind)
    has_stream = kind_of(kind) in ("transformer", "transformer_lm") and getattr(CONFIGS[kind], "residual", False)
    assert bool(result.logit_lens) == has_stream
    if has_stream:
        decoder: Any = result.text_model.model.decoder
        layers = len(decoder.layers)
        sublayers = 3 if kind_of(kind) == "transformer" else 2
        assert len(result.logit_lens) == 1 + layers * sublayers  # the embedding, and each sub-layer
        probabilities, tokens = result.run.logits.softmax(dim=-1).max(dim=-1)
        names = result.text_model.target_tokenizer.token_strings(tokens.tolist())
        *before, last = result.logit_lens.values()
        assert [token for token, _ in last] == names
        assert [p for _, p in last] == pytest.approx(probabilities.tolist(), rel=1e-3)
        assert before[0] != last


def test_the_logit_lens_follows_an_edit() -> None:
    model = tiny_trace("transformer").text_model
    edited = trace(model, "a b c", target="b d", edits=[{"type": "norm_off"}, {"type": "temperature", "value": 3}])
    *_, last = edited.logit_lens.values()
    assert [p for _, p in last] == pytest.approx(edited.run.logits.softmax(dim=-1).amax(dim=-1).tolist(), rel=1e-3)
