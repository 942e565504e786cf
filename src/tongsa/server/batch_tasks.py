"""Work of a model's thread on a batch: translate with output checks, classify, or one unbatched function.

A task is a frozen dataclass; sentences with equal tasks share a batch. This file also turns a translation into the
fields of a response: spans are counted in characters, words are what white space separates.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tongsa.data.normalize import normalize
from tongsa.errors import InputError
from tongsa.server import output_checks
from tongsa.server.model_pool import LoadedModel
from tongsa.server.output_checks import OutputFlag
from tongsa.server.queue import QueuedSentence
from tongsa.tokenization.words import SPACE_MARK, decode_word, word_starts

if TYPE_CHECKING:
    from tongsa.decoding.glossary import TermResult
    from tongsa.decoding.results import Translation

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
    """The fast engine accepts the sentence. One long sentence must not move its whole batch to torch."""
    check_outputs: bool = True

    def run(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[dict[str, Any]]:
        """Translate; search again where an output check fails; keep the second output if it fails fewer checks."""
        translations = self.translate(model, sentences, {})
        flags = [find_flags(model, *pair) for pair in zip(sentences, translations, strict=True)]
        retries = self.retry(model, sentences, flags) if self.check_outputs else {}
        responses = []
        for i, sentence in enumerate(sentences):
            translation, sentence_flags, retried = translations[i], flags[i], False
            if i in retries:
                new_flags = find_flags(model, sentence, retries[i])
                if len(new_flags) < len(sentence_flags):
                    translation, sentence_flags, retried = retries[i], new_flags, True
            response = sentence_response(
                sentence.text, translation, sentence.details, has_cross_attention=model.has_cross_attention
            )
            responses.append(response | {"flags": sentence_flags, "retried": retried})
        return responses

    def translate(
        self, model: LoadedModel, sentences: Sequence[QueuedSentence], settings: Mapping[str, Any]
    ) -> "list[Translation]":
        from tongsa.decoding.glossary import Glossary
        from tongsa.decoding.request import DecodeRequest

        beam = self.beam or max(model.text_model.config.beam, self.nbest)
        request = DecodeRequest(
            config=model.text_model.config_with({"beam": beam, "split_sentences": False, **settings}),
            nbest=self.nbest,
            prefixes=[sentence.prefix for sentence in sentences] if self.has_prefix else (),
            glossary=Glossary.from_pairs(self.glossary_terms) if self.glossary_terms else None,
        )
        translations: list[Translation] = model.text_model.decode([sentence.text for sentence in sentences], request)
        return translations

    def retry(
        self,
        model: LoadedModel,
        sentences: Sequence[QueuedSentence],
        flags_per_sentence: Sequence[Sequence[OutputFlag]],
    ) -> "dict[int, Translation]":
        """Search again where other settings may help. Return index of the sentence → new translation."""
        groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
        for i, flags in enumerate(flags_per_sentence):
            if settings := output_checks.retry_settings(flags, has_cross_attention=model.has_cross_attention):
                groups.setdefault(tuple(sorted(settings.items())), []).append(i)
        retries: dict[int, Translation] = {}
        for group_settings, indices in groups.items():
            retries |= self.retry_group(model, sentences, indices, dict(group_settings))
        return retries

    def retry_group(
        self,
        model: LoadedModel,
        sentences: Sequence[QueuedSentence],
        indices: Sequence[int],
        settings: Mapping[str, Any],
    ) -> "dict[int, Translation]":
        try:
            return dict(zip(indices, self.translate(model, [sentences[i] for i in indices], settings), strict=True))
        except InputError:  # with a penalty a sentence may have no output: only that one keeps its first
            parts = [self.retry_group(model, sentences, [i], settings) for i in indices] if len(indices) > 1 else []
            return {i: translation for part in parts for i, translation in part.items()}


@dataclass(frozen=True)
class ClassifyTask:
    def run(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[dict[str, Any]]:
        return [
            {"label": result.label, "probability": result.probability} | result.details
            for result in model.text_model.classify([sentence.text for sentence in sentences])
        ]


@dataclass(frozen=True, eq=False)
class UnbatchedTask:
    """A task that never shares a batch."""

    function: Callable[[Any], Any]
    """Function from the text model to the response."""

    def run(self, model: LoadedModel, sentences: Sequence[QueuedSentence]) -> list[Any]:
        return [self.function(model.text_model) for _ in sentences]


def find_flags(model: LoadedModel, sentence: QueuedSentence, translation: "Translation") -> list[OutputFlag]:
    output = output_checks.CheckedOutput(
        sentence.text,
        translation.text,
        len(translation.source_tokens),
        len(translation.tokens),
        model.source_language,
        model.target_language,
    )
    flags = output_checks.check_text(output)
    if (
        model.has_cross_attention
        and output_checks.needs_coverage_check(output)
        and output_checks.lacks_coverage(translation.alignment[:, :-1].tolist())
    ):
        flags.append("coverage")
    return flags


def sentence_response(
    source: str, translation: "Translation", details: frozenset[str], *, has_cross_attention: bool
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
    if ALIGNMENTS in details and has_cross_attention:
        response["alignment"] = word_alignment(source, translation)
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


def word_alignment(source: str, translation: "Translation") -> dict[str, Any]:
    source_spans, target_spans = word_spans(source), word_spans(translation.text)
    source_words = words_of_tokens(translation.source_tokens, len(source_spans))
    target_words = words_of_tokens(translation.tokens, len(target_spans))
    links = {
        (source_word, target_word)
        for i, j in translation.word_alignment
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
