"""Bundles: format number, and ensembles, which need models with the same tokenizer."""

from pathlib import Path

import pytest

from jobs import write_model
from tiny import SMALL, reversing, write_pairs
from tongsa import bundle, runs
from tongsa.bundle_description import BundleError
from tongsa.errors import InputError

QUICK = [
    *SMALL,
    "model.tie_embeddings=target",
    "training.steps=2",
    "training.validate_sentences=2",
    "decoding.max_extra_tokens=3",
]


def train(folder: Path, run: str, seed: int, *settings: str) -> bundle.Bundle:
    """Train a model for two steps; another seed gives other sentences, so another tokenizer."""
    pairs = write_pairs(folder / f"{run}.tsv", reversing(80, seed))
    runs.train(data=pairs, run=folder / run, settings=[*QUICK, *settings], quiet=True)
    return bundle.load_bundle(folder / run)


@pytest.mark.parametrize(
    "tokenizer_settings", [(), ("tokenizer.shared=false", "tokenizer.jamo=true")], ids=["shared", "separate, jamo"]
)
def test_the_remedy_for_an_ensemble_with_other_tokenizers_works(
    tmp_path: Path, tokenizer_settings: tuple[str, ...]
) -> None:
    first, second = train(tmp_path, "first", 1, *tokenizer_settings), train(tmp_path, "second", 2)
    with pytest.raises(InputError, match=rf"{tmp_path / 'second'}: .* need the same tokenizer") as error:
        first.translator(ensemble=[second])
    remedy = str(error.value).split("Train it again with ")[1].split()
    assert remedy[:2] == ["--set", f"tokenizer.reuse_from={tmp_path / 'first'}"]
    again = train(tmp_path, "again", 2, *remedy[1::2])
    translation = first.translator(ensemble=[again])("a b")
    assert isinstance(translation.text, str)


@pytest.mark.parametrize(
    ("number", "message"),
    [("2", "bundle format 2, written by a newer tongsa"), ("0", "written by an older tongsa"), ('"x"', "damaged")],
)
def test_a_bundle_of_another_format_is_refused(tmp_path: Path, number: str, message: str) -> None:
    description = write_model(tmp_path) / "model.toml"
    content = description.read_text("utf-8")
    assert "format = 1\n" in content
    description.write_text(content.replace("format = 1\n", f"format = {number}\n"), "utf-8")
    with pytest.raises(BundleError, match=message):
        bundle.load_bundle(tmp_path)
