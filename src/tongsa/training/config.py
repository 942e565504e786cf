"""Settings of training."""

from dataclasses import dataclass, field
from typing import Literal

from tongsa.config import Fraction, NonNegative, NonNegativeFloat, Positive, check_ranges
from tongsa.training.lr_schedule import LRScheduleConfig
from tongsa.training.precision import Precision


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The defaults are the paper's (section 5), but for its eight GPUs."""

    steps: Positive = 100_000
    batch_tokens: Positive = 25_000
    """Places in a batch on either side, padding included (section 5.1)."""
    grad_accumulation: Positive = 1
    """Batches to an update: four of 6,250 tokens are one of 25,000 to the optimiser. Workers share them."""
    micro_batch_tokens: NonNegative = 0
    """Places on a side that are computed at once; a larger batch is computed in parts. 0 sets no limit."""
    memory_limit_mib: NonNegative = 0
    """MiB that the process may take; 0 does not ask. A try of the largest batch says which part_tokens keep to it."""
    shard: bool = False
    """Whether several workers each keep a part of the model (FSDP2), not a whole one (DDP): for what fits into none."""
    seed: NonNegative = 1
    init_from: str = ""
    """Folder of a run or model with whose pieces and weights this one begins, as far as sizes are the same."""
    label_smoothing: Fraction = 0.1
    """Label smoothing ε (section 5.4)."""
    optimizer: Literal["adam", "adamw", "muon"] = "adam"
    adam_lr_scale: NonNegativeFloat = 1.0
    """With `muon`: the rate of what Adam still moves (vectors of pieces, norms, biases), as a share of the rate."""
    beta1: Fraction = 0.9
    beta2: Fraction = 0.98
    epsilon: float = 1e-9
    weight_decay: NonNegativeFloat = 0.0
    clip_grad_norm: NonNegativeFloat = 0.0
    """Longest gradient that is let through unshortened; 0 lets all through."""
    lr: LRScheduleConfig = field(default_factory=LRScheduleConfig)
    ema: Fraction = 0.0
    """Decay of the moving average of the weights that is validated and kept; 0 keeps the weights themselves."""
    average_last: Positive = 1
    """At the end, try the mean of the weights of the last N validations, and keep it if it is better."""
    validate_every: Positive = 1000
    validate_sentences: NonNegative = 200
    """Development pairs translated at each validation, evenly spread; 0 takes all. Labels and texts are always all."""
    best_metric: Literal["auto", "bleu", "chrf", "exact_match", "wer", "per", "accuracy", "macro_f1", "loss"] = "auto"
    """What chooses the best model on the development set; auto is the first score that is measured there."""
    patience: NonNegative = 0
    """Stop after so many validations without a better one; 0 never stops early."""
    checkpoint_every: Positive = 500
    keep_checkpoints: Positive = 2
    precision: Precision = "auto"
    device: str = "auto"
    threads: NonNegative = 0
    """CPU threads; 0 leaves the choice to torch."""
    compile: bool = False
    """Whether torch compiles the model first: some minutes, which pay on a GPU; on a CPU it was slower than not."""
    tensorboard: bool = False
    """Also write TensorBoard events (needs the extra `board`)."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.shard and (self.micro_batch_tokens or self.memory_limit_mib):
            raise ValueError(
                "shard does not go with micro_batch_tokens or memory_limit_mib: sharded ranks compute in step"
            )
