"""Jobs of translation in processes of their own, over an input that is quickly translated and takes many chunks."""

import json
import random
import subprocess
import time
from pathlib import Path

import torch

from tongsa import bundle
from tongsa.decoding.config import DecodingConfig
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

WORDS = ["a", "b", "c", "ab", "가", "나", "다", "나는", "집에", "간다", "🙂"]


def write_model(folder: Path, seed: int = 1) -> Path:
    """Random weights: what it says is nonsense, but it says the same of the same."""
    torch.manual_seed(seed)
    pieces = train_tokenizer([" ".join(WORDS)] * 3, TokenizerConfig(vocab_size=300))
    config = TransformerConfig(
        width=16, ffn_width=32, heads=4, encoder_layers=1, decoder_layers=1, positions="learned", max_positions=40
    )
    model = config.build(len(pieces), len(pieces)).eval()
    decoding = DecodingConfig(beam=2, max_extra_tokens=3)
    made = bundle.Bundle(
        kind="transformer",
        config=config,
        model=model,
        source_tokenizer=pieces,
        target_tokenizer=pieces,
        decoding=decoding,
    )
    bundle.save_bundle(folder, made, "")
    return folder


def long_lines(count: int, width: int = 10_000) -> str:
    """Lines that are quickly translated and take much room: a chunk holds few of them, so a short job has many."""
    generator = random.Random(count)
    texts = (" ".join(generator.choices(WORDS, k=generator.randint(0, 9))) for _ in range(count))
    return "".join(f"{text}{' ' * width}\n" for text in texts)


def command(place: Path, output: str, *more: str) -> list[str]:
    return ["translate", str(place / "model"), str(place / "in.txt"), "-o", str(place / output), *more]


def done(output: Path) -> int:
    try:
        return int(json.loads(Path(f"{output}.journal.json").read_text("utf-8"))["position"]["lines"])
    except FileNotFoundError:
        return 0


def wait_for(output: Path, lines: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None and done(output) < lines:
        time.sleep(0.001)


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    _, messages = process.communicate(timeout=300)
    return process.returncode, messages.decode()
