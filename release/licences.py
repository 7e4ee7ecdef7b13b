"""Write docs/licences.md: the licence of each package that Tacit and its extras install.

`python -m release.licences` reads the packages' own declarations, in an environment that has every
extra (`make setup`). Versions are those of constraints.txt.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "licences.md"
_CLASSIFIER = "License :: OSI Approved :: "
_KNOWN = (
    ("apache", "Apache-2.0"),
    ("mozilla", "MPL-2.0"),
    ("psf", "PSF-2.0"),
    ("python software", "PSF-2.0"),
    ("isc", "ISC"),
    ("3-clause", "BSD-3-Clause"),
    ("bsd 3", "BSD-3-Clause"),
    ("2-clause", "BSD-2-Clause"),
    ("bsd 2", "BSD-2-Clause"),
    ("bsd", "BSD"),
    ("mit", "MIT"),
    ("unlicense", "Unlicense"),
)
"""Words in free text, and the SPDX identifier that they stand for; the first match counts."""

HEAD = """\
# Licences

Tacit has the licence Apache-2.0. This page lists the packages that Tacit and its extras install, directly or through others. Each
licence is the one that the package states in its metadata. `make sbom` writes this page, and a bill of materials in CycloneDX form.

"""


def list_extras() -> dict[str, list[Requirement]]:
    """Direct requirements of the core ("") and of each extra that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        extra: [Requirement(line) for line in lines if not line.startswith("tacit[")]
        for extra, lines in found.items()
        if extra not in ("dev", "docs")
    }


def list_packages(wanted: list[Requirement]) -> set[str]:
    """All packages that requirements install, directly or through others."""
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if name in found:
            continue
        found.add(name)
        extras = each.extras or {""}
        waiting += [
            one
            for one in map(Requirement, _read_requires(name))
            if one.marker is None or any(one.marker.evaluate({"extra": x}) for x in extras)
        ]
    return found


def _read_requires(name: str) -> list[str]:
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        return []


def read_licence(name: str) -> str:
    """Licence of an installed package: its SPDX expression, or what its metadata says in words."""
    metadata = distribution(name).metadata
    if expression := metadata["License-Expression"]:
        return expression
    classified = [
        line.removeprefix(_CLASSIFIER)
        for line in metadata.get_all("Classifier") or []
        if line.startswith(_CLASSIFIER)
    ]
    words = " and ".join(classified) or (metadata["License"] or "").strip().partition("\n")[0]
    return _to_identifier(words) or "not stated in the metadata"


def _to_identifier(words: str) -> str:
    lowered = words.lower()
    found = next((spdx for start, spdx in _KNOWN if re.search(rf"\b{start}", lowered)), "")
    return found or words


def render() -> str:
    """Text of the page."""
    closures = {extra: list_packages(wanted) for extra, wanted in list_extras().items()}
    rows, absent = [], []
    for name in sorted(set.union(*closures.values())):
        needed = (
            "core"
            if name in closures[""]
            else ", ".join(extra for extra, names in closures.items() if name in names)
        )
        try:
            rows.append(
                f"| {name} | {distribution(name).version} | {read_licence(name)} | {needed} |"
            )
        except PackageNotFoundError:
            absent.append(name)
    end = f"\nNot installed where this page was written: {', '.join(absent)}.\n" if absent else ""
    table = "| package | version | licence | needed by |\n| --- | --- | --- | --- |\n"
    return HEAD + table + "\n".join(rows) + "\n" + end


if __name__ == "__main__":
    text = render()
    TARGET.write_text(text, encoding="utf-8")
    print(
        f"wrote {TARGET.relative_to(ROOT)}: {text.count(chr(10) + '| ') - 2} packages",
        file=sys.stderr,
    )
