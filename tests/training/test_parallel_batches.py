"""Batches of an update in parallel threads: identical gradients to computing them one after another."""

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
from tongsa.runs.update_batches import split_update
from tongsa.tokenization.special import BOS
from tongsa.torch_threads import parallel_map
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import compute_gradient
from tongsa.training.loss import TrainingModel

CONFIG = TrainingConfig(steps=3, precision="fp32", device="cpu", threads=1)


def make_batches(kind: str, count: int) -> list[list[Batch]]:
    generator = torch.Generator().manual_seed(5)
    batches = []
    for rows in range(3, 3 + count):
        sources = [torch.randint(4, SIZE, (3 + row % 4,), generator=generator).tolist() for row in range(rows)]
        targets = [row[:1] for row in sources] if CONFIGS[kind].task == "classification" else sources
        batches.append([Batch(pad(sources), pad([[BOS, *row[:-1]] for row in targets]), pad(targets))])
    return batches


class ThreadRecorder(nn.Module):
    """A model that records the threads of its forward passes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.threads = model, set[int]()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.threads.add(threading.get_ident())
        losses: tuple[Tensor, Tensor] = self.model(batch)
        return losses


def gradient_of(kind: str, threads: int, **settings: object) -> tuple[float, float, list[Tensor], ThreadRecorder]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # two threads may sum a matrix product in another order
    try:
        config = replace(CONFIG, threads=threads, **settings)  # type: ignore[arg-type]
        model = ThreadRecorder(TrainingModel(tiny(kind).train(), config))
        loss, grad_norm = compute_gradient(model, make_batches(kind, 5), 1, config)
    finally:
        torch.set_num_threads(before)
    return loss, grad_norm, [p.grad for p in model.parameters() if p.grad is not None], model


@pytest.mark.parametrize("kind", CONFIGS)
def test_parallel_batches_give_identical_gradients(kind: str) -> None:
    loss, grad_norm, gradients, model = gradient_of(kind, 1)
    assert model.threads == {threading.get_ident()}
    for _ in range(3):
        parallel_loss, parallel_norm, parallel_gradients, parallel = gradient_of(kind, 3)
        assert (parallel_loss, parallel_norm) == (loss, grad_norm)
        assert len(parallel_gradients) == len(gradients)
        assert all(map(torch.equal, parallel_gradients, gradients))
        has_buffers = next(model.buffers(), None) is not None  # batch norm must not be updated by several threads
        assert (parallel.threads == {threading.get_ident()}) == has_buffers


def test_a_limit_of_micro_batches_switches_parallel_batches_off() -> None:
    *_, model = gradient_of("transformer", 3, micro_batch_tokens=8)
    assert model.threads == {threading.get_ident()}


def test_dropout_masks_depend_on_the_seed_of_their_thread() -> None:
    shape = torch.Size([1001])
    torch.manual_seed(7)
    expected = [sample_keep_mask(shape, 0.3) for _ in range(20)]
    barrier = threading.Barrier(3, timeout=300)

    def sample_masks(seed: int) -> list[Tensor]:
        with seed_dropout(seed):
            masks = []
            for _ in range(20):
                barrier.wait()  # all three threads sample at the same time
                masks.append(sample_keep_mask(shape, 0.3))
            return masks

    first, different, repeated = parallel_map(sample_masks, [7, 8, 7], 3)
    assert all(map(torch.equal, first, expected))
    assert all(map(torch.equal, repeated, expected))
    assert not any(map(torch.equal, different, expected))


def test_an_error_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ThreadRecorder(TrainingModel(tiny("transformer"), CONFIG))

    def fail(batch: Batch) -> tuple[Tensor, Tensor]:
        raise ZeroDivisionError

    monkeypatch.setattr(model, "forward", fail)
    with pytest.raises(ZeroDivisionError):
        compute_gradient(model, make_batches("transformer", 3), 1, replace(CONFIG, threads=2))


@pytest.mark.parametrize(
    ("tokens", "batches"), [(3, 1), (1023, 1), (1024, 2), (8191, 2), (8192, 4), (25_000, 8), (10**6, 16)]
)
def test_the_cut_of_an_update_depends_on_its_tokens_alone(tokens: int, batches: int) -> None:
    model = TransformerConfig(norm="pre")
    for threads, workers, precision in ((1, 1, "fp32"), (2, 1, "fp32"), (8, 2, "bf16")):
        if workers <= batches:
            training = TrainingConfig(device="cpu", precision=precision, threads=threads, batch_tokens=tokens)  # type: ignore[arg-type]
            cut, _ = split_update(training, model, workers)
            assert (cut.grad_accumulation, cut.batch_tokens) == (batches, tokens // batches)


def test_an_update_is_cut_only_where_nobody_chose_the_batches() -> None:
    model, training = TransformerConfig(norm="pre"), TrainingConfig(device="cpu", batch_tokens=2560)
    chosen = replace(training, grad_accumulation=3)
    assert split_update(chosen, model) == (chosen, "")
    assert split_update(replace(training, device="cuda"), model)[0].grad_accumulation == 1
    assert split_update(training, replace(model, norm_kind="batch"))[0].grad_accumulation == 1


@pytest.mark.parametrize(("workers", "shard"), [(4, False), (3, False), (3, True), (5, True)])
def test_a_cut_for_more_workers_is_said(workers: int, shard: bool) -> None:
    model, training = TransformerConfig(norm="pre"), TrainingConfig(device="cpu", batch_tokens=2560, shard=shard)
    cut, message = split_update(training, model, workers)
    assert cut.grad_accumulation >= workers and not (shard and cut.grad_accumulation % workers)
    assert f"for {workers} workers, but 2 with fewer" in message
    assert split_update(training, model, 2)[1] == split_update(training, model)[1] != ""


@pytest.mark.parametrize("threads", [2, 3])
def test_a_run_has_the_same_bytes_on_any_number_of_threads(threads: int, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(300))
    states = []
    for count in (1, threads):
        settings = [*SMALL, f"training.threads={count}", "training.batch_tokens=1100", "training.steps=4"]
        runs.train(data=pairs, run=tmp_path / str(count), settings=settings, quiet=True)
        states.append((tmp_path / str(count) / "checkpoints" / f"{4:09d}" / "state.safetensors").read_bytes())
    assert states[0] == states[1]


def test_a_run_on_two_threads_resumes_to_identical_bytes(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(300))
    settings = ["training.threads=2", "training.batch_tokens=1100", "training.steps=8"]
    settings += ["training.checkpoint_every=4", "training.keep_checkpoints=2"]
    run = tmp_path / "run"
    runs.train(data=pairs, run=run, settings=[*SMALL, *settings], quiet=True)
    training = tomllib.loads((run / "run.toml").read_text("utf-8"))["training"]
    assert (training["grad_accumulation"], training["batch_tokens"]) == (2, 550)
    last = run / "checkpoints" / f"{8:09d}"
    state = (last / "state.safetensors").read_bytes()
    shutil.rmtree(last)
    runs.resume(run, quiet=True)
    assert (last / "state.safetensors").read_bytes() == state
