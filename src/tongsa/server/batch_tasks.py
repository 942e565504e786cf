"""What a worker does with a batch: one frozen dataclass for each question, equal where a batch may be shared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tongsa.errors import InputError
from tongsa.server import answers, output_checks
from tongsa.server.model_pool import LoadedModel
from tongsa.server.queue import QueuedSentence

if TYPE_CHECKING:
    from tongsa.decoding.results import Translation


@dataclass(frozen=True)
class TranslateTask:
    nbest: int = 1
    beam: int | None = None
    glossary_terms: tuple[tuple[str, str], ...] = ()
    """Those that the sentence holds: the others have no say in it."""
    has_prefix: bool = False
    use_engine: bool = False
    """Whether the engine beside torch takes it: a batch must not be moved to torch by one of its sentences."""
    check_outputs: bool = True

    def run(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[dict[str, Any]]:
        found = self.translate(model, sentences, {})
        doubts = [self.find_flags(model, job, best) for job, best in zip(sentences, found, strict=True)]
        again = self.retry(model, sentences, doubts) if self.check_outputs else {}
        told = []
        for at, (job, best) in enumerate(zip(sentences, found, strict=True)):
            flags, retried = doubts[at], False
            if at in again:
                better = self.find_flags(model, job, again[at])
                if len(better) < len(flags):
                    best, flags, retried = again[at], better, True
            one = answers.sentence_response(job.text, best, job.details, has_cross_attention=model.has_cross_attention)
            told.append(one | {"flags": flags, "retried": retried})
        return told

    def translate(
        self, model: LoadedModel, sentences: Sequence[QueuedSentence], settings: Mapping[str, Any]
    ) -> "list[Translation]":
        from tongsa.decoding.glossary import Glossary

        own = model.text_model.config.beam
        found: list[Translation] = model.text_model.translate(
            [job.text for job in sentences],
            nbest=self.nbest,
            prefixes=[job.prefix for job in sentences] if self.has_prefix else (),
            glossary=Glossary.from_pairs(self.glossary_terms) if self.glossary_terms else None,
            **{"beam": self.beam or max(own, self.nbest), **settings},
        )
        return found

    def find_flags(
        self, model: LoadedModel, sentence: QueuedSentence, translation: "Translation"
    ) -> list[output_checks.OutputFlag]:
        seen = output_checks.CheckedOutput(
            sentence.text,
            translation.text,
            len(translation.source_tokens),
            len(translation.tokens),
            model.source_language,
            model.target_language,
        )
        found = output_checks.check_text(seen)
        if (
            model.has_cross_attention
            and output_checks.needs_coverage_check(seen)
            and output_checks.lacks_coverage(translation.alignment[:, :-1].tolist())
        ):
            found.append("coverage")
        return found

    def retry(
        self,
        model: LoadedModel,
        sentences: Sequence[QueuedSentence],
        flags_per_sentence: Sequence[Sequence[output_checks.OutputFlag]],
    ) -> "dict[int, Translation]":
        """Another search for those that it may help, by their place."""
        groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
        for at, flags in enumerate(flags_per_sentence):
            if remedy := output_checks.retry_settings(flags, has_cross_attention=model.has_cross_attention):
                groups.setdefault(tuple(sorted(remedy.items())), []).append(at)
        found: dict[int, Translation] = {}
        for settings, which in groups.items():
            found |= self.retry_group(model, sentences, which, dict(settings))
        return found

    def retry_group(
        self,
        model: LoadedModel,
        sentences: Sequence[QueuedSentence],
        indices: Sequence[int],
        settings: Mapping[str, Any],
    ) -> "dict[int, Translation]":
        try:
            return dict(zip(indices, self.translate(model, [sentences[at] for at in indices], settings), strict=True))
        except InputError:  # with a penalty there may be no way on at all: the first answer stays, of that one alone
            parts = [self.retry_group(model, sentences, [at], settings) for at in indices] if len(indices) > 1 else []
            return {at: one for part in parts for at, one in part.items()}


@dataclass(frozen=True)
class ClassifyTask:
    def run(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[dict[str, Any]]:
        return [
            {"label": one.label, "probability": one.probability, "probabilities": one.probabilities, "cut": one.cut}
            for one in model.text_model.classify([job.text for job in sentences])
        ]


@dataclass(frozen=True, eq=False)
class UnbatchedTask:
    """A question that shares its batch with nobody."""

    function: Callable[[Any], Any]
    """From the reader to the answer."""

    def run(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[Any]:
        return [self.function(model.text_model) for _ in sentences]
