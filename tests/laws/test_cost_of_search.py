"""Every step of a search costs the same matrix products, however long the output is: no prefix is computed twice."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tiny import CONFIGS, padded_batch, sentence, tiny
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.beams import SearchStrategy
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.rules import rules_from_config
from tongsa.decoding.scorers import Scorer, decoder_scorer
from tongsa.interface import S

ATTENTION_PRODUCTS = {"bmm", "_scaled_dot_product_flash_attention_for_cpu", "baddbmm"}
"""Attention reads all earlier positions: its scores grow with the output, its projections do not."""


def packed_flops(x: torch.Size, weight: torch.Size, *_: object, out_shape: torch.Size, **__: object) -> int:
    """Return the operations of the packed product of nn/packed_linear.py, as torch counts those of its own."""
    return 2 * x.numel() * out_shape[-1]


def step_costs(scorer: Scorer[S], state: S, length: int) -> list[int]:
    """Return the multiply-adds of each step of a search whose outputs have this length, attention scores excluded."""
    costs: list[int] = []

    def counting_scorer(token: torch.Tensor, state: S) -> tuple[torch.Tensor, S]:
        packed_product = torch.ops.mkldnn._linear_pointwise
        with FlopCounterMode(display=False, custom_mapping={packed_product: packed_flops}) as counter:
            log_probs, state = scorer(token, state)
        flops = {str(name).removeprefix("aten."): count for name, count in counter.get_flop_counts()["Global"].items()}
        projections = [int(count) for name, count in flops.items() if name.partition(".")[0] not in ATTENTION_PRODUCTS]
        costs.append(sum(projections) // 2)
        return log_probs, state

    config = DecodingConfig(beam=2, min_tokens=length)
    rules = SearchStrategy(rules_from_config(config))
    nbest_lists = beam_search(counting_scorer, state, torch.tensor([length, length]), config, strategy=rules)
    assert [len(best.tokens) for best, *_ in nbest_lists] == [length, length]
    return costs[1:]  # the first step has one row per sentence: the beam is not full yet


@pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task != "classification"])
def test_every_step_costs_the_same(kind: str) -> None:
    model = tiny(kind)
    with torch.inference_mode():
        state = model.decoder.start(model.encoder(padded_batch(sentence(5), sentence(7))))
        costs = step_costs(decoder_scorer(model.decoder), state, 16)
    assert len(costs) == 16
    assert len(set(costs)) == 1 and costs[0] > 0


def test_the_count_shows_a_decoder_without_a_cache() -> None:
    model = tiny("transformer")

    class PrefixState:
        def __init__(self, prefix: torch.Tensor) -> None:
            self.prefix = prefix

        def select(self, rows: torch.Tensor) -> "PrefixState":
            return PrefixState(self.prefix[rows])

        def concat(self, other: "PrefixState") -> "PrefixState":
            return PrefixState(torch.cat([self.prefix, other.prefix]))

    with torch.inference_mode():
        memory = model.encoder(padded_batch(*[sentence(5)] * 4))  # two sentences, two hypotheses each

    def step(token: torch.Tensor, state: PrefixState) -> tuple[torch.Tensor, PrefixState]:
        prefix = torch.cat([state.prefix, token.unsqueeze(1)], dim=1)
        rows = memory._replace(slots=memory.slots[: len(token)], mask=memory.mask[: len(token)])
        return model.decoder(padded_batch(*prefix.tolist()), rows)[:, -1].log_softmax(-1), PrefixState(prefix)

    with torch.inference_mode():
        costs = step_costs(step, PrefixState(torch.zeros(2, 0, dtype=torch.long)), 8)
    assert costs == sorted(costs)
    assert costs[-1] > 2 * costs[0]
