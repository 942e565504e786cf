import errno
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tongsa.errors import InputError
from tongsa.visualize import AttentionExample, page_html, write_page
from tongsa.visualize.packing import unpack_uint16

from .examples import (
    HOSTILE,
    MARKUP_FROM_TEXT,
    NETWORK_ACCESS,
    SOURCE,
    TARGET,
    UNSAFE,
    ParsedPage,
    attention_example,
    causal_weights,
    panel_data,
    random_weights,
    raw_json,
    without_svg_namespace,
)


def first_example(html: str) -> Any:
    return panel_data(html, "attention")["examples"][0]


def example_with(role: str, weights: Any) -> AttentionExample:
    return AttentionExample(
        source_tokens=SOURCE, target_tokens=TARGET, weights={role: [weights]}, text="t", translation="u"
    )


def test_hostile_text_stays_text() -> None:
    hostile = attention_example(HOSTILE, source=[HOSTILE, *SOURCE[1:]])
    attacked, harmless = page_html(HOSTILE, [hostile], note=HOSTILE), page_html("harmless", [attention_example()])
    assert ParsedPage(attacked).tags == ParsedPage(harmless).tags
    assert ParsedPage(attacked).title == HOSTILE.replace("\ud83d", "?")
    assert panel_data(attacked, "attention")["note"] == HOSTILE
    assert first_example(attacked)["text"] == HOSTILE
    assert first_example(attacked)["roles"][0]["tokens"]["keys"][0] == HOSTILE
    assert not re.search(UNSAFE, raw_json(attacked))


def test_page_needs_no_network_and_parses_no_text_as_markup() -> None:
    html = without_svg_namespace(page_html("t", [attention_example()]))
    assert not re.search(NETWORK_ACCESS, html)
    assert not {"link", "iframe", "img", "object"} & set(ParsedPage(html).tags)
    assert not re.search(MARKUP_FROM_TEXT, html)


def test_weights_are_stored_with_four_decimals() -> None:
    example = attention_example()
    data = panel_data(page_html("t", [example]), "attention")
    for role in data["examples"][0]["roles"]:
        for layer, original in zip(role["layers"], example.weights[role["role"]], strict=True):
            stored = unpack_uint16(layer["packed"]) / data["quantization_scale"]
            assert layer["count"] == len(np.asarray(original))
            assert_array_equal(stored, np.round(np.asarray(original), 4).ravel())


def test_hangul_is_not_escaped() -> None:
    html = page_html("통사", [attention_example()])
    assert "통사" in html and "나는 집에 간다" in html and "▁간다" in html


def test_words_are_given_by_their_first_tokens() -> None:
    cross = first_example(page_html("t", [attention_example()]))["roles"][0]["words"]
    assert cross["queries"] == ["나는", "집에", "간다", "</s>"]
    assert cross["keys"] == ["I", "go", "home", "</s>"]
    assert (cross["query_starts"], cross["key_starts"]) == ([0, 2, 4, 5], [0, 1, 2, 3])


def test_decoder_keys_are_the_tokens_before() -> None:
    roles = {role["role"]: role for role in first_example(page_html("t", [attention_example()]))["roles"]}
    assert list(roles) == ["cross", "encoder", "decoder"]
    assert roles["decoder"]["tokens"]["keys"] == ["<s>", *TARGET[:-1]]
    assert roles["decoder"]["words"]["keys"] == ["<s>", "나는", "집에", "간다"]


def test_hops_are_numbered_and_not_merged() -> None:
    hops = first_example(page_html("t", [example_with("hops", random_weights((1, 3, 4)).tolist())]))["roles"][0]
    assert hops["tokens"]["queries"] == hops["words"]["queries"] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("role", "weights", "message"),
    [
        (
            "cross",
            random_weights((2, 4, 6)),
            r"example 1, cross, layer 1: weights have shape \(2, 4, 6\). Give \(head, 6 queries",
        ),
        ("cross", random_weights((2, 6, 4))[0], r"weights have shape \(6, 4\)"),
        ("cross", 2 * random_weights((2, 6, 4)), "rows are not probabilities"),
        ("cross", np.full((1, 6, 4), np.nan), "rows are not probabilities"),
        ("hops", random_weights((2, 6, 4))[0], "weights have shape"),
    ],
)
def test_invalid_weights_are_named(role: str, weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        page_html("t", [example_with(role, weights)])


def test_page_without_examples_is_an_error() -> None:
    with pytest.raises(InputError, match="no sentence"):
        page_html("t", [])


def test_half_precision_weights_are_accepted() -> None:
    page_html("t", [example_with("decoder", causal_weights(2, 6).astype(np.float16))])


def test_score_must_be_finite() -> None:
    example = AttentionExample(
        source_tokens=SOURCE, target_tokens=TARGET, weights={}, text="t", translation="u", score=float("nan")
    )
    with pytest.raises(InputError, match="finite"):
        page_html("t", [example])


def test_write_replaces_the_file_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    write_page(path, HOSTILE, [attention_example(HOSTILE)])
    assert path.read_text(encoding="utf-8") == page_html(HOSTILE, [attention_example(HOSTILE)])
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="the disk is full"):
        write_page(path, "t", [attention_example()])
    assert path.read_text() == "old"
