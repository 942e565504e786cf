"""Evaluation on a test set of files or pairs: read it, look for it in the training files, compute the metrics."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tongsa.data.corpus import CorpusError, read_pairs, read_texts
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.normalize import normalize
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.text_model import check_model_tag
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import DEFAULT_METRICS, EvaluationConfig, EvaluationReport, Pairs, evaluate
from tongsa.evaluation.metrics import bleu_tokenizer, guess_bleu_tokenizer
from tongsa.runs.evaluation_slices import check_slices, compute_slices, training_word_counts
from tongsa.runs.leakage import find_leakage

Log = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class EvaluationSet:
    """Files with test data and their format, or pairs."""

    files: Sequence[str | Path] = ()
    columns: tuple[int, int] = (1, 2)
    """Columns of source and target in TSV, CSV and Parquet, from 1."""
    header: bool = False
    """True if the first line of each TSV or CSV file names the columns."""
    encoding: str = "utf-8"
    """Encoding of the files; "auto" recognizes that of each file."""
    source_language: str = ""
    """Language code of the source; by default the model's."""
    target_language: str = ""
    """Language code of the target; by default the model's."""
    tag: str = ""
    """Tag before each source, for a model that was trained with tags."""
    pairs: Pairs | None = None
    """Pairs of source and target, instead of files; a language model reads only the target."""

    def __post_init__(self) -> None:
        if bool(self.files) == (self.pairs is not None):
            raise InputError("evaluate: give the test set either as files (data) or as pairs (pairs).")

    def read(self, task: str, ledger: Ledger) -> list[Pair]:
        """Return the normalized pairs for a task; the ledger counts the lines of the files."""
        if self.tag:
            untagged = replace(self, tag="").read(task, ledger)
            return [pair._replace(source=f"{self.tag} {pair.source}") for pair in untagged]
        if self.pairs is not None:
            return _normalized_pairs(self.pairs)
        read = read_texts if task == "language_model" else read_pairs
        languages, header, encoding = (self.source_language, self.target_language), self.header, self.encoding
        columns = self.columns
        pairs = list(read(self.files, ledger, columns=columns, languages=languages, header=header, encoding=encoding))
        if not pairs:
            raise CorpusError(no_pairs_message(str(self.files[0]), ledger, "Give a file with test data."))
        return pairs


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Changes to the model's own metrics and decoding settings; only for models that translate."""

    metrics: Sequence[str] = ()
    tokenize: str = ""
    """SacreBLEU's tokenizer for BLEU; by default chosen by the target language."""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Fields of DecodingConfig that replace the model's own."""
    comet_model: str = ""
    """Checkpoint file of a COMET model; adds the score `comet`."""
    by: Sequence[str] = ()
    """Slices: "length", "frequency", "position"; for a model that does not translate only "length"."""


def evaluate_on(
    text_model: Translator | TextClassifier | TextGenerator,
    evaluation_set: EvaluationSet,
    options: EvaluationOptions,
    log: Log = lambda _: None,
) -> EvaluationReport:
    """Decode the sources of a test set and compare with the targets; `log` gets remarks about the test set."""
    info, task = text_model.info, text_model.task
    changes = [name for name in ("metrics", "tokenize", "decoding", "comet_model") if getattr(options, name)]
    if changes and task != "seq2seq":
        raise InputError(f"{changes[0]}: {info.kind} does not translate. Leave it out.")
    check_slices(options.by, task)
    languages = {
        name: getattr(evaluation_set, name) or getattr(info, name) for name in ("source_language", "target_language")
    }
    check_model_tag(text_model, evaluation_set.tag)
    evaluation_set, ledger = replace(evaluation_set, **languages), Ledger(None)
    pairs = evaluation_set.read(task, ledger)
    if ledger.dropped or ledger.encodings:
        log(ledger.summary())
    leakage = find_leakage(info.folder, pairs) if info.folder else None
    if leakage and leakage.level != "ok":
        log(leakage.text)
    texts = [(pair.source, pair.target) for pair in pairs]
    metrics = options.metrics or info.metrics or DEFAULT_METRICS
    tokenize = options.tokenize
    if not tokenize and task == "seq2seq" and "bleu" in metrics:
        tokenize = choose_bleu_tokenizer(evaluation_set.target_language, [target for _, target in texts], log)
    config = EvaluationConfig(
        metrics=metrics, tokenize=tokenize or "13a", decoding=options.decoding, comet_model=options.comet_model
    )
    needs_counts = "frequency" in options.by  # before the decoding, which takes long
    counts = training_word_counts(info.folder, [target for _, target in texts]) if needs_counts else Counter[str]()
    report = evaluate(text_model, texts, config).with_intervals()
    slices = compute_slices(options.by, report, texts, counts)
    return replace(report, dropped=ledger.dropped, leakage=leakage.as_json() if leakage else None, slices=slices)


def report_json(report: EvaluationReport) -> str:
    """Return a report as one JSON object."""
    record = report.as_json() | {"dropped": dict(report.dropped), "leakage": report.leakage}
    return json.dumps(record, ensure_ascii=False)


def choose_bleu_tokenizer(language: str, references: Sequence[str], log: Log) -> str:
    """Return the BLEU tokenizer of the target language; without one, that of the references, and say so."""
    if language:
        return bleu_tokenizer(language)
    tokenize, guess = guess_bleu_tokenizer(references)
    if guess:
        log(
            f"target language: {guess}, guessed from the references, so BLEU uses tok:{tokenize}. "
            "To change: --tokenize NAME"
        )
    return tokenize


def _normalized_pairs(pairs: Pairs) -> list[Pair]:
    for i, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise InputError(f"pair {i + 1}: {pair!r} is not a pair. Write (source, target).")
    if not pairs:
        raise InputError("pairs: the list is empty. Give at least one pair (source, target).")
    return [
        Pair(normalize(source), normalize(target), "pairs", number)
        for number, (source, target) in enumerate(pairs, start=1)
    ]
