"""No prefix is computed twice: every step of a search costs the same products, however long the output is already."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tiny import CONFIGS, padded, sentence, tiny
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.beams import SearchStrategy
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.rules import rules_from_config
from tongsa.decoding.scorers import decoder_scorer
from tongsa.interface import EncoderDecoder

GROWING = {"bmm", "_scaled_dot_product_flash_attention_for_cpu", "baddbmm"}
"""Attention looks at all that is there: its scores grow with the output, its projections do not."""


def cost(model: EncoderDecoder, length: int) -> int:
    """Multiply-adds of the products of a search whose outputs have exactly this length."""
    config = DecodingConfig(beam=2, min_tokens=length)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        state = model.decoder.start(model.encoder(padded(sentence(5), sentence(7))))
        found = beam_search(
            decoder_scorer(model.decoder),
            state,
            torch.tensor([length, length]),
            config,
            strategy=SearchStrategy(rules_from_config(config)),
        )
    assert [len(one[0].tokens) for one in found] == [length, length]
    counts = {str(name).removeprefix("aten."): flops for name, flops in counter.get_flop_counts()["Global"].items()}
    return sum(int(flops) for name, flops in counts.items() if name.partition(".")[0] not in GROWING) // 2


@pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task != "classification"])
def test_a_step_costs_the_same_wherever_it_is(kind: str) -> None:
    model = tiny(kind)
    early = cost(model, 8) - cost(model, 4)
    late = cost(model, 16) - cost(model, 12)
    assert early == late > 0


def test_the_count_would_notice_a_prefix_computed_again() -> None:
    model = tiny("transformer")

    class Forgetful:
        """Steps by teacher forcing over the whole prefix, as a decoder without a cache does."""

        def __init__(self, prefix: torch.Tensor) -> None:
            self.prefix = prefix

        def select(self, rows: torch.Tensor) -> "Forgetful":
            return Forgetful(self.prefix[rows])

        def concat(self, other: "Forgetful") -> "Forgetful":
            return Forgetful(torch.cat([self.prefix, other.prefix]))

    memory = model.encoder(padded(sentence(5)))

    def step(piece: torch.Tensor, state: Forgetful) -> tuple[torch.Tensor, Forgetful]:
        after = torch.cat([state.prefix, piece.unsqueeze(1)], dim=1)
        return model.decoder(padded(*after.tolist()), memory)[:, -1].log_softmax(-1), Forgetful(after)

    def again(length: int) -> int:
        config = DecodingConfig(beam=1, min_tokens=length)
        with torch.inference_mode(), FlopCounterMode(display=False) as counter:
            empty = Forgetful(torch.zeros(1, 0, dtype=torch.long))
            beam_search(step, empty, torch.tensor([length]), config, strategy=SearchStrategy(rules_from_config(config)))
        return int(counter.get_total_flops())

    assert again(16) - again(12) > 1.5 * (again(8) - again(4))
