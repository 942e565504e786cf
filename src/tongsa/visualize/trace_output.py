"""Output of a trace: the likeliest tokens of each step, and the rows of the output matrix that explain their logits."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tongsa.nn.output import OutputProjection
from tongsa.visualize.packing import pack_floats
from tongsa.visualize.panels import AnyTextModel

TOP = 5
"""Tokens of each step that are listed with logit and probability."""


def output_data(text_model: AnyTextModel, logits: Tensor, outputs: Sequence[int], *, is_edited: bool) -> dict[str, Any]:
    """Return the five likeliest tokens of each step, and the output embeddings of all tokens that are listed.

    Their logits are products with these embeddings, unless they were edited.
    """
    tokenizer = text_model.target_tokenizer
    normalizer = logits.logsumexp(dim=-1)
    values, ids = logits.topk(min(TOP, logits.shape[1]))
    top = [
        [
            {"token": token, "id": id_, "logit": value, "probability": float(torch.tensor(value - total).exp())}
            for token, id_, value in zip(tokenizer.token_strings(row), row, row_values, strict=True)
        ]
        for row, row_values, total in zip(ids.tolist(), values.tolist(), normalizer.tolist(), strict=True)
    ]
    chosen = [
        {"id": id_, "logit": logits[step, id_].item(), "log_prob": (logits[step, id_] - normalizer[step]).item()}
        for step, id_ in enumerate(outputs)
    ]
    listed = sorted({*ids.flatten().tolist(), *outputs})
    embedding = _output_rows(text_model.model.decoder.output, listed)
    return {
        "logsumexp": normalizer.tolist(),
        "top": top,
        "chosen": chosen,
        "embedding": embedding,
        "logits": pack_floats(logits[:, listed].cpu().numpy()) if is_edited else None,
    }


def _output_rows(projection: OutputProjection, tokens: Sequence[int]) -> dict[str, Any]:
    rows = projection.weight[list(tokens)].detach().float().cpu().numpy()
    bias = None if projection.bias is None else projection.bias[list(tokens)].detach().float().tolist()
    return {"ids": list(tokens), "shape": list(rows.shape), "values": pack_floats(rows), "bias": bias}
