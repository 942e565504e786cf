"""Training: data loader, loss, optimizers, learning-rate schedule, the update, checkpoints and distributed training."""
