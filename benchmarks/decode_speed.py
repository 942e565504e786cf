"""Decoding speed of a trained model, compared with CTranslate2 and the `generate` of transformers.

    python benchmarks/decode_speed.py [--json]                          trains two models first
    python benchmarks/decode_speed.py runs/multi30k                     e.g. a run of recipes/multi30k-de-en.toml
    python benchmarks/decode_speed.py runs/multi30k --recipe runs/fast  and a run made for speed, with its
                                                                        shortlist if it has one
    python benchmarks/decode_speed.py runs/news --texts news.de --references news.en --json     another task
    python benchmarks/decode_speed.py --record                          write to benchmarks/results/decoding.json

Without a run, it trains recipes/multi30k-de-en.toml and its student recipes/multi30k-fast.toml for --budget each, and
keeps both in runs/decode_speed.

The time is measured from text to text, tokenization included, on torch's number of threads: torch and CTranslate2
decode batches in parallel, one thread each. The setting "1 thread" is the speed per core. `ctranslate2_…` is the
library itself: one call, batches of 64, its length penalty, one hypothesis; `tongsa_ctranslate2` is `Translator` with
this engine. Contestants take turns; figures are medians, ratios are computed within a round and reported with the
lowest and the highest. Batch 1 translates the first --few sentences one after another. BLEU is reported if there are
references. `generate` runs Marian of transformers with the same sizes and random weights. Its outputs have the mean
length of ours, so only its tokens per second are comparable.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import torch
from machine import machine
from pareto import significance
from record import add_options, check_task, record, training_seed
from rows import decode_speed_rows

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.corpus import read_lines
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine
from tongsa.decoding.engines.ctranslate2_files import load_metadata
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.metrics import bleu
from tongsa.export import export
from tongsa.tokenization.special import EOS

TEXTS = Path(__file__).parent.parent.parent / "shared/data/multi30k/test_2016_flickr.de"
RECIPES = Path(__file__).parent.parent / "recipes"
MODELS = Path("runs/decode_speed")
"""Folder of the models that this script trains."""
BEAMS = (1, 5)
PER_CORE = "batch 64, 1 thread"
BATCHES = ("batch 64", "batch 1", PER_CORE)
Table = dict[str, Any]
Output = tuple[str, int]
"""A text and its number of target tokens, with </s>."""
Work = Callable[[list[str], int], list[Output]]
"""Translate texts with a beam."""


@dataclass
class Contestant:
    name: str
    work: Work
    """On torch's number of threads."""
    work_per_core: Work | None
    """On one thread; None if only batches on all threads are measured."""
    rounds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """Setting → (sentences, tokens) per second of each round."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Setting → outputs of the last round."""

    def measure(self, beam: int, batch: str, texts: list[str]) -> None:
        """Measure a setting, on the first texts with a batch of 1."""
        setting, threads = f"beam {beam}, {batch}", torch.get_num_threads()
        work = self.work_per_core if batch == PER_CORE else self.work
        torch.set_num_threads(1 if batch == PER_CORE else threads)
        start = perf_counter()
        outputs = [work([text], beam)[0] for text in texts] if batch == "batch 1" else work(texts, beam)
        seconds = perf_counter() - start
        torch.set_num_threads(threads)
        tokens = sum(count for _, count in outputs)
        self.rounds.setdefault(setting, []).append((len(texts) / seconds, tokens / seconds))
        self.texts[setting] = [text for text, _ in outputs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="folder of a run that translates with a Transformer")
    parser.add_argument("--recipe", type=Path, help="a run made for speed: exported to int8, decoded greedily")
    parser.add_argument("--texts", type=Path, default=TEXTS, help="default: Multi30k's 1,000 German test sentences")
    parser.add_argument("--references", type=Path, help="default: FILE.en for FILE.de, if it exists")
    parser.add_argument(
        "--budget", default="10m", help="training time of each model that is trained here (default: 10m)"
    )
    parser.add_argument("--few", type=int, default=100, help="sentences for a batch of 1 (default: 100)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    options = parser.parse_args()
    check_task(
        parser,
        options,
        differs=options.texts.name != TEXTS.name or bool(options.references),
        task=f"the sentences of {TEXTS.name}",
    )
    try:
        if options.run is None:
            options.run, options.recipe = train_model(options.budget), options.recipe or distil_student(options.budget)
        report = run_benchmark(options)
    except InputError as error:
        print(f"decode_speed: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    if options.record:
        record("decoding", decode_speed_rows(report), options.results)
    return 0


def train_model(budget: str) -> Path:
    recipe = RECIPES / "multi30k-de-en.toml"
    settings = ("--set", "data.test=[]", "--set", f"data.folder={TEXTS.parent}")
    return ensure_run(MODELS / "plain", "train", str(recipe), *settings, "--budget", budget)


def distil_student(budget: str) -> Path:
    settings = ("--set", "data.test=[]", "--set", f"data.folder={TEXTS.parent}")
    flags = ("--init-from-teacher", "--keep-references", "--nbest", "2", *settings, "--budget", budget)
    run = ensure_run(
        MODELS / "fast", "distil", str(MODELS / "plain"), "--recipe", str(RECIPES / "multi30k-fast.toml"), *flags
    )
    if not bundle.load_bundle(run).load_shortlist():
        tongsa("shortlist", str(run), "--data", *(str(TEXTS.parent / f"train.{side}.gz") for side in ("de", "en")))
    return run


def ensure_run(run: Path, *command: str) -> Path:
    """Run the command unless the run exists; return its folder."""
    if not run.exists():
        tongsa(*command, "--run", str(run))
    return run


def tongsa(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tongsa.cli", *command], stdout=sys.stderr)
    if done.returncode:
        raise InputError(f"tongsa {command[0]}: exit code {done.returncode}. Its messages are above.")


def run_benchmark(options: argparse.Namespace) -> Table:
    loaded, texts = bundle.load_bundle(options.run), list(read_lines(options.texts))
    with tempfile.TemporaryDirectory() as folder:
        contestants = [*ours(loaded, Path(folder)), *generate(options.run, texts)]
        if options.recipe:
            contestants.append(
                engine_contestant("recipe", with_shortlist(bundle.load_bundle(options.recipe)), Path(folder), int8=True)
            )
        for contestant in contestants:
            contestant.work(texts[:32], 1)  # warm-up
            if contestant.work_per_core:
                contestant.work_per_core(texts[:32], 1)
        for number in range(1, options.rounds + 1):
            for beam, batch in product(BEAMS, BATCHES):  # the contestants of a setting are adjacent
                for contestant in contestants:
                    if batch == "batch 64" or contestant.work_per_core:
                        contestant.measure(beam, batch, texts[: options.few] if batch == "batch 1" else texts)
                        sentences, tokens = contestant.rounds[f"beam {beam}, {batch}"][-1]
                        speed = f"{sentences:8.1f} sentences/s {tokens:9,.0f} tokens/s"
                        where = f"round {number}  beam {beam}, {batch:18}"
                        print(f"{where}  {contestant.name:20} {speed}", file=sys.stderr, flush=True)
    return make_report({contestant.name: contestant for contestant in contestants}, options) | {"texts": len(texts)}


def ours(loaded: Bundle, folder: Path) -> list[Contestant]:
    translate = make_work(loaded.translator())
    return [
        Contestant("torch", translate, translate),
        library_contestant("ctranslate2_float32", loaded, folder, int8=False),
        library_contestant("ctranslate2_int8", loaded, folder, int8=True),
        engine_contestant("tongsa_ctranslate2", loaded, folder, int8=False),
    ]


def library_contestant(name: str, loaded: Bundle, folder: Path, *, int8: bool) -> Contestant:
    """CTranslate2 as its documentation uses it."""
    import ctranslate2

    path = export(loaded.folder, "ctranslate2", folder / name, int8=int8)  # type: ignore[arg-type]
    max_length = load_metadata(path).exported_positions - 1

    def on_threads(count: int) -> Work:
        threads = torch.get_num_threads()
        translator = ctranslate2.Translator(str(path), inter_threads=count, intra_threads=1)
        torch.set_num_threads(threads)  # CTranslate2 changes it

        def work(texts: list[str], beam: int) -> list[Output]:
            rows = [[str(token) for token in (*row, EOS)] for row in loaded.source_tokenizer.encode_all(texts)]
            limit = min(max(map(len, rows)) + loaded.decoding.max_extra_tokens, max_length)
            results = translator.translate_batch(rows, max_batch_size=64, beam_size=beam, max_decoding_length=limit)
            outputs = [[int(token) for token in result.hypotheses[0]] for result in results]
            return [(loaded.target_tokenizer.decode(output), len(output) + 1) for output in outputs]

        return work

    return Contestant(name, on_threads(torch.get_num_threads()), on_threads(1))


def with_shortlist(loaded: Bundle) -> Bundle:
    """Return the bundle with its shortlist enabled, if it has one."""
    return replace(loaded, decoding=replace(loaded.decoding, shortlist=loaded.load_shortlist() is not None))


def engine_contestant(name: str, loaded: Bundle, folder: Path, *, int8: bool) -> Contestant:
    path = export(loaded.folder, "ctranslate2", folder / name, int8=int8)  # type: ignore[arg-type]

    def on_threads(count: int) -> Work:
        translator = Translator(
            loaded.model,
            loaded.source_tokenizer,
            loaded.target_tokenizer,
            loaded.decoding,
            engine=CTranslate2Engine(path, count, loaded.shortlist_sha256),
            load_shortlist=loaded.load_shortlist,
        )
        return make_work(translator)

    return Contestant(name, on_threads(torch.get_num_threads()), on_threads(1))


def make_work(translator: Translator) -> Work:
    def work(texts: list[str], beam: int) -> list[Output]:
        return [(result.text, len(result.tokens) + 1) for result in translator.translate(texts, beam=beam)]

    return work


def generate(run: Path, texts: list[str]) -> list[Contestant]:
    """Marian of the same sizes, if transformers is installed."""
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        return []
    loaded = bundle.load_bundle(run)
    config, translator = loaded.config, loaded.translator()
    length = round(sum(len(result.tokens) + 1 for result in translator.translate(texts[:100], beam=1)) / 100)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(loaded.source_tokenizer),
            decoder_vocab_size=len(loaded.target_tokenizer),
            d_model=config.width,  # type: ignore[attr-defined]
            encoder_layers=config.encoder_layers,  # type: ignore[attr-defined]
            decoder_layers=config.decoder_layers,  # type: ignore[attr-defined]
            encoder_attention_heads=config.heads,  # type: ignore[attr-defined]
            decoder_attention_heads=config.heads,  # type: ignore[attr-defined]
            encoder_ffn_dim=config.ffn_width,  # type: ignore[attr-defined]
            decoder_ffn_dim=config.ffn_width,  # type: ignore[attr-defined]
            share_encoder_decoder_embeddings=False,
            tie_word_embeddings=False,
            pad_token_id=0,
            eos_token_id=2,
            forced_eos_token_id=2,
            decoder_start_token_id=1,
            max_position_embeddings=512,
        )
    ).eval()

    def work(texts: list[str], beam: int) -> list[Output]:
        rows = sorted(loaded.source_tokenizer.encode_all(texts), key=len)
        outputs: list[Output] = []
        for start in range(0, len(rows), 64):
            batch = [[*row, 2] for row in rows[start : start + 64]]
            length_limit = max(map(len, batch))
            tokens = torch.tensor([row + [0] * (length_limit - len(row)) for row in batch])
            with torch.inference_mode():
                generated = model.generate(
                    tokens, attention_mask=tokens != 0, num_beams=beam, min_new_tokens=length, max_new_tokens=length
                )
            outputs += [("", generated.shape[1] - 1)] * len(batch)  # the text of random weights is useless
        return outputs

    return [Contestant("generate", work, None)]


def make_report(contestants: dict[str, Contestant], options: argparse.Namespace) -> Table:
    reference_file = options.references or options.texts.with_suffix(".en")
    has_references = options.references or (reference_file != options.texts and reference_file.exists())
    references = list(read_lines(reference_file)) if has_references else []

    def score(texts: list[str]) -> Table:
        """Return BLEU if there are references for all texts."""
        return {"bleu": round(bleu(texts, references).value, 2)} if len(texts) == len(references) and any(texts) else {}

    rows = {
        name: {
            setting: {
                "sentences_per_second": median(s for s, _ in rounds),
                "tokens_per_second": median(t for _, t in rounds),
                "sentences_per_second_rounds": [s for s, _ in rounds],
                "tokens_per_second_rounds": [t for _, t in rounds],
            }
            | score(contestant.texts[setting])
            for setting, rounds in contestant.rounds.items()
        }
        for name, contestant in contestants.items()
    }

    return ratios(contestants) | {
        "recipe_bleu_p": bleu_p_value(contestants, references),
        "contestants": rows,
        "text_file": options.texts.name,
        "student": describe_student(options.recipe) if options.recipe else None,
        "seeds": training_seed(options.run),
        "rounds": options.rounds,
        "machine": machine() | {"threads": torch.get_num_threads()},
    }


class Comparison(NamedTuple):
    """Two contestants and the beams that they are compared with."""

    ours: str
    theirs: str
    beams: tuple[int, int] = (5, 5)
    unit: int = 0
    """0: sentences per second; 1: tokens per second."""


COMPARISONS = {
    "torch_to_ctranslate2_float32": Comparison("torch", "ctranslate2_float32"),
    "torch_to_ctranslate2_float32_greedy": Comparison("torch", "ctranslate2_float32", (1, 1)),
    "torch_to_generate": Comparison("torch", "generate", unit=1),
    "recipe_to_ctranslate2_int8": Comparison("recipe", "ctranslate2_int8", (1, 5)),
}
SUFFIXES = {"": "batch 64", "_batch_1": "batch 1", "_per_core": PER_CORE}


def ratios(contestants: dict[str, Contestant]) -> Table:
    """Return the median ratio over the rounds and its range, for each comparison and batch; None if not measured."""
    table: Table = {}
    for (name, (ours, theirs, beams, unit)), (suffix, batch) in product(COMPARISONS.items(), SUFFIXES.items()):
        mine, others = (
            contestants[who].rounds.get(f"beam {beam}, {batch}", []) if who in contestants else []
            for who, beam in zip((ours, theirs), beams, strict=True)
        )
        pairs = zip(mine, others, strict=True) if mine and others else ()
        values = [our_round[unit] / their_round[unit] for our_round, their_round in pairs]
        table[f"{name}{suffix}"] = round(median(values), 3) if values else None
        table[f"{name}{suffix}_range"] = [round(min(values), 3), round(max(values), 3)] if values else None
    return table


def describe_student(run: Path) -> Table:
    loaded = bundle.load_bundle(run)
    layers = f"{loaded.config.encoder_layers}+{loaded.config.decoder_layers}"  # type: ignore[attr-defined]
    return {"layers": layers, "shortlist": loaded.load_shortlist() is not None, "seeds": training_seed(run)}


def bleu_p_value(contestants: dict[str, Contestant], references: list[str]) -> float | None:
    """Return the p-value of the BLEU difference between the recipe, greedy, and CTranslate2 int8 with beam 5."""
    pair = [("ctranslate2_int8", "beam 5, batch 64"), ("recipe", "beam 1, batch 64")]
    texts = [contestants[name].texts[setting] for name, setting in pair if name in contestants]
    return significance(*texts, references) if len(texts) == 2 and len(references) == len(texts[0]) else None


def as_text(report: Table) -> str:
    host = report["machine"]
    settings = [f"beam {beam}, {batch}" for beam, batch in product(BEAMS, BATCHES)]
    lines = [
        f"{report['text_file']}: {report['texts']:,} texts, {report['rounds']} rounds; {host['cpu']}, "
        f"{host['threads']} threads, torch {host['torch']}, {host['date']}; sentences/s (tokens/s) BLEU",
        "",
        f"| contestant | {' | '.join(settings)} |",
        "|---|" + "--:|" * len(settings),
    ]
    for name, row in report["contestants"].items():
        lines.append(
            f"| {name} | {' | '.join(cell(row[setting]) if setting in row else '–' for setting in settings)} |"
        )
    names = [f"{name}{suffix}" for name, suffix in product(COMPARISONS, SUFFIXES)]
    ranges = {name: "–".join(map(str, report[f"{name}_range"] or ())) for name in names}
    lines += ["", *(f"{name}: {report[name]} ({ranges[name]})" for name in names if ranges[name])]
    if report["recipe_bleu_p"] is not None:
        lines.append(f"recipe_bleu_p: {report['recipe_bleu_p']}")
    return "\n".join(lines)


def cell(figures: Table) -> str:
    score = f" {figures['bleu']:.2f}" if "bleu" in figures else ""
    return f"{figures['sentences_per_second']:,.0f} ({figures['tokens_per_second']:,.0f}){score}"


if __name__ == "__main__":
    sys.exit(main())
