"""Results of checks, and the checks that servers and sites share."""

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
_LOW_BYTES, _FULL_BYTES = 2 * 10**9, 10**8
_SOON_DAYS = 14
_CLOCK_WARNING, _CLOCK_PROBLEM = 2.0, 5.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of one check: its subject, its state, a sentence, and what to do."""

    subject: str
    state: State
    detail: str
    remedy: str = ""


def check_disk(folder: Path) -> Finding:
    """Check the free space for ledgers, records and models."""
    free = shutil.disk_usage(folder).free
    state: State = "problem" if free < _FULL_BYTES else "warning" if free < _LOW_BYTES else "ok"
    return Finding(
        subject="disk",
        state=state,
        detail=f"{free / 1e9:.1f} GB free",
        remedy="" if state == "ok" else "free disk space",
    )


def check_secrets(folder: Path, names: Iterable[str]) -> Iterator[Finding]:
    """Check that secret files exist and that only their owner can read them."""
    for path in (folder / name for name in names):
        if not path.exists():
            yield Finding(
                subject=path.name,
                state="problem",
                detail="is missing",
                remedy=f"restore {path} from a backup",
            )
        elif os.name == "posix" and path.stat().st_mode & 0o077:
            mode = stat.S_IMODE(path.stat().st_mode)
            detail = f"other users may read it (mode {mode:04o})"
            yield Finding(
                subject=path.name, state="problem", detail=detail, remedy=f"chmod 600 {path}"
            )
        else:
            yield Finding(subject=path.name, state="ok", detail="readable by its owner only")


def check_certificate(path: Path, remedy: str) -> tuple[x509.Certificate | None, Finding]:
    """Load a certificate and check its period of validity."""
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        return None, Finding(
            subject=path.name,
            state="problem",
            detail="is missing or not a certificate",
            remedy=remedy,
        )
    days = (found.not_valid_after_utc - datetime.now(UTC)).total_seconds() / 86400
    if found.not_valid_before_utc > datetime.now(UTC):
        detail = f"is valid only from {found.not_valid_before_utc:%Y-%m-%d} on"
        return found, Finding(
            subject=path.name, state="problem", detail=detail, remedy="set this machine's clock"
        )
    state: State = "problem" if days < 0 else "warning" if days < _SOON_DAYS else "ok"
    detail = (
        f"expired on {found.not_valid_after_utc:%Y-%m-%d}"
        if days < 0
        else f"valid for {days:.0f} more days"
    )
    return found, Finding(
        subject=path.name, state=state, detail=detail, remedy="" if state == "ok" else remedy
    )


def check_clock(offset: float | None) -> Finding:
    """Check the offset between this machine's clock and the server's, in seconds."""
    if offset is None:
        return Finding(
            subject="clock",
            state="warning",
            detail="not compared: the server does not respond",
            remedy="start the server and run this again",
        )
    state: State = (
        "problem"
        if abs(offset) > _CLOCK_PROBLEM
        else "warning"
        if abs(offset) > _CLOCK_WARNING
        else "ok"
    )
    detail = (
        f"within {max(1.0, abs(offset)):.0f} s of the server's"
        if state == "ok"
        else f"{offset:+.0f} s from the server's"
    )
    return Finding(
        subject="clock",
        state=state,
        detail=detail,
        remedy="" if state == "ok" else "synchronise both machines (NTP)",
    )
