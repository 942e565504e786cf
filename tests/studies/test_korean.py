"""The particle follows the sound of the last syllable: Hangul, digits, letters read one by one, English words."""

import re

import pytest

from studies.korean import with_object_particle
from studies.pages import CLAIM_PAGES, STUDY_PAGES
from studies.study import ROOT, study_names


@pytest.mark.parametrize(
    "word", ["층", "손실", "ε = 0.0", "1", "3", "16", "7", "8", "10", "rnn", "LSTM", "none", "dot", "norm"]
)
def test_a_closed_last_syllable_takes_eul(word: str) -> None:
    assert with_object_particle(word) == f"{word}을"


@pytest.mark.parametrize(
    "word",
    ["너비", "dropout 0.2", "4", "5", "9", "layer", "tied, √d", "4 heads", "GRU", "separate", "one sentence", "batch"],
)
def test_an_open_last_syllable_takes_reul(word: str) -> None:
    assert with_object_particle(word) == f"{word}를"


def test_no_generated_korean_page_leaves_the_particle_to_the_reader() -> None:
    pages = [ROOT / name / STUDY_PAGES["ko"] for name in study_names()] + [ROOT.parent / CLAIM_PAGES["ko"]]
    left = [page for page in pages if re.search(r"을\(를\)|이\(가\)|은\(는\)|와\(과\)", page.read_text("utf-8"))]
    assert left == []
