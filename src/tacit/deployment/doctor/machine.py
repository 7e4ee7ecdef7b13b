"""Versions of installed packages."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from tacit.deployment.doctor.finding import Finding

_NEEDED = re.compile(r"flwr==([0-9.]+)")


def diagnose_machine() -> Iterator[Finding]:
    """Check the installed versions; Flower's must be the exact version that Tacit requires."""
    yield Finding(subject="python", state="ok", detail=platform.python_version())
    for package in ("tacit", "cryptography"):
        yield Finding(subject=package, state="ok", detail=version(package))
    wanted = next(
        (found[1] for line in requires("tacit") or () if (found := _NEEDED.search(line))), None
    )
    remedy = "pip install 'tacit[site]'"
    try:
        installed = version("flwr")
    except PackageNotFoundError:
        yield Finding(subject="flwr", state="problem", detail="is not installed", remedy=remedy)
        return
    if wanted is not None and installed != wanted:
        yield Finding(
            subject="flwr",
            state="problem",
            detail=f"version {wanted} is required, {installed} is installed",
            remedy=remedy,
        )
    else:
        yield Finding(subject="flwr", state="ok", detail=installed)
