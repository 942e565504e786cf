"""Scores on the test sets at the end of a training: that of the run, and those of its corpora."""

import json
from dataclasses import replace
from typing import Any

from tongsa import bundle, storage
from tongsa.checks.corpus import check_leakage
from tongsa.data.text_store import PairStore
from tongsa.evaluation.evaluate import EvaluationConfig, evaluate
from tongsa.evaluation.metrics import bleu_tokenizer
from tongsa.runs.card import add_test_scores
from tongsa.runs.recipe import DataConfig
from tongsa.runs.reporting import ProgressDisplay
from tongsa.runs.run import Run


def score_test_sets(run: Run, display: ProgressDisplay) -> None:
    """Score the best model once on each test set; write scores.json and the card."""
    scores: dict[str, Any] = {}
    if run.data.test:
        scores["test"] = _score(run, run.data.test, run.evaluation_config, "", display)
    for corpus, pairs in run.data.corpus_tests:
        config = replace(run.evaluation_config, tokenize=bleu_tokenizer(corpus.target_language))
        named = {"files": list(corpus.test), "tag": corpus.tag}
        scores.setdefault("corpora", []).append(named | _score(run, pairs, config, _label(corpus), display))
    if scores:
        storage.write_text(run.folder / "scores.json", json.dumps(scores, indent=1, ensure_ascii=False))


def _score(run: Run, test: PairStore, config: EvaluationConfig, label: str, display: ProgressDisplay) -> dict[str, Any]:
    model = bundle.load_bundle(run.folder).text_model()
    report = evaluate(model, [(pair.source, pair.target) for pair in test], config).with_intervals()
    leakage = check_leakage(run.data.train, test, f"test {label}".rstrip())
    leak = f"Leakage: {leakage.seen}." if leakage.level != "ok" else ""
    add_test_scores(run.folder / "model", run, report, leak, label)
    display.log(f"test {label}".rstrip() + f": {report.summary()}", "green")
    if leakage.level != "ok":
        display.log(leakage.text, "yellow")
    return report.as_json() | {"leakage": leakage.as_json()}


def _label(corpus: DataConfig) -> str:
    return " ".join(filter(None, (corpus.tag, *corpus.test)))
