"""From text to token ids and back: subwords, labels, special tokens. Nothing here imports torch."""
