"""What the package imports is what pip installs with it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

from tacit.cli.exit_codes import EXTRAS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "google": "protobuf"}
"""Import names that differ from the name pip knows."""

PRESENT_OR_UNUSED = {"IPython"}
"""Packages that are only used where they have been imported already: the output of a notebook."""


def imported_packages() -> dict[str, set[str]]:
    """Return each third-party package that the source imports, with the files that do."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                found.setdefault(module.partition(".")[0], set()).add(str(path.relative_to(ROOT)))
    return {name: files for name, files in found.items() if name != "tacit" and name not in sys.stdlib_module_names}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\s<>=!~;\[]", line, maxsplit=1)[0].lower().replace("_", "-") for line in requirements}


def distribution(package: str) -> str:
    return DISTRIBUTIONS.get(package, package).lower().replace("_", "-")


def test_every_package_that_is_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = names(PROJECT["dependencies"]).union(*(names(lines) for extra, lines in extras.items() if extra != "dev"))
    missing = {package: files for package, files in imported_packages().items() if distribution(package) not in declared}
    assert set(missing) - PRESENT_OR_UNUSED == set(), missing


def test_an_optional_package_that_is_missing_is_named_with_its_extra() -> None:
    core = names(PROJECT["dependencies"])
    for package in set(imported_packages()) - PRESENT_OR_UNUSED:
        if distribution(package) not in core:
            assert distribution(package) in names(PROJECT["optional-dependencies"][EXTRAS[package]])
