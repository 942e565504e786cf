"""From text to token ids and back: subwords, labels, special tokens. Imports no torch."""
