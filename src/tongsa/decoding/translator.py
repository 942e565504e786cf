"""Text in, text out: every score and every translation of a model goes through here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.batch import Examples, Padded, Ragged, Rows, ended, pad
from tongsa.config import build, table
from tongsa.decoding.batches import Capacity, batched, shared_out
from tongsa.decoding.beams import Witness
from tongsa.decoding.call import Call, nothing_found, phrases
from tongsa.decoding.engine import Engine, takes_all
from tongsa.decoding.flow import PARTS, Flow
from tongsa.decoding.promises import Promise, Room, promised
from tongsa.decoding.request import NOTHING, Request, answered, onward
from tongsa.decoding.sampling import SamplingConfig
from tongsa.decoding.scorers import Scorer, Together, alone, among, ensemble, fused
from tongsa.decoding.search import Hypothesis, SearchConfig, search
from tongsa.decoding.shortlist import Shortlist
from tongsa.decoding.terminology import Glossary, Wanted
from tongsa.decoding.text_model import TextModel, listed
from tongsa.decoding.translation import Translation
from tongsa.decoding.writer import Writer
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, State
from tongsa.text import EOS, Pieces, Vocabulary, normalise
from tongsa.threads import side_by_side

MOST_DRAWN = 1000
"""Draws of one text in one call."""


@dataclass(frozen=True)
class Fusion:
    """A language model that has a say in the search, with this weight."""

    writer: Writer
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"the language model's weight {self.weight} is not a number from 0 up; try 0.2")


def nowhere() -> Shortlist:
    """A model that is not on disk yet has no list beside it."""
    raise InputError("shortlist: this model has none; save it, make one with tongsa shortlist, and load it again")


class Translator(TextModel):
    """`Translator.translate` is what the command line, validation and evaluation call."""

    task = "pairs"

    def __init__(
        self,
        model: EncoderDecoder,
        source: Pieces,
        target: Vocabulary,
        config: SearchConfig,
        *,
        others: Sequence[EncoderDecoder] = (),
        fusion: Fusion | None = None,
        engine: Engine | None = None,
        shortlist: Callable[[], Shortlist] = nowhere,
        batch_tokens: int = 4096,
    ) -> None:
        """`engine` does what it can of the searching; torch does the rest. `shortlist` is read when it is asked for."""
        super().__init__(model, source, target, others=others, batch_tokens=batch_tokens)
        self.config = config
        self.fusion = fusion
        self.engine = engine if engine and not (others or fusion) else None
        self.shortlist = cache(shortlist)
        if fusion:
            self.longest = min(self.longest, fusion.writer.longest)
        if fusion and fusion.writer.target.model != target.model:
            raise InputError(
                "the language model has other pieces than this one: train it with --set pieces.reuse=RUN (this run)"
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
        witness: Witness | None = None,
        **settings: float | str | None,
    ) -> list[Translation]:
        """One translation for each text, in order; an empty text gives an empty one.

        `prefixes` say how each begins; with `sampling` the `nbest` are drawn. `settings` are those of SearchConfig that
        shall differ from the model's own, such as beam or alpha.
        """
        texts = listed(texts)
        prefixes = listed(prefixes)
        if prefixes and len(prefixes) != len(texts):
            raise InputError(f"{len(prefixes)} prefixes for {len(texts)} texts; give one for each, or none")
        begun = self.target.split_all(map(normalise, prefixes)) if prefixes else [[]] * len(texts)
        asked = Call(
            nbest=nbest,
            prefixes=begun,
            terms=[glossary.wanted(normalise(text)) if glossary else () for text in texts],
            request=Request(draw=sampling.build() if sampling else None, witness=witness),
        )
        answers = dict(self._answers(texts, self._settings(settings, nbest, drawn=bool(sampling)), asked))
        return [answers[at] for at in range(len(texts))]

    @torch.inference_mode()
    def alternatives(
        self, text: str, prefix: str = "", *, count: int = 5, **settings: float | str
    ) -> list[Translation]:
        """Other ways to go on after a beginning: the likeliest next pieces, each with the best output from there on.

        Where the end is among the likeliest, one of them is the beginning itself, and nothing behind it.
        """
        source = Ragged(self.source.split_all([text]))[0][: self.longest - 1]
        begun = self.target.split_all([normalise(prefix)])[0]
        config = self._settings(settings, 1)
        left = min(len(source) + 1 + config.beyond, self.longest - 1) - len(begun)
        if not len(source) or left < 0:
            return []
        state = self._start(pad([ended(source)]).to(self.device))
        merits = onward(self._scorer, state, torch.tensor(begun, dtype=torch.long, device=self.device), config)
        if not begun:
            merits[EOS] = -torch.inf  # an empty output is no way to go on
        if not left:
            merits[EOS + 1 :] = -torch.inf
        likeliest = merits.topk(min(count, len(merits)))
        rows = [[*begun, int(piece)] for merit, piece in zip(*likeliest, strict=True) if merit > -torch.inf]
        found = self.search(pad([ended(source)] * len(rows)), config, 1, Request(prefixes=rows)) if rows else []
        return [self._translation(source, best, cut=False) for best, *_ in found]

    def _settings(self, settings: Mapping[str, Any], nbest: int, *, drawn: bool = False) -> SearchConfig:
        config = self.settled(settings)
        if not 1 <= nbest <= (MOST_DRAWN if drawn else config.beam):
            most = f"{MOST_DRAWN}" if drawn else f"the beam {config.beam}: ask for a wider beam"
            raise InputError(f"nbest {nbest} must be between 1 and {most}")
        return config

    def settled(self, settings: Mapping[str, Any]) -> SearchConfig:
        """The model's own settings of the search, but for these; None leaves one alone."""
        given = {name: value for name, value in settings.items() if value is not None}
        return build(SearchConfig, table(self.config) | given)

    def _answers(self, texts: Sequence[str], config: SearchConfig, asked: Call) -> Iterator[tuple[int, Translation]]:
        """Sorted by length, so that a batch holds little padding; each answer comes with its place."""
        rows = Ragged(self.source.split_all(texts))
        lengths = np.minimum(rows.lengths + 1, self.longest)
        empty = Translation("", 0.0, 0.0, (), ())
        yield from ((int(at), empty) for at in np.flatnonzero(rows.lengths == 0))
        order = np.argsort(-lengths, kind="stable")
        order = order[rows.lengths[order] > 0]
        # draws come one after another, so that the same seed draws the same
        alone = bool(asked.request.draw or asked.request.witness) or self.device.type != "cpu"
        count = 1 if alone else torch.get_num_threads()
        most = Capacity.of(self.batch_tokens, max(config.beam, asked.nbest) * len(self.target))
        flows = config.free and not (self.engine or asked) and self.device.type == "cpu"  # elsewhere not measured
        if flows:
            shares = shared_out(batched(lengths, order, most.share(PARTS), threads=count), lengths, count)
        elif self.engine and not asked and takes_all(self.engine, lengths[order], config):
            shares = [[order]]
        else:
            shares = [[batch] for batch in batched(lengths, order, most, threads=count)]
        room = np.minimum(lengths + config.beyond, self.longest - 1).tolist()
        promises = {
            at: self._promises(wanted, Room(asked.prefixes[at], room[at], config.no_repeat), asked.request)
            for at, wanted in enumerate(asked.terms)
            if wanted
        }

        def searched(share: Sequence[Rows]) -> list[list[Hypothesis]]:
            sources = [pad([ended(rows[at][: lengths[at] - 1]) for at in batch]) for batch in share]
            if flows:
                return self._in_turn(sources, most, config, asked.nbest)
            (batch,), (source,) = share, sources
            held = [phrases(promises.get(int(at), ())) for at in batch]
            request = replace(asked.request, prefixes=[asked.prefixes[at] for at in batch], phrases=held)
            return self.search(source, config, asked.nbest, request)

        for share, found in zip(shares, side_by_side(searched, shares, count), strict=True):
            own = np.concatenate(share)
            if not all(found):
                raise InputError(nothing_found(config, asked, {int(at): room[at] for at in own}))
            for at, hypotheses in zip(own, found, strict=True):
                row = rows[at][: lengths[at] - 1]
                cut = bool(rows.lengths[at] >= self.longest)
                made = partial(self._translation, row, cut=cut, promises=promises.get(int(at), ()))
                yield int(at), made(hypotheses[0], alternatives=tuple(map(made, hypotheses[1:])))

    def _promises(self, wanted: Sequence[Wanted], room: Room, request: Request) -> list[Promise]:
        """What is asked for in the output of one text."""
        pieces = self.target.split_all([one.text for one in wanted])
        if request.draw:
            why = "outputs are drawn, not searched for; leave --sample out"
            return [Promise(one, tuple(run), 0, why) for one, run in zip(wanted, pieces, strict=True)]
        return promised(wanted, pieces, room)

    @torch.inference_mode()
    def search(
        self, source: Padded, config: SearchConfig, nbest: int = 1, request: Request = NOTHING
    ) -> list[list[Hypothesis]]:
        if self.engine and not request and self.engine.supports(source, config):
            found = self.engine.search(source, config, nbest)
            if left := [at for at, each in enumerate(found) if not each]:
                for at, each in zip(left, self._by_torch(source.rows(left), config, nbest), strict=True):
                    found[at] = each
            return found
        return self._by_torch(source, config, nbest, request)

    def _by_torch(
        self, source: Padded, config: SearchConfig, nbest: int, request: Request = NOTHING
    ) -> list[list[Hypothesis]]:
        source = source.to(self.device)
        limits = self._limits(source, config)
        if not config.shortlist or request.witness:  # a witness is told of pieces by their own numbers
            return answered(self._scorer, self._start(source), limits, config, nbest, request)
        pieces = self.shortlist().pieces(source, request.pieces)
        own = pieces.tolist()
        scorer, state = among(self._scorer, pieces), self._start(source, pieces)
        found = answered(scorer, state, limits, config, nbest, request.among(own))
        return [[one._replace(pieces=[own[at] for at in one.pieces]) for one in each] for each in found]

    @torch.inference_mode()
    def _in_turn(
        self, sources: Sequence[Padded], most: Capacity, config: SearchConfig, nbest: int
    ) -> list[list[Hypothesis]]:
        """One search for all of these; the later ones take the places that the earlier ones leave."""

        def begun(source: Padded) -> tuple[State, Tensor]:
            source = source.to(self.device)
            return self._start(source), self._limits(source, config)

        flow = Flow(sources, most, begun)
        return search(self._scorer, *flow.next(), config, nbest=nbest, refill=flow)

    def _limits(self, source: Padded, config: SearchConfig) -> Tensor:  # (sentence,)
        return (source.lengths + config.beyond).clamp(max=self.longest - 1)

    @property
    def _scorer(self) -> Scorer[Any]:
        """How the next piece is judged."""
        decoders = [model.decoder for model in self.models]
        scorer: Scorer[Any] = ensemble(decoders) if len(decoders) > 1 else alone(decoders[0])
        if self.fusion:
            scorer = fused(scorer, alone(self.fusion.writer.model.decoder), self.fusion.weight)
        return scorer

    def _start(self, source: Padded, pieces: Tensor | None = None) -> State:
        """The state before the first piece, where all of them are judged or these alone."""
        states = tuple(model.decoder.start(model.encoder(source), pieces) for model in self.models)
        state: State = Together(states) if len(states) > 1 else states[0]
        if self.fusion:
            beside = self.fusion.writer.model
            state = Together((state, beside.decoder.start(beside.encoder(source), pieces)))
        return state

    def _translation(
        self,
        row: NDArray[np.int32],
        hypothesis: Hypothesis,
        *,
        cut: bool,
        promises: Sequence[Promise] = (),
        alternatives: tuple[Translation, ...] = (),
    ) -> Translation:
        source, text = row.tolist(), self.target.join(hypothesis.pieces)
        logs = self._logs(source, hypothesis.pieces) if self.fusion else hypothesis.logs
        return Translation(
            text=text,
            score=hypothesis.score,
            total=sum(logs) if self.fusion else hypothesis.total,
            pieces=tuple(self.target.names(hypothesis.pieces)),
            source_pieces=tuple(self.source.names(source)),
            _logs=tuple(logs),
            terms=tuple(promise.kept(text) for promise in promises),
            cut=cut,
            alternatives=alternatives,
            _indices=(tuple(source), tuple(hypothesis.pieces)),
            _look=self.attention,
            _score=self._logs,
        )

    def _logs(self, source: Sequence[int], target: Sequence[int]) -> list[float]:
        """Log p of each piece given the source, </s> last, without what a language model added in the search."""
        batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0])).to(self.device)
        with torch.inference_mode():
            every = self._log_probabilities(batch)
            chosen: list[float] = every.gather(2, batch.target.pieces.unsqueeze(2)).flatten().tolist()
        return chosen
