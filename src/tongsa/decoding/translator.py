"""Text in, text out: every score and every translation of a model goes through here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from tongsa.batch import Examples, Padded, Ragged, by_tokens, ended, pad
from tongsa.decoding.search import Hypothesis, SearchConfig, search
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.layers.attention import Sightings, watching
from tongsa.text import Pieces

Matrix = NDArray[np.float32]


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
        cross = self.attention["cross"]
        mean: Matrix = np.mean(np.concatenate(cross), axis=0, dtype=np.float32)
        return mean

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Role ("encoder", "decoder", "cross") → for each layer the weights (head, query, key)."""
        if self._translator is None:
            raise InputError("this translation came without its model: ask a Translator for it again")
        return self._translator.attention(*self._indices)


class Translator:
    """A model with its pieces. `Translator.translate` is what the command line, validation and evaluation call."""

    def __init__(
        self,
        model: EncoderDecoder,
        source: Pieces,
        target: Pieces,
        config: SearchConfig,
        *,
        batch_tokens: int = 2048,
    ) -> None:
        self.model = model.eval()
        self.source = source
        self.target = target
        self.config = config
        self.batch_tokens = batch_tokens
        self.device = next(model.parameters()).device

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
        lengths = np.minimum(rows.lengths + 1, self.model.longest)
        empty = Translation("", 0.0, 0.0, (), ())
        yield from ((int(at), empty) for at in np.flatnonzero(rows.lengths == 0))
        order = np.argsort(-lengths, kind="stable")
        order = order[rows.lengths[order] > 0]
        for batch in by_tokens(lengths[:, None], order, self.batch_tokens):
            read = [rows[at][: lengths[at] - 1] for at in batch]
            found = self.search(pad([ended(row) for row in read]), config, nbest)
            for at, row, hypotheses in zip(batch, read, found, strict=True):
                cut = bool(rows.lengths[at] >= self.model.longest)
                first, *rest = (self._translation(row, hypothesis, cut=cut) for hypothesis in hypotheses)
                yield int(at), replace(first, alternatives=tuple(rest))

    @torch.inference_mode()
    def search(self, source: Padded, config: SearchConfig, nbest: int = 1) -> list[list[Hypothesis]]:
        source = source.to(self.device)
        state = self.model.decoder.start(self.model.encoder(source))
        limits = (source.lengths + config.beyond).clamp(max=self.model.longest - 1)
        return search(self.model.decoder, state, limits, config, nbest)

    def _translation(self, row: NDArray[np.int32], hypothesis: Hypothesis, *, cut: bool) -> Translation:
        source = row.tolist()
        return Translation(
            text=self.target.join(hypothesis.pieces),
            score=hypothesis.score,
            total=hypothesis.total,
            pieces=tuple(self.target.names(hypothesis.pieces)),
            source_pieces=tuple(self.source.names(source)),
            cut=cut,
            _indices=(tuple(source), tuple(hypothesis.pieces)),
            _translator=self,
        )

    @torch.inference_mode()
    def attention(self, source: Sequence[int], target: Sequence[int]) -> dict[str, list[Matrix]]:
        """What was looked at along one hypothesis: teacher forcing on it gives the same as stepping did."""
        batch = Examples(Ragged([source]), Ragged([target])).batch(np.array([0])).to(self.device)
        seen: Sightings
        with watching() as seen:
            self.model(batch.source, batch.shifted)
        return {role: [layer[0].float().cpu().numpy() for layer in layers] for role, layers in seen.items()}

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """Log p of each piece of each target given its source, </s> last."""
        examples = self.examples(pairs)
        scores: dict[int, list[float]] = {}
        order = np.argsort(examples.lengths.max(axis=1), kind="stable")
        for rows in by_tokens(examples.lengths, order, self.batch_tokens):
            batch = examples.batch(rows).to(self.device)
            every = self.model(batch.source, batch.shifted).float().log_softmax(dim=-1)
            chosen = every.gather(2, batch.target.pieces.unsqueeze(2)).squeeze(2).tolist()
            for row, values, length in zip(rows, chosen, batch.target.lengths.tolist(), strict=True):
                scores[int(row)] = values[:length]
        return [scores[at] for at in range(len(pairs))]

    def examples(self, pairs: Sequence[tuple[str, str]]) -> Examples:
        """Indices of both sides, refused where a side is longer than the model can hold."""
        sources = self.source.split_all([source for source, _ in pairs])
        targets = self.target.split_all([target for _, target in pairs])
        for at, lengths in enumerate(zip(map(len, sources), map(len, targets), strict=True)):
            if max(lengths) >= self.model.longest:
                raise InputError(f"pair {at + 1}: {max(lengths)} pieces, but the model holds {self.model.longest - 1}")
        return Examples(Ragged(sources), Ragged(targets))
