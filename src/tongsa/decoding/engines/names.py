"""Names of the decoding engines. No torch: the command line needs them for its options."""

from typing import Literal, get_args

EngineName = Literal["auto", "torch", "torch-int8", "ctranslate2", "ctranslate2-int8"]
"""`auto` is CTranslate2 where it is installed and supports the model and the request, and torch otherwise.

Both give the same outputs. `torch-int8` and `ctranslate2-int8` have 8-bit weights, so their outputs may differ.
"""
ENGINE_NAMES: tuple[EngineName, ...] = get_args(EngineName)
