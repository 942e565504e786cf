"""Bad input ends with one sentence on standard error and exit code 2, never with a traceback."""

import shutil
from pathlib import Path

import pytest

import tongsa
from command_line import run_command, set_flags
from tiny import reversing, write_pairs
from tongsa.errors import InputError

TRAIN = ["train", "--data", "good.tsv", "--run", "r"]
BAD_COMMANDS = {
    "missing recipe": (["train", "none.toml", "--run", "r"], "none.toml: no such file"),
    "no folder for the run": (["train", "--data", "good.tsv"], "--run is missing"),
    "no data": (["train", "--run", "r"], "recipe"),
    "missing data file": (["train", "--data", "none.tsv", "--run", "r"], "none.tsv: no such file"),
    "empty data": (["train", "--data", "empty.tsv", "--run", "r"], "empty.tsv: no usable pair"),
    "data without tabs": (["train", "--data", "no_tabs.tsv", "--run", "r"], "3 no tab"),
    "parallel files of different length": (["train", "--data", "a.de", "a.en", "--run", "r"], "(2 and 1 lines)"),
    "unknown key": ([*TRAIN, *set_flags("training.step=4")], "did you mean 'steps'?"),
    "value of the wrong type": ([*TRAIN, *set_flags("training.steps=many")], "not a whole number"),
    "unreadable time budget": ([*TRAIN, "--budget", "soon"], "--budget soon"),
    "time budget without a unit": ([*TRAIN, "--budget", "20"], "Write for example 20m for minutes or 20s for seconds."),
    "budget and steps": (
        [*TRAIN, "--budget", "9s", *set_flags("training.steps=4")],
        "--budget 9s: chooses training.steps",
    ),
    "more workers than cores": ([*TRAIN, "--workers", "100000"], "Give at most"),
    "vocabulary too small": ([*TRAIN, *set_flags("tokenizer.vocab_size=20")], "20"),
    "missing device": ([*TRAIN, *set_flags("training.device=cuda:9")], "cuda:9"),
    "dev without data": (["train", "--dev", "good.tsv", "--run", "r"], "--dev"),
    "resume without a run": (["train", "--resume", "nowhere"], "nowhere: not a run (no run.toml)"),
    "resume with a recipe": (["train", "x.toml", "--resume", "nowhere"], "Leave out the recipe"),
    "missing model": (["translate", "nowhere"], "nowhere: no such folder"),
    "folder without a model": (["translate", "."], "no model here"),
    "folder as data": (["train", "--data", ".", "--run", "r"], ".: a folder, not a file"),
    "evaluate without data": (["evaluate", "MODEL", "--data", "none.tsv"], "none.tsv: no such file"),
    "text that is not UTF-8": (["translate", "MODEL", "latin1.txt"], "latin1.txt:2: not UTF-8"),
    "beam of 0": (["translate", "MODEL", "good.tsv", "--beam", "0"], "beam"),
    "empty sentence": (["view", "MODEL", "  "], "empty"),
    "nbest above the beam": (
        ["translate", "MODEL", "good.tsv", "--format", "text", "--beam", "2", "--nbest", "3"],
        "nbest 3",
    ),
    "empty sentence to trace": (["trace", "MODEL", "  "], "empty"),
    "several sentences to trace": (["trace", "MODEL", "a b! C d"], "one"),
    "layers to trace that are no numbers": (["trace", "MODEL", "a b", "--layers", "one"], "--layers 1,2"),
    "a layer to trace that is not there": (["trace", "MODEL", "a b", "--layers", "9"], "layers"),
    "a tour that is not there": (["trace", "MODEL", "a b", "--tour", "none.json"], "none.json"),
    "place without folders": (
        ["train", "--data", "good.tsv", "--run", "/proc/x"],
        "/proc/x: no folder can be made here",
    ),
    "spreadsheet as a glossary": (
        ["translate", "MODEL", "good.tsv", "--glossary", "terms.xlsx"],
        "terms.xlsx: not a text file. Save the glossary as TSV or CSV in UTF-8.",
    ),
    "binary file as a glossary": (["translate", "MODEL", "good.tsv", "--glossary", "terms.tsv"], "not a text file"),
    "inspection without pairs": (["inspect", "MODEL", "--data", "no_tabs.tsv"], "no_tabs.tsv: no usable pair"),
    "no draws": (["inspect", "MODEL", "--data", "good.tsv", "--draws", "0"], "draws 0: not from 1 to 200"),
    "damaged gzip": (["train", "--data", "bad.tsv.gz", "--run", "r"], "bad.tsv.gz: not gzip"),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_bad_input_ends_with_a_sentence_and_exit_code_2(case: str, trained: Path, tmp_path: Path) -> None:
    arguments, sentence = BAD_COMMANDS[case]
    write_pairs(tmp_path / "good.tsv", reversing(50))
    (tmp_path / "empty.tsv").write_text("", "utf-8")
    (tmp_path / "no_tabs.tsv").write_text("a\nb\nc\n", "utf-8")
    (tmp_path / "a.de").write_text("eins\nzwei\n", "utf-8")
    (tmp_path / "a.en").write_text("one\n", "utf-8")
    (tmp_path / "latin1.txt").write_bytes("gut\nschön\n".encode("latin-1"))
    (tmp_path / "bad.tsv.gz").write_bytes(b"not gzip")
    for name in ("terms.xlsx", "terms.tsv"):
        (tmp_path / name).write_bytes(b"PK\x03\x04\x14\x00\xff\xfe")
    result = run_command(*(trained if word == "MODEL" else word for word in arguments), cwd=tmp_path)
    assert result.code == 2
    assert sentence in result.stderr
    assert result.error.startswith("tongsa: ")


def copy_model(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained / "model", tmp_path / "model"))


def test_damaged_weights_are_recognized(trained: Path, tmp_path: Path) -> None:
    model = copy_model(trained, tmp_path)
    content = bytearray((model / "weights.safetensors").read_bytes())
    content[-5] ^= 4
    (model / "weights.safetensors").write_bytes(content)
    result = run_command("translate", model, stdin="a\n")
    assert result.code == 2
    assert "weights.safetensors: damaged" in result.error
    assert "checksum" in result.error


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("format = 1", "format = 99", "newer tongsa"),
        ("format = 1\n", "", "no format number"),
        ('kind = "transformer"', 'kind = "perceptron"', "'perceptron' is not a kind of model"),
        ("width = 32", "width = 64", "damaged"),
        ("width = 32", "wide = 32", "unknown key"),
        ("[decoding]", "[decode]", "damaged"),
        ("format = 1", "format = ", "not valid TOML"),
        ("jamo = false", "", "damaged"),
    ],
)
def test_a_changed_model_description_is_recognized(
    trained: Path, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    model = copy_model(trained, tmp_path)
    text = (model / "model.toml").read_text("utf-8")
    assert old in text
    (model / "model.toml").write_text(text.replace(old, new), "utf-8")
    with pytest.raises(InputError, match=sentence):
        tongsa.load(model)
