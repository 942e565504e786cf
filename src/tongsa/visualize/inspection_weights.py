"""Weights of a model: histograms of its matrices, and nearest neighbors of tokens in the embedding tables.

Joint projections are split: W^Q, W^K, W^V of one matrix, the gates of a recurrent layer, both halves of a gated
convolution. Matrices of other layers are shown as they are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from tongsa.batch import Batch
from tongsa.interface import EncoderDecoder
from tongsa.nn.conv import GatedConvolution
from tongsa.nn.multi_head import CrossAttention, SelfAttention
from tongsa.nn.rnn import ElmanCell, GRUCell, LSTMCell, RecurrentLayer
from tongsa.nn.ssru import SSRU
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.visualize.inspection_batch import Array
from tongsa.visualize.panels import AnyTextModel
from tongsa.visualize.trace_stages import layer_number

BINS = 32
MAX_TOKENS = 300
"""Tokens of an embedding table whose neighbors are listed: the most frequent ones of the data."""
NEIGHBORS = 8
LSTM_GATES = ("i", "f", "g", "o")


class Matrix(NamedTuple):
    """One matrix, perhaps a part of a joint projection."""

    symbol: str
    path: str
    """Path of the module or of the parameter."""
    values: Tensor


def matrices(model: nn.Module) -> Iterator[Matrix]:
    """Yield all weight matrices except embedding tables, split by their role; one that layers share appears once."""
    split: set[int] = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    for path, module in model.named_modules():
        for symbols, parameter in joint_projections(module):
            if id(parameter) in split:
                continue
            split.add(id(parameter))
            yield from (
                Matrix(symbol, path, block)
                for symbol, block in zip(symbols, parameter.chunk(len(symbols)), strict=True)
            )
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2 and id(parameter) not in split:
            yield Matrix("W", name.removesuffix(".weight"), parameter)


def joint_projections(module: nn.Module) -> Iterator[tuple[Sequence[str], Tensor]]:
    """Yield the parameters of a module whose rows are several matrices, with the symbol of each."""
    if isinstance(module, SelfAttention):
        yield ("W^Q", "W^K", "W^V") if module.value_projection is None else ("W^Q", "W^K"), module.qkv_projection.weight
    if isinstance(module, CrossAttention):
        yield ("W^Q",), module.query_projection.weight
        yield ("W^K", "W^V") if module.value_projection is None else ("W^K",), module.kv_projection.weight
    if isinstance(module, SelfAttention | CrossAttention):
        if module.value_projection is not None:
            yield ("W^V",), module.value_projection.weight
        yield ("W^O",), module.output_projection.weight
    if isinstance(module, SSRU):
        yield ("W_f", "W"), module.input_projection.weight
    if isinstance(module, RecurrentLayer):
        yield from recurrent_projections(module)
    if isinstance(module, nn.LSTM):
        yield tuple(f"W_{gate}" for gate in LSTM_GATES), module.get_parameter("weight_ih_l0")
        yield tuple(f"U_{gate}" for gate in LSTM_GATES), module.get_parameter("weight_hh_l0")
    if isinstance(module, GatedConvolution):
        yield ("W_A", "W_B"), module.projection.weight


def recurrent_projections(layer: RecurrentLayer) -> Iterator[tuple[Sequence[str], Tensor]]:
    """Yield the matrices of a recurrent layer: W of the input, U of the state."""
    cell = layer.cell
    if isinstance(cell, GRUCell):
        yield ("W_r", "W_z", "W_n"), layer.input_projection.weight
        yield ("U_r", "U_z"), cell.gate_projection.weight
        yield ("U_n",), cell.candidate_projection.weight
    elif isinstance(cell, LSTMCell):
        yield tuple(f"W_{gate}" for gate in LSTM_GATES), layer.input_projection.weight
        yield tuple(f"U_{gate}" for gate in LSTM_GATES), cell.gate_projection.weight
    elif isinstance(cell, ElmanCell):
        yield ("W_h",), layer.input_projection.weight
        yield ("U_h",), cell.recurrent_projection.weight


def histogram(values: Tensor) -> dict[str, Any]:
    """Return statistics and counts in equal bins from −largest to largest."""
    flat = values.detach().double().cpu().numpy().ravel()
    largest = float(np.abs(flat).max())
    counts, _ = np.histogram(flat, bins=BINS, range=(-largest or -1.0, largest or 1.0))
    return {
        "shape": list(values.shape),
        "mean": float(flat.mean()),
        "deviation": float(flat.std()),
        "largest": largest,
        "counts": counts.tolist(),
    }


def matrix_data(model: nn.Module) -> list[dict[str, Any]]:
    return [
        {"symbol": matrix.symbol, "path": matrix.path, "layer": layer_number(matrix.path)} | histogram(matrix.values)
        for matrix in matrices(model)
    ]


class EmbeddingTable(NamedTuple):
    """A table of token vectors and its uses: "source", "target" and "output" may share one table."""

    used_by: tuple[str, ...]
    values: Tensor  # (token, width)

    @property
    def reads_source(self) -> bool:
        return "source" in self.used_by


def embedding_tables(model: EncoderDecoder) -> list[EmbeddingTable]:
    """Return the embedding tables of tokens, each once."""
    users: dict[int, list[str]] = {}
    tables: dict[int, Tensor] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        if not isinstance(module, nn.Embedding) or "positional" in path:
            continue
        is_output = module.weight is model.decoder.output.weight and "output" in path
        use = "output" if is_output else "source" if path.startswith("encoder") else "target"
        tables[id(module.weight)] = module.weight
        users.setdefault(id(module.weight), []).append(use)
    return [EmbeddingTable(tuple(dict.fromkeys(users[key])), table) for key, table in tables.items()]


def frequent_tokens(table: EmbeddingTable, batches: Sequence[Batch]) -> list[int]:
    """Return the tokens of the data that a table contains, the most frequent first."""
    counts: Counter[int] = Counter()
    for batch in batches:
        sides = [batch.source] if table.reads_source else []
        sides += [batch.decoder_input, batch.target] if {"target", "output"} & {*table.used_by} else []
        for side in sides:
            counts.update(side.tokens[side.mask].tolist())
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    return [token for token in ranked if token < len(table.values)][:MAX_TOKENS]


class Neighbors(NamedTuple):
    """The nearest tokens of some tokens by the cosine of their embeddings."""

    tokens: list[int]
    neighbors: np.ndarray[Any, np.dtype[np.int64]]  # (token, neighbor)
    cosines: Array  # (token, neighbor)


@torch.inference_mode()
def nearest_neighbors(table: Tensor, tokens: Sequence[int]) -> Neighbors:
    """Return the nearest other tokens of each token, the nearest first."""
    vectors = nn.functional.normalize(table.detach().double(), dim=1)
    chosen = torch.tensor(tokens, device=table.device, dtype=torch.long)
    cosines = vectors[chosen] @ vectors.T  # (token, vocabulary)
    cosines[torch.arange(len(tokens)), chosen] = -torch.inf  # a token is not its own neighbor
    values, indices = cosines.topk(min(NEIGHBORS, len(table) - 1), dim=1)
    return Neighbors(list(tokens), indices.cpu().numpy(), values.cpu().numpy())


def embedding_data(table: EmbeddingTable, batches: Sequence[Batch], tokenizer: Tokenizer) -> dict[str, Any]:
    """Return histogram and neighbors of a table; tokens are indices into `strings`."""
    result = nearest_neighbors(table.values, frequent_tokens(table, batches))
    ids = list(dict.fromkeys([*result.tokens, *result.neighbors.ravel().tolist()]))
    index = {token: position for position, token in enumerate(ids)}
    neighbors = np.array([[index[token] for token in row] for row in result.neighbors.tolist()], dtype=np.int64)
    return {
        "used_by": list(table.used_by),
        **histogram(table.values),
        "strings": tokenizer.token_strings(ids),
        "tokens": len(result.tokens),
        "count": result.neighbors.shape[1],
        "neighbors": neighbors,
        "cosines": result.cosines,
    }


def weight_data(model: AnyTextModel, batches: Sequence[Batch]) -> dict[str, Any]:
    """Return the histograms of all matrices, and the embedding tables."""
    tables = embedding_tables(model.model)
    return {
        "matrices": matrix_data(model.model),
        "embeddings": [
            embedding_data(table, batches, model.source_tokenizer if table.reads_source else model.target_tokenizer)
            for table in tables
        ],
    }
