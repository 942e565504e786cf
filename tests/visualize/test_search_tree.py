"""Search tree page: it shows exactly what the beam search did, and no token can become markup."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
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

from .examples import (
    MARKUP_FROM_TEXT,
    NETWORK_ACCESS,
    UNSAFE,
    ParsedPage,
    panel_data,
    raw_json,
    without_svg_namespace,
)

TEXT = "the cat sleeps"
TOKENIZER = train_tokenizer(
    [TEXT, "고양이는 잔다", "뉴욕이 좋다", "개가 책을 읽는다", "I like New York"],
    TokenizerConfig(model="char", vocab_size=60, byte_fallback=False),
)
NETWORK = TransformerConfig(
    width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0, tie_embeddings="none"
)
HOSTILE = "</script><b>&\u2028\u202e{{data}}"


def translator(seed: int = 18, **settings: Any) -> Translator:
    """Return a translator with large random weights, so that some continuations are far likelier than others."""
    torch.manual_seed(seed)
    model = NETWORK.build(len(TOKENIZER), len(TOKENIZER)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.8)
    return Translator(model, TOKENIZER, TOKENIZER, replace(DecodingConfig(beam=4, max_extra_tokens=3), **settings))


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
    model = translator(**request.param)
    return model, build_search_tree(model, TEXT, max_pruned=5)


def test_parent_of_each_candidate_was_kept_in_the_previous_step(case: tuple[Translator, SearchTree]) -> None:
    steps = case[1].steps
    assert len(steps) > 1
    assert all(root.parent is None and len(root.prefix) == 1 for root in (*steps[0].kept, *steps[0].pruned))
    for before, step in pairwise(steps):
        for candidate in (*step.kept, *step.pruned):
            assert candidate.parent is not None
            assert before.kept[candidate.parent].prefix == candidate.prefix[:-1]
            assert not before.kept[candidate.parent].is_finished


def test_best_finished_output_is_the_translation_with_its_log_probs(
    case: tuple[Translator, SearchTree],
) -> None:
    model, tree = case
    (translation,) = model.translate([TEXT])
    best = tree.finished_candidate(tree.finished[0])
    assert tree.translation == translation.text
    assert model.target_tokenizer.decode(best.prefix) == translation.text
    assert math.isclose(tree.finished[0].score, translation.score, abs_tol=1e-4)
    log_probs = [best.token_log_prob]
    for step in reversed(tree.steps[: len(best.prefix) - 1]):
        parent = best.parent
        assert parent is not None
        best = step.kept[parent]
        log_probs.insert(0, best.token_log_prob)
    assert log_probs == pytest.approx(translation.token_log_probs, abs=1e-4)
    assert math.isclose(math.prod(map(math.exp, log_probs)), math.exp(translation.log_prob), rel_tol=1e-3)


def test_finished_outputs_have_the_log_prob_of_the_model(case: tuple[Translator, SearchTree]) -> None:
    model, tree = case
    finished = [tree.finished_candidate(hypothesis) for hypothesis in tree.finished]
    expected = [candidate for step in tree.steps for candidate in step.kept if candidate.is_finished]
    assert sorted(output.prefix for output in finished) == sorted(candidate.prefix for candidate in expected)
    compared, replaced = finished[: tree.config.beam], finished[tree.config.beam :]
    assert all(output.ranking_score <= min(other.ranking_score for other in compared) for output in replaced)
    for group in (tree.finished[: tree.config.beam], tree.finished[tree.config.beam :]):
        scores = [hypothesis.score for hypothesis in group]
        assert scores == sorted(scores, reverse=True)
    source = TOKENIZER.encode(TEXT)
    for output in finished:
        batch = Examples(Ragged([source]), Ragged([list(output.prefix[:-1])])).batch(np.array([0]))
        with torch.inference_mode():
            log_probs = model.model(batch.source, batch.decoder_input).log_softmax(dim=-1)[0]
        log_prob = sum(float(log_probs[i, token]) for i, token in enumerate(output.prefix))
        assert math.isclose(output.log_prob, log_prob, abs_tol=1e-3)


def test_pruned_candidates_are_below_the_kept_ones_by_their_gap(case: tuple[Translator, SearchTree]) -> None:
    beam = case[1].config.beam
    for step in case[1].steps:
        assert sum(not kept.is_finished for kept in step.kept) <= beam
        assert not any(kept.is_finished for kept in step.kept[beam:]), "only the best candidates may finish"
        for group in (step.kept, step.pruned):
            scores = [candidate.ranking_score for candidate in group]
            assert scores == sorted(scores, reverse=True)
        for pruned in step.pruned:
            gap = step.gap(pruned)
            assert gap >= 0 or (pruned.is_finished and pruned.ranking_score <= step.kept[beam - 1].ranking_score)
            assert math.isclose(pruned.ranking_score + gap, step.kept[-1].ranking_score)
            assert all(kept.ranking_score >= pruned.ranking_score + gap - 1e-9 for kept in step.kept)
            assert pruned.prefix not in {kept.prefix for kept in step.kept}


def test_best_pruned_candidates_are_shown() -> None:
    model = translator()
    short, full = build_search_tree(model, TEXT, max_pruned=2), build_search_tree(model, TEXT, max_pruned=10**6)
    assert short.finished == full.finished
    for short_step, full_step in zip(short.steps, full.steps, strict=True):
        assert full_step.more_pruned == 0
        assert short_step.kept == full_step.kept
        assert short_step.pruned == full_step.pruned[:2]
        assert short_step.more_pruned == max(0, len(full_step.pruned) - 2)


def test_recorder_with_wrong_input_fails() -> None:
    """Without the last kept candidate the recorder must disagree with the search: the tests above can fail."""
    model = translator()
    recorder = SearchRecorder(TOKENIZER, model.config, max_pruned=3)
    with pytest.raises(ValueError, match="not in list"):
        model.translate([TEXT], observer=lambda beams, scores, selected: recorder(beams, scores, selected[:, :-1]))


def test_recording_does_not_change_the_search() -> None:
    model = translator()
    (translation,) = model.translate([TEXT])
    assert build_search_tree(model, TEXT).finished[0].score == pytest.approx(translation.score)
    assert model.translate([TEXT]) == [translation]


def test_stop_reason_comes_with_a_valid_score_bound() -> None:
    reasons = set()
    for settings in SETTINGS:
        tree = build_search_tree(translator(**settings), TEXT)
        reasons.add(tree.stop_reason)
        max_length = max(len(candidate.prefix) for step in tree.steps for candidate in step.kept)
        if tree.stop_reason == "certain":
            # the search did not go on longer than needed: one step before, the bound did not hold yet
            alive = [candidate.ranking_score for candidate in tree.steps[-2].kept if not candidate.is_finished]
            earlier = [hypothesis for hypothesis in tree.finished if hypothesis.step < len(tree.steps) - 1]
            assert tree.score_bound is not None and tree.finished[0].score >= tree.score_bound
            likeliest = max((tree.finished_candidate(hypothesis).ranking_score for hypothesis in earlier), default=0)
            bound = max(alive) / tree.config.length_penalty(tree.max_tokens + 1)
            assert not earlier or max(hypothesis.score for hypothesis in earlier) < bound or likeliest < max(alive)
        assert (tree.score_bound is None) == (tree.stop_reason != "certain")
        assert (max_length == tree.max_tokens + 1) == (tree.stop_reason == "limit")
        if tree.stop_reason == "full":
            best_finished = [number for number, step in enumerate(tree.steps) if step.kept[0].is_finished]
            full_before = sum(output.step < len(tree.steps) - 1 for output in tree.finished) >= tree.config.beam
            assert len(tree.finished) >= tree.config.beam
            assert best_finished
            assert not full_before or best_finished[0] == len(tree.steps) - 1  # it stopped when both became true
    assert reasons == {"certain", "limit", "full"}


def test_tree_ignores_beam_groups_and_the_page_says_so() -> None:
    tree = build_search_tree(translator(beam_groups=2), TEXT)
    assert tree.beam_groups == 2 and tree.config.beam_groups == 1
    assert tree_data(page_html("t", tree))["beam_groups"] == 2


def tree_data(html: str) -> Any:
    (data,) = panel_data(html, "tree")["trees"]
    return data


def test_data_grows_linearly_with_the_length() -> None:
    """No candidate stores its prefix: its size does not depend on the step."""
    tree = build_search_tree(translator(max_extra_tokens=40, min_tokens=40), TEXT)
    steps = tree_data(page_html("t", tree))["steps"]
    assert len(steps) > 40
    sizes = [len(json.dumps(step)) for step in steps[1:]]
    assert max(sizes[-10:]) < 1.5 * max(sizes[:10])


def handmade_tree(token: str) -> SearchTree:
    first = TreeCandidate(prefix=(9,), token=token, parent=None, token_log_prob=-0.5, log_prob=-0.5, ranking_score=-0.5)
    lost = TreeCandidate(
        prefix=(8,), token=token, parent=None, token_log_prob=-0.75, log_prob=-0.75, ranking_score=-0.75
    )
    eos_string = "</s>"
    end = TreeCandidate(
        prefix=(9, EOS), token=eos_string, parent=0, token_log_prob=-0.1, log_prob=-0.6, ranking_score=-0.6
    )
    steps = (TreeStep(kept=(first,), pruned=(lost,), more_pruned=3), TreeStep(kept=(end,), pruned=(), more_pruned=0))
    config = DecodingConfig(beam=1)
    finished = (FinishedHypothesis(1, 0, -0.5),)
    return SearchTree(text=token, config=config, max_tokens=4, steps=steps, finished=finished, translation=token)


def test_hostile_tokens_stay_text() -> None:
    attacked, harmless = page_html(HOSTILE, handmade_tree(HOSTILE)), page_html("harmless", handmade_tree("고양이"))
    assert ParsedPage(attacked).tags == ParsedPage(harmless).tags
    data = tree_data(attacked)
    assert data["text"] == data["title"] == data["translation"] == HOSTILE
    assert data["steps"][0]["kept"][0] | {"token": "</script><b>&U+2028U+202E{{data}}"} == data["steps"][0]["kept"][0]
    assert data["steps"][0]["pruned"][0]["gap"] == 0.25
    assert not re.search(UNSAFE, raw_json(attacked))


def test_page_has_all_candidates_and_needs_no_network() -> None:
    tree = build_search_tree(translator(), "개는 고양이")
    html = page_html("통사", tree)
    assert "개는 고양이" in html and "통사" in html
    for step, data in zip(tree.steps, tree_data(html)["steps"], strict=True):
        assert [kept["token"] for kept in data["kept"]] == [printable(kept.token) for kept in step.kept]
        assert [pruned["gap"] for pruned in data["pruned"]] == [round(step.gap(pruned), 4) for pruned in step.pruned]
    assert not re.search(NETWORK_ACCESS, without_svg_namespace(html))
    assert not {"link", "iframe", "img", "object"} & set(ParsedPage(html).tags)
    assert not re.search(MARKUP_FROM_TEXT, html)


@pytest.mark.parametrize(
    ("token", "text"),
    [("▁고양이", "▁고양이"), ("한", "한"), ("\u200b", "U+200B"), ("a\u202eb", "aU+202Eb"), ("<0xEC>", "<0xEC>")],
)
def test_invisible_characters_are_written_as_code_points(token: str, text: str) -> None:
    assert printable(token) == text


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (" \u3000\n", {}, "text is empty"),
        (TEXT, {"max_pruned": -1}, "--pruned -1"),
        (TEXT, {"beam": 0}, "beam.* 0 is out of range"),
        (TEXT, {"alpha": float("nan")}, "alpha.* nan is out of range"),
    ],
)
def test_invalid_search_is_an_error(text: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_search_tree(translator(), text, **settings)


def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tongsa.cli", "search-tree", *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)


def test_command_writes_a_page_of_the_requested_search(tmp_path: Path) -> None:
    model = translator()
    saved = Bundle(
        kind="transformer",
        config=NETWORK,
        model=model.model,
        source_tokenizer=TOKENIZER,
        target_tokenizer=TOKENIZER,
        decoding=model.config,
    )
    bundle.save_bundle(tmp_path / "마음", saved, card="")
    result = run("마음", "개는 고양이", "--beam", 3, "--alpha", 0.9, "--pruned", 2, cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "search-tree.html\n", "")
    data = tree_data((tmp_path / "search-tree.html").read_text("utf-8"))
    assert (data["title"], data["beam"], data["alpha"]) == ("마음", 3, 0.9)
    (translation,) = model.translate(["개는 고양이"], beam=3, alpha=0.9)
    assert data["translation"] == translation.text
    assert all(len(step["pruned"]) <= 2 for step in data["steps"])


def test_model_that_does_not_translate_is_an_error(tmp_path: Path) -> None:
    config = TransformerLMConfig(width=16, ffn_width=32, heads=4, layers=1)
    model = config.build(len(TOKENIZER), len(TOKENIZER)).eval()
    saved = Bundle(
        kind="transformer_lm",
        config=config,
        model=model,
        source_tokenizer=TOKENIZER,
        target_tokenizer=TOKENIZER,
        decoding=DecodingConfig(),
    )
    bundle.save_bundle(tmp_path / "lm", saved, card="")
    result = run("lm", TEXT, cwd=tmp_path)
    assert result.returncode == 2
    assert "this is a language model" in result.stderr and "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "lm"]
