"""`tongsa serve` as a process: signals, exit codes, a port that is open before torch is loaded."""

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
from live_server import WAIT_SECONDS, live_server, random_model, wait_for
from tongsa.cli import main
from tongsa.server.config import ServerConfig
from tongsa.server.main import open_listener
from tongsa.server.model_pool import ModelSource, parse_model_sources

SLOW_PROGRAM = """
import sys, time
from tongsa.decoding.translator import Translator
search = Translator.search
def slow_search(self, texts, request, source_tokens):
    time.sleep(0.5)
    return search(self, texts, request, source_tokens)
Translator.search = slow_search
from tongsa.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""tongsa with a slow model, so that a signal arrives while requests are in progress."""


class ServerProcess:
    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self.child = child
        self.log: list[dict[str, Any]] = []
        self.url = self.wait_for_event("listening")["address"]

    def wait_for_event(self, name: str) -> dict[str, Any]:
        """Read the log until an event."""
        assert self.child.stderr
        for line in self.child.stderr:
            self.log.append(json.loads(line))
            if self.log[-1]["event"] == name:
                return self.log[-1]
        raise AssertionError(f"the process ended without the event {name}: {self.log}")

    def wait_for_event_with(self, part: str) -> None:
        assert self.child.stderr
        assert any(part in json.loads(line)["event"] for line in self.child.stderr)


@contextmanager
def server_process(*arguments: str, program: tuple[str, ...] = ("-m", "tongsa.cli")) -> Iterator[ServerProcess]:
    child = subprocess.Popen(
        [sys.executable, *program, "serve", *arguments, "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        yield ServerProcess(child)
    finally:
        child.kill()
        child.wait()
        assert child.stderr
        child.stderr.close()


def test_the_port_is_open_before_models_are_loaded_and_signals_lose_no_request(tmp_path: Path) -> None:
    run = random_model(tmp_path / "run")
    old = tongsa.load(run, engine="torch", task="seq2seq")("a b c").text
    with (
        server_process(str(run), "--set", "output_checks=false", program=("-c", SLOW_PROGRAM)) as server,
        httpx2.Client(timeout=WAIT_SECONDS, trust_env=False) as client,
    ):

        def translate(text: str) -> httpx2.Response:
            return client.post(f"{server.url}/v1/translate", json={"text": text})

        def result(response: httpx2.Response) -> str:
            text: str = response.json()["translations"][0]["text"]
            return text

        assert client.get(f"{server.url}/healthz").status_code == 200
        server.wait_for_event("model loaded")
        wait_for(lambda: client.get(f"{server.url}/readyz").status_code == 200)
        assert result(translate("a b c")) == old
        random_model(run, seed=9)
        new = tongsa.load(run, engine="torch", task="seq2seq")("a b c").text
        with ThreadPoolExecutor(6) as clients:
            before = [clients.submit(translate, "a b c") for _ in range(3)]
            server.child.send_signal(signal.SIGHUP)
            server.wait_for_event("model loaded")
            after = [clients.submit(translate, "a b c") for _ in range(3)]
            responses = [request.result() for request in (*before, *after)]
            assert {response.status_code for response in responses} == {200}
            assert set(map(result, responses)) <= {old, new}
            wait_for(lambda: result(translate("a b c")) == new)
            last = [clients.submit(translate, text) for text in ("a b", "c d", "e f")]
            wait_for(lambda: "tongsa_requests_in_progress 4" in client.get(f"{server.url}/metrics").text)
            server.child.send_signal(signal.SIGTERM)
            assert {request.result().status_code for request in last} == {200}
        assert server.child.wait(WAIT_SECONDS) == 0
    assert old != new


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_log_that_nobody_reads_does_not_stop_the_server(run: Path) -> None:
    with server_process(str(run)) as server, httpx2.Client(timeout=WAIT_SECONDS, trust_env=False) as client:
        server.wait_for_event("model loaded")
        wait_for(lambda: client.get(f"{server.url}/readyz").status_code == 200)
        for _ in range(800):  # lines of more than 100 bytes, for a pipe that holds 64 KiB
            assert client.get(f"{server.url}/nothing").status_code == 404
        assert client.post(f"{server.url}/v1/translate", json={"text": "a b"}).status_code == 200
        server.child.send_signal(signal.SIGTERM)
        assert server.child.wait(WAIT_SECONDS) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
def test_a_full_disk_for_the_log_does_not_stop_the_server(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", str(port)]
    with Path("/dev/full").open("w") as full, subprocess.Popen(command, stderr=full) as child:
        try:
            wait_for(lambda: child.poll() is not None or answers(f"http://127.0.0.1:{port}/readyz"))
            assert answers(f"http://127.0.0.1:{port}/v1/models")
            child.send_signal(signal.SIGTERM)
            assert child.wait(WAIT_SECONDS) == 0
        finally:
            child.kill()


def answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=WAIT_SECONDS, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


FEW_FILES_PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
from tongsa.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_server_without_free_file_descriptors_serves_again_when_clients_leave(run: Path) -> None:
    with server_process(str(run), program=("-c", FEW_FILES_PROGRAM)) as server:
        server.wait_for_event("model loaded")
        port = int(server.url.rpartition(":")[2])
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        server.wait_for_event_with("socket.accept() out of system resource")
        for client in clients:
            client.close()
        wait_for(lambda: answers(f"{server.url}/readyz"))
        assert server.child.poll() is None


def test_importing_the_server_does_not_import_torch() -> None:
    check = "import sys, tongsa.server.main, tongsa.cli.serve; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_bad_arguments_give_a_sentence_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = random_model(tmp_path / "run")
    keys = tmp_path / "keys"
    cases = {
        (): "serve: no model",
        (str(tmp_path / "nowhere"),): "no model here",
        (str(run), str(run)): "called 'run' already",
        (str(run), "--set", "limits.beem=3"): "did you mean 'beam'?",
        (str(run), "--port", "99999"): "is out of range. Write a whole number in [0, 65535].",
        (str(run), "--host", "203.0.113.1"): "Choose another with --host",
        (str(run), "--keys", str(keys)): "--new-key NAME",
        ("--new-key", "alice"): "--keys FILE",
    }
    for arguments, expected in cases.items():
        assert main(["serve", *arguments]) == 2
        assert expected in capsys.readouterr().err
    assert main(["serve", "--keys", str(keys), "--new-key", "alice"]) == 0
    key = capsys.readouterr().out.strip()
    assert key.startswith("tongsa_")
    assert key not in keys.read_text()


def test_a_run_of_a_grid_has_an_equals_sign_in_its_name(tmp_path: Path) -> None:
    run = random_model(tmp_path / "norm=pre,seed=1")
    sources = parse_model_sources([str(run), f"second={run}"])
    assert sources == [ModelSource(run.name, run), ModelSource("second", run)]


def test_a_failed_start_leaves_no_log_handler_behind(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(run), "--host", "203.0.113.1"]) == 2
    capsys.readouterr()
    with live_server(run) as server:
        server.translate("a b")
    assert capsys.readouterr().err == ""


def test_a_model_that_cannot_be_loaded_ends_the_process_with_a_sentence(tmp_path: Path) -> None:
    run = random_model(tmp_path / "run")
    weights = run / "model" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    process = subprocess.run(
        [sys.executable, "-m", "tongsa.cli", "serve", str(run), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=2 * WAIT_SECONDS,
        check=False,
    )
    assert process.returncode == 2
    assert "truncated" in process.stderr
    assert "Traceback" not in process.stderr


def test_connections_do_not_wait_for_acknowledgements() -> None:
    """Nagle's algorithm together with delayed acknowledgements held responses back for 40 ms."""
    with (
        open_listener(ServerConfig(port=0)) as listener,
        socket.create_connection(listener.getsockname()) as _,
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
