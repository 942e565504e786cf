"""Ablation of filters: one training for each filter that drops something, all with one tokenizer and one dev set."""

from pathlib import Path

import pytest

from tongsa import config
from tongsa.data.cleaning.config import FilterConfig
from tongsa.demo import read_split
from tongsa.runs.ablation import AblationPlan, FilterVariant, ablate_filters, filter_settings, filter_variants
from tongsa.runs.cleaning import Cleaning
from tongsa.runs.corpus_analysis import corpus_analysis
from tongsa.runs.recipe import DataConfig, parse_recipe
from tongsa.visualize.corpus_report import corpus_page

COPIES = [(f"This line number {i} was copied", f"This line number {i} was copied") for i in range(12)]
SETTINGS = (
    *("model.width=16", "model.ffn_width=32", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.steps=6", "training.validate_every=6", "tokenizer.vocab_size=900", "training.threads=1"),
    "decoding.beam=1",
)


def test_a_training_without_a_filter_has_valid_settings() -> None:
    filters = FilterConfig(defaults=True, model_score="learn", model="runs/mine")
    for name in filters.filter_names:
        table: config.Table = {}
        for setting in filter_settings(filters, FilterVariant("without", name, pairs=1)):
            config.override(table, setting)
        without = config.build_config(FilterConfig, table["data"]["filters"], "data.filters")
        assert without.filter_names == tuple(other for other in filters.filter_names if other != name)


@pytest.mark.slow
def test_each_filter_that_drops_has_a_training(tmp_path: Path) -> None:
    pairs = list(dict.fromkeys(read_split("train")[:400]))
    pairs += [*COPIES, *pairs[:9]]
    path = tmp_path / "corpus.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    data = {"train": [str(path)], "source_language": "en", "target_language": "ko", "filters": {"defaults": True}}
    cleaning = Cleaning(config.build_config(DataConfig, data, "data"))
    report = corpus_analysis(cleaning, tmp_path / "page.html")
    plan = AblationPlan(folder=tmp_path / "runs", settings=SETTINGS)
    variants = filter_variants(report)
    assert {variant.filter for variant in variants} == {"", *(item.name for item in report.filters if item.dropped)}

    ablation = ablate_filters(cleaning, report, plan)
    assert [(row.kind, row.filter) for row in ablation.rows] == [(item.kind, item.filter) for item in variants]
    assert ablation.rows[0].difference is None and all(row.p is not None for row in ablation.rows[1:])
    tokenizers = set()
    for variant in variants:
        run = tmp_path / "runs" / f"{variant.name},seed=1"
        filters = parse_recipe(config.read_toml(run / "run.toml")).data.filters
        assert variant.filter not in filters.filter_names
        assert bool(filters.filter_names) == (variant.kind != "none")
        tokenizers.add((run / "tokenizer" / "source.model").read_bytes())
    assert len(tokenizers) == 1
    assert "without" in corpus_page(report, ablation).html

    again = ablate_filters(cleaning, report, plan)  # nothing is trained twice
    assert again == ablation
