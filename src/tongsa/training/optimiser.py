"""Optimisers, and the moving average of what they arrive at."""

import torch
from torch import nn

from tongsa.interface import weights
from tongsa.training.loop import TrainingConfig


def build(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Adam (Kingma and Ba 2015) as in Vaswani et al., section 5.3; or AdamW, whose decay is of matrices only."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.ndim > 1]
    others = [parameter for parameter in parameters if parameter.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if config.optimiser == "adamw" else torch.optim.Adam
    return kind(groups, lr=1.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


class Average:
    """Exponential moving average of the weights, which forgets its first steps sooner (Polyak and Juditsky 1992)."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.values = {name: value.detach().clone() for name, value in weights(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        now = weights(model)
        torch._foreach_lerp_(list(self.values.values()), [now[name].detach() for name in self.values], share)
