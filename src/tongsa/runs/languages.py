"""Languages of a run: missing ones are guessed from the training text and the names of parallel files."""

from collections.abc import Sequence
from dataclasses import replace

from tongsa.data.corpus import declared_languages, language_suffixes
from tongsa.data.language_id import guess_language, has_script_of
from tongsa.data.ledger import Ledger, Pair
from tongsa.interface import Task
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.recipe import DataConfig

MAX_SAMPLED_PAIRS = 2_000
"""Training pairs, evenly spaced, that a guess is made from."""
TEXT_SIDES: dict[Task, tuple[str, ...]] = {
    "seq2seq": ("source", "target"),
    "classification": ("source",),
    "language_model": ("target",),
}
"""Sides with a language: the labels of a classifier have none."""


def guess_languages(data: DataConfig, task: Task, reader: CorpusReader) -> tuple[DataConfig, str]:
    """Return the settings with guessed languages, and a message; "" if nothing was guessed.

    With several corpora, a language that all of them have is the language of the model.
    """
    if not data.corpora:
        return _guess_languages(data, task, reader)
    guesses = [_guess_languages(corpus, task, reader)[0].languages for corpus in data.per_corpus]
    corpora = tuple(
        replace(corpus, source_language=source, target_language=target)
        for corpus, (source, target) in zip(data.corpora, guesses, strict=True)
    )
    source, target = (codes.pop() if len(codes := set(side)) == 1 else "" for side in zip(*guesses, strict=True))
    listed = ", ".join(f"{corpus.train[0]}: {corpus.source_language} → {corpus.target_language}" for corpus in corpora)
    remark = f"languages of the corpora: {listed}" if corpora != data.corpora else ""
    return replace(data, corpora=corpora, source_language=source, target_language=target), remark


def _guess_languages(data: DataConfig, task: Task, reader: CorpusReader) -> tuple[DataConfig, str]:
    missing = [side for side in TEXT_SIDES[task] if not getattr(data, f"{side}_language")]
    if not missing or not data.train:
        return data, ""
    pairs = reader.read(data, task, data.train, Ledger(None))
    return guess_from_sample(data, task, pairs[:: max(1, len(pairs) // MAX_SAMPLED_PAIRS)])


def guess_from_sample(data: DataConfig, task: Task, sample: Sequence[Pair]) -> tuple[DataConfig, str]:
    """Return the settings with languages guessed from some pairs and the names of the files, and a message."""
    missing = [side for side in TEXT_SIDES[task] if not getattr(data, f"{side}_language")]
    paths, known = data.paths(data.train), (data.source_language, data.target_language)
    suffixes = dict(zip(("source", "target"), language_suffixes(paths), strict=True))
    declared = dict(zip(("source", "target"), declared_languages(paths, data.columns, known), strict=True))
    guesses = {f"{side}_language": declared[side] or _guess_side(sample, side, suffixes[side]) for side in missing}
    guesses = {key: code for key, code in guesses.items() if code}
    if not guesses:
        return data, ""
    listed = ", ".join(f"data.{key}: {code}" for key, code in guesses.items())
    changed = " ".join(f"--set data.{key}=CODE" for key in guesses)
    source, target = (guesses.get(key) or getattr(data, key) for key in ("source_language", "target_language"))
    data = replace(data, source_language=source, target_language=target)
    return data, f"{listed}, guessed from the training data. To change: {changed}"


def _guess_side(pairs: Sequence[Pair], side: str, suffix: str) -> str:
    """Return the language of one side: that of its file name if the script agrees, else that of the text."""
    texts = [pair.source if side == "source" else pair.target for pair in pairs]
    return suffix if suffix and has_script_of(suffix, texts) else guess_language(texts)
