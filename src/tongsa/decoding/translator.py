"""Text in, text out: every score and every translation of a model goes through here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tongsa.batch import Examples, Padded, Ragged, by_tokens, ended, pad
from tongsa.decoding.scorers import Scorer, Together, alone, ensemble, fused
from tongsa.decoding.search import Hypothesis, SearchConfig, search
from tongsa.decoding.text_model import Matrix, TextModel
from tongsa.decoding.writer import Writer
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, State
from tongsa.text import Pieces, Vocabulary


@dataclass(frozen=True)
class Translation:
    text: str
    score: float
    """Length-normalised log-probability, by which the search compared its hypotheses."""
    total: float
    """log p(text | source), summed over the pieces."""
    pieces: tuple[str, ...]
    source_pieces: tuple[str, ...]
    cut: bool = False
    """The source was longer than the model can read, and only its beginning was translated."""
    alternatives: tuple["Translation", ...] = ()
    """The rest of the n-best list, best first."""
    _indices: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    _translator: "Translator | None" = field(default=None, repr=False, compare=False)

    @property
    def alignment(self) -> Matrix:  # (target piece and </s>, source piece and </s>)
        """How much each piece of the output looked at each piece of the source: the mean over layers and heads."""
        seen = self.attention
        if not seen.get("cross"):
            raise InputError("this kind of model has no attention: nothing says which piece came from where")
        mean: Matrix = np.mean(np.concatenate(seen["cross"]), axis=0, dtype=np.float32)
        return mean @ seen["hops"][0][0] if "hops" in seen else mean  # it looked at hops, and they at the source

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Role ("encoder", "decoder", "cross") → for each layer the weights (head, query, key)."""
        if self._translator is None:
            raise InputError("this translation came without its model: ask a Translator for it again")
        return self._translator.attention(*self._indices)


@dataclass(frozen=True)
class Fusion:
    """A language model that has a say in the search, with this weight."""

    writer: Writer
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"the language model's weight {self.weight} is not a number from 0 up; try 0.2")


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
        batch_tokens: int = 2048,
    ) -> None:
        super().__init__(model, source, target, others=others, batch_tokens=batch_tokens)
        self.config = config
        self.fusion = fusion
        if fusion:
            self.longest = min(self.longest, fusion.writer.longest)
        if fusion and fusion.writer.target.model != target.model:
            raise InputError(
                "the language model has other pieces than this one: train it with --set pieces.reuse=RUN (this run)"
            )

    def __call__(self, text: str) -> Translation:
        return self.translate([text])[0]

    def translate(
        self, texts: Iterable[str], *, beam: int | None = None, alpha: float | None = None, nbest: int = 1
    ) -> list[Translation]:
        """One translation for each text, in order; an empty text gives an empty one."""
        texts = list(texts)
        answers = dict(self._answers(texts, self._settings(beam, alpha, nbest), nbest))
        return [answers[at] for at in range(len(texts))]

    def _settings(self, beam: int | None, alpha: float | None, nbest: int) -> SearchConfig:
        try:
            config = replace(
                self.config,
                beam=self.config.beam if beam is None else beam,
                alpha=self.config.alpha if alpha is None else alpha,
            )
        except ValueError as error:
            raise InputError(str(error)) from None
        if not 1 <= nbest <= config.beam:
            raise InputError(f"nbest {nbest} must be between 1 and the beam {config.beam}: ask for a wider beam")
        return config

    def _answers(self, texts: Sequence[str], config: SearchConfig, nbest: int) -> Iterator[tuple[int, Translation]]:
        """Sorted by length, so that a batch holds little padding; each answer comes with its place."""
        rows = Ragged(self.source.split_all(texts))
        lengths = np.minimum(rows.lengths + 1, self.longest)
        empty = Translation("", 0.0, 0.0, (), ())
        yield from ((int(at), empty) for at in np.flatnonzero(rows.lengths == 0))
        order = np.argsort(-lengths, kind="stable")
        order = order[rows.lengths[order] > 0]
        for batch in by_tokens(lengths[:, None], order, self.batch_tokens):
            read = [rows[at][: lengths[at] - 1] for at in batch]
            found = self.search(pad([ended(row) for row in read]), config, nbest)
            if not all(found):
                raise InputError("the model's scores are no numbers: train again with a lower training.rate.peak")
            for at, row, hypotheses in zip(batch, read, found, strict=True):
                cut = bool(rows.lengths[at] >= self.longest)
                first, *rest = (self._translation(row, hypothesis, cut=cut) for hypothesis in hypotheses)
                yield int(at), replace(first, alternatives=tuple(rest))

    @torch.inference_mode()
    def search(self, source: Padded, config: SearchConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        source = source.to(self.device)
        limits = (source.lengths + config.beyond).clamp(max=self.longest - 1)
        scorer, state = self._scorer(source)
        return search(scorer, state, limits, config, nbest=nbest)

    def _scorer(self, source: Padded) -> tuple[Scorer[Any], State]:
        """How the next piece is judged, and the state before the first."""
        states = tuple(model.decoder.start(model.encoder(source)) for model in self.models)
        scorer: Scorer[Any] = alone(self.model.decoder)
        state: State = states[0]
        if len(self.models) > 1:
            scorer, state = ensemble([model.decoder for model in self.models]), Together(states)
        if self.fusion:
            beside = self.fusion.writer.model
            scorer = fused(scorer, alone(beside.decoder), self.fusion.weight)
            state = Together((state, beside.decoder.start(beside.encoder(source))))
        return scorer, state

    def _translation(self, row: NDArray[np.int32], hypothesis: Hypothesis, *, cut: bool) -> Translation:
        source = row.tolist()
        return Translation(
            text=self.target.join(hypothesis.pieces),
            score=hypothesis.score,
            total=self._total(source, hypothesis) if self.fusion else hypothesis.total,
            pieces=tuple(self.target.names(hypothesis.pieces)),
            source_pieces=tuple(self.source.names(source)),
            cut=cut,
            _indices=(tuple(source), tuple(hypothesis.pieces)),
            _translator=self,
        )

    def _total(self, source: list[int], hypothesis: Hypothesis) -> float:
        """Log p(text | source) without what the language model added in the search."""
        batch = Examples(Ragged([source]), Ragged([hypothesis.pieces])).batch(np.array([0])).to(self.device)
        with torch.inference_mode():
            return float(self._log_probabilities(batch).gather(2, batch.target.pieces.unsqueeze(2)).sum())
