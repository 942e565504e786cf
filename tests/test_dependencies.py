"""Licences of the packages that tongsa needs, and the document that lists them."""

import re

from dependencies import FORBIDDEN, ROOT, UNKNOWN, required_packages, sbom


def test_all_dependencies_have_a_permissive_licence() -> None:
    packages = required_packages(ROOT, ["serve", "fast"])
    assert {"torch", "safetensors", "sentencepiece", "starlette"} <= {package.name for package in packages}
    assert [package for package in packages if package.licence == UNKNOWN or FORBIDDEN.search(package.licence)] == []


def test_gpl_is_noticed_and_lgpl_is_not() -> None:
    assert (
        FORBIDDEN.search("GPL-3.0-only")
        and FORBIDDEN.search("GNU General Public License v3")
        and FORBIDDEN.search("AGPL-3.0")
    )
    assert not FORBIDDEN.search("LGPL-2.1-or-later") and not FORBIDDEN.search("GNU Lesser General Public License v2")


def test_the_document_has_each_package_once_with_its_address() -> None:
    packages = required_packages(ROOT, ["serve"])
    document = sbom(packages)
    addresses = [component["purl"] for component in document["components"]]  # type: ignore[attr-defined]
    assert len(set(addresses)) == len(packages)
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@[\w.%-]+", address) for address in addresses)
    assert document == sbom(packages)
