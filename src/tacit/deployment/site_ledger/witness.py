"""The last receipt of a site's ledger, kept outside the site's folder to detect an older copy of
the folder.

The witness lies in the state folder of the machine's user: `TACIT_STATE`, else
`XDG_STATE_HOME/tacit`, else `~/.local/state/tacit`; a site may name another folder (`state` in
site.toml). Restoring or cloning the site's folder alone does not copy it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from tacit.errors import LedgerError
from tacit.files import replace_file
from tacit.privacy.policy import Receipt, SiteLedger

_NONE = Receipt(0, bytes(32))


def state_folder(chosen: Path | None = None) -> Path:
    """Folder for state of this machine's user that belongs to no site's folder."""
    if chosen is not None:
        return chosen
    if os.environ.get("TACIT_STATE"):
        return Path(os.environ["TACIT_STATE"])
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "tacit"


def site_id(key: EllipticCurvePublicKey) -> str:
    """Name of a site in the state folder: the hash of the public key that it joins with."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()[:32]


@dataclass(frozen=True)
class Witness:
    """The last receipt of a site's ledger, in a file outside the site's folder."""

    file: Path

    def receipt(self) -> Receipt:
        """The last receipt, or an empty one. Raises LedgerError if the file is damaged."""
        try:
            tree = json.loads(self.file.read_bytes())
            return Receipt(int(tree["entries"]), bytes.fromhex(tree["head"]))
        except FileNotFoundError:
            return _NONE
        except (OSError, ValueError, KeyError, TypeError):
            raise LedgerError(
                f"{self.file}: the witness of the ledger cannot be read; the site sends no response."
                " To continue with the present ledger, run `tacit site ledger accept-loss DIR` with the"
                " site's folder; it says what you give up"
            ) from None

    def refuse_missing(self, ledger: Path) -> None:
        """Raise LedgerError if a ledger with entries no longer exists."""
        last = self.receipt()
        if last.counter and not ledger.exists():
            raise LedgerError(
                f"{ledger}: the ledger is missing but had {last.counter:,} entries; the site sends no"
                f" response. {_REMEDY}"
            )

    def check(self, book: SiteLedger) -> None:
        """Raise LedgerError if the ledger is another one, or an older copy of the last one used
        here.
        """
        last = self.receipt()
        try:
            book.check_receipt(*last)
        except LedgerError as error:
            raise LedgerError(f"{error}. {_REMEDY}") from None

    def advance(self, receipt: Receipt) -> None:
        """Store a newer receipt on disk; an older one is ignored. Raises OSError if the file cannot
        be written.
        """
        if receipt.counter > self.receipt().counter:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(receipt)

    def reset(self, receipt: Receipt) -> None:
        """Store a receipt whatever was stored before: the owner has accepted a loss."""
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._write(receipt)

    def _write(self, receipt: Receipt) -> None:
        replace_file(
            self.file, json.dumps({"entries": receipt.counter, "head": receipt.head.hex()}).encode()
        )


_REMEDY = (
    "Restore the newest copy of the ledger. If it is lost, run `tacit site ledger accept-loss DIR` with"
    " the site's folder to continue without it; the command says what you give up"
)
