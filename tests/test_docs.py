"""The documents agree with the code: files they name exist, and so do the settings and commands they show."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tongsa.cli import build_parser

ROOT = Path(__file__).parent.parent
STUDY_PAGES = ("README.md", "README.ko.md")
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


PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "benchmarks").rglob("*.md"))]
# a study that is not recorded yet has no figure
PAGES += sorted(results.parent / name for results in ROOT.glob("studies/*/results.json") for name in STUDY_PAGES)


def links(page: Path) -> list[str]:
    text = page.read_text("utf-8")
    return re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text) + re.findall(r"^\[`?[^\]]+`?\]: (\S+)$", text, re.MULTILINE)


def test_every_relative_link_leads_to_a_file() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in links(page)
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_module_is_in_the_layout_of_the_architecture_page() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([\w./]+)` \| (.*) \|$", page, re.MULTILINE))
    missing = []
    for path in sorted((ROOT / "src/tongsa").rglob("*.py")):
        folder, *rest = path.relative_to(ROOT / "src/tongsa").parts
        if path.name in ("__init__.py", "__main__.py"):
            continue
        row = rows.get(f"{folder}/" if rest else folder)
        if row is None or (rest and f"`{path.stem}`" not in row):
            missing.append(str(path.relative_to(ROOT / "src/tongsa")))
    assert missing == []


def test_the_layers_of_the_architecture_page_are_those_of_import_linter() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    shown = re.search(r"```\n(cli → .*?)\n```", page, re.DOTALL)
    assert shown
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    layers = [set(layer.replace("tongsa.", "").split(" | ")) for layer in contract["layers"]]
    assert [set(layer.split(" | ")) for layer in re.split(r"\s*→\s*", shown[1])] == layers


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_tree_names_every_folder_of_the_package(page: str) -> None:
    folders = {path.parent.name for path in (ROOT / "src/tongsa").glob("*/__init__.py")}
    named = set(re.findall(r"(?:^  |`)(\w+)/", (ROOT / page).read_text("utf-8"), re.MULTILINE))
    assert folders <= named


FLAG_PAGES = [ROOT / "README.md", ROOT / "README.ko.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", FLAG_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_tongsa_command_in_the_documents_parses(page: Path) -> None:
    """Each `tongsa …` line of a bash block is parsed by the real command line, without running it."""
    for command in tongsa_commands(page.read_text("utf-8")):
        try:
            build_parser().parse_args(command)
        except SystemExit as error:
            pytest.fail(f"{page.name}: tongsa {shlex.join(command)}: exit code {error.code}")


def tongsa_commands(text: str) -> list[list[str]]:
    commands = []
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            match = re.search(r"(?:^|\| |\s)(?:\.venv/bin/)?tongsa (?!-)([a-z].*)", line)
            if match and not line.lstrip().startswith("#"):
                words = shlex.split(re.split(r"\s[|<>]\s?", match[1])[0], comments=True)
                commands.append([word for word in words if word not in ("…", "&")])
    return commands
