"""Laws of beam search, on decoders that are tables of scores, and on every kind of model."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table import SIZE, Looking, Prefixes, Table, every_output, penalty, sentences
from tiny import CONFIGS, padded_batch, sentence, tiny
from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.interface import Memory
from tongsa.tokenization.special import BOS, EOS, PAD


def search(table: Table, max_lengths: list[int], nbest: int = 1, **decoding: float) -> list[list[Hypothesis]]:
    config = DecodingConfig(**decoding)  # type: ignore[arg-type]
    state = table.start(sentences(len(max_lengths)))
    return beam_search(decoder_scorer(table), state, torch.tensor(max_lengths), config, nbest=nbest)


def greedy(table: Table, sentence_id: int, max_length: int) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < max_length:
        logits = table.logits((sentence_id, BOS, *tokens))
        best = max((token for token in range(SIZE) if token not in (PAD, BOS)), key=logits.__getitem__)
        if best == EOS:
            break
        tokens.append(best)
    return tokens


def simple_beam_search(table: Table, max_length: int, beam: int, alpha: float) -> list[Hypothesis]:
    """Search for one sentence in plain Python, which stops by the stopping rule alone."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Hypothesis] = []
    best_has_finished = False
    while alive and not (best_has_finished and len(finished) >= beam):
        candidates = []
        for log_prob, tokens in alive:
            log_probs = torch.tensor(table.logits((0, BOS, *tokens))).log_softmax(0).tolist()
            allowed = (
                [EOS] if len(tokens) == max_length else [token for token in range(SIZE) if token not in (PAD, BOS)]
            )
            candidates += [(log_prob + log_probs[token], [*tokens, token]) for token in allowed]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])
        best_has_finished = best_has_finished or candidates[0][1][-1] == EOS
        for log_prob, tokens in candidates[:beam]:
            if tokens[-1] == EOS:
                score = log_prob / penalty(len(tokens), alpha)
                finished.append(Hypothesis(tokens[:-1], log_prob, score, table.logs(0, tokens[:-1])))
        alive = [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam]
    best = sorted(finished, key=lambda hypothesis: -hypothesis.log_prob)[:beam]
    return sorted(best, key=lambda hypothesis: -hypothesis.score)


seeds, alphas = st.integers(0, 10**6), st.sampled_from([0.0, 0.6, 1.0])


@given(seeds, st.lists(st.integers(0, 7), min_size=1, max_size=4), alphas)
def test_beam_one_is_greedy(seed: int, max_lengths: list[int], alpha: float) -> None:
    table = Table(seed)
    expected = [greedy(table, i, max_length) for i, max_length in enumerate(max_lengths)]
    assert [best.tokens for (best,) in search(table, max_lengths, beam=1, alpha=alpha)] == expected


@given(seeds, st.lists(st.integers(0, 7), min_size=1, max_size=9), st.integers(1, 4), st.integers(1, 5), alphas)
def test_a_sentence_that_joins_later_has_the_same_result_as_alone(
    seed: int, max_lengths: list[int], beam: int, capacity: int, alpha: float
) -> None:
    table, config = Table(seed), DecodingConfig(beam=beam, alpha=alpha)
    waiting = list(enumerate(max_lengths))
    batch_sizes = []

    def refill(alive: list[int]) -> tuple[Prefixes, torch.Tensor] | None:
        joining = [waiting.pop(0) for _ in range(min(capacity - len(alive), len(waiting)))]
        batch_sizes.append(len(alive) + len(joining))
        slots = torch.tensor([float(i) for i, _ in joining]).view(-1, 1, 1)
        state = table.start(Memory(slots, slots[:, :, 0] >= 0))
        return (state, torch.tensor([max_length for _, max_length in joining])) if joining else None

    first = refill([])
    assert first is not None
    results = beam_search(decoder_scorer(table), *first, config, nbest=beam, refill=refill)
    states = table.start(sentences(len(max_lengths)))
    for i, max_length in enumerate(max_lengths):
        state = states.select(torch.tensor([i]))
        alone = beam_search(decoder_scorer(table), state, torch.tensor([max_length]), config, nbest=beam)
        assert alone == [results[i]]
    assert max(batch_sizes) <= capacity and not waiting


@given(seeds, st.integers(0, 3), alphas)
@settings(max_examples=40)
def test_a_beam_as_wide_as_the_space_is_exhaustive(seed: int, max_length: int, alpha: float) -> None:
    table = Table(seed)
    scores = {
        tuple(output): table.total(0, output) / penalty(len(output) + 1, alpha) for output in every_output(max_length)
    }
    (nbest,) = search(table, [max_length], nbest=3, beam=len(scores) * SIZE, alpha=alpha)
    expected = sorted(scores, key=lambda output: -scores[output])[:3]
    assert [tuple(hypothesis.tokens) for hypothesis in nbest] == expected


@given(seeds, st.lists(st.integers(0, 3), min_size=1, max_size=3), alphas, st.sampled_from([0.1, 0.5, 3.0]))
@settings(max_examples=60)
def test_an_exhaustive_beam_with_coverage_penalty_finds_the_best_output(
    seed: int, max_lengths: list[int], alpha: float, strength: float
) -> None:
    table, outputs = Looking(seed), list(every_output(max(max_lengths)))
    results = search(
        table, max_lengths, nbest=min(3, len(outputs)), beam=len(outputs), alpha=alpha, coverage_penalty=strength
    )
    for i, max_length in enumerate(max_lengths):
        scores = {
            tuple(output): table.total(i, output) / penalty(len(output) + 1, alpha)
            + strength * table.coverage(i, output)
            for output in every_output(max_length)
        }
        expected = sorted(scores, key=lambda output: -scores[output])[:3]
        assert [tuple(hypothesis.tokens) for hypothesis in results[i]] == expected
        expected_scores = [scores[output] for output in expected]
        assert [hypothesis.score for hypothesis in results[i]] == pytest.approx(expected_scores, abs=1e-4)


@given(seeds, st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 5), alphas)
def test_log_probs_are_sums_over_tokens_and_scores_are_normalized(
    seed: int, max_lengths: list[int], beam: int, alpha: float
) -> None:
    table = Table(seed)
    for i, nbest in enumerate(search(table, max_lengths, nbest=beam, beam=beam, alpha=alpha)):
        scores = [hypothesis.score for hypothesis in nbest]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.tokens) for hypothesis in nbest}) == len(nbest) >= 1
        for hypothesis in nbest:
            assert len(hypothesis.tokens) <= max_lengths[i]
            assert math.isclose(hypothesis.log_prob, table.total(i, hypothesis.tokens), abs_tol=1e-4)
            token_log_probs = table.logs(i, hypothesis.tokens)
            torch.testing.assert_close(hypothesis.token_log_probs, token_log_probs, rtol=0, atol=1e-4)
            score = hypothesis.log_prob / penalty(len(hypothesis.tokens) + 1, alpha)
            assert math.isclose(hypothesis.score, score, abs_tol=1e-6)


@given(seeds, st.lists(st.integers(0, 9), min_size=2, max_size=5), st.integers(1, 4))
def test_a_batch_gives_the_results_of_its_sentences_alone(seed: int, max_lengths: list[int], beam: int) -> None:
    batched = search(Table(seed), max_lengths, beam=beam)
    for i, max_length in enumerate(max_lengths):
        scorer, config = decoder_scorer(Table(seed)), DecodingConfig(beam=beam)
        ((alone,),) = beam_search(scorer, Prefixes([(i,)]), torch.tensor([max_length]), config)
        assert batched[i][0].tokens == alone.tokens


@given(seeds, st.integers(0, 10), st.integers(1, 4), alphas, st.integers(1, 4))
@settings(max_examples=200)
def test_stopping_early_never_changes_the_result(
    seed: int, max_length: int, beam: int, alpha: float, nbest: int
) -> None:
    nbest = min(nbest, beam)
    table = Table(seed)
    (hypotheses,) = search(table, [max_length], nbest=nbest, beam=beam, alpha=alpha)
    expected = simple_beam_search(table, max_length, beam, alpha)[:nbest]
    assert [hypothesis.tokens for hypothesis in hypotheses] == [hypothesis.tokens for hypothesis in expected]


@pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task != "classification"])
@pytest.mark.parametrize("beam", [1, 4])
def test_log_probs_of_a_model_equal_teacher_forcing(kind: str, beam: int) -> None:
    model, sources = tiny(kind), [sentence(4), sentence(9), sentence(6)]
    with torch.no_grad():
        state = model.decoder.start(model.encoder(padded_batch(*sources)))
        scorer, max_lengths = decoder_scorer(model.decoder), torch.tensor([8, 12, 5])
        results = beam_search(scorer, state, max_lengths, DecodingConfig(beam=beam), nbest=beam)
        for source, nbest in zip(sources, results, strict=True):
            for hypothesis in nbest:
                log_probs = model(padded_batch(source), padded_batch([BOS, *hypothesis.tokens])).log_softmax(-1)[0]
                expected = sum(float(log_probs[i, token]) for i, token in enumerate([*hypothesis.tokens, EOS]))
                assert math.isclose(expected, hypothesis.log_prob, abs_tol=1e-4)
