"""A model may be loaded while it is replaced: neither side fails or waits, and each load gives one model whole."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from jobs import write_model
from live_server import WAIT_SECONDS, random_model, wait_for
from processes import ENVIRONMENT
from server.test_process import server_process
from tongsa import bundle, storage, system
from tongsa.bundle_description import read_description

SECONDS = 2
WITHOUT_EXCHANGE = "from tongsa import system; system.exchange_folders = lambda first, second: False"
"""A system or a file system that cannot swap two folders in one step."""
WRITER = f"""
import sys, time
from pathlib import Path
from tongsa import bundle
models = [bundle.load_bundle(Path(path)) for path in sys.argv[2:]]
end, saves = time.monotonic() + {SECONDS}, 0
while time.monotonic() < end:
    bundle.save_bundle(Path(sys.argv[1]), models[saves % 2], "")
    saves += 1
print(saves)
"""
READER = f"""
import sys, time
from pathlib import Path
import torch
from tongsa import bundle
from tongsa.interface import named_tensors
models = {{model.weights_sha256: model for model in (bundle.load_bundle(Path(path)) for path in sys.argv[2:])}}
end, loads = time.monotonic() + {SECONDS}, 0
while time.monotonic() < end:
    loaded = bundle.load_bundle(Path(sys.argv[1]))
    expected = models[loaded.weights_sha256]
    assert loaded.config == expected.config
    for name, value in named_tensors(expected.model).items():
        assert torch.equal(named_tensors(loaded.model)[name], value)
    loads += 1
print(loads)
"""


def start(program: str, *arguments: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.parametrize("is_portable", [False, True], ids=["exchange", "two renames"])
def test_processes_that_save_and_load_do_not_fail(tmp_path: Path, *, is_portable: bool) -> None:
    models = [write_model(tmp_path / name, seed) for seed, name in enumerate(("a", "b"))]
    shared = tmp_path / "run"
    write_model(shared / "model")
    bundle.save_bundle(shared / "model", bundle.load_bundle(models[0]), "")
    setup = WITHOUT_EXCHANGE if is_portable else ""
    children = [start(setup + WRITER, shared / "model", *models)]
    children += [start(setup + READER, shared, *models) for _ in range(2)]
    results = [(child.communicate(timeout=WAIT_SECONDS), child.returncode) for child in children]
    assert all(code == 0 and int(output) > 1 for (output, _), code in results), results
    assert sorted(path.name for path in shared.iterdir()) == ["model"]


def test_a_reader_finishes_the_replacement_of_a_killed_writer(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "run" / "model")
    folder.rename(folder.with_name(".model.incoming"))
    write_model(folder.with_name(".model.outgoing"), seed=2)
    new = read_description(folder.with_name(".model.incoming"))
    assert bundle.load_bundle(tmp_path / "run").weights_sha256 == new.sha256["weights.safetensors"]


def test_two_folders_are_swapped_or_left_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / folder.name).touch()
    is_swapped = system.exchange_folders(first, second)
    assert (first / ("second" if is_swapped else "first")).exists()
    assert not system.exchange_folders(first, tmp_path / "missing")


@pytest.mark.slow
@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_link_to_a_folder_is_replaced_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(system, "exchange_folders", lambda *_: False)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "model").symlink_to("elsewhere")
    for content in ("first", "second"):
        with storage.replace_folder(tmp_path / "model") as folder:
            (folder / "file").write_text(content, encoding="utf-8", newline="\n")
        assert (tmp_path / "model" / "file").read_text("utf-8") == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "model"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_server_reloads_while_its_model_is_replaced(tmp_path: Path) -> None:
    run = random_model(tmp_path / "run")
    models = [random_model(tmp_path / name, seed) / "model" for seed, name in ((1, "a"), (9, "b"))]
    answers = {bundle.load_bundle(path).translator()("a b c").text for path in models}
    assert len(answers) == 2
    with (
        server_process(str(run), "--set", "output_checks=false", "--engine", "torch") as server,
        httpx2.Client(timeout=WAIT_SECONDS, trust_env=False) as client,
    ):
        server.wait_for_event("model loaded")
        wait_for(lambda: client.get(f"{server.url}/readyz").status_code == 200)
        writer = start(WRITER, run / "model", *models)
        while writer.poll() is None:
            server.child.send_signal(signal.SIGHUP)
            server.wait_for_event("model loaded")
            response = client.post(f"{server.url}/v1/translate", json={"text": "a b c"})
            assert response.status_code == 200
            assert response.json()["translations"][0]["text"] in answers
        assert (writer.communicate()[1], writer.returncode) == ("", 0)
        assert not [entry for entry in server.log if entry["level"].lower() == "error"]
