"""Evaluation on a test set given as files or as pairs, with the model's own metrics and languages as defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tongsa.data.corpus import CorpusError, no_pairs_message, read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.data.normalize import normalize
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import DEFAULT_METRICS, EvaluationConfig, EvaluationReport, Pairs, evaluate
from tongsa.evaluation.metrics import bleu_tokenizer


@dataclass(frozen=True, kw_only=True)
class EvaluationSet:
    """Files with test data and their format, or pairs."""

    files: Sequence[str | Path] = ()
    columns: tuple[int, int] = (1, 2)
    """TSV columns of source and target, from 1."""
    header: bool = False
    """True if the first line of each TSV file names the columns."""
    pairs: Pairs | None = None
    """Pairs of source and target, instead of files; a language model reads only the target."""

    def __post_init__(self) -> None:
        if bool(self.files) == (self.pairs is not None):
            raise InputError("evaluate: give the test set either as files (data) or as pairs (pairs).")

    def read(self, text_model: Translator | TextClassifier | TextGenerator) -> tuple[list[tuple[str, str]], Ledger]:
        """Return the normalized pairs for a model, and the ledger of the files."""
        ledger = Ledger(None)
        if self.pairs is not None:
            return _normalized_pairs(self.pairs), ledger
        info = text_model.info
        languages = (info.source_language, info.target_language)
        if text_model.task == "language_model":
            pairs = read_texts(self.files, ledger)
        else:
            pairs = read_pairs(self.files, ledger, columns=self.columns, languages=languages, header=self.header)
        texts = [(pair.source, pair.target) for pair in pairs]
        if not texts:
            raise CorpusError(no_pairs_message(self.files[0], ledger, "Give a file with test data."))
        return texts, ledger


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Changes to the model's own metrics and decoding settings; only for models that translate."""

    metrics: Sequence[str] = ()
    tokenize: str = ""
    """SacreBLEU's tokenizer for BLEU; by default chosen by the target language."""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Fields of DecodingConfig that replace the model's own."""


def evaluate_on(
    text_model: Translator | TextClassifier | TextGenerator, evaluation_set: EvaluationSet, options: EvaluationOptions
) -> EvaluationReport:
    """Decode the sources of a test set and compare with the targets."""
    changes = [name for name in ("metrics", "tokenize", "decoding") if getattr(options, name)]
    if changes and text_model.task != "seq2seq":
        raise InputError(f"{changes[0]}: {text_model.info.kind} does not translate. Leave it out.")
    info = text_model.info
    config = EvaluationConfig(
        metrics=options.metrics or info.metrics or DEFAULT_METRICS,
        tokenize=options.tokenize or bleu_tokenizer(info.target_language),
        decoding=options.decoding,
    )
    pairs, ledger = evaluation_set.read(text_model)
    return replace(evaluate(text_model, pairs, config), dropped=ledger.dropped)


def _normalized_pairs(pairs: Pairs) -> list[tuple[str, str]]:
    for i, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise InputError(f"pair {i + 1}: {pair!r} is not a pair. Write (source, target).")
    if not pairs:
        raise InputError("pairs: the list is empty. Give at least one pair (source, target).")
    return [(normalize(source), normalize(target)) for source, target in pairs]
