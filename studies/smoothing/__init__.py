"""Label smoothing: perplexity, accuracy, BLEU."""
