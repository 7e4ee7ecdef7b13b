"""One line of a diagnosis, and those that a server and a site have in common."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from cryptography import x509

State = Literal["ok", "warning", "problem"]
_SCARCE, _FULL = 2 * 10**9, 10**8
_SOON_DAYS = 14
_CLOCK_WARNING, _CLOCK_PROBLEM = 2.0, 5.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was looked at, how it is, in words, and what to do about it."""

    what: str
    state: State
    told: str
    remedy: str = ""


def disk(folder: Path) -> Finding:
    """Return whether there is room for ledgers, records and models."""
    free = shutil.disk_usage(folder).free
    state: State = "problem" if free < _FULL else "warning" if free < _SCARCE else "ok"
    return Finding(
        what="disk",
        state=state,
        told=f"{free / 1e9:.1f} GB free",
        remedy="" if state == "ok" else "free some space",
    )


def secrets(folder: Path, names: Iterable[str]) -> Iterator[Finding]:
    """Yield whether files that are secret are there, and their owner's alone."""
    for path in (folder / name for name in names):
        if not path.exists():
            yield Finding(
                what=path.name,
                state="problem",
                told="is missing",
                remedy=f"put {path} back from a copy of your own",
            )
        elif os.name == "posix" and path.stat().st_mode & 0o077:
            mode = stat.S_IMODE(path.stat().st_mode)
            told = f"others may read it (mode {mode:04o})"
            yield Finding(what=path.name, state="problem", told=told, remedy=f"chmod 600 {path}")
        else:
            yield Finding(what=path.name, state="ok", told="its owner's alone")


def certificate(path: Path, remedy: str) -> tuple[x509.Certificate | None, Finding]:
    """Return a certificate, and how long it still holds."""
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return None, Finding(
            what=path.name, state="problem", told="is missing or no certificate", remedy=remedy
        )
    days = (found.not_valid_after_utc - datetime.now(UTC)).total_seconds() / 86400
    if found.not_valid_before_utc > datetime.now(UTC):
        told = f"holds only from {found.not_valid_before_utc:%Y-%m-%d} on"
        return found, Finding(
            what=path.name, state="problem", told=told, remedy="set this machine's clock"
        )
    state: State = "problem" if days < 0 else "warning" if days < _SOON_DAYS else "ok"
    told = (
        f"ended on {found.not_valid_after_utc:%Y-%m-%d}"
        if days < 0
        else f"holds for {days:.0f} more days"
    )
    return found, Finding(
        what=path.name, state=state, told=told, remedy="" if state == "ok" else remedy
    )


def clock(offset: float | None) -> Finding:
    """Return how far this machine's clock is from the server's."""
    if offset is None:
        return Finding(
            what="clock",
            state="warning",
            told="not compared: no server answers",
            remedy="start the server and look again",
        )
    state: State = (
        "problem"
        if abs(offset) > _CLOCK_PROBLEM
        else "warning"
        if abs(offset) > _CLOCK_WARNING
        else "ok"
    )
    told = (
        f"within {max(1.0, abs(offset)):.0f} s of the server's"
        if state == "ok"
        else f"{offset:+.0f} s from the server's"
    )
    return Finding(
        what="clock",
        state=state,
        told=told,
        remedy="" if state == "ok" else "let both machines keep time (NTP)",
    )
