"""Memory of prepared data: neither the texts nor the tokens of a corpus stay in memory."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from processes import ENVIRONMENT
from tongsa import system

PAIRS, PAIRS_BEFORE = 16_000, 3_000
WORDS = ("red", "green", "blue", "white", "black", "early", "late", "small", "large", "quick", "slow", "house", "river")
TEXT_WORDS = 200
"""Words of each text: a pair has about 3,100 bytes of texts and tokens."""
MAX_BYTES_PER_PAIR = 1_000
"""The arrays of all pairs take less than 100, but free memory in pieces moves the peak of a process by some MiB."""
MEASURE = """
import sys
from pathlib import Path
from tongsa import system
from tongsa.runs import tokenized_pairs
from tongsa.runs.data import prepare_data
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.recipe import parse_recipe
from tongsa.runs.run import create_run
from tongsa.training.data_loader import iterate_batches
from tongsa.training.loop import DataPosition

tokenized_pairs.ENCODED_BLOCK_PAIRS = 100
MODEL = {"kind": "transformer", "width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}

def read_one_epoch(corpus, folder):
    data = {"train": [str(corpus)], "max_tokens": 1000, "cache": str(folder / "cache")}
    data |= {"source_language": "en", "target_language": "en"}
    tokenizer = {"vocab_size": 350, "training_texts": 500}
    training = {"device": "cpu", "batch_tokens": 4000, "steps": 1}
    recipe = parse_recipe({"data": data, "tokenizer": tokenizer, "model": MODEL, "training": training})
    prepared = prepare_data(recipe, folder)
    create_run(folder, recipe, prepared)
    batches = iterate_batches(EpochExamples(prepared, recipe), batch_tokens=4000, seed=1, start=DataPosition())
    return next(position for position, _ in batches if position.epoch)

folder = Path(sys.argv[1])
read_one_epoch(folder / "before.tsv", folder / "before")
before = system.peak_memory()
read_one_epoch(folder / "pairs.tsv", folder / "run")
print(system.peak_memory() - before)
"""


def write_corpus(path: Path, pairs: int) -> None:
    generator = Random(1)
    texts = [" ".join(generator.choices(WORDS, k=TEXT_WORDS)) for _ in range(500)]
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{texts[i % 500]}\t{texts[(i + 1) % 500]}\n" for i in range(pairs))


@pytest.mark.skipif(system.peak_memory() is None, reason="Python cannot measure memory here")
def test_preparing_and_reading_an_epoch_keeps_no_texts_and_no_tokens_in_memory(tmp_path: Path) -> None:
    """A smaller corpus goes first in the same process, so the peak already has what does not depend on the corpus."""
    write_corpus(tmp_path / "before.tsv", PAIRS_BEFORE)
    write_corpus(tmp_path / "pairs.tsv", PAIRS)
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    environment = ENVIRONMENT | {"MALLOC_ARENA_MAX": "1"}  # else each thread keeps free memory of its own
    result = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < MAX_BYTES_PER_PAIR * PAIRS, f"{int(result.stdout) / PAIRS:,.0f} bytes per pair"
