"""A served model of two target languages: the control tag of a request chooses the language."""

from pathlib import Path

import pytest

import tongsa
from live_server import live_server
from tiny import SMALL, reversing, write_pairs
from tongsa import config, runs, storage
from tongsa.errors import InputError

SETTINGS = (
    *SMALL,
    "model.dropout=0.0",
    "tokenizer.model=word",
    "training.steps=300",
    "training.validate_every=300",
    "training.batch_tokens=600",
    "training.lr.schedule=constant",
    "training.lr.peak=5e-3",
)
TEXTS = ["a b", "c d e", "f a", "b b c d"]


@pytest.fixture(scope="module")
def two_directions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train one model on the same sources with Hangul targets and with Latin ones."""
    folder = tmp_path_factory.mktemp("directions")
    pairs = reversing(300)
    korean = write_pairs(folder / "korean.tsv", pairs)
    latin = write_pairs(folder / "latin.tsv", [(source, source[::-1]) for source, _ in pairs])
    table: config.Table = {
        "data": {
            "corpora": [
                {"train": [str(korean)], "tag": "<2ko>", "target_language": "ko"},
                {"train": [str(latin)], "tag": "<2en>", "target_language": "en"},
            ]
        }
    }
    for setting in SETTINGS:
        config.override(table, setting)
    storage.write_text(folder / "recipe.toml", config.dump_toml(table))
    runs.train(folder / "recipe.toml", run=folder / "run", quiet=True)
    return folder / "run"


def test_the_control_tag_of_a_request_chooses_the_direction(two_directions: Path) -> None:
    with live_server(two_directions) as server:
        korean = [server.translate(text, control_tag="<2ko>")[0]["text"] for text in TEXTS]
        latin = [server.translate(text, control_tag="<2en>")[0]["text"] for text in TEXTS]
        missing = server.post("/v1/translate", {"text": "a", "control_tag": "<2de>"})
    assert all("가" <= letter <= "힣" for text in korean for letter in text if letter.isalpha()), korean
    assert all("a" <= letter <= "z" for text in latin for letter in text if letter.isalpha()), latin
    assert all(any(map(str.isalpha, text)) for text in (*korean, *latin))
    assert missing.status_code == 422 and "<2ko>" in missing.json()["error"] and "<2en>" in missing.json()["error"]


def test_a_test_set_is_evaluated_in_the_direction_of_its_tag(two_directions: Path, tmp_path: Path) -> None:
    test = write_pairs(tmp_path / "test.tsv", reversing(20))
    values = {}
    for tag in ("<2ko>", "<2en>"):
        report = tongsa.evaluate(two_directions, test, tag=tag, metrics=["chrf"])
        values[tag] = report.scores["chrf"].value
    assert values["<2ko>"] > 5 > 1 > values["<2en>"], "the references are Korean"
    with pytest.raises(InputError, match="tag <2de>"):
        tongsa.evaluate(two_directions, test, tag="<2de>")
