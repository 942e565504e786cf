"""The data commands read a corpus in another encoding, with `--set data.encoding`, as the same corpus in UTF-8."""

from pathlib import Path

import pytest

from command_line import run_command
from jobs import WORDS, write_model
from tiny import reversing

SPLIT = ("split", "--dev-size", 9, "--test-size", 9)


def write_corpus(folder: Path, encoding: str) -> None:
    folder.mkdir()
    pairs = [(f"{source} {i}", f"{i} {target}") for i, (source, target) in enumerate(reversing(80))]
    sources, targets = zip(*pairs, strict=True)
    lines = [f"{source}\t{target}\tbook {i // 8}\n" for i, (source, target) in enumerate(pairs)]
    (folder / "pairs.tsv").write_text("".join(lines), encoding)
    (folder / "mono.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding)
    for name, texts in (("a.en", sources), ("a.ko", targets)):
        blank_lines = ("\n" if i % 8 == 7 else "" for i in range(len(texts)))
        content = "".join(f"{text}\n{blank}" for text, blank in zip(texts, blank_lines, strict=True))
        (folder / name).write_text(content, encoding)


@pytest.mark.parametrize(
    "command",
    [
        ("noise", "pairs.tsv", "--set", "data.noise.typos=0.3"),
        (*SPLIT, "pairs.tsv", "--document-column", 3),
        (*SPLIT, "a.en", "a.ko", "--by-document"),
        ("align", "a.en", "a.ko"),
        ("back-translate", "model", "mono.txt"),
    ],
    ids=lambda command: " ".join(map(str, command)),
)
def test_an_encoding_of_the_settings_gives_the_output_of_utf8(
    command: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    for encoding in ("utf-8", "utf-16"):
        write_corpus(tmp_path / encoding, encoding)
        monkeypatch.chdir(tmp_path / encoding)
        if command[0] == "back-translate":
            write_model(Path("model"))
        result = run_command("data", *command, "-o", "out", "--set", f"data.encoding={encoding}")
        assert result.code == 0, result.stderr
        files = sorted(Path("out").glob("*.tsv")) if Path("out").is_dir() else [Path("out")]
        outputs.append({path.name: path.read_text("utf-8") for path in files})
    assert outputs[0] == outputs[1] and all(outputs[0].values())
