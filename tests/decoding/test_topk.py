"""Top-k by blocks gives the same candidates as top-k over all."""

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


def random_scores(sentences: int, beam: int, vocab_size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    log_probs = torch.randn(sentences * beam, vocab_size, generator=generator)
    return log_probs, torch.randn(sentences, beam, generator=generator)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(67, 400), st.integers(0, 999), st.data())
@settings(max_examples=60)
def test_blockwise_topk_equals_topk(sentences: int, beam: int, vocab_size: int, seed: int, data: st.DataObject) -> None:
    log_probs, ranking_scores = random_scores(sentences, beam, vocab_size, seed)
    missing = torch.tensor(data.draw(st.lists(st.booleans(), min_size=sentences * beam, max_size=sentences * beam)))
    missing.view(sentences, beam)[:, 0] = False  # a sentence without hypotheses is not in the batch
    ranking_scores = ranking_scores.masked_fill(missing.view(sentences, beam), -torch.inf)
    candidates = log_probs.view(sentences, beam, vocab_size) + ranking_scores.unsqueeze(2)
    candidates[:, :, : EOS + 1] = -torch.inf
    expected = candidates.flatten(1).topk(5, dim=1)
    rows = (~missing).nonzero().squeeze(1)
    layout = BeamLayout(beam) if len(rows) == len(missing) else BeamLayout(beam, rows)
    step = blockwise_topk(log_probs[rows], ranking_scores, layout, 5)
    assert torch.equal(step.ranking_score, expected.values)
    assert torch.equal(step.parent * vocab_size + step.token, expected.indices)
    assert torch.equal(step.token_log_prob, log_probs.view(sentences, -1).gather(1, expected.indices))


def test_the_maximum_is_selected_wherever_it_is() -> None:
    for token in range(EOS + 1, 140):
        log_probs, ranking_scores = random_scores(1, 2, 140, seed=3)
        log_probs[1, token] = 99.0
        assert blockwise_topk(log_probs, ranking_scores, BeamLayout(2), 3).token[0, 0] == token


def test_special_tokens_are_never_selected() -> None:
    log_probs, ranking_scores = random_scores(1, 1, 200, seed=1)
    log_probs[:, : EOS + 1] = 99.0
    assert (blockwise_topk(log_probs, ranking_scores, BeamLayout(1), 5).token > EOS).all()


class RecordingScorer:
    """A scorer of random log-probabilities that records the prefixes it is called with."""

    def __init__(self, vocab_size: int = 700) -> None:
        self.vocab_size = vocab_size
        self.batch_sizes: list[int] = []
        self.prefixes: list[tuple[int, ...]] = []

    def __call__(self, token: torch.Tensor, state: Prefixes) -> tuple[torch.Tensor, Prefixes]:
        rows = [(*row, last) for row, last in zip(state.rows, token.tolist(), strict=True)]
        self.batch_sizes.append(len(rows))
        self.prefixes += rows
        logits = torch.stack([random_scores(1, 1, self.vocab_size, seed=hash(row) % 2**32)[0][0] * 3 for row in rows])
        logits[:, EOS] += 6.0
        return logits.log_softmax(-1), Prefixes(rows)


@pytest.mark.parametrize("vocab_size", [700, 67, 66, 12])
def test_beam_search_gives_the_same_with_and_without_blocks(vocab_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for min_candidates in (0, 1 << 40):
        monkeypatch.setattr("tongsa.decoding.topk.MIN_BLOCKWISE_CANDIDATES", min_candidates)
        state = Prefixes([(i,) for i in range(6)])
        results.append(
            beam_search(
                RecordingScorer(vocab_size), state, torch.tensor([4, 9, 1, 12, 12, 7]), DecodingConfig(beam=4), nbest=4
            )
        )
    assert results[0] == results[1]
    assert module.BLOCK_SIZE < 700


def test_finished_hypotheses_leave_their_place_in_the_beam() -> None:
    scorer, beam = RecordingScorer(), 4
    (nbest,) = beam_search(
        scorer, Prefixes([(0,)]), torch.tensor([12]), DecodingConfig(beam=beam, alpha=5.0), nbest=beam
    )
    lengths = [len(hypothesis.tokens) for hypothesis in nbest]
    assert len(lengths) == beam
    assert min(lengths) < max(lengths), "all finished in the last step: the test shows nothing"
    assert scorer.batch_sizes == [1] + [beam] * max(lengths), "a finished hypothesis was not replaced"
    assert not any(EOS in row for row in scorer.prefixes)
