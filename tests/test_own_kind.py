"""A kind of the user's own: the code of docs/own-kind.md in a fresh folder; modules that are missing or untrusted."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run_command
from tiny import reversing, write_pairs
from tongsa import bundle
from tongsa.config import ConfigError
from tongsa.errors import InputError
from tongsa.models.own_kind import find_kind
from tongsa.server.config import ServerConfig
from tongsa.server.model_pool import ModelSource, load_model

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs/own-kind.md", ROOT / "docs/ko/own-kind.md"]
KIND = "dot_gru:DotGRUConfig"
QUICK = ["model.width=16", "training.threads=1", "training.precision=fp32", "training.batch_tokens=256"]


def code_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def tongsa(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which does not know the kind."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from tongsa.cli import main; raise SystemExit(main())", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the file of the page and a run of that kind, trained in another process."""
    folder = tmp_path_factory.mktemp("own")
    kind, check = code_blocks(PAGES[0])
    (folder / "dot_gru.py").write_text(kind, "utf-8")
    (folder / "check.py").write_text(check, "utf-8")
    write_pairs(folder / "pairs.tsv", reversing(60))
    settings = [*QUICK, f"model.kind={KIND}", "training.steps=4"]
    flags = [word for setting in settings for word in ("--set", setting)]
    trained = tongsa(folder, "train", "--data", "pairs.tsv", "--run", "run", *flags)
    assert trained.returncode == 0, trained.stderr
    return folder


def test_both_pages_have_the_same_code() -> None:
    assert code_blocks(PAGES[0]) == code_blocks(PAGES[1])


def test_the_page_trains_translates_and_passes_its_check(folder: Path) -> None:
    translated = tongsa(folder, "translate", "run", stdin="a b c\nb c\n")
    assert (translated.returncode, len(translated.stdout.splitlines())) == (0, 2), translated.stderr
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "check.py"], cwd=folder, env=environment, check=True)


@pytest.fixture
def forgotten_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process import the module anew, from the folder of the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "dot_gru", raising=False)


@pytest.mark.usefixtures("forgotten_module")
def test_the_preset_asks_the_kind_and_a_resumed_run_finds_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    flags = [word for setting in [*QUICK[1:], f"model.kind={KIND}"] for word in ("--set", setting)]
    planned = run_command("train", "--data", "pairs.tsv", "--run", "planned", *flags, "--set", "training.steps=2")
    assert planned.code == 0, planned.stderr
    loaded = bundle.load_bundle(folder / "planned")
    assert loaded.kind == KIND
    assert loaded.config.width == 192  # type: ignore[attr-defined] # the preset "small" of the kind
    toml = (folder / "planned/run.toml").read_text("utf-8")
    assert "peak = 0.003" in toml, "the learning rate that the kind asks for"
    (folder / "planned/run.toml").write_text(toml.replace("steps = 2", "steps = 3"), "utf-8")
    assert run_command("train", "--resume", "planned").code == 0


@pytest.mark.usefixtures("forgotten_module")
def test_no_code_is_imported_from_the_folder_of_a_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder / "run", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    missing = run_command("translate", "run", stdin="a\n")
    assert missing.code == 2
    assert f"model.kind: {KIND!r}: no module 'dot_gru'. Run tongsa in the folder of dot_gru.py" in missing.error
    for inside in ("run", "run/model"):
        (tmp_path / inside / "dot_gru.py").write_text("raise AssertionError('executed')", "utf-8")
        monkeypatch.chdir(tmp_path / inside)
        assert "in the folder of the model" in run_command("translate", ".", stdin="a\n").error
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder / "dot_gru.py", tmp_path)
    assert run_command("translate", "run", stdin="a\n").code == 0, "the remedy"


@pytest.mark.usefixtures("forgotten_module")
def test_a_server_loads_an_own_kind_only_if_allowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    source = ModelSource("own", Path("run"))
    with pytest.raises(InputError, match="--set own_kinds=true"):
        load_model(source, ServerConfig())
    assert "dot_gru" not in sys.modules, "not even imported"
    assert load_model(source, ServerConfig(own_kinds=True)).has_cross_attention


@pytest.mark.usefixtures("forgotten_module")
@pytest.mark.parametrize(
    ("kind", "source", "message"),
    [
        ("transfomer", "", "did you mean 'transformer'"),
        ("own_module:Config", "", "no module 'own_module'"),
        ("own_module:Config", "import no_such_package", "own_module needs 'no_such_package'. Install it."),
        ("own_module:Config", "1 / 0", "cannot be imported (ZeroDivisionError"),
        ("own_module:Config", "x = 1", "has no 'Config'"),
        ("own_module:Config", "class Config: pass", "not the settings of a model"),
        (3, "", "3 is not a kind of model"),
    ],
)
def test_a_kind_that_cannot_be_used_is_explained(
    kind: object, source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_module", raising=False)
    if source:
        (tmp_path / "own_module.py").write_text(source, "utf-8")
    with pytest.raises(ConfigError) as error:
        find_kind(kind)
    assert message in str(error.value)
    sys.modules.pop("own_module", None)
