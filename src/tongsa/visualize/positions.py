"""Positional encodings of a model (Vaswani et al. 2017, section 3.5) as data for the page."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tongsa.nn.multi_head import SelfAttention
from tongsa.nn.positions import PAPER_SINUSOIDS, PositionalEncoding, PositionKind, SinusoidLayout, sinusoids
from tongsa.visualize.packing import MAX_UINT16, pack_uint16

MAX_POSITIONS_SHOWN = 128
"""Number of positions that are drawn; sinusoids have no last position."""


@dataclass(frozen=True)
class PositionTable:
    """A table of position vectors and the parts of the model that use it."""

    kind: PositionKind
    used_by: tuple[str, ...]
    """Parts of the model: "encoder", "decoder" or both."""
    values: NDArray[np.float64]  # (position, width)
    layout: SinusoidLayout = "interleaved"
    """Order of sines and cosines in a sinusoidal table."""
    is_paper_formula: bool = False
    """The page computes the sinusoids of the paper itself: they would be half of its size."""


@torch.inference_mode()
def position_encodings(model: nn.Module) -> list[PositionTable]:
    """Return all positional encodings of a model; equal tables become one that lists all users."""
    tables: list[PositionTable] = []
    for name, module in model.named_modules(remove_duplicate=False):  # encoder and decoder may share a module
        table = _position_encoding(name.partition(".")[0], module)
        if table is None:
            continue
        same = next((i for i, other in enumerate(tables) if _same_encoding(other, table)), None)
        if same is None:
            tables.append(table)
        else:
            users = dict.fromkeys((*tables[same].used_by, *table.used_by))
            tables[same] = replace(tables[same], used_by=tuple(users))
    return tables


def _position_encoding(part: str, module: nn.Module) -> PositionTable | None:
    if isinstance(module, PositionalEncoding) and (module.is_sinusoidal or module.learned_embedding is not None):
        device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
        values = module(0, min(MAX_POSITIONS_SHOWN, module.max_positions), device)
        kind: PositionKind = "sinusoidal" if module.is_sinusoidal else "learned"
        is_paper_formula = module.is_sinusoidal and module.sinusoid == PAPER_SINUSOIDS
        table = values.double().cpu().numpy()
        return PositionTable(kind, (part,), table, module.sinusoid.layout, is_paper_formula)
    if isinstance(module, SelfAttention) and module.rotary:
        # sine and cosine of each rotation angle; their cosine similarity is that of one vector at two positions
        angles = sinusoids(MAX_POSITIONS_SHOWN, module.heads.key_width).double().numpy()
        return PositionTable("rotary", (part,), angles, is_paper_formula=True)
    return None


def _same_encoding(first: PositionTable, second: PositionTable) -> bool:
    return (
        first.kind == second.kind
        and first.values.shape == second.values.shape
        and np.array_equal(first.values, second.values)
    )


def page_data(encodings: list[PositionTable]) -> dict[str, Any]:
    """Return the page's data, ready for JSON."""
    return {
        "tables": [
            {
                "kind": table.kind,
                "used_by": list(table.used_by),
                "positions": table.values.shape[0],
                "width": table.values.shape[1],
                "layout": table.layout,
                "values": None if table.is_paper_formula else _pack_signed(table.values),
            }
            for table in encodings
        ]
    }


def _pack_signed(values: NDArray[np.float64]) -> dict[str, Any]:
    """Map −max_abs … max_abs to 0 … 65,534, so that zero is exactly in the middle."""
    max_abs = float(np.abs(values).max()) or 1.0
    return {"max_abs": round(max_abs, 6), "packed": pack_uint16((values / max_abs + 1) / 2 * (MAX_UINT16 - 1))}
