"""Strict validation of requests: field types with limits, and errors as sentences with the remedy.

Upper limits of fields are settings of the server (RequestLimits): validation takes them from its context, and the
JSON schema of a field names the limit, for openapi.py to fill in.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError, ValidationInfo
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from tongsa.config import did_you_mean
from tongsa.data.normalize import normalize
from tongsa.server.config import RequestLimits
from tongsa.server.errors import MAX_QUOTED_CHARACTERS, APIError, bad_request_error, shorten, too_long_error

MAX_COMBINING_MARKS = 200
"""Consecutive combining marks; real text has two or three. Normalization needs quadratic time for them."""
MAX_JSON_VALUES = 40_000
"""Lists, objects and fields of a body, counted by their characters before it is parsed: texts may have them too."""
MAX_FIELDS = 100
"""Fields of an object: validation makes an error for each unknown one."""
TOO_LONG = "too_long"
"""Type of the validation errors that become 413; all others become 422."""
EXPECTED = {
    "string_type": "text. Send a string",
    "int_type": "a whole number. Send one such as 1",
    "float_type": "a number. Send one such as 0.5",
    "bool_type": "true or false. Send one of them",
    "list_type": "a list. Send a JSON array",
    "model_type": "an object. Send a JSON object",
}
"""pydantic's error type → what the field needs, and the remedy."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
"""Needed for a surrogate in JSON, since UTF-8 has none."""


def validation_error(message: str, error_type: str = "bad_request") -> PydanticCustomError:
    return PydanticCustomError(error_type, "{message}", {"message": message})


@dataclass(frozen=True)
class Limit:
    """Upper limit of a field, by its name in RequestLimits. Without a validation context there is no limit."""

    name: str
    keyword: ClassVar[str]
    """Keyword of JSON Schema for this limit."""

    def maximum(self, info: ValidationInfo) -> float:
        return getattr(info.context, self.name) if info.context else math.inf

    def check(self, value: Any, info: ValidationInfo) -> Any:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {self.keyword: self.name}


@dataclass(frozen=True)
class NumberLimit(Limit):
    minimum: int = 1
    keyword = "maximum"

    def check(self, value: int, info: ValidationInfo) -> int:
        maximum = self.maximum(info)
        if not self.minimum <= value <= maximum:
            raise validation_error(f"{value} is out of range. Send a whole number from {self.minimum} to {maximum}.")
        return value

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return super().__get_pydantic_json_schema__(schema, handler) | {"minimum": self.minimum}


@dataclass(frozen=True)
class TextLimit(Limit):
    required: Literal["visible", "visible or empty", "nothing"] = "visible"
    """Content that the text needs."""
    keyword = "maxLength"

    def check(self, value: str, info: ValidationInfo) -> str:
        if len(value) > (maximum := self.maximum(info)):
            raise validation_error(
                f"{len(value):,} characters, but at most {maximum:,} are allowed. Shorten it.", TOO_LONG
            )
        check_marks(value)
        is_optional = self.required == "nothing" or (self.required == "visible or empty" and not value)
        if not is_optional and not normalize(value):  # last: its time is quadratic in the number of marks
            raise validation_error("empty text. Send at least one visible character.")
        return value


@dataclass(frozen=True)
class ListLimit(Limit):
    keyword = "maxItems"

    def check(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, list) and len(value) > (maximum := self.maximum(info)):
            message = f"{len(value):,} entries, but at most {maximum:,} in one request. Send several requests."
            raise validation_error(message, TOO_LONG)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # before the entries: a huge list is rejected without reading them
        return core_schema.with_info_before_validator_function(self.check, handler(source))


@dataclass(frozen=True)
class TextsLimit(ListLimit):
    """One text or a list of texts; a single text becomes a list."""

    def check(self, value: Any, info: ValidationInfo) -> Any:
        return super().check([value] if isinstance(value, str) else value, info)

    def check_texts(self, texts: list[str], info: ValidationInfo) -> list[str]:
        if not texts:
            raise validation_error("empty list. Send at least one text.")
        total, maximum = sum(map(len, texts)), info.context.characters if info.context else math.inf
        if total > maximum:
            message = f"{total:,} characters, but at most {maximum:,} in one request. Send several requests."
            raise validation_error(message, TOO_LONG)
        for text in texts:
            check_marks(text)
        return texts

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = super().__get_pydantic_core_schema__(source, handler)
        return core_schema.with_info_after_validator_function(self.check_texts, schema)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        texts = super().__get_pydantic_json_schema__(schema, handler) | {"minItems": 1}
        return {"anyOf": [{"type": "string", "maxLength": "characters"}, texts]}


def check_marks(text: str) -> None:
    if has_too_many_marks(text):
        raise validation_error(f"more than {MAX_COMBINING_MARKS} combining marks on one letter. Remove them.")


def has_too_many_marks(text: str) -> bool:
    marks = 0
    for character in () if text.isascii() else text:
        category = unicodedata.category(character)[0]
        if category == "M":
            marks += 1
            if marks > MAX_COMBINING_MARKS:
                return True
        elif category != "C" or character.isspace():  # normalization removes control characters and joins the marks
            marks = 0
    return False


class RequestModel(BaseModel):
    """A JSON object with these fields and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)


R = TypeVar("R", bound=RequestModel)


def parse_request(request_type: type[R], content: Mapping[str, Any], limits: RequestLimits) -> R:
    """Validate a request. Raise 422 or 413 for the first field that is wrong. null means the default."""
    values = {key: value for key, value in content.items() if value is not None}
    try:
        return request_type.model_validate(values, context=limits)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        # an unknown field explains a missing one
        first = next((details for details in errors if details["type"] == "extra_forbidden"), errors[0])
        message = _error_message(first, request_type)
        raise (too_long_error(message) if first["type"] == TOO_LONG else bad_request_error(message)) from None


def _error_message(error: ErrorDetails, request_type: type[RequestModel]) -> str:
    """Return a sentence of the form `field: what is wrong. What to do.`."""
    keys = (key if isinstance(key, int) else shorten(key, MAX_QUOTED_CHARACTERS) for key in error["loc"])
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    error_type, context = error["type"], error.get("ctx", {})
    if "message" in context:
        return f"{path}: {context['message']}" if path else str(context["message"])
    if error_type == "missing":
        return f"{path}: this field is missing. /docs describes {request_type.__name__}."
    if error_type == "extra_forbidden":
        name = str(error["loc"][-1])[:MAX_QUOTED_CHARACTERS]  # comparing names takes quadratic time
        return f"{path}: unknown field; {did_you_mean(name, _known_fields(request_type, error['loc']))}"
    value = shorten(json.dumps(error["input"], ensure_ascii=False, default=str), MAX_QUOTED_CHARACTERS)
    if error_type == "literal_error":
        return f"{path}: {value} is not {context['expected']}. Send one of them."
    return f"{path}: {value} is not {EXPECTED.get(error_type, 'valid. /docs describes the field')}."


def _known_fields(request_type: type[RequestModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the names of the fields at the location of an unknown one: the request's, or those of a list entry."""
    if len(location) == 1:
        return list(request_type.model_fields)
    (entry_type,) = get_args(request_type.model_fields[str(location[0])].annotation)
    return list(entry_type.model_fields)


def parse_json_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object. Lone surrogates, which UTF-8 cannot encode, become U+FFFD."""
    try:
        content = parse_json(body)
    except ValueError:
        message = 'The body is not JSON in UTF-8. Send an object such as {"text": "…"}.'
        raise APIError(400, "bad_request", message) from None
    if not isinstance(content, dict):
        message = 'The body is JSON, but not an object. Send one such as {"text": "…"}.'
        raise APIError(400, "bad_request", message)
    if len(content) > MAX_FIELDS:
        raise too_long_error(f"The body has {len(content):,} fields, but no request has so many. See /docs.")
    return content


def parse_json(text: bytes) -> Any:
    """Parse JSON. Raise ValueError if it is malformed, and 413 if it has so many values that it would take long."""
    if sum(text.count(mark) for mark in (b"[", b"{", b'":')) > MAX_JSON_VALUES:
        raise too_long_error(f"The body has more than {MAX_JSON_VALUES:,} lists, objects and fields. Send fewer.")
    try:
        content = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
        return _replace_surrogates(content) if _SURROGATE_ESCAPE.search(text) else content
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _reject_constant(name: str) -> Any:
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value
