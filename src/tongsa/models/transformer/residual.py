"""Residual connections: the normalization before or after each sum (Vaswani et al. 2017, section 3.1).

    post-norm, as in the paper     x = norm(x + dropout(sublayer(x)))
    pre-norm                       x = x + dropout(sublayer(norm(x)))

The layers write both in the same two lines; either `before` or `after` does nothing:

    x = x + dropout(sublayer(norm.before(x)))
    x = norm.after(x)
"""

from torch import Tensor, nn

from tongsa.models.transformer.config import TransformerStackConfig
from tongsa.nn.norms import NoNorm, build_norm


class SublayerNorm(nn.Module):
    """The normalization of one sub-layer: of its input (pre-norm), or of the residual sum (post-norm)."""

    def __init__(self, config: TransformerStackConfig) -> None:
        super().__init__()
        self.norm = build_norm(config.norm_kind, config.width, config.groups)
        self.is_pre_norm = config.norm == "pre"

    def before(self, x: Tensor, padding_mask: Tensor) -> Tensor:  # (batch, length, width)
        return self.norm(x, padding_mask) if self.is_pre_norm else x

    def after(self, x: Tensor, padding_mask: Tensor) -> Tensor:  # (batch, length, width)
        return x if self.is_pre_norm else self.norm(x, padding_mask)


def build_final_norm(config: TransformerStackConfig) -> nn.Module:
    """Return the norm at the end of a stack: with pre-norm the last residual sum is not normalized yet."""
    return NoNorm() if config.norm == "post" else build_norm(config.norm_kind, config.width, config.groups)


def residual_gain(config: TransformerStackConfig, num_sublayers: int) -> float:
    """Return the initial gain of each sub-layer's last matrix (Radford et al. 2019, section 2.3).

    Without a norm after each sum, every sub-layer adds variance. So each of N sub-layers starts scaled by 1/√N.
    """
    return 1.0 if config.norm == "post" and config.norm_kind != "none" else num_sublayers**-0.5
