"""Scores of a list of outputs against references, each with a signature that says exactly which score it is."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from tongsa.errors import InputError

CHARACTER_LANGUAGES = {"ko", "ja", "zh", "th", "lo", "km", "my", "kor", "jpn", "zho", "tha"}
"""Written without spaces, or with spaces around phrases rather than words: BLEU over characters."""


MetricName = Literal["bleu", "chrf", "exact_match", "wer", "per"]
LOWER_IS_BETTER = {"wer", "per", "perplexity"}
"""Scores of which the lower is the better."""


class Score(NamedTuple):
    value: float
    signature: str


def bleu_tokenizer(language: str) -> str:
    """SacreBLEU's name of how BLEU cuts this language when nothing else is asked for."""
    return "char" if language.lower().split("-")[0].split("_")[0] in CHARACTER_LANGUAGES else "13a"


def bleu(outputs: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Score:
    """Papineni et al. 2002 as sacreBLEU counts it (Post 2018): cased, on plain text."""
    try:
        metric = BLEU(tokenize=tokenize)
    except (KeyError, RuntimeError, ImportError):
        known = ", ".join(sorted(BLEU.TOKENIZERS))
        raise InputError(f"--tokenize {tokenize}: sacreBLEU has no such tokeniser here; it knows {known}") from None
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def chrf(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Popović 2015: F-score of character n-grams, fair to languages with rich endings."""
    metric = CHRF()
    value = metric.corpus_score(list(outputs), [list(references)]).score
    return Score(value, str(metric.get_signature()))


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Share of outputs, in percent, that are the reference to the letter."""
    same = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score(100 * same / max(1, len(references)), "exact_match|case:mixed|norm:nfc,space")


def _references_by_source(sources: Sequence[str], references: Sequence[str]) -> dict[str, list[list[str]]]:
    """All references of each source, cut at spaces: a word may be pronounced in more than one way."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for source, reference in zip(sources, references, strict=True):
        found[source].append(reference.split())
    return found


def wer(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Share of distinct sources, in percent, whose output is none of their references (Gorman et al. 2020, 4)."""
    right, answers = _references_by_source(sources, references), dict(zip(sources, outputs, strict=True))
    wrong = sum(answers[source].split() not in every for source, every in right.items())
    return Score(100 * wrong / max(1, len(right)), f"wer|unit:source|refs:any|sources:{len(right)}")


def per(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Edits from each source's output to its nearest reference, in percent of that reference's symbols."""
    right, answers = _references_by_source(sources, references), dict(zip(sources, outputs, strict=True))
    edits = length = 0
    for source, every in right.items():
        output = answers[source].split()
        fewest, nearest = min(
            ((edit_distance(output, reference), reference) for reference in every), key=lambda one: one[0]
        )
        edits, length = edits + fewest, length + len(nearest)
    return Score(100 * edits / max(1, length), f"per|unit:symbol|refs:nearest|sources:{len(right)}")


def edit_distance(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Fewest insertions, deletions and substitutions that lead from one to the other (Levenshtein 1966)."""
    row = list(range(len(reference) + 1))
    for at, symbol in enumerate(hypothesis, start=1):
        diagonal, row[0] = row[0], at
        for column, wanted in enumerate(reference, start=1):
            diagonal, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, diagonal + (symbol != wanted)),
            )
    return row[-1]


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Share of texts, in percent, that got their label."""
    same = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score(100 * same / max(1, len(references)), "accuracy|average:micro")


def macro_f1(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """The mean over labels of 2 · right / (given + true), in percent: a rare label counts as much as a frequent one."""
    labels = sorted({*outputs, *references})
    values = []
    for label in labels:
        given, true = list(outputs).count(label), list(references).count(label)
        right = sum(label == output == reference for output, reference in zip(outputs, references, strict=True))
        values.append(2 * right / (given + true))
    return Score(100 * sum(values) / max(1, len(values)), f"f1|average:macro|labels:{len(labels)}")


def compute_metrics(
    names: Sequence[str], sources: Sequence[str], outputs: Sequence[str], references: Sequence[str], tokenize: str
) -> dict[str, Score]:
    """Each of these scores of a translation."""
    table: dict[str, Callable[[], Score]] = {
        "bleu": lambda: bleu(outputs, references, tokenize),
        "chrf": lambda: chrf(outputs, references),
        "exact_match": lambda: exact_match(outputs, references),
        "wer": lambda: wer(sources, outputs, references),
        "per": lambda: per(sources, outputs, references),
    }
    unknown = [name for name in names if name not in table]
    if unknown:
        raise InputError(f"no score is called {unknown[0]!r}; known are {', '.join(table)}")
    return {name: table[name]() for name in names}
