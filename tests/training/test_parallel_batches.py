"""Batches of an update side by side: the same gradient, to the byte, as one after another."""

import shutil
import threading
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tiny import CONFIGS, SIZE, SMALL, reversing, tiny, write_pairs
from tongsa import runs
from tongsa.batch import Batch, pad
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.dropout import sample_keep_mask, seed_dropout
from tongsa.runs import planner
from tongsa.tokenization.special import BOS
from tongsa.torch_threads import parallel_map
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import compute_gradient
from tongsa.training.loss import TrainingModel

CONFIG = TrainingConfig(steps=3, precision="fp32", device="cpu", threads=1)


def batches(kind: str, count: int) -> list[list[Batch]]:
    generator = torch.Generator().manual_seed(5)
    found = []
    for rows in range(3, 3 + count):
        lines = [torch.randint(4, SIZE, (3 + at % 4,), generator=generator).tolist() for at in range(rows)]
        targets = [line[:1] for line in lines] if CONFIGS[kind].task == "classification" else lines
        found.append([Batch(pad(lines), pad([[BOS, *line[:-1]] for line in targets]), pad(targets))])
    return found


class Seen(nn.Module):
    """A model, and the threads that it was asked in. Two that may work at once meet here."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.threads = model, set[int]()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.threads.add(threading.get_ident())
        losses: tuple[Tensor, Tensor] = self.model(batch)
        return losses


def computed(kind: str, threads: int, **settings: object) -> tuple[float, float, list[Tensor], Seen]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # a product on two threads may be summed in another order
    try:
        config = replace(CONFIG, threads=threads, **settings)  # type: ignore[arg-type]
        model = Seen(TrainingModel(tiny(kind).train(), config))
        loss, norm = compute_gradient(model, batches(kind, 5), 1, config)
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
    *_, model = computed("transformer", 3, micro_batch_tokens=8)
    assert model.threads == {threading.get_ident()}


def test_masks_follow_the_seed_of_their_own_thread() -> None:
    shape = torch.Size([1001])
    torch.manual_seed(7)
    expected = [sample_keep_mask(shape, 0.3) for _ in range(20)]
    together = threading.Barrier(3, timeout=30)

    def drawn(seed: int) -> list[Tensor]:
        with seed_dropout(seed):
            masks = []
            for _ in range(20):
                together.wait()  # all three draw at once, again and again
                masks.append(sample_keep_mask(shape, 0.3))
            return masks

    mine, other, same = parallel_map(drawn, [7, 8, 7], 3)
    assert all(map(torch.equal, mine, expected))
    assert all(map(torch.equal, same, expected))
    assert not any(map(torch.equal, other, expected))


def test_a_fault_in_one_of_them_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Seen(TrainingModel(tiny("transformer"), CONFIG))

    def broken(batch: Batch) -> tuple[Tensor, Tensor]:
        raise ZeroDivisionError

    monkeypatch.setattr(model, "forward", broken)
    with pytest.raises(ZeroDivisionError):
        compute_gradient(model, batches("transformer", 3), 1, replace(CONFIG, threads=2))


def test_an_update_is_cut_for_the_threads_of_a_cpu_where_each_has_enough_to_do() -> None:
    model = TransformerConfig(norm="pre")
    training = TrainingConfig(device="cpu", precision="fp32", threads=4, batch_tokens=4 * planner.MIN_TOKENS_PER_THREAD)
    assert planner.parallel_batches(training, model) == 4
    assert planner.parallel_batches(replace(training, threads=1), model) == 1
    assert planner.parallel_batches(replace(training, batch_tokens=2 * planner.MIN_TOKENS_PER_THREAD + 1), model) == 2
    assert planner.parallel_batches(replace(training, batch_tokens=3), model) == 1
    assert (
        planner.fit_grad_accumulation(training, 4).grad_accumulation
        * planner.fit_grad_accumulation(training, 4).batch_tokens
        == training.batch_tokens
    )
    for settings in (
        {"memory": 900},
        {"part_tokens": 64},
        {"precision": "bf16"},
        {"device": "cuda"},
        {"compile": True},
    ):
        assert planner.parallel_batches(replace(training, **settings), model) == 1, settings
    assert planner.parallel_batches(training, replace(model, norm_kind="batch")) == 1


def test_a_run_on_two_threads_says_so_and_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(300))
    asked = ["training.threads=2", "training.batch_tokens=1100", "training.steps=8", "training.checkpoint_every=4"]
    run = tmp_path / "run"
    runs.train(data=pairs, run=run, settings=[*SMALL, *asked], quiet=True)
    training = tomllib.loads((run / "run.toml").read_text("utf-8"))["training"]
    assert (training["accumulate"], training["batch_tokens"]) == (2, 550)
    last = run / "checkpoints" / f"{8:09d}"
    state = (last / "state.safetensors").read_bytes()
    shutil.rmtree(last)
    runs.resume(run, quiet=True)
    assert (last / "state.safetensors").read_bytes() == state
