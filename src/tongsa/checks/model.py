"""Is the model fit to learn? Asked on copies: the caller's model and generators are as they were."""

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
"""Target places looked at for a leak."""
WEIGHT_NOISE_STD = 0.02
"""Added to every weight before looking: what is zero at birth (a last layer, a gate) would hide a leak."""
LOGIT_TOLERANCE = 1e-4
"""Share of the logits' own size by which rounding may move them."""
MAX_NATS_ABOVE_UNIFORM, MIN_FRACTION_OF_UNIFORM, UNIFORM_SLACK_NATS, FAULT_FACTOR_OF_UNIFORM = 1.5, 0.7, 0.5, 2.0
"""Nats a loss may start above ln V; share of ln V, less some nats, it must have; times ln V that are surely wrong."""
OVERFIT_ROWS = 8
MIN_OVERFIT_UPDATES, MAX_OVERFIT_UPDATES, MAX_OVERFIT_SECONDS = 10, 200, 20.0
"""At most so many updates to learn a few lines by heart, and after the fewest not more than so many seconds."""
OVERFIT_LR = 2e-3
OVERFIT_GOAL_FRACTION, STUCK_LOSS_FRACTION = 0.5, 0.95
"""Share of even odds that must be left at most; share of the first loss that is left where nothing is learnt."""


@torch.no_grad()
def check_causal_mask(model: EncoderDecoder, batch: Batch) -> Finding:
    """Change the target's future from each place on: the logits before it must not move."""
    device = next(model.parameters()).device
    longest = int(batch.decoder_input.lengths.argmax())
    length = min(MAX_PROBED_POSITIONS, int(batch.decoder_input.lengths[longest]))
    if length < 2:
        return Finding(name=CAUSAL_MASK_CHECK, level="ok", seen="a target of one piece has no future to leak")
    with scratch_copy(model) as copied:
        for parameter in copied.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=WEIGHT_NOISE_STD)
        source = batch.source.select([longest] * length).to(device)
        logits = copied(source, _perturb_future(batch.decoder_input.tokens[longest, :length].to(device), length))
    before = torch.ones(length, length, dtype=torch.bool, device=device).tril(-1)  # row r is changed from place r on
    moved = (logits - logits[:1]).abs().amax(dim=-1)  # (row, place)
    leaks = (moved > LOGIT_TOLERANCE * logits.abs().max()) & before
    found = int(leaks.any(dim=1).sum())
    return Finding(
        name=CAUSAL_MASK_CHECK,
        level="fault" if found else "ok",
        seen=f"logits moved in {found} of {length - 1} tries when only later pieces of the target were changed",
        means="the decoder sees the piece it is to predict: the loss will fall to nothing, and outputs will be rubbish",
        remedy="mask the decoder's attention (layers.masks.causal), shift convolutions left, read no piece ahead",
        numbers={"places": length, "leaks": found},
    )


def _perturb_future(target: Tensor, length: int) -> Padded:
    """The target itself, and below it the target with every piece from place 1, 2, … on replaced by its neighbour."""
    later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu()
    later[0] = False
    other = torch.where(target > UNK, target - 1, target + 1)
    return Padded(torch.where(later, other, target), torch.full((length,), length, device=target.device))


@torch.no_grad()
def check_initial_loss(model: EncoderDecoder, batch: Batch) -> Finding:
    """Before the first step no piece is likelier than another: the loss is about ln V for V target pieces."""
    batch = batch.to(next(model.parameters()).device)
    with scratch_copy(model) as copied:
        logits = copied(batch.source, batch.decoder_input).float()
    even, loss, quiet = (
        math.log(logits.shape[-1]),
        _mean_loss(logits, batch, batch.target.mask),
        _loss_excluding_previous_token(logits, batch),
    )
    level: Level = "ok" if loss < even + MAX_NATS_ABOVE_UNIFORM else "remark"
    if not quiet < even + MAX_NATS_ABOVE_UNIFORM or loss < MIN_FRACTION_OF_UNIFORM * even - UNIFORM_SLACK_NATS:
        level = "fault" if not quiet < FAULT_FACTOR_OF_UNIFORM * even + MAX_NATS_ABOVE_UNIFORM else "warning"
    return Finding(
        name="loss at the start",
        level=level,
        seen=f"{loss:.2f} nats a piece, {quiet:.2f} but for the echo of the piece just read; "
        f"ln {logits.shape[-1]:,} = {even:.2f} is even odds",
        means="far above: logits are too large at birth, and the first steps are spent on shrinking them (an echo "
        "alone comes from tied vectors and goes by itself); far below: the answer leaks into the question",
        remedy="look at how the output layer is initialised and scaled, and whether the target is shifted",
        numbers={"loss": loss, "without_echo": quiet, "even": even},
    )


def _mean_loss(logits: Tensor, batch: Batch, mask: Tensor) -> float:
    chosen = logits.log_softmax(dim=-1).gather(2, batch.target.tokens.unsqueeze(2)).squeeze(2)
    return -chosen[mask].mean().item()


def _loss_excluding_previous_token(logits: Tensor, batch: Batch) -> float:
    """The loss if the piece just read were impossible: with tied vectors it is what a newborn decoder says again."""
    if batch.decoder_input.tokens.shape[1] == 1:  # labels: what is read is no label
        return _mean_loss(logits, batch, batch.target.mask)
    fresh = batch.target.mask & (batch.target.tokens != batch.decoder_input.tokens)
    return _mean_loss(logits.scatter(2, batch.decoder_input.tokens.unsqueeze(2), -torch.inf), batch, fresh)


def check_overfits_one_batch(model: EncoderDecoder, batch: Batch) -> Finding:
    """A few lines of a batch are learnt by heart: what cannot do that cannot learn at all."""
    some = list(range(min(OVERFIT_ROWS, len(batch.source.lengths))))
    few = Batch(*(part.select(some) for part in batch)).to(next(model.parameters()).device)
    with scratch_copy(model) as copied:
        losses = list(_overfit_losses(copied, few, goal := OVERFIT_GOAL_FRACTION * _uniform_loss(copied, few)))
        idle = _parameters_without_gradient(copied, few)
    left, stopped = (
        losses[-1] / losses[0],
        len(losses) - 1 < MAX_OVERFIT_UPDATES,
    )  # by the clock: what came is a good sign
    level: Level = (
        "ok"
        if losses[-1] <= goal or (left < STUCK_LOSS_FRACTION and stopped)
        else "warning"
        if left < STUCK_LOSS_FRACTION
        else "fault"
    )
    return Finding(
        name="one batch by heart",
        level="remark" if idle and level == "ok" else level,
        seen=f"loss {losses[0]:.2f} → {losses[-1]:.2f} in {len(losses) - 1} updates on {len(some)} lines"
        + (f"; {len(idle)} parameters get no gradient" if idle else ""),
        means="a model that cannot learn some lines by heart has a broken path: frozen, detached or saturated layers, "
        "or targets that contradict each other",
        remedy="look at requires_grad, detach() and no_grad() on the way from the loss to these parameters"
        if idle
        else "look at the initial weights and the objective; give the model more width",
        examples=tuple(idle[:MAX_EXAMPLES]),
        numbers={"before": losses[0], "after": losses[-1], "updates": len(losses) - 1, "idle": len(idle)},
    )


def _loss_per_token(model: EncoderDecoder, batch: Batch) -> Tensor:
    loss, _ = cross_entropy(model(batch.source, batch.decoder_input), batch.target, 0.0)
    return loss / batch.target.lengths.sum()


def _uniform_loss(model: EncoderDecoder, batch: Batch) -> float:
    """The loss of even odds."""
    with torch.no_grad():
        return math.log(model(batch.source, batch.decoder_input).shape[-1])


def _overfit_losses(model: EncoderDecoder, batch: Batch, target_loss: float) -> Iterator[float]:
    """The loss before the first update, and after each of them, until the goal is reached or time is up."""
    began = perf_counter()
    free = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.Adam(free, lr=OVERFIT_LR) if free else None
    loss = _loss_per_token(model, batch)
    yield loss.item()
    for made in range(1, MAX_OVERFIT_UPDATES + 1):
        if optimiser is None or not loss.requires_grad:
            yield loss.item()
            return
        model.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(free, 1.0)
        optimiser.step()
        loss = _loss_per_token(model, batch)
        yield loss.item()
        late = made >= MIN_OVERFIT_UPDATES and perf_counter() - began > MAX_OVERFIT_SECONDS
        if late or not loss.item() > target_loss:
            return


def _parameters_without_gradient(model: EncoderDecoder, batch: Batch) -> list[str]:
    """Parameters that the loss does not reach."""
    model.zero_grad(set_to_none=True)
    loss = _loss_per_token(model, batch)
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    return [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
