"""BLEU as in Ben Trevett's tutorials (lower-case tokens by spaCy's rules, not smoothed), and sacreBLEU's.

    pip install spacy sacrebleu
    python benchmarks/tutorial_bleu.py outputs.txt references.txt

Their test sentences are the same 1,000 of test_2016_flickr, decoded greedily (`tongsa translate RUN FILE --beam 1`).
"""

import json
import sys
from pathlib import Path

import sacrebleu
import spacy


def tokens(path: str) -> list[str]:
    tokenizer = spacy.blank("en").tokenizer
    lines = Path(path).read_text("utf-8").splitlines()
    return [" ".join(token.text for token in tokenizer(line.lower()) if not token.is_space) for line in lines]


def main() -> None:
    outputs, references = sys.argv[1:3]
    plain = sacrebleu.BLEU()
    lines = [Path(path).read_text("utf-8").splitlines() for path in (outputs, references)]
    tutorial = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    report = {
        "tutorial": round(tutorial.corpus_score(tokens(outputs), [tokens(references)]).score, 2),
        "tutorial_signature": f"{tutorial.get_signature()}|pretok:spacy-{spacy.__version__}-en|lower",
        "sacrebleu": round(plain.corpus_score(lines[0], [lines[1]]).score, 2),
        "sacrebleu_signature": str(plain.get_signature()),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
