"""A tiny model that really translates: sentences of five German nouns and two verbs, learned by heart in seconds."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
from torch.nn import functional

from tongsa.batch import Examples, Ragged
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.translator import Translator
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer

NOUNS = {"Hund": "dog", "Mann": "man", "Junge": "boy", "Ball": "ball", "Baum": "tree"}
VERBS = {"sieht": "sees", "holt": "fetches"}
PAIRS = [
    (f"Ein {subject} {verb} den {thing}.", f"A {NOUNS[subject]} {VERBS[verb]} the {NOUNS[thing]}.")
    for subject, verb, thing in product(NOUNS, VERBS, NOUNS)
]
OTHER_WORDS = ["canine", "gentleman", "lad", "New York", "GitHub"]


def train_toy_translator(more_pairs: Sequence[tuple[str, str]] = ()) -> Translator:
    """Train for 120 updates."""
    pairs = [*PAIRS, *more_pairs]
    texts = [text for pair in PAIRS for text in pair]
    tokenizer = train_tokenizer([*texts, *OTHER_WORDS * 3], TokenizerConfig(vocab_size=330))
    torch.manual_seed(1)
    config = TransformerConfig(width=32, ffn_width=64, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = config.build(len(tokenizer), len(tokenizer))
    batch = Examples(
        Ragged(tokenizer.encode_all([source for source, _ in pairs])),
        Ragged(tokenizer.encode_all([target for _, target in pairs])),
    ).batch(np.arange(len(pairs)))
    mask = torch.arange(batch.target.tokens.shape[1]) < batch.target.lengths[:, None]  # (batch, length)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(120):
        logits = model(batch.source, batch.decoder_input)
        loss = functional.cross_entropy(logits[mask], batch.target.tokens[mask])
        torch.autograd.backward([loss])
        optimizer.step()
        optimizer.zero_grad()
    return Translator(model, tokenizer, tokenizer, DecodingConfig())
