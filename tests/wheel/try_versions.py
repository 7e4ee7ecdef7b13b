"""Install the lowest or the newest versions that the ranges of pyproject.toml allow, and run quick tests with them.

`make test-lowest` and `make test-newest` run this. Lowest: every `>=` becomes `==`; what these packages need in turn is
pip's choice. PyTorch and what builds on it are left out: their ranges begin at the version that is tested.
Standard library only.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from release.build import ROOT, build_wheel, copy_tracked, read_commit_time
from tests.wheel.try_wheel import (
    CheckError,
    Trial,
    execute,
    find_python,
    predict,
    run_plan,
    write_plan,
)

EXTRAS = ("site", "server", "arrow", "sklearn", "image", "excel", "negotiate")
TOOLS = ("hypothesis", "jsonschema", "packaging", "pandas", "pytest", "pytest-xdist", "pyyaml")
"""What the tests need besides; in the versions of constraints.txt."""

TESTS = (
    "tests/codecs",
    "tests/column_statistics",
    "tests/data",
    "tests/features",
    "tests/models/estimators",
    "tests/plan",
    "tests/privacy",
    "tests/protocol",
    "tests/report",
    "tests/server",
)
NEED_TORCH = ("tests/plan/test_closed_choices.py",)
PYTHONS = {"lowest": "3.11", "newest": "3.13"}


def list_lowest(lines: list[str]) -> list[str]:
    """Requirements with their lower bound as the only version; extras of Tacit itself are left out."""
    return [
        re.sub(r">=\s*([\w.]+).*", r"==\1", line) for line in lines if not line.startswith("tacit[")
    ]


def list_requirements(kind: str) -> list[str]:
    """What to install besides the wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tools = [pin for pin in pins if pin.lower().partition("==")[0].replace("_", "-") in TOOLS]
    return [*(list_lowest(lines) if kind == "lowest" else _without_tacit(lines)), *tools]


def _without_tacit(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith("tacit[")]


def try_versions(kind: str, version: str, folder: Path) -> None:
    """Install, run the smoke test, then the tests."""
    python = find_python(version)
    if python is None:
        sys.exit(f"missing: Python {version}; set TACIT_PYTHON_{version.replace('.', '_')}")
    wheel = build_wheel(
        copy_tracked(ROOT, folder / "source"), folder / "dist", read_commit_time(ROOT)
    )
    trial = Trial(version, python, wheel, wheel, folder)
    trial.install(wheel, *list_requirements(kind))
    python = trial.programs / "python"
    print(execute(python, "-m", "pip", "list", "--format=freeze", folder=folder), flush=True)
    for check in (write_plan, run_plan, predict):
        check(trial)
        print(f"ok   {check.__name__.replace('_', ' ')}", flush=True)
    ignored = [f"--ignore={path}" for path in NEED_TORCH]
    words = ("-m", "pytest", "-n", "2", "-m", "not slow and not statistical", *ignored, *TESTS)
    print(execute(python, *words, folder=folder / "source"), flush=True)


def main() -> int:
    """Run one kind; return 1 if anything fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kind", choices=sorted(PYTHONS))
    parser.add_argument("--python", metavar="VERSION", help="default: 3.11 lowest, 3.13 newest")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=f"tacit-{asked.kind}-") as name:
        try:
            try_versions(asked.kind, asked.python or PYTHONS[asked.kind], Path(name))
        except CheckError as error:
            print(error)
            return 1
    print(f"ok   {asked.kind} versions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
