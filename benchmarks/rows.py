"""Rows of benchmarks/results/ from the reports of the benchmarks: ids, wording and digits of each figure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from record import Measurement, Number, Row, to_number, to_slug, to_spread

Table = dict[str, Any]
PLAIN_LOOP = "plain `torch.nn.Transformer` loop"
CONTESTANTS = {
    "transformer_workers": "tongsa, transformer, `--workers {workers}`",
    "plain": PLAIN_LOOP,
    "plain_residual": "plain loop, residual dropout only",
    "marian": "transformers' Marian, own loop",
}
"""Names in the tables of training; any other contestant is "tongsa, KIND"."""
DECODERS = {
    "torch": "tongsa, torch",
    "tongsa_ctranslate2": "tongsa, CTranslate2 float32",
    "ctranslate2_float32": "CTranslate2 float32, called directly",
    "ctranslate2_int8": "CTranslate2 int8, called directly",
    "generate": "transformers `generate`, random weights",
}
STUDENT_IDS = {"4+2": "student-large-{cpu}"}
"""By layers; any other student is student-{cpu}."""
OVERLOAD_MINUTES = 10
AGREEMENT_TABLES = {"multi30k": ("multi30k-continuous", "Multi30k"), "demo": ("demo", "Demo")}
"""Name of a run's folder → table and name of the task."""


def train_speed_rows(report: Table) -> Iterator[Measurement]:
    """Yield the ratios to the peers, and one row for each contestant."""
    is_transformer_only = not set(report["kinds"]) - {"transformer", "transformer_workers"}
    table, suffix = ("transformer", "") if is_transformer_only else ("kinds", "-all")
    seeds = [report["seed"]]
    for peer, baseline in (("plain", PLAIN_LOOP), ("marian", "transformers' Marian")):
        if peer in report["peers"]:
            low_and_high = report[f"ratio_to_{peer}_range"]
            yield Measurement(
                id=f"train-{peer}-{{cpu}}{suffix}",
                table="ratios",
                headline=True,
                what=f"Transformer, {'transformer-only run' if is_transformer_only else 'run of all kinds'}",
                value=to_number(report[f"ratio_to_{peer}"], 2),
                unit="× tokens/s",
                spread=to_spread(low_and_high, 2) if report["rounds"] > 1 else None,
                baseline=baseline,
                seeds=seeds,
                notes=f"Median of the ratios of {report['rounds']} rounds.",
                details=utilisation(report),
            )
    plain = report["peers"].get("plain")
    for name, row in (report["kinds"] | report["peers"]).items():
        what = CONTESTANTS.get(name, f"tongsa, {name}").format(workers=report["workers"])
        is_compared = plain is not None and name != "plain"
        yield Measurement(
            id=f"{table}-{to_slug(what)}",
            table=table,
            what=what,
            value=to_number(row["tokens_per_second"]),
            unit="target tokens/s",
            spread=to_spread(row["tokens_per_second_rounds"]),
            baseline=PLAIN_LOOP if is_compared else None,
            baseline_value=to_number(plain["tokens_per_second"]) if is_compared else None,
            seeds=seeds,
            details=contestant_details(row, is_transformer_only=is_transformer_only),
        )


def utilisation(row: Table) -> dict[str, Number]:
    return {"utilisation, %": to_number(100 * row["utilisation"]), "GEMM GFLOP/s": to_number(row["gemm_gflops"], 1)}


def contestant_details(row: Table, *, is_transformer_only: bool) -> dict[str, Number | None]:
    details = {
        "× plain": optional(row["ratio_to_plain"], 2),
        "× residual dropout only": optional(row["ratio_to_plain_residual"], 2),
        "× Marian": optional(row["ratio_to_marian"], 2),
        "utilisation, %": to_number(100 * row["utilisation"]),
        "padding, %": to_number(100 * row["padding"], 1),
        "peak RSS, MiB": row["peak_rss_mib"],
        "tokens per update": row["tokens_per_update"],
        "MFLOP per token": to_number(row["mflop_per_token"], 2),
        "GEMM GFLOP/s": to_number(row["gemm_gflops"], 1),
        "parameters": row["parameters"],
    }
    hidden = {"× residual dropout only", "tokens per update"} if is_transformer_only else set()
    return {name: value for name, value in details.items() if name not in hidden}


class Budget(NamedTuple):
    """Tables of the runs with one training time."""

    table: str
    summary_id: str
    summary: str
    unit: str
    figure: str
    """Value of a run."""
    marks: tuple[int, ...]


BUDGETS = {
    "5m": Budget(
        "five-minutes",
        "five-minutes",
        "Multi30k from scratch in 5 minutes, median of seeds",
        "BLEU on val at the end",
        "last_bleu",
        (30, 35),
    ),
    "8m": Budget(
        "eight-minutes",
        "eight-minutes",
        "Multi30k from scratch in 8 minutes, median of seeds",
        "BLEU on val at the end",
        "last_bleu",
        (30, 35, 40),
    ),
    "30m": Budget(
        "thirty-minutes",
        "thirty-minutes-val",
        "Multi30k from scratch in 30 minutes, best validation",
        "best BLEU on val",
        "best_bleu",
        (30, 35, 38, 40),
    ),
}


def speedrun_row(run: Table, seed: int) -> Measurement:
    budget = BUDGETS[run["budget"]]
    details: dict[str, Number | str | None] = {
        "time in updates": clock(run["training_seconds"]),
        # a journal alone does not have the time of the last evaluation
        "validation time": clock(run["evaluation_seconds"]) if "wall_seconds" in run else None,
        "other time": clock(run["other_seconds"]) if "wall_seconds" in run else None,
        "updates": run["steps"],
        "target tokens": run["tokens"],
        "tokens/s": run["tokens_per_second"],
    }
    for mark in budget.marks:
        times = [point["seconds"] for point in run["curve"] if point["bleu"] >= mark]
        details[f"BLEU {mark} after"] = clock(times[0]) if times else None
    if budget.figure != "last_bleu":
        details["BLEU at the end"] = to_number(run["last_bleu"], 1)
    return Measurement(
        id=f"{budget.table}-seed-{seed}",
        table=budget.table,
        what=f"seed {seed}",
        value=to_number(run[budget.figure], 1),
        unit=budget.unit,
        seeds=[seed],
        details=details,
    )


def speedrun_curve(run: Table, seed: int) -> Measurement:
    """Return the validations of a run; each seed has a table of its own in the report."""
    what = "BLEU on val after minutes of updates"
    return Measurement(
        id=f"curve-seed-{seed}-{to_slug(what)}",
        table=f"curve-seed-{seed}",
        what=what,
        value=to_number(run["best_bleu"], 1),
        unit="best BLEU",
        seeds=[seed],
        details={clock(point["seconds"]): to_number(point["bleu"], 1) for point in run["curve"]},
    )


def speedrun_summary(name: str, rows: Sequence[Row]) -> Measurement:
    """Summarize the recorded seeds of one CPU: the median after 5 minutes, the first seed after 30."""
    budget = BUDGETS[name]
    runs = sorted((row for row in rows if row["table"] == budget.table), key=lambda row: list(row["seeds"]))
    values, dates = [row["value"] for row in runs], sorted({row["date"] for row in runs})
    is_median = "median" in budget.summary
    notes = [] if is_median else [f"The value is that of seed {runs[0]['seeds'][0]}."]
    notes += [f"Seeds measured from {dates[0]} to {dates[-1]}."] if len(dates) > 1 else []
    return Measurement(
        id=budget.summary_id,
        table="time",
        headline=True,
        what=budget.summary,
        value=to_number(median(values) if is_median else values[0], 1),
        unit="BLEU on val",
        spread=to_spread(values, 1),
        command="\n".join(dict.fromkeys(row["command"] for row in runs)),
        seeds=[seed for row in runs for seed in row["seeds"]],
        notes=" ".join(notes) or None,
    )


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def decode_speed_rows(report: Table) -> Iterator[Measurement]:
    """Yield the comparisons with CTranslate2 and `generate`, and one row for each contestant and setting."""
    contestants = report["contestants"]
    if "recipe" in contestants:
        yield student_row(report)
    for template, beam, ratio in (
        ("torch-{cpu}", 5, "torch_to_ctranslate2_float32"),
        ("torch-greedy-{cpu}", 1, "torch_to_ctranslate2_float32_greedy"),
    ):
        ours, theirs = (contestants[name][f"beam {beam}, batch 64"] for name in ("torch", "ctranslate2_float32"))
        yield Measurement(
            id=template,
            table="summary",
            headline=True,
            what=f"tongsa, torch, beam {beam}, batch 64",
            **speed(ours),
            baseline="CTranslate2 float32",
            baseline_value=to_number(theirs["sentences_per_second"]),
            seeds=report["seeds"],
            details={"× baseline": to_number(report[ratio], 2), **scores(ours, theirs)},
        )
    if "generate" in contestants:
        yield generate_row(report)
    for setting in contestants["torch"]:
        for name in contestants:
            if setting in contestants[name]:
                yield decoder_row(report, name, setting)


def student_row(report: Table) -> Measurement:
    student, contestants = report["student"], report["contestants"]
    ours, theirs = contestants["recipe"]["beam 1, batch 64"], contestants["ctranslate2_int8"]["beam 5, batch 64"]
    shortlist = ", shortlist" if student["shortlist"] else ""
    ratio = to_number(report["recipe_to_ctranslate2_int8"], 2)
    return Measurement(
        id=STUDENT_IDS.get(student["layers"], "student-{cpu}"),
        table="summary",
        headline=True,
        what=f"Distilled student ({student['layers']} layers), greedy, int8{shortlist}",
        **speed(ours),
        baseline="CTranslate2 int8, teacher, beam 5",
        baseline_value=to_number(theirs["sentences_per_second"]),
        seeds=student["seeds"],
        notes=f"× baseline is the median of the ratios of {report['rounds']} rounds.",
        details={"× baseline": ratio, **scores(ours, theirs), "p": optional(report["recipe_bleu_p"], 2)},
    )


def generate_row(report: Table) -> Measurement:
    ours, theirs = (report["contestants"][name]["beam 5, batch 64"] for name in ("torch", "generate"))
    return Measurement(
        id="torch-generate-{cpu}",
        table="summary",
        headline=True,
        what="tongsa, torch, beam 5, batch 64, in tokens",
        value=to_number(ours["tokens_per_second"]),
        unit="target tokens/s",
        spread=to_spread(ours["tokens_per_second_rounds"]),
        baseline="transformers `generate`",
        baseline_value=to_number(theirs["tokens_per_second"]),
        seeds=report["seeds"],
        notes="`generate` runs random weights of the same size.",
        details={"× baseline": to_number(report["torch_to_generate"], 2)},
    )


def decoder_row(report: Table, name: str, setting: str) -> Measurement:
    row, direct = report["contestants"][name][setting], report["contestants"]["ctranslate2_float32"][setting]
    is_student, is_compared = name == "recipe", name != "ctranslate2_float32"
    table = to_slug(setting)
    what = student_name(report["student"]) if is_student else DECODERS[name]
    details: dict[str, Number | None] = {"target tokens/s": to_number(row["tokens_per_second"])}
    if "batch 64" in setting:  # with a batch of 1 only some of the texts
        details["BLEU"] = optional(row.get("bleu"), 2)
    return Measurement(
        id=f"{table}-{to_slug(what)}",
        table=table,
        what=what,
        **speed(row),
        baseline="CTranslate2 float32" if is_compared else None,
        baseline_value=to_number(direct["sentences_per_second"]) if is_compared else None,
        seeds=report["student"]["seeds"] if is_student else report["seeds"],
        details=details,
    )


def student_name(student: Table) -> str:
    shortlist = " with shortlist" if student["shortlist"] else ""
    return f"distilled student {student['layers']}, CTranslate2 int8{shortlist}"


def speed(row: Table) -> dict[str, Any]:
    return {
        "value": to_number(row["sentences_per_second"]),
        "unit": "sentences/s",
        "spread": to_spread(row["sentences_per_second_rounds"]),
    }


def scores(ours: Table, theirs: Table) -> dict[str, Number | None]:
    return {"BLEU": optional(ours.get("bleu"), 2), "baseline BLEU": optional(theirs.get("bleu"), 2)}


def optional(value: float | None, digits: int) -> Number | None:
    return None if value is None else to_number(value, digits)


def agreement_rows(report: Table, task: str, seeds: list[int] | None) -> Iterator[Measurement]:
    """Yield one row for each beam and each search that is compared with torch in batches."""
    table, title = AGREEMENT_TABLES[task]
    batched = {row["beam"]: row["bleu"] for row in report["rows"] if "same" not in row}
    for row in report["rows"]:
        if "same" in row:
            who = "reference search" if row["who"] == "the reference" else row["who"]
            yield Measurement(
                id=f"{table}-{row['beam']}-{to_slug(who)}",
                table=table,
                headline=task == "multi30k",
                what=f"{title}, beam {row['beam']}: {who}",
                value=row["same"],
                unit=f"of {row['sentences']:,} outputs identical",
                baseline="torch, batched",
                seeds=seeds,
                notes="With continuous batching.",
                details={
                    "sentences": row["sentences"],
                    "ties": row["ties"],
                    "torch scores higher": row["ours_better"],
                    "other scores higher": row["theirs_better"],
                    "largest gap": to_number(row["largest_gap"], 4),
                    "BLEU": optional(row["bleu"], 2),
                    "BLEU, torch batched": to_number(batched[row["beam"]], 2),
                },
            )


def serve_load_rows(report: Table, seeds: list[int] | None) -> Iterator[Measurement]:
    """Yield the throughput; the overload, too, if it had the published length."""
    for batched, unbatched in zip(report["batched"], report["unbatched"], strict=True):
        count = batched["clients"]
        yield Measurement(
            id=f"serve-{count}",
            table="throughput",
            headline=True,
            what=f"{count} {'client' if count == 1 else 'clients'}, requests batched",
            value=to_number(batched["responses_per_second"], 1),
            unit="responses/s",
            baseline="one request at a time",
            baseline_value=to_number(unbatched["responses_per_second"], 1),
            seeds=seeds,
            details=latencies(batched, (50, 95, 99)) | latencies(unbatched, (50, 95, 99), "baseline "),
        )
    if report["overload"]["minutes"] == OVERLOAD_MINUTES:
        yield from overload_rows(report, seeds)


def overload_rows(report: Table, seeds: list[int] | None) -> Iterator[Measurement]:
    overload = report["overload"]
    first, after_quarter, highest, last = overload["memory_mib"]
    ok, rejected = (overload["statuses"].get(status, 0) for status in (200, 503))
    other = overload["sent"] - ok - rejected + overload["wrong"]
    task = f"{overload['clients']} clients for {overload['minutes']:g} minutes, queue of {overload['queue']}"
    growth = f"{100 * abs(overload['memory_growth']):.1f} % {'more' if overload['memory_growth'] >= 0 else 'less'}"
    notes = f"{growth} in the last quarter than in the second."
    at_the_end = "resident memory at the end (also the maximum)"
    memory = (at_the_end, notes) if last == highest else ("resident memory, maximum", f"At the end {last}. {notes}")

    def row(what: str, value: int, unit: str, short_id: str = "", notes: str | None = None) -> Measurement:
        return Measurement(
            id=f"overload-{short_id or to_slug(f'{task} {what}')}",
            table="overload",
            headline=bool(short_id),
            what=f"{task}: {what}",
            value=value,
            unit=unit,
            seeds=seeds,
            notes=notes,
        )

    yield row("requests sent", overload["sent"], "requests")
    yield row("HTTP 200", ok, "responses", "ok")
    yield row("HTTP 503 (queue full)", rejected, "responses", "503")
    yield row("any other status, lost or swapped responses", other, "responses", "other")
    yield row("resident memory at the start", first, "MiB")
    yield row("resident memory after a quarter of the time", after_quarter, "MiB")
    yield row(memory[0], highest, "MiB", "memory", memory[1])
    before, after = report["before_overload"], report["after_overload"]
    yield Measurement(
        id="overload-1-client-after-the-overload",
        table="overload",
        what="1 client after the overload",
        value=to_number(after["responses_per_second"], 1),
        unit="responses/s",
        baseline="before the overload",
        baseline_value=to_number(before["responses_per_second"], 1),
        seeds=seeds,
        details=latencies(after, (50,)) | latencies(before, (50,), "baseline "),
    )


def latencies(load: Mapping[str, Any], percentiles: Sequence[int], prefix: str = "") -> dict[str, Number]:
    return {f"{prefix}p{percentile}, ms": to_number(load[f"p{percentile}_ms"]) for percentile in percentiles}
