"""Run studies: measure, judge the claims of the papers, draw the figure, fill in the pages.

python -m studies --list
python -m studies scaling                 results, figures and pages in runs/studies/scaling/
python -m studies scaling --quick         a shorter version, about a minute
python -m studies all --processes 2       every study, two at a time; trained runs that are there are used again
python -m studies scaling --record        replace results, figures and pages of the repository
python -m studies --pages                 generate pages and figures of the repository again, without measuring
python -m studies --pages --check         change nothing; exit 1 if a page disagrees with its results
"""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from studies.study import LANGUAGES, VERDICTS, MeasureOptions, Study, load_study, study_names

RUNS = Path("runs/studies")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="studies, or all")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, seeds and steps: about a minute")
    parser.add_argument("--record", action="store_true", help="write to studies/NAME and docs/claims.md")
    parser.add_argument("--runs", type=Path, default=RUNS, metavar="FOLDER", help=f"default: {RUNS}")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="trainings at the same time")
    parser.add_argument("--list", action="store_true", help="list the studies")
    parser.add_argument("--pages", action="store_true", help="generate pages and figures from the recorded results")
    parser.add_argument("--check", action="store_true", help="with --pages: change nothing")
    options = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before a study imports torch
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler else prints two lines for every measurement
    if options.list:
        print("\n".join(f"{name:20} {load_study(name).title.en}" for name in study_names()))
        return 0
    if options.pages:
        return generate_pages(check=options.check)
    names = longest_first(study_names()) if options.names == ["all"] else options.names
    unknown = [name for name in names if name not in study_names()]
    if unknown or not names:
        parser.error(
            f"{unknown[0]}: no such study. See --list." if unknown else "give the name of a study. See --list."
        )
    if options.quick and options.record:
        parser.error("--record: a quick run is not recorded. Leave out --quick.")
    succeeded = run_studies(names, options)
    if options.record:
        generate_pages()
    return 0 if all(succeeded) else 2


def run_studies(names: Sequence[str], options: argparse.Namespace) -> list[bool]:
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


def run_or_report(name: str, options: argparse.Namespace, *, is_parallel: bool = False) -> bool:
    """Run a study; if its data is missing, say so and return False, so that the other studies run."""
    from tongsa.errors import InputError

    try:
        run_study(load_study(name), options, is_parallel=is_parallel)
    except InputError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    return True


def run_study(study: Study, options: argparse.Namespace, *, is_parallel: bool) -> None:
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
    write_results(measure_study(study, measure_options, command), folder)
    results = read_results(folder)  # figures and pages see the rounded numbers
    write_figures(study, results["values"], folder)
    for language in LANGUAGES:
        template = study.folder / STUDY_PAGES[language]
        page = study_page(study, results, template.read_text("utf-8"), language)
        (folder / STUDY_PAGES[language]).write_text(page, "utf-8")
    print(f"{study.title.en} ({results['seconds']:.0f} s): {folder / 'README.md'}")
    for claim in study.claims(results["values"]):
        print(f"  {claim.says.en}\n    {claim.seen.en}\n    → {VERDICTS[claim.verdict].en}")


def generate_pages(*, check: bool = False) -> int:
    """Rewrite the pages and figures of the repository that disagree with the results; return the exit code."""
    from studies.figures import stale_figures, write_figures
    from studies.pages import current_pages, studies_with_results

    stale = [path for path, text in current_pages().items() if path.read_text("utf-8") != text]
    for path in stale:
        if check:
            print(f"{path}: disagrees with the results. Run: python -m studies --pages", file=sys.stderr)
        else:
            path.write_text(current_pages()[path], "utf-8")
            print(f"{path}: rewritten")
    for study, results in studies_with_results():
        figures = stale_figures(study, results["values"])
        stale += figures
        for figure in figures:
            if check:
                print(f"{figure}: disagrees with the results. Run: python -m studies --pages", file=sys.stderr)
            else:
                print(f"{figure}: drawn")
        if figures and not check:
            write_figures(study, results["values"], study.folder)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
