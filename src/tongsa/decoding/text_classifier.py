"""Text in, a label out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch

from tongsa.batch import Indices, Padded, Ragged, append_eos, pad
from tongsa.decoding.text_model import Matrix, TextModel, ensure_text_list
from tongsa.errors import InputError


@dataclass(frozen=True)
class Classification:
    label: str
    """The likeliest."""
    probabilities: dict[str, float]
    """Of every label."""
    source_tokens: tuple[str, ...]
    truncated: bool = False
    """The text was longer than the model can read, and only its beginning was read."""
    _token_ids: tuple[int, ...] = ()
    _classifier: "TextClassifier | None" = field(default=None, repr=False, compare=False)

    @property
    def probability(self) -> float:
        return self.probabilities[self.label]

    @property
    def attention(self) -> dict[str, list[Matrix]]:
        """Role ("hops", "encoder") → for each layer the weights (head, query, key)."""
        if self._classifier is None:
            raise InputError("this answer came without its model: ask a Classifier for it again")
        return self._classifier.attention(self._token_ids, [0])


class TextClassifier(TextModel):
    task = "classification"

    def __call__(self, text: str) -> Classification:
        return self.classify([text])[0]

    @torch.inference_mode()
    def classify(self, texts: Iterable[str]) -> list[Classification]:
        """One answer for each text, in order. An empty text has one too: what the model thinks of nothing."""
        rows, lengths = self._encode(texts)
        names = self.target_tokenizer.token_strings(range(len(self.target_tokenizer)))
        found: dict[int, Classification] = {}
        for batch in self._batches(lengths[:, None]):
            state = self.model.decoder.start(self.model.encoder(self._pad_source(rows, lengths, batch)))
            logits, _ = self.model.decoder.step(torch.zeros(len(batch), dtype=torch.long, device=self.device), state)
            for at, values in zip(batch, logits.float().softmax(dim=-1).tolist(), strict=True):
                read = tuple(rows[at][: lengths[at] - 1].tolist())
                found[int(at)] = Classification(
                    label=names[max(range(len(values)), key=values.__getitem__)],
                    probabilities=dict(zip(names, values, strict=True)),
                    source_tokens=tuple(self.source_tokenizer.token_strings(read)),
                    truncated=bool(rows.lengths[at] >= self.max_positions),
                    _token_ids=read,
                    _classifier=self,
                )
        return [found[at] for at in range(len(rows))]

    @torch.inference_mode()
    def embed(self, texts: Iterable[str]) -> list[Matrix]:  # (slot, width) each
        """What the encoder leaves of each text: for `self_attentive` the sentence's matrix M, a row for each hop."""
        rows, lengths = self._encode(texts)
        found: dict[int, Matrix] = {}
        for batch in self._batches(lengths[:, None]):
            memory = self.model.encoder(self._pad_source(rows, lengths, batch))
            for at, slots, mask in zip(batch, memory.slots, memory.mask, strict=True):
                found[int(at)] = slots[mask].float().cpu().numpy()
        return [found[at] for at in range(len(rows))]

    def _encode(self, texts: Iterable[str]) -> tuple[Ragged, Indices]:
        """Pieces of each text, and how many places of them are read, </s> included."""
        rows = Ragged(self.source_tokenizer.encode_all(ensure_text_list(texts)))
        return rows, np.minimum(rows.lengths + 1, self.max_positions)

    def _pad_source(self, rows: Ragged, lengths: Indices, batch: Indices) -> Padded:
        return pad([append_eos(rows[at][: lengths[at] - 1]) for at in batch]).to(self.device)
