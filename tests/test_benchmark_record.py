"""With --record, a benchmark writes its own rows to the results, and nothing else changes."""

import importlib
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jobs import write_model
from live_server import random_model, sample_texts
from test_benchmark_tables import ROOT, copy_pages, run_tables
from test_benchmarks import BENCHMARKS, run_script, validation, write_journal
from tiny import write_pairs

slow = pytest.mark.slow  # each runs a benchmark
RESULTS = ROOT / "benchmarks/results"
EPYC = "model name : AMD EPYC 7763\nflags : fpu avx avx2\n"
ZEN4 = "model name\t: AMD EPYC\nflags\t\t: fpu avx avx2 avx512f avx512_bf16\n"
XEON = "model name : Intel(R) Xeon(R) Platinum\nflags : avx2 avx512f\n"
WORDING = ("table", "headline", "what", "unit", "baseline")
Rows = dict[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def _benchmarks_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def module(name: str) -> Any:
    return importlib.import_module(name)


def read_rows(root: Path, name: str) -> Rows:
    return {row["id"]: row for row in module("tables").read_rows(root / f"benchmarks/results/{name}.json")}


def is_in_overview(row_id: str) -> bool:
    return any(re.search(rf"\{{{row_id}[ }}]", text) for _, text, _ in module("tables").MEASURED)


def train_speed(_: Path) -> list[str]:
    size = ["--demo-data", "--tiny", "--seconds", "0.3", "--rounds", "2", "--workers", "1"]
    return ["train_speed.py", *size, "--kinds", "transformer", "--peers", "plain"]


def decode_speed(folder: Path) -> list[str]:
    run, texts = write_model(folder / "model"), folder / "texts.txt"
    texts.write_text("나는 집에 간다\na b c\n" * 4, "utf-8")
    return ["decode_speed.py", str(run), "--texts", str(texts), "--recipe", str(run), "--rounds", "2", "--few", "2"]


def agreement(folder: Path) -> list[str]:
    pairs = write_pairs(folder / "pairs.tsv", [("a b c", "가 나"), ("나는 집에", "a b")])
    return ["agreement.py", str(write_model(folder / "multi30k")), "--data", str(pairs), "--few", "1", "--beams", "2"]


def speedrun(folder: Path) -> list[str]:
    records = [{"step": 1, "tokens": 100, "seconds": 61.0}, validation(1, 31.26, 9.0)]
    journal = write_journal(folder / "journal.jsonl", records)
    return ["speedrun.py", "--journal", str(journal), "--budget", "5m", "--seed", "7"]


def serve_load(folder: Path) -> list[str]:
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{text}\n" for text in sample_texts(20)), "utf-8")
    run = str(random_model(folder / "run"))
    short = ["--seconds", "0.2", "--minutes", "0.02", "--rounds", "1"]
    return ["serve_load.py", run, "--texts", str(lines), "--engine", "torch", *short]


@pytest.mark.parametrize(
    ("benchmark", "name", "template"),
    [
        (speedrun, "training", "five-minutes-seed-7"),
        pytest.param(train_speed, "training", "train-plain-{cpu}", marks=slow),
        pytest.param(decode_speed, "decoding", "torch-{cpu}", marks=slow),
        pytest.param(agreement, "agreement", "multi30k-continuous-2-ctranslate2-float32", marks=slow),
        pytest.param(serve_load, "serving", "serve-64", marks=slow),
    ],
)
def test_a_recorded_run_makes_the_pages_that_show_it_stale(
    tmp_path: Path, benchmark: Callable[[Path], list[str]], name: str, template: str
) -> None:
    (tmp_path / "root").mkdir()
    root, before = copy_pages(tmp_path / "root"), read_rows(ROOT, name)
    done = run_script(*benchmark(tmp_path), "--record", "--results", str(root / "benchmarks/results"))
    assert done.returncode == 0, done.stderr
    after = read_rows(root, name)
    recorded = {row_id for row_id, row in after.items() if row != before.get(row_id)}
    cpu = module("machine").this_cpu()
    assert module("record").row_id(template, list(before.values()), cpu) in recorded
    for row in (after[row_id] for row_id in recorded):
        assert set(row) == module("tables").KEYS
        assert (row["cpu"], row["date"]) == (cpu.name, module("machine").machine()["date"])
        assert row["command"].startswith(f"python benchmarks/{benchmark.__name__}.py ")
        assert "--record" not in row["command"] and "--results" not in row["command"]
    check = run_tables("--check", "--root", str(root))
    pages = {"benchmarks/README.md", f"benchmarks/reports/{name}.md"}
    pages |= {"README.md"} if any(map(is_in_overview, recorded)) else set()
    stale = {line.partition(": disagrees")[0] for line in check.stderr.splitlines()}
    assert stale == {str(root / page) for page in pages}
    assert run_tables("--root", str(root)).returncode == 0
    assert run_tables("--check", "--root", str(root)).returncode == 0


def test_figures_of_another_task_do_not_reach_the_published_results(tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in RESULTS.glob("*.json")}
    done = run_script(*train_speed(tmp_path), "--record")
    assert done.returncode == 2
    assert "--results" in done.stderr
    assert {path: path.read_bytes() for path in RESULTS.glob("*.json")} == before


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_reading_and_writing_results_changes_no_byte(path: Path) -> None:
    record = module("record")
    assert record.to_json(record.read_results(path)) + "\n" == path.read_text("utf-8")


def test_an_update_changes_only_its_rows_and_adds_new_ones_at_the_end_of_their_table(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    rows = [{"id": row_id, "table": row_id[0], "value": 1, "notes": None} for row_id in ("a1", "a2", "b1")]
    path.write_text(json.dumps({"rows": rows}).replace('"value": 1', '"value": 1.50'), "utf-8")
    new = [{"id": row_id, "table": row_id[0], "value": Decimal("2.0"), "notes": "n"} for row_id in ("a1", "a3", "c1")]
    assert module("record").update(path, new) == {}
    results = module("record").read_results(path)["rows"]
    values = [(row["id"], str(row["value"])) for row in results]
    assert values == [("a1", "2.0"), ("a2", "1.50"), ("a3", "2.0"), ("b1", "1.50"), ("c1", "2.0")]
    assert module("record").update(path, [new[0] | {"notes": None}]) == {"a1": "n"}  # the note was about another value


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (EPYC, ("AMD EPYC, AVX2 only", "epyc")),
        (ZEN4, ("AMD EPYC, AVX-512 (Zen 4)", "zen4")),
        (XEON, ("Xeon, AVX-512", "xeon")),
        (ZEN4.replace("bf16", "bf16 avx512_vp2intersect"), ("AMD EPYC, AVX-512 (Zen 5)", "zen5")),
        ("model name : Some CPU @ 2.0GHz\n", ("Some CPU @ 2.0GHz", "some-cpu-2-0ghz")),
    ],
)
def test_a_cpu_is_named_by_its_flags(cpuinfo: str, expected: tuple[str, str]) -> None:
    name, suffix = module("machine").cpu_class(cpuinfo)
    assert (name, suffix) == (expected[0], module("record").to_slug(expected[1]))


def test_a_row_of_another_cpu_is_not_replaced() -> None:
    record, cpu_class = module("record"), module("machine").cpu_class
    rows = [{"id": "serve-64", "cpu": "AMD EPYC, AVX2 only"}]
    assert record.row_id("serve-64", rows, cpu_class(EPYC)) == "serve-64"
    assert record.row_id("serve-64", rows, cpu_class(ZEN4)) == "serve-64-zen4"
    assert record.row_id("train-plain-{cpu}-all", rows, cpu_class(ZEN4)) == "train-plain-zen4-all"


def test_the_command_is_a_shell_line_without_options_of_the_output() -> None:
    argv = ["/checkout/benchmarks/x.py", "--json", "run", "--record", "--results", "elsewhere", "--set", "data.test=[]"]
    assert module("record").shell_line(argv) == "python benchmarks/x.py run --set 'data.test=[]'"


def test_a_command_has_no_path_of_this_machine() -> None:
    argv = [
        "x.py",
        "/home/me/runs/mine",
        "--peer-python",
        "/opt/other/bin/python",
        'data.train=["/data/a.tsv"]',
        "runs/b",
    ]
    expected = """python benchmarks/x.py mine --peer-python OTHER/bin/python 'data.train=["a.tsv"]' runs/b"""
    assert module("record").shell_line(argv) == expected


def contestant(speed: float) -> dict[str, Any]:
    names = ("utilisation", "padding", "peak_rss_mib", "tokens_per_update", "mflop_per_token", "gemm_gflops")
    ratios = {f"ratio_to_{peer}": 1.5 for peer in ("plain", "plain_residual", "marian")}
    ranges = {f"{ratio}_range": [1.26, 1.75] for ratio in ratios}
    speeds = {"tokens_per_second": speed, "tokens_per_second_rounds": [speed, speed + 1]}
    return dict.fromkeys((*names, "parameters"), 1) | ratios | ranges | speeds


def train_report(*kinds: str) -> dict[str, Any]:
    groups = {"kinds": kinds, "peers": ("plain", "marian")}
    return contestant(9.0) | {
        **{group: {name: contestant(9.0) for name in names} for group, names in groups.items()},
        "rounds": 3,
        "workers": 2,
        "seed": 1,
    }


def decode_report() -> dict[str, Any]:
    row: dict[str, Any] = {"sentences_per_second": 9.6, "tokens_per_second": 99.6, "bleu": 40.5}
    row |= {"sentences_per_second_rounds": [9.6, 11.2], "tokens_per_second_rounds": [99.6, 120.0]}
    settings = [f"beam {beam}, batch {batch}" for beam in (1, 5) for batch in (64, 1)]
    names = ("torch", "ctranslate2_float32", "ctranslate2_int8", "tongsa_ctranslate2", "recipe", "generate")
    contestants = {name: dict.fromkeys(settings, row) for name in names}
    contestants["generate"] = {setting: row for setting in settings if setting.endswith("64")}
    ratios = ("torch_to_ctranslate2_float32", "torch_to_ctranslate2_float32_greedy", "torch_to_generate")
    student = {"layers": "3+2", "shortlist": True, "seeds": [1]}
    report = dict.fromkeys([*ratios, "recipe_to_ctranslate2_int8", "recipe_bleu_p"], 0.7)
    return report | {"contestants": contestants, "student": student, "seeds": [2], "rounds": 3}


def serve_report() -> dict[str, Any]:
    load = {"responses_per_second": 19.04, "p50_ms": 43.2, "p95_ms": 105.0, "p99_ms": 298.0}
    loads = [load | {"clients": count} for count in (1, 8, 64)]
    overload = {"minutes": 10.0, "clients": 256, "queue": 64, "sent": 10, "statuses": {200: 3, 503: 5, 500: 1}}
    overload |= {"wrong": 1, "memory_mib": [378, 426, 431, 431], "memory_growth": 0.006}
    return {
        "batched": loads,
        "unbatched": loads,
        "overload": overload,
        "before_overload": load,
        "after_overload": load,
    }


def agreement_report() -> dict[str, Any]:
    counts = {"same": 8, "ties": 1, "ours_better": 1, "theirs_better": 0, "largest_gap": 0.2, "bleu": 40.0, "beam": 5}
    others = ("torch, one by one", "CTranslate2 float32", "CTranslate2 int8")
    sentences = {"the reference": 10, **dict.fromkeys(others, 1000)}
    rows = [counts | {"who": who, "sentences": count} for who, count in sentences.items()]
    return {"rows": [{"beam": 5, "who": "torch, batched", "bleu": 40.35}, *rows]}


def speedrun_report(budget: str) -> dict[str, Any]:
    names = ("training_seconds", "evaluation_seconds", "steps", "tokens", "tokens_per_second", "last_bleu", "best_bleu")
    return dict.fromkeys(names, 40.0) | {"budget": budget, "curve": [{"seconds": 61.0, "bleu": 31.0}]}


def measurements(name: str) -> list[Any]:
    rows = module("rows")
    if name == "training":
        kinds = ("transformer", "transformer_workers", "rnn_attention", "rnn", "conv_s2s")
        seeds = [rows.speedrun_row(speedrun_report(budget), seed) for budget in ("5m", "30m") for seed in (1, 2)]
        recorded = list(read_rows(ROOT, name).values())
        summaries = [rows.speedrun_summary(budget, recorded) for budget in ("5m", "30m")]
        speeds = [*rows.train_speed_rows(train_report(*kinds[:2])), *rows.train_speed_rows(train_report(*kinds))]
        return [*speeds, *seeds, *summaries]
    return {
        "decoding": lambda: list(rows.decode_speed_rows(decode_report())),
        "serving": lambda: list(rows.serve_load_rows(serve_report(), None)),
        "agreement": lambda: list(rows.agreement_rows(agreement_report(), "multi30k", [2])),
    }[name]()


@pytest.mark.parametrize("name", ["training", "decoding", "serving", "agreement"])
def test_rows_on_the_cpu_of_the_published_ones_have_their_ids_and_wording(name: str) -> None:
    record, epyc, published = module("record"), module("machine").cpu_class(EPYC), read_rows(ROOT, name)
    for measurement in measurements(name):
        row = record.fill_row(measurement, list(published.values()), epyc, "command")
        existing = published[row["id"]]
        assert {key: row[key] for key in WORDING} == {key: existing[key] for key in WORDING}
        assert list(row["details"]) == list(existing["details"])


def test_the_summary_of_a_budget_is_made_of_the_recorded_seeds() -> None:
    rows, published = module("rows"), read_rows(ROOT, "training")
    for budget, row_id in (("5m", "five-minutes"), ("30m", "thirty-minutes-val")):
        existing = published[row_id]
        same_cpu = [row for row in published.values() if row["cpu"] == existing["cpu"]]
        summary = rows.speedrun_summary(budget, same_cpu)
        assert (summary.value, summary.spread, summary.seeds) == (
            existing["value"],
            existing["spread"],
            existing["seeds"],
        )


def test_lost_swapped_and_unexpected_responses_are_counted() -> None:
    (row,) = [row for row in module("rows").serve_load_rows(serve_report(), None) if row.id == "overload-other"]
    assert row.value == 3  # status 500, a lost response, a swapped one


def test_a_short_overload_is_not_recorded() -> None:
    report = serve_report()
    report["overload"]["minutes"] = 0.25
    assert {row.table for row in module("rows").serve_load_rows(report, None)} == {"throughput"}
