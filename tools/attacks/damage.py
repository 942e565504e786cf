"""Random damage to bytes, TOML, JSON, tensor files and folders: a function of a random generator."""

import hashlib
import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors

TOML_VALUES = """0 -1 1 2 3 1000000000 99999999999999999999 1e308 -1e308 inf nan true "x" "" [] [1] {} {a=1} 0.5
"\\u0000" "\\u001b[2J" 1979-05-27 [[[[]]]] 65536 1000 10000""".split()
JSON_VALUES: list[Any] = [None, True, -1, 0, 1, 2**70, 1e308, float("nan"), "x", "", [], {}, [1], {"a": 1}, "\ud800"]
TENSOR_DAMAGE = ("half", "double", "nan", "infinity", "renamed", "removed", "added", "flat", "integers")


def damage_bytes(content: bytes, rng: Random) -> bytes:
    """Return a copy with a few bytes or a part changed, removed, repeated or added."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((1, 1, 4, 64, 1024)))
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[start % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[start:]
        elif kind == 2:
            data[start:end] = rng.randbytes(end - start)
        elif kind == 3:
            del data[start:end]
        elif kind == 4:
            data[start:start] = data[start:end] or rng.randbytes(3)
        else:
            data[start:end] = bytes([rng.choice((0, 255, 0x5B, 0x7B))]) * (end - start)
    return bytes(data)


def damage_text(content: bytes, rng: Random, suffix: str) -> bytes:
    """Return damaged bytes of a file: of a TOML or JSON file, often with another value of one key."""
    if suffix == ".toml":
        return damage_toml(content, rng)
    return damage_json(content, rng) if suffix == ".json" else damage_bytes(content, rng)


def damage_toml(content: bytes, rng: Random) -> bytes:
    """Return a TOML text with the value of a key replaced, or damaged as bytes."""
    text = content.decode("utf-8")
    matches = list(re.finditer(r"^([\w\".-]+ = ).*$", text, re.MULTILINE))
    if rng.random() < 0.3 or not matches:
        return damage_bytes(content, rng)
    match = rng.choice(matches)
    value = rng.choice([*TOML_VALUES, "9" * rng.randrange(1, 6000), "[" * 999 + "]" * 999, f'"{"x" * 300}"'])
    return (text[: match.end(1)] + value + text[match.end() :]).encode("utf-8")


def damage_json(content: bytes, rng: Random) -> bytes:
    """Return a JSON text with a value replaced, removed or added, or damaged as bytes."""
    if rng.random() < 0.3:
        return damage_bytes(content, rng)
    value = json.loads(content)
    parent: Any = value
    while True:
        key = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
        if not isinstance(parent[key], dict | list) or not parent[key] or rng.random() < 0.3:
            break
        parent = parent[key]
    if rng.random() < 0.2:
        del parent[key]
    else:
        parent[key] = rng.choice(JSON_VALUES)
    text = json.dumps(value) if rng.random() < 0.9 else f"{'[' * 2000}{json.dumps(value)}{']' * 2000}"
    return text.encode("utf-8")


def damage_tensors(content: bytes, rng: Random) -> bytes:
    """Return a valid tensor file with another precision, a NaN, or another name or shape of a tensor."""
    tensors = load_safetensors(content)
    name, kind = rng.choice(sorted(tensors)), rng.choice(TENSOR_DAMAGE)
    if kind in ("half", "double"):
        names = [name] if rng.random() < 0.5 else list(tensors)
        for changed in names:
            tensors[changed] = tensors[changed].half() if kind == "half" else tensors[changed].double()
    elif kind in ("nan", "infinity") and tensors[name].is_floating_point() and tensors[name].numel():
        flat = tensors[name].view(-1)
        flat[rng.randrange(len(flat))] = float("nan") if kind == "nan" else float("-inf")
    elif kind == "added":
        tensors["x" * rng.choice((1, 5000))] = tensors[name].clone()
    elif kind == "flat":
        tensors[name] = tensors[name].reshape(-1)[: rng.choice((None, 1))].clone()
    elif kind == "integers":
        tensors[name] = tensors[name].long()
    else:
        tensor = tensors.pop(name)
        if kind == "renamed":
            tensors[name + rng.choice(("x", "\u001b[2J", "/../a"))] = tensor
    return save_safetensors(tensors)


def damage_header(content: bytes, rng: Random) -> bytes:
    """Return a tensor file whose header is damaged."""
    end = int.from_bytes(content[:8], "little") + 8
    return damage_bytes(content[:end], rng) + content[end:]


def tensor_names(content: bytes) -> list[str]:
    """Return the names in the header of a tensor file; none if it is damaged."""
    try:
        return [name for name in json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]) if name[:2] != "__"]
    except (ValueError, TypeError, RecursionError):
        return []


def drop_tensors(content: bytes, prefix: str) -> bytes:
    tensors = load_safetensors(content)
    return save_safetensors({name: tensor for name, tensor in tensors.items() if not name.startswith(prefix)})


def replace(path: Path, content: bytes) -> None:
    """Write a file again; it may be a hard link to one that stays as it is."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def replace_by_special_file(path: Path, rng: Random) -> None:
    """Replace a file by a pipe, a link, a folder, or a sparse file of many gigabytes."""
    path.unlink()
    kind = rng.randrange(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        write_sparse(path, 1 << 34)
    else:
        path.symlink_to(["/dev/zero", path.name, "/proc/self/environ"][kind - 3])


def write_sparse(path: Path, size: int, content: bytes = b"") -> None:
    """Write a file that takes no space on the disk after its first bytes."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.truncate(size)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
