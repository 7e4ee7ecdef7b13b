"""What each distribution imports is what pip installs with it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from tacit.cli.exit_codes import EXTRAS

ROOT = Path(__file__).resolve().parents[1]


def read_project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(
        (folder / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    return project


PROJECT, PAPERS = read_project(ROOT), read_project(ROOT / "papers")
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "google": "protobuf"}
"""Import names that differ from the name pip knows."""

PRESENT_OR_UNUSED = {"IPython"}
"""Packages that are only used where they have been imported already: the output of a notebook."""


def imported_packages(source: Path = ROOT / "src") -> dict[str, set[str]]:
    """Return each package outside of a source tree that it imports, with the files that do."""
    found: dict[str, set[str]] = {}
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                found.setdefault(module.partition(".")[0], set()).add(str(path.relative_to(ROOT)))
    return {
        name: files
        for name, files in found.items()
        if not (source / name).is_dir() and name not in sys.stdlib_module_names
    }


def names(requirements: list[str]) -> set[str]:
    return {
        re.split(r"[\s<>=!~;\[]", line, maxsplit=1)[0].lower().replace("_", "-")
        for line in requirements
    }


def distribution(package: str) -> str:
    return DISTRIBUTIONS.get(package, package).lower().replace("_", "-")


def test_every_package_that_is_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = names(PROJECT["dependencies"]).union(
        *(names(lines) for extra, lines in extras.items() if extra != "dev")
    )
    missing = {
        package: files
        for package, files in imported_packages().items()
        if distribution(package) not in declared
    }
    assert set(missing) - PRESENT_OR_UNUSED == set(), missing


def test_papers_declare_what_they_import_and_their_version_of_tacit() -> None:
    imported = imported_packages(ROOT / "papers" / "src")
    imported.pop("torch")  # an extra of Tacit, for the papers that need it
    assert {distribution(package) for package in imported} == names(PAPERS["dependencies"])
    assert PAPERS["version"] == PROJECT["version"]
    assert f"tacit=={PROJECT['version']}" in PAPERS["dependencies"]


def test_an_optional_package_that_is_missing_is_named_with_its_extra() -> None:
    core = names(PROJECT["dependencies"])
    for package in set(imported_packages()) - PRESENT_OR_UNUSED:
        if distribution(package) not in core:
            assert distribution(package) in names(PROJECT["optional-dependencies"][EXTRAS[package]])
