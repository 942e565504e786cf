"""Is the model fit to learn? Asked on copies: the caller's model and generators are as they were."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import torch
from torch import Tensor, nn

from tongsa.batch import Batch, Padded
from tongsa.interface import EncoderDecoder
from tongsa.text.finding import SHOWN, Finding, Level
from tongsa.text.pieces import UNK
from tongsa.training.objective import cross_entropy

CAUSAL = "causal mask"
PLACES = 24
"""Target places looked at for a leak."""
NOISE = 0.02
"""Added to every weight before looking: what is zero at birth (a last layer, a gate) would hide a leak."""
MOVED = 1e-4
"""Share of the logits' own size by which rounding may move them."""
ABOVE, BELOW, SLACK, FAR = 1.5, 0.7, 0.5, 2.0
"""Nats a loss may start above ln V; share of ln V, less some nats, it must have; times ln V that are surely wrong."""
ROWS = 8
FEWEST, UPDATES, PATIENCE = 10, 200, 20.0
"""At most so many updates to learn a few lines by heart, and after the fewest not more than so many seconds."""
RATE = 2e-3
HALVED, STUCK = 0.5, 0.95
"""Share of even odds that must be left at most; share of the first loss that is left where nothing is learnt."""


@contextmanager
def probe(model: EncoderDecoder) -> Iterator[EncoderDecoder]:
    """A copy to be mistreated; the generators of random numbers go on afterwards as if nothing had been drawn."""
    device = next(model.parameters()).device
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        yield copy.deepcopy(model).eval()


@torch.no_grad()
def causal_leak(model: EncoderDecoder, batch: Batch) -> Finding:
    """Change the target's future from each place on: the logits before it must not move."""
    device = next(model.parameters()).device
    longest = int(batch.shifted.lengths.argmax())
    length = min(PLACES, int(batch.shifted.lengths[longest]))
    if length < 2:
        return Finding(name=CAUSAL, level="ok", seen="a target of one piece has no future to leak")
    with probe(model) as copied:
        for parameter in copied.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=NOISE)
        source = batch.source.rows([longest] * length).to(device)
        logits = copied(source, _changed(batch.shifted.pieces[longest, :length].to(device), length))
    before = torch.ones(length, length, dtype=torch.bool, device=device).tril(-1)  # row r is changed from place r on
    moved = (logits - logits[:1]).abs().amax(dim=-1)  # (row, place)
    leaks = (moved > MOVED * logits.abs().max()) & before
    found = int(leaks.any(dim=1).sum())
    return Finding(
        name=CAUSAL,
        level="fault" if found else "ok",
        seen=f"logits moved in {found} of {length - 1} tries when only later pieces of the target were changed",
        means="the decoder sees the piece it is to predict: the loss will fall to nothing, and outputs will be rubbish",
        remedy="mask the decoder's attention (layers.masks.causal), shift convolutions left, read no piece ahead",
        figures={"places": length, "leaks": found},
    )


def _changed(target: Tensor, length: int) -> Padded:
    """The target itself, and below it the target with every piece from place 1, 2, … on replaced by its neighbour."""
    later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu()
    later[0] = False
    other = torch.where(target > UNK, target - 1, target + 1)
    return Padded(torch.where(later, other, target), torch.full((length,), length, device=target.device))


@torch.no_grad()
def start_loss(model: EncoderDecoder, batch: Batch) -> Finding:
    """Before the first step no piece is likelier than another: the loss is about ln V for V target pieces."""
    batch = batch.to(next(model.parameters()).device)
    with probe(model) as copied:
        logits = copied(batch.source, batch.shifted).float()
    even, loss, quiet = (
        math.log(logits.shape[-1]),
        _mean(logits, batch, batch.target.mask),
        _without_echo(logits, batch),
    )
    level: Level = "ok" if loss < even + ABOVE else "remark"
    if not quiet < even + ABOVE or loss < BELOW * even - SLACK:
        level = "fault" if not quiet < FAR * even + ABOVE else "warning"
    return Finding(
        name="loss at the start",
        level=level,
        seen=f"{loss:.2f} nats a piece, {quiet:.2f} but for the echo of the piece just read; "
        f"ln {logits.shape[-1]:,} = {even:.2f} is even odds",
        means="far above: logits are too large at birth, and the first steps are spent on shrinking them (an echo "
        "alone comes from tied vectors and goes by itself); far below: the answer leaks into the question",
        remedy="look at how the output layer is initialised and scaled, and whether the target is shifted",
        figures={"loss": loss, "without_echo": quiet, "even": even},
    )


def _mean(logits: Tensor, batch: Batch, kept: Tensor) -> float:
    chosen = logits.log_softmax(dim=-1).gather(2, batch.target.pieces.unsqueeze(2)).squeeze(2)
    return -chosen[kept].mean().item()


def _without_echo(logits: Tensor, batch: Batch) -> float:
    """The loss if the piece just read were impossible: with tied vectors it is what a newborn decoder says again."""
    if batch.shifted.pieces.shape[1] == 1:  # labels: what is read is no label
        return _mean(logits, batch, batch.target.mask)
    fresh = batch.target.mask & (batch.target.pieces != batch.shifted.pieces)
    return _mean(logits.scatter(2, batch.shifted.pieces.unsqueeze(2), -torch.inf), batch, fresh)


def overfits(model: EncoderDecoder, batch: Batch) -> Finding:
    """A few lines of a batch are learnt by heart: what cannot do that cannot learn at all."""
    some = list(range(min(ROWS, len(batch.source.lengths))))
    few = Batch(*(part.rows(some) for part in batch)).to(next(model.parameters()).device)
    with probe(model) as copied:
        losses = list(_losses(copied, few, goal := HALVED * _even(copied, few)))
        idle = _idle(copied, few)
    left, stopped = losses[-1] / losses[0], len(losses) - 1 < UPDATES  # by the clock: what came is a good sign
    level: Level = "ok" if losses[-1] <= goal or (left < STUCK and stopped) else "warning" if left < STUCK else "fault"
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
        examples=tuple(idle[:SHOWN]),
        figures={"before": losses[0], "after": losses[-1], "updates": len(losses) - 1, "idle": len(idle)},
    )


def _loss(model: EncoderDecoder, batch: Batch) -> Tensor:
    loss, _ = cross_entropy(model(batch.source, batch.shifted), batch.target, 0.0)
    return loss / batch.target.lengths.sum()


def _even(model: EncoderDecoder, batch: Batch) -> float:
    """The loss of even odds."""
    with torch.no_grad():
        return math.log(model(batch.source, batch.shifted).shape[-1])


def _losses(model: EncoderDecoder, batch: Batch, goal: float) -> Iterator[float]:
    """The loss before the first update, and after each of them, until the goal is reached or time is up."""
    began = perf_counter()
    free = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.Adam(free, lr=RATE) if free else None
    loss = _loss(model, batch)
    yield loss.item()
    for made in range(1, UPDATES + 1):
        if optimiser is None or not loss.requires_grad:
            yield loss.item()
            return
        model.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(free, 1.0)
        optimiser.step()
        loss = _loss(model, batch)
        yield loss.item()
        late = made >= FEWEST and perf_counter() - began > PATIENCE
        if late or not loss.item() > goal:
            return


def _idle(model: EncoderDecoder, batch: Batch) -> list[str]:
    """Parameters that the loss does not reach."""
    model.zero_grad(set_to_none=True)
    loss = _loss(model, batch)
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    return [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
