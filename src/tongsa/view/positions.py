"""What tells a model where in a sequence a piece stands (Vaswani et al. 2017, section 3.5), ready to be drawn."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tongsa.layers.multi_head import SelfAttention
from tongsa.layers.positions import PositionKind, Positions, sinusoids
from tongsa.view.packing import MOST, packed

SHOWN = 128
"""Positions that are drawn; sinusoids know no last one."""


@dataclass(frozen=True)
class Table:
    kind: PositionKind
    owners: tuple[str, ...]
    """The parts of the model that read it: "encoder", "decoder"."""
    values: NDArray[np.float64]  # (position, width)

    @property
    def likeness(self) -> NDArray[np.float64]:  # (position, position)
        """The cosine of each two positions."""
        lengths = np.linalg.norm(self.values, axis=1, keepdims=True)
        unit = self.values / np.where(lengths > 0, lengths, 1.0)
        made: NDArray[np.float64] = unit @ unit.T
        return made


@torch.inference_mode()
def tables(model: nn.Module) -> list[Table]:
    """Every table of positions in a model, equal ones once."""
    found: list[Table] = []
    for name, module in model.named_modules(remove_duplicate=False):  # encoder and decoder may share one
        made = _table(name.partition(".")[0], module)
        if made is None:
            continue
        same = next((at for at, one in enumerate(found) if _equal(one, made)), None)
        if same is None:
            found.append(made)
        else:
            found[same] = replace(found[same], owners=tuple(dict.fromkeys((*found[same].owners, *made.owners))))
    return found


def _table(owner: str, module: nn.Module) -> Table | None:
    if isinstance(module, Positions) and (module.sinusoidal or module.learned is not None):
        device = next((one.device for one in module.parameters()), torch.device("cpu"))
        values = module(0, min(SHOWN, module.longest), device)
        kind: PositionKind = "sinusoidal" if module.sinusoidal else "learned"
        return Table(kind, (owner,), values.double().cpu().numpy())
    if isinstance(module, SelfAttention) and module.rotary:
        # the turns themselves: sine and cosine of each angle; their cosine is that of two equal vectors, turned
        return Table("rotary", (owner,), sinusoids(SHOWN, module.heads.key_width).double().numpy())
    return None


def _equal(one: Table, other: Table) -> bool:
    return (
        one.kind == other.kind and one.values.shape == other.values.shape and np.array_equal(one.values, other.values)
    )


def page_data(found: list[Table]) -> dict[str, Any]:
    """What the page draws, ready for JSON."""
    return {
        "tables": [
            {
                "kind": table.kind,
                "owners": list(table.owners),
                "positions": table.values.shape[0],
                "width": table.values.shape[1],
                "values": _scaled(table.values),
                "likeness": _scaled(table.likeness),
            }
            for table in found
        ]
    }


def _scaled(values: NDArray[np.float64]) -> dict[str, Any]:
    """From −most to most; zero is in the middle."""
    most = float(np.abs(values).max()) or 1.0
    return {"most": round(most, 6), "packed": packed((values / most + 1) / 2 * (MOST - 1))}
