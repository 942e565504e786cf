"""How fast a trained model translates, beside CTranslate2 and transformers' `generate`, in the same minutes.

    python benchmarks/decode_speed.py [--json]                          two models of its own, trained for minutes
    python benchmarks/decode_speed.py runs/multi30k                     a run of recipes/multi30k-de-en.toml, say
    python benchmarks/decode_speed.py runs/multi30k --recipe runs/fast  and a run that was made to be fast, with its
                                                                        shortlist where it has one

Without a run it trains one by recipes/multi30k-de-en.toml, and a student of it by recipes/multi30k-fast.toml, for
--budget each, and keeps both in runs/decode_speed for the next time.

Text in, text out, pieces included, on the threads that torch takes: torch and CTranslate2 search batches side by side
on one thread each. `ctranslate2_…` is the library itself: all pieces in one call, batches of 64, its own length
penalty, one hypothesis back; `tongsa_ctranslate2` is what `Translator` makes of it. Contestants take turns, round by
round; figures are medians, ratios those of one round. A batch of 1 is one sentence after another, as somebody who types
would have it, on the first --few sentences. Where references stand beside the texts (FILE.en beside FILE.de), so does
the BLEU of what was measured. `generate` has no model of ours to run unless it is post-norm: it runs
transformers' Marian of the same sizes with drawn weights to the mean length of our outputs, so for it tokens a second
are compared.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from machine import machine
from pareto import significance

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.corpus import read_lines
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine, load_metadata
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.metrics import bleu
from tongsa.export import export
from tongsa.tokenization.special import EOS

TEXTS = Path(__file__).parent.parent.parent / "shared/data/multi30k/test_2016_flickr.de"
RECIPES = Path(__file__).parent.parent / "recipes"
OWN = Path("runs/decode_speed")
"""Where models are kept that nobody gave."""
BEAMS = (1, 5)
Table = dict[str, Any]
Output = tuple[str, int]
"""A text, and how many target tokens it is, </s> included."""


@dataclass
class Contestant:
    name: str
    work: Callable[[list[str], int], list[Output]]
    """Translate texts with a beam."""
    rounds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """Setting → (sentences, tokens) a second, round by round."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Setting → what came out the last time."""

    def measure(self, setting: str, texts: list[str], beam: int, *, singly: bool) -> None:
        began = perf_counter()
        outputs = [self.work([text], beam)[0] for text in texts] if singly else self.work(texts, beam)
        seconds = perf_counter() - began
        tokens = sum(count for _, count in outputs)
        self.rounds.setdefault(setting, []).append((len(texts) / seconds, tokens / seconds))
        self.texts[setting] = [text for text, _ in outputs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="folder of a run that translates with a Transformer")
    parser.add_argument("--recipe", type=Path, help="a run made to be fast: exported to int8, searched greedily")
    parser.add_argument("--texts", type=Path, default=TEXTS, help="default: Multi30k's 1,000 German test sentences")
    parser.add_argument("--budget", default="10m", help="for each model that is trained here (default: 10m)")
    parser.add_argument("--few", type=int, default=100, help="sentences for a batch of 1 (default: 100)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    options = parser.parse_args()
    try:
        if options.run is None:
            options.run, options.recipe = trained(options.budget), options.recipe or distilled(options.budget)
        report = measured(options)
    except InputError as error:
        print(f"decode_speed: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def trained(budget: str) -> Path:
    recipe = RECIPES / "multi30k-de-en.toml"
    run = made(OWN / "plain", "train", str(recipe), "--set", "data.test=[]", "--budget", budget)
    export(run, "ctranslate2")  # the student's sources are translated faster so
    return run


def distilled(budget: str) -> Path:
    how = ("--init-from-teacher", "--keep-references", "--nbest", "2", "--set", "data.test=[]", "--budget", budget)
    run = made(OWN / "fast", "distil", str(OWN / "plain"), "--recipe", str(RECIPES / "multi30k-fast.toml"), *how)
    if not bundle.load_bundle(run).load_shortlist():
        tongsa("shortlist", str(run), "--data", *(str(TEXTS.parent / f"train.{side}.gz") for side in ("de", "en")))
    return run


def made(run: Path, *command: str) -> Path:
    """The run, by this command unless it is there; its progress goes where ours does."""
    if not run.exists():
        tongsa(*command, "--run", str(run))
    return run


def tongsa(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tongsa.cli", *command], stdout=sys.stderr)
    if done.returncode:
        raise InputError(f"tongsa {command[0]} ended with code {done.returncode}; its last words are above")


def measured(options: argparse.Namespace) -> Table:
    loaded, texts = bundle.load_bundle(options.run), list(read_lines(options.texts))
    with tempfile.TemporaryDirectory() as folder:
        contestants = [*ours(loaded, Path(folder)), *generate(options.run, texts)]
        if options.recipe:
            contestants.append(exported("recipe", listing(bundle.load_bundle(options.recipe)), Path(folder), int8=True))
        for one in contestants:
            one.work(texts[:32], 1)  # everything is loaded and warm
        for number in range(1, options.rounds + 1):
            for beam in BEAMS:
                for one in contestants:
                    one.measure(f"beam {beam}, batch 64", texts, beam, singly=False)
                    if one.name != "generate":
                        one.measure(f"beam {beam}, batch 1", texts[: options.few], beam, singly=True)
                    sentences, tokens = one.rounds[f"beam {beam}, batch 64"][-1]
                    speed = f"{sentences:8.1f} sentences/s {tokens:9,.0f} tokens/s"
                    print(f"round {number}  beam {beam}  {one.name:20} {speed}", file=sys.stderr, flush=True)
    return reported({one.name: one for one in contestants}, options) | {"texts": len(texts)}


def ours(loaded: Bundle, folder: Path) -> list[Contestant]:
    translator = loaded.translator(engine="torch")
    return [
        Contestant("torch", counted(translator)),
        itself("ctranslate2_float32", loaded, folder, int8=False),
        itself("ctranslate2_int8", loaded, folder, int8=True),
        exported("tongsa_ctranslate2", loaded, folder, int8=False),
    ]


def itself(name: str, loaded: Bundle, folder: Path, *, int8: bool) -> Contestant:
    """The library as its own users call it."""
    import ctranslate2

    place, threads = export(loaded.folder, "ctranslate2", folder / name, int8=int8), torch.get_num_threads()  # type: ignore[arg-type]
    translator = ctranslate2.Translator(str(place), inter_threads=threads, intra_threads=1)
    torch.set_num_threads(threads)  # it has set them
    room = load_metadata(place).exported_positions - 1

    def work(texts: list[str], beam: int) -> list[Output]:
        rows = [[str(piece) for piece in (*row, EOS)] for row in loaded.source_tokenizer.encode_all(texts)]
        limit = min(max(map(len, rows)) + loaded.decoding.max_extra_tokens, room)
        answers = translator.translate_batch(rows, max_batch_size=64, beam_size=beam, max_decoding_length=limit)
        outputs = [[int(token) for token in answer.hypotheses[0]] for answer in answers]
        return [(loaded.target_tokenizer.decode(output), len(output) + 1) for output in outputs]

    return Contestant(name, work)


def listing(loaded: Bundle) -> Bundle:
    """The same, with its shortlist, if it has one."""
    return replace(loaded, decoding=replace(loaded.decoding, shortlist=loaded.load_shortlist() is not None))


def exported(name: str, loaded: Bundle, folder: Path, *, int8: bool) -> Contestant:
    place = export(loaded.folder, "ctranslate2", folder / name, int8=int8)  # type: ignore[arg-type]
    engine = CTranslate2Engine(place, torch.get_num_threads(), loaded.shortlist_sha256)
    translator = Translator(
        loaded.model,
        loaded.source_tokenizer,
        loaded.target_tokenizer,
        loaded.decoding,
        engine=engine,
        load_shortlist=loaded.load_shortlist,
    )
    return Contestant(name, counted(translator))


def counted(translator: Translator) -> Callable[[list[str], int], list[Output]]:
    def work(texts: list[str], beam: int) -> list[Output]:
        return [(one.text, len(one.tokens) + 1) for one in translator.translate(texts, beam=beam)]

    return work


def generate(run: Path, texts: list[str]) -> list[Contestant]:
    """Marian of the same sizes, where transformers is installed."""
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        return []
    loaded = bundle.load_bundle(run)
    config, translator = loaded.config, loaded.translator(engine="torch")
    length = round(sum(len(one.tokens) + 1 for one in translator.translate(texts[:100], beam=1)) / 100)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(loaded.source_tokenizer),
            decoder_vocab_size=len(loaded.target_tokenizer),
            d_model=config.width,  # type: ignore[attr-defined]
            encoder_layers=config.encoder_layers,  # type: ignore[attr-defined]
            decoder_layers=config.decoder_layers,  # type: ignore[attr-defined]
            encoder_attention_heads=config.heads,  # type: ignore[attr-defined]
            decoder_attention_heads=config.heads,  # type: ignore[attr-defined]
            encoder_ffn_dim=config.inner,  # type: ignore[attr-defined]
            decoder_ffn_dim=config.inner,  # type: ignore[attr-defined]
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
        made: list[Output] = []
        for at in range(0, len(rows), 64):
            batch = [[*row, 2] for row in rows[at : at + 64]]
            longest = max(map(len, batch))
            pieces = torch.tensor([row + [0] * (longest - len(row)) for row in batch])
            with torch.inference_mode():
                found = model.generate(
                    pieces, attention_mask=pieces != 0, num_beams=beam, min_new_tokens=length, max_new_tokens=length
                )
            made += [("", found.shape[1] - 1)] * len(batch)  # drawn weights have nothing to say
        return made

    return [Contestant("generate", work)]


def reported(contestants: dict[str, Contestant], options: argparse.Namespace) -> Table:
    references = options.texts.with_suffix(".en")
    right = list(read_lines(references)) if references != options.texts and references.exists() else []

    def score(texts: list[str]) -> Table:
        """Of all texts, if what they should be is known, and there is something to score."""
        return {"bleu": round(bleu(texts, right).value, 2)} if len(texts) == len(right) and any(texts) else {}

    rows = {
        name: {
            setting: {
                "sentences_per_second": median(s for s, _ in each),
                "tokens_per_second": median(t for _, t in each),
            }
            | score(one.texts[setting])
            for setting, each in one.rounds.items()
        }
        for name, one in contestants.items()
    }

    def ratio(one: str, other: str, beams: tuple[int, int] = (5, 5), unit: int = 0) -> float | None:
        if other not in contestants or one not in contestants:
            return None
        pairs = zip(
            contestants[one].rounds[f"beam {beams[0]}, batch 64"],
            contestants[other].rounds[f"beam {beams[1]}, batch 64"],
            strict=True,
        )
        return round(median(mine[unit] / theirs[unit] for mine, theirs in pairs), 3)

    return {
        "torch_to_ctranslate2_float32": ratio("torch", "ctranslate2_float32"),
        "torch_to_ctranslate2_float32_greedy": ratio("torch", "ctranslate2_float32", (1, 1)),
        "torch_to_generate": ratio("torch", "generate", unit=1),
        "recipe_to_ctranslate2_int8": ratio("recipe", "ctranslate2_int8", (1, 5)),
        "recipe_bleu_p": likely(contestants, right),
        "contestants": rows,
        "rounds": options.rounds,
        "machine": machine() | {"threads": torch.get_num_threads()},
    }


def likely(contestants: dict[str, Contestant], references: list[str]) -> float | None:
    """How often the recipe's BLEU, greedily, would be as far from that of CTranslate2 int8 with beam 5 by chance."""
    pair = [("ctranslate2_int8", "beam 5, batch 64"), ("recipe", "beam 1, batch 64")]
    texts = [contestants[name].texts[setting] for name, setting in pair if name in contestants]
    return significance(*texts, references) if len(texts) == 2 and len(references) == len(texts[0]) else None


def as_text(report: Table) -> str:
    host = report["machine"]
    settings = [f"beam {beam}, batch {batch}" for beam in BEAMS for batch in (64, 1)]
    lines = [
        f"{report['texts']:,} sentences, {report['rounds']} rounds; {host['cpu']}, {host['threads']} threads, "
        f"torch {host['torch']}, {host['date']}; sentences/s (tokens/s) BLEU",
        "",
        f"| contestant | {' | '.join(settings)} |",
        "|---|" + "--:|" * len(settings),
    ]
    for name, row in report["contestants"].items():
        lines.append(f"| {name} | {' | '.join(cell(row[one]) if one in row else '–' for one in settings)} |")
    names = [name for name in report if name.startswith(("torch_to", "recipe"))]
    lines += ["", *(f"{name}: {report[name]}" for name in names if report[name] is not None)]
    return "\n".join(lines)


def cell(found: Table) -> str:
    score = f" {found['bleu']:.2f}" if "bleu" in found else ""
    return f"{found['sentences_per_second']:,.0f} ({found['tokens_per_second']:,.0f}){score}"


if __name__ == "__main__":
    sys.exit(main())
