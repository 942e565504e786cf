"""TextModel: a model with its tokenizers, for scoring pairs and returning attention weights."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

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
    """A pair that cannot be scored, with its index from 0 and the reason."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"pair {index + 1}: {reason}")
        self.index, self.reason = index, reason


def ensure_text(text: str) -> str:
    """Return a text. Raise InputError for anything else, such as a list of texts."""
    if not isinstance(text, str):
        raise InputError(f"text: {type(text).__name__} instead of a string. For a list, call translate or classify.")
    return text


def ensure_text_list(texts: Iterable[str]) -> list[str]:
    """Return texts as a list. Raise InputError for a single string, which would be read as a list of characters."""
    if isinstance(texts, str):
        raise InputError(f"texts: a single string, not a list of texts. Write [{texts[:30]!r}].")
    try:
        listed = list(texts)
    except TypeError:
        raise InputError(f"texts: {type(texts).__name__} instead of a list of strings.") from None
    if wrong := [text for text in listed if not isinstance(text, str)]:
        raise InputError(f"texts: {type(wrong[0]).__name__} in the list. Give strings only.")
    return listed


def check_model_tag(model: "TextModel", tag: str) -> None:
    """Raise InputError for a tag that the model was not trained with."""
    known = model.source_tokenizer.tags
    if tag and tag not in known:
        raise InputError(f"tag {tag}: this model has {', '.join(known) or 'no tags'}. Use one of them, or none.")


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """Origin and defaults of a loaded model; empty for a model that was never saved."""

    kind: str = ""
    source_language: str = ""
    target_language: str = ""
    metrics: tuple[str, ...] = ()
    """Default metrics for evaluation."""
    folder: Path | None = None
    """Folder of the bundle."""

    def __str__(self) -> str:
        """Return kind and languages."""
        languages = " → ".join(filter(None, (self.source_language, self.target_language)))
        return ", ".join(filter(None, (self.kind, languages)))

    @property
    def run_folder(self) -> Path | None:
        """The folder of the run, if the bundle is in one; otherwise the folder of the bundle."""
        return self.folder.parent if self.folder and self.folder.name == "model" else self.folder


class TextModel:
    """Base of `Translator`, `TextGenerator` and `TextClassifier`."""

    task: Task

    def __init__(
        self,
        model: EncoderDecoder,
        source_tokenizer: SubwordTokenizer,
        target_tokenizer: Tokenizer,
        *,
        ensemble: Sequence[EncoderDecoder] = (),
        batch_tokens: int = 2048,
        info: ModelDescription | None = None,
    ) -> None:
        """`ensemble` are models of any kind with the same tokenizers; the probabilities of all are averaged."""
        self.model = model.eval()
        self.models = (self.model, *(member.eval() for member in ensemble))
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.max_positions = min(model.max_positions for model in self.models)
        """Longest sequence, EOS included, that all models can process."""
        self.batch_tokens = batch_tokens
        self.device = next(model.parameters()).device
        self.info = info or ModelDescription()

    def __repr__(self) -> str:
        """Return class, kind, languages, parameters, vocabulary and folder, for a notebook or a log."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        vocabulary = f"{len(self.source_tokenizer):,} tokens"
        if self.target_tokenizer is not self.source_tokenizer:
            unit = "labels" if self.task == "classification" else "tokens"
            vocabulary += f" → {len(self.target_tokenizer):,} {unit}"
        parts = [str(self.info), f"{parameters:,} parameters", f"vocabulary {vocabulary}"]
        if len(self.models) > 1:
            parts.append(f"ensemble of {len(self.models)}")
        parts.append(str(self.info.run_folder or ""))
        return f"<{type(self).__name__}: {', '.join(filter(None, parts))}>"

    @torch.inference_mode()
    def score(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """Return the log-probability of each target token given its source, EOS last; one number for a label."""
        return self._score_examples(self.encode_pairs(pairs))

    @torch.inference_mode()
    def score_tokens(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[float]]:
        """Return the log-probability of each target token, EOS last, of pairs of source and target tokens."""
        examples = Examples(Ragged([source for source, _ in pairs]), Ragged([target for _, target in pairs]))
        return self._score_examples(examples)

    def _score_examples(self, examples: Examples) -> list[list[float]]:
        scores: dict[int, list[float]] = {}
        for indices in self._batches(examples.lengths):
            batch = examples.batch(indices).to(self.device)
            log_probs = self._log_probs(batch)
            target_log_probs = log_probs.gather(2, batch.target.tokens.unsqueeze(2)).squeeze(2).tolist()
            for i, values, length in zip(indices, target_log_probs, batch.target.lengths.tolist(), strict=True):
                scores[int(i)] = values[:length]
        return [scores[i] for i in range(len(scores))]

    def _log_probs(self, batch: Batch) -> Tensor:  # (batch, length, token)
        log_probs: list[Tensor] = [
            model(batch.source, batch.decoder_input).float().log_softmax(dim=-1) for model in self.models
        ]
        if len(log_probs) == 1:
            return log_probs[0]
        return torch.stack(log_probs).logsumexp(dim=0) - math.log(len(log_probs))

    def _batches(self, lengths: Indices) -> Iterator[Indices]:
        """Yield batches of similar length, shortest first, so that they have little padding."""
        return batch_by_tokens(lengths, np.argsort(lengths.max(axis=1), kind="stable"), self.batch_tokens)

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> Examples:
        """Return the token ids of both sides; raise PairError if a side is longer than the model can process."""
        for i, pair in enumerate(pairs):
            if isinstance(pair, str) or len(pair) != 2:  # a string of two characters also has length 2
                raise PairError(i, f"{pair!r} is not a pair. Write (source, target).")
        sources = self.source_tokenizer.encode_all([source for source, _ in pairs])
        targets = (
            [self._encode_label(i, target) for i, (_, target) in enumerate(pairs)]
            if self.task == "classification"
            else (self.target_tokenizer.encode_all([target for _, target in pairs]))
        )
        for i, lengths in enumerate(zip(map(len, sources), map(len, targets), strict=True)):
            if max(lengths) >= self.max_positions:
                raise PairError(
                    i, f"{max(lengths)} tokens; the model can process {self.max_positions - 1}. Shorten it."
                )
        return Examples(Ragged(sources), Ragged(targets), appends_eos=self.task != "classification")

    def _encode_label(self, index: int, label: str) -> list[int]:
        try:
            return self.target_tokenizer.encode_all([label])[0]
        except InputError as error:
            raise PairError(index, str(error)) from None

    def trace(
        self,
        text: str,
        *,
        target: str | None = None,
        layers: Sequence[int] | None = None,
        edits: Sequence[Mapping[str, Any]] = (),
    ) -> Any:
        """Return a `tongsa.Trace`: every named tensor of one text, as `tongsa.trace(model, text)` does."""
        visualize = import_module("tongsa.visualize.trace")  # by name: it imports this module
        return visualize.trace(self, text, target=target, layers=layers, edits=edits)

    @torch.inference_mode()
    def attention(self, source: Sequence[int], target: Sequence[int]) -> dict[str, list[Matrix]]:
        """Return the attention weights along an output; teacher forcing gives the same as decoding step by step."""
        examples = Examples(Ragged([source]), Ragged([target]), appends_eos=self.task != "classification")
        batch = examples.batch(np.array([0])).to(self.device)
        recorded: RecordedAttention
        with record_attention() as recorded:
            self.model(batch.source, batch.decoder_input)
        return {role: [layer[0].float().cpu().numpy() for layer in layers] for role, layers in recorded.items()}

    @torch.inference_mode()
    def alignments(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Matrix]:
        """Return the alignment of each pair of source and target tokens: that of `mean_alignment`, for many at once."""
        examples = Examples(Ragged([source for source, _ in pairs]), Ragged([target for _, target in pairs]))
        alignments: dict[int, Matrix] = {}
        for indices in self._batches(examples.lengths):
            batch = examples.batch(indices).to(self.device)
            recorded: RecordedAttention
            with record_attention() as recorded:
                self.model.decoder.hidden(batch.decoder_input, self.model.encoder(batch.source))
            layers = {role: [layer.float().cpu().numpy() for layer in recorded[role]] for role in recorded}
            lengths = zip(indices.tolist(), batch.source.lengths.tolist(), batch.target.lengths.tolist(), strict=True)
            for row, (i, source_length, target_length) in enumerate(lengths):
                attention: dict[str, list[Matrix]] = {role: [layer[row] for layer in layers[role]] for role in layers}
                alignments[i] = mean_alignment(attention)[:target_length, :source_length]
        return [alignments[i] for i in range(len(pairs))]


def mean_alignment(attention: Mapping[str, Sequence[Matrix]]) -> Matrix:  # (target token and EOS, source token and EOS)
    """Return the cross-attention of each output token to each source token: the mean over layers and heads."""
    if not attention.get("cross"):
        raise InputError("alignment: this kind of model has no attention over the source. Use a model with attention.")
    mean: Matrix = np.mean(np.concatenate(attention["cross"]), axis=0, dtype=np.float32)
    return mean @ attention["hops"][0][0] if "hops" in attention else mean  # the slots are hops over the source
