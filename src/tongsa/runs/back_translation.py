"""Back-translation (Sennrich et al. 2016): monolingual targets with sources that a model of the other direction writes.

A tag in front of each synthetic source marks the synthetic pairs for the new model (Caswell et al. 2019). Self-training
is the mirror image: a model of the same direction writes the targets of monolingual sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tongsa import storage
from tongsa.data.corpus import CorpusError, raw_lines, read_texts
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.runs.file_translation import run_job
from tongsa.runs.translate_job import TranslateJobConfig


@dataclass(frozen=True, kw_only=True)
class BackTranslation:
    """Settings of synthetic pairs, apart from those of the model."""

    tag: str = "<bt>"
    """First word of each synthetic source; "" for none."""
    self_train: bool = False
    """The texts are sources, and the model writes the targets."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `read_texts`: columns, header, encoding, languages."""


def back_translate(
    job: TranslateJobConfig, files: Sequence[str], output: Path, config: BackTranslation, *, quiet: bool = False
) -> Ledger:
    """Write synthetic pairs to a TSV file. If killed, the same call goes on, with the same result.

    `OUT.texts` (the normalized texts) and `OUT.translations` are removed at the end.
    """
    if output.exists():
        raise InputError(f"{output}: exists. Choose another file with -o.")
    texts_path = output.with_name(output.name + ".texts")
    translations_path = output.with_name(output.name + ".translations")
    with storage.explain_os_errors(output), Ledger(output.with_name(output.name + ".ledger.jsonl")) as ledger:
        _write_texts(files, texts_path, config, ledger)
        run_job(job, str(texts_path), translations_path, quiet=quiet)
        texts = read_texts(files, Ledger(None), **config.reading)  # again: they need not fit into memory
        items = zip(texts, raw_lines(translations_path), strict=True)
        storage.write_lines(output, (_format_pair(text, translation, config, ledger) for text, translation in items))
        ledger.check()
    for path in (texts_path, translations_path):
        storage.remove(path)
    return ledger


def _write_texts(files: Sequence[str], path: Path, config: BackTranslation, ledger: Ledger) -> None:
    """Write the texts to translate; a file with the same texts, of a killed command, stays as it is."""
    new = path.with_name(path.name + ".new")
    count = storage.write_lines(new, (f"{pair.target}\n" for pair in read_texts(files, ledger, **config.reading)))
    if not count:
        storage.remove(new)
        raise CorpusError(f"{files[0]}: no text. Give a file with one text per line.")
    if path.exists() and storage.file_sha256(path) == storage.file_sha256(new):
        storage.remove(new)
    else:
        storage.replace_file(new, path)


def _format_pair(text: Pair, raw_translation: bytes, config: BackTranslation, ledger: Ledger) -> str:
    """Return the line of a pair, or "" for an empty translation, which is dropped."""
    translation = normalize(raw_translation.decode())
    if not translation:
        ledger.revoke(text, "empty-translation")
        return ""
    source, target = (text.target, translation) if config.self_train else (translation, text.target)
    return f"{config.tag} {source}\t{target}\n" if config.tag else f"{source}\t{target}\n"
