"""Rules for the files of deploy/: a service without privileges, a container without root."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parent.parent / "deploy"
UNIT_SETTINGS = {
    "CapabilityBoundingSet": "",
    "DynamicUser": "yes",
    "LockPersonality": "yes",
    "NoNewPrivileges": "yes",
    "PrivateDevices": "yes",
    "PrivateMounts": "yes",
    "PrivateTmp": "yes",
    "PrivateUsers": "yes",
    "ProtectClock": "yes",
    "ProtectControlGroups": "yes",
    "ProtectHome": "yes",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectProc": "invisible",
    "ProtectSystem": "strict",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
}
MAX_EXPOSURE = 20
"""Exposure in tenths, as systemd-analyze counts it: a service that needs the network has at least about 10."""


def test_the_unit_has_no_privileges() -> None:
    lines = (DEPLOY / "tongsa.service").read_text("utf-8").splitlines()
    pairs = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    settings = dict(pairs)
    assert {name: settings.get(name) for name in UNIT_SETTINGS} == UNIT_SETTINGS
    assert ["SystemCallFilter", "@system-service"] in pairs
    assert ["SystemCallFilter", "~@privileged"] in pairs
    assert {"MemoryMax", "LimitNOFILE", "TimeoutStopSec"} <= settings.keys()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_finds_little_exposure() -> None:
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager"]
    done = subprocess.run(
        [*command, str(DEPLOY / "tongsa.service")], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_is_pinned_small_and_not_run_by_root() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    instructions = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    names = [name for name, _ in instructions]
    images = [value for name, value in instructions if name == "FROM"]
    users = [value for name, value in instructions if name == "USER"]
    assert all(re.match(r"[\w/.-]+:[\w.-]+", image) and ":latest" not in image for image in images)
    assert users and users[-1].isdigit() and int(users[-1]) > 0, "the last user is root or a name"
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "ADD" not in names and "sudo" not in text and "curl" not in text
    assert all("--no-cache-dir" in value for name, value in instructions if name == "RUN" and "pip install" in value)
    assert "HEALTHCHECK" in names
    assert not re.search(r"(?i)(password|secret|token)\s*=", text)
    assert all(value.startswith("[") for name, value in instructions if name in ("ENTRYPOINT", "CMD")), "not by a shell"


def test_the_composed_service_is_read_only_and_local() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    for line in (
        "read_only: true",
        "cap_drop: [ALL]",
        'security_opt: ["no-new-privileges:true"]',
        'user: "10001:10001"',
        "pids_limit: ",
        "mem_limit: ",
        '- "127.0.0.1:8000:8000"',
        "- ./models:/models:ro",
    ):
        assert line in text, line
    assert "privileged" not in text.replace("no-new-privileges", "")
