"""A site's ledger, opened only if it is whole and the newest: verified at the start and after every
change by somebody else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tacit.deployment.site_ledger.witness import Witness
from tacit.privacy.policy import Limits, Receipt, SiteLedger
from tacit.privacy.site_ledger.book import get_utc_day

_Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass
class LedgerGuard:
    """Opens the ledger of one site for one process.

    The whole ledger is verified when it is first opened, and again whenever its files are not as
    this process left them. Between two requests of one process that costs two calls of stat.
    """

    file: Path
    witness: Witness
    tell: Callable[[str], None] = lambda sentence: None
    today: Callable[[], str] = get_utc_day
    _warned: bool = field(default=False, init=False)
    _left: _Signature | None = field(default=None, init=False)

    def open(self, limits: Limits, delta: float) -> SiteLedger:
        """The ledger; raise LedgerError, with the remedy, if it is missing, damaged, or older than
        the one used last.
        """
        self.witness.refuse_missing(self.file)
        changed = self._left is None or _signature(self.file) != self._left
        book = SiteLedger(
            self.file, limits=limits, delta=delta, today=self.today, on_close=self._closed
        )
        try:
            if changed:
                book.verify()
            self.witness.check(book)
        except BaseException:
            book.abandon()
            raise
        return book

    def _closed(self, receipt: Receipt) -> None:
        """Bring the witness up to the ledger; answers leave after the ledger was closed."""
        self._left = _signature(self.file)
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
    """Inode, size and time of change of the ledger and its write-ahead log; None where there is no
    such file.
    """
    found = list[tuple[int, int, int] | None]()
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            facts = path.stat()
            found.append((facts.st_ino, facts.st_size, facts.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)
