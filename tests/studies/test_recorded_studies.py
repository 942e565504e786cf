"""Pages and figures of the recorded studies are those that their results give; each study runs with --quick."""

import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from PIL import Image

from studies.__main__ import main
from studies.figure_words import KOREAN, to_korean
from studies.figures import KOREAN_FONT, figure_name, is_current, render
from studies.pages import BLOCK, CLAIM_PAGES, STUDY_PAGES, current_pages, run_description, study_page, write_pages
from studies.results import measure_study, read_results, source_commit
from studies.run import longest_first
from studies.study import LANGUAGES, ROOT, Language, MeasureOptions, load_study, study_names

RECORDED = [name for name in study_names() if (ROOT / name / "results.json").exists()]


def test_every_study_is_recorded() -> None:
    assert study_names() == RECORDED  # docs/claims.md says so


def test_every_page_agrees_with_the_results() -> None:
    stale = [str(path) for path, text in current_pages().items() if path.read_text("utf-8") != text]
    assert stale == [], "Run: python -m studies --pages"


def test_a_number_changed_by_hand_is_rewritten(tmp_path: Path) -> None:
    shutil.copytree(ROOT, tmp_path / "studies", ignore=shutil.ignore_patterns("*.svg", "*.png", "__pycache__"))
    for name in CLAIM_PAGES.values():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT.parent / name, tmp_path / name)
    page = tmp_path / "studies/mask/README.md"
    original = page.read_text("utf-8")
    page.write_text(original.replace("<!-- end -->", "| by hand |\n<!-- end -->", 1), "utf-8")
    assert write_pages(tmp_path) == [page]
    assert page.read_text("utf-8") == original


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("file_format", ["svg", pytest.param("png", marks=pytest.mark.slow)])
def test_the_figure_is_reproduced_from_the_results(name: str, language: Language, file_format: str) -> None:
    study = load_study(name)
    drawn = render(study, read_results(study.folder)["values"], file_format, language)
    assert is_current(study.folder / figure_name(file_format, language), drawn), "Run: python -m studies --pages"


def test_a_changed_pixel_and_a_missing_figure_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "figure.png"
    assert not is_current(file, b"")
    picture = Image.new("RGB", (3, 3), "white")
    picture.save(file)
    recompressed = BytesIO()
    picture.save(recompressed, "png", compress_level=0)
    assert is_current(file, recompressed.getvalue())
    picture.putpixel((1, 1), (255, 255, 254))
    picture.save(file)
    assert not is_current(file, recompressed.getvalue())


def test_the_font_has_the_letters_of_the_korean_words() -> None:
    letters = set(re.findall("[가-힣]", "".join(KOREAN.values())))
    assert letters <= {chr(code) for code in TTFont(KOREAN_FONT).getBestCmap()}, "Run tools/korean_font.py"


def test_words_without_a_translation_are_an_error() -> None:
    assert to_korean("1–8\n(280 sentences)") == "1–8\n(280문장)"
    assert to_korean(r"$\mathdefault{10^{3}}$") == r"$\mathdefault{10^{3}}$"
    with pytest.raises(KeyError, match="no Korean words"):
        to_korean("a new axis")


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_study_has_three_seeds_and_shows_claims_figure_and_run_in_both_languages(name: str) -> None:
    study, results = load_study(name), read_results(ROOT / name)
    assert not results["quick"]
    assert len(results["seeds"]) >= 3
    for language in LANGUAGES:
        text = (study.folder / STUDY_PAGES[language]).read_text("utf-8")
        blocks = {block[2] for block in BLOCK.finditer(text)}
        assert {"verdicts", "run", *(f"table: {table}" for table in study.tables)} <= blocks
        assert f"]({figure_name('svg', language)})" in text


def test_new_results_name_the_commit_and_the_trainings_at_the_same_time() -> None:
    study, commit = load_study("norm_example"), source_commit()
    results = measure_study(
        study, MeasureOptions(seeds=study.quick_seeds, quick=True, processes=3), "python -m studies", commit
    )
    assert results["processes"] == 3 and results["commit"] == commit
    described = run_description(study, results | {"commit": "5e4a9408e73c-dirty"}, "en")
    assert described.endswith("commit 5e4a9408e73c-dirty. 3 trainings at the same time.")
    assert "커밋" not in run_description(study, results | {"commit": None}, "ko")  # not a clone


@pytest.mark.parametrize("name", study_names())
def test_no_measured_number_is_written_by_hand(name: str) -> None:
    """Decimal numbers outside the generated parts are sections of papers or arXiv numbers."""
    for page in STUDY_PAGES.values():
        text = BLOCK.sub("", (ROOT / name / page).read_text("utf-8"))
        text = re.sub(r"\d+(\.\d+)+절|([Ss]ections?|equations?|절|식)\s+\d+(\.\d+)*", "", text)
        assert re.findall(r"\d+\.\d+", text) == [], f"{name}/{page}"


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_the_quick_version_measures_and_fills_in_both_pages(name: str, tmp_path: Path) -> None:
    assert main([name, "--quick", "--runs", str(tmp_path)]) == 0
    study, results = load_study(name), read_results(tmp_path / name)
    assert results["quick"]
    for language in LANGUAGES:
        text = (tmp_path / name / STUDY_PAGES[language]).read_text("utf-8")
        assert text == study_page(study, results, text, language)
        assert f"python -m studies {name} --quick" in text
    assert (tmp_path / name / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_long_studies_start_first_and_unknown_ones_before_them() -> None:
    seconds = {name: read_results(ROOT / name)["seconds"] for name in RECORDED}
    order = longest_first(RECORDED)
    assert sorted(order) == sorted(RECORDED)
    assert [seconds[name] for name in order] == sorted(seconds.values(), reverse=True)


@pytest.mark.slow
def test_studies_side_by_side_measure_what_they_measure_alone(tmp_path: Path) -> None:
    names = ["mask", "norm_example", "positions_rotation"]
    for folder, processes in (("alone", "1"), ("parallel", "2")):
        arguments = [*names, "--quick", "--processes", processes, "--runs", str(tmp_path / folder)]
        subprocess.run([sys.executable, "-m", "studies", *arguments], cwd=ROOT.parent, check=True, timeout=600)
    for name in names:
        alone, parallel = (read_results(tmp_path / folder / name) for folder in ("alone", "parallel"))
        assert parallel["values"] == alone["values"]
        assert (alone["processes"], parallel["processes"]) == (1, 2)
