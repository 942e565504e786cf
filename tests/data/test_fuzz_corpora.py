"""Files that the fuzz of the corpus readers found."""

from pathlib import Path

from tongsa.data.corpus import read_pairs
from tongsa.data.ledger import Ledger

MARK_INSIDE = bytes.fromhex(
    "000a0009000d00200009000a002b7309000afffe26002000610020003dd800de2000260061006d0070003b0009003dd800de"
    "2000fffe0a0009003dd800de20000000200061002000260061006d0070003b000a005c002000260061006d0070003b002000"
    "6e006100ef007600650020006e006100ef007600650020005c0009003c0062003e0020002b732000fffe200009000a000900"
    "2000090020002b732000610009000a0026002000090020002b732000220020006500010309003dd800de20005c00"
)


def test_a_byte_order_mark_inside_a_file_is_no_mark_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_bytes(MARK_INSIDE)
    ledger = Ledger(None)
    pairs = list(read_pairs([path], ledger, encoding="auto"))
    assert ledger.kept == len(pairs) and ledger.read == ledger.kept + sum(ledger.dropped.values())
