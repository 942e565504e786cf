"""Special tokens: the first four ids of every vocabulary."""

PAD, BOS, EOS, UNK = range(4)
