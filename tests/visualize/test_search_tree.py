"""The page of a beam search: what it tells is what the search did, and no piece can break out of it."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tongsa import bundle
from tongsa.batch import Examples, Ragged
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.models.transformer.language_model import TransformerLMConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.special import EOS
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.visualize.search_tree import (
    FinishedHypothesis,
    SearchRecorder,
    SearchTree,
    TreeCandidate,
    TreeStep,
    build_search_tree,
    page_html,
    printable,
)

TEXT = "the cat sleeps"
PIECES = train_tokenizer(
    [TEXT, "고양이는 잔다", "뉴욕이 좋다", "개가 책을 읽는다", "I like New York"],
    TokenizerConfig(model="char", vocab_size=60, byte_fallback=False),
)
NETWORK = TransformerConfig(
    width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0, tie_embeddings="none"
)
HOSTILE = "</script><b>&\u2028\u202e{{data}}"


def translator(seed: int = 18, **settings: Any) -> Translator:
    """Weights are drawn, and large, so that some continuations are far likelier than others."""
    torch.manual_seed(seed)
    model = NETWORK.build(len(PIECES), len(PIECES)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.8)
    return Translator(model, PIECES, PIECES, replace(DecodingConfig(beam=4, max_extra_tokens=3), **settings))


SETTINGS: list[dict[str, Any]] = [
    {},
    {"beam": 1},
    {"beam": 7, "alpha": 0.0},
    {"alpha": 1.5, "length_normalization": "plain"},
    {"repetition_penalty": 1.7},
    {"no_repeat_ngram": 1, "min_tokens": 3},
    {"coverage_penalty": 0.4, "beam": 6},
]


@pytest.fixture(params=SETTINGS, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[Translator, SearchTree]:
    made = translator(**request.param)
    return made, build_search_tree(made, TEXT, max_pruned=5)


def test_the_parent_of_every_candidate_was_kept_in_the_step_before(case: tuple[Translator, SearchTree]) -> None:
    steps = case[1].steps
    assert len(steps) > 1
    assert all(one.parent is None and len(one.prefix) == 1 for one in (*steps[0].kept, *steps[0].pruned))
    for before, step in pairwise(steps):
        for one in (*step.kept, *step.pruned):
            assert one.parent is not None
            assert before.kept[one.parent].prefix == one.prefix[:-1]
            assert not before.kept[one.parent].is_finished


def test_the_best_finished_output_is_the_translation_with_its_probabilities(
    case: tuple[Translator, SearchTree],
) -> None:
    made, tree = case
    (found,) = made.translate([TEXT])
    best = tree.finished_candidate(tree.finished[0])
    assert best.text == found.text
    assert math.isclose(tree.finished[0].score, found.score, abs_tol=1e-4)
    logs = [best.token_log_prob]
    for step in reversed(tree.steps[: len(best.prefix) - 1]):
        parent = best.parent
        assert parent is not None
        best = step.kept[parent]
        logs.insert(0, best.token_log_prob)
    assert logs == pytest.approx(found.token_log_probs, abs=1e-4)
    assert math.isclose(math.prod(map(math.exp, logs)), math.exp(found.log_prob), rel_tol=1e-3)


def test_every_finished_output_has_the_total_that_the_model_gives_it(case: tuple[Translator, SearchTree]) -> None:
    made, tree = case
    finished = [tree.finished_candidate(one) for one in tree.finished]
    every = [one for step in tree.steps for one in step.kept if one.is_finished]
    assert sorted(one.prefix for one in finished) == sorted(one.prefix for one in every)
    compared, pushed_out = finished[: tree.config.beam], finished[tree.config.beam :]
    assert all(one.ranking_score <= min(other.ranking_score for other in compared) for one in pushed_out)
    for group in (tree.finished[: tree.config.beam], tree.finished[tree.config.beam :]):
        scores = [one.score for one in group]
        assert scores == sorted(scores, reverse=True)
    source = PIECES.encode(TEXT)
    for one in finished:
        batch = Examples(Ragged([source]), Ragged([list(one.prefix[:-1])])).batch(np.array([0]))
        with torch.inference_mode():
            logs = made.model(batch.source, batch.decoder_input).log_softmax(dim=-1)[0]
        total = sum(float(logs[at, piece]) for at, piece in enumerate(one.prefix))
        assert math.isclose(one.log_prob, total, abs_tol=1e-3)


def test_what_was_pruned_is_below_all_that_was_kept_by_what_is_stated(case: tuple[Translator, SearchTree]) -> None:
    beam = case[1].config.beam
    for step in case[1].steps:
        assert sum(not one.is_finished for one in step.kept) <= beam
        assert not any(one.is_finished for one in step.kept[beam:]), "only what is among the best may end"
        assert [one.ranking_score for one in step.kept] == sorted(
            (one.ranking_score for one in step.kept), reverse=True
        )
        for one in step.pruned:
            gap = step.gap(one)
            assert gap >= 0 or (one.is_finished and one.ranking_score <= step.kept[beam - 1].ranking_score)
            assert math.isclose(one.ranking_score + gap, step.kept[-1].ranking_score)
            assert all(other.ranking_score >= one.ranking_score + gap - 1e-9 for other in step.kept)
            assert one.prefix not in {other.prefix for other in step.kept}
        assert [one.ranking_score for one in step.pruned] == sorted(
            (one.ranking_score for one in step.pruned), reverse=True
        )


def test_nothing_better_than_what_is_shown_was_pruned() -> None:
    made = translator()
    few, all_ = build_search_tree(made, TEXT, max_pruned=2), build_search_tree(made, TEXT, max_pruned=10**6)
    assert few.finished == all_.finished
    for shown_, whole in zip(few.steps, all_.steps, strict=True):
        assert whole.more_pruned == 0
        assert shown_.kept == whole.kept
        assert shown_.pruned == whole.pruned[:2]
        assert shown_.more_pruned == max(0, len(whole.pruned) - 2)


def test_a_witness_told_otherwise_tells_otherwise() -> None:
    """Not told of the last one kept, the recorder must disagree with the search: the checks above can fail."""
    made = translator()
    recorder = SearchRecorder(PIECES, made.config, max_pruned=3)
    with pytest.raises(ValueError, match="not in list"):
        made.translate([TEXT], observer=lambda beams, merits, place: recorder(beams, merits, place[:, :-1]))


def test_watching_changes_nothing() -> None:
    made = translator()
    (alone,) = made.translate([TEXT])
    assert build_search_tree(made, TEXT).finished[0].score == pytest.approx(alone.score)
    assert made.translate([TEXT]) == [alone]


def test_the_reason_to_stop_is_told_with_a_bound_that_holds() -> None:
    reasons = set()
    for settings in SETTINGS:
        tree = build_search_tree(translator(**settings), TEXT)
        reasons.add(tree.stop_reason)
        longest = max(len(one.prefix) for step in tree.steps for one in step.kept)
        if tree.stop_reason == "certain":
            # the search went on as long as it had to: one step before, the bound did not hold yet
            before = [one.ranking_score for one in tree.steps[-2].kept if not one.is_finished]
            known = [one.score for one in tree.finished if one.step < len(tree.steps) - 1]
            assert tree.score_bound is not None and tree.finished[0].score >= tree.score_bound
            likeliest = max(
                (tree.finished_candidate(one).ranking_score for one in tree.finished if one.step < len(tree.steps) - 1),
                default=0,
            )
            bounded = known and max(known) >= max(before) / tree.config.length_penalty(tree.max_tokens + 1)
            assert not bounded or likeliest < max(before)
        assert (tree.score_bound is None) == (tree.stop_reason != "certain")
        assert (longest == tree.max_tokens + 1) == (tree.stop_reason == "limit")
        if tree.stop_reason == "full":
            settled = [number for number, step in enumerate(tree.steps) if step.kept[0].is_finished]
            enough = sum(one.step < len(tree.steps) - 1 for one in tree.finished) >= tree.config.beam
            assert len(tree.finished) >= tree.config.beam
            assert settled
            assert not enough or settled[0] == len(tree.steps) - 1  # it stopped as soon as both were so
    assert reasons == {"certain", "limit", "full"}


def test_groups_are_left_out_and_the_page_says_so() -> None:
    tree = build_search_tree(translator(groups=2), TEXT)
    assert tree.beam_groups == 2 and tree.config.beam_groups == 1
    assert data(page_html("t", tree))["groups"] == 2


class Parts(HTMLParser):
    """The tags of a page in order, and the text inside its data element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.data = self.inside = ""
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


def data(text: str) -> Any:
    return json.loads(Parts(text).data)["panels"]["tree"]


def by_hand(piece: str) -> SearchTree:
    first = TreeCandidate(
        prefix=(9,), token=piece, text=piece, parent=None, token_log_prob=-0.5, log_prob=-0.5, ranking_score=-0.5
    )
    lost = TreeCandidate(
        prefix=(8,), token=piece, text=piece, parent=None, token_log_prob=-0.75, log_prob=-0.75, ranking_score=-0.75
    )
    end = TreeCandidate(
        prefix=(9, EOS), token="</s>", text=piece, parent=0, token_log_prob=-0.1, log_prob=-0.6, ranking_score=-0.6
    )
    steps = (TreeStep(kept=(first,), pruned=(lost,), more_pruned=3), TreeStep(kept=(end,), pruned=(), more_pruned=0))
    config = DecodingConfig(beam=1)
    return SearchTree(text=piece, config=config, max_tokens=4, steps=steps, finished=(FinishedHypothesis(1, 0, -0.5),))


def test_hostile_pieces_stay_text() -> None:
    attacked, calm = page_html(HOSTILE, by_hand(HOSTILE)), page_html("calm", by_hand("고양이"))
    assert Parts(attacked).tags == Parts(calm).tags
    told = data(attacked)
    assert told["steps"][0]["kept"][0]["text"] == told["title"] == told["translation"] == HOSTILE
    assert told["steps"][0]["kept"][0]["piece"] == "</script><b>&U+2028U+202E{{data}}"
    assert told["steps"][0]["pruned"][0]["gap"] == 0.25
    raw = attacked.partition('id="data">')[2].partition("</script>")[0]
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", raw)


def test_the_page_has_every_candidate_and_needs_no_network() -> None:
    tree = build_search_tree(translator(), "개는 고양이")
    text = page_html("통사", tree)
    assert "개는 고양이" in text and "통사" in text
    for step, told in zip(tree.steps, data(text)["steps"], strict=True):
        assert [one["piece"] for one in told["kept"]] == [printable(one.token) for one in step.kept]
        assert [one["gap"] for one in told["pruned"]] == [step.gap(one) for one in step.pruned]
        assert [one["text"] for one in told["pruned"]] == [one.text for one in step.pruned]
    assert not re.search(
        r"https?:|//[a-z]+\.|@import|url\(", text.replace("http://www.w3.org/2000/svg", "")
    )  # a name, not an address
    assert not {"link", "iframe", "img", "object"} & set(Parts(text).tags)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)


@pytest.mark.parametrize(
    ("piece", "seen"),
    [("▁고양이", "▁고양이"), ("한", "한"), ("\u200b", "U+200B"), ("a\u202eb", "aU+202Eb"), ("<0xEC>", "<0xEC>")],
)
def test_a_piece_shows_what_cannot_be_seen(piece: str, seen: str) -> None:
    assert printable(piece) == seen


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        (" \u3000\n", {}, "empty text"),
        (TEXT, {"pruned": -1}, "--pruned -1"),
        (TEXT, {"beam": 0}, "beam 0 is not at least 1"),
        (TEXT, {"alpha": float("nan")}, "alpha nan is not a number"),
    ],
)
def test_what_cannot_be_searched_is_refused(text: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_search_tree(translator(), text, **asked)


def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tongsa.cli", "search-tree", *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)


def test_the_verb_writes_a_page_that_tells_of_the_search_it_was_asked_for(tmp_path: Path) -> None:
    made = translator()
    whole = Bundle(
        kind="transformer",
        config=NETWORK,
        model=made.model,
        source_tokenizer=PIECES,
        target_tokenizer=PIECES,
        decoding=made.config,
    )
    bundle.save_bundle(tmp_path / "마음", whole, card="")
    done = run("마음", "개는 고양이", "--beam", 3, "--alpha", 0.9, "--pruned", 2, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "search-tree.html\n", "")
    told = data((tmp_path / "search-tree.html").read_text("utf-8"))
    assert (told["title"], told["beam"], told["alpha"]) == ("마음: 개는 고양이", 3, 0.9)
    (found,) = made.translate(["개는 고양이"], beam=3, alpha=0.9)
    assert told["translation"] == found.text
    assert all(len(step["pruned"]) <= 2 for step in told["steps"])


def test_a_model_that_does_not_translate_is_refused(tmp_path: Path) -> None:
    config = TransformerLMConfig(width=16, ffn_width=32, heads=4, layers=1)
    model = config.build(len(PIECES), len(PIECES)).eval()
    whole = Bundle(
        kind="transformer_lm",
        config=config,
        model=model,
        source_tokenizer=PIECES,
        target_tokenizer=PIECES,
        decoding=DecodingConfig(),
    )
    bundle.save_bundle(tmp_path / "lm", whole, card="")
    refused = run("lm", TEXT, cwd=tmp_path)
    assert refused.returncode == 2
    assert "this is a language model" in refused.stderr and "Traceback" not in refused.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "lm"]
