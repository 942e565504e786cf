"""From files to indices: corpus, normal form, pieces. Nothing here knows torch."""

from tongsa.text.corpus import CorpusError, read_lines, read_pairs
from tongsa.text.ledger import Ledger, Limits, Pair
from tongsa.text.normalise import from_jamo, normalise, to_jamo
from tongsa.text.pieces import BOS, EOS, PAD, UNK, Pieces, PiecesConfig, learn

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "CorpusError",
    "Ledger",
    "Limits",
    "Pair",
    "Pieces",
    "PiecesConfig",
    "from_jamo",
    "learn",
    "normalise",
    "read_lines",
    "read_pairs",
    "to_jamo",
]
