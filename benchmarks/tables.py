"""Generate the tables of the READMEs and of benchmarks/reports/ from benchmarks/results/.

    python benchmarks/tables.py            rewrite every table
    python benchmarks/tables.py --check    change nothing; exit 1 when a page disagrees with the results

A page marks the position of a table with two comments; everything between them is generated:

    <!-- table: NAME -->
    <!-- end -->

NAME is `measured` (the overview in the top README.md), `demo-output` (what `make demo` prints), a file of results
without its suffix (`training`: its headline rows, for benchmarks/README.md), or a file and one of its tables
(`training/kinds`, for the reports).

Each file of results is {"question": text, "rows": [row, …]}. A row is one measured value. All keys are required:

    id              unique among all files; the `measured` table refers to it
    table           the report table that shows the row
    headline        whether benchmarks/README.md shows it, too
    what            what was measured, a noun phrase
    value, unit     the result, printed with the digits written here; a unit that begins with × is a ratio
    spread          [lowest, highest] over rounds, runs or seeds, or null
    baseline        the system or setting that the value is compared with, or null
    baseline_value  its result in the same unit; null where the value is already a ratio
    command         the shell lines that made the value; null where they were not recorded
    cpu, date       "AMD EPYC, AVX2 only", "AMD EPYC, AVX-512 (Zen 4)", the same with Zen 5, or
                    "Xeon, AVX-512", else the model name; day of the measurement, or null
    seeds           list of the seeds behind the value; null where there is none or it was not recorded
    notes           limits of this value, or null
    details         further figures of the same measurement by name: numbers, strings or null; may be empty

To record a new measurement, run a benchmark with --record (record.py writes the rows), then this script.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from demo_output import demo_output

Row = dict[str, Any]
Results = dict[str, list[Row]]
"""Rows by the name of their file."""

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
KEYS = {"id", "table", "headline", "what", "value", "unit", "spread", "baseline", "baseline_value", "command", "cpu"}
KEYS |= {"date", "seeds", "notes", "details"}
NOT_RECORDED = "not recorded"
LEFT_ALIGNED = {"What", "Result", "Result (spread)", "Baseline", "CPU", "Date", "Notes", "Report"}
PLANNED: set[str] = set()
"""Tables that a benchmark can record and that may have no rows yet."""

# The overview in the top README.md: what, result, report. {id} is a row's value, {id low} and {id high} its spread,
# {id baseline} its baseline's value and {id NAME} a detail.
MEASURED = [
    (
        "Training speed, target tokens/s relative to a plain `torch.nn.Transformer` loop and to transformers' Marian",
        "AVX2: {train-plain-epyc}× ({train-plain-epyc low}–{train-plain-epyc high}) and {train-marian-epyc}× "
        "({train-marian-epyc low}–{train-marian-epyc high}), in another run {train-plain-epyc-all}× and "
        "{train-marian-epyc-all}×; Xeon: {train-plain-xeon}× ({train-plain-xeon low}–{train-plain-xeon high}) and "
        "{train-marian-xeon}× ({train-marian-xeon low}–{train-marian-xeon high}); Zen 5: {train-plain-zen5}× "
        "({train-plain-zen5 low}–{train-plain-zen5 high}) and {train-marian-zen5}× ({train-marian-zen5 low}–"
        "{train-marian-zen5 high})",
        "training",
    ),
    (
        "Multi30k German → English, 30 minutes of training, sacreBLEU on test_2016_flickr",
        "AVX2: {multi30k-epyc} and {multi30k-epyc-2} (two seeds); Xeon: {multi30k-xeon}; Zen 5: {multi30k-zen5}",
        "quality",
    ),
    (
        "The same task, 5 minutes of training, BLEU on the validation set",
        "AVX2: {five-minutes} (three seeds: {five-minutes low}–{five-minutes high})",
        "training",
    ),
    (
        "Demo, English → Korean: exact match on 1,000 unseen sentences, and on sentences longer than any in training",
        "EPYC with AVX-512: {demo-epyc} % and {demo-long-epyc} % after {demo-epyc seconds in updates} s of training; "
        "Xeon, earlier pairs: {demo-xeon} % and {demo-long-xeon} % after {demo-xeon seconds in updates} s",
        "quality",
    ),
    (
        "Multi30k, models of published tutorials, published BLEU → tongsa, with fewer parameters",
        "AVX2: Sutskever {tut-sutskever baseline} → {tut-sutskever}, Cho {tut-cho baseline} → {tut-cho}, "
        "Bahdanau {tut-bahdanau baseline} → {tut-bahdanau}, Gehring {tut-gehring baseline} → {tut-gehring}, "
        "Vaswani {tut-vaswani baseline} → {tut-vaswani}",
        "quality",
    ),
    (
        "The models of the papers on the demo's pairs, two minutes each: BLEU on all test sentences → on those of 17 "
        "to 21 words, longer than any in training",
        "EPYC with AVX-512: Cho {ladder-phrasebook-cho-zen5} → {ladder-phrasebook-cho-zen5 17–21 words}, "
        "Sutskever {ladder-phrasebook-sutskever-zen5} → {ladder-phrasebook-sutskever-zen5 17–21 words}, "
        "Bahdanau {ladder-phrasebook-bahdanau-zen5} → {ladder-phrasebook-bahdanau-zen5 17–21 words}, "
        "Gehring {ladder-phrasebook-conv-s2s-zen5} → {ladder-phrasebook-conv-s2s-zen5 17–21 words}, "
        "Lin {ladder-phrasebook-lin-zen5} → {ladder-phrasebook-lin-zen5 17–21 words}, "
        "Vaswani {ladder-phrasebook-transformer-zen5} → {ladder-phrasebook-transformer-zen5 17–21 words}",
        "ladder",
    ),
    (
        "SIGMORPHON 2020 grapheme-to-phoneme, word error rate, best neural baseline → ensemble of three models",
        "AVX2: Korean {g2p-korean baseline} → {g2p-korean}, Japanese {g2p-japanese baseline} → {g2p-japanese}, "
        "Hindi {g2p-hindi baseline} → {g2p-hindi}, French {g2p-french baseline} → {g2p-french}, "
        "Bulgarian {g2p-bulgarian baseline} → {g2p-bulgarian} %",
        "quality",
    ),
    (
        "Beam search with the torch engine, beam 5, sentences/s, compared with CTranslate2 float32",
        "AVX2: {torch-epyc} against {torch-epyc baseline}; Xeon: {torch-xeon} against {torch-xeon baseline}; "
        "Zen 5: {torch-zen5} against {torch-zen5 baseline}",
        "decoding",
    ),
    (
        "Distilled student, greedy, int8, relative to its teacher in CTranslate2 int8 with beam 5",
        "AVX2: {student-epyc × baseline}× the sentences/s ({student-epyc}), BLEU {student-epyc BLEU} against "
        "{student-epyc baseline BLEU} (p = {student-epyc p}); Zen 5: {student-zen5 × baseline}× ({student-zen5:,}), "
        "{student-zen5 BLEU} against {student-zen5 baseline BLEU} (p = {student-zen5 p})",
        "decoding",
    ),
    (
        "Outputs of batched torch search that CTranslate2 float32 reproduces token for token, Multi30k, beam 5",
        "AVX2: {multi30k-continuous-5-ctranslate2-float32} of "
        "{multi30k-continuous-5-ctranslate2-float32 sentences:,}; the other is a tie",
        "agreement",
    ),
    (
        "Server with 64 clients, requests batched or one at a time; then 256 clients for ten minutes",
        "AVX2: {serve-64} against {serve-64 baseline} responses/s; under overload HTTP 200 and 503 only, "
        "{overload-memory} MiB at most; Zen 5: {serve-64-zen5} against {serve-64-zen5 baseline}",
        "serving",
    ),
]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 when a page disagrees with the results")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of README.md and benchmarks/")
    options = parser.parse_args(arguments)
    try:
        results = read_results(options.root / "benchmarks/results")
        pages = {path: generate_page(path.read_text("utf-8"), results) for path in find_pages(options.root)}
        check_every_table_is_shown(results, pages.values())
    except ValueError as error:
        print(f"tables: {error}", file=sys.stderr)
        return 1
    stale = [path for path, text in pages.items() if path.read_text("utf-8") != text]
    for path in stale:
        if options.check:
            print(f"{path}: disagrees with benchmarks/results. Run python benchmarks/tables.py", file=sys.stderr)
        else:
            path.write_text(pages[path], "utf-8")
            print(f"{path}: rewritten")
    return int(options.check and bool(stale))


def find_pages(root: Path) -> list[Path]:
    readmes = [root / name for name in ("README.md", "README.ko.md", "benchmarks/README.md")]
    return [*readmes, *sorted((root / "benchmarks/reports").glob("*.md"))]


def read_rows(path: Path) -> list[Row]:
    """Read numbers as decimals, which keep the digits as written: 1.50 is not 1.5."""
    rows: list[Row] = json.loads(path.read_text("utf-8"), parse_float=Decimal)["rows"]
    return rows


def read_results(folder: Path) -> Results:
    results = {path.stem: read_rows(path) for path in sorted(folder.glob("*.json"))}
    ids: set[str] = set()
    for name, rows in results.items():
        for i, row in enumerate(rows):
            if set(row) != KEYS:
                difference = ", ".join(sorted(set(row) ^ KEYS))
                raise ValueError(f"results/{name}.json, row {i}: missing or unknown keys: {difference}. See --help.")
            if row["id"] in ids:
                raise ValueError(f"results/{name}.json, row {i}: id {row['id']} is used twice. Choose another.")
            ids.add(row["id"])
    return results


def generate_page(text: str, results: Results) -> str:
    return BLOCK.sub(lambda block: f"{block[1]}{generate_table(block[2], results)}\n{block[3]}", text)


def generate_table(name: str, results: Results) -> str:
    if name == "measured":
        return measured_table(results)
    if name == "demo-output":
        return demo_output(figures_by_name(results))
    file, _, table = name.partition("/")
    rows = [row for row in results.get(file, []) if (row["table"] == table if table else row["headline"])]
    if not rows and (results.get(file) == [] or name in PLANNED):
        return "Not measured yet."
    if not rows:
        raise ValueError(f"table {name}: no such rows in results/. Write FILE or FILE/TABLE.")
    return report_table(rows) if table else headline_table(rows)


def check_every_table_is_shown(results: Results, pages: Iterable[str]) -> None:
    shown = {block[2] for text in pages for block in BLOCK.finditer(text)}
    hidden = {f"{name}/{row['table']}" for name, rows in results.items() for row in rows} - shown
    if hidden:
        raise ValueError(f"no page shows {', '.join(sorted(hidden))}. Add <!-- table: NAME --> to a report.")


def figures_by_name(results: Results) -> dict[str, Any]:
    """Return the value of each row by its id; spread, baseline and details by id and name."""
    figures: dict[str, Any] = {}
    for row in (row for rows in results.values() for row in rows):
        low, high = row["spread"] or (None, None)
        named = {"low": low, "high": high, "baseline": row["baseline_value"]} | row["details"]
        figures[row["id"]] = row["value"]
        figures |= {f"{row['id']} {name}": value for name, value in named.items()}
    return figures


def measured_table(results: Results) -> str:
    figures = figures_by_name(results)
    cells = [
        [what, result.format_map(figures), f"[{report}](benchmarks/reports/{report}.md)"]
        for what, result, report in MEASURED
    ]
    return markdown(["What", "Result", "Report"], cells)


def headline_table(rows: list[Row]) -> str:
    """Return one line for each row; commands are numbered and listed below the table."""
    commands = distinct(row["command"] for row in rows)
    cells = [
        [row["what"], result(row), baseline(row), row["cpu"], row["date"] or NOT_RECORDED, number_of(row, commands)]
        for row in rows
    ]
    header = ["What", "Result (spread)", "Baseline", "CPU", "Date", "Command"]
    return markdown(header, cells) + command_list(commands)


def report_table(rows: list[Row]) -> str:
    """Return all figures of the rows: values that differ are columns, shared values are printed above the table."""
    commands = distinct(row["command"] for row in rows)
    details = distinct(name for row in rows for name in row["details"])
    one_unit = len({row["unit"] for row in rows}) == 1
    unit = rows[0]["unit"]
    columns: dict[str, list[str]] = {"What": [row["what"] for row in rows]}
    columns[unit if one_unit else "Result"] = [result(row, with_unit=not one_unit) for row in rows]
    if any(row["spread"] for row in rows) and one_unit:
        columns[f"{unit} (spread)"] = columns.pop(unit)
    if any(row["baseline"] for row in rows):
        columns["Baseline"] = [baseline(row) for row in rows]
    columns |= {name: [number(row["details"].get(name)) for row in rows] for name in details}
    shared = []
    attributes: dict[str, Callable[[Row], str]] = {
        "CPU": lambda row: row["cpu"],
        "Date": lambda row: row["date"] or NOT_RECORDED,
        "Seed": lambda row: ", ".join(map(str, row["seeds"])) if row["seeds"] else "–",
        "Notes": lambda row: row["notes"] or "–",
    }
    for name, value_of in attributes.items():
        values = [value_of(row) for row in rows]
        if len(set(values)) > 1:
            columns[name] = values
        elif values[0] != "–":
            shared.append(f"{name}: {values[0].rstrip('.')}.")
    if len({row["command"] for row in rows}) > 1:
        columns["Command"] = [number_of(row, commands) for row in rows]
    cells = [list(line) for line in zip(*columns.values(), strict=True)]
    table = markdown(list(columns), cells)
    return "\n\n".join(filter(None, [" ".join(shared), table + command_list(commands)]))


def result(row: Row, *, with_unit: bool = True) -> str:
    value = number(row["value"])
    if with_unit:
        value = f"{value}{row['unit']}" if row["unit"].startswith("×") else f"{value} {row['unit']}"
    if row["spread"]:
        low, high = map(number, row["spread"])
        value += f" ({low}–{high})"
    return value


def baseline(row: Row) -> str:
    if row["baseline"] is None:
        return "–"
    if row["baseline_value"] is None:
        return str(row["baseline"])
    return f"{row['baseline']}: {number(row['baseline_value'])}"


def number_of(row: Row, commands: list[str]) -> str:
    return str(commands.index(row["command"]) + 1) if row["command"] else NOT_RECORDED


def command_list(commands: list[str]) -> str:
    if not commands:
        return ""
    if len(commands) == 1:
        return f"\n\n```bash\n{commands[0]}\n```"
    return "\n\n```bash\n" + "\n".join(f"# {i}\n{command}" for i, command in enumerate(commands, 1)) + "\n```"


def number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int | Decimal) else str(value)


def distinct(values: Iterable[str | None]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value is not None]


def markdown(header: list[str], cells: list[list[str]]) -> str:
    rules = ["---" if name in LEFT_ALIGNED else "--:" for name in header]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rules, *cells))


if __name__ == "__main__":
    sys.exit(main())
