"""How far the ledger of each site had come when it last replied, stored by the server in the folder
of the run.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.errors import RunError, WireError
from tacit.files import replace_file
from tacit.protocol.messages.signed_message import MessageSubject

FILE = "receipts.json"
Receipt = tuple[int, bytes]
"""How many entries a ledger had, and the hash of the last."""
NONE: Receipt = (0, bytes(32))


class Receipts:
    """The last receipt of each site. Each request repeats it, for the site to check its own ledger."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._known: dict[str, Receipt] = {}
        self._changed = False
        if self._file.exists():
            try:
                tree = json.loads(self._file.read_bytes())
                self._known = {
                    site: (int(entries), bytes.fromhex(head))
                    for site, (entries, head) in tree.items()
                }
            except (ValueError, TypeError, AttributeError):
                raise RunError(
                    f"{self._file}: is damaged; remove it, and older copies of ledgers go unnoticed"
                    " once"
                ) from None

    def of(self, site: str) -> Receipt:
        """A site's last receipt."""
        return self._known.get(site, NONE)

    def take(self, site: str, reply: MessageSubject) -> None:
        """Store the receipt in a reply; raise WireError if it shows an older ledger than the last
        one did.
        """
        entries, head = self.of(site)
        if not reply.entries:
            return
        if reply.entries < entries or (reply.entries == entries and reply.head != head):
            raise WireError(
                f"message of site {site!r} refused: its ledger is older than its last receipt, or"
                f" another one: it must have at least {entries:,} entries, got {reply.entries:,}"
            )
        self._changed = self._changed or reply.entries > entries
        self._known[site] = reply.entries, reply.head

    def keep(self) -> None:
        """Write the receipts to disk, if there are new ones."""
        if self._changed:
            replace_file(
                self._file,
                json.dumps(
                    {site: (entries, head.hex()) for site, (entries, head) in self._known.items()}
                ).encode(),
            )
            self._changed = False
