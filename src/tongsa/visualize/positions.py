"""What tells a model where in a sequence a piece stands (Vaswani et al. 2017, section 3.5), ready to be drawn."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tongsa.nn.multi_head import SelfAttention
from tongsa.nn.positions import PositionalEncoding, PositionKind, sinusoids
from tongsa.visualize.packing import MAX_UINT16, pack_uint16

MAX_POSITIONS_SHOWN = 128
"""Positions that are drawn; sinusoids know no last one."""


@dataclass(frozen=True)
class PositionEncoding:
    kind: PositionKind
    used_by: tuple[str, ...]
    """The parts of the model that read it: "encoder", "decoder"."""
    values: NDArray[np.float64]  # (position, width)

    @property
    def cosine_similarity(self) -> NDArray[np.float64]:  # (position, position)
        """The cosine of each two positions."""
        lengths = np.linalg.norm(self.values, axis=1, keepdims=True)
        unit = self.values / np.where(lengths > 0, lengths, 1.0)
        made: NDArray[np.float64] = unit @ unit.T
        return made


@torch.inference_mode()
def position_encodings(model: nn.Module) -> list[PositionEncoding]:
    """Every table of positions in a model, equal ones once."""
    found: list[PositionEncoding] = []
    for name, module in model.named_modules(remove_duplicate=False):  # encoder and decoder may share one
        made = _position_encoding(name.partition(".")[0], module)
        if made is None:
            continue
        same = next((at for at, one in enumerate(found) if _same_encoding(one, made)), None)
        if same is None:
            found.append(made)
        else:
            found[same] = replace(found[same], used_by=tuple(dict.fromkeys((*found[same].used_by, *made.used_by))))
    return found


def _position_encoding(part: str, module: nn.Module) -> PositionEncoding | None:
    if isinstance(module, PositionalEncoding) and (module.is_sinusoidal or module.learned_embedding is not None):
        device = next((one.device for one in module.parameters()), torch.device("cpu"))
        values = module(0, min(MAX_POSITIONS_SHOWN, module.max_positions), device)
        kind: PositionKind = "sinusoidal" if module.is_sinusoidal else "learned"
        return PositionEncoding(kind, (part,), values.double().cpu().numpy())
    if isinstance(module, SelfAttention) and module.rotary:
        # the turns themselves: sine and cosine of each angle; their cosine is that of two equal vectors, turned
        return PositionEncoding(
            "rotary", (part,), sinusoids(MAX_POSITIONS_SHOWN, module.heads.key_width).double().numpy()
        )
    return None


def _same_encoding(first: PositionEncoding, second: PositionEncoding) -> bool:
    return (
        first.kind == second.kind
        and first.values.shape == second.values.shape
        and np.array_equal(first.values, second.values)
    )


def page_data(encodings: list[PositionEncoding]) -> dict[str, Any]:
    """What the page draws, ready for JSON."""
    return {
        "tables": [
            {
                "kind": table.kind,
                "owners": list(table.used_by),
                "positions": table.values.shape[0],
                "width": table.values.shape[1],
                "values": _pack_signed(table.values),
                "likeness": _pack_signed(table.cosine_similarity),
            }
            for table in encodings
        ]
    }


def _pack_signed(values: NDArray[np.float64]) -> dict[str, Any]:
    """From −most to most; zero is in the middle."""
    most = float(np.abs(values).max()) or 1.0
    return {"most": round(most, 6), "packed": pack_uint16((values / most + 1) / 2 * (MAX_UINT16 - 1))}
