"""Probes of each kind of model: small, close to the model's own numbers, and without effect on the training."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from test_same_run import write_recipe

from export.bundles import LABELS, SOURCE, random_bundle
from tiny import CONFIGS, kind_of
from tongsa import runs
from tongsa.decoding.translator import Translator
from tongsa.models import KINDS
from tongsa.runs.probes import is_probe_step
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.training.journal import read_journal
from tongsa.visualize.probe import (
    MAX_RECORD_BYTES,
    MAX_STEPS,
    Probe,
    pack_probe,
    take_probe,
    thin_columns,
    unpack_probe,
)

STEPS = 12
TEXTS = ["a b c d e f", "b"]
MOMENT = {"step": 100_000, "seconds": 1234.567, "tokens": 10**9, "sentence": 15}


def probe_of(name: str, text: str) -> Probe:
    config = CONFIGS[name]
    target: Tokenizer = LABELS if config.task == "classification" else SOURCE
    return take_probe(random_bundle(kind_of(name), config, target=target).text_model(), text)


def line_bytes(record: dict[str, Any]) -> int:
    return len(json.dumps(record, ensure_ascii=False).encode("utf-8")) + 1


@pytest.mark.parametrize("name", CONFIGS)
def test_a_record_is_small_and_gives_the_models_numbers_back(name: str) -> None:
    probe = probe_of(name, "a b c d e f g a b c d e f g a b c")
    record = pack_probe(probe, MOMENT)
    assert line_bytes(record) <= MAX_RECORD_BYTES
    again = probe_of(name, "a b c d e f g a b c d e f g a b c")
    assert again.sample == probe.sample  # the seed is fixed
    read, kept = unpack_probe(json.loads(json.dumps(record))), probe.first_steps(MAX_STEPS)
    assert read.output == probe.output[: len(read.output)]
    assert record["log_prob"] == pytest.approx(probe.log_prob, abs=1e-4)
    assert_array_equal(read.top_ids, kept.top_ids)
    assert_allclose(read.top_probabilities, kept.top_probabilities, atol=1 / 255)
    for signed, original in ((read.memory, kept.memory), (read.states, kept.states)):
        columns = thin_columns(original.shape[1], signed.shape[1])
        assert_allclose(signed, original[:, columns], atol=np.abs(original).max(initial=0) / 127)
    assert (read.alignment is None) == (kept.alignment is None)
    if read.alignment is not None and kept.alignment is not None:
        assert_allclose(read.alignment, kept.alignment, atol=0.5 / 255 + 1e-6)
        assert_allclose(kept.alignment.sum(axis=1), 1, atol=1e-5 if kept.reads != "history" else 1)


@pytest.mark.parametrize("name", KINDS)
def test_a_probe_has_the_models_own_answer_and_attention(name: str) -> None:
    probe, task = probe_of(name, TEXTS[0]), CONFIGS[name].task
    model = random_bundle(name, CONFIGS[name], target=LABELS if task == "classification" else SOURCE).text_model()
    expected = {"rnn": "state", "bytenet": "unweighted"}.get(name, "source")
    assert probe.reads == (expected if isinstance(model, Translator) else probe.reads)
    if isinstance(model, Translator):
        translation = model(TEXTS[0])
        assert probe.output == translation.text
        assert probe.log_prob == pytest.approx(translation.log_prob, abs=1e-4)
        if probe.alignment is not None:
            assert_allclose(probe.alignment, translation.alignment, atol=1e-6)
    else:
        scores = model.score([("" if task == "language_model" else TEXTS[0], probe.output)])[0]
        assert_allclose(probe.token_log_probs, scores, atol=1e-5)
    best = probe.top_probabilities.max(axis=1)
    assert_array_equal(probe.top_probabilities[:, 0], best)


@settings(max_examples=25)
@given(
    text=st.text(max_size=200),
    output=st.text(max_size=2000),
    sizes=st.tuples(st.integers(1, 100), st.integers(0, 41), st.integers(1, 300), st.integers(1, 6)),
)
def test_every_probe_fits(text: str, output: str, sizes: tuple[int, int, int, int]) -> None:
    steps, slots, width, layers = sizes
    random = np.random.default_rng(0)

    def noise(*shape: int) -> Any:
        return random.normal(size=shape).astype(np.float32)

    attention = [random.dirichlet(np.ones(slots or 1), size=steps).astype(np.float32) for _ in range(layers)]
    probe = Probe(
        text=text.encode("utf-8", "replace").decode(),
        output=output.encode("utf-8", "replace").decode(),
        ids=(99_999,) * steps,
        token_log_probs=(-12.345678,) * steps,
        reads="source" if slots else "state",
        alignment=attention[0] if slots else None,
        layers=tuple(attention) if slots else (),
        top_ids=random.integers(0, 1 << 24, size=(steps, 5)),
        top_probabilities=random.dirichlet(np.ones(5), size=steps).astype(np.float32),
        memory=noise(slots, width),
        states=noise(steps, width),
    )
    record = pack_probe(probe, MOMENT)
    assert line_bytes(record) <= MAX_RECORD_BYTES
    assert_array_equal(unpack_probe(record).top_ids, probe.top_ids[: len(record["ids"])])


def test_probes_are_taken_at_log_spaced_steps() -> None:
    assert [step for step in range(1001) if is_probe_step(step)] == [0, 10, 20, 50, 100, 200, 500, 1000]


def moments(run: Path) -> list[tuple[int, int, str, float]]:
    return [
        (record["step"], record["sentence"], record["output"], record["log_prob"])
        for record in read_journal(run / "probes.jsonl")
    ]


@pytest.mark.parametrize("name", KINDS)
def test_probes_never_change_the_training_and_a_resumed_run_writes_each_once(name: str, tmp_path: Path) -> None:
    recipe, last = write_recipe(name, tmp_path), f"{STEPS:09d}"
    changes = [f"training.steps={STEPS}", f"training.checkpoint_every={STEPS // 2}", "training.validate_every=9"]
    plain, probed = tmp_path / "plain", tmp_path / "probed"
    runs.train(recipe, run=plain, settings=changes, quiet=True)
    runs.train(recipe, run=probed, settings=[*changes, f"training.probe={json.dumps(TEXTS)}"], quiet=True)
    files = [f"checkpoints/{last}/state.safetensors", "model/weights.safetensors"]
    assert [(plain / file).read_bytes() for file in files] == [(probed / file).read_bytes() for file in files]
    assert not (plain / "probes.jsonl").exists()

    written = moments(probed)
    assert [(step, sentence) for step, sentence, _, _ in written] == [
        (step, sentence) for step in (0, 10, STEPS) for sentence in (0, 1)
    ]
    shutil.rmtree(probed / "checkpoints" / last)
    with (probed / "probes.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 12, "sentence": 0, "te')  # the process was killed while it wrote
    runs.resume(probed, quiet=True)
    assert moments(probed) == written
