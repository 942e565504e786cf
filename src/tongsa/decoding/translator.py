"""Translator: text in, translations out. The command line, the server, validation and evaluation decode with it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tongsa.batch import Examples, Indices, Padded, Ragged, append_eos, pad
from tongsa.config import build_config, to_table
from tongsa.data.normalize import normalize
from tongsa.decoding.batches import Capacity, EncodedTexts, SearchBatch, assign_to_threads, make_batches
from tongsa.decoding.beam_search import Hypothesis
from tongsa.decoding.beams import SearchObserver
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.constraints import OutputConstraints
from tongsa.decoding.continuous_batching import BATCHES_PER_CAPACITY
from tongsa.decoding.engines.engine import Engine, supports_all
from tongsa.decoding.engines.torch import TorchEngine
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.glossary import Glossary, OutputLimits, TermConstraint, constraint_phrases, term_constraints
from tongsa.decoding.request import DecodeRequest
from tongsa.decoding.results import Translation
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.search_plan import explain_no_output
from tongsa.decoding.shortlist import Shortlist
from tongsa.decoding.text_model import ModelDescription, TextModel, ensure_text_list
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.special import EOS
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.torch_threads import parallel_map

EMPTY_TRANSLATION = Translation("", 0.0, 0.0, (), ())


@dataclass(frozen=True)
class ShallowFusion:
    """A language model whose log-probabilities are added to the translation model's, with this weight."""

    language_model: TextGenerator
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"--lm-weight {self.weight}: must be 0 or more. Try 0.2.")


def missing_shortlist() -> Shortlist:
    """Raise InputError: a model that was not loaded from a folder has no shortlist."""
    raise InputError("shortlist: this model has none. Save the model, run tongsa shortlist, and load it again.")


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
        batch_tokens: int = 4096,
        info: ModelDescription | None = None,
    ) -> None:
        """`engine` runs the searches that it supports, torch the others; `load_shortlist` is called when needed."""
        super().__init__(
            model, source_tokenizer, target_tokenizer, ensemble=ensemble, batch_tokens=batch_tokens, info=info
        )
        self.config = config
        self.fusion = fusion
        self.engine = engine if engine and not (ensemble or fusion) else None
        if fusion:
            self.max_positions = min(self.max_positions, fusion.language_model.max_positions)
            if fusion.language_model.target_tokenizer.model_bytes != target_tokenizer.model_bytes:
                raise InputError(
                    "--lm: the language model has another tokenizer. "
                    "Train it with --set tokenizer.reuse_from=RUN, where RUN is the run of the translation model."
                )
        self.torch_engine = TorchEngine(
            self.models,
            self.max_positions,
            cache(load_shortlist),
            fusion.language_model.model if fusion else None,
            fusion.weight if fusion else 0.0,
        )

    def __call__(self, text: str) -> Translation:
        return self.translate([text])[0]

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

        `prefixes` are forced beginnings of the outputs; with `sampling` the `nbest` outputs are drawn. `settings` are
        fields of DecodingConfig, such as beam or alpha, that replace those of the model.
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
        encoded = self._encode(texts, request)
        # one thread: an observer sees one step at a time, and the same seed draws the same samples
        one_thread = bool(request.sampling or request.observer) or self.device.type != "cpu"
        threads = 1 if one_thread else torch.get_num_threads()
        unconstrained = not (request.sampling or request.observer or encoded.constraints)
        batches = self._make_batches(encoded, request, threads, unconstrained=unconstrained)
        if self.engine and unconstrained:
            search = partial(self._search_with_engine, request=request)
        else:
            sampler = request.sampling.build() if request.sampling else None
            search = partial(self.torch_engine.decode, request=request, sampler=sampler)
        translations = [EMPTY_TRANSLATION] * len(texts)
        for batch, nbest_lists in zip(batches, parallel_map(search, batches, threads), strict=True):
            if not all(nbest_lists):
                max_lengths = {int(i): encoded.max_lengths[i] for i in batch.indices}
                raise InputError(explain_no_output(request.config, encoded.constraints, max_lengths))
            for i, hypotheses in zip(batch.indices.tolist(), nbest_lists, strict=True):
                truncated = bool(encoded.tokens.lengths[i] >= self.max_positions)
                translations[i] = self._to_translation(
                    encoded.source(i), hypotheses, truncated=truncated, terms=encoded.terms.get(i, ())
                )
        return translations

    def _encode(self, texts: Sequence[str], request: DecodeRequest) -> EncodedTexts:
        tokens = Ragged(self.source_tokenizer.encode_all(texts))
        lengths = np.minimum(tokens.lengths + 1, self.max_positions)
        max_lengths = np.minimum(lengths + request.config.max_extra_tokens, self.max_positions - 1).tolist()
        prefixes: Sequence[Sequence[int]] = [()] * len(texts)
        if request.prefixes:
            prefixes = self.target_tokenizer.encode_all(map(normalize, request.prefixes))
        terms: dict[int, list[TermConstraint]] = {}
        for i, text in enumerate(texts if request.glossary else ()):
            limits = OutputLimits(prefixes[i], max_lengths[i], request.config.no_repeat_ngram)
            if constraints := self._term_constraints(text, limits, request):
                terms[i] = constraints
        if not terms and not any(map(len, prefixes)):
            return EncodedTexts(tokens, lengths, max_lengths, [], terms)
        output_constraints = [
            OutputConstraints(tuple(prefix), constraint_phrases(terms.get(i, ()))) for i, prefix in enumerate(prefixes)
        ]
        return EncodedTexts(tokens, lengths, max_lengths, output_constraints, terms)

    def _term_constraints(self, text: str, limits: OutputLimits, request: DecodeRequest) -> list[TermConstraint]:
        requirements = request.glossary.requirements(normalize(text)) if request.glossary else ()
        if not requirements:
            return []
        tokens = self.target_tokenizer.encode_all([requirement.text for requirement in requirements])
        if request.sampling:
            reason = "samples are drawn without constraints. Leave out --sample."
            return [
                TermConstraint(requirement, tuple(run), 0, reason)
                for requirement, run in zip(requirements, tokens, strict=True)
            ]
        return term_constraints(requirements, tokens, limits)

    def _make_batches(
        self, encoded: EncodedTexts, request: DecodeRequest, threads: int, *, unconstrained: bool
    ) -> list[SearchBatch]:
        """Make batches of texts sorted by length, so that they have little padding. Empty texts are left out."""
        lengths, config = encoded.lengths, request.config
        order = np.argsort(-lengths, kind="stable")
        order = order[encoded.tokens.lengths[order] > 0]
        candidates_per_sentence = max(config.beam, request.nbest) * len(self.target_tokenizer)
        capacity = Capacity.for_candidates(self.batch_tokens, candidates_per_sentence)
        groups: list[list[Indices]]
        if self.engine and unconstrained and supports_all(self.engine, lengths[order], config):
            groups = [[order]]  # the engine makes batches itself
        elif (
            not self.engine
            and unconstrained
            and config.supports_continuous_batching
            and self.device.type == "cpu"  # not measured on other devices
        ):
            small = make_batches(lengths, order, capacity.divide(BATCHES_PER_CAPACITY), threads=threads)
            groups = assign_to_threads(small, lengths, threads)
        else:
            groups = [[batch] for batch in make_batches(lengths, order, capacity, threads=threads)]
        return [encoded.batch(group, capacity) for group in groups]

    def _search_with_engine(self, batch: SearchBatch, request: DecodeRequest) -> list[list[Hypothesis]]:
        (source,) = batch.pad(self.device)
        return self.search(source, request.config, request.nbest)

    def search(self, source: Padded, config: DecodingConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        """Return the best `nbest` hypotheses of each sentence; torch searches what the engine does not support."""
        if not (self.engine and self.engine.supports(source, config)):
            return self.torch_engine.search(source, config, nbest)
        hypotheses = self.engine.search(source, config, nbest)
        if rows := [row for row, nbest_list in enumerate(hypotheses) if not nbest_list]:
            for row, by_torch in zip(rows, self.torch_engine.search(source.select(rows), config, nbest), strict=True):
                hypotheses[row] = by_torch
        return hypotheses

    @torch.inference_mode()
    def alternatives(
        self, text: str, prefix: str = "", *, count: int = 5, **settings: float | str
    ) -> list[Translation]:
        """Return continuations of a prefix: the best output after each of the `count` likeliest next tokens.

        If EOS is among them, one of the continuations is the prefix itself.
        """
        request = DecodeRequest(config=self.config_with(settings))
        source = Ragged(self.source_tokenizer.encode_all([text]))[0][: self.max_positions - 1]
        prefix_tokens = self.target_tokenizer.encode_all([normalize(prefix)])[0]
        max_length = min(len(source) + 1 + request.config.max_extra_tokens, self.max_positions - 1)
        if not len(source) or len(prefix_tokens) > max_length:
            return []
        scores = self.torch_engine.next_token_scores(pad([append_eos(source)]), prefix_tokens, request.config)
        if not prefix_tokens:
            scores[EOS] = -torch.inf  # an empty output is not a continuation
        if len(prefix_tokens) == max_length:
            scores[EOS + 1 :] = -torch.inf
        likeliest = scores.topk(min(count, len(scores)))
        prefixes = [(*prefix_tokens, int(token)) for score, token in zip(*likeliest, strict=True) if score > -torch.inf]
        if not prefixes:
            return []
        constraints = [OutputConstraints(tokens) for tokens in prefixes]
        batch = SearchBatch([[append_eos(source)] * len(prefixes)], constraints=constraints)
        nbest_lists = self.torch_engine.decode(batch, request)
        return [self._to_translation(source, hypotheses[:1], truncated=False) for hypotheses in nbest_lists]

    def _to_translation(
        self,
        source_tokens: NDArray[np.int32],
        hypotheses: Sequence[Hypothesis],
        *,
        truncated: bool,
        terms: Sequence[TermConstraint] = (),
    ) -> Translation:
        """Return the first hypothesis as a translation, with the others as its alternatives."""
        hypothesis, *others = hypotheses
        source, text = tuple(source_tokens.tolist()), self.target_tokenizer.decode(hypothesis.tokens)
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
            terms=tuple(term.check(text) for term in terms),
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
        batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0])).to(self.device)
        with torch.inference_mode():
            log_probs = self._log_probs(batch)  # (batch, length, token)
            target_log_probs: list[float] = log_probs.gather(2, batch.target.tokens.unsqueeze(2)).flatten().tolist()
        return target_log_probs
