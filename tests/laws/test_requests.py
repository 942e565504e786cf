"""What holds for every way of searching, against all outputs of a table, written plainly."""

import math
from collections.abc import Callable, Sequence
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table import SIZE, Table, every_output, sentences
from tiny import CONFIGS, padded, sentence, tiny
from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import MAX_PHRASES_PER_OUTPUT, ConstraintState, PhraseAutomaton, satisfiable_phrases
from tongsa.decoding.request import DecodeRequest, decode
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import CombinedState, decoder_scorer, ensemble_scorer, shallow_fusion_scorer
from tongsa.errors import InputError
from tongsa.nn.attention import record_attention
from tongsa.tokenization.special import BOS, EOS, UNK

WIDE = 6000
LETTERS = st.integers(UNK, SIZE - 1)
seeds = st.integers(0, 10**6)


def asked(
    table: Table, limits: list[int], request: DecodeRequest, nbest: int = 1, **settings: float | str
) -> list[list[Hypothesis]]:
    config = DecodingConfig(**settings)  # type: ignore[arg-type]
    state = table.start(sentences(len(limits)))
    return decode(decoder_scorer(table), state, torch.tensor(limits), config, nbest, request)


def ordered(table: Table, limit: int, allowed: Callable[[list[int]], bool]) -> list[list[int]]:
    """All outputs that are allowed, the likeliest first."""
    return sorted(filter(allowed, every_output(limit)), key=lambda out: -table.total(0, out))


def repeats(output: Sequence[int], count: int) -> bool:
    runs = [tuple(output[at : at + count]) for at in range(len(output) - count + 1)]
    return len(set(runs)) < len(runs)


def holds(output: Sequence[int], wanted: Sequence[Sequence[int]]) -> bool:
    """Each phrase, as often as it is wanted."""

    def times(phrase: Sequence[int]) -> int:
        return sum(tuple(output[at : at + len(phrase)]) == tuple(phrase) for at in range(len(output)))

    return all(times(phrase) >= list(wanted).count(phrase) for phrase in wanted)


@given(seeds, st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=40)
def test_no_run_of_pieces_comes_twice_and_the_best_such_output_is_found(seed: int, limit: int, count: int) -> None:
    table = Table(seed)
    (found,) = asked(table, [limit], DecodeRequest(), nbest=3, beam=WIDE, alpha=0, no_repeat_ngram=count)
    assert [one.tokens for one in found] == ordered(table, limit, lambda out: not repeats(out, count))[:3]


@given(seeds, st.integers(0, 9), st.integers(1, 4), st.integers(1, 4))
def test_a_narrow_beam_repeats_nothing_either(seed: int, limit: int, beam: int, count: int) -> None:
    (found,) = asked(Table(seed), [limit], DecodeRequest(), nbest=beam, beam=beam, no_repeat_ngram=count)
    assert found
    assert not any(repeats(one.tokens, count) for one in found)


@given(seeds, st.integers(0, 4), st.integers(0, 4))
@settings(max_examples=40)
def test_no_output_is_shorter_than_asked_and_the_best_such_one_is_found(seed: int, limit: int, least: int) -> None:
    table, least = Table(seed), min(limit, least)
    (found,) = asked(table, [limit], DecodeRequest(), nbest=3, beam=WIDE, alpha=0, min_tokens=least)
    assert [one.tokens for one in found] == ordered(table, limit, lambda out: len(out) >= least)[:3]


@given(seeds, st.lists(LETTERS, max_size=4), st.integers(0, 3), st.integers(1, 3))
def test_every_output_begins_as_asked(seed: int, prefix: list[int], more: int, beam: int) -> None:
    table, limit = Table(seed), len(prefix) + more
    first, free = asked(table, [limit, limit], DecodeRequest(prefixes=[prefix, []]), nbest=beam, beam=beam, alpha=0)
    assert all(one.tokens[: len(prefix)] == prefix for one in first)
    assert all(math.isclose(one.log_prob, table.total(0, one.tokens), abs_tol=1e-4) for one in first)
    (alone_,) = asked(table, [limit], DecodeRequest(prefixes=[prefix]), nbest=1, beam=WIDE, alpha=0)
    assert alone_[0].tokens == ordered(table, limit, lambda out: out[: len(prefix)] == prefix)[0]
    state = table.start(sentences(2)).select(torch.tensor([1]))
    (by_itself,) = beam_search(
        decoder_scorer(table), state, torch.tensor([limit]), DecodingConfig(beam=beam, alpha=0), nbest=beam
    )
    assert [one.tokens for one in free] == [one.tokens for one in by_itself], "its neighbour's prefix changes nothing"


@given(seeds, st.integers(0, 3), st.sampled_from([1.0, 1.3, 2.0]))
@settings(max_examples=40)
def test_repetition_weighs_what_is_there_already_and_totals_stay_probabilities(
    seed: int, limit: int, strength: float
) -> None:
    table = Table(seed)

    def merit(output: list[int]) -> float:
        logs = table.logs(0, output)
        weights = [strength if piece in output[:at] else 1.0 for at, piece in enumerate([*output, EOS])]
        return sum(log * weight for log, weight in zip(logs, weights, strict=True))

    (found,) = asked(table, [limit], DecodeRequest(), nbest=3, beam=WIDE, alpha=0, repetition_penalty=strength)
    assert [one.tokens for one in found] == sorted(every_output(limit), key=lambda out: -merit(out))[:3]
    for one in found:
        assert math.isclose(one.score, merit(one.tokens), abs_tol=1e-4)
        assert math.isclose(one.log_prob, table.total(0, one.tokens), abs_tol=1e-4)


@given(seeds, st.integers(1, 4), st.sampled_from([0.5, 1.0]))
@settings(max_examples=40)
def test_the_plain_normalisation_is_a_mean(seed: int, limit: int, alpha: float) -> None:
    table = Table(seed)
    (found,) = asked(table, [limit], DecodeRequest(), nbest=2, beam=WIDE, length_normalization="plain", alpha=alpha)
    scores = {tuple(out): table.total(0, out) / (len(out) + 1) ** alpha for out in every_output(limit)}
    assert [tuple(one.tokens) for one in found] == sorted(scores, key=lambda out: -scores[out])[:2]


phrases = st.lists(st.lists(LETTERS, min_size=1, max_size=3), min_size=1, max_size=3)


@given(seeds, phrases, st.integers(0, 4), st.integers(1, 5))
@settings(max_examples=150)
def test_phrases_are_there_whenever_an_output_of_that_length_can_hold_them(
    seed: int, wanted: list[list[int]], limit: int, beam: int
) -> None:
    table = Table(seed)
    possible = ordered(table, limit, lambda out: holds(out, wanted))
    (found,) = asked(table, [limit], DecodeRequest(phrases=[wanted]), nbest=beam, beam=beam, alpha=0)
    assert found
    if possible:
        assert all(one.tokens in possible for one in found)
        (wide,) = asked(table, [limit], DecodeRequest(phrases=[wanted]), nbest=1, beam=WIDE, alpha=0)
        assert wide[0].tokens == possible[0]


@given(seeds, phrases, st.integers(9, 14), st.integers(1, 5))
def test_long_outputs_hold_their_phrases_and_neighbours_are_left_alone(
    seed: int, wanted: list[list[int]], limit: int, beam: int
) -> None:
    table = Table(seed)
    held, free = asked(table, [limit, limit], DecodeRequest(phrases=[wanted, []]), nbest=1, beam=beam)
    assert holds(held[0].tokens, wanted)
    state = table.start(sentences(2)).select(torch.tensor([1]))
    (by_itself,) = beam_search(decoder_scorer(table), state, torch.tensor([limit]), DecodingConfig(beam=beam))
    assert free[0].tokens == by_itself[0].tokens


@given(phrases, st.lists(LETTERS, max_size=4))
@settings(max_examples=60)
def test_the_automaton_knows_the_fewest_pieces_that_are_still_needed(wanted: list[list[int]], begun: list[int]) -> None:
    automaton = PhraseAutomaton(wanted)
    needed = automaton.tokens_needed(automaton.state_after(begun))
    if needed > 5:
        return  # too many to try
    alphabet = range(UNK, SIZE)

    def enough(more: int) -> bool:
        return any(holds([*begun, *rest], wanted) for rest in product(alphabet, repeat=more))

    assert enough(needed)
    assert needed == 0 or not enough(needed - 1)


@given(seeds, st.lists(st.lists(LETTERS, min_size=1, max_size=4), max_size=4), st.integers(0, 6), st.integers(1, 3))
@settings(max_examples=150)
def test_a_phrase_is_given_up_only_if_it_does_not_fit_beside_those_that_are_kept(
    seed: int, wanted: list[list[int]], limit: int, beam: int
) -> None:
    kept = satisfiable_phrases(wanted, [], limit)
    (found,) = asked(Table(seed), [limit], DecodeRequest(phrases=[wanted]), nbest=beam, beam=beam)
    assert found and all(holds(one.tokens, [wanted[at] for at in kept]) for one in found)
    for given_up in {*range(len(wanted))} - {*kept}:
        together = [wanted[at] for at in (*kept, given_up)]
        assert not any(holds(output, together) for output in product(range(UNK, SIZE), repeat=limit))


@given(seeds, phrases, st.lists(LETTERS, max_size=4), st.integers(0, 4), st.integers(1, 3))
@settings(max_examples=150)
def test_phrases_and_a_beginning_share_the_room(
    seed: int, wanted: list[list[int]], prefix: list[int], more: int, beam: int
) -> None:
    limit = len(prefix) + more
    kept = satisfiable_phrases(wanted, prefix, limit)
    (found,) = asked(Table(seed), [limit], DecodeRequest(phrases=[wanted], prefixes=[prefix]), nbest=beam, beam=beam)
    assert found
    for one in found:
        assert one.tokens[: len(prefix)] == prefix
        assert holds(one.tokens, [wanted[at] for at in kept])
    for given_up in {*range(len(wanted))} - {*kept}:
        together = [wanted[at] for at in (*kept, given_up)]
        rests = product(range(UNK, SIZE), repeat=more)
        assert not any(holds([*prefix, *rest], together) for rest in rests)


@given(
    st.lists(
        st.lists(LETTERS, min_size=1, max_size=3),
        min_size=MAX_PHRASES_PER_OUTPUT + 1,
        max_size=2 * MAX_PHRASES_PER_OUTPUT,
    ),
    st.lists(LETTERS, max_size=5),
    st.integers(0, 40),
    seeds,
)
@settings(max_examples=40)
def test_of_very_many_phrases_some_are_kept_and_held(
    wanted: list[list[int]], prefix: list[int], more: int, seed: int
) -> None:
    limit = len(prefix) + more
    kept = satisfiable_phrases(wanted, prefix, limit)
    assert len(kept) == MAX_PHRASES_PER_OUTPUT or sum(map(len, wanted)) > more
    (found,) = asked(Table(seed), [limit], DecodeRequest(phrases=[wanted], prefixes=[prefix]), beam=2)
    assert holds(found[0].tokens, [wanted[at] for at in kept])


def test_overlapping_phrases_are_met_by_their_overlap() -> None:
    automaton = PhraseAutomaton([[4, 5, 4], [5, 4, 3]])
    assert automaton.tokens_needed(automaton.initial_state) == 4
    assert automaton.state_after([4, 5, 4, 3]).satisfied_counts == automaton.required_counts
    assert automaton.state_after([4, 5, 3]) == ConstraintState(automaton.node_ids[()], (0, 0))


def test_many_long_phrases_are_no_more_work_than_short_ones() -> None:
    wanted = [list(range(first, first + 300)) for first in range(100, 2100, 250)]
    automaton = PhraseAutomaton(wanted)  # each begins with the last 50 of the one before
    assert automaton.tokens_needed(automaton.initial_state) == 300 + 7 * 250
    assert automaton.tokens_needed(automaton.state_after(wanted[0])) == 7 * 250
    assert automaton.tokens_needed(automaton.state_after([*wanted[1], *wanted[0][:10]])) == 290 + 6 * 250 + 50


@given(seeds, st.integers(1, 8), st.integers(1, 3))
def test_groups_that_need_not_differ_are_the_same_small_beam(seed: int, limit: int, each: int) -> None:
    table = Table(seed)
    (plain,) = asked(table, [limit], DecodeRequest(), nbest=each, beam=each)
    (found,) = asked(table, [limit], DecodeRequest(), nbest=3 * each, beam=3 * each, beam_groups=3, diversity_penalty=0.0)
    assert [one.tokens for one in found] == [one.tokens for one in plain]


@given(seeds, st.lists(st.integers(2, 8), min_size=1, max_size=3))
def test_groups_that_must_differ_begin_differently(seed: int, limits: list[int]) -> None:
    table = Table(seed)
    for at, found in enumerate(asked(table, limits, DecodeRequest(), nbest=4, beam=4, beam_groups=4, diversity_penalty=1e6)):
        firsts = [([*one.tokens, EOS])[0] for one in found]
        assert len(set(firsts)) == len(firsts) == 4
        assert all(math.isclose(one.log_prob, table.total(at, one.tokens), abs_tol=1e-4) for one in found)


@given(seeds, phrases, st.integers(2, 4), st.integers(1, 2))
def test_groups_keep_away_from_each_other_with_phrases_too(
    seed: int, wanted: list[list[int]], more: int, each: int
) -> None:
    table, limit = Table(seed), sum(map(len, wanted)) + more
    (found,) = asked(
        table, [limit], DecodeRequest(phrases=[wanted]), nbest=3 * each, beam=3 * each, beam_groups=3, diversity_penalty=1e6
    )
    assert all(holds(one.tokens, wanted) for one in found)
    assert len({tuple(one.tokens) for one in found}) == len(found) > each
    assert all(math.isclose(one.log_prob, table.total(0, one.tokens), abs_tol=1e-4) for one in found)


def test_draws_of_one_text_differ_and_come_as_often_as_they_are_likely() -> None:
    table, draw = Table(5), SamplingConfig(seed=3).build()
    (found,) = asked(table, [1], DecodeRequest(sampler=draw), nbest=4000)
    assert len(found) == 4000
    for output in every_output(1):
        share = sum(one.tokens == output for one in found) / len(found)
        first = torch.tensor(table.logits((0, BOS))).log_softmax(0)
        possible = 1 - float(first[:2].exp().sum())  # <pad> and <s> are never drawn
        likely = math.exp(float(first[(output or [EOS])[0]])) / possible
        assert abs(share - likely) < 0.03


@given(seeds, st.integers(0, 3), st.sampled_from([0.0, 0.5]))
@settings(max_examples=30)
def test_several_models_find_the_best_of_all_outputs_by_their_mean_or_their_weighted_sum(
    seed: int, limit: int, weight: float
) -> None:
    one, other = Table(seed), Table(seed + 1)
    state = CombinedState((one.start(sentences(1)), other.start(sentences(1))))

    def mean(output: list[int]) -> float:
        both = zip(one.logs(0, output), other.logs(0, output), strict=True)
        return sum(math.log((math.exp(a) + math.exp(b)) / 2) for a, b in both)

    def added(output: list[int]) -> float:
        return one.total(0, output) + weight * other.total(0, output)

    for scorer, total in (
        (ensemble_scorer([one, other]), mean),
        (shallow_fusion_scorer(decoder_scorer(one), decoder_scorer(other), weight), added),
    ):
        config = DecodingConfig(beam=WIDE, alpha=0)
        (found,) = decode(scorer, state, torch.tensor([limit]), config, 3, DecodeRequest())
        assert [each.tokens for each in found] == sorted(every_output(limit), key=lambda out: -total(out))[:3]
        assert all(math.isclose(each.log_prob, total(each.tokens), abs_tol=1e-4) for each in found)


@given(seeds, phrases, st.lists(LETTERS, max_size=2), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=60)
def test_phrases_a_beginning_no_repeat_and_a_least_length_hold_together(
    seed: int, wanted: list[list[int]], prefix: list[int], count: int, least: int
) -> None:
    table, limit = Table(seed), 4
    kept = [wanted[at] for at in satisfiable_phrases(wanted, prefix, limit)]

    def allowed(output: list[int]) -> bool:
        free = not count or not repeats(output, count)
        return free and len(output) >= least and output[: len(prefix)] == prefix and holds(output, kept)

    request = DecodeRequest(phrases=[wanted], prefixes=[prefix])
    (found,) = asked(table, [limit], request, nbest=2, beam=WIDE, alpha=0, no_repeat_ngram=count, min_tokens=least)
    assert [one.tokens for one in found] == ordered(table, limit, allowed)[:2]


CUTS: dict[str, Callable[[list[float]], list[bool]]] = {
    "top_k": lambda shares: [share >= sorted(shares)[-2] for share in shares],
    "top_p": lambda shares: [sum(more for more in shares if more > share) < 0.6 for share in shares],
    "min_p": lambda shares: [share >= 0.4 * max(shares) for share in shares],
}


@given(seeds, st.sampled_from([("top_k", 2), ("top_p", 0.6), ("min_p", 0.4)]))
@settings(max_examples=15)
def test_draws_of_a_search_stay_among_the_allowed_and_follow_what_these_share(
    seed: int, cut: tuple[str, float]
) -> None:
    table, draws = Table(seed), 1000
    draw = SamplingConfig(seed=3, **{cut[0]: cut[1]}).build()  # type: ignore[arg-type]
    (found,) = asked(table, [1], DecodeRequest(sampler=draw), nbest=draws)
    shares = torch.tensor(table.logits((0, BOS)))[EOS:].softmax(0).tolist()  # <pad> and <s> are never drawn
    inside = [share * kept for share, kept in zip(shares, CUTS[cut[0]](shares), strict=True)]
    counts = [sum(([*one.tokens, EOS])[0] == piece for one in found) for piece in range(EOS, SIZE)]
    assert not any(count for count, share in zip(counts, inside, strict=True) if not share)
    expected = [draws * share / sum(inside) for share in inside]
    surprise = sum((count - mean) ** 2 / mean for count, mean in zip(counts, expected, strict=True) if mean)
    assert surprise < 40, "chi-square of three degrees of freedom: once in a hundred million"


WITH_ATTENTION = [name for name, config in CONFIGS.items() if config.task == "seq2seq" and not name.startswith("rnn")]


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_coverage_is_what_teacher_forcing_looks_at(kind: str) -> None:
    model, sources = tiny(kind), [sentence(4), sentence(9)]
    plain, weighed = DecodingConfig(beam=3, alpha=0.6), DecodingConfig(beam=3, alpha=0.6, coverage_penalty=0.4)
    with torch.inference_mode():
        state = model.decoder.start(model.encoder(padded(*sources)))
        limits = torch.tensor([2, 3])  # too few to read all of the source
        found = beam_search(decoder_scorer(model.decoder), state, limits, weighed, nbest=3)
        without = beam_search(decoder_scorer(model.decoder), state, limits, plain, nbest=3)
        for source, hypotheses in zip(sources, found, strict=True):
            for one in hypotheses:
                with record_attention() as seen:
                    model(padded(source), padded([BOS, *one.tokens]))
                looked = torch.stack([layer.mean(dim=1)[0] for layer in seen["cross"]]).mean(dim=0).sum(dim=0)
                expected = one.log_prob / weighed.length_penalty(len(one.token_log_probs)) + 0.4 * float(
                    looked.clamp(max=1).log().sum()
                )
                assert math.isclose(one.score, expected, abs_tol=1e-4)
    assert [[one.score for one in each] for each in found] != [[one.score for one in each] for each in without]


def test_coverage_of_a_kind_without_attention_is_refused() -> None:
    model = tiny("rnn")
    state = model.decoder.start(model.encoder(padded(sentence(4))))
    with pytest.raises(InputError, match="no attention"):
        beam_search(decoder_scorer(model.decoder), state, torch.tensor([5]), DecodingConfig(coverage_penalty=0.2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"beam": 0},
        {"no_repeat_ngram": -1},
        {"min_tokens": -1},
        {"repetition_penalty": 0.9},
        {"coverage_penalty": -0.1},
        {"beam_groups": 3},
        {"length_normalization": "mean"},
        {"alpha": float("nan")},
        {"diversity_penalty": float("inf")},
    ],
)
def test_impossible_searches_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DecodingConfig(**wrong)  # type: ignore[arg-type]
