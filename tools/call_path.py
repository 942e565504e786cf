"""Measure the call path from the command line and from HTTP to beam search.

Prints two numbers: the stack frames of the package from `run` of `tongsa translate` to `beam_search`, and its modules
from an HTTP route to `beam_search`. Both are recorded during a translation by a tiny model with random weights.
The HTTP path has three stacks: the coroutines of the route, the task that puts a sentence into the queue of the model,
and the model's worker thread.

Usage: python tools/call_path.py [--list]; `--list` prints the frames and modules, too.
"""

import asyncio
import contextlib
import io
import json
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import torch
import uvicorn

import tongsa
from tongsa import bundle, cli
from tongsa.decoding import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.engines import torch as torch_engine
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.server.app import create_app
from tongsa.server.config import ServerConfig
from tongsa.server.main import create_context, listener_url, open_listener, uvicorn_config
from tongsa.server.model_pool import parse_model_sources
from tongsa.server.queue import ModelQueue
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

PACKAGE = Path(tongsa.__file__).parent


def package_frames(frame: FrameType | None) -> list[tuple[str, str]]:
    """Return (module, function) of each frame of the package on a stack, outermost first."""
    frames = []
    while frame is not None:
        if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            frames.append((frame.f_globals["__name__"], frame.f_code.co_name))
        frame = frame.f_back
    return frames[::-1]


def waiting_modules() -> list[str]:
    """Return the modules of the package in the coroutines that wait in this event loop, outermost first."""
    modules = []
    for task in asyncio.all_tasks():
        coroutine: Any = task.get_coro()
        while (frame := getattr(coroutine, "cr_frame", None)) is not None:
            if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
                modules.append(frame.f_globals["__name__"])
            coroutine = coroutine.cr_await
    return modules


class StackRecorder:
    """A function that records the stack of its first call and then calls another function."""

    def __init__(self, function: Any, name: str) -> None:
        self.function, self.name = function, name
        self.frames: list[tuple[str, str]] = []
        self.waiting: list[str] = []

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not self.frames:
            self.frames = [*package_frames(sys._getframe(1)), (self.function.__module__, self.name)]
            with contextlib.suppress(RuntimeError):  # not in an event loop
                self.waiting = waiting_modules()
        return self.function(*arguments, **keywords)


def save_tiny_model(folder: Path) -> Path:
    torch.manual_seed(1)
    tokenizer = train_tokenizer(["a b c"], TokenizerConfig(vocab_size=300))
    config = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1)
    tiny = bundle.Bundle(
        kind="transformer",
        config=config,
        model=config.build(len(tokenizer), len(tokenizer)).eval(),
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        decoding=DecodingConfig(beam=2, max_extra_tokens=3),
        source_language="en",
        target_language="ko",
    )
    bundle.save_bundle(folder, tiny, "")
    return folder


@contextlib.contextmanager
def record_search() -> Iterator[StackRecorder]:
    recorder = StackRecorder(beam_search.beam_search, "beam_search")
    with mock.patch.object(torch_engine, "beam_search", recorder):
        yield recorder


def command_line_path(model: Path) -> list[tuple[str, str]]:
    """Return the frames from `run` of `tongsa translate` to `beam_search`, both included."""
    text = model.parent / "input.txt"
    text.write_text("a b c\n", "utf-8")
    with record_search() as search, contextlib.redirect_stdout(io.StringIO()):
        code = cli.main(["translate", str(model), str(text), "--engine", "torch"])
    if code:
        sys.exit(code)
    return search.frames[search.frames.index(("tongsa.cli.translate", "run")) :]


def http_path(model: Path) -> list[str]:
    """Return the modules from the route of /v1/translate to `beam_search`, both included."""
    config = ServerConfig(port=0, engine="torch")
    context = create_context(parse_model_sources([str(model)]), config)
    server = uvicorn.Server(uvicorn_config(create_app(context, lambda _: None), config))
    submit = StackRecorder(ModelQueue.submit, "submit")
    with (
        open_listener(config) as listener,
        record_search() as search,
        mock.patch.object(ModelQueue, "submit", lambda *arguments: submit(*arguments)),
    ):
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            while not context.models.is_ready:
                time.sleep(0.01)
            _post(f"{listener_url(listener)}/v1/translate", {"text": "a b c"})
        finally:
            server.should_exit = True
            thread.join()
    stacks = [*submit.waiting, *(module for module, _ in (*submit.frames, *search.frames))]
    return list(dict.fromkeys(stacks[stacks.index("tongsa.server.api.v1") :]))


def _post(url: str, body: dict[str, str]) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own server
    with urllib.request.urlopen(request) as response:  # noqa: S310
        response.read()


def main() -> None:
    torch.set_num_threads(1)  # with more, the search runs in another thread with a shorter stack
    with tempfile.TemporaryDirectory() as folder:
        model = save_tiny_model(Path(folder) / "model")
        frames, modules = command_line_path(model), http_path(model)
    print(f"frames from tongsa translate to beam_search: {len(frames)}")
    print(f"modules from an HTTP route to beam_search: {len(modules)}")
    if "--list" in sys.argv[1:]:
        print("", *(f"{module}.{function}" for module, function in frames), "", *modules, sep="\n")


if __name__ == "__main__":
    main()
