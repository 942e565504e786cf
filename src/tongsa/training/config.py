"""Training settings: the table [training] of a recipe."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from tongsa.config import Fraction, In, NonNegative, NonNegativeFloat, Positive, ThreadCount, check_ranges
from tongsa.data.normalize import normalize
from tongsa.training.lr_schedule import LRScheduleConfig
from tongsa.training.precision import Precision

MAX_PROBES, MAX_PROBE_CHARACTERS = 16, 200


def check_probe_texts(texts: Sequence[str]) -> None:
    """Raise ValueError if there are too many sentences to probe, or one is empty or too long."""
    if len(texts) > MAX_PROBES:
        raise ValueError(f"probe: {len(texts)} sentences. Give at most {MAX_PROBES}.")
    for i, text in enumerate(texts):
        if not normalize(text):
            raise ValueError(f"probe[{i}]: the sentence is empty. Write a sentence, or leave it out.")
        if len(text) > MAX_PROBE_CHARACTERS:
            raise ValueError(
                f"probe[{i}]: {len(text)} characters. Give a sentence of at most {MAX_PROBE_CHARACTERS} characters."
            )


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Defaults follow Vaswani et al. (2017, section 5), for a single device instead of eight GPUs."""

    steps: Positive = 100_000
    """Number of optimizer updates."""
    steps_changed_at: tuple[NonNegative, ...] = ()
    """Steps at which `--resume` changed the number of updates; written by tongsa, empty in a new run."""
    batch_tokens: Positive = 25_000
    """Batch size in tokens without noise: the longer of source and target side, padding included (section 5.1)."""
    grad_accumulation: Positive = 1
    """Gradient accumulation: batches per update. Four batches of 6,250 tokens train like one of 25,000.
    Threads and distributed processes share these batches. On a CPU, a new run cuts a single batch into several."""
    micro_batch_tokens: NonNegative = 0
    """Micro-batch size: maximum tokens per side in one forward and backward pass. 0: the whole batch at once."""
    memory_limit_mib: NonNegative = 0
    """Memory limit of the process in MiB; a trial of the largest batch chooses `micro_batch_tokens`. 0: no limit."""
    shard: bool = False
    """Shard the model over the distributed processes (FSDP2) instead of replicating it (DDP)."""
    seed: NonNegative = 1
    """Random seed of initial weights, data order and dropout."""
    init_from: str = ""
    """Folder of a run or bundle: initialize tokenizer and weights from it, where the shapes match."""
    label_smoothing: Fraction = 0.1
    """Label smoothing ε (section 5.4)."""
    optimizer: Literal["adam", "adamw", "muon"] = "adam"
    """Adam (section 5.3), AdamW (Loshchilov and Hutter 2019), or Muon for the matrices and AdamW for the rest."""
    adam_lr_scale: NonNegativeFloat = 1.0
    """With `muon`: factor on the learning rate of the parameters that AdamW updates (embeddings, norms, biases)."""
    beta1: Fraction = 0.9
    """Decay of Adam's mean of the gradients (β₁)."""
    beta2: Fraction = 0.98
    """Decay of Adam's mean of the squared gradients (β₂)."""
    epsilon: Annotated[float, In(0, 1, open_low=True)] = 1e-9
    """Added to the denominator of Adam's update (ε)."""
    weight_decay: NonNegativeFloat = 0.0
    """Weight decay of the matrices, not of biases and norms: decoupled in AdamW and Muon, L2 penalty in Adam."""
    clip_grad_norm: NonNegativeFloat = 0.0
    """Gradient clipping: maximum global gradient norm. 0: no clipping."""
    lr: LRScheduleConfig = field(default_factory=LRScheduleConfig)
    """Learning-rate schedule: the table [training.lr]."""
    ema: Fraction = 0.0
    """Decay of the exponential moving average (EMA) of the weights. The EMA is validated and saved. 0: no EMA."""
    average_last: Positive = 1
    """Checkpoint averaging: at the end, average the weights of the last N validations and keep them if better."""
    validate_every: Positive = 1000
    """Updates between two validations."""
    validate_sentences: NonNegative = 200
    """Development pairs translated per validation, evenly spaced. 0: all. Classifiers and language models use all."""
    best_metric: Literal["auto", "bleu", "chrf", "ter", "exact_match", "wer", "per", "accuracy", "macro_f1", "loss"] = (
        "auto"
    )
    """Metric on the development set that selects the best model. auto: the first metric of `data.metrics`."""
    patience: NonNegative = 0
    """Early stopping: stop after this many validations without improvement. 0: no early stopping."""
    checkpoint_every: Positive = 500
    """Updates between two checkpoints."""
    keep_checkpoints: NonNegative = 0
    """Newest checkpoints to keep. 0: two during the training, and the last one when the run has finished."""
    precision: Precision = "auto"
    """Precision of the computation; auto takes bf16 where it is supported and faster, else fp32."""
    device: str = "auto"
    """Device such as cpu, cuda or cuda:1; auto takes a GPU if there is one."""
    threads: ThreadCount = 0
    """CPU threads. 0: PyTorch's default."""
    compile: bool = False
    """Compile the model with torch.compile. It takes minutes and pays off on a GPU; on CPUs it was slower."""
    probe: tuple[str, ...] = ()
    """Sentences that the model answers at steps 0, 10, 20, 50, 100, 200, 500 … and the last one, for `tongsa family`.
    Output, attention and states go to probes.jsonl, at most 4 kB each. At most 16 sentences of 200 characters."""
    tensorboard: bool = False
    """Also write TensorBoard events (needs the extra `board`)."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_probe_texts(self.probe)
        if self.shard and (self.micro_batch_tokens or self.memory_limit_mib):
            raise ValueError(
                "shard cannot be combined with micro_batch_tokens or memory_limit_mib: all ranks of a sharded model "
                "compute in lockstep. Set shard = false, or both limits to 0."
            )
