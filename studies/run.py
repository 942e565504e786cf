"""Measurement of studies, one after another or several at a time, and what is written of each.

A module of its own, because a spawned process cannot import functions of `python -m studies` itself.
"""

import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from studies.study import LANGUAGES, VERDICTS, MeasureOptions, Study, load_study


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Arguments of `python -m studies` that concern the measurement."""

    runs: Path
    """Folder for trained runs, and for the results that are not recorded."""
    processes: int = 1
    quick: bool = False
    record: bool = False
    """Replace the results, figures and pages of the repository."""
    commit: str | None = None
    """Commit of the sources at the start: with `record`, the first study that is written changes files of the clone."""


def run_studies(names: Sequence[str], options: RunOptions) -> list[bool]:
    """Run studies; several at a time if there are processes for them, so that none waits for the last run of another.

    One study alone trains its runs in the processes.
    """
    if len(names) == 1 or options.processes == 1:
        return [run_or_report(name, options) for name in names]
    from studies.trained_runs import write_demo_pairs

    write_demo_pairs(options.runs)  # before several studies ask for them at once
    context = multiprocessing.get_context("spawn")  # a forked process would inherit torch's thread pool
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
        return list(pool.map(partial(run_or_report, options=options, is_parallel=True), names))


def longest_first(names: Sequence[str]) -> list[str]:
    """Sort studies by their recorded seconds, so that no long one is left for the end; unknown ones come first."""
    from studies.results import read_results

    def seconds(name: str) -> float:
        folder = load_study(name).folder
        return float(read_results(folder)["seconds"]) if (folder / "results.json").exists() else float("inf")

    return sorted(names, key=seconds, reverse=True)


def run_or_report(name: str, options: RunOptions, *, is_parallel: bool = False) -> bool:
    """Run a study; if its data is missing, say so and return False, so that the other studies run."""
    from tongsa.errors import InputError

    try:
        run_study(load_study(name), options, is_parallel=is_parallel)
    except InputError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


def run_study(study: Study, options: RunOptions, *, is_parallel: bool) -> None:
    """Measure, print the verdicts, and write results, figures and pages."""
    from studies.figures import write_figures
    from studies.pages import STUDY_PAGES, study_page
    from studies.results import measure_study, read_results, write_results

    measure_options = MeasureOptions(
        seeds=study.quick_seeds if options.quick else study.seeds,
        quick=options.quick,
        runs=options.runs / study.name,
        processes=1 if is_parallel else options.processes,
        parallel_studies=options.processes if is_parallel else 1,
    )
    command = f"python -m studies {study.name}{' --quick' if options.quick else ''}"
    folder = study.folder if options.record else options.runs / study.name
    write_results(measure_study(study, measure_options, command, options.commit), folder)
    results = read_results(folder)  # figures and pages see the rounded numbers
    write_figures(study, results["values"], folder)
    for language in LANGUAGES:
        template = study.folder / STUDY_PAGES[language]
        page = study_page(study, results, template.read_text("utf-8"), language)
        (folder / STUDY_PAGES[language]).write_text(page, "utf-8")
    print(f"{study.title.en} ({results['seconds']:.0f} s): {folder / 'README.md'}")
    for claim in study.claims(results["values"]):
        print(f"  {claim.says.en}\n    {claim.seen.en}\n    → {VERDICTS[claim.verdict].en}")
