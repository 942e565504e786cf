"""Attention examples with random weights, and a parser of the pages."""

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tongsa.visualize import AttentionExample

SOURCE = ["▁I", "▁go", "▁home", "</s>"]
TARGET = ["▁나", "는", "▁집", "에", "▁간다", "</s>"]
HOSTILE = "</script><img src=x onerror=alert(1)><!-- <script> {{data}} {{style}} \u2028 \u2029 \ud83d &lt;b&gt;"
"""Text that must not become markup."""
UNSAFE = "[<>&\u2028\u2029\ud800-\udfff]"
"""Pattern of the characters that must not occur in the page's JSON."""
NETWORK_ACCESS = r"https?:|//[a-z]+\.|@import|url\("
MARKUP_FROM_TEXT = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b"


def random_weights(shape: tuple[int, int, int], seed: int = 0) -> NDArray[np.float64]:
    """Return random rows that sum to one."""
    return np.random.default_rng(seed).dirichlet(np.ones(shape[2]), size=shape[:2])


def causal_weights(heads: int, length: int) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.tril(random_weights((heads, length, length)))
    weights /= weights.sum(axis=2, keepdims=True)
    return weights


def attention_example(text: str = "I go home", source: Sequence[str] = SOURCE) -> AttentionExample:
    s, t = len(source), len(TARGET)
    return AttentionExample(
        source_tokens=source,
        target_tokens=TARGET,
        weights={
            "encoder": [random_weights((2, s, s), seed) for seed in (1, 2)],
            "decoder": [causal_weights(2, t), causal_weights(2, t)],
            "cross": [random_weights((2, t, s), seed) for seed in (3, 4)],
        },
        text=text,
        translation="나는 집에 간다",
        score=-1.25,
    )


class ParsedPage(HTMLParser):
    """Tags of a page in order, its title, and the text of its data element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.title = self.json_text = self.current = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.current = "data" if ("id", "data") in attrs else tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's name
        self.current = ""

    def handle_data(self, data: str) -> None:
        if self.current == "data":
            self.json_text += data
        elif self.current == "title":
            self.title += data


def panel_data(html: str, panel: str) -> Any:
    return json.loads(ParsedPage(html).json_text)["panels"][panel]


def raw_json(html: str) -> str:
    """Return the page's JSON as it stands in the HTML source."""
    return html.partition('id="data">')[2].partition("</script>")[0]


def without_svg_namespace(html: str) -> str:
    """Remove the SVG namespace: it looks like an address, but is a name."""
    return html.replace("http://www.w3.org/2000/svg", "")
