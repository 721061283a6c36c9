#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""sbom_test.py PREFIX: the bill of materials of an installed tree names every library that the tree's files link."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hardening import elf_files, readelf  # noqa: E402

# The C library and its loader are the system itself; the last are ours.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread)\.so|ld-linux|liblacuna_")


def linked(prefix):
    names = {}
    for path in elf_files(prefix):
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path)):
            if not SYSTEM.match(name):
                names.setdefault(name.split(".so")[0], path)
    return names


def main():
    prefix = sys.argv[1]
    found = [os.path.join(place, name) for place, _, names in os.walk(prefix) for name in names if name.endswith(".cdx.json")]
    assert len(found) == 1, f"{prefix}: one bill of materials was expected, found: {found}"
    with open(found[0], encoding="utf-8") as file:
        bill = json.load(file)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5"), "not a CycloneDX 1.5 bill"
    named = set()
    references = [bill["metadata"]["component"]["bom-ref"]]
    for component in bill["components"]:
        for key in ("type", "bom-ref", "name", "version", "licenses", "purl"):
            assert component.get(key), f"{component.get('name')}: no {key}"
        assert component["version"] != "unknown", f"{component['name']}: its version is unknown"
        references.append(component["bom-ref"])
        named |= {p["value"] for p in component["properties"] if p["name"] == "lacuna:library"}
    assert len(references) == len(set(references)), "two components have one reference"
    assert set(bill["dependencies"][0]["dependsOn"]) == set(references[1:]), "a component is not a dependency"
    missing = {name: path for name, path in linked(prefix).items() if name not in named}
    assert not missing, f"not in the bill of materials (cmake/LacunaSbom.cmake): {missing}"
    print(f"{len(bill['components'])} components, {len(named)} libraries")


if __name__ == "__main__":
    main()
