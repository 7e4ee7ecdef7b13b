"""A ledger that is lost, or an older copy of it: what the owner of a site gives up by going on, and
the entry that says so.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tacit.deployment.site.participation import end, open_runs
from tacit.deployment.site.site_folder import (
    LEDGER,
    joined_process,
    owner_of,
    site_settings,
    witness_of,
)
from tacit.deployment.site_ledger.witness import Witness
from tacit.errors import LedgerError, RunError
from tacit.privacy.policy import Limits, Receipt, SiteLedger


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What a ledger lacks: `known` is the last receipt that the witness has, None if it cannot be
    read; `left` counts the entries that are still there.
    """

    known: Receipt | None
    left: int

    def __str__(self) -> str:
        if self.known is None:
            return f"the ledger has {self.left:,} entries, and nobody knows how many it had"
        return (
            f"the ledger had {self.known.counter:,} entries, of which this site has {self.left:,}"
            " at most"
        )


def find_loss(folder: Path) -> Loss:
    """Return what the ledger of a site has lost; raise LedgerError if that is nothing, or if what
    is there is damaged.
    """
    file, witness = folder / LEDGER, witness_of(folder, site_settings(folder))
    known = _known(witness)
    if not file.exists():
        if known is not None and not known.counter:
            raise LedgerError(f"{file}: this site has had no ledger yet, so nothing is lost")
        return Loss(known=known, left=0)
    with closing(_opened(file)) as book:
        left = book.receipt().counter
        if known is None:
            return Loss(known=None, left=left)
        try:
            book.check_receipt(*known)
        except LedgerError:
            return Loss(known=known, left=left)
    raise LedgerError(f"{file}: is whole and the newest one, so nothing is lost")


def accept_loss(folder: Path, loss: Loss) -> list[str]:
    """Go on with what is left of a site's ledger, or with a new one, and return the runs that were
    ended for it.

    The loss is an entry of the ledger, before the witness follows it. Runs that were open are
    ended: what they were answered is no longer known. Raises RunError while the site has joined.
    """
    process = joined_process(folder)
    if process is not None:
        raise RunError(
            f"{folder}: has joined (process {process}); `tacit site leave {folder}` first"
        )
    owner, file, witness = (
        owner_of(folder),
        folder / LEDGER,
        witness_of(folder, site_settings(folder)),
    )
    runs = open_runs(owner)
    with closing(
        _opened(file) if file.exists() else SiteLedger(file, limits=Limits(), delta=1e-5)
    ) as book:
        book.note_loss(loss.known, loss.left, runs)
        receipt = book.receipt()
    for run in runs:
        end(owner, run)
    witness.begin_anew(receipt)
    return runs


def _known(witness: Witness) -> Receipt | None:
    try:
        return witness.receipt()
    except LedgerError:
        return None


def _opened(file: Path) -> SiteLedger:
    book = SiteLedger(
        file, limits=Limits(), delta=1e-5
    )  # nothing is charged here, so neither matters
    try:
        book.verify()
    except LedgerError as error:
        book.abandon()
        raise LedgerError(
            f"{error}. Put a good copy back, or move the file away to begin a new ledger"
        ) from None
    return book
