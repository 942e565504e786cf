"""What a worker does with a batch: one frozen dataclass for each question, equal where a batch may be shared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tongsa.errors import InputError
from tongsa.serving import answers, guard
from tongsa.serving.batching import Job
from tongsa.serving.models import Served

if TYPE_CHECKING:
    from tongsa.decoding.translation import Translation


@dataclass(frozen=True)
class Translate:
    nbest: int = 1
    beam: int | None = None
    terms: tuple[tuple[str, str], ...] = ()
    """Those that the sentence holds: the others have no say in it."""
    prefixed: bool = False
    quick: bool = False
    """Whether the engine beside torch takes it: a batch must not be moved to torch by one of its sentences."""
    guarded: bool = True

    def answers(self, model: Served, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        found = self.searched(model, jobs, {})
        doubts = [self.doubts(model, job, best) for job, best in zip(jobs, found, strict=True)]
        again = self.again(model, jobs, doubts) if self.guarded else {}
        told = []
        for at, (job, best) in enumerate(zip(jobs, found, strict=True)):
            flags, retried = doubts[at], False
            if at in again:
                better = self.doubts(model, job, again[at])
                if len(better) < len(flags):
                    best, flags, retried = again[at], better, True
            one = answers.sentence(job.text, best, job.details, watched=model.watched)
            told.append(one | {"flags": flags, "retried": retried})
        return told

    def searched(self, model: Served, jobs: Sequence[Job], settings: Mapping[str, Any]) -> "list[Translation]":
        from tongsa.decoding.terminology import Glossary

        own = model.reader.config.beam
        found: list[Translation] = model.reader.translate(
            [job.text for job in jobs],
            nbest=self.nbest,
            prefixes=[job.prefix for job in jobs] if self.prefixed else (),
            glossary=Glossary.of(self.terms) if self.terms else None,
            **{"beam": self.beam or max(own, self.nbest), **settings},
        )
        return found

    def doubts(self, model: Served, job: Job, best: "Translation") -> list[guard.Flag]:
        seen = guard.Seen(
            job.text,
            best.text,
            len(best.source_pieces),
            len(best.pieces),
            model.source_language,
            model.target_language,
        )
        found = guard.flags(seen)
        if model.watched and guard.doubtful(seen) and guard.unread(best.alignment[:, :-1].tolist()):
            found.append("coverage")
        return found

    def again(
        self, model: Served, jobs: Sequence[Job], doubts: Sequence[Sequence[guard.Flag]]
    ) -> "dict[int, Translation]":
        """Another search for those that it may help, by their place."""
        groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
        for at, flags in enumerate(doubts):
            if remedy := guard.remedy(flags, watched=model.watched):
                groups.setdefault(tuple(sorted(remedy.items())), []).append(at)
        found: dict[int, Translation] = {}
        for settings, which in groups.items():
            found |= self.once_more(model, jobs, which, dict(settings))
        return found

    def once_more(
        self, model: Served, jobs: Sequence[Job], which: Sequence[int], settings: Mapping[str, Any]
    ) -> "dict[int, Translation]":
        try:
            return dict(zip(which, self.searched(model, [jobs[at] for at in which], settings), strict=True))
        except InputError:  # with a penalty there may be no way on at all: the first answer stays, of that one alone
            parts = [self.once_more(model, jobs, [at], settings) for at in which] if len(which) > 1 else []
            return {at: one for part in parts for at, one in part.items()}


@dataclass(frozen=True)
class Classify:
    def answers(self, model: Served, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        return [
            {"label": one.label, "probability": one.probability, "probabilities": one.probabilities, "cut": one.cut}
            for one in model.reader.classify([job.text for job in jobs])
        ]


@dataclass(frozen=True, eq=False)
class Alone:
    """A question that shares its batch with nobody."""

    asked: Callable[[Any], Any]
    """From the reader to the answer."""

    def answers(self, model: Served, jobs: Sequence[Job]) -> list[Any]:
        return [self.asked(model.reader) for _ in jobs]
