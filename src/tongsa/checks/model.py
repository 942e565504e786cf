"""Model checks: causal mask, initial loss, overfitting one batch. They run on scratch copies of the model."""

import math
from collections.abc import Iterator
from time import perf_counter

import torch
from torch import Tensor, nn

from tongsa.batch import Batch, Padded
from tongsa.checks.finding import MAX_EXAMPLES, Finding, Level
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.special import UNK
from tongsa.training.loss import cross_entropy
from tongsa.training.memory import scratch_copy

CAUSAL_MASK_CHECK = "causal mask"
MAX_PROBED_POSITIONS = 24
"""Target positions that are tested for a leak."""
WEIGHT_NOISE_STD = 0.02
"""Noise added to each weight: layers that are initialized to zero would hide a leak."""
LOGIT_TOLERANCE = 1e-4
"""Relative change of logits that rounding may cause."""
MAX_NATS_ABOVE_UNIFORM, MIN_FRACTION_OF_UNIFORM, UNIFORM_SLACK_NATS, FAULT_FACTOR_OF_UNIFORM = 1.5, 0.7, 0.5, 2.0
"""Plausible initial losses: up to 1.5 nats above ln V, down to 0.7 ln V - 0.5. More than 2 ln V + 1.5 is a fault."""
OVERFIT_ROWS = 8
MIN_OVERFIT_UPDATES, MAX_OVERFIT_UPDATES, MAX_OVERFIT_SECONDS = 10, 200, 20.0
"""Limits of the overfitting test. The time limit applies after the minimum number of updates."""
OVERFIT_LR = 2e-3
OVERFIT_GOAL_FRACTION, STUCK_LOSS_FRACTION = 0.5, 0.95
"""The test passes below the first fraction of the uniform loss, and fails above the second one of the initial loss."""


@torch.no_grad()
def check_causal_mask(model: EncoderDecoder, batch: Batch) -> Finding:
    """Change the target from each position on: logits at earlier positions must not change."""
    device = next(model.parameters()).device
    row = int(batch.decoder_input.lengths.argmax())
    length = min(MAX_PROBED_POSITIONS, int(batch.decoder_input.lengths[row]))
    if length < 2:
        return Finding(name=CAUSAL_MASK_CHECK, level="ok", seen="a target of one token has no later tokens to leak")
    with scratch_copy(model) as copied:
        for parameter in copied.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=WEIGHT_NOISE_STD)
        source = batch.source.select([row] * length).to(device)
        logits = copied(source, _perturb_future(batch.decoder_input.tokens[row, :length].to(device), length))
    # row r is changed from position r on, so its logits before r must equal those of row 0
    earlier = torch.ones(length, length, dtype=torch.bool, device=device).tril(-1)
    change = (logits - logits[:1]).abs().amax(dim=-1)  # (row, position)
    leaks = int(((change > LOGIT_TOLERANCE * logits.abs().max()) & earlier).any(dim=1).sum())
    return Finding(
        name=CAUSAL_MASK_CHECK,
        level="fault" if leaks else "ok",
        seen=f"logits changed in {leaks} of {length - 1} trials when only later target tokens were changed",
        means="the decoder sees the token that it predicts: the loss will fall to zero, and outputs will be useless",
        remedy="apply a causal mask to the decoder's self-attention, pad convolutions on the left only, and shift the "
        "decoder's input by one",
        numbers={"positions": length, "leaks": leaks},
    )


def _perturb_future(target: Tensor, length: int) -> Padded:
    """Return a batch of copies of the target: row 0 unchanged, row r with all tokens from position r on replaced."""
    later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu()
    later[0] = False
    replacement = torch.where(target > UNK, target - 1, target + 1)
    return Padded(torch.where(later, replacement, target), torch.full((length,), length, device=target.device))


@torch.no_grad()
def check_initial_loss(model: EncoderDecoder, batch: Batch) -> Finding:
    """Compare the loss before training with the uniform distribution: ln V for a vocabulary of V tokens."""
    batch = batch.to(next(model.parameters()).device)
    with scratch_copy(model) as copied:
        logits = copied(batch.source, batch.decoder_input).float()
    uniform = math.log(logits.shape[-1])
    loss = _mean_loss(logits, batch, batch.target.mask)
    without_repeats = _loss_excluding_previous_token(logits, batch)
    level: Level = "ok"  # also if only tied embeddings raise the loss: they favor the previous token, which is harmless
    # `not a < b` instead of `a >= b`: a NaN is a fault, too
    too_high = not without_repeats < uniform + MAX_NATS_ABOVE_UNIFORM
    if too_high or loss < MIN_FRACTION_OF_UNIFORM * uniform - UNIFORM_SLACK_NATS:
        is_fault = not without_repeats < FAULT_FACTOR_OF_UNIFORM * uniform + MAX_NATS_ABOVE_UNIFORM
        level = "fault" if is_fault else "warning"
    return Finding(
        name="initial loss",
        level=level,
        seen=f"{loss:.2f} nats per token, {without_repeats:.2f} if the previous token is excluded; "
        f"the uniform distribution has ln {logits.shape[-1]:,} = {uniform:.2f}",
        means="far above: the initial logits are too large, and the first updates only shrink them; "
        "far below: the target leaks into the decoder's input",
        remedy="check the initialization and scale of the output layer, and that the decoder's input is shifted",
        numbers={"loss": loss, "without_repeats": without_repeats, "uniform": uniform},
    )


def _mean_loss(logits: Tensor, batch: Batch, mask: Tensor) -> float:
    log_probs = logits.log_softmax(dim=-1).gather(2, batch.target.tokens.unsqueeze(2)).squeeze(2)
    return -log_probs[mask].mean().item()


def _loss_excluding_previous_token(logits: Tensor, batch: Batch) -> float:
    """Return the loss with the previous token excluded: with tied embeddings an untrained decoder repeats it."""
    if batch.decoder_input.tokens.shape[1] == 1:  # a classifier has no previous token
        return _mean_loss(logits, batch, batch.target.mask)
    not_repeated = batch.target.mask & (batch.target.tokens != batch.decoder_input.tokens)
    return _mean_loss(logits.scatter(2, batch.decoder_input.tokens.unsqueeze(2), -torch.inf), batch, not_repeated)


def check_overfits_one_batch(model: EncoderDecoder, batch: Batch) -> Finding:
    """Overfit a few examples: a model that cannot do that cannot learn at all."""
    rows = list(range(min(OVERFIT_ROWS, len(batch.source.lengths))))
    small = Batch(*(side.select(rows) for side in batch)).to(next(model.parameters()).device)
    with scratch_copy(model) as copied:
        goal = OVERFIT_GOAL_FRACTION * _uniform_loss(copied, small)
        losses = list(_overfit_losses(copied, small, goal))
        untrained = _parameters_without_gradient(copied, small)
    updates = len(losses) - 1
    level = _overfit_level(losses, goal)
    return Finding(
        name="overfit one batch",
        level="remark" if untrained and level == "ok" else level,
        seen=f"loss {losses[0]:.2f} → {losses[-1]:.2f} in {updates} updates on {len(rows)} examples"
        + (f"; {len(untrained)} parameters get no gradient" if untrained else ""),
        means="a model that cannot overfit a few examples has frozen, detached or saturated layers, "
        "or targets that contradict each other",
        remedy="check requires_grad, detach() and no_grad() between the loss and these parameters"
        if untrained
        else "check the initial weights and the loss, or increase the model's width",
        examples=tuple(untrained[:MAX_EXAMPLES]),
        numbers={
            "initial_loss": losses[0],
            "final_loss": losses[-1],
            "updates": updates,
            "without_gradient": len(untrained),
        },
    )


def _overfit_level(losses: list[float], goal: float) -> Level:
    fraction = losses[-1] / losses[0]
    if not fraction < STUCK_LOSS_FRACTION and not losses[-1] <= goal:  # also if it is NaN
        return "fault"
    out_of_time = len(losses) - 1 < MAX_OVERFIT_UPDATES  # then a falling loss is enough
    return "ok" if losses[-1] <= goal or out_of_time else "warning"


def _loss_per_token(model: EncoderDecoder, batch: Batch) -> Tensor:
    loss, _ = cross_entropy(model(batch.source, batch.decoder_input), batch.target, 0.0)
    return loss / batch.target.lengths.sum()


def _uniform_loss(model: EncoderDecoder, batch: Batch) -> float:
    """Return the loss of the uniform distribution."""
    with torch.no_grad():
        return math.log(model(batch.source, batch.decoder_input).shape[-1])


def _overfit_losses(model: EncoderDecoder, batch: Batch, target_loss: float) -> Iterator[float]:
    """Yield the loss before the first update and after each, until the target is reached or the time is over."""
    start_time = perf_counter()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=OVERFIT_LR) if parameters else None
    loss = _loss_per_token(model, batch)
    yield loss.item()
    for update in range(1, MAX_OVERFIT_UPDATES + 1):
        if optimizer is None or not loss.requires_grad:
            yield loss.item()
            return
        model.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        loss = _loss_per_token(model, batch)
        yield loss.item()
        out_of_time = update >= MIN_OVERFIT_UPDATES and perf_counter() - start_time > MAX_OVERFIT_SECONDS
        if out_of_time or not loss.item() > target_loss:
            return


def _parameters_without_gradient(model: EncoderDecoder, batch: Batch) -> list[str]:
    """Return the names of the parameters that get no gradient."""
    model.zero_grad(set_to_none=True)
    loss = _loss_per_token(model, batch)
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    return [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
