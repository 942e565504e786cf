"""Two hosts (network namespaces with a cable between them) train one run; one dies, the other finishes the run."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_workers import SETTINGS
from torch.testing import assert_close

from processes import ENVIRONMENT, finish_successfully, journal_losses, train_reference, wait_for_step, write_recipe

ADDRESSES = ("10.213.7.1", "10.213.7.2")
IP = shutil.which("ip") or "ip"
PORT = 29_517
STEPS = 80
RENDEZVOUS_TIMEOUTS = "last_call_timeout=2,join_timeout=120,keep_alive_interval=1,keep_alive_max_attempt=3"


def ip(*words: str) -> bool:
    return subprocess.run([IP, *words], capture_output=True, check=False).returncode == 0


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    names = (f"tongsa-{os.getpid()}-a", f"tongsa-{os.getpid()}-b")
    if not shutil.which("ip") or not all(ip("netns", "add", name) for name in names):
        for name in names:
            ip("netns", "del", name)
        pytest.skip("network namespaces need root and iproute2")
    interfaces = [f"t{os.getpid() % 10_000}{side}" for side in "ab"]
    assert ip("link", "add", interfaces[0], "type", "veth", "peer", "name", interfaces[1])
    for name, interface, address in zip(names, interfaces, ADDRESSES, strict=True):
        assert ip("link", "set", interface, "netns", name)
        assert ip("-n", name, "link", "set", interface, "name", "cable")
        assert ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
        assert ip("-n", name, "link", "set", "cable", "up")
        assert ip("-n", name, "link", "set", "lo", "up")
    yield names
    for name in names:
        ip("netns", "del", name)


def torchrun(host: str, address: str, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    rendezvous = [
        "--nnodes=1:2",
        "--nproc-per-node=1",
        "--max-restarts=3",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={ADDRESSES[0]}:{PORT}",
        "--rdzv-id=two-hosts",
        f"--rdzv-conf={RENDEZVOUS_TIMEOUTS},is_host={str(address == ADDRESSES[0]).lower()}",
        f"--local-addr={address}",
    ]
    command = [IP, "netns", "exec", host, sys.executable, "-m", "torch.distributed.run", *rendezvous]
    return subprocess.Popen(
        [*command, "-m", "--", "tongsa.cli", "train", *arguments],  # "--": torchrun would read --run as --run-path
        cwd=folder,
        env=ENVIRONMENT | {"GLOO_SOCKET_IFNAME": "cable"},
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow  # needs root, and waits for the timeouts of torchrun
def test_when_a_host_dies_the_other_finishes_the_run_with_the_same_losses(
    hosts: tuple[str, str], tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path, [*SETTINGS, f"training.steps={STEPS}", "training.validate_every=20"])
    command = [str(recipe), "--run", "shared", "--resume-if-exists"]
    first, second = (torchrun(*host, tmp_path, *command) for host in zip(hosts, ADDRESSES, strict=True))
    wait_for_step(tmp_path / "shared", 6, first)
    processes = subprocess.run([IP, "netns", "pids", hosts[1]], capture_output=True, text=True, check=True)
    for pid in processes.stdout.split():  # agent and worker together, as when the host loses power
        os.kill(int(pid), signal.SIGKILL)
    second.communicate()
    messages = finish_successfully(first)
    assert "another worker has died" in messages, "the second host never took part"
    expected = journal_losses(train_reference(recipe, STEPS))
    assert_close(journal_losses(tmp_path / "shared"), expected, rtol=0, atol=1e-3)
