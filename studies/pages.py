"""Pages of the studies: numbers, tables and verdicts are generated from results.json, the text is written by hand.

A page marks generated parts with two comments; everything between them is replaced:

    <!-- verdicts -->       table of the study's claims: what the paper says, what was seen, verdict
    <!-- table: NAME -->    a table of the study
    <!-- run -->            command, seeds, CPU, date, versions
    <!-- number: NAME -->   a number inside a sentence
    <!-- claims -->         in docs/claims.md: the claims of all studies
    <!-- end -->
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.results import read_results
from studies.study import ROOT, VERDICTS, Claim, Language, Study, Table, Text, load_study, study_names

BLOCK = re.compile(r"(<!-- (verdicts|run|claims|(?:table|number): ([\w-]+)) -->)(.*?)(<!-- end -->)", re.DOTALL)
STUDY_PAGES: dict[Language, str] = {"en": "README.md", "ko": "README.ko.md"}
CLAIM_PAGES: dict[Language, str] = {"en": "docs/claims.md", "ko": "docs/ko/claims.md"}
VERDICT_HEADER = (
    Text("What the paper says", "논문의 주장"),
    Text("What was run", "실험"),
    Text("What was seen", "결과"),
    Text("Verdict", "판정"),
)


def study_page(study: Study, results: Mapping[str, Any], text: str, language: Language) -> str:
    """Return the page with its generated parts replaced."""
    values = results["values"]

    def generate(block: re.Match[str]) -> str:
        kind, name = block[2].split(":")[0], block[3]
        if kind == "number":
            return f"{block[1]}{_lookup(study.numbers(values), name, study, 'number')}{block[5]}"
        if kind == "table":
            content = markdown_table(_lookup(study.tables, name, study, "table")(values, language))
        elif kind == "verdicts":
            content = verdict_table(study.claims(values), language)
        elif kind == "run":
            content = run_description(study, results, language)
        else:
            raise ValueError(f"{study.name}: <!-- claims --> belongs into docs/claims.md.")
        return f"{block[1]}\n{content}\n{block[5]}"

    return BLOCK.sub(generate, text)


def claims_page(text: str, language: Language, root: Path = ROOT) -> str:
    """Return docs/claims.md with the claims of all studies that have results."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{claims_table(language, root)}\n{block[5]}", text)


def claims_table(language: Language, root: Path = ROOT) -> str:
    link = {"en": "../studies", "ko": "../../studies"}[language]
    rows = []
    for study, results in studies_with_results(root):
        page = f"{link}/{study.name}/{STUDY_PAGES[language]}"
        rows += [
            [*_claim_cells(claim, language), f"[{study.title[language]}]({page})"]
            for claim in study.claims(results["values"])
        ]
    header = [*(name[language] for name in VERDICT_HEADER), Text("Study", "연구")[language]]
    return markdown_table(Table(header, rows), numeric=False)


def studies_with_results(root: Path = ROOT) -> list[tuple[Study, dict[str, Any]]]:
    return [
        (load_study(name), read_results(root / name))
        for name in study_names()
        if (root / name / "results.json").exists()
    ]


def verdict_table(claims: Sequence[Claim], language: Language) -> str:
    header = [name[language] for name in VERDICT_HEADER]
    return markdown_table(Table(header, [_claim_cells(claim, language) for claim in claims]), numeric=False)


def _claim_cells(claim: Claim, language: Language) -> list[str]:
    says = f"{claim.says[language]} ({claim.source[language]})"
    return [says, claim.ran[language], claim.seen[language], f"**{VERDICTS[claim.verdict][language]}**"]


def run_description(study: Study, results: Mapping[str, Any], language: Language) -> str:
    """Return the command, and a line with seeds, CPU, date, duration, versions and commit.

    A study that trains has no duration: it may have used runs that were there.
    """
    seeds = ", ".join(map(str, results["seeds"]))
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    seconds = results["seconds"]
    shown = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"
    commit = (
        Text(f", commit {results['commit']}", f", 커밋 {results['commit']}") if results.get("commit") else Text("", "")
    )
    parallel = Text("", "")
    if results.get("processes", 1) > 1:
        parallel = Text(
            f" {results['processes']} trainings at the same time.", f" 학습 {results['processes']}개를 동시에 실행했다."
        )
    duration = Text("", "") if study.trains else Text(f", {shown} seconds", f", {shown}초")
    line = Text(
        f"Seeds {seeds}. {results['cpu']}, {results['cores']} cores, {results['date']}{duration.en}; "
        f"{versions}{commit.en}.{parallel.en}",
        f"시드 {seeds}. {results['cpu']}, 코어 {results['cores']}개, {results['date']}{duration.ko}; "
        f"{versions}{commit.ko}.{parallel.ko}",
    )[language]
    return f"```sh\n{results['command']}\n```\n\n{line}"


def markdown_table(table: Table, *, numeric: bool = True) -> str:
    rules = ["---", *(("--:" if numeric else "---") for _ in table.header[1:])]
    lines = [table.header, rules, *table.rows]
    if len({len(line) for line in lines}) > 1:
        raise ValueError(f"table with header {list(table.header)}: rows of different length.")
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _lookup(named: Mapping[str, Any], name: str, study: Study, kind: str) -> Any:
    if name not in named:
        raise ValueError(f"{study.name}: no {kind} {name!r}. There are: {', '.join(named)}.")
    return named[name]


def current_pages(repository: Path = ROOT.parent) -> dict[Path, str]:
    """Return every page with the text that the results give."""
    root = repository / "studies"
    pages = {}
    for study, results in studies_with_results(root):
        for language, name in STUDY_PAGES.items():
            path = root / study.name / name
            pages[path] = study_page(study, results, path.read_text("utf-8"), language)
    for language, name in CLAIM_PAGES.items():
        path = repository / name
        pages[path] = claims_page(path.read_text("utf-8"), language, root)
    return pages


def write_pages(repository: Path = ROOT.parent) -> list[Path]:
    """Rewrite the pages that disagree with the results, and return them."""
    stale = {path: text for path, text in current_pages(repository).items() if path.read_text("utf-8") != text}
    for path, text in stale.items():
        path.write_text(text, "utf-8")
    return list(stale)
