"""One file for each paper, and the table of them. The laws in tests/laws run over this table."""

from tongsa.interface import Config
from tongsa.models.transformer import TransformerConfig

KINDS: dict[str, type[Config]] = {
    "transformer": TransformerConfig,
}
