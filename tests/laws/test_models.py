"""What holds for every kind of model."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from tiny import CONFIGS, SIZE, kind_of, padded, sentence, tiny
from tongsa import bundle
from tongsa.batch import Padded
from tongsa.bundle import Bundle
from tongsa.decoding.beam_search import beam_search
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.scorers import decoder_scorer
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn.attention import record_attention
from tongsa.tokenization.special import BOS
from tongsa.tokenization.subword import TokenizerConfig, train_tokenizer
from tongsa.training import loss as loss_module
from tongsa.training.loss import chunked_cross_entropy, cross_entropy

kinds = pytest.mark.parametrize("kind", CONFIGS)
writers = pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task != "classification"])
"""Kinds whose target is a sequence."""
readers = pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task != "language_model"])
"""Kinds that read a source."""
translators = pytest.mark.parametrize("kind", [name for name, config in CONFIGS.items() if config.task == "seq2seq"])


def logits(model: EncoderDecoder, source: Padded, target: Padded) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = model(source, target)
    return result


def begun(*rows: list[int]) -> Padded:
    return padded(*([BOS, *row[:-1]] for row in rows))


@kinds
def test_stepping_piece_by_piece_equals_teacher_forcing(kind: str) -> None:
    model, source, target = tiny(kind), padded(sentence(5), sentence(7)), begun(sentence(6, 1), sentence(6, 2))
    with torch.no_grad():
        whole = model(source, target)
        state = model.decoder.start(model.encoder(source))
        for at in range(target.tokens.shape[1]):
            step, state = model.decoder.step(target.tokens[:, at], state)
            assert_close(step, whole[:, at])


@kinds
def test_padding_changes_nothing(kind: str) -> None:
    model, row, output = tiny(kind), sentence(5), sentence(4, 1)
    alone = logits(model, padded(row), begun(output))
    beside = logits(
        model, padded(row, extra=6), Padded(torch.nn.functional.pad(begun(output).tokens, (0, 3)), torch.tensor([4]))
    )
    assert_close(alone, beside[:, :4])


@kinds
def test_a_batch_equals_its_sentences_alone(kind: str) -> None:
    model = tiny(kind)
    sources, outputs = [sentence(3), sentence(9), sentence(6)], [sentence(8, 1), sentence(2, 1), sentence(5, 1)]
    together = logits(model, padded(*sources), begun(*outputs))
    for at, (source, output) in enumerate(zip(sources, outputs, strict=True)):
        assert_close(together[at : at + 1, : len(output)], logits(model, padded(source), begun(output)))


@writers
def test_later_target_pieces_never_change_earlier_logits(kind: str) -> None:
    model, source, output = tiny(kind), padded(sentence(5)), sentence(8, 1)
    before = logits(model, source, begun(output))
    for at in range(1, 7):
        changed = [*output]
        changed[at] = 4 + (output[at] - 3) % (SIZE - 4)
        after = logits(model, source, begun(changed))
        assert_close(before[:, : at + 1], after[:, : at + 1])
        assert not torch.equal(before[:, at + 1], after[:, at + 1]), "the change was seen nowhere"


@readers
def test_the_source_is_read(kind: str) -> None:
    model, output = tiny(kind), begun(sentence(4, 1))
    assert not torch.allclose(
        logits(model, padded(sentence(5, 2)), output), logits(model, padded(sentence(5, 3)), output)
    )


@kinds
def test_watched_equals_fused(kind: str) -> None:
    model, source, target = tiny(kind), padded(sentence(5), sentence(8)), begun(sentence(6, 1), sentence(3, 1))
    fused = logits(model, source, target)
    with record_attention() as seen:
        watched = logits(model, source, target)
    assert_close(fused, watched)
    for layers in seen.values():
        for weights in layers:
            assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
            assert (weights >= 0).all()


@kinds
def test_every_parameter_gets_a_gradient(kind: str) -> None:
    model, target = tiny(kind).train(), padded(sentence(6, 1), sentence(4, 1))
    loss, _ = cross_entropy(model(padded(sentence(5), sentence(8)), begun(sentence(6, 1), sentence(4, 1))), target, 0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    idle = [name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()]
    assert idle == []


@kinds
def test_chunked_loss_equals_loss_of_all_logits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums and the same gradients, with chunks smaller than the batch."""
    monkeypatch.setattr(loss_module, "ROWS_PER_CHUNK", 3)
    model, target = tiny(kind), padded(sentence(6, 1), sentence(4, 1))
    source, decoder_input = padded(sentence(5), sentence(8)), begun(sentence(6, 1), sentence(4, 1))
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
def test_two_pairs_can_be_learnt_by_heart(kind: str) -> None:
    model, sources, outputs = tiny(kind), [sentence(4), sentence(6)], [sentence(6, 1), sentence(3, 1)]
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(200):
        loss, _ = cross_entropy(model(padded(*sources), begun(*outputs)), padded(*outputs), 0.0)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        optimiser.zero_grad()
    state = model.decoder.start(model.encoder(padded(*sources)))
    found = beam_search(decoder_scorer(model.decoder), state, torch.tensor([20, 20]), DecodingConfig(beam=3))
    assert [best[0].tokens for best in found] == [output[:-1] for output in outputs]


@kinds
@settings(max_examples=30)
@given(
    rows=st.lists(st.integers(0, 2), min_size=1, max_size=8), again=st.lists(st.integers(0, 99), min_size=1, max_size=6)
)
def test_a_selected_state_goes_on_like_its_rows(kind: str, rows: list[int], again: list[int]) -> None:
    """Repeated, dropped and reordered, twice over: each row goes on as its own sentence would have."""
    model, sources, outputs = tiny(kind), [sentence(3), sentence(7), sentence(5)], [sentence(4, at) for at in (1, 2, 3)]
    again = [at % len(rows) for at in again]
    with torch.no_grad():
        state = model.decoder.start(model.encoder(padded(*sources)))
        for at in range(2):
            _, state = model.decoder.step(begun(*outputs).tokens[:, at], state)
            state = state.select(torch.tensor(rows if at == 0 else again))
            outputs = [outputs[row] for row in (rows if at == 0 else again)]
            sources = [sources[row] for row in (rows if at == 0 else again)]
        step, _ = model.decoder.step(begun(*outputs).tokens[:, 2], state)
        assert_close(step, model(padded(*sources), begun(*outputs))[:, 2])


@kinds
@settings(max_examples=30)
@given(before=st.integers(0, 4), later=st.integers(0, 2), rows=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_rows_that_come_later_go_on_as_they_would_alone(kind: str, before: int, later: int, rows: list[int]) -> None:
    """Two sentences after some steps, two others beside them, and some of all these rows on to the end."""
    model, sources = tiny(kind), [sentence(length) for length in (7, 3, 5, 9)]
    outputs = [sentence(9, at) for at in range(4)]
    steps = [before, before, later, later]
    with torch.no_grad():
        whole = model(padded(*sources), begun(*outputs))
        pieces = begun(*outputs).tokens

        def state(first: int, count: int) -> Any:
            begun = model.decoder.start(model.encoder(padded(*sources[first : first + 2])))
            for at in range(count):
                _, begun = model.decoder.step(pieces[first : first + 2, at], begun)
            return begun.select(torch.tensor([1, 0]))

        both = state(0, before).concat(state(2, later)).select(torch.tensor(rows))
        own = [(1, 0, 3, 2)[row] for row in rows]
        for at in range(3):
            places = [steps[row] + at for row in own]
            found, both = model.decoder.step(pieces[own, places], both)
            assert_close(found, whole[own, places])


@kinds
def test_saved_and_loaded_gives_the_same_logits(kind: str, tmp_path: Path) -> None:
    pieces = train_tokenizer(["a b c d e f g"], TokenizerConfig(model="char", vocab_size=300))
    torch.manual_seed(3)
    config = CONFIGS[kind]
    made = Bundle(
        kind=kind_of(kind),
        config=config,
        model=config.build(len(pieces), len(pieces)).eval(),
        source_tokenizer=pieces,
        target_tokenizer=pieces,
        decoding=DecodingConfig(beam=3, alpha=0.2),
        source_language="en",
        target_language="ko",
    )
    bundle.save_bundle(tmp_path / "model", made, "# card")
    loaded = bundle.load_bundle(tmp_path)
    source, target = padded(sentence(5), sentence(8)), begun(sentence(6, 1), sentence(3, 1))
    assert torch.equal(logits(made.model, source, target), logits(loaded.model, source, target))
    assert (loaded.config, loaded.decoding, loaded.target_language) == (config, made.decoding, "ko")


@kinds
def test_asked_for_some_pieces_a_decoder_scores_them_as_it_does_among_all(kind: str) -> None:
    model, source, target = tiny(kind), padded(sentence(5), sentence(7)), begun(sentence(6, 1), sentence(6, 2))
    among = torch.tensor([2, 3, 5, 11, 16])
    with torch.no_grad():
        whole = model(source, target)
        state = model.decoder.start(model.encoder(source), among).select(torch.tensor([1, 0, 1]))
        for at in range(3):
            step, state = model.decoder.step(target.tokens[[1, 0, 1], at], state)
            assert_close(step, whole[[1, 0, 1], at][:, among])


@kinds
def test_nothing_is_kept_between_calls(kind: str) -> None:
    model, source, target = tiny(kind), padded(sentence(5)), begun(sentence(6, 1))
    first = logits(model, source, target)
    logits(model, padded(sentence(9, 4)), begun(sentence(3, 5)))
    assert torch.equal(first, logits(model, source, target))


@translators
def test_an_alignment_shares_out_each_target_piece_over_the_source(kind: str) -> None:
    pieces = train_tokenizer(["a b c d e f g"], TokenizerConfig(model="char", vocab_size=300))
    torch.manual_seed(3)
    model = CONFIGS[kind].build(len(pieces), len(pieces))
    translation = Translator(model, pieces, pieces, DecodingConfig(beam=2, max_extra_tokens=4))("a b c")
    if not translation.attention.get("cross"):
        with pytest.raises(InputError, match="no attention"):
            _ = translation.alignment
        return
    alignment = torch.from_numpy(translation.alignment)
    assert alignment.shape == (len(translation.tokens) + 1, len(translation.source_tokens) + 1)
    assert_close(alignment.sum(dim=1), torch.ones(len(alignment)))
