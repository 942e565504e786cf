import errno
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tongsa.errors import InputError
from tongsa.visualize import AttentionExample, page_html, write_page
from tongsa.visualize.packing import unpack_uint16

from .readings import SOURCE, TARGET, causal, reading, weights

HOSTILE = "</script><img src=x onerror=alert(1)><!-- <script> {{data}} {{style}} \u2028 \u2029 \ud83d &lt;b&gt;"


class Parts(HTMLParser):
    """The tags of a page in order, and the text inside its data element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.title = self.data = ""
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.inside = "data" if ("id", "data") in attrs else tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's name
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "data":
            self.data += data
        elif self.inside == "title":
            self.title += data


def data(text: str) -> Any:
    return json.loads(Parts(text).data)["panels"]["attention"]


def one(role: str, values: Any) -> AttentionExample:
    return AttentionExample(
        source_tokens=SOURCE, target_tokens=TARGET, weights={role: [values]}, text="t", translation="u"
    )


def test_hostile_text_stays_text() -> None:
    hostile = reading(HOSTILE, source=[HOSTILE, *SOURCE[1:]])
    attacked, calm = page_html(HOSTILE, [hostile], note=HOSTILE), page_html("calm", [reading()])
    assert Parts(attacked).tags == Parts(calm).tags
    assert Parts(attacked).title == HOSTILE.replace("\ud83d", "?")
    assert data(attacked)["note"] == HOSTILE
    assert data(attacked)["readings"][0]["text"] == HOSTILE
    assert data(attacked)["readings"][0]["roles"][0]["pieces"]["keys"][0] == HOSTILE


def test_nothing_that_a_script_element_could_end_on_is_in_the_data() -> None:
    raw = page_html("t", [reading(HOSTILE)]).partition('id="data">')[2].partition("</script>")[0]
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", raw)


def test_the_page_script_never_parses_text_as_markup() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", page_html("t", [reading()])
    )


def test_the_page_needs_no_network() -> None:
    text = page_html("t", [reading()]).replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", text)
    assert not {"link", "iframe", "img", "object"} & set(Parts(text).tags)


def test_weights_come_back_rounded_to_four_decimals() -> None:
    given = reading()
    told = data(page_html("t", [given]))
    for role in told["readings"][0]["roles"]:
        for layer, original in zip(role["layers"], given.weights[role["role"]], strict=True):
            stored = unpack_uint16(layer["packed"]) / told["grain"]
            assert layer["count"] == len(np.asarray(original))
            assert_array_equal(stored, np.round(np.asarray(original), 4).ravel())


def test_hangul_is_written_as_it_is() -> None:
    text = page_html("통사", [reading()])
    assert "통사" in text and "나는 집에 간다" in text and "▁간다" in text


def test_words_are_told_by_where_they_begin_among_the_pieces() -> None:
    cross = data(page_html("t", [reading()]))["readings"][0]["roles"][0]["words"]
    assert (cross["queries"], cross["keys"]) == (
        ["나는", "집에", "간다", "</s>"],
        ["I", "go", "home", "</s>"],
    )
    assert (cross["query_starts"], cross["key_starts"]) == ([0, 2, 4, 5], [0, 1, 2, 3])


def test_a_decoder_reads_the_pieces_before() -> None:
    roles = {role["role"]: role for role in data(page_html("t", [reading()]))["readings"][0]["roles"]}
    assert list(roles) == ["cross", "encoder", "decoder"]
    assert roles["decoder"]["pieces"]["keys"] == ["<s>", *TARGET[:-1]]
    assert roles["decoder"]["words"]["keys"] == ["<s>", "나는", "집에", "간다"]


def test_hops_are_numbered_and_not_merged() -> None:
    hops = data(page_html("t", [one("hops", weights((1, 3, 4)).tolist())]))["readings"][0]["roles"][0]
    assert hops["pieces"]["queries"] == hops["words"]["queries"] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("role", "values", "message"),
    [
        (
            "cross",
            weights((2, 4, 6)),
            r"reading 1, cross, layer 1: weights are \(2, 4, 6\); give \(head, 6 queries",
        ),
        ("cross", weights((2, 6, 4))[0], r"weights are \(6, 4\)"),
        ("cross", 2 * weights((2, 6, 4)), "rows are not probabilities"),
        ("cross", np.full((1, 6, 4), np.nan), "rows are not probabilities"),
        ("hops", weights((2, 6, 4))[0], "weights are"),
    ],
)
def test_wrong_weights_are_named(role: str, values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        page_html("t", [one(role, values)])


def test_a_page_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no sentence"):
        page_html("t", [])


def test_half_precision_is_probability_enough() -> None:
    page_html("t", [one("decoder", causal(2, 6).astype(np.float16))])


def test_a_score_that_is_no_number_is_refused() -> None:
    broken = AttentionExample(
        source_tokens=SOURCE, target_tokens=TARGET, weights={}, text="t", translation="u", score=float("nan")
    )
    with pytest.raises(InputError, match="finite"):
        page_html("t", [broken])


def test_writing_replaces_the_file_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    write_page(path, HOSTILE, [reading(HOSTILE)])
    assert path.read_text(encoding="utf-8") == page_html(HOSTILE, [reading(HOSTILE)])
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="the disk is full"):
        write_page(path, "t", [reading()])
    assert path.read_text() == "old"
