"""A model folder is something people download from strangers: what does not fit is refused before memory is taken."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from jobs import write_model
from tongsa import bounded_files, bundle, config, system, tensor_file
from tongsa.bounded_files import MalformedTextError
from tongsa.errors import InputError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """Replace a file of a model, with the right checksum in model.toml."""
    description = folder / "model.toml"
    old, new = (hashlib.sha256(data).hexdigest() for data in ((folder / name).read_bytes(), content))
    (folder / name).write_bytes(content)
    description.write_text(description.read_text("utf-8").replace(old, new), "utf-8")


def change_description(folder: Path, pattern: str, new: str) -> None:
    text = (folder / "model.toml").read_text("utf-8")
    changed = re.sub(pattern, lambda _: new, text, count=1, flags=re.MULTILINE)
    assert changed != text
    (folder / "model.toml").write_text(changed, "utf-8")


DESCRIPTIONS = {
    "a billion layers": (r"^encoder_layers = 1$", "encoder_layers = 1000000000", "encoder_layers.*at most 1,000"),
    "a width of a million": (r"^width = 16$", "width = 1000000", "width.*at most 65,536"),
    "more layers than tensors": (r"^encoder_layers = 1$", "encoder_layers = 1000", "1001 layers in the settings"),
    "the largest width": (r"^width = 16$", "width = 65536", "does not match"),
    "a beam of a billion": (r"^beam = 2$", "beam = 1000000000", "beam.*at most 10,000"),
    "a beam for exhaustive search": (r"^beam = 2$", "beam = 9999", "beam.*at most 1,000"),
    "an alpha that overflows": (r"^alpha = .*$", "alpha = 1e308", "alpha.*at most 10"),
    "an alpha of NaN": (r"^alpha = .*$", "alpha = nan", "alpha: nan is out of range"),
    "a number of 5,000 digits": (r"^width = 16$", f"width = {'9' * 5000}", "more than 40 digits"),
    "a hexadecimal number of 5,000 digits": (r"^width = 16$", f"width = 0x{'f' * 5000}", "more than 40 digits"),
    "nested lists": (r"^metrics = .*$", f"metrics = {'[' * 5000}{']' * 5000}", "nested too deeply"),
    "a key of 200,000 parts": (r"^jamo = false$", f"jamo = false\n{'a.' * 200_000}a = 1", "too many parts"),
    "a file of another folder": (r"^\[sha256\]$", '[sha256]\n"../secret" = "x"', "is not a file of a model"),
    "a language that is a number": (r'^source_language = ""$', "source_language = 3", "source_language"),
    "a language with control characters": (r'^source_language = ""$', r'source_language = "\u001b[2J"', "language"),
    "two megabytes": (r"\A", f"# {'x' * (2 << 20)}\n", "too large"),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_a_description_out_of_bounds_is_refused(case: str, model: Path) -> None:
    pattern, new, message = DESCRIPTIONS[case]
    change_description(model, pattern, new)
    with pytest.raises(InputError, match=message) as error:
        bundle.load_bundle(model)
    assert len(str(error.value)) < 2_000


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link_to(target: str) -> Callable[[Path], None]:
    def make_link(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return make_link


@pytest.mark.parametrize("name", ["weights.safetensors", "tokenizer.model"])
@pytest.mark.parametrize(
    ("replace", "message"),
    [
        (make_pipe, "a folder, a pipe or a device"),
        (link_to("/dev/zero"), "leads out of its folder"),
        (link_to("../outside"), "leads out of its folder"),
        (link_to("missing"), "cannot be read"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read|a folder, a pipe"),
        (lambda path: path.write_bytes(b""), "damaged"),
    ],
    ids=["pipe", "device", "link to another folder", "broken link", "folder", "empty"],
)
def test_only_regular_files_of_the_folder_are_read(
    model: Path, name: str, replace: Callable[[Path], None], message: str
) -> None:
    (model.parent / "outside").write_bytes((model / name).read_bytes())
    replace(model / name)
    with pytest.raises(InputError, match=message):
        bundle.load_bundle(model)


def test_links_of_a_hugging_face_cache_are_followed(tmp_path: Path) -> None:
    snapshot = write_model(tmp_path / "models--a--b" / "snapshots" / "0123")
    blobs = tmp_path / "models--a--b" / "blobs"
    blobs.mkdir()
    for file in list(snapshot.iterdir()):
        file.rename(blobs / f"hash-of-{file.name}")
        file.symlink_to(Path("../../blobs") / f"hash-of-{file.name}")
    assert bundle.load_bundle(snapshot).kind == "transformer"


TENSORS: dict[str, tuple[Callable[[dict[str, torch.Tensor]], object], str]] = {
    "half precision": (lambda tensors: tensors.update({k: v.half() for k, v in tensors.items()}), "precision is"),
    "a missing tensor": (lambda tensors: tensors.popitem(), "tensor names differ"),
    "another tensor": (lambda tensors: tensors.update(extra=torch.ones(1)), "tensor names differ"),
    "another shape": (lambda tensors: tensors.update({k: v[:1].clone() for k, v in tensors.items()}), "shape"),
    "NaN": (lambda tensors: next(iter(tensors.values())).view(-1)[3:].fill_(torch.nan), "NaN or infinite"),
    "infinity": (lambda tensors: next(iter(tensors.values())).view(-1)[-1:].fill_(torch.inf), "NaN or infinite"),
}


@pytest.mark.parametrize("case", TENSORS)
def test_weights_that_do_not_fit_are_refused_although_their_checksum_is_right(case: str, model: Path) -> None:
    change, message = TENSORS[case]
    tensors = load_file(model / "weights.safetensors")
    change(tensors)
    save_file(tensors, model.parent / "new.safetensors")
    replace_file(model, "weights.safetensors", (model.parent / "new.safetensors").read_bytes())
    with pytest.raises(InputError, match=message):
        bundle.load_bundle(model)


def test_large_finite_weights_are_accepted() -> None:
    """Their sum overflows, but no value does."""
    tensor_file.check_finite({"large": torch.full((4,), 3e38)})


def test_a_model_that_does_not_fit_into_memory_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "available_memory", lambda: 1_000)
    with pytest.raises(InputError, match="use a machine with more memory"):
        bundle.load_bundle(model)


HEADERS = [
    b"",
    b"[]",
    b"{",
    b"[" * 9_000,
    b'{"a": 3}',
    b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
]
HEADERS += [
    json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}).encode()
    for shape, offsets in [([2**62, 4], [0, 4]), ([1], [0, 8]), ([1], [4, 0]), ([True], [0, 4]), ([1] * 99, [0, 4])]
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_damaged_header_is_refused_although_its_checksum_is_right(header: bytes, model: Path) -> None:
    replace_file(model, "weights.safetensors", len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(InputError, match="damaged"):
        bundle.load_bundle(model)


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(), lambda items: st.lists(items), max_leaves=20))
@settings(max_examples=20, deadline=None)
def test_json_within_the_limits_is_read_as_python_reads_it(value: object) -> None:
    text = json.dumps(value)
    try:
        parsed = bounded_files.parse_json(text)
    except MalformedTextError:
        assert re.search(r"\d{41}", text)
    else:
        assert json.dumps(parsed) == text


@given(st.dictionaries(st.text(min_size=1), st.text() | st.lists(st.floats(allow_nan=False), max_size=40)))
@settings(max_examples=50, deadline=None)
def test_toml_that_tongsa_writes_is_read_again(values: dict[str, object]) -> None:
    """Brackets, dots and digits in strings and keys count neither as nesting nor as numbers."""
    values["text"] = "[[[[" * 20 + "a." * 100 + "9" * 100
    assert bounded_files.parse_toml(config.dump_toml(values)) == values
