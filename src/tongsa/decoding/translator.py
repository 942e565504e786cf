"""Translator: text in, translations out. The command line, the server, validation and evaluation decode with it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from typing import Any

import numpy as np

from tongsa.batch import Ragged, TokenIds
from tongsa.config import build_config, to_table
from tongsa.data.normalize import normalize
from tongsa.data.sentence_splitter import split_sentences
from tongsa.data.training_profile import TrainingProfile
from tongsa.decoding.batch_search import BatchSearch
from tongsa.decoding.batches import EncodedTexts
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.beams import SearchObserver
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import OutputConstraints, continuing_tokens
from tongsa.decoding.continuations import continuations
from tongsa.decoding.documents import MAX_SENTENCE_TOKENS, Document, require_one_sentence
from tongsa.decoding.engines.engine import Engine
from tongsa.decoding.engines.torch import TorchEngine
from tongsa.decoding.generator import ShallowFusion
from tongsa.decoding.glossary import Glossary, TermRequirement
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation, complete_sentences, join_translations
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.search_plan import explain_no_output
from tongsa.decoding.searched_sentences import SearchedSentences, find_missed_terms, term_quality
from tongsa.decoding.shortlist import Shortlist, missing_shortlist
from tongsa.decoding.term_search import TermSearch
from tongsa.decoding.term_sentence import TermSentence
from tongsa.decoding.text_model import ModelDescription, TextModel, ensure_text, ensure_text_list
from tongsa.decoding.training_comparison import compare_with_training, with_copies
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer

MAX_TOKENS_PER_BYTE = 3
"""Upper bound of the tokens for a byte of UTF-8: normalization and jamo at most triple the bytes."""
EMPTY_TRANSLATION = Translation("", 0.0, 0.0, (), ())


class Translator(TextModel):
    """A sequence-to-sequence model with its tokenizers: `translate` for users, `decode` for other modules."""

    task = "seq2seq"

    def __init__(
        self,
        model: EncoderDecoder,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: Tokenizer,
        config: DecodingConfig,
        *,
        ensemble: Sequence[EncoderDecoder] = (),
        fusion: ShallowFusion | None = None,
        engine: Engine | None = None,
        load_shortlist: Callable[[], Shortlist] = missing_shortlist,
        source_language: str = "",
        profile: TrainingProfile | None = None,
        batch_tokens: int = 4096,
        term_replacement: bool = False,
        info: ModelDescription | None = None,
    ) -> None:
        """`engine` runs the searches that it supports, torch the others; `load_shortlist` is called when needed.

        With the `profile` of the training data, translations tell which input is unlike it.
        With `term_replacement` the terms of a glossary are replaced in the source, which the model has learned.
        """
        super().__init__(
            model, source_tokenizer, target_tokenizer, ensemble=ensemble, batch_tokens=batch_tokens, info=info
        )
        self.config = config
        self.source_language, self.profile = source_language, profile
        self.fusion = fusion
        self.term_replacement = term_replacement
        self.engine = engine if engine and not (ensemble or fusion) else None
        if fusion:
            self.max_positions = min(self.max_positions, fusion.language_model.max_positions)
            fusion.require_tokenizer(target_tokenizer)
        self.torch_engine = TorchEngine(
            self.models,
            self.max_positions,
            cache(load_shortlist),
            cache(lambda: continuing_tokens(target_tokenizer.token_strings(range(len(target_tokenizer))))),
            fusion.language_model.model if fusion else None,
            fusion.weight if fusion else 0.0,
        )
        self.batch_search = BatchSearch(self.engine, self.torch_engine, batch_tokens, len(target_tokenizer))

    @property
    def engine_name(self) -> str:
        """Name of the engine that runs the search where it can."""
        return self.engine.name if self.engine else self.torch_engine.name

    def __call__(self, text: str) -> Translation:
        return self.translate([ensure_text(text)])[0]

    def translate(
        self,
        texts: Iterable[str],
        *,
        nbest: int = 1,
        prefixes: Sequence[str] = (),
        glossary: Glossary | None = None,
        sampling: SamplingConfig | None = None,
        observer: SearchObserver | None = None,
        **settings: float | str | None,
    ) -> list[Translation]:
        """Return a translation for each text, in order; an empty text has an empty translation.

        The sentences of a text are translated one by one, unless `split_sentences` is False. `prefixes` are forced
        beginnings of the outputs; with `sampling` the `nbest` outputs are drawn. `settings` are fields of
        DecodingConfig, such as beam or alpha, that replace those of the model.
        """
        request = DecodeRequest(
            config=self.config_with(settings),
            nbest=nbest,
            prefixes=prefixes,
            glossary=glossary,
            sampling=sampling,
            observer=observer,
        )
        return self.decode(texts, request)

    def config_with(self, settings: Mapping[str, Any]) -> DecodingConfig:
        """Return the model's decoding settings with some replaced; None keeps the value of the model."""
        changes = {name: value for name, value in settings.items() if value is not None}
        return build_config(DecodingConfig, to_table(self.config) | changes, "decoding")

    def decode(self, texts: Iterable[str], request: DecodeRequest) -> list[Translation]:
        """Return a translation for each text, in order."""
        texts = ensure_text_list(texts)
        request.check_texts(texts)
        if not request.config.split_sentences:
            return self._decode_sentences(texts, request)
        tags, texts = zip(*map(self.source_tokenizer.split_tag, texts), strict=True) if texts else ((), ())
        documents = [self.split_text(text) for text in texts]
        if any(request.prefixes):
            require_one_sentence(documents)
        prefixes = [prefix for prefix, document in zip(request.prefixes, documents, strict=False) if document.spans]
        sentences = [  # a tag before a text belongs to each of its sentences
            f"{tag} {sentence}" if tag else sentence
            for tag, document in zip(tags, documents, strict=True)
            for sentence in document.sentences
        ]
        translations = iter(self._decode_sentences(sentences, replace(request, prefixes=prefixes)))
        return [
            join_translations(document, complete_sentences(document, list(islice(translations, len(document.spans)))))
            for document in documents
        ]

    def split_text(self, text: str, max_tokens: int = MAX_SENTENCE_TOKENS) -> Document:
        """Return the sentences of a text; one that is too long for the model, or for `max_tokens`, is split."""
        return self.split_to_fit(Document(text, split_sentences(text, self.source_language)), max_tokens)

    def split_to_fit(self, document: Document, max_tokens: int) -> Document:
        """Split the sentences of a document that are too long for the model, or have more than `max_tokens` tokens."""
        limit = min(max_tokens, self.max_positions - 1)

        def fit(sentences: Sequence[str]) -> list[bool]:
            max_counts = [MAX_TOKENS_PER_BYTE * len(text.encode("utf-8", "surrogatepass")) + 1 for text in sentences]
            uncertain = [i for i, max_count in enumerate(max_counts) if max_count > limit]
            fits = [True] * len(sentences)
            for i, tokens in zip(
                uncertain, self.source_tokenizer.encode_all(sentences[i] for i in uncertain), strict=True
            ):
                fits[i] = len(tokens) <= limit
            return fits

        return document.split_to_fit(fit)

    def _decode_sentences(self, texts: Sequence[str], request: DecodeRequest) -> list[Translation]:
        translations = self.finish(self.search(texts, request))
        tags = (self.source_tokenizer.split_tag(text)[0] for text in texts)
        return [translation.without_tag(tag) for translation, tag in zip(translations, tags, strict=True)]

    def search(
        self, texts: Sequence[str], request: DecodeRequest, source_tokens: Sequence[Sequence[int]] = ()
    ) -> SearchedSentences:
        """Search outputs for sentences; `finish` makes translations of them.

        `source_tokens` are the token ids of the texts, if they are known already.
        """
        request = with_copies(request, texts, self.profile)
        return self._search(texts, request, source_tokens, replaces_terms=self.term_replacement)

    def finish(self, searched: SearchedSentences) -> list[Translation]:
        """Return the translations of the outputs that a search has found."""
        translations = self._to_translations(searched)
        if self.term_replacement:
            self._translate_again(translations, searched.texts, searched.request)
        return translations

    def _translate_again(self, translations: list[Translation], texts: Sequence[str], request: DecodeRequest) -> None:
        """Translate the source as it is where the model did not copy a term, or wrote text after the end."""
        rows = find_missed_terms(translations, texts)
        if not rows:
            return
        prefixes = [request.prefixes[i] for i in rows] if request.prefixes else ()
        again = self._search([texts[i] for i in rows], replace(request, prefixes=prefixes), replaces_terms=False)
        for i, translation in zip(rows, self._to_translations(again), strict=True):
            if term_quality(translation, texts[i]) >= term_quality(translations[i], texts[i]):
                translations[i] = translation

    def _search(
        self,
        texts: Sequence[str],
        request: DecodeRequest,
        source_tokens: Sequence[Sequence[int]] = (),
        *,
        replaces_terms: bool,
    ) -> SearchedSentences:
        requirements: dict[int, tuple[TermRequirement, ...]] = {}
        read_texts = list(texts)
        for i, text in enumerate(texts):
            if request.glossary:
                read_texts[i], requirements[i] = request.glossary.read_source(text, replaces_terms=replaces_terms)
        known_tokens = source_tokens if read_texts == list(texts) else ()
        encoded = self._encode(known_tokens or self.source_tokenizer.encode_all(read_texts), request)
        nbest_lists = self.batch_search.run(encoded, request)
        if failed := {i: encoded.max_lengths[i] for i, nbest_list in nbest_lists.items() if not nbest_list}:
            raise InputError(explain_no_output(request.config, encoded.constraints, failed))
        return SearchedSentences(texts, request, read_texts, requirements, encoded, nbest_lists)

    def _to_translations(self, searched: SearchedSentences) -> list[Translation]:
        texts, request, encoded = searched.texts, searched.request, searched.encoded
        sentences = searched.term_sentences()
        self._search_terms(list(sentences.values()), request)
        translations = [replace(EMPTY_TRANSLATION, source=text) for text in texts]
        nbest_lists = dict(searched.nbest_lists) | {i: sentence.hypotheses for i, sentence in sentences.items()}
        outputs = iter(self._decode_outputs(chain.from_iterable(nbest_lists.values())))
        for i, hypotheses in nbest_lists.items():
            truncated = bool(encoded.tokens.lengths[i] >= self.max_positions)
            nbest = list(islice(outputs, len(hypotheses)))
            translation = self._to_translation(encoded.source(i), nbest, truncated=truncated, terms=sentences.get(i))
            is_sampled = bool(request.sampling)
            translations[i] = compare_with_training(translation, texts[i], self.profile, sampled=is_sampled)
        return translations

    def _encode(self, sources: Sequence[Sequence[int]], request: DecodeRequest) -> EncodedTexts:
        tokens = Ragged(sources)
        lengths = np.minimum(tokens.lengths + 1, self.max_positions)
        max_lengths = np.minimum(lengths + request.config.max_extra_tokens, self.max_positions - 1).tolist()
        prefixes = self.target_tokenizer.encode_all(map(normalize, request.prefixes))
        constraints = [OutputConstraints(tuple(prefix)) for prefix in prefixes] if any(prefixes) else []
        return EncodedTexts(tokens, lengths, max_lengths, constraints)

    def _search_terms(self, sentences: Sequence[TermSentence], request: DecodeRequest) -> None:
        """Put the terms of a glossary into the translations."""
        if request.sampling:
            for sentence in sentences:
                sentence.skip_all("samples are drawn without constraints. Leave out --sample (in Python, sampling).")
            return

        def search(
            sources: Sequence[Sequence[int]], constraints: Sequence[OutputConstraints]
        ) -> list[list[Hypothesis]]:
            outputs = self.batch_search.run(EncodedTexts.from_tokens(sources, constraints), request)
            return [outputs[i] for i in range(len(sources))]

        TermSearch(
            request.config,
            self.source_tokenizer,
            self.target_tokenizer,
            search,
            self.score_tokens,
            nbest=request.nbest,
            always_search=bool(self.fusion) or not request.config.supports_continuous_batching,
        ).run(sentences)

    def alternatives(
        self, text: str, prefix: str = "", *, count: int = 5, glossary: Glossary | None = None, **settings: float | str
    ) -> list[Translation]:
        """Return continuations of a prefix: the best output after each of the `count` likeliest next tokens.

        If EOS is among them, one of the continuations is the prefix itself.
        Terms of the glossary are put in after the prefix; of continuations that become equal, one is returned.
        """
        request, prefix = DecodeRequest(config=self.config_with(settings)), normalize(prefix)
        text, requirements = (glossary or Glossary()).read_source(text, replaces_terms=self.term_replacement)
        source = Ragged(self.source_tokenizer.encode_all([text]))[0][: self.max_positions - 1]
        prefix_tokens = self.target_tokenizer.encode_all([prefix])[0]
        nbest_lists = continuations(self.torch_engine, source, prefix_tokens, request, count)
        max_length = min(len(source) + 1 + request.config.max_extra_tokens, self.max_positions - 1)
        sentences = [
            TermSentence(text, source.tolist(), max_length, requirements, nbest_list[:1], prefix)
            for nbest_list in nbest_lists
        ]
        if requirements:
            self._search_terms(sentences, request)
        outputs = self._decode_outputs(sentence.hypotheses[0] for sentence in sentences)
        texts = [text for _, text in outputs]
        return [
            self._to_translation(source, [output], truncated=False, terms=sentence)
            for i, (sentence, output) in enumerate(zip(sentences, outputs, strict=True))
            if not requirements or texts[i] not in texts[:i]
        ]

    def _decode_outputs(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, str]]:
        """Return hypotheses with their texts."""
        outputs = list(hypotheses)
        return list(zip(outputs, self.target_tokenizer.decode_all(output.tokens for output in outputs), strict=True))

    def _to_translation(
        self,
        source_tokens: TokenIds,
        nbest: Sequence[tuple[Hypothesis, str]],
        *,
        truncated: bool,
        terms: TermSentence | None = None,
    ) -> Translation:
        """Return the first hypothesis as a translation, with the others as its alternatives."""
        (hypothesis, text), *others = nbest
        source = tuple(source_tokens.tolist())
        token_log_probs, log_prob = hypothesis.token_log_probs, hypothesis.log_prob
        if self.fusion:  # the search added the language model's log-probabilities: score again without them
            token_log_probs = self._token_log_probs(source, hypothesis.tokens)
            log_prob = sum(token_log_probs)
        return Translation(
            text=text,
            score=hypothesis.score,
            log_prob=log_prob,
            tokens=tuple(self.target_tokenizer.token_strings(hypothesis.tokens)),
            source_tokens=tuple(self.source_tokenizer.token_strings(source)),
            _token_log_probs=tuple(token_log_probs),
            terms=terms.results(text) if terms else (),
            truncated=truncated,
            alternatives=tuple(
                self._to_translation(source_tokens, [other], truncated=truncated, terms=terms) for other in others
            ),
            _token_ids=(source, tuple(hypothesis.tokens)),
            _attention_fn=self.attention,
            _score_fn=self._token_log_probs,
        )

    def _token_log_probs(self, source: Sequence[int], target: Sequence[int]) -> list[float]:
        """Return the log-probability of each target token given the source, EOS last, without a language model."""
        return self.score_tokens([(source, target)])[0]
