"""Laws of rules, constraints and sampling, checked against all outputs of a small table of scores."""

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table import SIZE, Table, every_output, sentences
from tiny import CONFIGS, WITHOUT_ATTENTION, kind_of, padded_batch, sentence, tiny
from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import OutputConstraints
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import CombinedState, decoder_scorer, ensemble_scorer, shallow_fusion_scorer
from tongsa.decoding.search_plan import SearchPlan
from tongsa.errors import InputError
from tongsa.nn.attention import record_attention
from tongsa.tokenization.special import BOS, EOS, UNK

EXHAUSTIVE = 6000
"""A beam wider than the number of outputs of four tokens."""
LAST_TOKEN = SIZE - 1
LETTERS = st.integers(UNK, LAST_TOKEN)
Phrases = Sequence[Sequence[int]]
seeds = st.integers(0, 10**6)
phrase_lists = st.lists(st.lists(LETTERS, min_size=1, max_size=3), min_size=1, max_size=3)


def constrain(forbidden: Phrases = (), prefix: Sequence[int] = ()) -> OutputConstraints:
    return OutputConstraints(tuple(prefix), forbidden=tuple(map(tuple, forbidden)))


def decode(
    table: Table,
    max_lengths: list[int],
    *constraints: OutputConstraints,
    nbest: int = 1,
    sampling: SamplingConfig | None = None,
    **decoding: float | str,
) -> list[list[Hypothesis]]:
    config = DecodingConfig(**decoding)  # type: ignore[arg-type]
    request = DecodeRequest(config=config, nbest=nbest, sampling=sampling)
    plan = SearchPlan(request, torch.tensor(max_lengths), constraints, sampling.build() if sampling else None)
    state = plan.expand(table.start(sentences(len(max_lengths))))
    scorer = decoder_scorer(table)
    return plan.merge(
        beam_search(scorer, state, plan.max_lengths, plan.config, nbest=plan.nbest, strategy=plan.strategy)
    )


def ranked_outputs(table: Table, max_length: int, allowed: Callable[[list[int]], bool]) -> list[list[int]]:
    """Return all allowed outputs, the likeliest first."""
    return sorted(filter(allowed, every_output(max_length)), key=lambda output: -table.total(0, output))


def repeats_ngram(output: Sequence[int], size: int) -> bool:
    ngrams = [tuple(output[start : start + size]) for start in range(len(output) - size + 1)]
    return len(set(ngrams)) < len(ngrams)


def contains_any(output: Sequence[int], phrases: Phrases) -> bool:
    """Return whether one of the phrases occurs."""
    return any(
        list(output[start : start + len(phrase)]) == list(phrase) for phrase in phrases for start in range(len(output))
    )


@given(seeds, st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=40)
def test_no_repeat_ngram_finds_the_best_output_without_repetition(seed: int, max_length: int, size: int) -> None:
    table = Table(seed)
    (nbest,) = decode(table, [max_length], nbest=3, beam=EXHAUSTIVE, alpha=0, no_repeat_ngram=size)
    expected = ranked_outputs(table, max_length, lambda output: not repeats_ngram(output, size))
    assert [hypothesis.tokens for hypothesis in nbest] == expected[:3]


@given(seeds, st.integers(0, 9), st.integers(1, 4), st.integers(1, 4))
def test_no_repeat_ngram_holds_in_a_narrow_beam(seed: int, max_length: int, beam: int, size: int) -> None:
    (nbest,) = decode(Table(seed), [max_length], nbest=beam, beam=beam, no_repeat_ngram=size)
    assert nbest
    assert not any(repeats_ngram(hypothesis.tokens, size) for hypothesis in nbest)


@given(seeds, st.integers(0, 4), st.integers(0, 4))
@settings(max_examples=40)
def test_min_tokens_finds_the_best_output_of_that_length(seed: int, max_length: int, min_tokens: int) -> None:
    table, min_tokens = Table(seed), min(max_length, min_tokens)
    (nbest,) = decode(table, [max_length], nbest=3, beam=EXHAUSTIVE, alpha=0, min_tokens=min_tokens)
    expected = ranked_outputs(table, max_length, lambda output: len(output) >= min_tokens)
    assert [hypothesis.tokens for hypothesis in nbest] == expected[:3]


@given(seeds, st.lists(LETTERS, max_size=4), st.integers(0, 3), st.integers(1, 3))
@settings(max_examples=60)
def test_outputs_begin_with_their_prefix(seed: int, prefix: list[int], extra: int, beam: int) -> None:
    table, max_length = Table(seed), len(prefix) + extra
    forced, free = decode(
        table, [max_length, max_length], constrain(prefix=prefix), constrain(), nbest=beam, beam=beam, alpha=0
    )
    for hypothesis in forced:
        assert hypothesis.tokens[: len(prefix)] == prefix
        assert math.isclose(hypothesis.log_prob, table.total(0, hypothesis.tokens), abs_tol=1e-4)
    (best,) = decode(table, [max_length], constrain(prefix=prefix), beam=EXHAUSTIVE, alpha=0)
    expected = ranked_outputs(table, max_length, lambda output: output[: len(prefix)] == prefix)
    assert best[0].tokens == expected[0]
    state = table.start(sentences(2)).select(torch.tensor([1]))
    (alone,) = beam_search(
        decoder_scorer(table), state, torch.tensor([max_length]), DecodingConfig(beam=beam, alpha=0), nbest=beam
    )
    assert [hypothesis.tokens for hypothesis in free] == [hypothesis.tokens for hypothesis in alone], (
        "the prefix of another sentence changed the output"
    )


@given(seeds, st.integers(0, 3), st.sampled_from([1.0, 1.3, 2.0]))
@settings(max_examples=40)
def test_repetition_penalty_changes_scores_and_not_log_probs(seed: int, max_length: int, penalty: float) -> None:
    table = Table(seed)

    def ranking_score(output: list[int]) -> float:
        log_probs = table.logs(0, output)
        weights = [penalty if token in output[:i] else 1.0 for i, token in enumerate([*output, EOS])]
        return sum(log_prob * weight for log_prob, weight in zip(log_probs, weights, strict=True))

    (nbest,) = decode(table, [max_length], nbest=3, beam=EXHAUSTIVE, alpha=0, repetition_penalty=penalty)
    expected = sorted(every_output(max_length), key=lambda output: -ranking_score(output))[:3]
    assert [hypothesis.tokens for hypothesis in nbest] == expected
    for hypothesis in nbest:
        assert math.isclose(hypothesis.score, ranking_score(hypothesis.tokens), abs_tol=1e-4)
        assert math.isclose(hypothesis.log_prob, table.total(0, hypothesis.tokens), abs_tol=1e-4)


@given(seeds, st.integers(1, 4), st.sampled_from([0.5, 1.0]))
@settings(max_examples=40)
def test_plain_length_normalization_divides_by_a_power_of_the_length(seed: int, max_length: int, alpha: float) -> None:
    table = Table(seed)
    (nbest,) = decode(table, [max_length], nbest=2, beam=EXHAUSTIVE, length_normalization="plain", alpha=alpha)
    scores = {tuple(output): table.total(0, output) / (len(output) + 1) ** alpha for output in every_output(max_length)}
    expected = sorted(scores, key=lambda output: -scores[output])[:2]
    assert [tuple(hypothesis.tokens) for hypothesis in nbest] == expected


@given(seeds, phrase_lists, st.lists(LETTERS, max_size=2), st.integers(0, 2))
@settings(max_examples=60)
def test_the_best_output_without_forbidden_phrases_after_the_prefix_is_found(
    seed: int, phrases: list[list[int]], prefix: list[int], extra: int
) -> None:
    table, max_length = Table(seed), len(prefix) + extra
    (nbest,) = decode(table, [max_length], constrain(phrases, prefix), nbest=3, beam=EXHAUSTIVE, alpha=0)
    expected = ranked_outputs(
        table,
        max_length,
        lambda output: output[: len(prefix)] == prefix and not contains_any(output[len(prefix) :], phrases),
    )
    assert [hypothesis.tokens for hypothesis in nbest] == expected[:3]


@given(seeds, phrase_lists, st.integers(2, 9), st.integers(1, 4))
@settings(max_examples=40)
def test_constraints_of_one_sentence_do_not_change_another(
    seed: int, phrases: list[list[int]], max_length: int, beam: int
) -> None:
    table = Table(seed)
    _, free = decode(table, [max_length, max_length], constrain(phrases, [LAST_TOKEN]), constrain(), beam=beam)
    state = table.start(sentences(2)).select(torch.tensor([1]))
    (alone,) = beam_search(decoder_scorer(table), state, torch.tensor([max_length]), DecodingConfig(beam=beam))
    assert free[0].tokens == alone[0].tokens


@given(seeds, st.lists(LETTERS, min_size=1, max_size=3), st.sets(LETTERS), st.integers(0, 2))
@settings(max_examples=40)
def test_the_token_after_a_prefix_that_ends_a_word_does_not_continue_it(
    seed: int, prefix: list[int], continues_word: set[int], extra: int
) -> None:
    table, max_length = Table(seed), len(prefix) + extra
    request = DecodeRequest(config=DecodingConfig(beam=EXHAUSTIVE, alpha=0))
    constraint = OutputConstraints(tuple(prefix), prefix_ends_word=True)
    plan = SearchPlan(request, torch.tensor([max_length]), [constraint], None, continues_word)
    state, scorer = table.start(sentences(1)), decoder_scorer(table)
    (nbest,) = beam_search(scorer, state, plan.max_lengths, plan.config, strategy=plan.strategy)
    expected = ranked_outputs(
        table,
        max_length,
        lambda output: (
            output[: len(prefix)] == prefix and not continues_word & {*output[len(prefix) : len(prefix) + 1]}
        ),
    )
    assert nbest[0].tokens == expected[0]


@given(seeds, st.integers(1, 8), st.integers(1, 3))
@settings(max_examples=50)
def test_groups_without_a_diversity_penalty_equal_one_small_beam(seed: int, max_length: int, beam: int) -> None:
    table = Table(seed)
    (plain,) = decode(table, [max_length], nbest=beam, beam=beam)
    (diverse,) = decode(table, [max_length], nbest=3 * beam, beam=3 * beam, beam_groups=3, diversity_penalty=0.0)
    assert [hypothesis.tokens for hypothesis in diverse] == [hypothesis.tokens for hypothesis in plain]


@given(seeds, st.lists(st.integers(2, 8), min_size=1, max_size=3))
@settings(max_examples=50)
def test_groups_with_a_large_diversity_penalty_begin_differently(seed: int, max_lengths: list[int]) -> None:
    table = Table(seed)
    nbest_lists = decode(table, max_lengths, nbest=4, beam=4, beam_groups=4, diversity_penalty=1e6)
    for sentence_id, nbest in enumerate(nbest_lists):
        first_tokens = [[*hypothesis.tokens, EOS][0] for hypothesis in nbest]
        assert len(set(first_tokens)) == len(first_tokens) == 4
        for hypothesis in nbest:
            assert math.isclose(hypothesis.log_prob, table.total(sentence_id, hypothesis.tokens), abs_tol=1e-4)


def test_samples_occur_as_often_as_they_are_likely() -> None:
    table = Table(5)
    samples = [
        sample for seed in range(4) for sample in decode(table, [1], nbest=1000, sampling=SamplingConfig(seed=seed))[0]
    ]
    assert len(samples) == 4000
    log_probs = torch.tensor(table.logits((0, BOS))).log_softmax(0)
    possible = 1 - float(log_probs[:2].exp().sum())  # PAD and BOS are never drawn
    for output in every_output(1):
        frequency = sum(sample.tokens == output for sample in samples) / len(samples)
        probability = math.exp(float(log_probs[(output or [EOS])[0]])) / possible
        assert abs(frequency - probability) < 0.03


@given(seeds, st.integers(0, 3), st.sampled_from([0.0, 0.5]))
@settings(max_examples=30)
def test_ensembles_and_shallow_fusion_find_the_best_output_by_their_combined_probability(
    seed: int, max_length: int, weight: float
) -> None:
    first, second = Table(seed), Table(seed + 1)
    state = CombinedState((first.start(sentences(1)), second.start(sentences(1))))

    def ensemble_log_prob(output: list[int]) -> float:
        both = zip(first.logs(0, output), second.logs(0, output), strict=True)
        return sum(math.log((math.exp(a) + math.exp(b)) / 2) for a, b in both)

    def fusion_log_prob(output: list[int]) -> float:
        return first.total(0, output) + weight * second.total(0, output)

    for scorer, log_prob in (
        (ensemble_scorer([first, second]), ensemble_log_prob),
        (shallow_fusion_scorer(decoder_scorer(first), decoder_scorer(second), weight), fusion_log_prob),
    ):
        config = DecodingConfig(beam=EXHAUSTIVE, alpha=0)
        (nbest,) = beam_search(scorer, state, torch.tensor([max_length]), config, nbest=3)
        expected = sorted(every_output(max_length), key=lambda output: -log_prob(output))[:3]
        assert [hypothesis.tokens for hypothesis in nbest] == expected
        for hypothesis in nbest:
            assert math.isclose(hypothesis.log_prob, log_prob(hypothesis.tokens), abs_tol=1e-4)


@given(seeds, st.lists(LETTERS, max_size=2), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=40)
def test_prefix_no_repeat_and_min_tokens_hold_together(
    seed: int, prefix: list[int], ngram_size: int, min_tokens: int
) -> None:
    table, max_length = Table(seed), 4

    def allowed(output: list[int]) -> bool:
        unrepeated = not ngram_size or not repeats_ngram(output, ngram_size)
        return unrepeated and output[: len(prefix)] == prefix and len(output) >= min_tokens

    (nbest,) = decode(
        table,
        [max_length],
        constrain(prefix=prefix),
        nbest=2,
        beam=EXHAUSTIVE,
        alpha=0,
        no_repeat_ngram=ngram_size,
        min_tokens=min_tokens,
    )
    assert [hypothesis.tokens for hypothesis in nbest] == ranked_outputs(table, max_length, allowed)[:2]


FILTERS: dict[str, Callable[[list[float]], list[bool]]] = {
    "top_k": lambda probabilities: [p >= sorted(probabilities)[-2] for p in probabilities],
    "top_p": lambda probabilities: [sum(q for q in probabilities if q > p) < 0.6 for p in probabilities],
    "min_p": lambda probabilities: [p >= 0.4 * max(probabilities) for p in probabilities],
}


@given(seeds, st.sampled_from([("top_k", 2), ("top_p", 0.6), ("min_p", 0.4)]))
@settings(max_examples=15)
def test_samples_of_a_filter_follow_the_probabilities_that_it_keeps(seed: int, sampling: tuple[str, float]) -> None:
    table, count = Table(seed), 1000
    name, value = sampling
    (samples,) = decode(table, [1], nbest=count, sampling=SamplingConfig(seed=3, **{name: value}))  # type: ignore[arg-type]
    probabilities = torch.tensor(table.logits((0, BOS)))[EOS:].softmax(0).tolist()  # PAD and BOS are never drawn
    kept = [p * keep for p, keep in zip(probabilities, FILTERS[name](probabilities), strict=True)]
    counts = [sum([*sample.tokens, EOS][0] == token for sample in samples) for token in range(EOS, SIZE)]
    assert not any(drawn for drawn, p in zip(counts, kept, strict=True) if not p)
    expected = [count * p / sum(kept) for p in kept]
    chi_square = sum((drawn - mean) ** 2 / mean for drawn, mean in zip(counts, expected, strict=True) if mean)
    assert chi_square < 40, "three degrees of freedom: once in a hundred million"


WITH_ATTENTION = [
    name for name, config in CONFIGS.items() if config.task == "seq2seq" and kind_of(name) not in WITHOUT_ATTENTION
]


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_the_coverage_penalty_equals_that_of_teacher_forcing(kind: str) -> None:
    model, sources = tiny(kind), [sentence(4), sentence(9)]
    plain, covering = DecodingConfig(beam=3, alpha=0.6), DecodingConfig(beam=3, alpha=0.6, coverage_penalty=0.4)
    with torch.inference_mode():
        state = model.decoder.start(model.encoder(padded_batch(*sources)))
        max_lengths = torch.tensor([2, 3])  # too short to attend to all of the source
        nbest_lists = beam_search(decoder_scorer(model.decoder), state, max_lengths, covering, nbest=3)
        without = beam_search(decoder_scorer(model.decoder), state, max_lengths, plain, nbest=3)
        for source, nbest in zip(sources, nbest_lists, strict=True):
            for hypothesis in nbest:
                with record_attention() as attention:
                    model(padded_batch(source), padded_batch([BOS, *hypothesis.tokens]))
                layers = [layer.mean(dim=1)[0] for layer in attention["cross"]]  # (query, slot)
                coverage = torch.stack(layers).mean(dim=0).sum(dim=0)  # (slot,)
                penalty = 0.4 * float(coverage.clamp(max=1).log().sum())
                expected = hypothesis.log_prob / covering.length_penalty(len(hypothesis.token_log_probs)) + penalty
                assert math.isclose(hypothesis.score, expected, abs_tol=1e-4)
    scores = [[hypothesis.score for hypothesis in nbest] for nbest in nbest_lists]
    assert scores != [[hypothesis.score for hypothesis in nbest] for nbest in without]


def test_a_coverage_penalty_without_attention_is_refused() -> None:
    model = tiny("rnn")
    state = model.decoder.start(model.encoder(padded_batch(sentence(4))))
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
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DecodingConfig(**wrong)  # type: ignore[arg-type]
