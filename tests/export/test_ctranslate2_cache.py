"""The CTranslate2 model of a run is made once, again when it is damaged, and by one process at a time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import tongsa
from command_line import CommandResult, printed_command, run_command, set_flags
from export.bundles import file_hashes, random_bundle, save_run, transformer
from jobs import ForkedCommand
from tiny import SMALL, reversing, write_pairs
from tongsa import bundle, runs, storage
from tongsa.bundle import Bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.errors import InputError
from tongsa.export import ctranslate2_cache, export
from tongsa.export.ctranslate2_cache import load_engine
from tongsa.models.rnn import RNNConfig

pytest.importorskip("ctranslate2")
TEXTS = ["a b c", "g f e d c b a", "가 나", "", "a"]
UNSUPPORTED_SETTINGS: list[dict[str, object]] = [
    {"attention": "additive"},
    {"qk_norm": True},
    {"attention_window": 3},
    {"norm_kind": "batch"},
    {"norm_kind": "group", "groups": 4},
    {"norm_kind": "none"},
    {"key_width": 6},
    {"value_width": 2},
    {"final_norm": "both"},
    {"residual": False},
]
"""Those of test_unsupported_setting_is_named."""


def greedy_transformer(**settings: object) -> Bundle:
    """Return a random model. With a beam, its outputs would end at the length limit in equally probable ways."""
    return replace(transformer(**settings), decoding=DecodingConfig(beam=1))  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return save_run(tmp_path / "run", greedy_transformer())


def translate_with_torch(run: Path) -> list[str]:
    return [result.text for result in tongsa.load(run, engine="torch", task="seq2seq").translate(TEXTS)]


def assert_current(run: Path) -> None:
    """Check that the model is decoded by CTranslate2 with the output of torch."""
    translator = tongsa.load(run, task="seq2seq", quiet=True)
    assert translator.engine and translator.engine.name == "ctranslate2"
    assert [result.text for result in translator.translate(TEXTS)] == translate_with_torch(run)


def names(run: Path) -> set[str]:
    return {entry.name for entry in run.iterdir()}


def test_a_model_is_converted_once_and_says_so_in_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tongsa.load(run, task="seq2seq").engine
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"converted the model for CTranslate2 in {run}/ctranslate2 (0.2 MB): faster translation" in message
    before = {file.name: file.stat().st_mtime_ns for file in (run / "ctranslate2").iterdir()}
    assert_current(run)
    assert {file.name: file.stat().st_mtime_ns for file in (run / "ctranslate2").iterdir()} == before
    assert names(run) == {"model", "ctranslate2"}, "no temporary files"


def test_every_way_to_translate_converts_and_gives_the_output_of_torch(run: Path, tmp_path: Path) -> None:
    expected = translate_with_torch(run)
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS), "utf-8")
    (tmp_path / "in.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\na b c\n", "utf-8")
    pairs = write_pairs(tmp_path / "pairs.tsv", [(text or "c", "가") for text in TEXTS])
    other = save_run(tmp_path / "other", greedy_transformer(seed=2))

    def outputs_of_compare(engine: str) -> list[str]:
        result = run_command(
            "compare", run, other, "--data", pairs, "--engine", engine, "-o", tmp_path / "page.html", cwd=tmp_path
        )
        assert result.code == 0, result.stderr
        texts = [json.loads(path.read_text("utf-8"))["texts"] for path in sorted((run / "outputs").iterdir())]
        return texts[0] if all(text == texts[0] for text in texts) else []

    ways: dict[str, Callable[[], list[str]]] = {
        "tongsa.load": lambda: [result.text for result in tongsa.load(run, task="seq2seq").translate(TEXTS)],
        "tongsa.load, any task": lambda: [result.text for result in tongsa.load(run).translate(TEXTS)],  # type: ignore[union-attr]
        "tongsa.evaluate": lambda: [
            result.text for result in tongsa.evaluate(run, pairs=[(text, "가") for text in TEXTS]).translations
        ],
        "tongsa translate": lambda: run_command("translate", run, tmp_path / "in.txt").stdout.split("\n")[:-1],
        "tongsa translate -o": lambda: translated_file(run, tmp_path),
    }
    for name, way in ways.items():
        for file in (run / "ctranslate2").glob("*"):
            file.unlink()
        assert way() == expected, name
        assert (run / "ctranslate2" / "tongsa.json").is_file(), name
    result = run_command("translate", other, tmp_path / "in.srt", "-o", tmp_path / "out.srt")
    assert result.code == 0 and (other / "ctranslate2").is_dir()
    assert outputs_of_compare("torch") and outputs_of_compare("auto"), "the outputs of both engines differ"


def test_a_trained_model_gives_the_output_of_torch_with_any_beam(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "model", tmp_path / "run" / "model")
    translator, torch_only = (tongsa.load(tmp_path / "run", engine=name, task="seq2seq") for name in ("auto", "torch"))
    assert translator.engine and not torch_only.engine
    texts = [source for source, _ in reversing(40, seed=7)]
    for beam in (1, 2, 5):
        results, expected = (model.translate(texts, beam=beam) for model in (translator, torch_only))
        assert [result.tokens for result in results] == [result.tokens for result in expected]


def translated_file(run: Path, folder: Path) -> list[str]:
    tongsa.translate_file(run, folder / "in.txt", folder / "out.txt", quiet=True)
    return (folder / "out.txt").read_text("utf-8").split("\n")[:-1]


def test_quiet_calls_print_nothing(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.txt").write_text("a b\n", "utf-8")
    tongsa.load(run, quiet=True)
    save_run(run, greedy_transformer(seed=2))
    tongsa.translate_file(run, tmp_path / "in.txt", tmp_path / "out.txt", quiet=True)
    assert (run / "ctranslate2").is_dir() and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("settings", UNSUPPORTED_SETTINGS, ids=str)
def test_a_model_that_ctranslate2_does_not_support_is_translated_by_torch(
    settings: dict[str, object], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    check_torch_is_used(save_run(tmp_path / "run", greedy_transformer(**settings)), capfd)


def test_a_kind_that_cannot_be_exported_is_translated_by_torch(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    check_torch_is_used(save_run(tmp_path / "run", random_bundle("rnn", RNNConfig(width=8, embedding=8))), capfd)


def check_torch_is_used(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    translator = tongsa.load(run, task="seq2seq")
    assert translator.engine is None
    assert [result.text for result in translator.translate(TEXTS)] == translate_with_torch(run)
    assert capfd.readouterr().err == "", "nothing can be done about it"
    for engine in ("ctranslate2", "ctranslate2-int8"):
        result = run_command("translate", run, "--engine", engine, stdin="a b\n")
        assert result.code == 2 and "CTranslate2 supports only" in result.error
        assert result.error.endswith(". Use --engine torch.")
    assert run_command("translate", run, "--engine", "torch", stdin="a b\n").code == 0
    assert names(run) == {"model"}


def test_without_the_package_torch_translates(
    run: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert tongsa.load(run, task="seq2seq").engine is None
    assert capfd.readouterr().err == "" and names(run) == {"model"}
    with pytest.raises(InputError, match="CTranslate2 is not installed"):
        tongsa.load(run, engine="ctranslate2-int8", task="seq2seq")


@pytest.mark.parametrize("engine", ["auto", "ctranslate2"])
def test_something_else_in_place_of_the_folder_is_kept(engine: str, run: Path) -> None:
    expected = run_command("translate", run, "--engine", "torch", stdin="a b c\n").stdout
    for name in ("a file", "a folder"):
        if name == "a folder":
            (run / "ctranslate2").mkdir()
        (run / "ctranslate2" / ("diary.txt" if name == "a folder" else "")).write_text("mine", "utf-8")
        result = run_command("translate", run, "--engine", engine, stdin="a b c\n")
        assert f"{run}/ctranslate2: exists and is not an export. Move it away." in result.error, name
        assert result.code == (0 if engine == "auto" else 2)
        assert result.stdout == (expected if engine == "auto" else "")
        (run / "ctranslate2").rename(run / name)  # as the message says
        result = run_command("translate", run, "--engine", engine, stdin="a b c\n")
        assert result.stdout == expected and "converted" in result.stderr
        (run / "ctranslate2").rename(run / f"instead of {name}")


@pytest.fixture
def public_run() -> Iterator[Path]:
    """Return a run in a folder that every user can read: pytest's own folders belong to the user of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        run = save_run(Path(folder) / "run", greedy_transformer())
        for path in (Path(folder), run, run / "model"):
            path.chmod(0o755)
        yield run


def translate_as_reader(run: Path, engine: str) -> CommandResult:
    """Translate in another process that may not write into the folder of the run."""

    def drop_permissions() -> None:
        if os.geteuid() == 0:  # root may write anywhere
            os.setgid(65534)
            os.setuid(65534)

    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
        stdin.write(b"a b c\n")
        stdin.seek(0)
        if os.geteuid() != 0:
            run.chmod(0o555)
        arguments = ["translate", str(run), "--engine", engine]
        command = ForkedCommand(arguments, stdin=stdin.fileno(), stdout=stdout.fileno(), prepare=drop_permissions)
        code, messages = command.finish()
        run.chmod(0o755)
        stdout.seek(0)
        return CommandResult(code, stdout.read().decode(), messages)


def test_a_read_only_run_is_translated_by_torch_until_its_owner_exports_it(public_run: Path) -> None:
    expected = run_command("translate", public_run, "--engine", "torch", stdin="a b c\n").stdout
    reader = translate_as_reader(public_run, "auto")
    assert (reader.code, reader.stdout) == (0, expected), reader.stderr
    assert len(reader.stderr.splitlines()) == 1
    reason = f"{public_run}: a CTranslate2 model cannot be written here."
    assert reader.stderr.startswith(f"torch translates, with the same output but slower. {reason}")
    explicit = translate_as_reader(public_run, "ctranslate2")
    assert (explicit.code, explicit.stdout) == (2, "")
    assert explicit.stderr.startswith(f"tongsa: {reason}")
    assert names(public_run) == {"model"}
    assert run_command(*printed_command(reader.stderr)).code == 0
    for name in ("auto", "ctranslate2"):
        reader = translate_as_reader(public_run, name)
        assert (reader.code, reader.stdout, reader.stderr) == (0, expected, "")


def change_metadata(folder: Path, **changes: object) -> None:
    content = json.loads((folder / "tongsa.json").read_text("utf-8"))
    (folder / "tongsa.json").write_text(json.dumps(content | changes), "utf-8")


def make_pipe(folder: Path) -> None:
    (folder / "model.bin").unlink()
    os.mkfifo(folder / "model.bin")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda folder: os.truncate(folder / "model.bin", 1000),
    "one byte changed": lambda folder: (folder / "model.bin").write_bytes(
        bytes([*(content := (folder / "model.bin").read_bytes())[:-1], content[-1] ^ 1])
    ),
    "a file is missing": lambda folder: (folder / "config.json").unlink(),
    "no metadata": lambda folder: (folder / "tongsa.json").write_text("{}", "utf-8"),
    "metadata of another kind": lambda folder: (folder / "tongsa.json").write_text("[1]", "utf-8"),
    "metadata cut off": lambda folder: os.truncate(folder / "tongsa.json", 50),
    "metadata of an older version": lambda folder: change_metadata(folder, version=1),
    "other positions": lambda folder: change_metadata(folder, exported_positions=3),
    "no checksums": lambda folder: change_metadata(folder, sha256={}),
    "a shortlist was added": lambda folder: (folder / "vmap.txt").write_text("\t4 5\n", "utf-8"),
    "a pipe": make_pipe,
    "an empty folder": lambda folder: list(map(Path.unlink, folder.iterdir())),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_conversion_is_made_again(damage: str, run: Path) -> None:
    assert_current(run)
    before = file_hashes(run / "ctranslate2")
    DAMAGES[damage](run / "ctranslate2")
    messages: list[str] = []
    assert load_engine(bundle.load_bundle(run), "ctranslate2", messages.append)
    assert len(messages) == 1 and messages[0].startswith("converted")
    assert ("Not used" in messages[0]) == (damage != "an empty folder")
    assert file_hashes(run / "ctranslate2") == before
    assert_current(run)


PROCESS = """
import sys, time
from pathlib import Path
import tongsa
from tongsa.runs import translate_job
Path(sys.argv[2]).touch()
while not Path(sys.argv[3]).exists():
    time.sleep(0.001)
translator = tongsa.load(sys.argv[1], task="seq2seq")
print(translator.engine.name, *(result.text for result in translator.translate(["a b c", "g f e d c b a"])), sep="|")
"""


@pytest.mark.slow
def test_processes_that_start_together_convert_once(run: Path, tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(run), str(tmp_path / f"ready {i}"), str(tmp_path / "start")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for i in range(3)
    ]
    while not all((tmp_path / f"ready {i}").exists() for i in range(3)):
        assert all(process.poll() is None for process in processes)
    (tmp_path / "start").touch()
    results = [(*process.communicate(timeout=300), process.returncode) for process in processes]
    expected = "|".join(["ctranslate2", *translate_with_torch(run)[:2]])
    assert [(stdout, code) for stdout, _, code in results] == [(expected + "\n", 0)] * 3, results
    assert "".join(stderr for _, stderr, _ in results).count("converted the model") == 1
    assert names(run) == {"model", "ctranslate2"}


def test_a_process_that_waits_too_long_translates_with_torch(
    run: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(storage, "LOCK_TIMEOUT_SECONDS", 0)
    with storage.lock_replacement(run / "ctranslate2"):
        assert tongsa.load(run, task="seq2seq").engine is None
        assert "another process is using this folder" in capfd.readouterr().err
    assert_current(run)


def kill_at_event(count: int, folder: Path) -> Callable[[], None]:
    """Return a function that lets this process kill itself at the count-th change of files in a folder."""
    remaining = count

    def count_event(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal remaining
        if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir") and f"{folder}/." in str(arguments[0]):
            remaining -= 1
            if not remaining:
                os.kill(os.getpid(), signal.SIGKILL)

    return lambda: sys.addaudithook(count_event)


@pytest.mark.parametrize("has_older", [False, True])
def test_a_conversion_killed_at_any_moment_leaves_nothing_half_made(has_older: bool, run: Path) -> None:
    outputs = {}
    for seed in (1, 2):
        save_run(run, greedy_transformer(seed=seed))
        outputs[seed] = translate_with_torch(run)[0]
    assert outputs[1] != outputs[2]
    code, events = -signal.SIGKILL, 0
    while code == -signal.SIGKILL:
        events += 1
        if has_older:
            save_run(run, greedy_transformer(seed=1))
            assert_current(run)
            save_run(run, greedy_transformer(seed=2))
        else:
            for file in (run / "ctranslate2").glob("*"):
                file.unlink()
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
            stdin.write(b"a b c\n")
            stdin.seek(0)
            command = ForkedCommand(
                ["translate", str(run)],
                stdin=stdin.fileno(),
                stdout=stdout.fileno(),
                prepare=kill_at_event(events, run),
            )
            code, messages = command.finish()
        assert code in (0, -signal.SIGKILL), messages
        assert_current(run)
    assert events > 10, "no conversion was killed: the test shows nothing"


def test_a_model_that_changes_while_it_is_loaded_is_converted_from_the_weights_in_memory(run: Path) -> None:
    before, expected = bundle.load_bundle(run), translate_with_torch(run)
    save_run(run, greedy_transformer(seed=2))  # as a training does
    translator = before.translator(engine=load_engine(before, "ctranslate2", print))
    assert [result.text for result in translator.translate(TEXTS)] == expected
    assert expected != translate_with_torch(run)
    assert_current(run)
    assert [result.text for result in translator.translate(TEXTS)] == expected, "the engine is in memory"


def test_training_and_validation_convert_nothing(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(60))
    settings = [*SMALL, "training.steps=2", "training.validate_every=1"]
    runs.train(run=tmp_path / "run", data=pairs, dev=pairs, test=pairs, settings=settings, quiet=True)
    assert (tmp_path / "run" / "scores.json").is_file()
    assert not list((tmp_path / "run").glob("*ctranslate2*"))
    assert tongsa.load(tmp_path / "run", task="seq2seq").engine
    flags = set_flags("training.steps=3")
    assert run_command("train", "--resume", tmp_path / "run", *flags).code == 0
    translator = tongsa.load(tmp_path / "run", task="seq2seq")
    assert translator.engine
    expected = tongsa.load(tmp_path / "run", task="seq2seq", engine="torch").translate(["a b", "c"])
    assert [result.text for result in translator.translate(["a b", "c"])] == [result.text for result in expected]


def test_the_conversion_of_a_large_model_is_announced(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2_cache, "LARGE_MODEL_PARAMETERS", 1000)
    messages: list[str] = []
    assert load_engine(bundle.load_bundle(run), "auto", messages.append)
    assert [message.split()[0] for message in messages] == ["converting", "converted"]


def test_a_model_in_memory_has_torch_or_an_error() -> None:
    model: Bundle = greedy_transformer()
    assert load_engine(model, "torch", print) is None
    with pytest.raises(InputError, match=r"no folder\. Save it, and load it again"):
        load_engine(model, "ctranslate2", print)


def test_the_ensemble_is_searched_by_torch_and_nothing_is_converted(run: Path, tmp_path: Path) -> None:
    other = save_run(tmp_path / "other", greedy_transformer(seed=2))
    assert tongsa.load(run, ensemble=[other]).engine is None  # type: ignore[union-attr]
    for engine in ("ctranslate2", "ctranslate2-int8"):
        result = run_command("translate", run, "--ensemble", other, "--engine", engine, stdin="a b\n")
        assert result.code == 2 and f"engine {engine}: this engine runs a single model" in result.error
    assert names(run) == names(other) == {"model"}


def test_a_bundle_without_a_run_is_converted_inside_its_folder(run: Path, tmp_path: Path) -> None:
    (run / "model").rename(tmp_path / "copied")
    assert_current(tmp_path / "copied")
    assert (tmp_path / "copied" / "ctranslate2" / "model.bin").is_file()
    assert bundle.load_bundle(tmp_path / "copied")
    assert export(tmp_path / "copied", "ctranslate2", int8=True) == tmp_path / "copied" / "ctranslate2-int8"
