"""The documents agree with the code: files they name exist, and so do the settings and commands they show."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARIES = [ROOT / "docs/glossary.md", ROOT / "docs/ko/glossary.md"]


@pytest.mark.parametrize("page", GLOSSARIES, ids=lambda page: page.parent.name)
def test_every_file_in_the_glossary_exists(page: Path) -> None:
    files = re.findall(r"\| `([\w/]+\.py)` \|$", page.read_text("utf-8"), re.MULTILINE)
    assert len(files) > 50
    assert [file for file in files if not (ROOT / "src/tongsa" / file).is_file()] == []


def test_both_glossaries_list_the_same_concepts() -> None:
    english, korean = (
        re.findall(r"\| `([\w/]+\.py)` \|$", page.read_text("utf-8"), re.MULTILINE) for page in GLOSSARIES
    )
    assert english == korean


def test_every_relative_link_leads_to_a_file() -> None:
    broken = []
    for page in [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "benchmarks").rglob("*.md")),
    ]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []
