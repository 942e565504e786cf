"""Route /v1/trace: every named tensor of one text, with edits (what if) and the contrast of two tokens (why).

The response is described in trace_schemas.py.
"""

from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from tongsa.data.normalize import normalize
from tongsa.server.api.schemas import NamedModelRequest, Sentence
from tongsa.server.api.v1 import ALL_TASKS, _run_unbatched, read_request
from tongsa.server.api.validation import RequestModel
from tongsa.server.errors import too_long_error
from tongsa.server.http import get_context
from tongsa.visualize.edit import EditType

MAX_TRACE_TOKENS = 80
"""Longest text and longest target: a trace holds every tensor of every token."""


class EditRequest(RequestModel):
    """One change of the computation; each type reads some of the fields."""

    type: EditType
    path: str = ""
    """Module of an attention (head_off, attention_row) or of a norm (norm_off; without it all norms)."""
    head: Annotated[int, Field(ge=1)] = 1
    """Head, from 1 (head_off, attention_row)."""
    query: Annotated[int, Field(ge=1)] = 1
    """Row of the attention, from 1 (attention_row)."""
    weights: list[float] = Field(default_factory=list, max_length=512)
    """New weights of the row, divided by their sum (attention_row)."""
    seed: Annotated[int, Field(ge=0, le=2**31)] = 1
    """Seed of the dropout masks (dropout)."""
    value: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Temperature (temperature)."""
    index: Annotated[int, Field(ge=0)] = 0
    """Source token, from 0 (source_token)."""
    step: Annotated[int, Field(ge=1)] = 1
    """Step of the output, from 1 (force)."""
    token: Annotated[str, Field(max_length=200)] = ""
    """Token of the vocabulary (source_token, force)."""
    text: Sentence | None = None
    """New source (source_text)."""


class ContrastRequest(RequestModel):
    """Two tokens at one step."""

    step: Annotated[int, Field(ge=1)]
    a: Annotated[str, Field(max_length=200)]
    b: Annotated[str, Field(max_length=200)]


class TraceRequest(NamedModelRequest):
    text: Sentence
    """One sentence."""
    target: Sentence | None = None
    """Output to trace; by default the model's own. For a classifier a label."""
    layers: Annotated[list[int], Field(max_length=64)] | None = None
    """Numbers of the layers, from 1; by default all."""
    edits: list[EditRequest] = Field(default_factory=list, max_length=16)
    """Changes of the computation. The edited model decodes greedily."""
    contrast: ContrastRequest | None = None
    """Split the difference of the logits of two tokens over the parts of the model."""


async def trace(request: Request) -> Response:
    query = await read_request(request, TraceRequest)
    queue = get_context(request).models.select(query.model, tasks=ALL_TASKS)
    tokenizer = queue.model.text_model.source_tokenizer
    texts = [query.text, query.target or "", *(edit.text or "" for edit in query.edits)]
    token_count = max(len(tokens) for tokens in tokenizer.encode_all([normalize(text) for text in texts]))
    if token_count > MAX_TRACE_TOKENS:
        raise too_long_error(
            f"{token_count} tokens in one text, but at most {MAX_TRACE_TOKENS} in a trace. Shorten it."
        )

    def compute(text_model: Any) -> Any:
        from tongsa.visualize.trace import trace as record_trace

        edits = [edit.model_dump(exclude_unset=True) for edit in query.edits]
        result = record_trace(text_model, query.text, target=query.target, layers=query.layers, edits=edits)
        data = result.data
        if query.contrast is not None:
            contrast = result.contrast(query.contrast.step, query.contrast.a, query.contrast.b)
            data = data | {"contrasts": [contrast]}
        return data

    return await _run_unbatched(request, queue, compute, query.text, query.target or "")
