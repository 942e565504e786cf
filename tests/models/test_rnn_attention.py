"""Additive attention as tutorials draw it: the equations of notebook 3 of bentrevett/pytorch-seq2seq, written again.

H, z = EncoderGRU(x), s_0 = tanh(g(z→, z←)), a_t = softmax(v tanh(attn(s_{t-1}, H))), w_t = a_t H,
s_t = DecoderGRU(d(y_t), w_t, s_{t-1}), ŷ_{t+1} = f(s_t, w_t, d(y_t)). Several layers are those of torch.nn.GRU.
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny import SIZE, padded_batch, sentence
from tongsa.interface import EncoderDecoder
from tongsa.models.rnn_attention import TUTORIAL
from tongsa.nn.rnn import RecurrentLayer, ResetAfterGRUCell
from tongsa.tokenization.special import BOS

EMBEDDING, WIDTH = 6, 8


class Tutorial(nn.Module):
    """One sentence, without padding: the notebook has no masks."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = layers
        self.e, self.d = nn.Embedding(SIZE, EMBEDDING), nn.Embedding(SIZE, EMBEDDING)
        self.encoder_gru = nn.GRU(EMBEDDING, WIDTH, layers, bidirectional=True)
        self.g = nn.Linear(2 * WIDTH, layers * WIDTH)
        self.attn = nn.Linear(WIDTH + 2 * WIDTH, WIDTH)
        self.v = nn.Parameter(torch.empty(WIDTH))
        self.decoder_gru = nn.GRU(EMBEDDING + 2 * WIDTH, WIDTH, layers)
        self.f = nn.Linear(WIDTH + 2 * WIDTH + EMBEDDING, SIZE)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:  # (length, token)
        annotations, last = self.encoder_gru(self.e(source))  # (length, 2 · width), (layer · direction, width)
        states = torch.tanh(self.g(torch.cat([last[-2], last[-1]]))).view(self.layers, WIDTH)
        rows = []
        for token in target:
            query = states[-1].expand(len(source), -1)
            weights = torch.softmax(torch.tanh(self.attn(torch.cat([query, annotations], dim=1))) @ self.v, dim=0)
            weighted = weights @ annotations
            output, states = self.decoder_gru(torch.cat([self.d(token), weighted]).unsqueeze(0), states)
            rows.append(self.f(torch.cat([output[0], weighted, self.d(token)])))
        return torch.stack(rows)


@torch.no_grad()
def copy_gru(layer: RecurrentLayer, gru: nn.GRU, name: str, context: nn.Linear | None = None) -> None:
    """Copy a layer of torch's GRU; its two biases of the reset and update gate become one."""
    assert isinstance(layer.cell, ResetAfterGRUCell)
    weight, bias, hidden_bias = (getattr(gru, f"{kind}_{name}") for kind in ("weight_ih", "bias_ih", "bias_hh"))
    layer.input_projection.weight.copy_(weight[:, : layer.input_projection.in_features])
    if context is not None:
        context.weight.copy_(weight[:, layer.input_projection.in_features :])
    gates, candidate = hidden_bias.tensor_split([2 * WIDTH])
    layer.input_projection.bias.copy_(bias + torch.cat([gates, torch.zeros(WIDTH)]))
    layer.cell.candidate_bias.copy_(candidate)
    layer.cell.state_projection.weight.copy_(getattr(gru, f"weight_hh_{name}"))


@torch.no_grad()
def copy_tutorial(tutorial: Tutorial, model: EncoderDecoder) -> None:
    encoder, decoder = model.get_submodule("encoder"), model.get_submodule("decoder")
    for depth in range(tutorial.layers):
        both = encoder.get_submodule(f"layers.{depth}")
        copy_gru(both.forward_rnn, tutorial.encoder_gru, f"l{depth}")  # type: ignore[arg-type]
        copy_gru(both.backward_rnn, tutorial.encoder_gru, f"l{depth}_reverse")  # type: ignore[arg-type]
        context = decoder.context_projection if depth == 0 else None
        copy_gru(decoder.get_submodule(f"layers.{depth}"), tutorial.decoder_gru, f"l{depth}", context)  # type: ignore[arg-type]
    query, key = tutorial.attn.weight.tensor_split([WIDTH], dim=1)
    state, weighted, token = tutorial.f.weight.tensor_split([WIDTH, 3 * WIDTH], dim=1)
    values = {
        "encoder.embedding.weight": tutorial.e.weight,
        "decoder.embedding.weight": tutorial.d.weight,
        "decoder.bridge.weight": tutorial.g.weight,
        "decoder.bridge.bias": tutorial.g.bias,
        "decoder.attention.query_projection.weight": query,
        "decoder.attention.key_projection.weight": key,
        "decoder.attention.key_projection.bias": tutorial.attn.bias,
        "decoder.attention.score_vector": tutorial.v.unsqueeze(0),
        "decoder.output_embedding.weight": torch.cat([state, token, weighted], dim=1),  # ours is [s, y, c]
        "decoder.bias": tutorial.f.bias,
    }
    parameters = dict(model.named_parameters())
    for name, value in values.items():
        parameters[name].copy_(value)


@pytest.mark.parametrize("layers", [1, 2])
@torch.no_grad()
def test_the_settings_of_the_tutorial_give_its_logits(layers: int) -> None:
    torch.manual_seed(layers)
    tutorial = Tutorial(layers)
    for parameter in tutorial.parameters():
        nn.init.normal_(parameter)
    config = replace(TUTORIAL, embedding=EMBEDDING, width=WIDTH, layers=layers)
    model = config.build(SIZE, SIZE).eval()
    copy_tutorial(tutorial, model)
    sources, targets = [sentence(7), sentence(4), sentence(1)], [[BOS, *sentence(5, seed)] for seed in range(3)]
    logits = model(padded_batch(*sources), padded_batch(*targets))  # one padded batch
    for row, source, target in zip(logits, sources, targets, strict=True):
        assert_close(row, tutorial(torch.tensor(source), torch.tensor(target)), rtol=1e-4, atol=1e-4)


def test_parameters_of_the_tutorial() -> None:
    """The notebook prints 20,518,917. torch.nn.GRU has a second, redundant bias of the reset and update gate."""
    with torch.device("meta"):
        model = TUTORIAL.build(7855, 5893)
    redundant = 3 * 2 * 512  # encoder in two directions, and decoder
    assert sum(parameter.numel() for parameter in model.parameters()) == 20_518_917 - redundant


def test_the_paper_starts_from_the_backward_state_alone() -> None:
    """The forward state at the last token changes the first state only with initial_state = "both"."""
    source = padded_batch(sentence(6), sentence(3))
    for initial_state in ("backward", "both"):
        torch.manual_seed(1)
        config = replace(TUTORIAL, embedding=EMBEDDING, width=WIDTH, initial_state=initial_state)
        model = config.build(SIZE, SIZE).eval()
        slots, mask = model.encoder(source)
        slots = slots.detach().requires_grad_()
        states = model.decoder.start(type(model.encoder(source))(slots, mask)).layer_states
        (gradient,) = torch.autograd.grad(states[0].sum(), slots)
        read = {(row, slot, unit // WIDTH) for row, slot, unit in gradient.nonzero().tolist()}
        forward = {(0, 5, 0), (1, 2, 0)}  # the last token of each sentence, not the padding
        assert read == {(0, 0, 1), (1, 0, 1)} | (forward if initial_state == "both" else set())
