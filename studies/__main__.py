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
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.run import RunOptions, longest_first, run_studies
from studies.study import load_study, study_names

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
    from studies.results import source_commit

    run_options = RunOptions(
        runs=options.runs,
        processes=options.processes,
        quick=options.quick,
        record=options.record,
        commit=source_commit(),
    )
    succeeded = run_studies(names, run_options)
    if options.record:
        generate_pages()
    return 0 if all(succeeded) else 2


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
