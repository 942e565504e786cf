"""Back-translation (Sennrich et al. 2016): monolingual targets with sources that a model of the other direction writes.

A tag in front of each synthetic source marks the synthetic pairs for the new model (Caswell et al. 2019). Self-training
is the mirror image: a model of the same direction writes the targets of monolingual sources.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
        texts = list(read_texts(files, ledger))
        if not texts:
            raise CorpusError(f"{files[0]}: no text. Give a file with one text per line.")
        content = "".join(f"{pair.target}\n" for pair in texts).encode()
        if not texts_path.exists() or texts_path.read_bytes() != content:
            storage.write_bytes(texts_path, content)
        run_job(job, str(texts_path), translations_path, quiet=quiet)
        lines = [_format_pair(*item, config, ledger) for item in zip(texts, raw_lines(translations_path), strict=True)]
        ledger.check()
        storage.write_text(output, "".join(lines))
    for path in (texts_path, translations_path):
        storage.remove(path)
    return ledger


def _format_pair(text: Pair, raw_translation: bytes, config: BackTranslation, ledger: Ledger) -> str:
    """Return the line of a pair, or "" for an empty translation, which is dropped."""
    translation = normalize(raw_translation.decode())
    if not translation:
        ledger.revoke(text, "empty-translation")
        return ""
    source, target = (text.target, translation) if config.self_train else (translation, text.target)
    return f"{config.tag} {source}\t{target}\n" if config.tag else f"{source}\t{target}\n"
