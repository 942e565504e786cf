"""The verb itself, in a process of its own: signals, exit codes, and a port that answers before torch is there."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import tongsa
from served import drawn, serving, wait_for
from tongsa.cli import main
from tongsa.server.config import ServerConfig
from tongsa.server.main import open_listener

SLOW = """
import sys, time
from tongsa.decoding.translator import Translator
translate = Translator.translate
def slowly(self, texts, **others):
    time.sleep(0.5)
    return translate(self, texts, **others)
Translator.translate = slowly
from tongsa.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The same program with a model that takes its time, so that a signal finds work under way."""


class Process:
    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self.child = child
        self.lines: list[dict[str, Any]] = []
        self.url = self.event("listening")["address"]

    def event(self, name: str) -> dict[str, Any]:
        """Read the log until something has happened."""
        assert self.child.stderr
        for line in self.child.stderr:
            self.lines.append(json.loads(line))
            if self.lines[-1]["event"] == name:
                return self.lines[-1]
        raise AssertionError(f"ended without {name}: {self.lines}")


@contextmanager
def process(*arguments: str, program: tuple[str, ...] = ("-m", "tongsa.cli")) -> Iterator[Process]:
    child = subprocess.Popen(
        [sys.executable, *program, "serve", *arguments, "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        yield Process(child)
    finally:
        child.kill()
        child.wait()
        assert child.stderr
        child.stderr.close()


def test_the_port_answers_before_the_models_are_there_and_signals_lose_nothing(tmp_path: Path) -> None:
    run = drawn(tmp_path / "run")
    old = tongsa.load(run, engine="torch")("a b c").text
    with (
        process(str(run), "--set", "guard=false", program=("-c", SLOW)) as served,
        httpx2.Client(timeout=60, trust_env=False) as client,
    ):
        url = served.url

        def asked(text: str) -> httpx2.Response:
            return client.post(f"{url}/v1/translate", json={"text": text})

        assert client.get(f"{url}/healthz").status_code == 200
        served.event("model loaded")
        wait_for(lambda: client.get(f"{url}/readyz").status_code == 200)
        assert asked("a b c").json()["translations"][0]["text"] == old
        drawn(run, seed=9)
        new = tongsa.load(run, engine="torch")("a b c").text
        with ThreadPoolExecutor(6) as clients:
            going = [clients.submit(asked, "a b c") for _ in range(3)]
            served.child.send_signal(signal.SIGHUP)
            served.event("model loaded")
            later = [clients.submit(asked, "a b c") for _ in range(3)]
            found = [one.result() for one in (*going, *later)]
            assert {one.status_code for one in found} == {200}
            assert {one.json()["translations"][0]["text"] for one in found} <= {old, new}
            wait_for(lambda: asked("a b c").json()["translations"][0]["text"] == new)
            last = [clients.submit(asked, text) for text in ("a b", "c d", "e f")]
            wait_for(lambda: "tongsa_requests_in_progress 4" in client.get(f"{url}/metrics").text)
            served.child.send_signal(signal.SIGTERM)
            assert {one.result().status_code for one in last} == {200}
        assert served.child.wait(30) == 0
    assert old != new


def test_serving_loads_no_torch_by_itself() -> None:
    check = "import sys, tongsa.server.main, tongsa.cli.serve; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_bad_input_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = drawn(tmp_path / "run")
    key = tmp_path / "keys"
    wrong = {
        (): "no model to serve",
        (str(tmp_path / "nowhere"),): "no model here",
        (str(run), str(run)): "called 'run' already",
        (str(run), "--set", "limits.beem=3"): "did you mean 'beam'?",
        (str(run), "--port", "99999"): "between 0 and 65535",
        (str(run), "--host", "203.0.113.1"): "choose another with --host",
        (str(run), "--keys", str(key)): "--new-key NAME",
        ("--new-key", "alice"): "goes with --keys",
    }
    for arguments, part in wrong.items():
        assert main(["serve", *arguments]) == 2
        assert part in capsys.readouterr().err
    assert main(["serve", "--keys", str(key), "--new-key", "alice"]) == 0
    made = capsys.readouterr().out.strip()
    assert made.startswith("tongsa_")
    assert made not in key.read_text()


def test_a_server_that_could_not_begin_leaves_no_log_behind(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(run), "--host", "203.0.113.1"]) == 2
    capsys.readouterr()
    with serving(run) as server:
        server.translate("a b")
    assert capsys.readouterr().err == ""


def test_a_model_that_cannot_be_loaded_ends_the_server_with_a_sentence(tmp_path: Path) -> None:
    run = drawn(tmp_path / "run")
    weights = run / "model" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    found = subprocess.run(
        [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 2
    assert "checksum is wrong" in found.stderr
    assert "Traceback" not in found.stderr


def test_an_answer_does_not_wait_for_the_client_to_confirm_its_beginning() -> None:
    """Nagle's algorithm and a delayed confirmation together held every answer back for 40 ms."""
    with (
        open_listener(ServerConfig(port=0)) as listener,
        socket.create_connection(listener.getsockname()) as _,
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
