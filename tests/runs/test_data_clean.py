"""Cleaning of files, its ledger, the explanation of each line, and [data.filters] of a recipe."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_prepared_data import assert_equal_batches, first_batches

from command_line import run_command
from export.bundles import save_run, transformer
from processes import ENVIRONMENT
from tiny import reversing
from tongsa import worker_pipe
from tongsa.bundle import load_bundle
from tongsa.data.array_files import ArrayFiles
from tongsa.data.cleaning import chunk
from tongsa.data.cleaning.config import FilterConfig
from tongsa.data.corpus import read_pairs
from tongsa.data.ledger import Ledger
from tongsa.data.text_store import PairStore
from tongsa.errors import InputError
from tongsa.runs import cleaning as cleaning_module
from tongsa.runs import model_scores
from tongsa.runs.cleaning import Cleaning, clean_corpus, clean_training_pairs
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import prepare_data
from tongsa.runs.line_explanation import explain_row
from tongsa.runs.model_scores import score_pairs
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import DataConfig, Recipe, parse_recipe

DAMAGED = """\
한국어 문장이다\tThis is a Korean sentence
한국어 문장이다!\tthis is a korean sentence.
no tab here
ㅎㅏㄴ국어 책 &amp; 공책\tA <b>Korean</b> book
\tempty source
<b></b>\tempty after the repair
둘째 문장 \ufffd <i>\tsecond </p
같은 문장을 그대로 옮겨 적어 둔 것이다\t같은 문장을 그대로 옮겨 적어 둔 것이다
가\tone two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
한국어 문장이다 정말\tThis is a Korean sentence
"""


def write_damaged(folder: Path, count: int = 60) -> Path:
    path = folder / "corpus.tsv"
    pairs = "".join(f"{source}\t{target}\n" for source, target in reversing(count))
    path.write_text(DAMAGED + pairs + DAMAGED, encoding="utf-8")
    return path


def make_cleaning(path: Path, **filters: Any) -> Cleaning:
    config = FilterConfig(**{"defaults": True, "same_target": True, "near_duplicates": True, **filters})
    return Cleaning(DataConfig(train=(str(path),), source_language="ko", target_language="en", filters=config))


def ledger_entries_of(cleaning: Cleaning, output: Path) -> list[dict[str, Any]]:
    clean_corpus(cleaning, output)
    return ledger_entries(output)


def ledger_entries(output: Path) -> list[dict[str, Any]]:
    lines = output.with_name(f"{output.name}.ledger.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def entry_reasons(entry: dict[str, Any]) -> list[str]:
    return [record["reason"] for record in entry.get("reasons", [entry])]


def output_bytes(output: Path) -> list[bytes]:
    return [output.read_bytes(), output.with_name(f"{output.name}.ledger.jsonl").read_bytes()]


def test_kept_and_dropped_lines_add_up_and_the_ledger_has_all_reasons(tmp_path: Path) -> None:
    corpus, output = write_damaged(tmp_path), tmp_path / "clean.tsv"
    report = clean_corpus(make_cleaning(corpus), output)
    *entries, last = ledger_entries(output)
    totals = last["totals"]
    dropped = [entry for entry in entries if "repairs" not in entry]
    kept_lines = output.read_text("utf-8").splitlines()
    assert totals["read"] == report.read == 80 and totals["kept"] == report.kept == len(kept_lines)
    assert len(dropped) == len({entry["line"] for entry in dropped}) == report.dropped == 80 - report.kept
    assert totals["repaired"] == report.repaired == len(entries) - len(dropped)
    reasons = {entry["line"]: entry_reasons(entry) for entry in dropped}
    assert (
        reasons[3] == ["no-tab"]
        and reasons[5] == ["empty"]
        and reasons[2] == ["duplicates", "same_target", "near_duplicates"]
    )
    assert {"length", "empty"} == set(reasons[6]) and {"script", "copies"} == set(reasons[8])
    assert "한국어 책 & 공책\tA Korean book" in kept_lines
    for row in report.filters:
        assert row.dropped == sum(row.name in names for names in reasons.values())
        assert row.alone == sum([row.name] == names for names in reasons.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.tsv", "clean.tsv.ledger.jsonl", "corpus.tsv"]


def test_processes_and_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_damaged(tmp_path, 200)
    clean_corpus(make_cleaning(corpus, ratio="learn"), tmp_path / "whole.tsv")
    (tmp_path / "json.py").write_text("raise ImportError('a file of the user in the current folder')", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for number, (pairs, processes) in enumerate([(7, 1), (50, 2), (64, 3)]):
        monkeypatch.setattr(chunk, "CHUNK_PAIRS", pairs)
        monkeypatch.setattr(cleaning_module, "available_cores", lambda count=processes: count)
        output = tmp_path / f"{number}.tsv"
        clean_corpus(make_cleaning(corpus, ratio="learn"), output)
        assert output_bytes(output) == output_bytes(tmp_path / "whole.tsv")


def test_a_lost_worker_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_damaged(tmp_path, 200)
    monkeypatch.setattr(chunk, "CHUNK_PAIRS", 50)
    monkeypatch.setattr(worker_pipe, "WORKER_CODE", "raise SystemExit(1)")
    result = run_command("data", "clean", corpus, "-o", tmp_path / "clean.tsv")
    assert result.code == 1 and "a worker process has ended" in result.error
    assert not (tmp_path / "clean.tsv").exists()


def test_a_message_that_a_lost_worker_has_not_finished_is_none() -> None:
    stream = io.BytesIO()
    worker_pipe.write_message(stream, [["a"], ["b"]], [b"numbers"])
    message = stream.getvalue()
    assert worker_pipe.read_message(io.BytesIO(message)) == ([["a"], ["b"]], [b"numbers"])
    assert all(worker_pipe.read_message(io.BytesIO(message[:size])) is None for size in range(len(message)))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
def test_ctrl_c_ends_all_processes_without_a_traceback_of_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_damaged(tmp_path, 60_000)
    code = (
        "import tongsa.runs.cleaning as cleaning; cleaning.available_cores = lambda: 2\n"
        "import sys; from tongsa.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "data", "clean", str(corpus), "-o", str(tmp_path / "clean.tsv")]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True)
    while not (tmp_path / ".clean.tsv.work" / "values").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.tsv.ledger.jsonl.part", "corpus.tsv"]


@pytest.mark.parametrize("name", [".clean.tsv.work", "clean.tsv.part", "clean.tsv.ledger.jsonl.part"])
def test_nothing_is_written_through_a_link_in_place_of_a_temporary_file(name: str, tmp_path: Path) -> None:
    corpus, victim = write_damaged(tmp_path), tmp_path / "victim"
    victim.mkdir() if name.endswith(".work") else victim.write_text("precious", "utf-8")
    (tmp_path / name).symlink_to(victim)
    clean_corpus(make_cleaning(corpus), tmp_path / "clean.tsv")
    assert not list(victim.iterdir()) if victim.is_dir() else victim.read_text("utf-8") == "precious"
    names = ["clean.tsv", "clean.tsv.ledger.jsonl", "corpus.tsv", "victim"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize(
    ("command", "setting"),
    [
        ("clean", "data.filters=3"),
        ("clean", "data.folder=3"),
        ("clean", "data.filters.ratio=[]"),
        ("noise", "data.noise=3"),
    ],
)
def test_a_setting_of_another_type_is_a_message(command: str, setting: str, tmp_path: Path) -> None:
    result = run_command("data", command, write_damaged(tmp_path), "-o", tmp_path / "clean.tsv", "--set", setting)
    assert result.code == 2 and setting.partition("=")[0] in result.error


def test_why_agrees_with_the_ledger_for_each_line(tmp_path: Path) -> None:
    corpus, output = write_damaged(tmp_path, 30), tmp_path / "clean.tsv"
    cleaning = make_cleaning(corpus, ratio="learn")
    clean_corpus(cleaning, output)
    ledger, arrays = Ledger(None), ArrayFiles()
    raw = list(cleaning.raw_pairs(ledger))
    cleaned = cleaning.run(Ledger(None), arrays)
    explanations = [explain_row(cleaned, row, pair) for row, pair in enumerate(raw)]
    entries = [entry for entry in ledger_entries(output)[:-1] if "repairs" not in entry]
    by_reader = {entry["line"] for entry in map(json.loads, ledger.entry_lines())}
    expected = {entry["line"]: entry_reasons(entry) for entry in entries if entry["line"] not in by_reader}
    verdicts = {
        explanation.line: [verdict.name for verdict in explanation.verdicts if verdict.dropped]
        for explanation in explanations
        if explanation.dropped
    }
    assert verdicts == expected
    repaired = {entry["line"] for entry in ledger_entries(output)[:-1] if "repairs" in entry}
    assert repaired == {explanation.line for explanation in explanations if explanation.repairs}


def test_why_explains_a_line(tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path)
    result = run_command("data", "why", corpus, 2)
    assert (
        result.code == 0
        and f"{corpus}:2: dropped" in result.stdout
        and f"drops  duplicates: as {corpus}:1" in result.stdout
    )
    assert "in the file: 'ㅎㅏㄴ국어 책 &amp; 공책'" in run_command("data", "why", corpus, 4).stdout
    assert "the reader drops it: no-tab" in run_command("data", "why", corpus, 3).stdout
    missing = run_command("data", "why", corpus, 999)
    assert missing.code == 2 and "no record begins in line 999" in missing.error


@pytest.mark.parametrize("task", ["classification", "language_model"])
def test_labels_and_monolingual_texts_are_cleaned_too(task: str, tmp_path: Path) -> None:
    corpus, output = tmp_path / "texts.tsv", tmp_path / "clean.tsv"
    lines = ["ㅎㅏㄴ국어 문장", "ㅋㅋ", "다른 문장 \ufffd", "한국어 문장"]
    is_text = task == "language_model"
    corpus.write_text("".join(line + ("\n" if is_text else "\t1\n") for line in lines), encoding="utf-8")
    assert run_command("data", "clean", corpus, "-o", output, "--task", task).code == 0
    label = "" if is_text else "\t1"
    assert output.read_text("utf-8") == f"한국어 문장{label}\nㅋㅋ{label}\n"


def make_recipe(train: Path, dev: Path | None, cache: Path | None, **filters: Any) -> Recipe:
    data: dict[str, Any] = {"train": [str(train)], "source_language": "ko", "target_language": "en", "filters": filters}
    data |= {"dev": [str(dev)] if dev else [], "cache": str(cache) if cache else "", "test": [str(dev)] if dev else []}
    return parse_recipe({"data": data, "model": {"kind": "transformer"}, "tokenizer": {"vocab_size": 330}})


@pytest.mark.parametrize("cached", [False, True])
def test_filters_of_a_recipe_are_data_clean_and_then_training(cached: bool, tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path, 80)
    dev = tmp_path / "dev.tsv"
    dev.write_text(
        "".join(f"<b>{source}</b>\t{target}\n" for source, target in reversing(9)) + DAMAGED, encoding="utf-8"
    )
    cache = tmp_path / "cache" if cached else None
    clean_corpus(make_cleaning(corpus, near_duplicates=False, same_target=False), tmp_path / "clean.tsv")
    recipe = make_recipe(corpus, dev, cache, defaults=True)
    filtered = prepare_data(recipe, tmp_path / "a")
    again = prepare_data(recipe, tmp_path / "b")
    cleaned = prepare_data(make_recipe(tmp_path / "clean.tsv", dev, cache), tmp_path / "c")
    unfiltered = prepare_data(make_recipe(corpus, dev, cache), tmp_path / "d")
    texts = [[(pair.source, pair.target) for pair in data.train] for data in (filtered, again, cleaned)]
    assert texts[0] == texts[1] == texts[2] and len(texts[0]) < len(unfiltered.train)
    for data in (again, cleaned):
        assert_equal_batches(first_batches(filtered, recipe), first_batches(data, recipe))
    for data in (filtered, again, unfiltered):
        assert list(data.dev) == list(unfiltered.dev) and list(data.test) == list(read_pairs([dev], Ledger(None)))
    ledgers = [(tmp_path / name / "ledger.jsonl").read_bytes() for name in "ab"]
    assert ledgers[0] == ledgers[1] and b'"repairs"' in ledgers[0] and b'"reasons"' in ledgers[0]
    assert cache is None or len(list(cache.glob("clean-*"))) == 1


def test_a_dev_set_that_is_split_off_is_the_same_with_filters(tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path, 80)
    plain, filtered = (
        prepare_data(make_recipe(corpus, None, None, **filters), tmp_path / name)
        for name, filters in (("plain", {}), ("filtered", {"defaults": True}))
    )
    assert list(plain.dev) == list(filtered.dev)
    assert not {pair.line for pair in filtered.train} & {pair.line for pair in filtered.dev}
    assert {pair.line for pair in filtered.train} < {pair.line for pair in plain.train}


def test_each_corpus_is_cleaned_by_its_own_languages_and_keeps_its_tag(tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path, 80)
    tables = [
        {"train": [str(corpus)], "tag": tag, "columns": columns, "source_language": source, "target_language": target}
        for tag, columns, source, target in (("<2en>", [1, 2], "ko", "en"), ("<2ko>", [2, 1], "en", "ko"))
    ]
    data = {"corpora": tables, "filters": {"defaults": True}}
    prepared = prepare_data(parse_recipe({"data": data, "tokenizer": {"vocab_size": 340}}), tmp_path / "run")
    sizes = prepared.corpus_sizes
    assert sum(sizes) == len(prepared.train) and sizes[0] == sizes[1]
    sources = [pair.source for pair in prepared.train]
    assert all(text.startswith("<2en> ") for text in sources[: sizes[0]])
    assert all(text.startswith("<2ko> ") for text in sources[sizes[0] :])
    assert any("Korean book" in text for text in sources[sizes[0] :])


def test_filters_that_drop_all_pairs_are_an_error(tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path)
    with pytest.raises(InputError, match="the filters drop all pairs"):
        prepare_data(make_recipe(corpus, None, None, length=[1000, 2000]), tmp_path / "run")
    assert prepare_data(make_recipe(corpus, None, None, length=[1, 2000]), tmp_path / "run").train


def test_a_model_scores_the_pairs_and_the_lowest_are_dropped(tmp_path: Path) -> None:
    corpus, output = write_damaged(tmp_path), tmp_path / "clean.tsv"
    with pytest.raises(
        InputError, match=r"data\.filters\.model_score: no model\. Name a run with data\.filters\.model"
    ):
        clean_corpus(make_cleaning(corpus, model_score=True), output)
    model = save_run(tmp_path / "run", transformer())
    with pytest.raises(ValueError, match="nothing uses its scores"):
        FilterConfig(model=str(model))
    cleaning = make_cleaning(corpus, model=str(model), model_score="learn", percentiles=[30, 70])
    entries = [entry for entry in ledger_entries_of(cleaning, output) if "reason" in entry or "reasons" in entry]
    dropped = [entry for entry in entries if "model_score" in entry_reasons(entry)]
    pairs = list(read_pairs([corpus], Ledger(None)))
    scores = score_pairs(load_bundle(model).text_model(), PairStore.from_pairs(pairs))
    assert 0.15 * len(pairs) < len(dropped) <= 0.3 * len(pairs) + 1
    lines = {entry["line"] for entry in dropped}
    clean_scores = [score for pair, score in zip(pairs, scores, strict=True) if pair.source.isascii()]
    worst = [pair.line for pair, score in zip(pairs, scores, strict=True) if score == min(clean_scores)]
    assert set(worst) <= lines


def test_an_interrupted_scoring_of_training_pairs_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, preparation = write_damaged(tmp_path), Preparation(tmp_path / "cache")
    filters = FilterConfig(model=str(save_run(tmp_path / "run", transformer())), model_score=-100.0)
    data = DataConfig(train=(str(corpus),), filters=filters, cache=str(tmp_path / "cache"))
    train = CorpusReader(preparation).read(data, "seq2seq", data.train, Ledger(None))
    scored, score_block = list[int](), model_scores._score_block
    monkeypatch.setattr(model_scores, "SCORED_BLOCK_PAIRS", 20)

    def score_some(model: Any, pairs: Any) -> Any:
        if len(scored) == 2:
            scored.append(0)
            raise KeyboardInterrupt
        scored.append(len(pairs))
        return score_block(model, pairs)

    monkeypatch.setattr(model_scores, "_score_block", score_some)
    with pytest.raises(KeyboardInterrupt):
        clean_training_pairs(data, "seq2seq", train, Ledger(None), preparation)
    assert clean_training_pairs(data, "seq2seq", train, Ledger(None), preparation)
    assert sum(scored) == len(train), "some pairs were scored twice"


def test_a_training_file_that_changes_before_it_is_cleaned_is_an_error(tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path)
    data, lines = make_cleaning(corpus).data, corpus.read_text("utf-8").splitlines(keepends=True)
    train = CorpusReader().read(data, "seq2seq", data.train, Ledger(None))

    def clean() -> PairStore:
        return clean_training_pairs(data, "seq2seq", train, Ledger(None), Preparation())

    for changed in (lines[:-9], ["new\t새\n", *lines], [*lines[:20], "new\t새\n", *lines[21:]]):
        corpus.write_text("".join(changed), "utf-8")
        with pytest.raises(InputError, match=r"corpus\.tsv: changed while it was read\. Start again"):
            clean()
    corpus.write_text("".join(lines), "utf-8")
    assert clean()


@pytest.mark.slow
def test_a_killed_command_repeated_gives_the_same_bytes(tmp_path: Path) -> None:
    corpus = write_damaged(tmp_path, 20_000)
    command = [sys.executable, "-m", "tongsa", "data", "clean", str(corpus), "-o"]
    killed, complete = tmp_path / "killed.tsv", tmp_path / "whole.tsv"
    process = subprocess.Popen([*command, str(killed)], env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True)
    work = tmp_path / ".killed.tsv.work"
    while not (work / "values").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not killed.exists()
    for output in (killed, complete):
        subprocess.run([*command, str(output)], env=ENVIRONMENT, capture_output=True, check=True)
    assert output_bytes(killed) == output_bytes(complete)
    assert not list(tmp_path.glob(".*")) + list(tmp_path.glob("*.part"))


def test_entries_of_a_large_ledger_are_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "bad.tsv"
    corpus.write_text("no tab\n" * 20_000 + "a\tb\n", encoding="utf-8")
    ledger = Ledger(None)
    assert len(list(read_pairs([corpus], ledger))) == 1
    assert ledger._entries._rolled  # type: ignore[attr-defined] # in a temporary file
    assert sum(1 for _ in ledger.entry_lines()) == 20_000


def test_the_language_filter_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    cleaning = replace(
        make_cleaning(write_damaged(tmp_path)), data=replace(DataConfig(), filters=FilterConfig(language=True))
    )
    with pytest.raises(InputError, match=r"pip install 'tongsa\[clean\]'"):
        _ = cleaning.plan


def test_the_language_filter_drops_text_in_another_language(tmp_path: Path) -> None:
    pytest.importorskip("py3langid")
    corpus, output = tmp_path / "corpus.tsv", tmp_path / "clean.tsv"
    french = "Le parlement de la petite république a adopté hier une nouvelle loi sur les forêts."
    english = "The parliament of the small republic passed a new law on forests yesterday."
    korean = "작은 공화국의 의회는 어제 숲에 관한 새로운 법을 통과시켰다."
    corpus.write_text(f"{korean}\t{english}\n{korean}\t{french}\n네\tOui\n", encoding="utf-8")
    report = clean_corpus(make_cleaning(corpus, language=True), output)
    assert output.read_text("utf-8") == f"{korean}\t{english}\n네\tOui\n"
    assert [row.dropped for row in report.filters if row.name == "language"] == [1]
    assert {count.name: count.count for count in report.languages_found[1]} == {"en": 1, "fr": 1}
