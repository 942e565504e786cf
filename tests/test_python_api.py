"""The Python interface: complete, typed, fast to import, and documented by code that runs."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import tongsa
from command_line import run_command
from export.bundles import LABELS, SOURCE, random_bundle, save_run
from processes import ENVIRONMENT
from tiny import CONFIGS, SMALL, reversing, write_pairs
from tongsa.cli import COMMANDS
from tongsa.models import KINDS
from tongsa.training.journal import read_journal

ROOT = Path(__file__).parents[1]
PAGES = {
    language: (ROOT / folder / "python.md").read_text("utf-8")
    for language, folder in (("en", "docs"), ("ko", "docs/ko"))
}
UNTYPED = (
    "torch",
    "numpy",
    "sentencepiece",
    "sacrebleu",
    "ctranslate2",
    "onnx",
    "onnxscript",
    "ray",
    "starlette",
    "pydantic",
    "uvicorn",
    "rich",
)
"""Packages that mypy skips in the test of a user's script: their types are not needed, and torch takes a minute."""


def code_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def test_import_is_fast_because_it_imports_no_torch() -> None:
    program = "import sys, tongsa; dir(tongsa); print({'torch', 'numpy', 'rich', 'uvicorn'} & {*sys.modules})"
    result = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, encoding="utf-8")
    assert result.stdout == "set()\n", result.stderr


def test_every_public_name_exists_and_is_documented() -> None:
    assert {*tongsa.LAZY_NAMES} < {*tongsa.__all__}
    for name in tongsa.__all__:
        assert getattr(tongsa, name).__doc__, name
    assert not hasattr(tongsa, "no_such_name")


@pytest.mark.parametrize("language", PAGES)
def test_every_command_has_a_call(language: str) -> None:
    rows = re.findall(r"^\| `tongsa ([a-z-]+)[^`]*` \| (.*) \|$", PAGES[language], re.MULTILINE)
    assert {name for name, _ in rows} == COMMANDS.keys() - {"settings", "completion"}  # about the command line itself
    for name in re.findall(r"`tongsa\.(\w+)\(", "".join(call for _, call in rows)):
        assert name in tongsa.__all__, name


def test_both_pages_have_the_same_code() -> None:
    english, korean = ([re.sub(r" *#.*", "", block) for block in code_blocks(page)] for page in PAGES.values())
    assert english == korean


def test_blocks_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 80), ("dev", 10), ("test", 10)):
        write_pairs(tmp_path / f"{name}.tsv", reversing(count, seed=count))
    write_pairs(tmp_path / "reviews.tsv", [(source, "good" if "a" in source else "bad") for source, _ in reversing(60)])
    write_pairs(tmp_path / "glossary.tsv", [("home", "집")])
    Path("film.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\na b\n", "utf-8")
    for name in ("text.txt", "input.txt"):
        Path(name).write_text("".join(f"{target}\n" for _, target in reversing(60)), "utf-8")
    student = [
        'data.train = ["train.tsv"]',
        'data.dev = ["dev.tsv"]',
        *SMALL[:5],
        "training.steps = 2",
        'training.precision = "fp32"',
    ]
    Path("student.toml").write_text("\n".join(student), "utf-8")
    names: dict[str, object] = {}
    small = '", "'.join(["training.steps=2", "training.precision=fp32", "model.width=32", "tokenizer.vocab_size=300"])
    for block in code_blocks(PAGES["en"]):
        exec(block.replace("training.steps=2000", small), names)  # noqa: S102 - our own page


SCRIPT = """
import tongsa

translator = tongsa.load("runs/mine", task="seq2seq")
text: str = translator("a").text
wrong: int = translator.translate(["a"], beam=4)[0].score_of_nothing
label: str = tongsa.load("runs/reviews", task="classification")("a").label
samples: list[tuple[str, float]] = tongsa.load("runs/lm", task="language_model").sample(2)
bleu: float = tongsa.evaluate(translator, data=["a.en", "a.ko"]).scores["bleu"].value
levels = [finding.level for finding in tongsa.doctor(data="a.tsv")]
svg: str = tongsa.curves(["runs/a", "runs/b"]).svg
page: str = tongsa.view(translator, ["a", "b"]).html + tongsa.search_tree(translator, "a").html
lines: int = tongsa.translate_file("runs/mine", "a.txt", "b.txt").lines
model = tongsa.train(run="runs/mine", data="a.tsv")
if isinstance(model, tongsa.Translator):
    model.translate(["a"])
model.classify(["a"])
with tongsa.start_server({"name": "runs/mine"}, port=0) as server:
    url: str = server.url
"""


def test_mypy_knows_the_types_in_a_script_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    skipped = "".join(f"[mypy-{name}.*]\nfollow_imports = skip\nignore_missing_imports = true\n" for name in UNTYPED)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = true\n{skipped}", "utf-8")
    environment = ENVIRONMENT | {"MYPYPATH": ENVIRONMENT["PYTHONPATH"]}
    command = [sys.executable, "-m", "mypy", "script.py"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
    errors = re.findall(r"^script\.py:(\d+): error: .*\[([\w-]+)\]$", result.stdout, re.MULTILINE)
    expected = [
        i for i, line in enumerate(SCRIPT.splitlines(), start=1) if line.startswith(("wrong", "model.classify"))
    ]
    assert {int(line) for line, _ in errors} == {*expected}, result.stdout
    assert {code for _, code in errors} <= {"attr-defined", "union-attr"}


@pytest.mark.parametrize("kind", KINDS)
def test_repr_of_a_model_names_kind_languages_sizes_and_folder(kind: str, tmp_path: Path) -> None:
    target = LABELS if CONFIGS[kind].task == "classification" else SOURCE
    loaded = random_bundle(kind, CONFIGS[kind], target=target)
    model = tongsa.load(save_run(tmp_path / "run", loaded))
    parameters = sum(parameter.numel() for parameter in model.model.parameters())
    shown = repr(model)
    assert shown.startswith(f"<{type(model).__name__}: {kind}, ") and shown.endswith(f", {tmp_path / 'run'}>")
    assert f"{parameters:,} parameters, vocabulary {len(SOURCE):,} tokens" in shown and "\n" not in shown
    assert ("3 labels" in shown) == (target is LABELS and len(LABELS) == 3)


def test_evaluate_gives_the_report_of_the_command(trained: Path, tmp_path: Path) -> None:
    pairs = reversing(30, seed=5)
    data = write_pairs(tmp_path / "test.tsv", pairs)
    command = run_command("evaluate", trained, "--data", data, "--beam", 2, "--json")
    report = tongsa.evaluate(trained, data=data, beam=2)
    expected = json.loads(command.stdout)
    assert report.as_json() | {"seconds": 0} == {key: expected[key] for key in report.as_json()} | {"seconds": 0}
    from_pairs = tongsa.evaluate(
        tongsa.load(trained), pairs=[(f" {source}  ", target) for source, target in pairs], beam=2
    )
    assert from_pairs.scores == report.scores
    assert all(score.signature in str(report) for score in report.scores.values())
    assert len(repr(report)) < 2000  # without the outputs


def test_lines_that_cannot_be_used_are_counted(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("a b\t나 가\nno tab\n", "utf-8")
    assert tongsa.evaluate(trained, data=tmp_path / "test.tsv").dropped == {"no-tab": 1}


WRONG_CALLS: dict[str, Any] = {
    "no such folder": lambda run: tongsa.load(run / "none"),
    "use tongsa translate": lambda run: tongsa.load(run, task="language_model"),
    "task 'mt': unknown": lambda run: tongsa.load(run, task="mt"),  # type: ignore[call-overload]
    "either as files": lambda run: tongsa.evaluate(run),
    "is not a pair": lambda run: tongsa.evaluate(run, pairs=["ab"]),  # type: ignore[list-item]
    "the list is empty": lambda run: tongsa.evaluate(run, pairs=[]),
    "not a metric": lambda run: tongsa.evaluate(run, pairs=[("a", "b")], metrics=["blue"]),
    "did you mean 'beam'": lambda run: tongsa.evaluate(run, pairs=[("a", "b")], beams=3),
    "no journal.jsonl": lambda run: tongsa.curves(run / "model"),
    "Write curves.svg": lambda run: tongsa.curves(run).save("curves.png"),
    "Give a sentence": lambda run: tongsa.search_tree(run, " "),
    "not an export format": lambda run: tongsa.export_model(run, "keras"),  # type: ignore[arg-type]
    "not available with --to onnx": lambda run: tongsa.export_model(run, "onnx", int8=True),
    "candidates 0": lambda run: tongsa.shortlist(run, "a.tsv", candidates=0),
    "no such file": lambda run: tongsa.doctor(data=run / "none.tsv"),
    "no name": lambda run: tongsa.start_server({"": run}),
    "did you mean 'port'": lambda run: tongsa.start_server(run, ports=1),
    "cannot be read|no such file": lambda run: tongsa.translate_file(run, run / "none.txt", run.parent / "none.out"),
}


@pytest.mark.parametrize("message", WRONG_CALLS)
def test_wrong_input_raises_input_error_and_prints_nothing(
    message: str, trained: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(tongsa.InputError, match=message):
        WRONG_CALLS[message](trained)
    assert capfd.readouterr() == ("", "")


def test_quiet_training_and_translation_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = write_pairs(tmp_path / "pairs.tsv", reversing(60))
    settings = [*SMALL, "training.steps=2"]
    tongsa.train(run=tmp_path / "run", data=data, settings=settings, quiet=True)
    model = tongsa.train(run=tmp_path / "run", data=data, settings=settings, resume_if_exists=True, quiet=True)
    (tmp_path / "input.txt").write_text("a b\nc\n", "utf-8")
    progress = tongsa.translate_file(tmp_path / "run", tmp_path / "input.txt", tmp_path / "out.txt", quiet=True)
    assert capfd.readouterr() == ("", "")
    assert isinstance(model, tongsa.Translator) and progress.lines == 2
    outputs = [translation.text for translation in model.translate(["a b", "c"])]
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == outputs


def test_a_server_in_a_thread_translates_like_the_model(trained: Path) -> None:
    with tongsa.start_server({"letters": trained}, port=0) as server:
        body = json.dumps({"text": "a b c", "model": "letters"}).encode()
        request = urllib.request.Request(f"{server.url}/v1/translate", body, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request) as response:  # noqa: S310
            (translation,) = json.load(response)["translations"]
        assert server.url in repr(server)
    assert translation["text"] == tongsa.load(trained, task="seq2seq")("a b c").text
    with pytest.raises(OSError):
        urllib.request.urlopen(server.url)  # noqa: S310


def test_a_damaged_model_stops_the_server_with_its_error(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run", random_bundle("transformer", CONFIGS["transformer"]))
    (run / "model" / "weights.safetensors").write_bytes(b"")
    with pytest.raises(tongsa.InputError, match="damaged"):
        tongsa.start_server(run, port=0)


def test_curves_of_several_runs_share_one_picture(trained: Path, tmp_path: Path) -> None:
    other = tmp_path / "a <b> & c"
    other.mkdir()
    (other / "journal.jsonl").write_text('{"step": 900, "loss": 2.5}\n', "utf-8")
    curves = tongsa.curves([trained, other])
    validations = [record for record in read_journal(trained / "journal.jsonl") if "validation" in record]
    assert [step for step, _ in curves.points("dev_loss")["run"]] == [record["step"] for record in validations]
    assert curves.points("loss")[other.name] == [(900, 2.5)]
    svg = ET.fromstring(curves.save(tmp_path / "curves.svg").read_text("utf-8"))  # noqa: S314 - our own SVG
    assert {"run", other.name} <= {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    losses = [line for line in svg.iter("{http://www.w3.org/2000/svg}polyline") if line.get("class") == "loss thin"]
    assert len(losses) == 2 and losses[0].get("style") != losses[1].get("style")
    assert curves._repr_svg_() == curves.svg
