"""Dropout on attention weights follows the seed of the batch, and is off outside training."""

import torch
from torch import Tensor
from torch.testing import assert_close

from tongsa.nn.attention import DotProductAttention, KeyValue, MultiHeadAdditiveAttention, build_attention
from tongsa.nn.dropout import seed_dropout
from tongsa.nn.local_attention import causal_window
from tongsa.nn.multi_head import HeadConfig, SelfAttention

RATE = 0.25


def random_heads(length: int) -> tuple[Tensor, KeyValue]:
    query, keys = torch.randn(2, 1, 3, length, 4)
    return query, KeyValue(keys, torch.eye(length).expand(1, 3, length, length))  # the context is the weights


def test_weights_are_dropped_in_training_alone_and_scaled_up() -> None:
    torch.manual_seed(0)
    query, kv = random_heads(40)
    for layer in (DotProductAttention(dropout=RATE), MultiHeadAdditiveAttention(3, 4, RATE)):
        weights = layer.eval()(query, kv, None, "encoder")
        assert_close(weights.sum(dim=-1), torch.ones(1, 3, 40))
        with seed_dropout(5):
            dropped = layer.train()(query, kv, None, "encoder")
        kept = dropped != 0
        assert_close(dropped[kept], weights[kept] / (1 - RATE))
        assert abs(float(kept.float().mean()) - (1 - RATE)) < 0.03


def test_masks_follow_the_seed_of_the_batch() -> None:
    """The fused kernel of torch would draw them from the generator that all threads share."""
    torch.manual_seed(0)
    query, kv = random_heads(9)
    layer = build_attention("scaled-dot", 3, 4, RATE).train()
    with seed_dropout(5):
        first = layer(query, kv, None, "encoder", causal=True)
    torch.manual_seed(1)
    with seed_dropout(5):
        assert torch.equal(layer(query, kv, None, "encoder", causal=True), first)
    with seed_dropout(6):
        assert not torch.equal(layer(query, kv, None, "encoder", causal=True), first)


def test_local_attention_has_it_too() -> None:
    torch.manual_seed(0)
    heads = HeadConfig(count=2, key_width=4, value_width=4, dropout=RATE)
    layer = SelfAttention(8, heads, "decoder", gain=1.0, window=causal_window(3))
    inputs, mask = torch.randn(1, 20, 8), torch.ones(1, 20, dtype=torch.bool)
    assert not torch.allclose(layer.train()(inputs, mask, causal=True), layer.eval()(inputs, mask, causal=True))
