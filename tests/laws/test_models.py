"""Laws that hold for every kind of model."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from tiny import CONFIGS, SIZE, kind_of, padded_batch, sentence, tiny
from tongsa import bundle
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.decoding.text_model import mean_alignment
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn.attention import record_attention
from tongsa.tokenization.special import BOS
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.training import loss as loss_module
from tongsa.training.loss import chunked_cross_entropy, cross_entropy

kinds = pytest.mark.parametrize("kind", CONFIGS)
generators = pytest.mark.parametrize(
    "kind", [name for name, config in CONFIGS.items() if config.task != "classification"]
)
"""Kinds whose target is a sequence."""
encoders = pytest.mark.parametrize(
    "kind", [name for name, config in CONFIGS.items() if config.task != "language_model"]
)
"""Kinds with a source."""
translators = pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task == "seq2seq"])


def logits(model: EncoderDecoder, source: Padded, target: Padded) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = model(source, target)
    return result


def shift_right(*rows: list[int]) -> Padded:
    """Return the decoder input of these targets: <s> first, the last token dropped."""
    return padded_batch(*([BOS, *row[:-1]] for row in rows))


@kinds
def test_step_by_step_equals_teacher_forcing(kind: str) -> None:
    model, source, target = (
        tiny(kind),
        padded_batch(sentence(5), sentence(7)),
        shift_right(sentence(6, 1), sentence(6, 2)),
    )
    with torch.no_grad():
        expected = model(source, target)
        state = model.decoder.start(model.encoder(source))
        for position in range(target.tokens.shape[1]):
            step, state = model.decoder.step(target.tokens[:, position], state)
            assert_close(step, expected[:, position])


@generators
@pytest.mark.parametrize("rows", [1, 2, 17])
def test_steps_of_inference_mode_equal_teacher_forcing_and_can_be_continued_twice(kind: str, rows: int) -> None:
    """Every step is taken with other tokens first: what it writes must not change the state that continues."""
    model = tiny(kind)
    source = padded_batch(*(sentence(5 + row % 3) for row in range(rows)))
    target = shift_right(*(sentence(12, 1 + row) for row in range(rows)))
    with torch.no_grad():
        expected = model(source, target)
    with torch.inference_mode():
        state = model.decoder.start(model.encoder(source))
        for position in range(target.tokens.shape[1]):
            model.decoder.step(target.tokens[:, position].flip(0) // 2 + 2, state)
            step, state = model.decoder.step(target.tokens[:, position], state)
            assert_close(step, expected[:, position])


@kinds
def test_padding_changes_nothing(kind: str) -> None:
    model, row, output = tiny(kind), sentence(5), sentence(4, 1)
    alone = logits(model, padded_batch(row), shift_right(output))
    with_padding = logits(
        model,
        padded_batch(row, extra=6),
        Padded(torch.nn.functional.pad(shift_right(output).tokens, (0, 3)), torch.tensor([4])),
    )
    assert_close(alone, with_padding[:, :4])


@kinds
def test_a_batch_equals_its_sentences_alone(kind: str) -> None:
    model = tiny(kind)
    sources, outputs = [sentence(3), sentence(9), sentence(6)], [sentence(8, 1), sentence(2, 1), sentence(5, 1)]
    together = logits(model, padded_batch(*sources), shift_right(*outputs))
    for row, (source, output) in enumerate(zip(sources, outputs, strict=True)):
        assert_close(together[row : row + 1, : len(output)], logits(model, padded_batch(source), shift_right(output)))


@generators
def test_later_target_tokens_never_change_earlier_logits(kind: str) -> None:
    model, source, output = tiny(kind), padded_batch(sentence(5)), sentence(8, 1)
    before = logits(model, source, shift_right(output))
    for position in range(1, 7):
        changed = [*output]
        changed[position] = 4 + (output[position] - 3) % (SIZE - 4)
        after = logits(model, source, shift_right(changed))
        assert_close(before[:, : position + 1], after[:, : position + 1])
        assert not torch.equal(before[:, position + 1], after[:, position + 1]), "the change has no effect"


@encoders
def test_the_source_changes_the_logits(kind: str) -> None:
    model, output = tiny(kind), shift_right(sentence(4, 1))
    assert not torch.allclose(
        logits(model, padded_batch(sentence(5, 2)), output), logits(model, padded_batch(sentence(5, 3)), output)
    )


@kinds
def test_recorded_attention_equals_fused_attention(kind: str) -> None:
    model, source, target = (
        tiny(kind),
        padded_batch(sentence(5), sentence(8)),
        shift_right(sentence(6, 1), sentence(3, 1)),
    )
    fused = logits(model, source, target)
    with record_attention() as attention:
        recorded = logits(model, source, target)
    assert_close(fused, recorded)
    for layers in attention.values():
        for weights in layers:
            assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
            assert (weights >= 0).all()


@kinds
def test_every_parameter_gets_a_gradient(kind: str) -> None:
    model, target = tiny(kind).train(), padded_batch(sentence(6, 1), sentence(4, 1))
    loss, _ = cross_entropy(
        model(padded_batch(sentence(5), sentence(8)), shift_right(sentence(6, 1), sentence(4, 1))), target, 0.1
    )
    loss.backward()  # type: ignore[no-untyped-call]
    assert [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()] == []


@kinds
def test_chunked_loss_equals_loss_of_all_logits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums and the same gradients, with chunks smaller than the batch."""
    monkeypatch.setattr(loss_module, "ROWS_PER_CHUNK", 3)
    model, target = tiny(kind), padded_batch(sentence(6, 1), sentence(4, 1))
    source, decoder_input = padded_batch(sentence(5), sentence(8)), shift_right(sentence(6, 1), sentence(4, 1))
    parameters = list(model.parameters())
    for label_smoothing in (0.0, 0.1):
        sums = cross_entropy(model(source, decoder_input), target, label_smoothing)
        gradients = torch.autograd.grad(3 * sums[0], parameters)
        hidden = model.decoder.hidden(decoder_input, model.encoder(source))
        chunked_sums = chunked_cross_entropy(hidden, model.decoder.output, target, label_smoothing)
        assert_close(chunked_sums, sums)
        chunked_gradients = torch.autograd.grad(3 * chunked_sums[0], parameters)
        for chunked_gradient, gradient in zip(chunked_gradients, gradients, strict=True):
            assert_close(chunked_gradient, gradient, rtol=1e-4, atol=1e-5)


@translators
def test_a_model_can_memorize_two_pairs(kind: str) -> None:
    model, sources, outputs = tiny(kind), [sentence(4), sentence(6)], [sentence(6, 1), sentence(3, 1)]
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(200):
        loss, _ = cross_entropy(model(padded_batch(*sources), shift_right(*outputs)), padded_batch(*outputs), 0.0)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
    state = model.decoder.start(model.encoder(padded_batch(*sources)))
    hypotheses = beam_search(decoder_scorer(model.decoder), state, torch.tensor([20, 20]), DecodingConfig(beam=3))
    assert [best[0].tokens for best in hypotheses] == [output[:-1] for output in outputs]


@kinds
@settings(max_examples=30)
@given(
    rows=st.lists(st.integers(0, 2), min_size=1, max_size=8), again=st.lists(st.integers(0, 99), min_size=1, max_size=6)
)
def test_a_selected_state_continues_like_its_rows(kind: str, rows: list[int], again: list[int]) -> None:
    """Rows are repeated, dropped and reordered twice; each row continues as its sentence would alone."""
    model, sources = tiny(kind), [sentence(3), sentence(7), sentence(5)]
    outputs = [sentence(4, seed) for seed in (1, 2, 3)]
    selections = [rows, [row % len(rows) for row in again]]
    with torch.no_grad():
        state = model.decoder.start(model.encoder(padded_batch(*sources)))
        for position, selected in enumerate(selections):
            _, state = model.decoder.step(shift_right(*outputs).tokens[:, position], state)
            state = state.select(torch.tensor(selected))
            outputs = [outputs[row] for row in selected]
            sources = [sources[row] for row in selected]
        step, _ = model.decoder.step(shift_right(*outputs).tokens[:, 2], state)
        assert_close(step, model(padded_batch(*sources), shift_right(*outputs))[:, 2])


@kinds
@settings(max_examples=30)
@given(before=st.integers(0, 4), later=st.integers(0, 2), rows=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_concatenated_states_continue_as_they_would_alone(kind: str, before: int, later: int, rows: list[int]) -> None:
    """Two sentences after some steps, two others after other steps; then a selection of all rows continues."""
    model, sources = tiny(kind), [sentence(length) for length in (7, 3, 5, 9)]
    outputs = [sentence(9, seed) for seed in range(4)]
    steps = [before, before, later, later]
    with torch.no_grad():
        tokens = shift_right(*outputs).tokens
        expected = model(padded_batch(*sources), shift_right(*outputs))

        def state_after(first: int, count: int) -> Any:
            state = model.decoder.start(model.encoder(padded_batch(*sources[first : first + 2])))
            for position in range(count):
                _, state = model.decoder.step(tokens[first : first + 2, position], state)
            return state.select(torch.tensor([1, 0]))

        state = state_after(0, before).concat(state_after(2, later)).select(torch.tensor(rows))
        sentences = [(1, 0, 3, 2)[row] for row in rows]
        for extra in range(3):
            positions = [steps[row] + extra for row in sentences]
            step, state = model.decoder.step(tokens[sentences, positions], state)
            assert_close(step, expected[sentences, positions])


@kinds
def test_a_saved_and_loaded_model_gives_the_same_logits(kind: str, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(["a b c d e f g"], TokenizerConfig(model="char", vocab_size=300))
    torch.manual_seed(3)
    config = CONFIGS[kind]
    saved = Bundle(
        kind=kind_of(kind),
        config=config,
        # frozen as a loaded one: torch computes frozen LSTMs with another library, whose last digits differ
        model=config.build(len(tokenizer), len(tokenizer)).eval().requires_grad_(requires_grad=False),
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        decoding=DecodingConfig(beam=3, alpha=0.2),
        source_language="en",
        target_language="ko",
    )
    bundle.save_bundle(tmp_path / "model", saved, "# card")
    loaded = bundle.load_bundle(tmp_path)
    source, target = padded_batch(sentence(5), sentence(8)), shift_right(sentence(6, 1), sentence(3, 1))
    assert torch.equal(logits(saved.model, source, target), logits(loaded.model, source, target))
    assert (loaded.config, loaded.decoding, loaded.target_language) == (config, saved.decoding, "ko")


@kinds
def test_a_vocabulary_subset_gets_the_same_logits(kind: str) -> None:
    model, source, target = (
        tiny(kind),
        padded_batch(sentence(5), sentence(7)),
        shift_right(sentence(6, 1), sentence(6, 2)),
    )
    vocab_subset = torch.tensor([2, 3, 5, 11, 16])
    with torch.no_grad():
        expected = model(source, target)
        state = model.decoder.start(model.encoder(source), vocab_subset).select(torch.tensor([1, 0, 1]))
        for position in range(3):
            step, state = model.decoder.step(target.tokens[[1, 0, 1], position], state)
            assert_close(step, expected[[1, 0, 1], position][:, vocab_subset])


@kinds
def test_a_model_has_no_state_between_calls(kind: str) -> None:
    model, source, target = tiny(kind), padded_batch(sentence(5)), shift_right(sentence(6, 1))
    first = logits(model, source, target)
    logits(model, padded_batch(sentence(9, 4)), shift_right(sentence(3, 5)))
    assert torch.equal(first, logits(model, source, target))


@translators
def test_an_alignment_distributes_each_target_token_over_the_source(kind: str) -> None:
    tokenizer = train_tokenizer(["a b c d e f g"], TokenizerConfig(model="char", vocab_size=300))
    torch.manual_seed(3)
    model = CONFIGS[kind].build(len(tokenizer), len(tokenizer))
    translation = Translator(model, tokenizer, tokenizer, DecodingConfig(beam=2, max_extra_tokens=4))("a b c")
    if not translation.attention.get("cross"):
        with pytest.raises(InputError, match="no attention"):
            _ = translation.alignment
        return
    alignment = torch.from_numpy(translation.alignment)
    assert alignment.shape == (len(translation.tokens) + 1, len(translation.source_tokens) + 1)
    assert_close(alignment.sum(dim=1), torch.ones(len(alignment)))


@translators
def test_alignments_of_many_pairs_are_those_of_each_pair_alone(kind: str) -> None:
    tokenizer = train_tokenizer(["a b c d e f g"], TokenizerConfig(model="char", vocab_size=300))
    torch.manual_seed(3)
    model = CONFIGS[kind].build(len(tokenizer), len(tokenizer))
    translator = Translator(model, tokenizer, tokenizer, DecodingConfig(), batch_tokens=24)
    texts = [("a b c d e", "g"), ("a", "b c d e"), ("", "a"), ("f g a", ""), ("a b", "c d")]
    pairs = [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in texts]
    if not translator.attention(*pairs[0]).get("cross"):
        with pytest.raises(InputError, match="no attention"):
            translator.alignments(pairs)
        return
    for pair, alignment in zip(pairs, translator.alignments(pairs), strict=True):
        expected = mean_alignment(translator.attention(*pair))
        assert_close(torch.from_numpy(alignment), torch.from_numpy(expected))
