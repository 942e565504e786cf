"""Sentences per second of a model without a server, in a process of its own: the baseline of serve_load.py.

    python benchmarks/offline_rate.py runs/mine --texts input.txt --seconds 5

All texts are translated in one call, again and again; loading the model is not counted. Prints JSON.
"""

import argparse
import json
import time
from pathlib import Path

import tongsa


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="file with one sentence per line")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--engine", choices=["auto", "torch", "ctranslate2", "ctranslate2-int8"], default="auto")
    options = parser.parse_args()
    translator = tongsa.load(options.run, engine=options.engine, task="seq2seq")
    texts = options.texts.read_text("utf-8").splitlines()
    translator.translate(texts[:64])  # warm-up
    count, start, cpu_start = 0, time.monotonic(), time.process_time()
    while time.monotonic() < start + options.seconds or not count:
        translator.translate(texts)
        count += len(texts)
    seconds, cpu_seconds = time.monotonic() - start, time.process_time() - cpu_start
    engine = translator.engine.name if translator.engine else "torch"
    print(json.dumps({"engine": engine, "sentences": count, "seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main()
