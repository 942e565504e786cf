"""Whether all engines say the same: the plainest search, ours in batches and one by one, CTranslate2 in two precisions.

    python benchmarks/agreement.py runs/multi30k --pairs test_2016_flickr.de test_2016_flickr.en
    python benchmarks/agreement.py runs/demo --pairs runs/demo/data/test.tsv

The reference is tests/reference.py: no cache, one sentence, no shortcut, every prefix computed anew; it searches the
first --few sentences. An output that differs is a tie if both score within 1e-3 of each other under the model, computed
by teacher forcing: then rounding has chosen.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import machine

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.decoding.ctranslate2_engine import CTranslate2Engine
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.metrics import bleu, tokenisation
from tongsa.export import export
from tongsa.text import EOS, Ledger, read_pairs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from reference import reference

TIE = 1e-3
Table = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--pairs", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--few", type=int, default=100, help="sentences for the reference (default: 100)")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    options = parser.parse_args()
    try:
        rows = measured(options)
    except InputError as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 2
    report = {"rows": rows, "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def measured(options: argparse.Namespace) -> list[Table]:
    loaded = bundle.load(options.run)
    languages = (loaded.source_language, loaded.target_language)
    pairs = list(read_pairs(options.pairs, Ledger(None), languages=languages))
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        engines = {
            f"CTranslate2 {name}": exported(loaded, Path(folder) / name, int8=name == "int8")
            for name in ("float32", "int8")
        }
        ours = loaded.translator(engine="torch")
        for beam in options.beams:
            batched = [one.text for one in ours.translate(sources, beam=beam)]
            signed = {"beam": beam, "signature": f"|beam:{beam}|alpha:{loaded.decoding.alpha}"}
            tokenise = tokenisation(loaded.target_language)
            rows.append(signed | {"who": "torch, batched", "bleu": bleu(batched, targets, tokenise).value})
            singly = [ours.translate([text], beam=beam)[0].text for text in sources]
            plain = plainly(ours, sources[: options.few], beam)
            others = {"the reference": plain, "torch, one by one": singly}
            others |= {
                name: [one.text for one in engine.translate(sources, beam=beam)] for name, engine in engines.items()
            }
            for name, texts in others.items():
                score = bleu(texts, targets, tokenise).value if len(texts) == len(targets) else None
                rows.append(signed | {"who": name, "bleu": score} | compared(ours, sources, batched, texts))
                print(f"beam {beam}  {name}", file=sys.stderr, flush=True)
    return rows


def exported(loaded: Bundle, folder: Path, *, int8: bool) -> Translator:
    place = export(loaded.folder, "ctranslate2", folder, int8=int8)  # type: ignore[arg-type]
    engine = CTranslate2Engine(place, torch.get_num_threads())
    return Translator(loaded.model, loaded.source, loaded.target, loaded.decoding, engine=engine)


def plainly(translator: Translator, texts: Sequence[str], beam: int) -> list[str]:
    found, config = [], translator.settled({"beam": beam})
    for pieces in translator.source.split_all(texts):
        limit = min(len(pieces) + 1 + config.beyond, translator.longest - 1)
        found.append(translator.target.join(reference(translator.model, [*pieces, EOS], limit, config)[0][0]))
    return found


def compared(translator: Translator, sources: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Table:
    """How many are the same, and of the others how many are ties."""
    differing = [at for at, other in enumerate(theirs) if ours[at] != other]
    gaps = []
    for at in differing:
        pair = translator.score([(sources[at], ours[at]), (sources[at], theirs[at])])
        mine, other = (sum(logs) / translator.config.penalty(len(logs)) for logs in pair)
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
        f"{host['cpu']}, torch {host['torch']}, {host['date']}",
        "",
        "| beam | beside torch, batched | sentences | same | ties | ours scores better | theirs | largest gap | BLEU |",
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
