"""The text of a trace as token ids, for a translator, a classifier or a language model; and its recorded run."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tongsa.batch import Padded, pad
from tongsa.data.normalize import normalize
from tongsa.decoding.generator import TextGenerator
from tongsa.decoding.text_classifier import TextClassifier
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.nn.recording import Recorder, TensorEdit, recording
from tongsa.tokenization.special import BOS, EOS
from tongsa.visualize.examples import translate_sentence
from tongsa.visualize.panels import AnyTextModel


@dataclass(frozen=True, kw_only=True)
class Example:
    """One text as token ids: what the encoder reads, what the decoder reads and what it writes."""

    text: str
    source: tuple[int, ...] = ()
    """With </s>; empty for a language model."""
    inputs: tuple[int, ...]
    """Decoder input, <s> first."""
    outputs: tuple[int, ...]
    """Output of each step: tokens with </s>, or one label."""
    output_text: str
    log_prob: float | None = None
    score: float | None = None
    is_forced: bool = False
    """The output was given, not searched."""
    truncated: bool = False
    """The text was longer than the model can read."""


@dataclass(frozen=True)
class RecordedRun:
    """A recorded forward pass."""

    recorder: Recorder
    memory: Tensor  # (1, slot, width)
    memory_mask: Tensor  # (1, slot)
    logits: Tensor  # (step, token)


@torch.inference_mode()
def run_recorded(model: EncoderDecoder, example: Example, edits: Sequence[TensorEdit] = ()) -> RecordedRun:
    """Run encoder and decoder on one example and record all tensors."""
    device = next(model.parameters()).device
    source: Padded = pad([example.source or (EOS,)]).to(device)
    with recording(model, edits=edits) as recorder:
        recorder.enter("encoder")
        memory = model.encoder(source)
        recorder.enter("decoder")
        logits = model.decoder(pad([example.inputs]).to(device), memory)
    return RecordedRun(recorder, memory.slots, memory.mask, logits[0].float())


def make_example(model: AnyTextModel, text: str, target: str | None = None) -> Example:
    """Return the tokens of a text and of its output, the model's own or a given one."""
    if not normalize(text):
        raise InputError("trace: the text is empty. Give a sentence.")
    if isinstance(model, TextClassifier):
        return _classification(model, text, target)
    if isinstance(model, TextGenerator):
        return _language_model(model, text, target)
    return _translation(model, text) if target is None else _forced_translation(model, text, target)


def _classification(model: TextClassifier, text: str, target: str | None) -> Example:
    result = model(text)
    label = result.label if target is None else target
    if label not in result.probabilities:
        labels = ", ".join(sorted(result.probabilities)[:8])
        raise InputError(f"target {label!r}: not a label of this model. Use one of: {labels}.")
    return Example(
        text=text,
        source=_source_tokens(model, text),
        inputs=(BOS,),
        outputs=tuple(model.target_tokenizer.encode_all([label])[0]),
        output_text=label,
        is_forced=target is not None,
        truncated=result.truncated,
    )


def _language_model(model: TextGenerator, text: str, target: str | None) -> Example:
    if target is not None:
        raise InputError("target: a language model has no separate output. Give the whole text as TEXT.")
    tokens = model.target_tokenizer.encode_all([normalize(text)])[0]
    kept = tokens[: model.max_positions - 1]
    return Example(
        text=text,
        inputs=(BOS, *kept),
        outputs=(*kept, EOS),
        output_text=normalize(text),
        truncated=len(kept) < len(tokens),
    )


def _translation(model: Translator, text: str) -> Example:
    translation = translate_sentence(model, text)
    _, target = translation.token_ids
    return Example(
        text=text,
        source=_source_tokens(model, text),
        inputs=(BOS, *target),
        outputs=(*target, EOS),
        output_text=translation.text,
        log_prob=translation.log_prob,
        score=translation.score,
        truncated=translation.truncated,
    )


def _forced_translation(model: Translator, text: str, target: str) -> Example:
    tokens = model.target_tokenizer.encode_all([normalize(target)])[0][: model.max_positions - 1]
    source = _source_tokens(model, text)
    return Example(
        text=text,
        source=source,
        inputs=(BOS, *tokens),
        outputs=(*tokens, EOS),
        output_text=normalize(target),
        log_prob=sum(model.score_tokens([(source[:-1], tokens)])[0]),
        is_forced=True,
        truncated=len(source) > model.max_positions - 1,
    )


def _source_tokens(model: AnyTextModel, text: str) -> tuple[int, ...]:
    return (*model.source_tokenizer.encode_all([text])[0][: model.max_positions - 1], EOS)
