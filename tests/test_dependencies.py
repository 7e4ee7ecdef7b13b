"""What each distribution imports is what pip installs with it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tacit.cli.exit_codes import EXTRAS

ROOT = Path(__file__).resolve().parents[1]


def read_project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(
        (folder / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    return project


PROJECT, PAPERS = read_project(ROOT), read_project(ROOT / "papers")
DISTRIBUTIONS = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "google": "protobuf",
    "mlflow": "mlflow-skinny",
}
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


CORE = [Requirement(line) for line in PROJECT["dependencies"]]
OPTIONAL = {
    extra: [Requirement(line) for line in lines]
    for extra, lines in PROJECT["optional-dependencies"].items()
}
USED = {extra: wanted for extra, wanted in OPTIONAL.items() if extra not in ("dev", "docs")}
PINS = dict(
    line.replace("_", "-").split("==")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().splitlines()
    if "==" in line
)
CALLED_BY_OTHERS = {"excel": {"fastexcel"}, "mlflow": {"sqlalchemy", "alembic"}}
"""Declared, and imported only through another package: polars reads Excel with it, MLflow its database."""


def test_every_package_that_is_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = names(PROJECT["dependencies"]).union(
        *(names(lines) for extra, lines in extras.items() if extra not in ("dev", "docs"))
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


def test_every_declared_package_is_imported() -> None:
    imported = {distribution(package) for package in imported_packages()} | {"tacit"}
    for extra, wanted in {"": CORE, **USED}.items():
        declared = {one.name.lower() for one in wanted}
        assert declared - imported - CALLED_BY_OTHERS.get(extra, set()) == set(), extra


def test_each_extra_installs_all_that_its_packages_need() -> None:
    """`tacit[site]` within another extra must be an extra that exists."""
    for wanted in OPTIONAL.values():
        for one in wanted:
            assert one.name != "tacit" or one.extras <= set(OPTIONAL)


@pytest.mark.parametrize(
    "one", [*CORE, *(one for wanted in OPTIONAL.values() for one in wanted)], ids=str
)
def test_a_pin_lies_within_its_range(one: Requirement) -> None:
    if one.name != "tacit":
        assert one.specifier.contains(PINS[one.name.lower().replace("_", "-")]), one


@pytest.mark.parametrize("one", CORE, ids=str)
def test_the_core_has_lower_bounds_and_no_upper_ones(one: Requirement) -> None:
    assert [each.operator for each in one.specifier] == [">="]


def test_pytorch_is_a_range_in_the_extra_and_a_pin_in_the_constraints() -> None:
    (torch,) = OPTIONAL["torch"]
    assert [each.operator for each in torch.specifier] == [">="]
    assert Version(PINS["torch"])


def test_classifiers_name_the_pythons_from_the_lowest_on() -> None:
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if re.fullmatch(r".* :: 3\.\d+", line)
    ]
    assert named == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={named[0]}"


BLOCKED = """
import sys, importlib.abc
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError("blocked: " + name, name=name.partition(".")[0])
sys.meta_path.insert(0, Block())
from tacit.cli import execute
assert execute(["init", "--from", "my.csv"]) == 0
assert execute(["run", "plan.toml", "-o", "server.rounds=1", "--quiet"]) == 0
assert execute(["predict", "my-1", "my.csv"]) == 0
assert execute(["init", "arrow.toml", "--from", "my.arrow"]) == 2
"""


@pytest.mark.slow
def test_the_core_runs_without_any_optional_package(tmp_path: Path) -> None:
    rows = "\n".join(f"{n % 60},text {n},{'yes' if n % 60 > 30 else 'no'}" for n in range(300))
    (tmp_path / "my.csv").write_text(f"age,words,bought\n{rows}\n", encoding="utf-8")
    (tmp_path / "my.arrow").write_bytes(b"ARROW1")
    code = BLOCKED.replace("{blocked!r}", repr(set(EXTRAS)))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pip install 'tacit[arrow]'" in done.stderr
