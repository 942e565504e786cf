"""Scores of pairs by a trained model: a forward model p(target | source), or a language model p(target).

Pairs are scored block by block. With a folder, finished blocks survive an interruption.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tongsa.data.array_files import ArrayFiles
from tongsa.data.ledger import Pair
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import PairStore
from tongsa.decoding.text_model import TextModel
from tongsa.errors import InputError
from tongsa.runs.preparation import Preparation

SCORED_BLOCK_PAIRS = 2_000
"""Pairs that are scored together; after each block an interrupted scoring can go on."""
MAX_SCORED_TOKENS = 512
"""Longer texts are scored by their first tokens."""
SCORES = "scores"
Scores = NDArray[np.float32]


def score_pairs(model: TextModel, pairs: PairStore, preparation: Preparation | None = None) -> Scores:  # (pair,)
    """Return the mean log-probability of the target tokens of each pair, EOS included."""
    if model.task == "classification":
        raise InputError("model score: a classifier scores no targets. Name a translation or a language model.")
    preparation = preparation or Preparation()

    def fill(arrays: ArrayFiles) -> None:
        with preparation.display.for_steps(len(pairs), 0) as display:
            for start in range(arrays.restore_progress(), len(pairs), SCORED_BLOCK_PAIRS):
                block = pairs[start : start + SCORED_BLOCK_PAIRS]
                arrays.append(SCORES, _score_block(model, list(block)))
                arrays.save_progress(start + len(block))
                display.show(start + len(block), "scored pairs", "")

    key = content_key("scores", _content_sha256(pairs), model_key(model))
    return preparation.prepare(f"scores-{key}", fill).read(SCORES, np.float32)


def _content_sha256(pairs: PairStore) -> str:
    """Hash of the texts: those of a cleaning are repaired, and have no key of their own."""
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(f"{len(pair.source)} {pair.source}{pair.target}\n".encode())
    return digest.hexdigest()


def _score_block(model: TextModel, pairs: Sequence[Pair]) -> Scores:
    length = min(MAX_SCORED_TOKENS, model.max_positions - 1)
    has_source = model.task != "language_model"
    sources = model.source_tokenizer.encode_all([pair.source if has_source else "" for pair in pairs])
    targets = model.target_tokenizer.encode_all([pair.target for pair in pairs])
    token_log_probs = model.score_tokens(
        [(source[:length], target[:length]) for source, target in zip(sources, targets, strict=True)]
    )
    return np.array([np.mean(values) for values in token_log_probs], np.float32)


def model_key(model: TextModel) -> str:
    """Hash of all that determines a score."""
    weights = hashlib.sha256()
    for member in model.models:
        for name, tensor in sorted(member.state_dict().items()):
            weights.update(name.encode())
            weights.update(tensor.detach().cpu().float().numpy().tobytes())
    tokenizers = [
        hashlib.sha256(tokenizer.model_bytes).hexdigest()
        for tokenizer in (model.source_tokenizer, model.target_tokenizer)
    ]
    return content_key(weights.hexdigest(), tokenizers, MAX_SCORED_TOKENS)
