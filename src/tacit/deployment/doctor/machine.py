"""Versions of what is installed."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from tacit.deployment.doctor.finding import Finding

_NEEDED = re.compile(r"flwr==([0-9.]+)")


def look_at_machine() -> Iterator[Finding]:
    """Yield the versions of Python, Tacit, Flower and cryptography; Flower's must be the one that
    Tacit was made for.
    """
    yield Finding(what="python", state="ok", told=platform.python_version())
    for package in ("tacit", "cryptography"):
        yield Finding(what=package, state="ok", told=version(package))
    wanted = next(
        (found[1] for line in requires("tacit") or () if (found := _NEEDED.search(line))), None
    )
    remedy = "pip install 'tacit[flower]'"
    try:
        installed = version("flwr")
    except PackageNotFoundError:
        yield Finding(what="flwr", state="problem", told="is not installed", remedy=remedy)
        return
    if wanted is not None and installed != wanted:
        yield Finding(
            what="flwr", state="problem", told=f"needs {wanted}, got {installed}", remedy=remedy
        )
    else:
        yield Finding(what="flwr", state="ok", told=installed)
