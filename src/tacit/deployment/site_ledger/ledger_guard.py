"""Opens a site's ledger only if it is intact and the newest copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tacit.deployment.site_ledger.witness import Witness
from tacit.privacy.policy import Limits, Receipt, SiteLedger
from tacit.privacy.site_ledger.site_ledger import get_utc_day

_Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass
class LedgerGuard:
    """Opens the ledger of one site for one process.

    The whole ledger is verified when it is first opened, and again whenever another process changed
    its files. Between two requests of one process this costs two calls of stat.
    """

    file: Path
    witness: Witness
    tell: Callable[[str], None] = lambda sentence: None
    today: Callable[[], str] = get_utc_day
    _warned: bool = field(default=False, init=False)
    _signature_at_close: _Signature | None = field(default=None, init=False)

    def open(self, limits: Limits, delta: float) -> SiteLedger:
        """Open the ledger; raise LedgerError, with the remedy, if it is missing, damaged or
        outdated.
        """
        self.witness.refuse_missing(self.file)
        changed = (
            self._signature_at_close is None or _signature(self.file) != self._signature_at_close
        )
        book = SiteLedger(
            self.file, limits=limits, delta=delta, today=self.today, on_close=self._on_close
        )
        try:
            if changed:
                book.verify()
            self.witness.check(book)
        except BaseException:
            book.abandon()
            raise
        return book

    def _on_close(self, receipt: Receipt) -> None:
        """Advance the witness to the ledger. Responses are sent only after the ledger is closed."""
        self._signature_at_close = _signature(self.file)
        try:
            self.witness.advance(receipt)
        except OSError as error:
            if not self._warned:
                self.tell(
                    f"{self.witness.file}: the witness of the ledger cannot be written"
                    f" ({error.strerror}), so an older copy of the ledger would go unnoticed; name"
                    " a folder outside the site's folder as `state` in site.toml"
                )
            self._warned = True


def _signature(file: Path) -> _Signature:
    """Inode, size and modification time of the ledger and its write-ahead log; None for a missing
    file.
    """
    found = list[tuple[int, int, int] | None]()
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            facts = path.stat()
            found.append((facts.st_ino, facts.st_size, facts.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)
