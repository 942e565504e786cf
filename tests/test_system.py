"""Nothing in the package needs POSIX: no module, no function, no default encoding, no line end of the system."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import windows
from processes import ENVIRONMENT
from tiny import SMALL, reversing, write_pairs
from tongsa import config
from tongsa.data.chunks import ChunkReader
from tongsa.data.corpus import read_lines, read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.decoding.glossary import Glossary

TESTS = Path(__file__).parent
SOURCES = sorted((TESTS.parent / "src").rglob("*.py"))


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))


def test_what_windows_does_not_have_is_used_in_system_py_or_after_hasattr() -> None:
    posix = {f"os.{name}" for name in windows.POSIX_FUNCTIONS} | {f"signal.{name}" for name in windows.POSIX_SIGNALS}
    posix |= {"socket.AF_UNIX", "os.symlink", "os.kill"}
    uses = []
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        checks = [ast.unparse(call).split("'") for call in calls(path) if ast.unparse(call.func) == "hasattr"]
        guarded = {f"{check[0][len('hasattr(') : -2]}.{check[1]}" for check in checks if len(check) > 1}
        for node in ast.walk(tree):
            names = {ast.unparse(node)} & (posix - guarded) if isinstance(node, ast.Attribute) else set()
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names} & set(windows.POSIX_MODULES)
            if isinstance(node, ast.ImportFrom) and node.module in windows.POSIX_MODULES:
                names = {node.module}
            uses += [f"{path.name}: {name}" for name in names]
    assert [name for name in uses if not name.startswith("system.py")] == []


def test_text_files_are_utf8_and_written_with_line_feeds() -> None:
    wrong = [
        f"{path.name}:{call.lineno}: {ast.unparse(call)}"
        for path in SOURCES
        for call in calls(path)
        if not has_explicit_text_format(call)
    ]
    assert wrong == []


def has_explicit_text_format(call: ast.Call) -> bool:
    """Return False for a text file that is opened without an encoding, or for writing without a line end."""
    name = ast.unparse(call.func)
    method = name.rpartition(".")[2]
    if method not in ("open", "read_text", "write_text") or name in (
        *("os.open", "storage.write_text", "write_text"),
        *("archive.open", "tarfile.open"),  # bytes
        "opener.open",  # a response of urllib
    ):
        return True
    keywords = {keyword.arg for keyword in call.keywords}
    if method != "open":
        position = 0 if method == "read_text" else 1
        has_encoding = len(call.args) > position or "encoding" in keywords
        return has_encoding and (method == "read_text" or "newline" in keywords)
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    mode = next((str(value) for value in modes), "rb" if name == "gzip.open" else "r")
    return "b" in mode or ("encoding" in keywords and (mode == "r" or "newline" in keywords))


FILES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "pairs.tsv": ("a b\t가\nc\t나\n", lambda path: pairs_of(path)),
    "pairs.jsonl": ('{"source": "a", "target": "가"}\n{"source": "b", "target": "나"}\n', lambda path: pairs_of(path)),
    "parallel.en": ("a b\nc d\n", lambda path: pairs_of(path, path)),
    "texts.txt": ("가 나\n\n다\n", lambda path: [pair.target for pair in read_texts([path], Ledger(None))]),
    "lines.txt": ("a\n\nb\n", lambda path: list(read_lines(path))),
    "input.txt": ("a\n\nb\n", lambda path: chunk_lines(path)),
    "glossary.tsv": ("dog\t개\ncat\t고양이\n", lambda path: Glossary.read(path)),
    "recipe.toml": ('[data]\ntrain = ["a b"]\n', lambda path: config.read_toml(path)),
}


def pairs_of(*paths: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(list(paths), Ledger(None))]


def chunk_lines(path: Path) -> list[str]:
    with ChunkReader(str(path)) as reader:
        return [line for chunk in reader.chunks() for line in chunk.lines]


@pytest.mark.parametrize("name", FILES)
def test_windows_line_ends_read_like_line_feeds(tmp_path: Path, name: str) -> None:
    content, read = FILES[name]
    results = []
    for line_end in ("\n", "\r\n"):
        (tmp_path / name).write_bytes(content.replace("\n", line_end).encode())
        results.append(read(tmp_path / name))
    assert results[0] == results[1] and results[0]


PROGRAM = """
import json, sys, urllib.request
from pathlib import Path
import windows
windows.emulate_windows()

import tongsa
from tongsa import storage
from tongsa.cli import COMMANDS, main

def run(*arguments, code=0):
    print("tongsa", *arguments, flush=True)
    try:
        result = main(list(arguments))
    except SystemExit as ended:
        result = ended.code
    assert (result or 0) == code, (arguments, result)

for command in COMMANDS:
    run(command, "--help")
settings = [word for setting in json.loads(sys.argv[1]) for word in ("--set", setting)]
run("doctor", "--data", "pairs.tsv", *settings)
run("train", "--data", "pairs.tsv", "--run", "모델 1", "--set", "training.steps=4", *settings)
toml = Path("모델 1", "run.toml")
assert "steps = 4\\n" in toml.read_text("utf-8")
storage.write_text(toml, toml.read_text("utf-8").replace("steps = 4\\n", "steps = 6\\n"))
run("train", "--resume", "모델 1")
assert tongsa.curves("모델 1").points("loss")["모델 1"][-1][0] == 6
run("train", "--data", "pairs.tsv", "--run", "limited", "--set", "training.memory_limit_mib=4000", *settings, code=2)
remedy = ["training.memory_limit_mib=0", "training.micro_batch_tokens=1024", "training.steps=1"]
settings += [word for setting in remedy for word in ("--set", setting)]
run("train", "--data", "pairs.tsv", "--run", "limited", *settings)
run("translate", "모델 1", "입력 1.txt", "-o", "출력 1.txt")
run("translate", "모델 1", "입력 1.txt", "-o", "출력 1.txt", "--restart")
assert Path("출력 1.txt").read_bytes().count(b"\\n") == 3 and b"\\r" not in Path("출력 1.txt").read_bytes()
run("evaluate", "모델 1", "--data", "pairs.tsv", "--json")
run("view", "모델 1", "a b", "-o", "페이지 1.html")
with storage.lock_folder(Path("모델 1")):
    storage.LOCK_TIMEOUT_SECONDS = 0
    run("train", "--resume", "모델 1", code=2)
with tongsa.start_server("모델 1", port=0) as server:
    body = json.dumps({"text": "a b"}).encode()
    request = urllib.request.Request(server.url + "/v1/translate", body, {"Content-Type": "application/json"})
    assert json.load(urllib.request.urlopen(request))["translations"]
assert not [path for path in Path().rglob("*") if set(path.name) & set('<>:"|?*\\\\')]
assert not list(Path().rglob(".lock"))
print("finished")
"""


def test_every_command_runs_without_posix(tmp_path: Path) -> None:
    folder = tmp_path / "폴더 하나"
    folder.mkdir()
    write_pairs(folder / "pairs.tsv", reversing(60))
    (folder / "입력 1.txt").write_bytes(b"a b\r\n\r\nc d\r\n")
    settings = [*SMALL, "training.batch_tokens=128", "training.validate_sentences=4", "decoding.max_extra_tokens=2"]
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(settings).replace("'", '"')],
        cwd=folder,
        env=ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([ENVIRONMENT["PYTHONPATH"], str(TESTS)])},
        capture_output=True,
        encoding="utf-8",
        timeout=500,
    )
    assert result.returncode == 0 and result.stdout.endswith("finished\n"), result.stdout[-1000:] + result.stderr
