"""Text in, text out: every score and every translation of a model goes through here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.batch import Examples, Indices, Padded, Ragged, append_eos, pad
from tongsa.config import build_config, to_table
from tongsa.data.normalize import normalize
from tongsa.decoding.batches import Capacity, assign_to_threads, make_batches
from tongsa.decoding.beam_search import Hypothesis, beam_search
from tongsa.decoding.beams import SearchObserver
from tongsa.decoding.call import TextRequests, constraint_phrases, no_output_reason
from tongsa.decoding.config import DecodingConfig
from tongsa.decoding.continuous_batching import BATCHES_PER_CAPACITY, ContinuousBatcher
from tongsa.decoding.engines.engine import Engine, supports_all
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.glossary import Glossary, TermRequirement
from tongsa.decoding.promises import OutputLimits, TermConstraint, term_constraints
from tongsa.decoding.request import EMPTY_REQUEST, DecodeRequest, decode, next_token_scores
from tongsa.decoding.results import Translation
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import (
    CombinedState,
    Scorer,
    decoder_scorer,
    ensemble_scorer,
    shallow_fusion_scorer,
    subset_scorer,
)
from tongsa.decoding.shortlist import Shortlist
from tongsa.decoding.text_model import TextModel, ensure_text_list
from tongsa.errors import InputError
from tongsa.interface import DecoderState, EncoderDecoder
from tongsa.tokenization.special import EOS
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.torch_threads import parallel_map

MAX_SAMPLES_PER_TEXT = 1000
"""Draws of one text in one call."""


@dataclass(frozen=True)
class ShallowFusion:
    """A language model that has a say in the search, with this weight."""

    language_model: TextGenerator
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"the language model's weight {self.weight} is not a number from 0 up; try 0.2")


def missing_shortlist() -> Shortlist:
    """A model that is not on disk yet has no list beside it."""
    raise InputError("shortlist: this model has none; save it, make one with tongsa shortlist, and load it again")


class Translator(TextModel):
    """`Translator.translate` is what the command line, validation and evaluation call."""

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
    ) -> None:
        """`engine` does what it can of the searching; torch does the rest. `shortlist` is read when it is asked for."""
        super().__init__(model, source_tokenizer, target_tokenizer, ensemble=ensemble, batch_tokens=batch_tokens)
        self.config = config
        self.fusion = fusion
        self.engine = engine if engine and not (ensemble or fusion) else None
        self.load_shortlist = cache(load_shortlist)
        if fusion:
            self.max_positions = min(self.max_positions, fusion.language_model.max_positions)
        if fusion and fusion.language_model.target_tokenizer.model_bytes != target_tokenizer.model_bytes:
            raise InputError(
                "the language model has other pieces than this one: train it with --set tokenizer.reuse_from=RUN (this run)"
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
        """One translation for each text, in order; an empty text gives an empty one.

        `prefixes` say how each begins; with `sampling` the `nbest` are drawn. `settings` are those of SearchConfig that
        shall differ from the model's own, such as beam or alpha.
        """
        texts = ensure_text_list(texts)
        prefixes = ensure_text_list(prefixes)
        if prefixes and len(prefixes) != len(texts):
            raise InputError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one for each, or none")
        begun = self.target_tokenizer.encode_all(map(normalize, prefixes)) if prefixes else [[]] * len(texts)
        asked = TextRequests(
            nbest=nbest,
            prefixes=begun,
            requirements=[glossary.requirements(normalize(text)) if glossary else () for text in texts],
            shared=DecodeRequest(sampler=sampling.build() if sampling else None, observer=observer),
        )
        answers = dict(self._decode_texts(texts, self._request_config(settings, nbest, sampled=bool(sampling)), asked))
        return [answers[at] for at in range(len(texts))]

    @torch.inference_mode()
    def alternatives(
        self, text: str, prefix: str = "", *, count: int = 5, **settings: float | str
    ) -> list[Translation]:
        """Other ways to go on after a beginning: the likeliest next pieces, each with the best output from there on.

        Where the end is among the likeliest, one of them is the beginning itself, and nothing behind it.
        """
        source = Ragged(self.source_tokenizer.encode_all([text]))[0][: self.max_positions - 1]
        begun = self.target_tokenizer.encode_all([normalize(prefix)])[0]
        config = self._request_config(settings, 1)
        left = min(len(source) + 1 + config.max_extra_tokens, self.max_positions - 1) - len(begun)
        if not len(source) or left < 0:
            return []
        state = self._start(pad([append_eos(source)]).to(self.device))
        merits = next_token_scores(
            self._scorer, state, torch.tensor(begun, dtype=torch.long, device=self.device), config
        )
        if not begun:
            merits[EOS] = -torch.inf  # an empty output is no way to go on
        if not left:
            merits[EOS + 1 :] = -torch.inf
        likeliest = merits.topk(min(count, len(merits)))
        rows = [[*begun, int(piece)] for merit, piece in zip(*likeliest, strict=True) if merit > -torch.inf]
        found = (
            self.search(pad([append_eos(source)] * len(rows)), config, 1, DecodeRequest(prefixes=rows)) if rows else []
        )
        return [self._to_translation(source, best, truncated=False) for best, *_ in found]

    def _request_config(self, settings: Mapping[str, Any], nbest: int, *, sampled: bool = False) -> DecodingConfig:
        config = self.config_with(settings)
        if not 1 <= nbest <= (MAX_SAMPLES_PER_TEXT if sampled else config.beam):
            most = f"{MAX_SAMPLES_PER_TEXT}" if sampled else f"the beam {config.beam}: ask for a wider beam"
            raise InputError(f"nbest {nbest} must be between 1 and {most}")
        return config

    def config_with(self, settings: Mapping[str, Any]) -> DecodingConfig:
        """The model's own settings of the search, but for these; None leaves one alone."""
        given = {name: value for name, value in settings.items() if value is not None}
        return build_config(DecodingConfig, to_table(self.config) | given)

    def _decode_texts(
        self, texts: Sequence[str], config: DecodingConfig, requests: TextRequests
    ) -> Iterator[tuple[int, Translation]]:
        """Sorted by length, so that a batch holds little padding; each answer comes with its place."""
        rows = Ragged(self.source_tokenizer.encode_all(texts))
        lengths = np.minimum(rows.lengths + 1, self.max_positions)
        empty = Translation("", 0.0, 0.0, (), ())
        yield from ((int(at), empty) for at in np.flatnonzero(rows.lengths == 0))
        order = np.argsort(-lengths, kind="stable")
        order = order[rows.lengths[order] > 0]
        # draws come one after another, so that the same seed draws the same
        alone = bool(requests.shared.sampler or requests.shared.observer) or self.device.type != "cpu"
        count = 1 if alone else torch.get_num_threads()
        most = Capacity.for_candidates(self.batch_tokens, max(config.beam, requests.nbest) * len(self.target_tokenizer))
        flows = (
            config.supports_continuous_batching and not (self.engine or requests) and self.device.type == "cpu"
        )  # elsewhere not measured
        if flows:
            shares = assign_to_threads(
                make_batches(lengths, order, most.divide(BATCHES_PER_CAPACITY), threads=count), lengths, count
            )
        elif self.engine and not requests and supports_all(self.engine, lengths[order], config):
            shares = [[order]]
        else:
            shares = [[batch] for batch in make_batches(lengths, order, most, threads=count)]
        room = np.minimum(lengths + config.max_extra_tokens, self.max_positions - 1).tolist()
        promises = {
            at: self._term_constraints(
                wanted, OutputLimits(requests.prefixes[at], room[at], config.no_repeat_ngram), requests.shared
            )
            for at, wanted in enumerate(requests.requirements)
            if wanted
        }

        def searched(share: Sequence[Indices]) -> list[list[Hypothesis]]:
            sources = [pad([append_eos(rows[at][: lengths[at] - 1]) for at in batch]) for batch in share]
            if flows:
                return self._search_continuous(sources, most, config, requests.nbest)
            (batch,), (source,) = share, sources
            held = [constraint_phrases(promises.get(int(at), ())) for at in batch]
            request = replace(requests.shared, prefixes=[requests.prefixes[at] for at in batch], phrases=held)
            return self.search(source, config, requests.nbest, request)

        for share, found in zip(shares, parallel_map(searched, shares, count), strict=True):
            own = np.concatenate(share)
            if not all(found):
                raise InputError(no_output_reason(config, requests, {int(at): room[at] for at in own}))
            for at, hypotheses in zip(own, found, strict=True):
                row = rows[at][: lengths[at] - 1]
                cut = bool(rows.lengths[at] >= self.max_positions)
                made = partial(self._to_translation, row, truncated=cut, constraints=promises.get(int(at), ()))
                yield int(at), made(hypotheses[0], alternatives=tuple(map(made, hypotheses[1:])))

    def _term_constraints(
        self, requirements: Sequence[TermRequirement], limits: OutputLimits, request: DecodeRequest
    ) -> list[TermConstraint]:
        """What is asked for in the output of one text."""
        pieces = self.target_tokenizer.encode_all([one.text for one in requirements])
        if request.sampler:
            why = "outputs are drawn, not searched for; leave --sample out"
            return [TermConstraint(one, tuple(run), 0, why) for one, run in zip(requirements, pieces, strict=True)]
        return term_constraints(requirements, pieces, limits)

    @torch.inference_mode()
    def search(
        self, source: Padded, config: DecodingConfig, nbest: int = 1, request: DecodeRequest = EMPTY_REQUEST
    ) -> list[list[Hypothesis]]:
        if self.engine and not request and self.engine.supports(source, config):
            found = self.engine.search(source, config, nbest)
            if left := [at for at, each in enumerate(found) if not each]:
                for at, each in zip(left, self._search_torch(source.select(left), config, nbest), strict=True):
                    found[at] = each
            return found
        return self._search_torch(source, config, nbest, request)

    def _search_torch(
        self, source: Padded, config: DecodingConfig, nbest: int, request: DecodeRequest = EMPTY_REQUEST
    ) -> list[list[Hypothesis]]:
        source = source.to(self.device)
        limits = self._max_lengths(source, config)
        if not config.shortlist or request.observer:  # a witness is told of pieces by their own numbers
            return decode(self._scorer, self._start(source), limits, config, nbest, request)
        pieces = self.load_shortlist().vocab_subset(source, request.required_tokens)
        own = pieces.tolist()
        scorer, state = subset_scorer(self._scorer, pieces), self._start(source, pieces)
        found = decode(scorer, state, limits, config, nbest, request.to_subset(own))
        return [[one._replace(tokens=[own[at] for at in one.tokens]) for one in each] for each in found]

    @torch.inference_mode()
    def _search_continuous(
        self, sources: Sequence[Padded], capacity: Capacity, config: DecodingConfig, nbest: int
    ) -> list[list[Hypothesis]]:
        """One search for all of these; the later ones take the places that the earlier ones leave."""

        def begun(source: Padded) -> tuple[DecoderState, Tensor]:
            source = source.to(self.device)
            return self._start(source), self._max_lengths(source, config)

        flow = ContinuousBatcher(sources, capacity, begun)
        return beam_search(self._scorer, *flow.next_batch(), config, nbest=nbest, refill=flow)

    def _max_lengths(self, source: Padded, config: DecodingConfig) -> Tensor:  # (sentence,)
        return (source.lengths + config.max_extra_tokens).clamp(max=self.max_positions - 1)

    @property
    def _scorer(self) -> Scorer[Any]:
        """How the next piece is judged."""
        decoders = [model.decoder for model in self.models]
        scorer: Scorer[Any] = ensemble_scorer(decoders) if len(decoders) > 1 else decoder_scorer(decoders[0])
        if self.fusion:
            scorer = shallow_fusion_scorer(
                scorer, decoder_scorer(self.fusion.language_model.model.decoder), self.fusion.weight
            )
        return scorer

    def _start(self, source: Padded, vocab_subset: Tensor | None = None) -> DecoderState:
        """The state before the first piece, where all of them are judged or these alone."""
        states = tuple(model.decoder.start(model.encoder(source), vocab_subset) for model in self.models)
        state: DecoderState = CombinedState(states) if len(states) > 1 else states[0]
        if self.fusion:
            beside = self.fusion.language_model.model
            state = CombinedState((state, beside.decoder.start(beside.encoder(source), vocab_subset)))
        return state

    def _to_translation(
        self,
        source_tokens: NDArray[np.int32],
        hypothesis: Hypothesis,
        *,
        truncated: bool,
        constraints: Sequence[TermConstraint] = (),
        alternatives: tuple[Translation, ...] = (),
    ) -> Translation:
        source, text = source_tokens.tolist(), self.target_tokenizer.decode(hypothesis.tokens)
        logs = self._token_log_probs(source, hypothesis.tokens) if self.fusion else hypothesis.token_log_probs
        return Translation(
            text=text,
            score=hypothesis.score,
            log_prob=sum(logs) if self.fusion else hypothesis.log_prob,
            tokens=tuple(self.target_tokenizer.token_strings(hypothesis.tokens)),
            source_tokens=tuple(self.source_tokenizer.token_strings(source)),
            _token_log_probs=tuple(logs),
            terms=tuple(promise.check(text) for promise in constraints),
            truncated=truncated,
            alternatives=alternatives,
            _token_ids=(tuple(source), tuple(hypothesis.tokens)),
            _attention_fn=self.attention,
            _score_fn=self._token_log_probs,
        )

    def _token_log_probs(self, source: Sequence[int], target: Sequence[int]) -> list[float]:
        """Log p of each piece given the source, </s> last, without what a language model added in the search."""
        batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0])).to(self.device)
        with torch.inference_mode():
            every = self._log_probs(batch)
            chosen: list[float] = every.gather(2, batch.target.tokens.unsqueeze(2)).flatten().tolist()
        return chosen
