"""Two hosts, as network namespaces with a cable between them: one dies in the middle, the other ends the run."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_workers import SETTINGS, begin, finished, losses
from torch.testing import assert_close

from tiny import reversing, write_pairs

ADDRESSES = ("10.213.7.1", "10.213.7.2")
IP = shutil.which("ip") or "ip"
PORT = 29_517
STEPS = 80
QUICKLY = "last_call_timeout=2,join_timeout=120,keep_alive_interval=1,keep_alive_max_attempt=3"


def ip(*words: str) -> bool:
    return subprocess.run([IP, *words], capture_output=True, check=False).returncode == 0


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    names = (f"tongsa-{os.getpid()}-a", f"tongsa-{os.getpid()}-b")
    if not shutil.which("ip") or not all(ip("netns", "add", name) for name in names):
        for name in names:
            ip("netns", "del", name)
        pytest.skip("network namespaces need root and iproute2")
    ends = [f"t{os.getpid() % 10_000}{side}" for side in "ab"]
    assert ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    for name, end, address in zip(names, ends, ADDRESSES, strict=True):
        assert ip("link", "set", end, "netns", name)
        inside = ("-n", name)
        assert ip(*inside, "link", "set", end, "name", "cable")
        assert ip(*inside, "addr", "add", f"{address}/24", "dev", "cable")
        assert ip(*inside, "link", "set", "cable", "up")
        assert ip(*inside, "link", "set", "lo", "up")
    yield names
    for name in names:
        ip("netns", "del", name)


def torchrun(host: str, address: str, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    meeting = [
        "--nnodes=1:2",
        "--nproc-per-node=1",
        "--max-restarts=3",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={ADDRESSES[0]}:{PORT}",
        "--rdzv-id=two-hosts",
        f"--rdzv-conf={QUICKLY},is_host={str(address == ADDRESSES[0]).lower()}",
        f"--local-addr={address}",
    ]
    command = [IP, "netns", "exec", host, sys.executable, "-m", "torch.distributed.run", *meeting]
    return subprocess.Popen(
        [*command, "-m", "--", "tongsa.cli", "train", *arguments],  # lest torchrun takes --run for its own --run-path
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "cable"},
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_host_dies_and_the_other_ends_the_run_with_the_right_result(hosts: tuple[str, str], tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(400))
    more = (f"training.steps={STEPS}", "training.validate_every=20")
    code, messages = finished(begin(tmp_path, "alone", 1, *more))
    assert code == 0, messages
    words = [word for setting in [*SETTINGS, *more] for word in ("--set", setting)]
    command = ["--data", "pairs.tsv", "--run", "shared", "--resume-if-exists", *words]
    first, second = (torchrun(*where, tmp_path, *command) for where in zip(hosts, ADDRESSES, strict=True))
    journal = tmp_path / "shared" / "journal.jsonl"
    while first.poll() is None and not (journal.exists() and '"step": 6' in journal.read_text("utf-8")):
        time.sleep(0.01)
    everything = subprocess.run([IP, "netns", "pids", hosts[1]], capture_output=True, text=True, check=True)
    for number in everything.stdout.split():  # agent and worker together: the host is gone
        os.kill(int(number), signal.SIGKILL)
    second.communicate()
    code, messages = finished(first)
    assert code == 0, messages
    assert "another worker is gone" in messages, "the second host never took part"
    assert_close(losses(tmp_path / "shared", STEPS), losses(tmp_path / "alone", STEPS), rtol=0, atol=1e-3)
