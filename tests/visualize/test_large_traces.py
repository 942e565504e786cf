"""A text too long to trace whole: half precision, then the first and last layers; the page and the command say so."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from command_line import run_command
from export.bundles import save_run, transformer
from tongsa.bundle import Bundle
from tongsa.errors import InputError
from tongsa.visualize.packing import unpack_floats
from tongsa.visualize.trace import MAX_FLOAT16_NUMBERS, MAX_FLOAT32_NUMBERS, Trace, trace

TEXT = " ".join("abcdefg"[i % 7] for i in range(60))


def bundle(encoder_layers: int, decoder_layers: int) -> Bundle:
    return transformer(
        width=128,
        ffn_width=256,
        max_positions=256,
        norm="pre",
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
    )


@cache
def long_trace(encoder_layers: int, decoder_layers: int, layers: tuple[int, ...] | None = None) -> Trace:
    return trace(bundle(encoder_layers, decoder_layers), TEXT, target=TEXT, layers=layers)


def test_a_long_text_is_stored_in_half_precision() -> None:
    result = long_trace(2, 2)
    recorded = result.data["recorded"]
    assert MAX_FLOAT32_NUMBERS < recorded["numbers"] <= MAX_FLOAT16_NUMBERS
    assert (recorded["precision"], recorded["layers"]) == ("float16", None)
    assert result.is_reduced
    stored = [(key, tensor) for key, tensor in zip(result.tensors, result.data["tensors"].values(), strict=True)]
    for key, tensor in stored:
        if tensor["values"]:
            values = unpack_floats(tensor["values"], "float16").reshape(tensor["shape"])
            np.testing.assert_allclose(values, result.tensors[key], rtol=1e-3, atol=1e-4, err_msg=key)


def test_a_longer_one_has_the_first_and_the_last_layer_of_each_side() -> None:
    result = long_trace(5, 3)
    recorded = result.data["recorded"]
    assert recorded["layers"] == [1, 3, 5] and recorded["all_layers"] == [1, 2, 3, 4, 5] and not recorded["chosen"]
    assert recorded["numbers"] <= MAX_FLOAT16_NUMBERS
    layers = {side: set[int]() for side in ("encoder", "decoder")}
    for stage in result.data["stages"]:
        if stage["layer"]:
            layers[stage["side"]].add(stage["layer"])
    assert layers == {"encoder": {1, 3, 5}, "decoder": {1, 3}}
    assert "decoder.layers.1.feed_forward.ffn.output" in result.tensors  # all of them are there in Python


def test_layers_can_be_chosen() -> None:
    result = long_trace(5, 3, (2,))
    assert {stage["layer"] for stage in result.data["stages"]} == {None, 2}
    assert result.data["recorded"]["chosen"]
    with pytest.raises(InputError, match=r"layers \[9\]: the model has layers 1 to 5"):
        trace(result.text_model, "a b", target="a", layers=[9])


def test_the_command_says_what_was_recorded(tmp_path: Path) -> None:
    save_run(tmp_path / "run", bundle(5, 3))
    page = tmp_path / "trace.html"
    result = run_command("trace", tmp_path / "run", TEXT, "--target", TEXT, "-o", page)
    assert "recorded: layers 1, 3, 5 of 5; numbers in half precision" in result.stderr
    assert page.stat().st_size < 2_500_000
    chosen = run_command("trace", tmp_path / "run", TEXT, "--target", TEXT, "--layers", "2", "-o", page)
    assert "recorded: layers" not in chosen.stderr
