"""Golden numbers: printed in the papers, or computed by hand from their equations."""

import math
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from tiny import padded_batch
from tongsa.batch import Padded
from tongsa.decoding.config import DecodingConfig
from tongsa.interface import Memory, load_tensors
from tongsa.models import conv_s2s, rnn_attention
from tongsa.models.pooled_classifier import flatten_slots, mean_pool
from tongsa.models.rnn import SUTSKEVER, RNNConfig
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig, penalization_term
from tongsa.models.transformer.seq2seq import BASE, BIG, TransformerConfig
from tongsa.nn.additive_attention import AdditiveAttention
from tongsa.nn.attention import DotProductAttention, KeyValue, MultiHeadAdditiveAttention, record_attention
from tongsa.nn.auxiliary_loss import collect_auxiliary_losses
from tongsa.nn.conv import GatedConvolution
from tongsa.nn.linear import maxout
from tongsa.nn.multi_head import CrossAttention, HeadConfig, split_heads
from tongsa.nn.output import embedding_table
from tongsa.nn.positions import apply_rotary, sinusoids
from tongsa.nn.rnn import CellKind, GRUCell, RecurrentLayer
from tongsa.tokenization.special import BOS, EOS
from tongsa.training.loss import cross_entropy
from tongsa.training.lr_schedule import LRScheduleConfig


def parameters(config: TransformerConfig, vocab_size: int) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in config.build(vocab_size, vocab_size).parameters())


@pytest.mark.parametrize(("config", "fixed", "width"), [(BASE, 44_138_496, 512), (BIG, 176_357_376, 1024)])
def test_table_3_parameters_of_base_and_big(config: TransformerConfig, fixed: int, width: int) -> None:
    assert parameters(config, 37_000) == fixed + width * 37_000
    assert round(parameters(BASE, 37_000) / 1e6) in (63, 65)  # the paper prints 65


def test_parameters_of_untied_embeddings() -> None:
    tied = parameters(TransformerConfig(tie_embeddings="all"), 1000)
    assert parameters(TransformerConfig(tie_embeddings="target"), 1000) == tied + 512 * 1000
    assert parameters(TransformerConfig(tie_embeddings="none"), 1000) == tied + 2 * 512 * 1000
    # both sides share one embedding module, and so one table of positions: section 3.4
    assert parameters(TransformerConfig(positions="learned", max_positions=100), 1000) == tied + 512 * 100


def test_sinusoids_of_section_3_5() -> None:
    table = sinusoids(101, 512)
    assert_close(table[0], torch.tensor([0.0, 1.0] * 256))
    assert_close(table[1, :2], torch.tensor([math.sin(1), math.cos(1)]))
    assert_close(table[100, 510], torch.tensor(math.sin(100 / 10000 ** (510 / 512))))
    # PE(pos + k) is a linear function of PE(pos): a rotation of each pair
    angle = torch.tensor(7 / 10000 ** (20 / 512))
    rotated = table[3, 20] * torch.cos(angle) + table[3, 21] * torch.sin(angle)
    assert_close(table[10, 20], rotated)


def test_the_learning_rate_of_equation_3_peaks_at_the_end_of_the_warm_up() -> None:
    lr = LRScheduleConfig(schedule="paper", warmup=4000).build(512, 100_000)
    assert max(range(1, 20_001), key=lr) == 4000
    assert math.isclose(lr(4000), 512**-0.5 * 4000**-0.5)
    assert math.isclose(lr(1), 512**-0.5 * 4000**-1.5)
    assert math.isclose(lr(16_000), lr(4000) / 2)


def test_other_schedules_reach_their_peak_and_their_end() -> None:
    for schedule in ("linear", "cosine"):
        lr = LRScheduleConfig(schedule=schedule, peak=2e-3, warmup=10).build(512, 100)
        assert lr(10) == pytest.approx(2e-3, rel=0.02)
        assert 0 < lr(100) < 1e-4
        assert all(lr(step) >= lr(step + 1) for step in range(10, 100))
    assert LRScheduleConfig(schedule="linear", warmup=10, hold=0.5).build(512, 110)(59) == 1e-3


def test_attention_of_equation_1_by_hand() -> None:
    query = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])
    keys = torch.tensor([[[[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]])
    values = torch.tensor([[[[1.0], [0.0]]]])
    share = math.e / (math.e + 1)  # q·k / √4 is 1 and 0
    with record_attention() as recorded:
        assert_close(DotProductAttention()(query, KeyValue(keys, values), None, "cross"), torch.tensor([[[[share]]]]))
    assert_close(recorded["cross"][0], torch.tensor([[[[share, 1 - share]]]]))


def test_label_smoothing_is_cross_entropy_with_the_smoothed_distribution() -> None:
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 7, requires_grad=True)
    target = Padded(torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([3, 2]))
    smoothed, plain = cross_entropy(logits, target, 0.1)
    smoothed_target = torch.nn.functional.one_hot(target.tokens, 7) * 0.9 + 0.1 / 7
    by_hand = -(smoothed_target * logits.log_softmax(-1)).sum(-1)[target.mask].sum()
    assert_close(smoothed, by_hand)
    assert_close(plain, -logits.log_softmax(-1).gather(2, target.tokens.unsqueeze(2)).squeeze(2)[target.mask].sum())
    (gradient,) = torch.autograd.grad(3 * smoothed, logits)
    (expected,) = torch.autograd.grad(3 * by_hand, logits)
    assert_close(gradient, expected)
    assert (gradient[1, 2] == 0).all(), "padding has a gradient"


def test_length_penalty_of_wu_et_al() -> None:
    assert DecodingConfig(alpha=0.6).length_penalty(1) == 1.0
    assert DecodingConfig(alpha=0.6).length_penalty(13) == pytest.approx(3**0.6)
    assert DecodingConfig(alpha=0.0).length_penalty(13) == 1.0


def test_the_gru_of_cho_et_al_by_hand() -> None:
    cell = GRUCell(1)
    load_tensors(
        cell,
        {"gate_projection.weight": torch.tensor([[2.0], [-1.0]]), "candidate_projection.weight": torch.tensor([[3.0]])},
    )
    # h = 0.5; the projected input is 0.2 for r, 0.1 for z and -0.4 for the candidate
    reset = 1 / (1 + math.exp(-(0.2 + 2 * 0.5)))  # 0.7685
    update = 1 / (1 + math.exp(-(0.1 - 1 * 0.5)))  # 0.4013
    candidate = math.tanh(-0.4 + 3 * reset * 0.5)  # 0.6369
    after = cell(torch.tensor([[0.2, 0.1, -0.4]]), torch.tensor([[0.5]]))
    assert_close(after, torch.tensor([[update * 0.5 + (1 - update) * candidate]]))
    assert after.item() == pytest.approx(0.5819, abs=1e-4)


def test_the_gru_equals_torchs_if_the_recurrent_matrix_is_diagonal() -> None:
    """torch multiplies Uh by the reset gate, section 2.3 multiplies h: equal only if U is diagonal."""
    torch.manual_seed(0)
    ours, theirs, inputs, state = (
        RecurrentLayer(5, 4, "gru"),
        torch.nn.GRUCell(5, 4),
        torch.randn(3, 5),
        torch.randn(3, 4),
    )
    assert isinstance(ours.cell, GRUCell)
    with torch.no_grad():
        theirs.bias_hh.zero_()
        theirs.weight_hh[8:] = torch.diag(torch.randn(4))
        ours.input_projection.weight.copy_(theirs.weight_ih)
        ours.input_projection.bias.copy_(theirs.bias_ih)
        ours.cell.gate_projection.weight.copy_(theirs.weight_hh[:8])
        ours.cell.candidate_projection.weight.copy_(theirs.weight_hh[8:])
        assert_close(ours.step(ours.project(inputs), state), theirs(inputs, state))
        theirs.weight_hh[8:] = ours.cell.candidate_projection.weight.copy_(torch.randn(4, 4))
        assert not torch.allclose(ours.step(ours.project(inputs), state), theirs(inputs, state))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("cell", "kind"), [("lstm", torch.nn.LSTM), ("tanh", torch.nn.RNN)])
def test_a_recurrent_layer_over_a_padded_batch_equals_torchs_packed_one(
    cell: CellKind, kind: type[torch.nn.LSTM | torch.nn.RNN], reverse: bool
) -> None:
    torch.manual_seed(0)
    ours, theirs = RecurrentLayer(5, 4, cell, reverse=reverse), kind(5, 4, batch_first=True, bidirectional=reverse)
    tensors = dict(theirs.named_parameters())
    end = "_l0_reverse" if reverse else "_l0"
    with torch.no_grad():
        tensors[f"bias_hh{end}"].zero_()
    (name,) = dict(ours.cell.named_parameters())
    load_tensors(
        ours,
        {
            "input_projection.weight": tensors[f"weight_ih{end}"],
            "input_projection.bias": tensors[f"bias_ih{end}"],
            f"cell.{name}": tensors[f"weight_hh{end}"],
        },
    )
    inputs, lengths = torch.randn(3, 7, 5), torch.tensor([7, 3, 5])
    packed = torch.nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    packed_outputs, last = theirs(packed)
    expected = torch.nn.utils.rnn.pad_packed_sequence(packed_outputs, batch_first=True)[0][..., -4:]
    mask = torch.arange(7) < lengths.unsqueeze(1)
    outputs, state = ours(inputs, mask)
    assert_close(outputs[mask], expected[mask])
    assert_close(state, torch.cat([part[-1] for part in last], dim=1) if cell == "lstm" else last[-1])


def test_maxout_by_hand() -> None:
    assert maxout(torch.tensor([[1.0, -2.0, 3.0, -1.0, -5.0, 4.0]])).tolist() == [[1.0, -2.0, 4.0]]


def test_encoder_and_decoder_of_cho_et_al_written_out() -> None:
    """Appendix A.1 for one sentence, token by token, with one product for each of its matrices."""
    torch.manual_seed(0)
    model = RNNConfig(width=6, embedding=4).build(9, 9).eval()
    value = {name: weight.detach() for name, weight in model.named_parameters()}
    source, target = [5, 3, 7, 2], [1, 8, 4]

    w, b = value["encoder.layers.0.input_projection.weight"].chunk(3), value["encoder.layers.0.input_projection.bias"]
    u_r, u_z = value["encoder.layers.0.cell.gate_projection.weight"].chunk(2)
    u = value["encoder.layers.0.cell.candidate_projection.weight"]
    h = torch.zeros(6)
    for token in source:
        e = 2 * value["encoder.embedding.token_embedding.weight"][token]  # 2 is the square root of the embedding width
        r, z = torch.sigmoid(w[0] @ e + u_r @ h + b[:6]), torch.sigmoid(w[1] @ e + u_z @ h + b[6:12])
        h = z * h + (1 - z) * torch.tanh(w[2] @ e + u @ (r * h) + b[12:])
    c = torch.tanh(value["encoder.summary_projection.weight"] @ h + value["encoder.summary_projection.bias"])

    w, b = (
        value["decoder.first_layer.input_projection.weight"].chunk(3),
        value["decoder.first_layer.input_projection.bias"],
    )
    u_r, u_z = value["decoder.first_layer.cell.gate_projection.weight"].chunk(2)
    u = value["decoder.first_layer.cell.candidate_projection.weight"]
    c_r, c_z, c_h = (part @ c for part in value["decoder.first_layer.context_projection.weight"].chunk(3))
    o_h, o_y, o_c = (value[f"decoder.readout.{name}_projection.weight"] for name in ("state", "token", "context"))
    h = torch.tanh(value["decoder.bridge.weight"] @ c + value["decoder.bridge.bias"])
    rows = []
    for token in target:
        e = 2 * value["decoder.embedding.token_embedding.weight"][token]
        r, z = torch.sigmoid(w[0] @ e + u_r @ h + c_r + b[:6]), torch.sigmoid(w[1] @ e + u_z @ h + c_z + b[6:12])
        h = z * h + (1 - z) * torch.tanh(w[2] @ e + r * (u @ h + c_h) + b[12:])
        s = o_h @ h + o_y @ e + o_c @ c + value["decoder.readout.state_projection.bias"]
        s = torch.stack([s[:3], s[3:]]).amax(0)
        g = value["decoder.readout.output_projection.weight"] @ s + value["decoder.readout.output_projection.bias"]
        rows.append(value["decoder.readout.output_embedding.weight"] @ g)
    assert_close(model(padded_batch(source), padded_batch(target))[0], torch.stack(rows))


def test_parameters_of_sutskever_et_al() -> None:
    """Section 3.4: 384M parameters, 64M of them recurrent; 160,000 source and 80,000 target words."""
    with torch.device("meta"):
        model = SUTSKEVER.build(160_000, 80_000)
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    biases = sum(size for name, size in sizes.items() if name.endswith("bias"))  # the paper's formulas have no biases
    assert sum(sizes.values()) - biases == 384_000_000
    assert (
        sum(size for name, size in sizes.items() if ".cell." in name or ".input_projection.weight" in name)
        == 64_000_000
    )


def test_the_probabilities_of_a_language_model_sum_to_one() -> None:
    """p(x) = ∏ p(x_t | x_<t): all strings of at most 3 tokens, and the prefixes of longer ones."""
    torch.manual_seed(0)
    model = RNNLMConfig(width=8, layers=1, dropout=0.0).build(5, 5).eval()
    model.double()
    letters = [token for token in range(5) if token != EOS]
    strings = [[*prefix, EOS] for length in range(3) for prefix in product(letters, repeat=length)]
    strings += [list(prefix) for prefix in product(letters, repeat=3)]
    target = padded_batch(*strings)
    log_probs = model(padded_batch([EOS]), padded_batch(*([BOS, *row[:-1]] for row in strings))).log_softmax(-1)
    chosen = log_probs.gather(2, target.tokens.unsqueeze(2)).squeeze(2).masked_fill(~target.mask, 0.0)
    total = chosen.sum(1).exp()
    assert float(total.detach().sum()) == pytest.approx(1.0, abs=1e-12)
    assert len(set(total.tolist())) > len(strings) / 2, "the strings have the same probability"


def lstm(inputs: torch.Tensor, layer: Any) -> torch.Tensor:
    """i, f, g, o = σ, σ, tanh, σ of Wx + b + Uh + b′; c = f c + i g; h = o tanh(c): Hochreiter, Schmidhuber (1997)."""
    state = cell = torch.zeros(layer.hidden_size)
    states = []
    for row in inputs:
        sums = layer.weight_ih_l0 @ row + layer.bias_ih_l0 + layer.weight_hh_l0 @ state + layer.bias_hh_l0
        input_gate, forget_gate, candidate, output_gate = sums.view(4, -1)
        cell = forget_gate.sigmoid() * cell + input_gate.sigmoid() * candidate.tanh()
        state = output_gate.sigmoid() * cell.tanh()
        states.append(state)
    return torch.stack(states)


def test_hops_and_sentence_matrix_of_lin_et_al_from_the_equations() -> None:
    torch.manual_seed(4)
    config = StructuredSelfAttentionConfig(embedding=6, width=5, layers=2, attention=7, hops=3, hidden=4)
    encoder: Any = config.build(11, 2).encoder
    source = Padded(torch.tensor([[4, 5, 6, 7, 2], [8, 9, 2, 0, 0]]), torch.tensor([5, 3]))
    with torch.no_grad(), record_attention() as recorded:
        memory = encoder(source)
        for row, length in enumerate(source.lengths.tolist()):
            states = encoder.embedding.weight[source.tokens[row, :length]]
            for layer in encoder.layers:  # equations 2 to 4
                backwards = lstm(states.flip(0), layer.backward_lstm).flip(0)
                states = torch.cat([lstm(states, layer.forward_lstm), backwards], dim=1)
            score = (
                encoder.hop_attention.score_projection.weight
                @ (encoder.hop_attention.hidden_projection.weight @ states.T).tanh()
            )
            weights = score.exp() / score.exp().sum(dim=1, keepdim=True)  # equation 6
            assert_close(recorded["hops"][0][row, 0, :, :length], weights)
            assert (recorded["hops"][0][row, 0, :, length:] == 0).all()
            assert_close(memory.slots[row], weights @ states)  # equation 7
    assert memory.mask.all()


def test_penalization_of_lin_et_al_equation_8() -> None:
    apart, same = torch.eye(6)[:4], torch.eye(6)[[2, 2, 2, 2]]
    spread = torch.full((4, 6), 1 / 6)
    penalties = penalization_term(torch.stack([apart, same, spread]))
    # AAᵀ is I; then all ones, which differ from I in r(r - 1) elements; then all 1/n
    assert_close(penalties, torch.tensor([0.0, 4 * 3, 4 * (1 - 1 / 6) ** 2 + 4 * 3 / 6**2]))


def test_the_penalty_of_hops_is_added_in_training_only() -> None:
    torch.manual_seed(5)
    model = StructuredSelfAttentionConfig(embedding=6, width=5, attention=7, hops=3, hidden=4, penalty=0.25).build(
        11, 2
    )
    source = Padded(torch.tensor([[4, 5, 6, 2], [8, 9, 2, 0]]), torch.tensor([4, 3]))
    with collect_auxiliary_losses() as auxiliary_losses, record_attention() as recorded:
        model.train().encoder(source)
        model.eval().encoder(source)
    overlap = [weights[0] @ weights[0].T for weights in recorded["hops"][0]]
    penalty = sum(torch.linalg.matrix_norm(matrix - torch.eye(3)) ** 2 for matrix in overlap)
    assert_close(auxiliary_losses, [0.25 * penalty])


def test_parameters_of_lin_et_al_section_4_1() -> None:
    with torch.device("meta"):
        model = StructuredSelfAttentionConfig().build(1000, 5)
    lstms = 2 * 4 * 300 * (100 + 300 + 2)  # two directions, four gates, torch's two biases
    attention = 350 * 600 + 30 * 350
    classifier = 30 * 600 * 2000 + 2000 + 2000 * 5 + 5
    assert sum(parameter.numel() for parameter in model.parameters()) == 1000 * 100 + lstms + attention + classifier


def test_flattened_slots_and_the_mean_of_unmasked_slots() -> None:
    slots = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
    assert_close(
        mean_pool(nn.Identity(), Memory(slots, torch.tensor([[True, True, False]]))), torch.tensor([[2.0, 4.0]])
    )
    assert_close(
        flatten_slots(nn.Identity(), Memory(slots, torch.ones(1, 3) > 0)),
        torch.tensor([[1.0, 2.0, 3.0, 6.0, 100.0, 100.0]]),
    )


def test_a_classifier_can_learn_the_order_of_words() -> None:
    torch.manual_seed(6)
    model = StructuredSelfAttentionConfig(embedding=8, width=8, attention=8, hops=2, hidden=8, dropout=0.0).build(11, 2)
    source = Padded(torch.tensor([[4, 5, 6, 2], [6, 5, 4, 2]]), torch.tensor([4, 4]))
    start, label = Padded(torch.ones(2, 1, dtype=torch.long), torch.ones(2)), torch.tensor([0, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        torch.nn.functional.cross_entropy(model(source, start)[:, 0], label).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
    assert model(source, start)[:, 0].argmax(dim=1).tolist() == [0, 1]


def test_additive_attention_by_hand() -> None:
    """Bahdanau et al., appendix A.1.2."""
    attention = AdditiveAttention(query_width=1, slot_width=1, hidden_width=1)
    for parameter, value in ((attention.query_projection.weight, 1.0), (attention.key_projection.weight, 2.0)):
        torch.nn.init.constant_(parameter, value)
    torch.nn.init.constant_(attention.score_vector, 3.0)
    slots = torch.tensor([[[0.25], [-0.25], [9.0]]])
    mask = torch.tensor([[True, True, False]])
    weights = attention(torch.tensor([[[0.5]]]), attention.keys(slots), mask)
    # W s + U h is 0.5 + 0.5 and 0.5 - 0.5; the scores are 3 tanh(1) = 2.284782 and 0
    first = math.exp(2.284782) / (math.exp(2.284782) + 1)
    assert_close(weights, torch.tensor([[[first, 1 - first, 0.0]]]))
    assert first == pytest.approx(0.907609, abs=1e-6)


@torch.no_grad()
def test_a_step_of_the_attention_decoder_is_appendix_a_2_2() -> None:
    torch.manual_seed(0)
    config = rnn_attention.RNNAttentionConfig(embedding=3, width=4, maxout_width=2, dropout=0.0)
    decoder = rnn_attention.RNNAttentionDecoder(embedding_table(7, 3), embedding_table(7, 2), config)
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter)
    annotations = torch.randn(5, 8)
    cell, attention = decoder.layers[0].cell, decoder.attention
    assert isinstance(cell, GRUCell)
    assert decoder.maxout
    w_r, w_z, w = decoder.layers[0].input_projection.weight.chunk(3)
    b_r, b_z, b = decoder.layers[0].input_projection.bias.chunk(3)
    c_r, c_z, c = decoder.context_projection.weight.chunk(3)
    u_r, u_z = cell.gate_projection.weight.chunk(2)
    u = cell.candidate_projection.weight
    first, second = decoder.maxout.projection.weight.chunk(2)
    first_bias, second_bias = decoder.maxout.projection.bias.chunk(2)

    state = decoder.start(Memory(annotations.unsqueeze(0), torch.ones(1, 5, dtype=torch.bool)))
    s = torch.tanh(decoder.bridge.weight @ annotations[0, 4:] + decoder.bridge.bias)  # s₀ = tanh(W_s ←h₁)
    for token in (1, 6, 4):
        e_y = decoder.embedding.weight[token]
        scores = [
            attention.score_vector[0]
            @ torch.tanh(
                attention.query_projection.weight @ s
                + attention.key_projection.weight @ h
                + attention.key_projection.bias
            )
            for h in annotations
        ]
        total = sum(math.exp(float(score)) for score in scores)
        context = torch.zeros(8)
        for score, h in zip(scores, annotations, strict=True):
            context += math.exp(float(score)) / total * h
        joined = torch.cat([s, e_y, context])  # t̃ = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i
        t = torch.maximum(first @ joined + first_bias, second @ joined + second_bias)
        r = torch.sigmoid(w_r @ e_y + u_r @ s + c_r @ context + b_r)
        z = torch.sigmoid(-(w_z @ e_y + u_z @ s + c_z @ context + b_z))  # the paper's gate is one minus ours
        s = (1 - z) * s + z * torch.tanh(w @ e_y + u @ (r * s) + c @ context + b)
        logits, state = decoder.step(torch.tensor([token]), state)
        assert_close(logits[0], decoder.output_embedding.weight @ t + decoder.bias)
        assert_close(state.layer_states[0][0], s)


def test_parameters_of_rnnsearch_are_those_of_appendix_a_2() -> None:
    n, m, half, aligned, vocab_size = 1000, 620, 500, 1000, 30_000
    encoder = 2 * (3 * n * m + 3 * n * n)
    decoder = 3 * n * m + 3 * n * n + 3 * n * 2 * n + n * n
    alignment = aligned * n + aligned * 2 * n + aligned
    readout = 2 * half * n + 2 * half * m + 2 * half * 2 * n + vocab_size * half
    biases = 2 * 3 * n + 3 * n + n + aligned + 2 * half + vocab_size  # the appendix leaves them out for brevity
    with torch.device("meta"):
        built = rnn_attention.RNNAttentionConfig().build(vocab_size, vocab_size)
    count = sum(parameter.numel() for parameter in built.parameters())
    assert count == encoder + decoder + alignment + readout + 2 * vocab_size * m + biases


@torch.no_grad()
def test_a_gated_convolution_is_a_convolution_and_a_sum_by_hand() -> None:
    """Gehring et al., section 3.2."""
    torch.manual_seed(0)
    inputs = torch.randn(2, 5, 3)
    for before in (1, 2):  # centered, and causal
        layer = GatedConvolution(3, kernel=3, left_padding=before)
        torch.nn.init.normal_(layer.projection.bias)
        weight = layer.projection.weight.view(6, 3, 3)  # output, position in the window, input
        wide = torch.nn.functional.pad(inputs.mT, (before, 2 - before))
        convolved = torch.nn.functional.conv1d(wide, weight.mT, layer.projection.bias).mT
        assert_close(layer(inputs), convolved[..., :3] * torch.sigmoid(convolved[..., 3:]))
        position, value, gate = 3, layer.projection.bias[1].clone(), layer.projection.bias[4].clone()
        for offset in range(3):
            if 0 <= position + offset - before < 5:
                for channel in range(3):
                    value += weight[1, offset, channel] * inputs[0, position + offset - before, channel]
                    gate += weight[4, offset, channel] * inputs[0, position + offset - before, channel]
        assert_close(layer(inputs)[0, position, 1], value / (1 + torch.exp(-gate)))


def test_six_blocks_of_kernel_five_see_twenty_five_inputs() -> None:
    """Section 3.2: n (k - 1) + 1, half of it to each side in the encoder, all to the left in the decoder."""
    torch.manual_seed(0)
    for before, first, last in ((2, 18, 42), (4, 6, 30)):
        blocks = [GatedConvolution(4, kernel=5, left_padding=before).double() for _ in range(6)]
        inputs = torch.randn(1, 60, 4, dtype=torch.double, requires_grad=True)
        values = inputs
        for block in blocks:
            values = values + block(values)
        values[0, 30].sum().backward()  # type: ignore[no-untyped-call]
        assert inputs.grad is not None
        visible = inputs.grad[0].abs().sum(dim=1).nonzero().flatten().tolist()
        assert visible == list(range(first, last + 1))
        assert len(visible) == 6 * (5 - 1) + 1 == 25


@torch.no_grad()
def test_multi_step_attention_by_equations_1_and_2() -> None:
    torch.manual_seed(0)
    config = conv_s2s.ConvS2SConfig(width=3, hidden=4, kernel=3, encoder_layers=1, decoder_layers=2)
    attention = conv_s2s.MultiStepAttention(config)
    torch.nn.init.normal_(attention.query_projection.bias)
    z, e, h, g = torch.randn(5, 3), torch.randn(5, 3), torch.randn(2, 4), torch.randn(2, 3)
    m = 4  # the fifth slot is padding
    memory = Memory(torch.cat([z, z + e], dim=1).unsqueeze(0), torch.tensor([[True] * m + [False]]))
    context = attention(h.unsqueeze(0), g.unsqueeze(0), conv_s2s.precompute_memory(attention, memory))
    for i in range(2):
        d = attention.query_projection.weight @ h[i] + attention.query_projection.bias + g[i]
        scores = [math.exp(float(d @ z[j])) for j in range(m)]
        c = torch.zeros(3)
        for j in range(m):
            c += scores[j] / sum(scores) * (z[j] + e[j])
        c *= m * math.sqrt(1 / m)  # section 3.4
        assert_close(context[0, i], attention.output_projection.weight @ c + attention.output_projection.bias)


def test_a_convolutional_decoder_layer_scales_its_residual_sums() -> None:
    torch.manual_seed(0)
    config = conv_s2s.ConvS2SConfig(width=3, hidden=4, encoder_layers=1, decoder_layers=1, dropout=0.0)
    layer = conv_s2s.ConvDecoderLayer(config)
    memory = conv_s2s.precompute_memory(nn.Identity(), Memory(torch.randn(1, 5, 6), torch.ones(1, 5, dtype=torch.bool)))
    inputs, g = torch.randn(1, 6, 4), torch.randn(1, 6, 3)
    h = math.sqrt(0.5) * (inputs + layer.convolution(inputs))
    assert_close(layer(inputs, g, memory), math.sqrt(0.5) * (h + layer.attention(h, g, memory)))


def test_initial_convolutional_weights_and_the_scaled_gradient_of_the_encoder() -> None:
    """Gehring et al., sections 3.4 and 3.5."""
    gradients = []
    for decoder_layers in (1, 4):
        torch.manual_seed(0)
        config = conv_s2s.ConvS2SConfig(
            width=64, hidden=96, encoder_layers=1, decoder_layers=decoder_layers, dropout=0.25
        )
        encoder = conv_s2s.ConvEncoder(conv_s2s.ConvEmbedding(900, config), config).eval()
        assert encoder.embedding.token_embedding.weight.std().item() == pytest.approx(0.1, rel=0.03)
        (layer,) = encoder.layers
        assert isinstance(layer, GatedConvolution)
        assert layer.projection.weight.std().item() == pytest.approx(math.sqrt(4 * 0.75 / (3 * 96)), rel=0.03)
        assert encoder.output_projection.weight.std().item() == pytest.approx(math.sqrt(1 / 96), rel=0.03)
        keys, values = encoder(Padded(torch.tensor([[5, 6, 7]]), torch.tensor([3]))).slots.chunk(2, dim=-1)
        assert_close(values - keys, encoder.embedding(torch.tensor([[5, 6, 7]])))
        (gradient,) = torch.autograd.grad(keys.square().sum(), encoder.output_projection.weight)
        gradients.append(gradient)
    assert_close(gradients[0], 4 * gradients[1])


TABLE_3 = [
    ("base", BASE, 65, 63_082_496),
    ("A: 1 head", TransformerConfig(heads=1, key_width=512, value_width=512), 65, 63_082_496),
    ("A: 4 heads", TransformerConfig(heads=4, key_width=128, value_width=128), 65, 63_082_496),
    ("A: 16 heads", TransformerConfig(heads=16, key_width=32, value_width=32), 65, 63_082_496),
    ("A: 32 heads", TransformerConfig(heads=32, key_width=16, value_width=16), 65, 63_082_496),
    ("B: d_k 16", TransformerConfig(key_width=16), 58, 55_990_784),
    ("B: d_k 32", TransformerConfig(key_width=32), 60, 58_354_688),
    ("C: 2 layers", TransformerConfig(encoder_layers=2, decoder_layers=2), 36, 33_656_832),
    ("C: 4 layers", TransformerConfig(encoder_layers=4, decoder_layers=4), 50, 48_369_664),
    ("C: 8 layers", TransformerConfig(encoder_layers=8, decoder_layers=8), 80, 77_795_328),
    ("C: d_model 256", TransformerConfig(width=256, key_width=32, value_width=32), 28, 26_834_944),
    ("C: d_model 1024", TransformerConfig(width=1024, key_width=128, value_width=128), 168, 163_889_152),
    ("C: d_ff 1024", TransformerConfig(ffn_width=1024), 53, 50_487_296),
    ("C: d_ff 4096", TransformerConfig(ffn_width=4096), 90, 88_272_896),
    ("D: no dropout", TransformerConfig(dropout=0.0), 65, 63_082_496),
    ("D: dropout 0.2", TransformerConfig(dropout=0.2), 65, 63_082_496),
    ("E: 256 learned positions", TransformerConfig(positions="learned", max_positions=256), 65, 63_213_568),
]
"""Name, settings, the paper's millions, and our count with its vocabulary of "about 37,000" (section 5.1).

Smoothing, the rest of row D, has no parameters. Rows A, D and E print no number: unlisted values are those of base.
"""


@pytest.mark.parametrize(
    ("config", "printed", "counted"), [row[1:] for row in TABLE_3], ids=[row[0] for row in TABLE_3]
)
def test_table_3_of_vaswani_et_al(config: TransformerConfig, printed: int, counted: int) -> None:
    """With 37,000 tokens every row is about 512·4,000 short; one vocabulary of 41,000 gives all of them as printed.

    Biases counted, any size from 40,932 to 41,160 does. So the models of the table had a vocabulary of that size,
    whatever "about 37,000" counts; neither biases nor norms make up for the difference (0.1 million).
    """
    assert parameters(config, 37_000) == counted
    assert round(parameters(config, 41_000) / 1e6) == printed


def test_table_3_of_vaswani_et_al_big() -> None:
    """The paper prints 213, which needs some 36,000 tokens; with the vocabulary of the other rows it would be 218."""
    assert round(parameters(BIG, 37_000) / 1e6) == 214
    assert round(parameters(BIG, 41_000) / 1e6) == 218
    assert round(parameters(BIG, 36_000) / 1e6) == 213


def test_the_variance_of_dot_products_is_the_key_width() -> None:
    """Vaswani et al., footnote 4: q·k of independent components with variance 1 has variance d_k."""
    torch.manual_seed(0)
    for width in (16, 64, 256):
        query, keys = torch.randn(2, 20_000, width)
        products = (query * keys).sum(-1)
        assert products.var().item() == pytest.approx(width, rel=0.05)
        assert (products / math.sqrt(width)).var().item() == pytest.approx(1, rel=0.05)


def test_unscaled_attention_is_scaled_attention_of_a_longer_query() -> None:
    torch.manual_seed(0)
    query, keys, values = torch.randn(3, 2, 4, 5, 16)
    kv = KeyValue(keys, values)
    unscaled, scaled = DotProductAttention(scale=1.0), DotProductAttention()
    assert_close(unscaled(query, kv, None, "cross"), scaled(4 * query, kv, None, "cross"))


def test_additive_heads_by_hand() -> None:
    """Softmax over keys of v·tanh(q + k) in each head."""
    torch.manual_seed(0)
    query, kv = torch.randn(1, 2, 3, 4), KeyValue(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 6))
    heads = MultiHeadAdditiveAttention(2, 4)
    context = heads(query, kv, None, "cross")
    for head, position in product(range(2), range(3)):
        score = [heads.score_vector[head] @ torch.tanh(query[0, head, position] + key) for key in kv.keys[0, head]]
        expected = torch.stack(score).softmax(0) @ kv.values[0, head]
        assert_close(context[0, head, position], expected)


def test_qk_norm_of_henry_et_al() -> None:
    """Section 3: the cosine of query and key times a learned g, which is √d_k times our scale."""
    torch.manual_seed(0)
    heads = HeadConfig(count=2, key_width=4, value_width=4, qk_norm=True)
    layer = CrossAttention(8, heads, gain=1.0)
    nn.init.constant_(layer.query_norm.weight, 1.7)  # type: ignore[arg-type]
    inputs, slots = torch.randn(1, 3, 8), torch.randn(1, 5, 8)
    with record_attention() as recorded:
        layer(inputs, layer.project_memory(slots), torch.ones(1, 1, 1, 5, dtype=torch.bool))
    query, keys = (
        split_heads(layer.query_projection(inputs), 2),
        split_heads(layer.kv_projection(slots).chunk(2, dim=-1)[0], 2),
    )
    cosine = F.cosine_similarity(query.unsqueeze(3), keys.unsqueeze(2), dim=-1)
    assert_close(recorded["cross"][0], (1.7 * 4**0.5 * cosine).softmax(dim=-1), atol=1e-4, rtol=1e-4)
    (
        layer.query_projection.weight.data.mul_(9.0),
        layer.query_projection.bias.data.mul_(9.0),
    )  # longer queries change nothing
    with record_attention() as recorded_again:
        layer(inputs, layer.project_memory(slots), torch.ones(1, 1, 1, 5, dtype=torch.bool))
    assert_close(recorded_again["cross"][0], recorded["cross"][0], atol=1e-4, rtol=1e-4)


def test_rotary_positions_of_su_et_al() -> None:
    """Equation 13 as complex numbers: pair i at position m is multiplied by e^(imθ), θ = 10000^(-2i/d)."""
    torch.manual_seed(0)
    values = torch.randn(1, 1, 7, 8)
    angle = torch.arange(3, 10).unsqueeze(1) * 10000 ** (-torch.arange(0, 8, 2) / 8)
    rotated = torch.view_as_complex(values.view(1, 1, 7, 4, 2)) * torch.polar(torch.ones_like(angle), angle)
    assert_close(apply_rotary(values, 3), torch.view_as_real(rotated).flatten(3))


def test_rotary_products_depend_on_the_distance_alone() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, 16, dtype=torch.float64)
    products = {
        (start, distance): (apply_rotary(query, start + distance) * apply_rotary(key, start)).sum().item()
        for start, distance in product((0, 1, 5, 40), (0, 1, 2, 9))
    }
    for (_, distance), dot_product in products.items():
        assert dot_product == pytest.approx(products[0, distance], abs=1e-5)
    assert len({round(products[0, distance], 3) for distance in (0, 1, 2, 9)}) == 4
    assert products[0, 0] == pytest.approx((query * key).sum().item())
