"""Work of a model's thread on a batch: translate with output checks, classify, or one unbatched function.

A task is a frozen dataclass; sentences with equal tasks share a batch. This file also turns a translation into the
fields of a response: spans are counted in characters, words are what white space separates.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tongsa.data.normalize import normalize
from tongsa.server import output_checks
from tongsa.server.model_pool import LoadedModel
from tongsa.server.output_checks import OutputFlag
from tongsa.server.queued_sentence import QueuedSentence, SearchAgain
from tongsa.tokenization.words import SPACE_MARK, decode_word, word_starts

if TYPE_CHECKING:
    from tongsa.decoding.glossary import TermResult
    from tongsa.decoding.results import Translation
    from tongsa.decoding.searched_sentences import SearchedSentences
    from tongsa.decoding.text_classifier import Classification
    from tongsa.decoding.text_model import Matrix
    from tongsa.decoding.translator import Translator

ALIGNMENTS, WORD_PROBABILITIES, TOKEN_PROBABILITIES = DETAILS = (
    "alignments",
    "word_probabilities",
    "token_probabilities",
)
"""Optional fields of a translated sentence, by the names of the request's fields."""
UNK_TOKEN = "<unk>"  # noqa: S105 - not a password
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class TranslateTask:
    nbest: int = 1
    beam: int | None = None
    glossary_terms: tuple[tuple[str, str], ...] = ()
    """Terms (source, target) that occur in the sentence; others would only prevent sharing a batch."""
    has_prefix: bool = False
    use_engine: bool = False
    """The fast engine alone serves the sentence. One long sentence must not move its whole batch to torch."""
    check_outputs: bool = True
    """Search again where a check fails."""
    retry_settings: tuple[tuple[str, Any], ...] = ()
    """Decoding settings of a second search, after an output that failed a check."""

    @property
    def uses_all_threads(self) -> bool:
        if self.retry_settings:  # of one sentence after a faulty output: it must not stop all workers
            return False
        return bool(not self.use_engine or self.has_prefix or self.glossary_terms)

    def search(
        self, model: LoadedModel, sentences: Sequence[QueuedSentence]
    ) -> "SearchedSentences | list[Translation]":
        """Search. With a glossary also make the translations, because that is another search."""
        from tongsa.decoding.glossary import Glossary
        from tongsa.decoding.request import DecodeRequest

        beam = self.beam or max(model.text_model.config.beam, self.nbest)
        settings = {"beam": beam, "split_sentences": False, **dict(self.retry_settings)}
        request = DecodeRequest(
            config=model.text_model.config_with(settings),
            nbest=self.nbest,
            prefixes=[sentence.prefix for sentence in sentences] if self.has_prefix else (),
            glossary=Glossary.from_pairs(self.glossary_terms) if self.glossary_terms else None,
        )
        translator: Translator = model.text_model
        tokens = [sentence.source_tokens for sentence in sentences]
        searched = translator.search([sentence.text for sentence in sentences], request, tokens if all(tokens) else ())
        return translator.finish(searched) if searched.needs_term_search else searched

    def finish(
        self,
        model: LoadedModel,
        sentences: Sequence[QueuedSentence],
        outputs: "SearchedSentences | list[Translation]",
    ) -> list[Any]:
        """Return the responses; search again where an output check fails and other settings may help."""
        translations = outputs if isinstance(outputs, list) else model.text_model.finish(outputs)
        alignments = find_alignments(model, sentences, translations)
        results = []
        for i, (sentence, translation) in enumerate(zip(sentences, translations, strict=True)):
            flags = find_flags(model, sentence, translation, alignments.get(i))
            response = sentence_response(sentence.text, translation, sentence.details, alignments.get(i))
            results.append(self._choose(model, sentence, response | {"flags": flags, "retried": False}))
        return results

    def _choose(self, model: LoadedModel, sentence: QueuedSentence, response: dict[str, Any]) -> Any:
        """Return the response, another search, or the response of the first search if it fails fewer checks."""
        if self.retry_settings:
            is_better = len(response["flags"]) < len(sentence.fallback["flags"])
            return response | {"retried": True} if is_better else sentence.fallback
        settings = output_checks.retry_settings(response["flags"], has_cross_attention=model.has_cross_attention)
        if not settings or not self.check_outputs:
            return response
        return SearchAgain(replace(self, retry_settings=tuple(sorted(settings.items()))), fallback=response)


@dataclass(frozen=True)
class ClassifyTask:
    uses_all_threads = True

    def search(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> "list[Classification]":
        results: list[Classification] = model.text_model.classify([sentence.text for sentence in sentences])
        return results

    def finish(
        self, _: LoadedModel, sentences: Sequence[QueuedSentence], outputs: "list[Classification]"
    ) -> list[dict[str, Any]]:
        return [
            {"label": result.label, "probability": result.probability} | result.details
            for _, result in zip(sentences, outputs, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class UnbatchedTask:
    """A task that never shares a batch."""

    function: Callable[[Any], Any]
    """Function from the text model to the response."""
    uses_all_threads = True

    def search(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[Any]:
        return [self.function(model.text_model) for _ in sentences]

    def finish(self, _: LoadedModel, __: Sequence[QueuedSentence], outputs: list[Any]) -> list[Any]:
        return outputs


def find_alignments(
    model: LoadedModel, sentences: Sequence[QueuedSentence], translations: "Sequence[Translation]"
) -> "dict[int, Matrix]":
    """Return the alignments that a check or a response needs, by index; all are computed together."""
    if not model.has_cross_attention:
        return {}
    indices = [
        i
        for i, (sentence, translation) in enumerate(zip(sentences, translations, strict=True))
        if ALIGNMENTS in sentence.details
        or output_checks.needs_coverage_check(checked_output(model, sentence, translation))
    ]
    alignments = model.text_model.alignments([translations[i].token_ids for i in indices])
    return dict(zip(indices, alignments, strict=True))


def checked_output(
    model: LoadedModel, sentence: QueuedSentence, translation: "Translation"
) -> output_checks.CheckedOutput:
    return output_checks.CheckedOutput(
        sentence.text,
        translation.text,
        len(translation.source_tokens),
        len(translation.tokens),
        model.source_language,
        model.target_language,
    )


def find_flags(
    model: LoadedModel, sentence: QueuedSentence, translation: "Translation", alignment: "Matrix | None"
) -> list[OutputFlag]:
    output = checked_output(model, sentence, translation)
    flags = output_checks.check_text(output)
    if (
        alignment is not None
        and output_checks.needs_coverage_check(output)
        and output_checks.lacks_coverage(alignment[:, :-1].tolist())
    ):
        flags.append("coverage")
    return flags


def sentence_response(
    source: str, translation: "Translation", details: frozenset[str], alignment: "Matrix | None"
) -> dict[str, Any]:
    """Return the fields of a translated sentence, except for its position in the text."""
    # read once: with the fast engine they are computed when they are read
    log_probs = translation.token_log_probs if details & {WORD_PROBABILITIES, TOKEN_PROBABILITIES} else ()
    response: dict[str, Any] = {
        "source": source,
        "text": translation.text,
        "score": translation.score,
        "confidence": confidence(translation),
        "alternatives": [alternative_response(alternative, details) for alternative in translation.alternatives],
        "truncated": translation.truncated,
    } | translation.input_warnings
    if ALIGNMENTS in details and alignment is not None:
        response["alignment"] = word_alignment(source, translation, alignment)
    if WORD_PROBABILITIES in details:
        response["words"] = word_probabilities(translation, log_probs)
    if TOKEN_PROBABILITIES in details:
        response["tokens"] = token_probabilities(translation, log_probs)
    if translation.terms:
        response["terms"] = [term_response(result) for result in translation.terms]
    return response


def alternative_response(translation: "Translation", details: frozenset[str]) -> dict[str, Any]:
    response: dict[str, Any] = {"text": translation.text, "score": translation.score}
    if TOKEN_PROBABILITIES in details:
        response["tokens"] = token_probabilities(translation, translation.token_log_probs)
    return response


def term_response(result: "TermResult") -> dict[str, Any]:
    response: dict[str, Any] = {
        "source": result.term.source,
        "target": result.term.target,
        "text": result.text,
        "expected": result.expected,
        "occurrences": result.occurrences,
        "satisfied": result.satisfied,
        "in_place": result.in_place,
    }
    return response | ({"skipped_reason": result.skipped_reason} if result.skipped_reason else {})


def token_probabilities(translation: "Translation", token_log_probs: Sequence[float]) -> list[dict[str, Any]]:
    """Return each token with its probability, </s> last; an empty source has none."""
    tokens = [*translation.tokens, "</s>"] if token_log_probs else []
    return [
        {"token": token, "probability": math.exp(log_prob)}
        for token, log_prob in zip(tokens, token_log_probs, strict=True)
    ]


def confidence(translation: "Translation") -> float:
    """Return the geometric mean of the token probabilities, </s> included."""
    return math.exp(min(0.0, translation.log_prob / (len(translation.tokens) + 1)))


def word_alignment(source: str, translation: "Translation", alignment: "Matrix") -> dict[str, Any]:
    source_spans, target_spans = word_spans(source), word_spans(translation.text)
    source_words = words_of_tokens(translation.source_tokens, len(source_spans))
    target_words = words_of_tokens(translation.tokens, len(target_spans))
    links = {
        (source_word, target_word)
        for i, j in (translation.align_words(alignment) if translation.tokens else ())
        for source_word in source_words[i]
        for target_word in target_words[j]
    }
    return {"source": source_spans, "target": target_spans, "links": sorted(links)}


def word_probabilities(translation: "Translation", token_log_probs: Sequence[float]) -> list[dict[str, Any]]:
    """Return for each word the probability of its least likely token."""
    spans = word_spans(translation.text)
    lowest = [0.0] * len(spans)
    token_groups = pairwise([*word_starts(translation.tokens), len(translation.tokens)])
    for words, (begin, end) in zip(words_of_tokens(translation.tokens, len(spans)), token_groups, strict=True):
        for word in words:
            lowest[word] = min(lowest[word], *token_log_probs[begin:end])
    return [
        {"start": start, "end": end, "probability": math.exp(log_prob)}
        for (start, end), log_prob in zip(spans, lowest, strict=True)
    ]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word as the tokenizer sees it: a run of invisible characters is no word."""
    return [match.span() for match in _WORD.finditer(text) if normalize(match[0])]


def words_of_tokens(tokens: Sequence[str], word_count: int) -> list[range]:
    """Return the indices of the words of each token group. A group starts at a token with a leading space.

    A group is one word, or none if it is only a space. With <unk>, which is written between spaces, it is several.
    """
    words, first = [], 0
    for begin, end in pairwise([*word_starts(tokens), len(tokens)]):
        written = [
            part
            for token in tokens[begin:end]
            for part in ((SPACE_MARK, token, SPACE_MARK) if token == UNK_TOKEN else (token,))
        ]
        last = first + len(decode_word(written).replace(SPACE_MARK, " ").split())
        words.append(range(min(first, word_count), min(last, word_count)))
        first = last
    return words
