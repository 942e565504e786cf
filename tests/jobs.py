"""Translation jobs in separate processes, on an input with many chunks that is translated quickly."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch

from tongsa import bundle
from tongsa.cli import main
from tongsa.decoding.config import DecodingConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

WORDS = ["a", "b", "c", "ab", "가", "나", "다", "나는", "집에", "간다", "🙂"]


def write_model(folder: Path, seed: int = 1) -> Path:
    """Save a model with random weights: its outputs are nonsense, but always the same."""
    torch.manual_seed(seed)
    tokenizer = train_tokenizer([" ".join(WORDS)] * 3, TokenizerConfig(vocab_size=300))
    config = TransformerConfig(
        width=16, ffn_width=32, heads=4, encoder_layers=1, decoder_layers=1, positions="learned", max_positions=40
    )
    model_bundle = bundle.Bundle(
        kind="transformer",
        config=config,
        model=config.build(len(tokenizer), len(tokenizer)).eval(),
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        decoding=DecodingConfig(beam=2, max_extra_tokens=3),
    )
    bundle.save_bundle(folder, model_bundle, "")
    return folder


def long_lines(count: int, width: int = 10_000) -> str:
    """Return lines with few words and much white space: a chunk has few of them, so a short job has many chunks."""
    generator = random.Random(count)
    texts = (" ".join(generator.choices(WORDS, k=generator.randint(0, 9))) for _ in range(count))
    return "".join(f"{text}{' ' * width}\n" for text in texts)


def command(folder: Path, output: str, *options: str) -> list[str]:
    """Return the arguments that translate folder/in.txt to folder/output."""
    return ["translate", str(folder / "model"), str(folder / "in.txt"), "-o", str(folder / output), *options]


def lines_done(output: Path) -> int:
    """Return the number of lines that the journal of an output records."""
    try:
        return int(json.loads(Path(f"{output}.journal.json").read_text("utf-8"))["progress"]["lines"])
    except FileNotFoundError:
        return 0


class Pollable(Protocol):
    def poll(self) -> int | None: ...


def wait_for(output: Path, lines: int, process: Pollable) -> None:
    """Wait until a job has written this many lines, or has ended."""
    while process.poll() is None and lines_done(output) < lines:
        time.sleep(0.001)


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Wait for a process; return its exit code and its messages."""
    _, messages = process.communicate(timeout=300)
    return process.returncode, messages.decode()


class ForkedCommand:
    """A `tongsa` command in a forked process: a real process to signal, without importing torch again."""

    def __init__(
        self,
        arguments: list[str],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        """File descriptors replace the standard streams; `prepare` is called in the new process."""
        self.messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed by finish
        self.returncode: int | None = None
        streams = {0: stdin, 1: stdout, 2: self.messages.fileno() if stderr is None else stderr}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
            self.pid = os.fork()
        if self.pid == 0:
            _run_and_exit(arguments, streams, prepare)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def send_signal(self, signum: int) -> None:
        os.kill(self.pid, signum)

    def finish(self) -> tuple[int, str]:
        """Wait for the process; return its exit code and its messages."""
        while (code := self.poll()) is None:
            time.sleep(0.001)
        with self.messages as file:
            file.seek(0)
            return code, file.read().decode()


def _run_and_exit(arguments: list[str], streams: dict[int, int | None], prepare: Callable[[], None]) -> None:
    code = 1
    try:
        for fd, stream in streams.items():
            if stream is not None:
                os.dup2(stream, fd)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        prepare()
        code = main(arguments)
        sys.stdout.flush()
    finally:
        os._exit(code)  # no clean-up of the test process in its copy
