"""What holds for the search, on decoders that are nothing but a table of numbers."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table import SIZE, Looking, Prefixes, Table, every_output, penalty, sentences
from tiny import CONFIGS, padded, sentence, tiny
from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.interface import Memory
from tongsa.tokenization.special import BOS, EOS, PAD


def searched(table: Table, limits: list[int], nbest: int = 1, **settings: float) -> list[list[Hypothesis]]:
    config = DecodingConfig(**settings)  # type: ignore[arg-type]
    return beam_search(
        decoder_scorer(table), table.start(sentences(len(limits))), torch.tensor(limits), config, nbest=nbest
    )


def greedy(table: Table, sentence: int, limit: int) -> list[int]:
    pieces: list[int] = []
    while len(pieces) < limit:
        logits = table.logits((sentence, BOS, *pieces))
        best = max((piece for piece in range(SIZE) if piece not in (PAD, BOS)), key=logits.__getitem__)
        if best == EOS:
            break
        pieces.append(best)
    return pieces


def patient(table: Table, limit: int, beam: int, alpha: float) -> list[Hypothesis]:
    """The same beam written plainly, for one sentence: it stops by the rule alone, or when nothing lives."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Hypothesis] = []
    settled = False
    while alive and not (settled and len(finished) >= beam):
        grown = []
        for total, pieces in alive:
            logs = torch.tensor(table.logits((0, BOS, *pieces))).log_softmax(0).tolist()
            allowed = [EOS] if len(pieces) == limit else [piece for piece in range(SIZE) if piece not in (PAD, BOS)]
            grown += [(total + logs[piece], [*pieces, piece]) for piece in allowed]
        grown = sorted(grown, key=lambda one: -one[0])
        settled = settled or grown[0][1][-1] == EOS
        for total, pieces in grown[:beam]:
            if pieces[-1] == EOS:
                logs = table.logs(0, pieces[:-1])
                finished.append(Hypothesis(pieces[:-1], total, total / penalty(len(pieces), alpha), logs))
        alive = [one for one in grown if one[1][-1] != EOS][:beam]
    return sorted(sorted(finished, key=lambda one: -one.log_prob)[:beam], key=lambda one: -one.score)


seeds, alphas = st.integers(0, 10**6), st.sampled_from([0.0, 0.6, 1.0])


@given(seeds, st.lists(st.integers(0, 7), min_size=1, max_size=4), alphas)
def test_beam_one_is_greedy(seed: int, limits: list[int], alpha: float) -> None:
    table = Table(seed)
    found = searched(table, limits, beam=1, alpha=alpha)
    assert [best[0].tokens for best in found] == [greedy(table, at, limit) for at, limit in enumerate(limits)]


@given(seeds, st.lists(st.integers(0, 7), min_size=1, max_size=9), st.integers(1, 4), st.integers(1, 5), alphas)
def test_who_takes_an_empty_place_is_answered_as_if_alone(
    seed: int, limits: list[int], beam: int, room: int, alpha: float
) -> None:
    table, config = Table(seed), DecodingConfig(beam=beam, alpha=alpha)
    waiting = list(enumerate(limits))
    most = []

    def refill(alive: list[int]) -> tuple[Prefixes, torch.Tensor] | None:
        coming = [waiting.pop(0) for _ in range(min(room - len(alive), len(waiting)))]
        most.append(len(alive) + len(coming))
        slots = torch.tensor([float(at) for at, _ in coming]).view(-1, 1, 1)
        state = table.start(Memory(slots, slots[:, :, 0] >= 0))
        return (state, torch.tensor([limit for _, limit in coming])) if coming else None

    first = refill([])
    assert first is not None
    found = beam_search(decoder_scorer(table), *first, config, nbest=beam, refill=refill)
    every = table.start(sentences(len(limits)))
    for at, limit in enumerate(limits):
        own = every.select(torch.tensor([at]))
        assert beam_search(decoder_scorer(table), own, torch.tensor([limit]), config, nbest=beam) == [found[at]]
    assert max(most) <= room and not waiting


@given(seeds, st.integers(0, 3), alphas)
@settings(max_examples=40)
def test_a_beam_as_wide_as_the_space_is_exhaustive(seed: int, limit: int, alpha: float) -> None:
    table = Table(seed)
    scores = {tuple(out): table.total(0, out) / penalty(len(out) + 1, alpha) for out in every_output(limit)}
    (best,) = searched(table, [limit], nbest=3, beam=len(scores) * SIZE, alpha=alpha)
    expected = sorted(scores, key=lambda out: -scores[out])[:3]
    assert [tuple(one.tokens) for one in best] == expected


@given(seeds, st.lists(st.integers(0, 3), min_size=1, max_size=3), alphas, st.sampled_from([0.1, 0.5, 3.0]))
@settings(max_examples=60)
def test_with_coverage_too_the_best_of_all_outputs_is_found(
    seed: int, limits: list[int], alpha: float, coverage: float
) -> None:
    table, space = Looking(seed), list(every_output(max(limits)))
    found = searched(table, limits, nbest=min(3, len(space)), beam=len(space), alpha=alpha, coverage_penalty=coverage)
    for at, limit in enumerate(limits):
        scores = {
            tuple(out): table.total(at, out) / penalty(len(out) + 1, alpha) + coverage * table.coverage(at, out)
            for out in every_output(limit)
        }
        expected = sorted(scores, key=lambda out: -scores[out])[:3]
        assert [tuple(one.tokens) for one in found[at]] == expected
        assert [one.score for one in found[at]] == pytest.approx([scores[out] for out in expected], abs=1e-4)


@given(seeds, st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 5), alphas)
def test_totals_are_sums_of_log_probabilities(seed: int, limits: list[int], beam: int, alpha: float) -> None:
    table = Table(seed)
    for at, hypotheses in enumerate(searched(table, limits, nbest=beam, beam=beam, alpha=alpha)):
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        assert len({tuple(one.tokens) for one in hypotheses}) == len(hypotheses) >= 1
        for one in hypotheses:
            assert len(one.tokens) <= limits[at]
            assert math.isclose(one.log_prob, table.total(at, one.tokens), abs_tol=1e-4)
            torch.testing.assert_close(one.token_log_probs, table.logs(at, one.tokens), rtol=0, atol=1e-4)
            assert math.isclose(one.score, one.log_prob / penalty(len(one.tokens) + 1, alpha), abs_tol=1e-6)


@given(seeds, st.lists(st.integers(0, 9), min_size=2, max_size=5), st.integers(1, 4))
def test_a_batch_finds_what_its_sentences_find_alone(seed: int, limits: list[int], beam: int) -> None:
    together = searched(Table(seed), limits, beam=beam)
    for at, limit in enumerate(limits):
        table = Table(seed)
        by_itself = beam_search(
            decoder_scorer(table), Prefixes([(at,)]), torch.tensor([limit]), DecodingConfig(beam=beam)
        )[0]
        assert together[at][0].tokens == by_itself[0].tokens


@given(seeds, st.integers(0, 10), st.integers(1, 4), alphas, st.integers(1, 4))
@settings(max_examples=200)
def test_stopping_early_never_changes_the_answer(seed: int, limit: int, beam: int, alpha: float, nbest: int) -> None:
    nbest = min(nbest, beam)
    table = Table(seed)
    (found,) = searched(table, [limit], nbest=nbest, beam=beam, alpha=alpha)
    assert [one.tokens for one in found] == [one.tokens for one in patient(table, limit, beam, alpha)[:nbest]]


@pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task != "classification"])
@pytest.mark.parametrize("beam", [1, 4])
def test_scores_of_a_model_equal_teacher_forcing(kind: str, beam: int) -> None:
    model, sources = tiny(kind), [sentence(4), sentence(9), sentence(6)]
    with torch.no_grad():
        state = model.decoder.start(model.encoder(padded(*sources)))
        found = beam_search(
            decoder_scorer(model.decoder), state, torch.tensor([8, 12, 5]), DecodingConfig(beam=beam), nbest=beam
        )
        for source, hypotheses in zip(sources, found, strict=True):
            for one in hypotheses:
                logs = model(padded(source), padded([BOS, *one.tokens])).log_softmax(-1)[0]
                total = sum(float(logs[at, piece]) for at, piece in enumerate([*one.tokens, EOS]))
                assert math.isclose(total, one.log_prob, abs_tol=1e-4)
