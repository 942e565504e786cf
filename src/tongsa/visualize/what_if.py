"""Edits of a recorded computation (what if), and greedy decoding with them.

An edit changes a value where it is recorded (a head off, a row of attention), or the tokens themselves. The decoder
then writes its own output: at each step the prefix runs through the edited model, and the likeliest token follows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tongsa.decoding.text_classifier import TextClassifier
from tongsa.errors import InputError
from tongsa.nn.dropout import Dropout
from tongsa.nn.recording import RecordedTensor
from tongsa.tokenization.special import BOS, EOS
from tongsa.tokenization.tokenizer import Tokenizer
from tongsa.visualize.edit import Edit, EditType
from tongsa.visualize.panels import AnyTextModel
from tongsa.visualize.trace_example import Example, RecordedRun, run_recorded

MAX_TOKENS = 128
"""Longest output of an edited model."""


class EditedTensors:
    """The changes of values in one forward pass; the masks of dropout are counted from its beginning."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = edits
        self.dropout_calls = 0

    def __call__(self, recorded: RecordedTensor) -> Tensor | None:
        value: Tensor | None = None
        for edit in self.edits:
            edited = self._apply(edit, recorded if value is None else replace(recorded, value=value))
            value = value if edited is None else edited
        return value

    def _apply(self, edit: Edit, recorded: RecordedTensor) -> Tensor | None:
        name, value, operands = recorded.name, recorded.value, recorded.operands
        match edit.type:
            case "head_off" if name == "attention.context" and recorded.path == edit.path:
                return _without_head(value, edit)
            case "scale_off" if name == "attention.scores":
                return value / operands["scale"]
            case "positions_off" if name == "embedding.position":
                return torch.zeros_like(value)
            case "positions_off" if name.startswith("attention.rotary"):
                return _operand(recorded, "x")
            case "norm_off" if _is_norm(name) and edit.path in ("", recorded.path):
                return _operand(recorded, "x")
            case "causal_off" if name == "attention.masked" and is_causal(recorded):
                return _operand(recorded, "S")
            case "dropout" if name in ("dropout.output", "attention.dropped"):
                return self._drop(recorded, edit.seed)
            case "temperature" if name == "output.logits":
                return value / edit.value
            case "attention_row" if name.endswith(".weights") and recorded.path == edit.path:
                return _with_row(recorded, edit)
        return None

    def _drop(self, recorded: RecordedTensor, seed: int) -> Tensor | None:
        rate = float(recorded.operands["rate"])
        self.dropout_calls += 1
        if not rate:
            return None
        # row by row from one stream: a longer prefix keeps the masks of the shorter one
        draws = np.random.default_rng((seed, self.dropout_calls)).random(recorded.value.shape)
        mask = torch.from_numpy(draws >= rate).to(recorded.value)
        return _operand(recorded, "x") * mask / (1 - rate)


def _operand(recorded: RecordedTensor, symbol: str) -> Tensor:
    operand = recorded.operands[symbol]
    assert isinstance(operand, Tensor)  # noqa: S101 - for the type: only numbers are not tensors
    return operand


def _is_norm(name: str) -> bool:
    return name.startswith("norm.") or name == "attention.qk_norm"


def is_causal(recorded: RecordedTensor) -> bool:
    return recorded.path.startswith("decoder") and "self_attention" in recorded.path


def _without_head(value: Tensor, edit: Edit) -> Tensor:  # (batch, head, query, width)
    if edit.head > value.shape[1]:
        raise InputError(f"head {edit.head}: {edit.path} has {value.shape[1]} heads. Give a smaller number.")
    edited = value.clone()
    edited[:, edit.head - 1] = 0
    return edited


def _with_row(recorded: RecordedTensor, edit: Edit) -> Tensor | None:  # (batch, head, query, key), or without head
    """Replace one row; a prefix without this query is left as it is."""
    edited = recorded.value.clone()
    rows = edited if edited.dim() == 4 else edited.unsqueeze(1)
    row = edit.query - 1 if recorded.time is None else 0 if recorded.time == edit.query - 1 else rows.shape[2]
    if edit.head > rows.shape[1]:
        raise InputError(f"head {edit.head}: {edit.path} has {rows.shape[1]} heads. Give a smaller number.")
    if row >= rows.shape[2]:
        return None
    weights = torch.tensor(edit.weights[: rows.shape[3]]).to(edited)
    if weights.sum() <= 0:
        return None  # the keys with weight are not written yet
    rows[:, edit.head - 1, row] = 0
    rows[:, edit.head - 1, row, : len(weights)] = weights / weights.sum()
    return edited


def possible_edits(model: AnyTextModel, recorded: Iterable[RecordedTensor]) -> list[EditType]:
    """Return the types of edits that change something in this model."""
    tensors = list(recorded)
    names = {tensor.name for tensor in tensors}
    possible: dict[EditType, bool] = {
        "head_off": "attention.context" in names,
        "scale_off": any(item.name == "attention.scores" and item.operands["scale"] != 1 for item in tensors),
        "positions_off": "attention.rotary_query" in names
        or any(tensor.value.any() for tensor in tensors if tensor.name == "embedding.position"),
        "norm_off": any(map(_is_norm, names)),
        "causal_off": any(tensor.name == "attention.masked" and is_causal(tensor) for tensor in tensors),
        "dropout": any(isinstance(module, Dropout) and module.rate > 0 for module in model.model.modules()),
        "temperature": True,
        "source_token": model.task != "language_model",
        "source_text": model.task != "language_model",
        "force": model.task != "classification",
        "attention_row": any(name.endswith(".weights") for name in names),
    }
    return [edit_type for edit_type, is_possible in possible.items() if is_possible]


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """Return the id of a token: as the page shows it, or as a text that is one token."""
    names = tokenizer.token_strings(range(len(tokenizer)))
    if token in names:
        return names.index(token)
    ids = tokenizer.encode_all([token])[0]
    if len(ids) != 1:
        raise InputError(f"token {token!r}: not one token of the vocabulary. Choose one of the tokens on the page.")
    return ids[0]


def edited_source(model: AnyTextModel, example: Example, edits: Sequence[Edit]) -> Example:
    """Return the example with the changes of its source."""
    for edit in edits:
        if edit.type == "source_text":
            ids = model.source_tokenizer.encode_all([edit.text])[0][: model.max_positions - 1]
            example = replace(example, text=edit.text, source=(*ids, EOS))
        elif edit.type == "source_token":
            source = list(example.source)
            if not 0 <= edit.index < len(source):
                raise InputError(f"source_token {edit.index}: the source has {len(source)} tokens. Count from 0.")
            source[edit.index] = token_id(model.source_tokenizer, edit.token)
            text = model.source_tokenizer.decode(source)
            example = replace(example, text=text, source=tuple(source))
    return example


def run_edited(model: AnyTextModel, example: Example, edits: Sequence[Edit]) -> tuple[Example, RecordedRun]:
    """Return the example with the output of the edited model, and its recorded computation."""
    example = edited_source(model, example, edits)
    forced = {edit.step: token_id(model.target_tokenizer, edit.token) for edit in edits if edit.type == "force"}
    if isinstance(model, TextClassifier):
        run = run_recorded(model.model, example, [EditedTensors(edits)])
        return _with_output(model, example, (int(run.logits[0].argmax()),), run), run
    if model.task == "language_model" or example.is_forced:
        outputs = tuple(forced.get(step, token) for step, token in enumerate(example.outputs, 1))
    else:
        outputs = _decode(model, example, edits, forced)
    example = replace(example, inputs=(BOS, *outputs[:-1]), outputs=outputs)
    run = run_recorded(model.model, example, [EditedTensors(edits)])
    return _with_output(model, example, outputs, run), run


def _decode(model: AnyTextModel, example: Example, edits: Sequence[Edit], forced: Mapping[int, int]) -> tuple[int, ...]:
    """Return the tokens of greedy decoding, </s> included."""
    max_tokens = min(model.max_positions - 1, MAX_TOKENS, 2 * len(example.source) + 10)
    outputs: list[int] = []
    while len(outputs) < max_tokens and (not outputs or outputs[-1] != EOS):
        step = len(outputs) + 1
        if step not in forced:
            prefix = replace(example, inputs=(BOS, *outputs))
            logits = run_recorded(model.model, prefix, [EditedTensors(edits)]).logits[-1]
            outputs.append(int(logits.argmax()))
        else:
            outputs.append(forced[step])
    return tuple(outputs)


def _with_output(model: AnyTextModel, example: Example, outputs: tuple[int, ...], run: RecordedRun) -> Example:
    log_probs = run.logits.log_softmax(dim=-1)[torch.arange(len(outputs)), list(outputs)]
    return replace(
        example,
        outputs=outputs,
        output_text=model.target_tokenizer.decode(outputs),
        log_prob=float(log_probs.sum()),
        score=None,
        is_forced=True,
    )
