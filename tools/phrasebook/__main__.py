"""Write the pairs that tongsa ships: python -m phrasebook [FILE], run in tools/."""

import gzip
import sys
from pathlib import Path

from phrasebook.splits import as_tsv, split_pairs

SHIPPED = Path(__file__).parents[2] / "src" / "tongsa" / "demo" / "pairs.tsv.gz"


def compress(text: str) -> bytes:
    """Return gzip data without time or name: the same text gives the same bytes."""
    return gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    text = as_tsv(split_pairs())
    if path.exists() and gzip.decompress(path.read_bytes()).decode("utf-8") == text:
        sys.stdout.write(f"{path}: up to date\n")
        return
    path.write_bytes(compress(text))
    sys.stdout.write(f"{path}: {text.count(chr(10)):,} pairs, {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
