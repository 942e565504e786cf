"""One sentence through several models: output, memory, attention, top 5, beam and cost side by side, over training.

Each model is a column. Its moments are the probes of its training (`training.probe`) and, last, the saved model.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import quote

from tongsa import bundle, config
from tongsa.bundle import Bundle
from tongsa.data.normalize import normalize
from tongsa.data.sentence_splitter import split_sentences
from tongsa.decoding.text_model import TextModel
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.tokenization.words import word_starts, word_strings
from tongsa.training.journal import read_journal
from tongsa.visualize.page import Page
from tongsa.visualize.probe import MAX_SOURCE_TOKENS, PROBES_FILE, pack_heads, pack_probe, take_probe, unpack_probe
from tongsa.visualize.search_tree import SearchTree, build_search_tree, printable
from tongsa.visualize.trace import trace

MAX_RUNS = 12
MAX_CURVE_POINTS = 150
"""Points of a loss curve; more are averaged."""
TIMED_CALLS = 5


class Family(NamedTuple):
    """Architecture of a paper, with its longest paths in the notation of Vaswani et al. (2017, table 1)."""

    key: str
    """Name of its color on the page."""
    title: str
    source_path: str
    """Longest path between two source positions."""
    output_path: str
    """Longest path from a source position to an output position."""


CHO = Family("cho", "Cho et al. 2014", "O(n)", "O(n)")
SUTSKEVER = Family("sutskever", "Sutskever et al. 2014", "O(n)", "O(n)")
OTHER = Family("other", "", "", "")
FAMILIES = {
    "rnn": CHO,
    "rnn_lm": CHO,
    "rnn_attention": Family("bahdanau", "Bahdanau et al. 2015", "O(n)", "O(1)"),
    "bytenet": Family("kalchbrenner", "Kalchbrenner et al. 2016", "O(log_k n)", "O(log_k n)"),
    "conv_s2s": Family("gehring", "Gehring et al. 2017", "O(n/k)", "O(1)"),
    "structured_self_attention": Family("lin", "Lin et al. 2017", "O(n)", "O(1)"),
    "transformer": Family("vaswani", "Vaswani et al. 2017", "O(1)", "O(1)"),
    "transformer_classifier": Family("vaswani", "Vaswani et al. 2017", "O(1)", "O(1)"),
    "transformer_lm": Family("vaswani", "Vaswani et al. 2017", "O(1)", "O(1)"),
}


def find_family(model: Bundle) -> Family:
    """Return the family of a model. Sutskever et al. feed the summary only at the start, or reverse the source."""
    settings = model.config
    if model.kind == "rnn" and (
        getattr(settings, "reverse_source", False) or getattr(settings, "context_input", "") == "start"
    ):
        return SUTSKEVER
    return FAMILIES.get(model.kind, OTHER)


def family(runs: Sequence[str | Path], text: str, *, reference: str = "") -> Page:
    """Return a page of one sentence through several runs of one task, over their training.

    runs: Folders of runs or bundles. Runs trained with `training.probe` also show how they answered earlier.
    text: One sentence. It has a history in the runs whose `training.probe` contains it.
    reference: The expected output; equal outputs are marked.
    """
    folders = [Path(run) for run in ([runs] if isinstance(runs, str | Path) else runs)]
    if not folders or len(folders) > MAX_RUNS:
        raise InputError(f"family: {len(folders)} runs. Give 1 to {MAX_RUNS}.")
    if not normalize(text):
        raise InputError("family: the text is empty. Give a sentence.")
    models = [bundle.load_bundle(folder) for folder in folders]
    tasks = {model.config.task for model in models}
    if len(tasks) > 1:
        kinds = ", ".join(f"{folder} ({model.config.task})" for folder, model in zip(folders, models, strict=True))
        raise InputError(f"family: runs of different tasks: {kinds}. Give runs of one task.")
    return family_page(dict(zip(column_names(folders), models, strict=True)), text, reference)


def family_page(models: Mapping[str, Bundle], text: str, reference: str = "") -> Page:
    """Return the page of one sentence through models of one task, by the name of their column."""
    text = normalize(text)
    columns = [column_data(name, model, text) for name, model in models.items()]
    task = next(iter(models.values())).config.task
    return Page(text, {"family": {"text": text, "reference": normalize(reference), "task": task, "columns": columns}})


def write_family(path: Path, runs: Sequence[str | Path], text: str, *, reference: str = "") -> list[Path]:
    """Write the page, and beside it the trace of each model, to which the page links; return all files.

    A model that cannot be traced has no link; its column shows the command.
    """
    page = family(runs, text, reference=reference)
    files = [path]
    for number, (run, column) in enumerate(zip(runs, page.panels["family"]["columns"], strict=True), 1):
        trace_path = path.with_name(f"{path.stem}-trace-{number}.html")
        try:
            traced = trace(run, text).page
        except InputError:
            continue
        files.append(traced.save(trace_path))
        column["trace"] = quote(trace_path.name)
    page.save(path)
    return files


def column_names(folders: Sequence[Path]) -> list[str]:
    """Return the name of each folder; of folders with the same name, the path."""
    names = [bundle.artifact_folder(folder.resolve()).name for folder in folders]
    counts = Counter(names)
    return [name if counts[name] == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]


def column_data(name: str, model: Bundle, text: str) -> dict[str, Any]:
    """Return the column of a model, ready for JSON."""
    text_model = model.text_model()
    source = source_tokens(name, text_model, text)
    folder = bundle.artifact_folder(model.folder) if model.folder else Path()
    architecture = find_family(model)
    records = read_probes(folder)
    probe = take_probe(text_model, text)
    answer = pack_probe(probe, {"step": None, "seconds": None, "tokens": None})
    moments = [moment_data(record, text_model) for record in [*records.get(text, ()), answer]]
    if any(len(heads) > 1 for heads in probe.heads):  # of earlier moments there is only the mean
        moments[-1]["heads"] = pack_heads(probe, len(answer["ids"]))
    ids = {token for moment in moments for step in moment["top"] for token, _ in step}
    return {
        "name": name,
        "kind": model.kind,
        "family": architecture._asdict(),
        "languages": [model.source_language, model.target_language],
        "parameters": sum(parameter.numel() for parameter in model.model.parameters()),
        "milliseconds": measure_milliseconds(text_model, text),
        "source": axis_data(source),
        "vocabulary": dict(zip(sorted(ids), token_strings(text_model, sorted(ids)), strict=True)),
        "moments": moments,
        "probed": sorted(records),
        "tree": tree_data(build_search_tree(text_model, text, max_pruned=0))
        if isinstance(text_model, Translator)
        else None,
        "command": format_command("trace {} {} -o trace.html", folder, text),
    } | training_data(folder)


def source_tokens(name: str, model: TextModel, text: str) -> list[str]:
    """Return the tokens that the encoder reads; raise InputError if there are too many for the page."""
    if isinstance(model, Translator) and len(split_sentences(text, model.source_language)) > 1:
        raise InputError(f"family: the page shows one sentence, but this text has several: {text[:60]!r}. Give one.")
    ids = model.source_tokenizer.encode_all([text])[0]
    limit = min(MAX_SOURCE_TOKENS, model.max_positions - 1)
    if len(ids) > limit:
        raise InputError(f"family: {len(ids)} tokens for {name}. Give a sentence of at most {limit} tokens.")
    return [] if model.task == "language_model" else [*model.source_tokenizer.token_strings(ids), "</s>"]


def token_strings(model: TextModel, ids: Sequence[int]) -> list[str]:
    return [show_invisible(token) for token in model.target_tokenizer.token_strings(ids)]


def show_invisible(text: str) -> str:
    """Return a token or label with invisible characters as U+…; a label may contain spaces."""
    return " ".join(map(printable, text.split(" ")))


def axis_data(tokens: Sequence[str]) -> dict[str, Any]:
    """Return tokens, the index of each word's first token, and the words."""
    starts = word_starts(tokens)
    words = [show_invisible(word) for word in word_strings(tokens, starts)]
    return {"tokens": [show_invisible(token) for token in tokens], "starts": starts, "words": words}


def read_probes(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of each probed sentence, in the order of the steps."""
    probes: dict[str, list[dict[str, Any]]] = {}
    for record in read_journal(folder / PROBES_FILE):
        probes.setdefault(record.get("text", ""), []).append(record)
    return probes


def moment_data(record: Mapping[str, Any], model: TextModel) -> dict[str, Any]:
    """Return a probe for the page: matrices stay packed, token ids become strings."""
    probe = unpack_probe(record)
    top = [
        [[int(token), round(float(probability), 4)] for token, probability in zip(*step, strict=True)]
        for step in zip(probe.top_ids, probe.top_probabilities, strict=True)
    ]
    names = ("step", "seconds", "tokens", "output", "log_prob", "token_log_probs", "num_tokens", "reads")
    packed = {key: record[key] for key in ("alignment", "layers", "memory", "states", "sample") if key in record}
    target = axis_data(model.target_tokenizer.token_strings(probe.ids))
    return {key: record[key] for key in names} | packed | {"target": target, "top": top}


def tree_data(tree: SearchTree) -> dict[str, Any]:
    """Return the kept candidates of each step as [token, parent, log-probability, finished], and the best path."""
    steps = [
        [[printable(kept.token), kept.parent, round(kept.log_prob, 2), kept.is_finished] for kept in step.kept]
        for step in tree.steps
    ]
    best = tree.finished[0]
    path = [best.rank]
    for step in range(best.step, 0, -1):
        path.append(tree.steps[step].kept[path[-1]].parent or 0)
    return {"beam": tree.config.beam, "steps": steps, "best": path[::-1]}


def measure_milliseconds(model: TextModel, text: str) -> float:
    """Return the median time of one sentence on this machine."""
    seconds = []
    for _ in range(TIMED_CALLS):
        started_at = perf_counter()
        model.score([("", text)]) if model.task == "language_model" else model(text)  # type: ignore[operator]
        seconds.append(perf_counter() - started_at)
    return round(1000 * median(seconds), 1)


def training_data(folder: Path) -> dict[str, Any]:
    """Return seed, length, best validation score and loss curves of a run; a bundle without a run has none."""
    records = read_journal(folder / "journal.jsonl")
    settings = (
        config.read_folder_toml(folder / "run.toml").get("training", {}) if (folder / "run.toml").is_file() else {}
    )
    updates = [record for record in records if "loss" in record]
    seconds, curve = 0.0, []
    seconds_at = {0: 0.0}
    for update in updates:
        seconds += update["seconds"]
        seconds_at[update["step"]] = seconds
        curve.append((update["step"], seconds, update["loss"]))
    validations = [record for record in records if "validation" in record]
    dev_curve = [
        (record["step"], seconds_at.get(record["step"], 0.0), record["validation"]["dev_loss"])
        for record in validations
    ]
    return {
        "seed": settings.get("seed"),
        "steps": len(updates),
        "seconds": round(seconds, 1),
        "tokens": sum(update["tokens"] for update in updates),
        "score": dev_score(validations, settings.get("best_metric", "auto")),
        "loss": thin_curve(finite_points(curve)),
        "dev_loss": thin_curve(finite_points(dev_curve)),
    }


def dev_score(validations: Sequence[Mapping[str, Any]], metric: str) -> dict[str, Any] | None:
    """Return name, value and step of the score that selected the saved model."""
    best = next((record for record in reversed(validations) if record.get("best")), None)
    if best is None:
        return None
    scores = best["validation"]
    name = {"auto": next(iter(scores)), "loss": "dev_loss"}.get(metric, metric)
    value = scores.get(name)
    return {"name": name, "value": value if value is None or isfinite(value) else None, "step": best["step"]}


def finite_points(points: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Return the points whose loss is a number: JSON has no NaN, and an axis no place for it."""
    return [point for point in points if isfinite(point[2])]


def thin_curve(points: Sequence[tuple[float, float, float]]) -> list[list[float]]:
    """Return means of groups of (step, seconds, loss), smaller groups at the start: the axis is logarithmic."""
    ends = sorted({round(len(points) ** (i / MAX_CURVE_POINTS)) for i in range(MAX_CURVE_POINTS + 1)})
    groups = [points[start:end] for start, end in pairwise([0, *ends]) if points[start:end]]
    means = [[fmean(values) for values in zip(*group, strict=True)] for group in groups]
    return [[round(step, 1), round(seconds, 2), float(f"{loss:.4g}")] for step, seconds, loss in means]
