"""Fuzz of the corpus readers: damaged and hostile files of all formats, in this process with a watchdog.

Usage: python tools/fuzz_corpora.py [--seed N] [--cases N] [--minutes M] [--first N]
A case writes a file (or two parallel ones), damages it and reads it. It holds if the reader ends in a few seconds with
pairs or with an InputError of one sentence, and if kept + dropped = read. Prints a table by format; exit code 1 if a
case fell. A case is a function of the seed and its number: --first N --cases 1 repeats one.
"""

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from attacks.damage import damage_bytes
from attacks.outcomes import message_fault
from corpus_writers import BINARY_WRITERS, COMPRESSORS, TEXT_WRITERS, Pairs
from tongsa.data.corpus import read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.errors import InputError

CASE_SECONDS = 20
PARALLEL = "parallel text"
FORMATS = (*TEXT_WRITERS, *BINARY_WRITERS, PARALLEL)
WORDS = (
    "a",
    "고양이",
    "猫",
    "naïve",
    "\0",
    "\t",
    "\r",
    "\ufeff",
    '"',
    "\\",
    "<b>",
    "&amp;",
    "&",
    "\u2028",
    "e\u0301",
    "😀",
    "",
)
ENTITY_BOMB = (
    '<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)
EXTERNAL_ENTITY = '<?xml version="1.0"?><!DOCTYPE t [<!ENTITY i SYSTEM "file:///etc/passwd">]>'


class HangError(BaseException):
    """A case that took longer than `CASE_SECONDS`."""


def random_pairs(rng: Random) -> Pairs:
    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(0, 6)))

    return [(text(), text()) for _ in range(rng.randint(0, 8))]


def damage_text(content: bytes, rng: Random) -> bytes:
    """Apply one of the faults of real files."""
    lines = content.split(b"\n")
    faults: list[Callable[[], bytes]] = [
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"\t", rng.choice([b",", b";", b"|", b"  ", b""])),
        lambda: content.replace(b" ", b"\0"),
        lambda: content.decode(errors="replace").encode(rng.choice(["utf-16", "utf-16-le", "utf-32"])),
        lambda: content.decode(errors="replace").encode(rng.choice(["cp949", "shift_jis", "latin-1"]), "replace"),
        lambda: b"\n".join(rng.sample(lines, len(lines))),
        lambda: b"\n".join(line[: rng.randint(0, len(line))] for line in lines),
        lambda: content + b'"' * rng.randint(1, 3),
        lambda: content + b"x" * rng.choice([1 << 10, (1 << 20) + 5]),
        lambda: b"[" * rng.randint(1, 5000) + content,
        lambda: content.replace(b"<seg>", b"<seg>" * 50).replace(b"<source>", b"<source>&i;"),
        lambda: ENTITY_BOMB.encode() + content.partition(b"?>")[2].replace(b"<seg>", b"<seg>&i;"),
        lambda: EXTERNAL_ENTITY.encode() + content.partition(b"?>")[2].replace(b"<seg>", b"<seg>&i;"),
        lambda: b"",
    ]
    return rng.choice(faults)()


def damage_more(content: bytes, rng: Random) -> bytes:
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        content = (damage_text if rng.random() < 0.6 else damage_bytes)(content, rng)
    return content


def write_case(rng: Random, folder: Path) -> tuple[str, list[Path]]:
    """Write the files of a case; return its format and the files."""
    name, pairs = rng.choice(FORMATS), random_pairs(rng)
    suffix = rng.choice(["", "", *COMPRESSORS])
    if name == PARALLEL:
        sides = ["".join(f"{pair[side]}\n" for pair in pairs).encode() for side in (0, 1)]
        paths = [folder / f"c.en{suffix}", folder / f"c.ko{suffix}"]
    elif name in BINARY_WRITERS:
        sides = [BINARY_WRITERS[name][1](pairs)]
        paths = [folder / f"c{BINARY_WRITERS[name][0]}{suffix}"]
    else:
        sides = [TEXT_WRITERS[name][1](pairs).encode()]
        paths = [folder / f"c{TEXT_WRITERS[name][0]}{suffix}"]
    for path, content in zip(paths, sides, strict=True):
        zeros = bytes(rng.choice([10, 1 << 22])) if rng.random() < 0.01 else b""
        packed = COMPRESSORS[suffix](zeros or damage_more(content, rng))
        if suffix and rng.random() < 0.3:
            packed = packed[: rng.randint(0, len(packed))] if rng.random() < 0.5 else damage_bytes(packed, rng)
        path.write_bytes(packed)
    return name, paths


def run_case(number: int, seed: int, folder: Path) -> tuple[str, str, str]:
    """Return the format, the outcome and a reason."""
    rng = Random(f"{seed} {number}")
    name, paths = write_case(rng, folder)
    read = rng.choice([read_pairs, read_pairs, read_pairs, read_texts])
    encoding = rng.choice([*["utf-8"] * 10, *["auto"] * 5, "cp949", "utf-16", "no-such-encoding"])
    columns = rng.choice([*[(1, 2)] * 10, (2, 1), (3, 1), (0, 1)])
    languages = rng.choice([("", ""), ("en", "ko"), ("en", "ko"), ("xx", "")])
    ledger = Ledger(None)
    signal.alarm(CASE_SECONDS)
    try:
        header = rng.random() < 0.1
        for _ in read(paths, ledger, columns=columns, languages=languages, header=header, encoding=encoding):
            pass
        outcome, reason = "read", ""
    except InputError as error:
        outcome, reason = ("refused", "") if not message_fault(str(error)) else ("bad message", repr(str(error)[:300]))
    except HangError:
        outcome, reason = "hang", ""
    except Exception as error:  # noqa: BLE001 - that is what is counted
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {str(error)[:150]!r} ({Path(where.filename).name}:{where.lineno})"
        outcome = "traceback"
    finally:
        signal.alarm(0)
    if ledger.kept + sum(ledger.dropped.values()) != ledger.read:
        outcome, reason = "wrong counts", f"{ledger.kept} + {ledger.dropped} != {ledger.read}"
    for path in paths:
        path.unlink()
    return name, outcome, reason


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=5.0)
    options = parser.parse_args()

    def hang(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGALRM, hang)
    outcomes: Counter[tuple[str, str]] = Counter()
    deadline, number = time.monotonic() + 60 * options.minutes, options.first
    with tempfile.TemporaryDirectory() as folder:
        while number < options.first + options.cases and time.monotonic() < deadline:
            name, outcome, reason = run_case(number, options.seed, Path(folder))
            outcomes[name, outcome] += 1
            if outcome not in ("read", "refused"):
                print(f"seed {options.seed} case {number}, {name}: {outcome} {reason}", flush=True)
            number += 1
    columns = ("read", "refused", "traceback", "hang", "wrong counts")
    print(f"{'format':20}" + "".join(f"{column:>14}" for column in columns))
    for name in FORMATS:
        print(f"{name:20}" + "".join(f"{outcomes[name, column]:14,}" for column in columns))
    fallen = sum(count for (_, outcome), count in outcomes.items() if outcome not in ("read", "refused"))
    print(f"seed {options.seed}: {sum(outcomes.values()):,} cases from {options.first:,}, {fallen:,} fell")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
