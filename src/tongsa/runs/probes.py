"""Probes during training (`training.probe`): what the model answers to a few sentences at log-spaced steps.

The records go to probes.jsonl in the folder of the run, one line per sentence and moment; `tongsa family` shows them.
Probes read the weights that a validation would score. They draw no random number, so they do not change the training.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor

from tongsa.runs.run import Run
from tongsa.runs.validation import temporary_weights
from tongsa.training.checkpoint_files import TrainingProgress
from tongsa.training.distributed import DistributedContext
from tongsa.training.journal import Journal
from tongsa.visualize.probe import PROBES_FILE, pack_probe, take_probe


def is_probe_step(step: int) -> bool:
    """Return True for 0, 10, 20, 50, 100, 200, 500 and so on."""
    return step == 0 or (step >= 10 and str(step).rstrip("0") in ("1", "2", "5"))


@dataclass(frozen=True)
class ProbeRecorder:
    """Writer of the probes of a run. Only rank 0 has a journal; all ranks agree on the steps."""

    texts: Sequence[str]
    journal: Journal | None

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        return bool(self.texts) and (is_last or is_probe_step(step))

    def record(self, run: Run, progress: TrainingProgress, tensors: dict[str, Tensor] | None) -> None:
        """Write the answers with these weights (None: those of the model)."""
        if self.journal is None:
            return
        moment = {"step": progress.step, "seconds": round(progress.seconds, 3), "tokens": progress.tokens}
        with temporary_weights(run, tensors):
            model = run.bundle.text_model()
            for i, text in enumerate(self.texts):
                self.journal.write(pack_probe(take_probe(model, text), moment | {"sentence": i}))


@contextmanager
def open_probes(run: Run, last_step: int, distributed: DistributedContext) -> Iterator[ProbeRecorder]:
    """Yield the recorder of a run that continues after `last_step`; later records are removed and written again."""
    texts, path = run.recipe.training.probe, run.folder / PROBES_FILE
    if not distributed.is_main_process or not (texts or path.exists()):
        yield ProbeRecorder(texts, None)
        return
    with Journal(path, last_step=last_step) as journal:
        yield ProbeRecorder(texts, journal)
