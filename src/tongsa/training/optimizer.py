"""Optimisers, and the moving average of what they arrive at."""

import torch
from torch import nn

from tongsa.interface import named_tensors
from tongsa.nn.linear import Linear
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext
from tongsa.training.muon import Muon


def build_optimizers(
    model: nn.Module, config: TrainingConfig, distributed: DistributedContext = SINGLE_PROCESS
) -> list[torch.optim.Optimizer]:
    """Adam (Kingma and Ba 2015) as in Vaswani et al., section 5.3; AdamW; or Muon, with AdamW for what is no matrix."""
    found: list[torch.optim.Optimizer] = []
    share = config.adam_lr_scale if config.optimizer == "muon" else 1.0
    rest = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optimizer == "muon":
        layers = [layer for layer in model.modules() if isinstance(layer, Linear)]
        found.append(Muon(layers, weight_decay=config.weight_decay, distributed=distributed))
        taken = {layer.weight for layer in layers}
        rest = [parameter for parameter in rest if parameter not in taken]
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    matrices, others = [p for p in rest if p.ndim > 1], [p for p in rest if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": config.weight_decay, "lr_scale": share}]
    groups += [{"params": others, "weight_decay": 0.0, "lr_scale": share}]
    found.append(kind(groups, lr=1.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True))
    return found


class WeightEMA:
    """Exponential moving average of the weights, which forgets its first steps sooner (Polyak and Juditsky 1992)."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: value.detach().clone() for name, value in named_tensors(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        share, now = 1 - min(self.decay, (1 + step) / (10 + step)), named_tensors(model)
        torch._foreach_lerp_(list(self.tensors.values()), [now[name].detach() for name in self.tensors], share)
