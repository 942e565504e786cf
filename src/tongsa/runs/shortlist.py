"""Learn the lexical shortlist of a model from sentence pairs and store it next to the model."""

from pathlib import Path

from tongsa import bundle
from tongsa.data.corpus import CorpusError, read_pairs
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger
from tongsa.decoding import shortlist
from tongsa.errors import InputError
from tongsa.runs.planner import PathOrPaths, as_strings


def build_shortlist(
    run: str | Path,
    data: PathOrPaths,
    *,
    candidates: int = 40,
    always: int = 500,
    columns: tuple[int, int] = (1, 2),
    header: bool = False,
    encoding: str = "utf-8",
    languages: tuple[str, str] | None = None,
) -> Path:
    """Learn a lexical shortlist and return its file. Decoding uses it with the setting shortlist=True.

    run: Folder of a run or of a model that translates.
    data: Its training data: a file of pairs, or two parallel files; `columns`, `header` and `encoding` as in `data.*`.
    candidates: Target tokens per source token.
    always: Frequent target tokens that are always scored.
    languages: Codes of source and target; by default the model's.
    """
    for name, value in (("candidates", candidates), ("always", always)):
        if value < 1:
            raise InputError(f"--{name} {value}: too small. Give at least 1.")
    loaded = bundle.load_bundle(Path(run))
    if loaded.folder is None or loaded.config.task != "seq2seq":
        hint = bundle.TASK_COMMAND_HINTS[loaded.config.task]
        raise InputError(f"{run}: a shortlist is only for models that translate; {hint}")
    ledger, files = Ledger(None), as_strings(data)
    languages = languages or (loaded.source_language, loaded.target_language)
    read = read_pairs(files, ledger, columns=columns, header=header, languages=languages, encoding=encoding)
    pairs = [(pair.source, pair.target) for pair in read]
    if not pairs:
        raise CorpusError(no_pairs_message(files[0], ledger, "Give the training data."))
    source, target = loaded.source_tokenizer, loaded.target_tokenizer
    learned = shortlist.learn_shortlist(pairs, source, target, num_candidates=candidates, num_always=always)
    path = bundle.artifact_folder(loaded.folder) / shortlist.SHORTLIST_FILE
    shortlist.save_shortlist(path, learned, source, target)
    return path
