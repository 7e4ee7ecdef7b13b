"""The copy of a run's record at the server, which grows while a coordinator's run goes on."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from tacit.deployment.access import messages as m
from tacit.deployment.access.run_registry import RECORD_PART
from tacit.deployment.access.server_access import ServerAccess
from tacit.errors import PeerError, RunError
from tacit.protocol.observer import Observer, SiteState
from tacit.runs import record
from tacit.runs.record import Entry
from tacit.runs.run_folder import RECORD


class RecordCopy:
    """Sends what a run's record has gained. `length` is what the server has of it."""

    def __init__(self, access: ServerAccess, run: str, place: Path) -> None:
        self._access, self._run, self._place = access, run, place
        self.length = 0

    def compare(self, length: int, digest: str) -> None:
        """Take what the server has; raise RunError unless the record begins with it."""
        path = self._place / RECORD
        begin = path.read_bytes()[:length] if path.exists() else b""
        if len(begin) < length or hashlib.sha256(begin).hexdigest() != digest:
            raise RunError(
                f"{path}: the server has {length:,} bytes of this run's record that are not in it, so"
                " this folder is an older copy or was changed; continue with the newest copy of the"
                " folder"
            )
        self.length = length

    def send_signed(self) -> None:
        """Send the record up to its last signature, which a resume never takes back."""
        path = self._place / RECORD
        heads = record.read_signed_heads(path) if path.exists() else []
        if heads:
            content = path.read_bytes()
            self._send(content[: content.index(b"\n", heads[-1].length) + 1])

    def send_all(self) -> None:
        """Send the whole record of a run that has ended."""
        path = self._place / RECORD
        content = path.read_bytes() if path.exists() else b""
        self._send(content[: content.rfind(b"\n") + 1])

    def _send(self, content: bytes) -> None:
        while self.length < len(content):
            lines = content[self.length : self.length + RECORD_PART]
            lines = lines[: lines.rfind(b"\n") + 1]
            if not lines:
                raise RunError(f"run {self._run}: a line of its record is too long to be sent")
            body = m.SendRecord(run=self._run, offset=self.length, lines=lines)
            sent = self.length + len(lines)
            self.length = self._access.call("send-record", body, m.RecordLength).length
            if self.length < sent:
                raise PeerError(
                    f"server {self._access.route.shown} has lost a part of the record of run"
                    f" {self._run}; ask its operator"
                )


class CopyingObserver:
    """An observer that sends the record's copy once per round, and passes every event on.

    A server that is unreachable does not stop the run here: the next round sends it all.
    """

    def __init__(self, inner: Observer, copy: RecordCopy) -> None:
        self._inner, self._copy = inner, copy

    def opened(self, folder: Path) -> None:
        """Pass on."""
        self._inner.opened(folder)

    def entry(self, entry: Entry) -> None:
        """Pass on; before a round's requests leave, send what the last checkpoint covers."""
        self._inner.entry(entry)
        if isinstance(entry, record.Released):
            with contextlib.suppress(PeerError):
                self._copy.send_signed()

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Pass on."""
        self._inner.clients(arm, round_no, done, total)

    def site(self, state: SiteState) -> None:
        """Pass on."""
        self._inner.site(state)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Pass on."""
        self._inner.fetched(what, done, total)

    def encoded(self, what: str, done: int, total: int) -> None:
        """Pass on."""
        self._inner.encoded(what, done, total)
