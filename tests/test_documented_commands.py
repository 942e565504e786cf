"""Every command and every Python example of the documents and of `--help` is run, on small files and tiny models.

Each command gets its own copy of a folder with the files and runs that the documents name. The rule that makes the
trainings short: `--budget TIME` is replaced by `--set training.steps=2`, and the sizes of `SMALL_MODELS` are appended
for keys that the command does not set itself; a resumed run gets 4 steps. A server gets a free port, is asked once and
is stopped.
"""

import gzip
import json
import re
import runpy
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

import tongsa
from command_line import run_command, set_flags
from documents import ROOT, documented_commands, python_examples
from live_server import WAIT_SECONDS, live_server, wait_for
from tongsa.data.corpus import read_lines
from tongsa.demo import read_split

NOT_RUN = {
    "benchmarks/serve_": "minutes of load on a server; a short run is in tests/test_benchmarks.py",
    "make demo": "trains for minutes; tests/demo runs it with fewer steps",
    "tongsa demo": "trains for minutes; tests/demo runs it with fewer steps",
    "make ladder": "trains for minutes; tests/runs/test_ladder.py runs it with fewer steps",
    "make test": "runs these tests",
    "make studies": "takes hours; tests/studies runs each study with --quick",
    "pip install": "needs a package index",
    "venv .venv-comet": "makes an environment for COMET",
    "hf download": "needs a model hub",
    "data get multi30k": "needs the network; tests/data/test_public_sets.py has a server of its own",
    "--comet-model": "needs the package unbabel-comet; tests/evaluation/test_comet_package.py has a tiny model",
    "RAY_ADDRESS=": "needs a Ray cluster; tests/runs/test_ray_backend.py starts one on this machine",
    "export GLOO_SOCKET_IFNAME": "needs several hosts",
    "torchrun": "needs several hosts; tests/runs/test_two_hosts.py simulates them",
    "#!/bin/bash": "needs Slurm",
    "runs/dot": "run by tests/test_own_kind.py, with the module of the page",
}
"""Part of a command → reason why it is not run here."""
PYTHON_NOT_RUN = {
    "class Memory(NamedTuple)": "an excerpt of interface.py",
    'record("mine.scores"': "a line of a model; tests/laws/test_recording.py runs such lines of every kind",
    "step.run(": "run by tests/export/test_docs_examples.py",
    "classifier.run(": "run by tests/export/test_docs_examples.py",
}
"""Part of a Python example → reason why it is not run here."""
PAGES_RUN_ELSEWHERE = {"python.md": "tests/test_python_api.py", "own-kind.md": "tests/test_own_kind.py"}
"""Pages whose Python examples run in a test of their own."""
SLOW_WORDS = (
    "--workers",
    "--executor ray",
    "--to huggingface",
    "news=",
    "distil",
    "ladder",
    "--vary",
    "--seeds",
    "doctor recipes",
    "wmt14",
    "sutskever",
)

RUN_SETTINGS = [
    *("training.steps=2", "training.validate_every=2", "decoding.max_extra_tokens=3"),
    *("training.threads=1", "training.precision=fp32"),  # "auto" measures in a child process
]
TRANSFORMER = ["model.width=16", "model.ffn_width=16", "model.heads=2"]
SMALL_MODELS = {
    "transformer": [*TRANSFORMER, "model.encoder_layers=1", "model.decoder_layers=1"],
    "transformer_classifier": [*TRANSFORMER, "model.layers=1"],
    "transformer_lm": [*TRANSFORMER, "model.layers=1"],
    "conv_s2s": ["model.width=16", "model.hidden=16", "model.encoder_layers=1", "model.decoder_layers=1"],
    "bytenet": ["model.width=16", "model.hidden=16", "model.encoder_layers=2", "model.decoder_layers=2"],
    "structured_self_attention": ["model.embedding=16", "model.width=16", "model.attention=8", "model.hops=2"],
    "rnn_lm": ["model.width=16", "model.layers=1"],
    "rnn_attention": ["model.embedding=16", "model.width=16"],
    "rnn": ["model.embedding=16", "model.width=16"],
}
VOCABULARY = "tokenizer.vocab_size=1000"


def shorten_training(words: Sequence[str]) -> list[str]:
    """Return the arguments of `train`, `distil` or `doctor` with the rule of this module applied."""
    words = [re.sub(r"^training\.steps=\d+$", "training.steps=2", word) for word in words]
    if "--resume" in words:
        return [word.replace("steps=2", "steps=4") for word in words]  # more than the run has
    if "--budget" in words:
        position = words.index("--budget")
        del words[position : position + 2]
    text = shlex.join(words)
    kind = next((name for name in SMALL_MODELS if f"model.kind={name} " in f"{text} "), "transformer")
    inherited = [] if "init_from" in text else SMALL_MODELS[kind]
    vocabulary = [] if "init_from" in text or "reuse_from" in text or "model=char" in text else [VOCABULARY]
    settings = [*RUN_SETTINGS, *inherited, *vocabulary]
    kept = [
        setting
        for setting in settings
        if setting.startswith("training.") or setting.partition("=")[0] + "=" not in text
    ]
    return [*words, *set_flags(*kept)]


def shorten_ladder(words: Sequence[str]) -> list[str]:
    """Return the arguments of `ladder` with few pairs and steps, and with two models."""
    words = list(words)
    if "--budget" in words:
        position = words.index("--budget")
        del words[position : position + 2]
    quick = [] if "--quick" in words else ["--quick"]
    is_classifier = any("reviews" in word for word in words)  # it has two models only
    models = [] if "--models" in words or is_classifier else ["--models", "cho,transformer"]
    settings = ["training.steps=2", "training.threads=1", "training.precision=fp32", "model.width=16"]
    return [*words, *quick, *models, *set_flags(*settings)]


def write_files(folder: Path) -> None:
    """Write the files that the documents name."""
    pairs = read_split("train")[:400]
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]

    def write(name: str, lines: Sequence[str]) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)

    lines = [f"{source}\t{target}" for source, target in pairs]
    for name, part in {
        "my.tsv": lines[:300],
        "big.tsv": lines[:300],
        "mine.tsv": lines[:300],
        "train.tsv": lines[:300],
        "own.tsv": lines[300:340],
        "dev.tsv": lines[340:350],
        "test.tsv": lines[350:360],
        "pairs.tsv": lines[:5],
        "nbest.tsv": lines[:5],
    }.items():
        write(name, part)
    for prefix, rows in {"train": slice(300), "dev": slice(300, 310), "test": slice(310, 320)}.items():
        for suffix, side in {"de": sources, "en": targets}.items():
            write(f"{prefix}.{suffix}", side[rows])
            write(f"{prefix}.{suffix}.gz", side[rows])
    for data in ("data/multi30k", "path/to/wmt14"):
        for suffix, side in {"de": sources, "en": targets}.items():
            for name in (f"train.{suffix}.gz", f"train.{suffix}"):
                write(f"{data}/{name}", side[:300])
            for name in ("val", "test_2016_flickr", "newstest2013", "newstest2014"):
                write(f"{data}/{name}.{suffix}", side[330:336] if "test" in name else side[340:346])
    labels = [f"{source}\t{'good' if 'I' in source else 'bad'}" for source in sources]
    write("reviews.tsv", labels)
    write("reviews-test.tsv", labels[:10])
    write("reviews.txt", sources[:5])
    ratings = ["id\tdocument\tlabel", *(f"{i}\t{line}" for i, line in enumerate(labels))]
    write("ratings_train.txt", ratings)
    write("ratings_test.txt", ratings[:12])
    for name, side in {
        "text.txt": targets,
        "texts.txt": targets[:5],
        "text.ko.txt": targets,
        "test.txt": targets[:5],
    }.items():
        write(name, side)
    spelled = ["knight\tN AY T", "read\tR EH D", *(f"{'abc'[i % 3]}at{i % 7}\tAE T {i % 7}" for i in range(100))]
    write("words.tsv", spelled)
    write("words-test.tsv", spelled[:8])
    write("input.txt", ["I go home", "He can play badminton"])
    write("input.txt.gz", ["I go home"])
    write("film.srt", ["1", "00:00:01,000 --> 00:00:02,000", "I go home"])
    write("notes.md", ["# I go home", "", "He **can** play"])
    write("table.csv", ["id,text", "1,I go home"])
    write("theirs.txt", targets[310:320])  # outputs for test.de and test.en
    write("glossary.tsv", ["# 용어집", "home\t집", "GitHub"])
    write("keys.tsv", [])
    numbered = [f"{sources[i % 400]} {i}\t{targets[i % 400]} {i}" for i in range(5000)]  # no duplicates
    write("corpus.tsv", [f"{line}\tdocument {i // 10}" for i, line in enumerate(numbered)])
    for column, name in enumerate(("a.en", "a.ko")):
        write(name, [line.split("\t")[column] + "\n" * (i % 10 == 9) for i, line in enumerate(numbered)])
    for name, side in {"book.en": sources, "book.ko": targets, "news.en": sources, "news.ko": targets}.items():
        write(name, side[:20])
    recipe = "\n".join((ROOT / "recipes/multi30k-short.toml").read_text("utf-8").splitlines())
    write("recipe.toml", [recipe])
    shutil.copytree(ROOT / "recipes", folder / "recipes")


SEPARATE_TEST_SETS = {"runs/reviews": "reviews-test.tsv", "runs/g2p": "words-test.tsv"}
"""Runs whose test.tsv has other columns than that of runs/mine."""
SAME_AS_MINE = (
    "one",
    "other",
    "fast",
    "careful",
    "general",
    "large",
    "en-ko",
    "ko-en",
    "a",
    "b",
    "demo",
    "seed1",
    "seed2",
    "seed3",
)
TRAIN = "tongsa train --set data.source_language=en --set data.target_language=ko --budget 1m"
TRAININGS = (
    f"{TRAIN} --data my.tsv --run runs/mine --set training.grad_accumulation=4",  # resumed with two workers
    f"{TRAIN} --data reviews.tsv --run runs/reviews --set model.kind=structured_self_attention",
    f"{TRAIN} --data text.txt --run runs/lm --set model.kind=rnn_lm",
    f"{TRAIN} --data ratings_train.txt --run runs/nsmc --set model.kind=structured_self_attention "
    "--set data.header=true --set data.columns=[2,3]",
    f"{TRAIN} --data my.tsv --run runs/rnn-attention --set model.kind=rnn_attention",
    f"{TRAIN} --data words.tsv --run runs/g2p --set tokenizer.model=char --set tokenizer.target_model=word "
    "--set tokenizer.shared=false --set model.tie_embeddings=target",
    f"{TRAIN} --data my.tsv --run runs/two --set tokenizer.reuse_from=runs/one",
    f"{TRAIN} --data my.tsv --run runs/three --set model.kind=rnn_attention --set tokenizer.reuse_from=runs/one "
    "--set tokenizer.shared=false",
    f"{TRAIN} --data text.ko.txt --run runs/lm-ko --set model.kind=rnn_lm --set tokenizer.reuse_from=runs/one",
)
"""Commands that make the runs of the documents; those with `reuse_from` need a copy of runs/mine."""


@pytest.fixture(scope="module", name="template")
def template_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files and runs that the documents name."""
    folder = tmp_path_factory.mktemp("documents")
    write_files(folder)
    for training in TRAININGS:
        result = run_command(*shorten_training(shlex.split(training)[1:]), cwd=folder)
        assert result.code == 0, result.stderr
        if not (folder / "runs/one").exists():
            for name in SAME_AS_MINE:
                shutil.copytree(folder / "runs/mine", folder / "runs" / name)
    for run in ("mine", "fast"):
        assert run_command("shortlist", f"runs/{run}", "--data", "train.tsv", cwd=folder).code == 0
    return folder


@pytest.fixture(name="folder")
def folder_copy(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "work")


def reason_not_run(command: str) -> str:
    return next((reason for part, reason in NOT_RUN.items() if part in command), "")


def command_parameter(command: str) -> Any:
    is_slow = any(word in command for word in SLOW_WORDS)
    return pytest.param(command, id=command[:100], marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray\\..*")
@pytest.mark.parametrize(
    "command", [command_parameter(command) for command in documented_commands() if not reason_not_run(command)]
)
def test_a_documented_command_works_as_it_is_written(command: str, folder: Path) -> None:
    if command.startswith("tongsa serve") and "--new-key" not in command:
        ask_server(command, folder)
    elif command.startswith("curl "):
        with live_server(folder / "runs/en-ko") as server:
            output = run_shell(command.replace("localhost:8000", server.url.removeprefix("http://")), folder)
        if "/v1/documents" in command:
            assert "-->" in (folder / "film.ko.srt").read_text("utf-8")
        else:
            assert json.loads(output)["translations"][0]["sentences"]
    elif command.startswith("python "):
        script, *arguments = shlex.split(command)[1:]
        assert "|" in run_shell(shlex.join([sys.executable, str(ROOT / script), *arguments]), folder)
    else:
        run_pipeline(command, folder)


def run_shell(command: str, folder: Path, stdin: str = "") -> str:
    completed = subprocess.run(["bash", "-c", command], cwd=folder, input=stdin, capture_output=True, text=True)  # noqa: S607
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def run_pipeline(command: str, folder: Path) -> None:
    """Run `[echo … |] tongsa … [< file] [| program …] [> file]`: tongsa in this process, the other parts in bash."""
    before, _, rest = command.rpartition("tongsa ")
    call, _, after = rest.partition(" | ")
    call, _, output = call.partition(" > ")
    call, _, input_file = call.partition(" < ")
    words = shlex.split(call)
    stdin = run_shell(before.rstrip(" |"), folder) if before else ""
    stdin = (folder / input_file).read_text("utf-8") if input_file else stdin
    for run, test_set in SEPARATE_TEST_SETS.items():
        if run in words:
            shutil.copy(folder / test_set, folder / "test.tsv")
    if words[0] == "ladder":
        words = shorten_ladder(words)
    if words[0] == "compare" and words[1].endswith(".toml"):
        words = shorten_training(words)
    if words[0] in ("train", "distil", "doctor"):
        words = shorten_training(words)
        if "--run" in words:
            shutil.rmtree(folder / words[words.index("--run") + 1], ignore_errors=True)
    result = run_command(*words, cwd=folder, stdin=stdin)
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    if output:
        written = folder / output.replace("~", "home")
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(result.stdout, "utf-8")
    if after:
        run_shell(after, folder, result.stdout)
    check_outputs(words, folder, result.stdout)


def check_outputs(words: list[str], folder: Path, stdout: str) -> None:
    """Check that the command wrote the files that it names, or something to standard output."""
    if words[0] in ("train", "distil"):
        run = words[words.index("--resume" if "--resume" in words else "--run") + 1]
        assert (folder / run / "model/model.toml").is_file()
    elif words[0] == "export":
        assert any((folder / stdout.strip()).iterdir())
    elif words[0] == "shortlist":
        assert (folder / words[1] / "shortlist.safetensors").is_file()
    elif "-o" in words:
        written = folder / words[words.index("-o") + 1]
        assert written.stat().st_size > 0
        if words[0] == "translate":
            assert len(list(read_lines(written))) == len(list(read_lines(folder / words[2])))
    elif words[0] == "view":
        assert list(folder.glob("*.html"))
    else:
        assert stdout.strip()


def ask_server(command: str, folder: Path) -> None:
    """Start a server on a free port, translate a sentence, and stop it."""
    headers = {}
    if "--keys" in command:
        key = run_command("serve", "--keys", "keys.tsv", "--new-key", "alice", cwd=folder).stdout.split()[-1]
        headers = {"Authorization": f"Bearer {key}"}
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*shlex.split(re.sub(r" --port \d+", "", command))[1:], "--port", str(port)]
    child = subprocess.Popen([sys.executable, "-m", "tongsa.cli", *words], cwd=folder, stderr=subprocess.PIPE)
    try:
        with httpx2.Client(timeout=WAIT_SECONDS, trust_env=False) as client:

            def is_ready() -> bool:
                assert child.poll() is None, "the server ended"
                try:
                    return client.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
                except httpx2.TransportError:
                    return False

            wait_for(is_ready)
            response = client.post(
                f"http://127.0.0.1:{port}/v1/translate", json={"text": "I go home."}, headers=headers
            )
            assert response.status_code == 200, response.text
            assert response.json()["translations"]
    finally:
        child.terminate()
        child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode == 0


def small_train(*arguments: Any, settings: Sequence[str] = (), **options: Any) -> Any:
    """Train with the rule of this module, from Python."""
    options.pop("budget", None)
    words = shorten_training(["train", *set_flags(*settings)])
    return TRAIN_FUNCTION(*arguments, settings=[word for word in words if "=" in word], **options)


TRAIN_FUNCTION, GRID_FUNCTION = tongsa.train, tongsa.train_grid


def small_grid(*arguments: Any, **options: Any) -> Any:
    """Train a grid with the rule of this module, from Python."""
    options.pop("budget", None)
    words = shorten_training(["train"])
    return GRID_FUNCTION(*arguments, settings=[word for word in words if "=" in word], **options)


EXAMPLES = [(page, blocks) for page, blocks in python_examples() if Path(page).name not in PAGES_RUN_ELSEWHERE]


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")  # of transformers
@pytest.mark.parametrize(("page", "blocks"), EXAMPLES, ids=[page for page, _ in EXAMPLES])
def test_python_examples_of_a_page_run_in_their_order(
    page: str, blocks: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [block for block in blocks if not any(part in block for part in PYTHON_NOT_RUN)]
    if "export" in page:
        for target in ("ctranslate2", "huggingface"):
            assert run_command("export", "runs/mine", "--to", target, cwd=folder).code == 0
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tongsa, "train", small_train)
    monkeypatch.setattr(tongsa, "train_grid", small_grid)
    if "serving" in page:
        with live_server(folder / "runs/en-ko") as server:
            run_blocks([block.replace("http://127.0.0.1:8000", server.url) for block in blocks], folder)
    else:
        run_blocks(blocks, folder)


def run_blocks(blocks: Sequence[str], folder: Path) -> None:
    """Run the blocks as one program, with the names that the text of a page introduces."""
    program = folder / "example.py"
    program.write_text("\n".join(blocks), "utf-8")
    runpy.run_path(str(program), {"tongsa": tongsa, "texts": ["I go home"]})


def test_what_is_not_run_stands_in_the_documents() -> None:
    commands = documented_commands()
    assert [part for part in NOT_RUN if not any(part in command for command in commands)] == []
    code = "\n".join(block for _, blocks in python_examples() for block in blocks)
    assert [part for part in PYTHON_NOT_RUN if part not in code] == []
    assert len(commands) > 100
    for page, test in PAGES_RUN_ELSEWHERE.items():
        assert page in (ROOT / test).read_text("utf-8")
