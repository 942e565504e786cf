"""`tongsa data get`: public data sets. The only command that uses the network."""

import argparse
import sys
import time
from pathlib import Path

from tongsa.cli.output import print_result, print_status
from tongsa.data.public_sets.get import get_set
from tongsa.data.public_sets.table import DATA_FOLDER, PublicSet, find_set, public_sets

HELP = "get a public data set, with checksum and licence"
DESCRIPTION = """\
Get a public data set of the recipes. Its licence is shown first; its checksums are checked at the end.

  tongsa data get                                 list the sets
  tongsa data get multi30k                        download it into data/multi30k
  tongsa data get multi30k --from ~/downloads     take the files from a folder, without the network

An interrupted download goes on with the same command. This is the only command that uses the network.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of the set; without it the sets are listed")
    parser.add_argument("--from", dest="source", metavar="FOLDER", type=Path, help="folder with the files of the set")
    parser.add_argument(
        "-o", "--output", dest="folder", type=Path, metavar="FOLDER", help="folder to write (default: data/NAME)"
    )


def run(options: argparse.Namespace) -> None:
    if options.name is None:
        for public_set in public_sets().values():
            description = f"{public_set.title}; licence: {public_set.license}"
            print_result(f"{public_set.name:20} {public_set.size_text:>15}  {description}")
        return
    public_set = find_set(options.name)
    folder = options.folder or Path(DATA_FOLDER) / public_set.name
    print_status(
        f"{public_set.title}\nhome: {public_set.home}\nlicence: {public_set.license}\nsize: {public_set.size_text}"
    )
    if not get_set(public_set, folder, options.source, _Progress()):
        print_status(f"{folder}: already there, checksums right")
        return
    _report_unknown(public_set)
    print_result(str(folder))


def _report_unknown(public_set: PublicSet) -> None:
    if unknown := public_set.unknown_checksums:
        print_status(f"checksum not known before, recorded in SHA256SUMS: {', '.join(unknown)}")


class _Progress:
    """A line with the received bytes, at most twice a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, received: int, address: str) -> None:
        if sys.stderr.isatty() and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.5
            sys.stderr.write(f"\r{received / 1e6:,.1f} MB of {address}")
