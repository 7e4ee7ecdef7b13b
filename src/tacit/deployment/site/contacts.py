"""What the server asked of a site and what the site refused, run by run, for the owner to look up.

The ledger holds what was charged and sent. This file adds the last contact and the site's own
refusals, which are charged nothing. A server chooses the names of runs and may ask without end, so
both are limited.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.files import has_link, replace_file
from tacit.log_lines import get_utc_time
from tacit.protocol.messages.signed_message import MessageSubject

CONTACTS = "contacts.json"
"""File in the folder of a run; in the folder of the site, for runs that were never opened."""
MOST_REFUSALS, MOST_RUNS = 20, 50
"""Limits on what is kept: different refusals of a run, and runs that were never opened."""
_MOST_CHARACTERS = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")

Contacts = dict[str, Any]
"""Contacts of a run: `first` and `last` time, `requests` by kind, last `round`, and `refusals`."""


@dataclass(frozen=True)
class ContactBook:
    """The contacts of a site's runs."""

    folder: Path

    def note(self, subject: MessageSubject, status: str, why: str = "") -> None:
        """Note a request, and why it was refused if it was. A full disk is no reason to fail."""
        if _NAME.fullmatch(subject.run):
            with suppress(OSError):
                self._note(subject, status, why)

    def _note(self, subject: MessageSubject, status: str, why: str) -> None:
        own = self.folder / "runs" / subject.run
        if own.is_dir():
            found = _read(own / CONTACTS)
            replace_file(own / CONTACTS, _write(_add(found, subject, status, why)))
            return
        others = _read(self.folder / CONTACTS)
        found = others.pop(subject.run, {})
        others[subject.run] = _add(found, subject, status, why)
        kept = dict(list(others.items())[-MOST_RUNS:])
        replace_file(self.folder / CONTACTS, _write(kept))

    def read(self) -> dict[str, Contacts]:
        """The contacts of all runs, by name; those of runs that were never opened come first."""
        paths = sorted((self.folder / "runs").glob(f"*/{CONTACTS}"))
        return {
            **_read(self.folder / CONTACTS),
            **{path.parent.name: _read(path) for path in paths if not has_link(self.folder, path)},
        }


def _add(found: Contacts, subject: MessageSubject, status: str, why: str) -> Contacts:
    now = get_utc_time()
    requests = dict(found.get("requests", {}))
    requests[subject.kind] = requests.get(subject.kind, 0) + 1
    refusals = list(found.get("refusals", []))
    if status != "ok":
        what = {"kind": subject.kind, "status": status, "why": why[:_MOST_CHARACTERS]}
        same = next((one for one in refusals if {key: one[key] for key in what} == what), None)
        if same is not None:
            refusals.remove(same)
        times = same["times"] + 1 if same else 1
        refusals.append({**what, "round": subject.round_no, "times": times, "last": now})
    return {
        "first": found.get("first", now),
        "last": now,
        "round": max(found.get("round", 0), subject.round_no),
        "requests": requests,
        "refusals": refusals[-MOST_REFUSALS:],
    }


def _read(path: Path) -> dict[str, Any]:
    """Read a file of contacts; an unreadable one is begun again, since nothing depends on it."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts).encode()
