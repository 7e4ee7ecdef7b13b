"""A lost or outdated ledger: what the owner of a site gives up by continuing, and the entry that
records it.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tacit.deployment.site.site_folder import (
    LEDGER,
    find_joined_process,
    load_owner,
    open_witness,
    read_site_settings,
)
from tacit.deployment.site.stored_runs import end_run, list_open_runs
from tacit.deployment.site_ledger.witness import Witness
from tacit.errors import LedgerError, RunError
from tacit.privacy.policy import Limits, Receipt, SiteLedger


@dataclass(frozen=True, kw_only=True)
class LedgerLoss:
    """Entries that a ledger lacks.

    `known` is the last receipt of the witness, None if it cannot be read; `left` counts the
    remaining entries.
    """

    known: Receipt | None
    left: int

    def __str__(self) -> str:
        if self.known is None:
            return f"the ledger has {self.left:,} entries; how many it had is unknown"
        return (
            f"the ledger had {self.known.counter:,} entries, of which this site has {self.left:,}"
            " at most"
        )


def find_loss(folder: Path) -> LedgerLoss:
    """Compare a site's ledger with its witness; raise LedgerError if nothing is lost or the ledger
    is damaged.
    """
    file, witness = folder / LEDGER, open_witness(folder, read_site_settings(folder))
    known = _read_witness(witness)
    if not file.exists():
        if known is not None and not known.counter:
            raise LedgerError(f"{file}: this site never had a ledger, so nothing is lost")
        return LedgerLoss(known=known, left=0)
    with closing(_open_verified(file)) as book:
        left = book.receipt().counter
        if known is None:
            return LedgerLoss(known=None, left=left)
        try:
            book.check_receipt(*known)
        except LedgerError:
            return LedgerLoss(known=known, left=left)
    raise LedgerError(f"{file} is intact and the newest copy, so nothing is lost")


def accept_loss(folder: Path, loss: LedgerLoss) -> list[str]:
    """Continue with the remaining ledger, or with a new one; return the runs that were ended.

    The loss becomes an entry of the ledger before the witness follows it. Open runs are ended,
    because their earlier responses are no longer known. Raises RunError while the site has joined.
    """
    process = find_joined_process(folder)
    if process is not None:
        raise RunError(
            f"{folder}: the site has joined (process {process}); stop it first with `tacit site"
            f" leave {folder}`"
        )
    owner, file, witness = (
        load_owner(folder),
        folder / LEDGER,
        open_witness(folder, read_site_settings(folder)),
    )
    runs = list_open_runs(owner)
    with closing(
        _open_verified(file) if file.exists() else SiteLedger(file, limits=Limits(), delta=1e-5)
    ) as book:
        book.record_loss(loss.known, loss.left, runs)
        receipt = book.receipt()
    for run in runs:
        end_run(owner, run)
    witness.reset(receipt)
    return runs


def _read_witness(witness: Witness) -> Receipt | None:
    try:
        return witness.receipt()
    except LedgerError:
        return None


def _open_verified(file: Path) -> SiteLedger:
    book = SiteLedger(file, limits=Limits(), delta=1e-5)  # unused: nothing is charged here
    try:
        book.verify()
    except LedgerError as error:
        book.abandon()
        raise LedgerError(
            f"{error}. Restore an intact copy, or move the file away to begin a new ledger"
        ) from None
    return book
