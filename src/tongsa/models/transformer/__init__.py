"""Attention Is All You Need (Vaswani et al. 2017), the whole paper in one folder.

    source tokens                        target tokens, shifted right
          │                                    │
      embedding.py: √width · embedding + position
          │                                    │
      encoder.py                            decoder.py
      [self-attention                       [causal self-attention  ◄── KV cache when decoding step by step
       feed-forward] × N ──► Memory ──►      cross-attention over the memory
                                             feed-forward] × N
                                               │
                                            output embedding ─► logits

config.py has the settings, residual.py the norms around the residual sums, initialization.py initial weights as in
other implementations. seq2seq.py, classifier.py and language_model.py put encoder and decoder together. Attention
itself is in nn/multi_head.py and nn/attention.py.
"""
