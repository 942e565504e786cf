"""TextClassifier: text in, a label out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch

from tongsa.batch import Indices, Padded, Ragged, append_eos, pad
from tongsa.decoding.text_model import Matrix, TextModel, ensure_text, ensure_text_list
from tongsa.errors import InputError


@dataclass(frozen=True)
class Classification:
    """Label probabilities of one text."""

    label: str
    """The likeliest label."""
    probabilities: dict[str, float]
    """Probability of each label."""
    source_tokens: tuple[str, ...]
    truncated: bool = False
    """The text was longer than the model can read; only its beginning was classified."""
    _token_ids: tuple[int, ...] = ()
    _classifier: "TextClassifier | None" = field(default=None, repr=False, compare=False)

    @property
    def probability(self) -> float:
        return self.probabilities[self.label]

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Attention weights (head, query, key) of each layer, by role: "hops", "encoder"."""
        if self._classifier is None:
            raise InputError(
                "attention: this result was made without a model. Classify the text with a TextClassifier."
            )
        return self._classifier.attention(self._token_ids, [0])


class TextClassifier(TextModel):
    """A classifier with its tokenizer and labels."""

    task = "classification"

    def __call__(self, text: str) -> Classification:
        return self.classify([ensure_text(text)])[0]

    @torch.inference_mode()
    def classify(self, texts: Iterable[str]) -> list[Classification]:
        """Return a classification of each text, in order; also of empty texts."""
        rows, lengths = self._encode(texts)
        labels = self.target_tokenizer.token_strings(range(len(self.target_tokenizer)))
        results: dict[int, Classification] = {}
        for batch in self._batches(lengths[:, None]):
            state = self.model.decoder.start(self.model.encoder(self._pad_source(rows, lengths, batch)))
            logits, _ = self.model.decoder.step(torch.zeros(len(batch), dtype=torch.long, device=self.device), state)
            for i, probabilities in zip(batch, logits.float().softmax(dim=-1).tolist(), strict=True):
                tokens = tuple(rows[i][: lengths[i] - 1].tolist())
                results[int(i)] = Classification(
                    label=labels[max(range(len(probabilities)), key=probabilities.__getitem__)],
                    probabilities=dict(zip(labels, probabilities, strict=True)),
                    source_tokens=tuple(self.source_tokenizer.token_strings(tokens)),
                    truncated=bool(rows.lengths[i] >= self.max_positions),
                    _token_ids=tokens,
                    _classifier=self,
                )
        return [results[i] for i in range(len(rows))]

    @torch.inference_mode()
    def embed(self, texts: Iterable[str]) -> list[Matrix]:  # (slot, width) each
        """Return the encoder's memory of each text: for structured self-attention the matrix M, a row per hop."""
        rows, lengths = self._encode(texts)
        embeddings: dict[int, Matrix] = {}
        for batch in self._batches(lengths[:, None]):
            memory = self.model.encoder(self._pad_source(rows, lengths, batch))
            for i, slots, mask in zip(batch, memory.slots, memory.mask, strict=True):
                embeddings[int(i)] = slots[mask].float().cpu().numpy()
        return [embeddings[i] for i in range(len(rows))]

    def _encode(self, texts: Iterable[str]) -> tuple[Ragged, Indices]:
        """Return the tokens of each text, and the number of tokens to read, EOS included."""
        rows = Ragged(self.source_tokenizer.encode_all(ensure_text_list(texts)))
        return rows, np.minimum(rows.lengths + 1, self.max_positions)

    def _pad_source(self, rows: Ragged, lengths: Indices, batch: Indices) -> Padded:
        return pad([append_eos(rows[i][: lengths[i] - 1]) for i in batch]).to(self.device)
