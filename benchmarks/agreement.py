"""Whether all engines say the same: the plainest search, ours in batches and one by one, CTranslate2 in two precisions.

    python benchmarks/agreement.py runs/multi30k --data test_2016_flickr.de test_2016_flickr.en
    python benchmarks/agreement.py runs/demo --data runs/demo/data/test.tsv

The reference is tests/reference.py: no cache, one sentence, no shortcut, every prefix computed anew; it searches the
first --few sentences. An output that differs is a tie if both score within 1e-3 of each other under the model, computed
by teacher forcing: then rounding has chosen.
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
FEW = 100
Table = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--few", type=int, default=FEW, help=f"sentences for the reference (default: {FEW})")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    options = parser.parse_args()
    try:
        rows = measured(options)
    except InputError as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 2
    report = {"rows": rows, "few": options.few, "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def measured(options: argparse.Namespace) -> list[Table]:
    loaded = bundle.load_bundle(options.run)
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
            batched = said(ours.translate(sources, beam=beam))
            signed = {"beam": beam, "signature": f"|beam:{beam}|alpha:{loaded.decoding.alpha}"}
            tokenise = bleu_tokenizer(loaded.target_language)
            rows.append(
                signed | {"who": "torch, batched", "bleu": bleu([one.text for one in batched], targets, tokenise).value}
            )
            singly = said(ours.translate([text], beam=beam)[0] for text in sources)
            plain = plainly(ours, sources[: options.few], beam)
            others = {"the reference": plain, "torch, one by one": singly}
            others |= {name: said(engine.translate(sources, beam=beam)) for name, engine in engines.items()}
            for name, found in others.items():
                texts = [one.text for one in found]
                score = bleu(texts, targets, tokenise).value if name != "the reference" else None
                rows.append(signed | {"who": name, "bleu": score} | compared(ours, sources, batched, found))
                print(f"beam {beam}  {name}", file=sys.stderr, flush=True)
    return rows


def exported(loaded: Bundle, folder: Path, *, int8: bool) -> Translator:
    place = export(loaded.folder, "ctranslate2", folder, int8=int8)  # type: ignore[arg-type]
    engine = CTranslate2Engine(place, torch.get_num_threads())
    return Translator(loaded.model, loaded.source_tokenizer, loaded.target_tokenizer, loaded.decoding, engine=engine)


class Said(NamedTuple):
    """An output to the token: two segmentations of one text differ."""

    pieces: tuple[str, ...]
    text: str


def said(found: Iterable[Translation]) -> list[Said]:
    return [Said(one.tokens, one.text) for one in found]


def plainly(translator: Translator, texts: Sequence[str], beam: int) -> list[Said]:
    found, config = [], translator.config_with({"beam": beam})
    for pieces in translator.source_tokenizer.encode_all(texts):
        limit = min(len(pieces) + 1 + config.max_extra_tokens, translator.max_positions - 1)
        best = reference(translator.model, [*pieces, EOS], limit, config)[0][0]
        found.append(
            Said(tuple(translator.target_tokenizer.token_strings(best)), translator.target_tokenizer.decode(best))
        )
    return found


def compared(translator: Translator, sources: Sequence[str], ours: Sequence[Said], theirs: Sequence[Said]) -> Table:
    """How many are the same, pieces and text, and of the others how many are ties."""
    differing = [at for at, other in enumerate(theirs) if ours[at] != other]
    gaps = []
    for at in differing:
        pair = translator.score([(sources[at], ours[at].text), (sources[at], theirs[at].text)])
        mine, other = (sum(logs) / translator.config.length_penalty(len(logs)) for logs in pair)
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
