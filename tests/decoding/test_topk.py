"""The best candidates found block by block are those that looking at each of them finds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table import Prefixes
from tongsa.decoding import topk as module
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.topk import blockwise_topk
from tongsa.nn.beam_layout import BeamLayout
from tongsa.tokenization.special import EOS


def drawn(sentences: int, width: int, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logs = torch.randn(sentences * width, size, generator=generator)
    return logs, torch.randn(sentences, width, generator=generator)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(67, 400), st.integers(0, 999), st.data())
@settings(max_examples=60)
def test_blocks_find_what_looking_at_every_candidate_finds(
    sentences: int, width: int, size: int, seed: int, data: st.DataObject
) -> None:
    logs, merits = drawn(sentences, width, size, seed)
    dead = torch.tensor(data.draw(st.lists(st.booleans(), min_size=sentences * width, max_size=sentences * width)))
    dead.view(sentences, width)[:, 0] = False  # a sentence without a hypothesis has left the batch
    merits = merits.masked_fill(dead.view(sentences, width), -torch.inf)
    every = logs.view(sentences, width, size) + merits.unsqueeze(2)
    every[:, :, : EOS + 1] = -torch.inf
    expected = every.flatten(1).topk(5, dim=1)
    places = (~dead).nonzero().squeeze(1)
    living = BeamLayout(width) if len(places) == len(dead) else BeamLayout(width, places)
    found = blockwise_topk(logs[places], merits, living, 5)
    assert torch.equal(found.ranking_score, expected.values)
    assert torch.equal(found.parent * size + found.token, expected.indices)
    assert torch.equal(found.token_log_prob, logs.view(sentences, -1).gather(1, expected.indices))


def test_an_outlier_in_any_block_or_behind_the_last_one_is_found() -> None:
    for piece in range(EOS + 1, 140):
        logs, merits = drawn(1, 2, 140, seed=3)
        logs[1, piece] = 99.0
        assert blockwise_topk(logs, merits, BeamLayout(2), 3).token[0, 0] == piece


def test_what_is_never_chosen_is_not_even_when_it_is_the_likeliest() -> None:
    logs, merits = drawn(1, 1, 200, seed=1)
    logs[:, : EOS + 1] = 99.0
    assert (blockwise_topk(logs, merits, BeamLayout(1), 5).token > EOS).all()


class Counting:
    """A scorer with so many pieces that remembers which rows it was asked for, and how many at a time."""

    def __init__(self, size: int = 700) -> None:
        self.size = size
        self.rows: list[int] = []
        self.seen: list[tuple[int, ...]] = []

    def __call__(self, piece: torch.Tensor, state: Prefixes) -> tuple[torch.Tensor, Prefixes]:
        rows = [(*row, at) for row, at in zip(state.rows, piece.tolist(), strict=True)]
        self.rows.append(len(rows))
        self.seen += rows
        logits = torch.stack([drawn(1, 1, self.size, seed=hash(row) % 2**32)[0][0] * 3 for row in rows])
        logits[:, EOS] += 6.0
        return logits.log_softmax(-1), Prefixes(rows)


@pytest.mark.parametrize("size", [700, 67, 66, 12])
def test_a_whole_search_finds_the_same_with_blocks_and_without(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for many in (0, 1 << 40):
        monkeypatch.setattr("tongsa.decoding.beam_search.MIN_BLOCKWISE_CANDIDATES", many)
        state = Prefixes([(at,) for at in range(6)])
        found.append(
            beam_search(Counting(size), state, torch.tensor([4, 9, 1, 12, 12, 7]), DecodingConfig(beam=4), nbest=4)
        )
    assert found[0] == found[1]
    assert module.BLOCK_SIZE < 700


def test_finished_hypotheses_are_not_computed_any_further() -> None:
    scorer, beam = Counting(), 4
    found = beam_search(scorer, Prefixes([(0,)]), torch.tensor([12]), DecodingConfig(beam=beam, alpha=5.0), nbest=beam)
    ended = [len(one.tokens) for one in found[0]]
    assert len(ended) == beam
    assert min(ended) < max(ended), "nothing finished before the end: the count shows nothing"
    assert scorer.rows == [1] + [beam] * max(ended), "whoever finishes leaves its place to another prefix"
    assert not any(EOS in row for row in scorer.seen)
