"""A model with its vocabulary: text in. What it gives back depends on what it has learnt."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.batch import Batch, Examples, Indices, Ragged, batch_by_tokens
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, Task
from tongsa.nn.attention import RecordedAttention, record_attention
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer

Matrix = NDArray[np.float32]


class PairError(InputError):
    """A pair that cannot be scored, the how manieth it is, counted from 0, and why."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"pair {index + 1}: {reason}")
        self.index, self.reason = index, reason


def ensure_text_list(texts: Iterable[str]) -> list[str]:
    """A text by itself would be taken for a list of its letters."""
    if isinstance(texts, str):
        raise InputError(f"a list of texts is wanted, not one text: write [{texts[:30]!r}]")
    return list(texts)


class TextModel:
    """Scores pairs and shows its attention; `Translator`, `Writer` and `Classifier` say what else it can do."""

    task: Task

    def __init__(
        self,
        model: EncoderDecoder,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: Tokenizer,
        *,
        ensemble: Sequence[EncoderDecoder] = (),
        batch_tokens: int = 2048,
    ) -> None:
        """`others` of any kind, with the same vocabularies, make an ensemble: their probabilities are averaged."""
        self.model = model.eval()
        self.models = (self.model, *(other.eval() for other in ensemble))
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.max_positions = min(model.max_positions for model in self.models)
        """The longest sequence, </s> included, that all of them can hold."""
        self.batch_tokens = batch_tokens
        self.device = next(model.parameters()).device

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """Log p of each piece of each target given its source, </s> last; of a label, one number."""
        examples = self.encode_pairs(pairs)
        scores: dict[int, list[float]] = {}
        for rows in self._batches(examples.lengths):
            batch = examples.batch(rows).to(self.device)
            every = self._log_probs(batch)
            chosen = every.gather(2, batch.target.tokens.unsqueeze(2)).squeeze(2).tolist()
            for row, values, length in zip(rows, chosen, batch.target.lengths.tolist(), strict=True):
                scores[int(row)] = values[:length]
        return [scores[at] for at in range(len(pairs))]

    def _log_probs(self, batch: Batch) -> Tensor:  # (batch, length, piece)
        found = [model(batch.source, batch.decoder_input).float().log_softmax(dim=-1) for model in self.models]
        return found[0] if len(found) == 1 else torch.stack(found).logsumexp(dim=0) - math.log(len(found))

    def _batches(self, lengths: Indices) -> Iterator[Indices]:
        """Shortest first, so that a batch holds little padding."""
        return batch_by_tokens(lengths, np.argsort(lengths.max(axis=1), kind="stable"), self.batch_tokens)

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> Examples:
        """Indices of both sides, refused where a side is longer than the model can hold."""
        for at, pair in enumerate(pairs):
            if isinstance(pair, str) or len(pair) != 2:  # two letters would pass for a pair
                raise PairError(at, f"{pair!r} is not (source, target)")
        sources = self.source_tokenizer.encode_all([source for source, _ in pairs])
        targets = (
            [self._encode_label(at, target) for at, (_, target) in enumerate(pairs)]
            if self.task == "classification"
            else (self.target_tokenizer.encode_all([target for _, target in pairs]))
        )
        for at, lengths in enumerate(zip(map(len, sources), map(len, targets), strict=True)):
            if max(lengths) >= self.max_positions:
                raise PairError(at, f"{max(lengths)} pieces, but the model holds {self.max_positions - 1}")
        return Examples(Ragged(sources), Ragged(targets), appends_eos=self.task != "classification")

    def _encode_label(self, index: int, label: str) -> list[int]:
        try:
            return self.target_tokenizer.encode_all([label])[0]
        except InputError as error:
            raise PairError(index, str(error)) from None

    @torch.inference_mode()
    def attention(self, source: Sequence[int], target: Sequence[int]) -> dict[str, list[Matrix]]:
        """What was looked at along one output: teacher forcing on it gives the same as stepping did."""
        examples = Examples(Ragged([source]), Ragged([target]), appends_eos=self.task != "classification")
        batch = examples.batch(np.array([0])).to(self.device)
        seen: RecordedAttention
        with record_attention() as seen:
            self.model(batch.source, batch.decoder_input)
        return {role: [layer[0].float().cpu().numpy() for layer in layers] for role, layers in seen.items()}
