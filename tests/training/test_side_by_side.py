"""Batches of an update side by side: the same gradient, to the byte, as one after another."""

import threading
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tiny import CONFIGS, SIZE, tiny
from tongsa.batch import Batch, Padded, pad
from tongsa.layers.dropout import drawing, kept
from tongsa.text import BOS
from tongsa.threads import side_by_side
from tongsa.training.loop import TrainingConfig, gradient

CONFIG = TrainingConfig(steps=3, precision="fp32", device="cpu", threads=1)


def batches(kind: str, count: int) -> list[list[Batch]]:
    generator = torch.Generator().manual_seed(5)
    found = []
    for rows in range(3, 3 + count):
        lines = [torch.randint(4, SIZE, (3 + at % 4,), generator=generator).tolist() for at in range(rows)]
        targets = [line[:1] for line in lines] if CONFIGS[kind].task == "labels" else lines
        found.append([Batch(pad(lines), pad([[BOS, *line[:-1]] for line in targets]), pad(targets))])
    return found


class Seen(nn.Module):
    """A model, and the threads that it was asked in. Two that may work at once meet here."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.threads = model, set[int]()

    def forward(self, source: Padded, target: Padded) -> Tensor:
        self.threads.add(threading.get_ident())
        outputs: Tensor = self.model(source, target)
        return outputs


def computed(kind: str, threads: int, **settings: object) -> tuple[float, float, list[Tensor], Seen]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # a product on two threads may be summed in another order
    try:
        model = Seen(tiny(kind).train())
        config = replace(CONFIG, threads=threads, **settings)  # type: ignore[arg-type]
        loss, norm = gradient(model, batches(kind, 5), 1, config)
    finally:
        torch.set_num_threads(before)
    return loss, norm, [p.grad for p in model.parameters() if p.grad is not None], model


@pytest.mark.parametrize("kind", CONFIGS)
def test_side_by_side_is_one_after_another_to_the_byte(kind: str) -> None:
    loss, norm, slopes, model = computed(kind, 1)
    assert model.threads == {threading.get_ident()}
    for _ in range(3):
        again, length, others, beside = computed(kind, 3)
        assert (again, length) == (loss, norm)
        assert len(others) == len(slopes)
        assert all(map(torch.equal, others, slopes))
        keeps_something = next(model.buffers(), None) is not None
        assert (beside.threads == {threading.get_ident()}) == keeps_something


def test_a_batch_in_parts_that_fit_is_never_computed_beside_another() -> None:
    *_, model = computed("transformer", 3, part_tokens=8)
    assert model.threads == {threading.get_ident()}


def test_masks_follow_the_seed_of_their_own_thread() -> None:
    shape = torch.Size([1001])
    torch.manual_seed(7)
    expected = [kept(shape, 0.3) for _ in range(20)]
    together = threading.Barrier(3, timeout=30)

    def drawn(seed: int) -> list[Tensor]:
        with drawing(seed):
            masks = []
            for _ in range(20):
                together.wait()  # all three draw at once, again and again
                masks.append(kept(shape, 0.3))
            return masks

    mine, other, same = side_by_side(drawn, [7, 8, 7], 3)
    assert all(map(torch.equal, mine, expected))
    assert all(map(torch.equal, same, expected))
    assert not any(map(torch.equal, other, expected))


def test_a_fault_in_one_of_them_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Seen(tiny("transformer"))

    def broken(source: Padded, target: Padded) -> Tensor:
        raise ZeroDivisionError

    monkeypatch.setattr(model, "forward", broken)
    with pytest.raises(ZeroDivisionError):
        gradient(model, batches("transformer", 3), 1, replace(CONFIG, threads=2))
