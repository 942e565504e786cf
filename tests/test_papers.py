"""Golden numbers: what the papers print, or what follows from their formulas by hand."""

import math

import pytest
import torch
from torch.testing import assert_close

from tongsa.batch import Padded
from tongsa.decoding.search import penalty
from tongsa.layers.attention import KeysValues, attend, watching
from tongsa.layers.positions import sinusoids
from tongsa.models.transformer import BASE, BIG, TransformerConfig
from tongsa.training.objective import cross_entropy
from tongsa.training.schedule import RateConfig


def parameters(config: TransformerConfig, pieces: int) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in config.build(pieces, pieces).parameters())


@pytest.mark.parametrize(("config", "fixed", "width"), [(BASE, 44_138_496, 512), (BIG, 176_357_376, 1024)])
def test_table_3_parameters_of_base_and_big(config: TransformerConfig, fixed: int, width: int) -> None:
    assert parameters(config, 37_000) == fixed + width * 37_000
    assert round(parameters(BASE, 37_000) / 1e6) in (63, 65)  # the paper prints 65


def test_untied_embeddings_cost_what_they_should() -> None:
    tied = parameters(TransformerConfig(share="all"), 1000)
    assert parameters(TransformerConfig(share="target"), 1000) == tied + 512 * 1000
    assert parameters(TransformerConfig(share="none"), 1000) == tied + 2 * 512 * 1000
    # both sides share one Embedding, and so one table of positions: section 3.4
    assert parameters(TransformerConfig(positions="learned", longest=100), 1000) == tied + 512 * 100


def test_sinusoids_of_section_3_5() -> None:
    table = sinusoids(101, 512)
    assert_close(table[0], torch.tensor([0.0, 1.0] * 256))
    assert_close(table[1, :2], torch.tensor([math.sin(1), math.cos(1)]))
    assert_close(table[100, 510], torch.tensor(math.sin(100 / 10000 ** (510 / 512))))
    # PE(pos + k) is a linear function of PE(pos): a rotation of each pair
    angle = torch.tensor(7 / 10000 ** (20 / 512))
    turned = table[3, 20] * torch.cos(angle) + table[3, 21] * torch.sin(angle)
    assert_close(table[10, 20], turned)


def test_the_rate_of_equation_3_peaks_at_the_end_of_the_warm_up() -> None:
    rate = RateConfig(schedule="paper", warmup=4000).build(512, 100_000)
    assert max(range(1, 20_001), key=rate) == 4000
    assert math.isclose(rate(4000), 512**-0.5 * 4000**-0.5)
    assert math.isclose(rate(1), 512**-0.5 * 4000**-1.5)
    assert math.isclose(rate(16_000), rate(4000) / 2)


def test_other_schedules_reach_their_peak_and_their_end() -> None:
    for schedule in ("linear", "cosine"):
        rate = RateConfig(schedule=schedule, peak=2e-3, warmup=10).build(512, 100)
        assert rate(10) == pytest.approx(2e-3, rel=0.02)
        assert 0 < rate(100) < 1e-4
        assert all(rate(step) >= rate(step + 1) for step in range(10, 100))
    assert RateConfig(schedule="linear", warmup=10, hold=0.5).build(512, 110)(59) == 1e-3


def test_attention_of_equation_1_by_hand() -> None:
    query = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])
    keys = torch.tensor([[[[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]])
    values = torch.tensor([[[[1.0], [0.0]]]])
    share = math.e / (math.e + 1)  # q·k / √4 is 1 and 0
    with watching() as seen:
        assert_close(attend(query, KeysValues(keys, values), None, "cross"), torch.tensor([[[[share]]]]))
    assert_close(seen["cross"][0], torch.tensor([[[[share, 1 - share]]]]))


def test_label_smoothing_is_cross_entropy_with_the_smoothed_distribution() -> None:
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 7, requires_grad=True)
    target = Padded(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2]))
    smoothed, plain = cross_entropy(logits, target, 0.1)
    wanted = torch.nn.functional.one_hot(target.pieces, 7) * 0.9 + 0.1 / 7
    by_hand = -(wanted * logits.log_softmax(-1)).sum(-1)[target.mask].sum()
    assert_close(smoothed, by_hand)
    assert_close(plain, -logits.log_softmax(-1).gather(2, target.pieces.unsqueeze(2)).squeeze(2)[target.mask].sum())
    (mine,) = torch.autograd.grad(3 * smoothed, logits)
    (theirs,) = torch.autograd.grad(3 * by_hand, logits)
    assert_close(mine, theirs)
    assert (mine[1, 2] == 0).all(), "padding was learnt from"


def test_length_penalty_of_wu_et_al() -> None:
    assert penalty(1, 0.6) == 1.0
    assert penalty(13, 0.6) == pytest.approx(3**0.6)
    assert penalty(13, 0.0) == 1.0
