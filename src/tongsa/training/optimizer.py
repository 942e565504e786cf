"""Optimizers (Adam, AdamW, Muon) and the exponential moving average of the weights."""

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
    """Return Adam (Kingma and Ba 2015; Vaswani et al. 2017, section 5.3), AdamW, or Muon with AdamW.

    Muon updates the matrices of linear layers; AdamW updates the other parameters.
    """
    optimizers: list[torch.optim.Optimizer] = []
    lr_scale = config.adam_lr_scale if config.optimizer == "muon" else 1.0
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optimizer == "muon":
        # tied layers share their weights: each matrix is updated once
        layers = list({layer.weight: layer for layer in model.modules() if isinstance(layer, Linear)}.values())
        optimizers.append(Muon(layers, weight_decay=config.weight_decay, distributed=distributed))
        muon_parameters = {layer.weight for layer in layers}
        parameters = [parameter for parameter in parameters if parameter not in muon_parameters]
    adam_class = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    matrices, vectors = [p for p in parameters if p.ndim > 1], [p for p in parameters if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": config.weight_decay, "lr_scale": lr_scale}]
    groups += [{"params": vectors, "weight_decay": 0.0, "lr_scale": lr_scale}]  # biases and norms are not decayed
    optimizers.append(adam_class(groups, lr=1.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True))
    return optimizers


class WeightEMA:
    """Exponential moving average of the weights (Polyak and Juditsky 1992) with a smaller decay in the first steps."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: value.detach().clone() for name, value in named_tensors(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        decay, tensors = min(self.decay, (1 + step) / (10 + step)), named_tensors(model)
        torch._foreach_lerp_(list(self.tensors.values()), [tensors[name].detach() for name in self.tensors], 1 - decay)
