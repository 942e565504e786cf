"""Agreement of the decoding engines: a plain reference search, torch in batches and one by one, CTranslate2.

    python benchmarks/agreement.py runs/multi30k --data test_2016_flickr.de test_2016_flickr.en
    python benchmarks/agreement.py runs/demo --data runs/demo/data/test.tsv --record

The reference is tests/reference.py: one sentence, no KV cache, every prefix computed again. It decodes the first --few
sentences. Two different outputs are a tie if their scores, computed by teacher forcing, differ by less than 1e-3: the
difference is within rounding. --record writes the figures to benchmarks/results/agreement.json.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from machine import machine
from record import add_options, record, training_seed
from rows import AGREEMENT_TABLES, agreement_rows

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.corpus import read_pairs
from tongsa.data.ledger import Ledger
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine
from tongsa.decoding.results import Translation
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.metrics import bleu, bleu_tokenizer
from tongsa.export import export
from tongsa.tokenization.special import EOS

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from reference import reference

TIE = 1e-3
"""Score difference below which two outputs are a tie."""
FEW = 100
"""Sentences for the reference search, which is slow."""
Table = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--few", type=int, default=FEW, help=f"sentences for the reference (default: {FEW})")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    options = parser.parse_args()
    if options.record and options.run.name not in AGREEMENT_TABLES:
        parser.error(f"--record: no table for {options.run}. Its folder must be named {' or '.join(AGREEMENT_TABLES)}.")
    try:
        rows = measure_agreement(options)
    except InputError as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 2
    report = {"rows": rows, "few": options.few, "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    if options.record:
        record("agreement", agreement_rows(report, options.run.name, training_seed(options.run)), options.results)
    return 0


def measure_agreement(options: argparse.Namespace) -> list[Table]:
    loaded = bundle.load_bundle(options.run)
    languages = (loaded.source_language, loaded.target_language)
    pairs = list(read_pairs(options.data, Ledger(None), languages=languages))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        engines = {
            f"CTranslate2 {name}": export_translator(loaded, Path(folder) / name, int8=name == "int8")
            for name in ("float32", "int8")
        }
        ours = loaded.translator()
        for beam in options.beams:
            batched = to_outputs(ours.translate(sources, beam=beam))
            settings = {"beam": beam, "signature": f"|beam:{beam}|alpha:{loaded.decoding.alpha}"}
            tokenize = bleu_tokenizer(loaded.target_language)
            rows.append(
                settings
                | {"who": "torch, batched", "bleu": bleu([output.text for output in batched], targets, tokenize).value}
            )
            one_by_one = to_outputs(ours.translate([text], beam=beam)[0] for text in sources)
            plain = reference_outputs(ours, sources[: options.few], beam)
            others = {"the reference": plain, "torch, one by one": one_by_one}
            others |= {name: to_outputs(engine.translate(sources, beam=beam)) for name, engine in engines.items()}
            for name, outputs in others.items():
                texts = [output.text for output in outputs]
                score = bleu(texts, targets, tokenize).value if name != "the reference" else None
                rows.append(settings | {"who": name, "bleu": score} | compare_outputs(ours, sources, batched, outputs))
                print(f"beam {beam}  {name}", file=sys.stderr, flush=True)
    return rows


def export_translator(loaded: Bundle, folder: Path, *, int8: bool) -> Translator:
    path = export(loaded.folder, "ctranslate2", folder, int8=int8)  # type: ignore[arg-type]
    engine = CTranslate2Engine(path, torch.get_num_threads())
    return Translator(loaded.model, loaded.source_tokenizer, loaded.target_tokenizer, loaded.decoding, engine=engine)


class Output(NamedTuple):
    """Tokens and text of a hypothesis: two segmentations of one text differ."""

    tokens: tuple[str, ...]
    text: str


def to_outputs(translations: Iterable[Translation]) -> list[Output]:
    return [Output(translation.tokens, translation.text) for translation in translations]


def reference_outputs(translator: Translator, texts: Sequence[str], beam: int) -> list[Output]:
    outputs, config = [], translator.config_with({"beam": beam})
    for tokens in translator.source_tokenizer.encode_all(texts):
        limit = min(len(tokens) + 1 + config.max_extra_tokens, translator.max_positions - 1)
        best = reference(translator.model, [*tokens, EOS], limit, config)[0][0]
        outputs.append(
            Output(tuple(translator.target_tokenizer.token_strings(best)), translator.target_tokenizer.decode(best))
        )
    return outputs


def compare_outputs(
    translator: Translator, sources: Sequence[str], ours: Sequence[Output], theirs: Sequence[Output]
) -> Table:
    """Return the number of identical outputs, ties and differences."""
    differing = [i for i, other in enumerate(theirs) if ours[i] != other]
    gaps = []
    for i in differing:
        pair = translator.score([(sources[i], ours[i].text), (sources[i], theirs[i].text)])
        mine, other = (sum(log_probs) / translator.config.length_penalty(len(log_probs)) for log_probs in pair)
        gaps.append(mine - other)
    return {
        "sentences": len(theirs),
        "same": len(theirs) - len(differing),
        "ties": int(sum(abs(gap) < TIE for gap in gaps)),
        "ours_better": int(sum(gap >= TIE for gap in gaps)),
        "theirs_better": int(sum(gap <= -TIE for gap in gaps)),
        "largest_gap": round(float(np.abs(gaps).max()), 4) if gaps else 0.0,
    }


def as_text(report: Table) -> str:
    host = report["machine"]
    lines = [
        f"{host['cpu']}, torch {host['torch']}, {host['date']}; the reference: the first {report['few']} sentences",
        "",
        "| beam | compared with torch, batched | sentences | same | ties | ours scores better | theirs "
        "| largest gap | BLEU |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in report["rows"]:
        keys = ("sentences", "same", "ties", "ours_better", "theirs_better", "largest_gap")
        cells = [str(row.get(key, "–")) for key in keys]
        score = f"{row['bleu']:.2f}" if row["bleu"] is not None else "–"
        lines.append(f"| {row['beam']} | {row['who']} | {' | '.join(cells)} | {score} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
