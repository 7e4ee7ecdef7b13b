"""What the pages of one site share: its folder, its overview, and results that a button computed."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.deployment.doctor import diagnose_machine, diagnose_site
from tacit.deployment.doctor.finding import Finding
from tacit.deployment.site.approval.approvals import open_ledger
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_folder import SETTINGS, load_owner
from tacit.deployment.upkeep.holdings import SiteHoldings, count_holdings
from tacit.errors import TacitError
from tacit.ui.site.overview import SiteOverview, measure_changes, read_overview

_REST = 20.0
"""A page that updates by itself waits for this multiple of the time that the last reading took."""


@dataclass(frozen=True, kw_only=True)
class ButtonResult:
    """What a button computed: when (seconds since 1970), and the result or why there is none."""

    value: Any = None
    problem: str = ""
    when: float = field(default_factory=time.time)


class SiteSpace:
    """One site for many requests at the same time. One thread reads the ledger at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._owner: tuple[int, Owner] | None = None
        self._overview: tuple[tuple[Any, ...], SiteOverview] | None = None
        self._read_again = 0.0
        self.verified: ButtonResult | None = None
        self.counted: ButtonResult | None = None
        self.diagnosed: ButtonResult | None = None

    @property
    def lock(self) -> threading.RLock:
        """Held while the ledger is open."""
        return self._lock

    def owner(self) -> Owner:
        """The owner, read again if site.toml changed."""
        with self._lock:
            changed = _read_change(self.folder / SETTINGS)
            if self._owner is None or self._owner[0] != changed:
                self._owner = changed, load_owner(self.folder)
            return self._owner[1]

    def overview(self, *, patient: bool = False) -> SiteOverview:
        """The site as it is now; `patient` callers accept a little older one after a slow reading."""
        with self._lock:
            known = self._overview
            if known and patient and time.monotonic() < self._read_again:
                return known[1]
            now = measure_changes(self.folder)
            if known and known[0] == now:
                return known[1]
            began = time.monotonic()
            found = read_overview(self.owner())
            self._overview = now, found
            self._read_again = time.monotonic() + _REST * (time.monotonic() - began)
            return found

    def verify_ledger(self) -> None:
        """Check every entry of the ledger, and that it is the newest copy."""
        with self._lock:
            try:
                book = open_ledger(load_owner(self.folder))
                try:
                    book.verify()
                    self.verified = ButtonResult(value=book.receipt().counter)
                finally:
                    book.close()
            except TacitError as error:
                self.verified = ButtonResult(problem=str(error))

    def count_rows(self) -> None:
        """Count what the file of rows holds."""
        owner = self.owner()
        try:
            found: SiteHoldings = count_holdings(owner, owner.policy())
            self.counted = ButtonResult(value=found)
        except TacitError as error:
            self.counted = ButtonResult(problem=str(error))

    def diagnose(self) -> None:
        """Check machine, folder and server as `tacit site doctor` does."""
        found: list[tuple[str, Finding]] = [("machine", one) for one in diagnose_machine()]
        found += [("site", one) for one in diagnose_site(self.folder)]
        self.diagnosed = ButtonResult(value=found)


def _read_change(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
