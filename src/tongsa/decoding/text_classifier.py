"""TextClassifier: text in, a label out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tongsa.batch import Indices, Padded, Ragged, append_eos, pad
from tongsa.data.training_profile import TrainingProfile
from tongsa.decoding.text_model import Matrix, ModelDescription, TextModel, ensure_text, ensure_text_list
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.subword import SubwordTokenizer
from tongsa.tokenization.tokenizer import Tokenizer


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
    unseen_words: tuple[str, ...] = ()
    """Words of the text that do not occur in the training data."""
    longer_than_training: bool = False
    """The text is much longer than any text of the training data."""
    _token_ids: tuple[int, ...] = ()
    _classifier: "TextClassifier | None" = field(default=None, repr=False, compare=False)

    @property
    def probability(self) -> float:
        return self.probabilities[self.label]

    @property
    def details(self) -> dict[str, Any]:
        """All probabilities and the comparison with the training data, for JSON."""
        return {
            "probabilities": self.probabilities,
            "truncated": self.truncated,
            "unseen_words": list(self.unseen_words),
            "longer_than_training": self.longer_than_training,
        }

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

    def __init__(
        self,
        model: EncoderDecoder,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: Tokenizer,
        *,
        profile: TrainingProfile | None = None,
        info: ModelDescription | None = None,
    ) -> None:
        """With the `profile` of the training data, results tell which input is unlike it."""
        super().__init__(model, source_tokenizer, target_tokenizer, info=info)
        self.profile = profile

    def __call__(self, text: str) -> Classification:
        return self.classify([ensure_text(text)])[0]

    @torch.inference_mode()
    def classify(self, texts: Iterable[str]) -> list[Classification]:
        """Return a classification of each text, in order; also of empty texts."""
        texts = ensure_text_list(texts)
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
                    unseen_words=self.profile.unseen_words(texts[i]) if self.profile else (),
                    longer_than_training=bool(self.profile and self.profile.is_much_longer(int(rows.lengths[i]))),
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
