"""From files to indices: corpus, normal form, pieces. Nothing here knows torch."""

from tongsa.text.corpus import CorpusError, check_files, read_lines, read_pairs, read_texts
from tongsa.text.labels import Labels
from tongsa.text.ledger import Ledger, Limits, Pair
from tongsa.text.normalise import from_jamo, normalise, to_jamo
from tongsa.text.pieces import BOS, EOS, PAD, UNK, Pieces, PiecesConfig, learn
from tongsa.text.vocabulary import Vocabulary

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "CorpusError",
    "Labels",
    "Ledger",
    "Limits",
    "Pair",
    "Pieces",
    "PiecesConfig",
    "Vocabulary",
    "check_files",
    "from_jamo",
    "learn",
    "normalise",
    "read_lines",
    "read_pairs",
    "read_texts",
    "to_jamo",
]
