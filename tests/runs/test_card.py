"""The model card states data, license, languages, training and scores; the Hugging Face Hub can read its metadata."""

import json
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

from tiny import reversing, write_pairs
from tongsa import runs, storage
from tongsa.export import export

SETTINGS = [
    *("training.threads=1", "training.precision=fp32", "training.batch_tokens=256", "training.steps=2"),
    *("training.validate_sentences=2", "decoding.max_extra_tokens=2", "tokenizer.vocab_size=290"),
    *("model.width=16", "model.ffn_width=16", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("data.source_language=de", "data.target_language=en"),
]


def train(folder: Path, *settings: str) -> Path:
    data = write_pairs(folder / "train.tsv", [*reversing(60), ("only a source", "")])
    dev, test = (write_pairs(folder / f"{name}.tsv", reversing(5, seed)) for seed, name in ((1, "dev"), (2, "test")))
    runs.train(run=folder / "run", data=data, dev=dev, settings=[*SETTINGS, f"data.test={test}", *settings], quiet=True)
    return folder / "run"


def read_card(path: Path) -> Any:
    return ModelCard(path.read_text("utf-8"), ignore_metadata_errors=False)


def test_card_has_data_license_languages_training_and_scores(tmp_path: Path) -> None:
    run = train(tmp_path, "data.dataset=\"Reversed: 'words', https://example.org\"", "data.license=cc-by-4.0")
    card = read_card(run / "model" / "card.md")
    assert card.data.language == ["de", "en"]
    assert card.data.license == "cc-by-4.0"
    assert card.data.pipeline_tag == "translation"
    results = {(result.dataset_split, result.metric_type): result for result in card.data.eval_results}
    test_scores = json.loads((run / "scores.json").read_text("utf-8"))["test"]
    assert {split for split, _ in results} == {"dev", "test"}
    for metric, signature in test_scores["signatures"].items():
        result = results["test", metric]
        assert result.metric_value == round(test_scores[metric], 2)
        assert result.metric_args == {"signature": signature}
        assert result.dataset_name == "Reversed: 'words', https://example.org"
    for statement in (
        "License: cc-by-4.0.",
        "Languages: de → en.",
        "60 training pairs, 5 development pairs; 1 dropped (1 empty).",
        f"| train.tsv | `{storage.file_sha256(tmp_path / 'train.tsv')}` |",
        "## Scores on the development set (2 pairs)",
        "## Scores on the test set (5 pairs)",
        "Hardware: cpu; CPU threads: 1; precision: fp32.",
    ):
        assert statement in card.text
    assert str(tmp_path) not in card.content, "folders of the author's computer are nobody's business"

    runs.resume(run, quiet=True)  # the test set is scored again
    assert (run / "model" / "card.md").read_text("utf-8").count("## Scores on the test set") == 1
    readme = read_card(export(run, "huggingface") / "README.md")
    assert (readme.data.library_name, readme.data.license) == ("transformers", "cc-by-4.0")
    assert readme.text.count("## Usage") == 1


@pytest.mark.parametrize(
    ("license_name", "metadata"),
    [("", {}), ("Company use only: v2", {"license": "other", "license_name": "Company use only: v2"})],
)
def test_unstated_and_unusual_licenses_are_valid_metadata(
    license_name: str, metadata: dict[str, str], tmp_path: Path
) -> None:
    card = read_card(train(tmp_path, f'data.license="{license_name}"') / "model" / "card.md")
    assert {key: value for key, value in card.data.to_dict().items() if "license" in key} == metadata
    assert f"License: {license_name or 'not stated'}." in card.text
