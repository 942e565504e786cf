"""Dependencies of tongsa with their licences, from the metadata of the installed packages; no network.

Usage: python tools/dependencies.py [--extra NAME ...] [--sbom]
Prints a table of packages, versions and licences; with --sbom a CycloneDX 1.5 document (JSON) instead.
Exit code 1 if a package has no licence in its metadata or a GPL one.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "tongsa"
UNKNOWN = "unknown"
MAX_LICENCE_CHARACTERS = 60
"""Some packages have the text of their licence where its name belongs."""
FORBIDDEN = re.compile(r"(?<![A-Z])A?GPL|(?<!Lesser )General Public License", re.IGNORECASE)
"""GPL and AGPL; LGPL libraries are linked dynamically."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str


def licence_of(fields: "metadata.PackageMetadata") -> str:
    """Return the SPDX expression of a package, or else its short licence field, or else its classifiers."""
    if expressions := fields.get_all("License-Expression"):
        return str(expressions[0])
    value = (fields.get_all("License") or [""])[0].strip()
    if value and "\n" not in value and len(value) <= MAX_LICENCE_CHARACTERS and value.upper() != "UNKNOWN":
        return str(value)
    classifiers = [text for text in fields.get_all("Classifier") or [] if text.startswith("License ::")]
    return ", ".join(text.rpartition(" :: ")[2] for text in classifiers) or UNKNOWN


def required_packages(root: str, extras: Sequence[str]) -> list[Package]:
    """Return all installed packages that `root` needs, directly or not, sorted by name."""
    packages: dict[str, Package] = {}
    visited: set[tuple[str, str]] = set()
    pending = [(root, extra) for extra in ("", *extras)]
    while pending:
        name, extra = pending.pop()
        if (name, extra) in visited:
            continue
        visited.add((name, extra))
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # an optional package that is not installed here
            continue
        if name != root:
            packages[name] = Package(name, distribution.version, licence_of(distribution.metadata))
        for requirement in map(Requirement, distribution.requires or []):
            if not requirement.marker or requirement.marker.evaluate({"extra": extra}):
                pending += [
                    (canonicalize_name(requirement.name), next_extra) for next_extra in ("", *requirement.extras)
                ]
    return [packages[name] for name in sorted(packages)]


def sbom(packages: Sequence[Package]) -> dict[str, object]:
    """Return a CycloneDX document. It has no time and no random number: the same packages give the same bytes."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": ROOT, "version": metadata.version(ROOT)}},
        "components": [
            {
                "type": "library",
                "name": package.name,
                "version": package.version,
                "purl": f"pkg:pypi/{package.name}@{package.version.replace('+', '%2B')}",
                "licenses": [{"license": {"name": package.licence}}],
            }
            for package in packages
        ],
    }


def main() -> int:
    """Print the table or the document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--extra", action="append", default=[], help="an extra of tongsa, such as serve")
    parser.add_argument("--sbom", action="store_true", help="CycloneDX JSON")
    options = parser.parse_args()
    packages = required_packages(ROOT, options.extra)
    if options.sbom:
        print(json.dumps(sbom(packages), indent=2))
    else:
        print("| package | version | licence |\n|---|---|---|")
        for package in packages:
            print(f"| {package.name} | {package.version} | {package.licence} |")
    problems = [package for package in packages if package.licence == UNKNOWN or FORBIDDEN.search(package.licence)]
    for package in problems:
        print(f"{package.name}: licence {package.licence}. Look at the package, or remove it.", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
