"""PE(pos + k) as a rotation of PE(pos) (Vaswani et al. 2017, section 3.5)."""

import torch

from tongsa.nn.positions import sinusoids


def rotation_error(width: int = 512) -> float:
    """Return the largest |PE(pos + k) − R(k) PE(pos)|, with R(k) computed from k alone."""
    table = sinusoids(256, width).double()
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    errors = []
    for k in (1, 10, 100):
        sine, cosine = torch.sin(k * rate), torch.cos(k * rate)
        pairs = table[: 256 - k].view(256 - k, width // 2, 2)
        turned = torch.stack(
            [pairs[..., 0] * cosine + pairs[..., 1] * sine, pairs[..., 1] * cosine - pairs[..., 0] * sine], dim=-1
        )
        errors.append(float((turned.flatten(1) - table[k:]).abs().max()))
    return max(errors)
