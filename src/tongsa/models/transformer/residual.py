"""Residual connections: the normalization before or after each sum (Vaswani et al. 2017, section 3.1).

    post-norm, as in the paper     x = norm(x + dropout(sublayer(x)))
    pre-norm                       x = x + dropout(sublayer(norm(x)))

The layers write both in the same two lines; either `before` or `after` does nothing:

    x = x + dropout(sublayer(norm.before(x)))
    x = norm.after(x)
"""

from typing import Literal

from torch import Tensor, nn

from tongsa.models.transformer.config import TransformerStackConfig
from tongsa.nn.dropout import Dropout
from tongsa.nn.norms import NoNorm, Norm, build_norm


class SublayerNorm(nn.Module):
    """The normalization of one sub-layer: of its input (pre-norm), or of the residual sum (post-norm)."""

    def __init__(self, config: TransformerStackConfig, shared: "SublayerNorm | None" = None) -> None:
        """With `shared`, this norm has the scale and shift of another one."""
        super().__init__()
        self.norm = build_norm(config.norm_kind, config.width, config.groups)
        self.is_pre_norm = config.norm == "pre"
        if shared is not None:
            for name, parameter in shared.norm.named_parameters():
                setattr(self.norm, name, parameter)

    def before(self, x: Tensor, padding_mask: Tensor) -> Tensor:  # (batch, length, width)
        return self.norm(x, padding_mask) if self.is_pre_norm else x

    def after(self, x: Tensor, padding_mask: Tensor) -> Tensor:  # (batch, length, width)
        return x if self.is_pre_norm else self.norm(x, padding_mask)

    def before_step(self, x: Tensor) -> Tensor:  # (row, width)
        return self.norm.normalize(x) if self.is_pre_norm else x

    def after_step(self, x: Tensor) -> Tensor:  # (row, width)
        return x if self.is_pre_norm else self.norm.normalize(x)


class ResidualDropout(Dropout):
    """x + dropout(y), in one pass; dropout(y) alone with `residual = false`."""

    def __init__(self, config: TransformerStackConfig) -> None:
        super().__init__(config.dropout)
        self.has_residual = config.residual

    def connect(self, x: Tensor, y: Tensor) -> Tensor:  # (batch, length, width)
        return self.add_residual(x, y) if self.has_residual else self(y)

    def connect_step(self, x: Tensor, y: Tensor) -> Tensor:  # (row, width)
        """Return x + y, in the memory of y: a step has no dropout."""
        return y.add_(x) if self.has_residual else y


def build_final_norm(config: TransformerStackConfig, stack: Literal["encoder", "decoder"]) -> Norm:
    """Return the norm at the end of a stack: with pre-norm the last residual sum is not normalized yet."""
    has_norm = {"auto": config.norm == "pre", "both": True, "decoder": stack == "decoder", "none": False}
    return build_norm(config.norm_kind, config.width, config.groups) if has_norm[config.final_norm] else NoNorm()


def residual_gain(config: TransformerStackConfig, num_sublayers: int) -> float:
    """Return the initial gain of each sub-layer's last matrix (Radford et al. 2019, section 2.3).

    Without a norm after each sum, every sub-layer adds variance. So each of N sub-layers starts scaled by 1/√N.
    """
    sums_grow = config.residual and (config.norm == "pre" or config.norm_kind == "none")
    return num_sublayers**-0.5 if sums_grow and config.initialization == "scaled-xavier" else 1.0
