"""Laws of the inspection of models over many sentences, for every kind of model."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import tongsa
from export.bundles import LABELS, random_bundle
from tiny import CONFIGS, WITHOUT_ATTENTION, kind_of, sentence, tiny
from tongsa.batch import Batch, Examples, Ragged
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn.dropout import Dropout
from tongsa.nn.multi_head import split_heads
from tongsa.visualize.inspection_attention import (
    OFFSETS,
    HeadStatistics,
    RoleStatistics,
    relative_offsets,
    summarize_sentence,
)
from tongsa.visualize.inspection_batch import RecordedBatch, dropout_on, record_batch
from tongsa.visualize.inspection_draws import Draws
from tongsa.visualize.inspection_states import StateStatistics
from tongsa.visualize.inspection_weights import embedding_tables, matrices, nearest_neighbors
from tongsa.visualize.mechanism import UNMASKED, attention_mechanisms
from tongsa.visualize.panels import AnyTextModel

kinds = pytest.mark.parametrize("kind", CONFIGS)
LENGTHS = (5, 9, 2)
LINES = {
    "seq2seq": "a b c\tb d\nd\tf e\na b c d e\tc d e a b\n",
    "classification": "a b c\tgood\nd\t좋다\na b c d e\tgood\n",
    "language_model": "a b c\nd\na b c d e\n",
}


def tiny_batches(kind: str) -> tuple[Batch, list[Batch]]:
    """Return a padded batch, and its sentences as batches of one."""
    is_classifier = CONFIGS[kind].task == "classification"
    sources = [[] if CONFIGS[kind].task == "language_model" else sentence(length)[:-1] for length in LENGTHS]
    targets = [[3]] * 3 if is_classifier else [sentence(length, 1)[:-1] for length in reversed(LENGTHS)]
    examples = Examples(Ragged(sources), Ragged(targets), appends_eos=not is_classifier)
    return examples.batch(np.arange(3)), [examples.batch(np.array([row])) for row in range(3)]


def statistics(
    model: EncoderDecoder, recordings: list[list[RecordedBatch]], draws: int
) -> tuple[HeadStatistics, StateStatistics]:
    heads, states = HeadStatistics(attention_mechanisms(model)), StateStatistics(draws)
    for recording in recordings:
        heads.add(recording)
        for draw, part in enumerate(recording):
            states.add(draw, part)
    return heads, states


def record_with_draws(model: EncoderDecoder, batch: Batch, draws: int) -> list[RecordedBatch]:
    recordings = [record_batch(model, batch)]
    for seed in range(draws):
        with dropout_on(model, seed):
            recordings.append(record_batch(model, batch))
    return recordings


def text_model(kind: str) -> AnyTextModel:
    options = {"target": LABELS} if CONFIGS[kind].task == "classification" else {}
    return random_bundle(kind_of(kind), CONFIGS[kind], **options).text_model()  # type: ignore[arg-type]


@kinds
def test_padding_enters_no_statistic(kind: str) -> None:
    """A padded batch has the statistics of its sentences alone."""
    model, (padded, alone) = tiny(kind), tiny_batches(kind)
    recorded, singles = record_batch(model, padded), [record_batch(model, batch) for batch in alone]
    assert_allclose(recorded.log_probs, np.concatenate([single.log_probs for single in singles]), rtol=1e-4)
    heads, states = statistics(model, [[recorded, recorded]], 1)
    single_heads, single_states = statistics(model, [[single, single] for single in singles], 1)
    assert heads.roles.keys() == single_heads.roles.keys()
    for role, batch_role in heads.roles.items():
        for heads_of_batch, heads_alone in zip(batch_role.sentences, single_heads.roles[role].sentences, strict=True):
            assert_allclose(heads_of_batch.entropy.off, heads_alone.entropy.off, rtol=1e-4, atol=1e-6)
            assert_allclose(heads_of_batch.weights.off, heads_alone.weights.off, rtol=1e-4, atol=1e-6)
            assert heads_of_batch.patterns == heads_alone.patterns
    results, single_results = states.results(), single_states.results()
    assert results and results.keys() == single_results.keys()
    for site, parts in results.items():
        for part, draws in parts.items():
            assert_allclose(draws.off, single_results[site][part].off, rtol=1e-4, atol=1e-5, err_msg=f"{site} {part}")


def assert_no_spread(draws: Draws) -> None:
    assert_array_equal(draws.draw, draws.off)
    assert_array_equal(draws.mean, draws.off)
    assert not np.nan_to_num(draws.spread).any()


@kinds
def test_without_dropout_all_draws_are_equal_and_with_dropout_they_differ(kind: str) -> None:
    model, (padded, _) = tiny(kind), tiny_batches(kind)
    off, *draws = (recording.log_probs for recording in record_with_draws(model, padded, 2))
    assert not np.array_equal(off, draws[0]) and not np.array_equal(draws[0], draws[1])
    for module in model.modules():
        if isinstance(module, Dropout):
            module.rate = 0.0
    heads, states = statistics(model, [record_with_draws(model, padded, 2)], 2)
    for role in heads.roles.values():
        for heads_of_sentence in role.sentences:
            assert_no_spread(heads_of_sentence.entropy)
            assert_no_spread(heads_of_sentence.weights)
    for parts in states.results().values():
        for statistic in parts.values():
            assert_no_spread(statistic)
    assert not any(module.training for module in model.modules())


@kinds
def test_every_kind_has_a_page_and_the_same_seed_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    model = text_model(kind)
    (tmp_path / "data.tsv").write_text(LINES[model.task], "utf-8")
    results = [tongsa.inspect(model, data=tmp_path / "data.tsv", draws=1, seed=1) for _ in range(2)]
    assert results[0].page.html == results[1].page.html
    run = json.loads(results[0].as_json())["runs"][0]
    assert run["kind"] == kind_of(kind) and len(run["log_probs"]["off"]) == 3
    assert run["states"] and run["matrices"] and run["embeddings"]
    assert bool(run["roles"]) == (kind_of(kind) not in WITHOUT_ATTENTION)


def test_statistics_of_states_are_those_of_numpy() -> None:
    model, (padded, _) = tiny("transformer"), tiny_batches("transformer")
    recordings = record_with_draws(model, padded, 3)
    _, states = statistics(model, [recordings], 3)
    site = next(site for site in states.parts if site.path == "encoder.layers.1.feed_forward_norm.norm")
    mask = padded.source.mask
    arrays = []
    for recording in recordings:
        tensor = next(tensor for tensor in recording.tensors if tensor.path == site.path)
        arrays.append(tensor.first.operands["x"][mask].double().numpy())  # type: ignore[index]
    before = states.results()[site]["before"]
    expected = [arrays[0].mean(), arrays[0].std(), np.abs(arrays[0]).max(), np.linalg.norm(arrays[0], axis=1).mean()]
    assert_allclose(before.off, expected)
    deviations = [array.std() for array in arrays[1:]]
    assert_allclose([before.mean[1], before.spread[1]], [np.mean(deviations), np.std(deviations)])
    norms = np.linalg.norm(np.stack(arrays[1:]), axis=2)  # (draw, vector)
    assert_allclose([before.mean[3], before.spread[3]], [norms.mean(), norms.std(axis=0).mean()])


def test_weights_by_offset_are_means_over_the_cells_and_entropy_is_that_of_the_rows() -> None:
    model, (padded, _) = tiny("transformer"), tiny_batches("transformer")
    heads, _ = statistics(model, [record_with_draws(model, padded, 2)], 2)
    recorded = record_batch(model, padded)
    for role, lengths in (("encoder", padded.source.lengths), ("decoder", padded.target.lengths)):
        for row, length in enumerate(lengths.tolist()):
            weights = recorded.weights[role][1][row, 2, :length, :length]  # type: ignore[index]
            head = heads.roles[role].sentences[row]
            offsets = relative_offsets(role, length, length)
            allowed = np.tril(np.ones((length, length))) > 0 if role == "decoder" else np.ones((length, length)) > 0
            for index, offset in enumerate(OFFSETS[role]):
                cells = weights[(offsets == offset) & allowed]
                assert_allclose(head.weights.off[4 + 2, index], cells.mean() if len(cells) else np.nan)
            rows = weights[1:] if role == "decoder" else weights  # the first row of a decoder has a single key
            bits = [-(keys[keys > 0] * np.log2(keys[keys > 0])).sum() for keys in rows]
            assert_allclose(head.entropy.off[4 + 2], np.mean(bits) if bits else 0.0)


def test_joint_projections_are_split_into_the_matrices_of_the_paper() -> None:
    model, (padded, _) = tiny("transformer"), tiny_batches("transformer")
    tensors = {(tensor.name, tensor.path): tensor.first for tensor in record_batch(model, padded).tensors}
    for path in ("encoder.layers.0.self_attention", "decoder.layers.1.cross_attention"):
        split = {matrix.symbol: matrix.values for matrix in matrices(model) if matrix.path == path}
        assert list(split) == ["W^Q", "W^K", "W^V", "W^O"]
        for symbol, name in (("W^Q", "query"), ("W^K", "key"), ("W^V", "value")):
            recorded = tensors[f"attention.{name}", path]
            product = recorded.operands["x"] @ split[symbol].detach().T  # type: ignore[operator]
            heads = split_heads(product, 4)
            assert torch.allclose(heads, recorded.value, atol=1e-5)  # biases of a new model are zero


@kinds
def test_every_weight_is_in_one_histogram_or_embedding_table(kind: str) -> None:
    model = tiny(kind)
    total = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() >= 2)
    positions = sum(p.numel() for name, p in model.named_parameters() if "positional" in name and p.dim() >= 2)
    tables = sum(table.values.numel() for table in embedding_tables(model))
    assert sum(matrix.values.numel() for matrix in matrices(model)) + tables + positions == total


def test_neighbors_are_the_tokens_with_the_largest_cosines() -> None:
    table = torch.randn(40, 8, generator=torch.Generator().manual_seed(1))
    result = nearest_neighbors(table, [3, 17])
    vectors = table.double().numpy()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for row, token in enumerate(result.tokens):
        cosines = unit @ unit[token]
        order = [other for other in np.argsort(-cosines) if other != token][: result.neighbors.shape[1]]
        assert result.neighbors[row].tolist() == order
        assert_allclose(result.cosines[row], cosines[order])


def test_a_head_that_always_reads_the_previous_token_is_found_in_all_sentences() -> None:
    role = RoleStatistics("encoder", 1, 2)
    for length in (12, 9, 10, 2):
        previous = np.eye(length, k=-1) + np.eye(length)[0][:, None] * np.eye(length)[0]
        uniform = np.full((length, length), 1 / length)
        weights = np.stack([previous, uniform])
        role.sentences.append(summarize_sentence("encoder", [weights, weights], UNMASKED))
    first, second = role.findings("off")
    assert first == {"pattern": "previous", "count": 3, "sentences": 3, "untested": 1}
    assert second["pattern"] == "broad"
    assert_allclose(role.mean_weights().off[0][list(OFFSETS["encoder"]).index(-1)], 1.0)


def test_bad_input_is_explained(tmp_path: Path) -> None:
    model, classifier = text_model("conv_s2s"), text_model("transformer_classifier")
    files = {"data.tsv": LINES["seq2seq"], "empty.tsv": "", "long.tsv": "a " * 200 + "\tb\n", "labels.tsv": "a\tbad\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    for models, name, message in (
        ([model], "empty.tsv", "no usable pair"),
        ([model], "long.tsv", "more than 63 tokens"),
        ([model], "none.tsv", "no such file"),
        ([classifier], "labels.tsv", "pair 1"),
        ([model, classifier], "data.tsv", "its task is classification"),
        ([], "data.tsv", "Give at least one run"),
    ):
        with pytest.raises(InputError, match=message):
            tongsa.inspect(models, data=tmp_path / name, draws=1)
    for name, value in (("sentences", 0), ("draws", 201), ("seed", -1)):
        with pytest.raises(InputError, match=f"{name} {value}"):
            tongsa.inspect(model, data=tmp_path / "data.tsv", **{name: value})  # type: ignore[arg-type]
    (tmp_path / "mixed.tsv").write_text(files["long.tsv"] + files["data.tsv"], "utf-8")
    result = tongsa.inspect(model, data=tmp_path / "mixed.tsv", draws=1)
    assert (result.skipped, len(result.pairs)) == (1, 3)
