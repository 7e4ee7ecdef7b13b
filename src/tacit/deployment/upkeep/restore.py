"""Restore a site from a backup. A restore gives back no budget.

On a machine that knows a newer ledger of the site, the restored site sends no response until the
newest ledger is put in place or its owner accepts the loss. On another machine only the owner can
know whether the backup is the newest; the restore is an entry of the ledger.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tacit.deployment.site.site_folder import LEDGER, open_witness, read_site_settings
from tacit.deployment.site_ledger.witness import Witness
from tacit.deployment.transport.certificates import make_private_folder
from tacit.deployment.upkeep.backup import MANIFEST, VERSION, BackupFacts, is_inside
from tacit.errors import LedgerError, RunError
from tacit.files import UNFINISHED, replace_file, sync_folder
from tacit.privacy.policy import Limits, Receipt, SiteLedger

Age = Literal["newest", "unknown", "older"]
"""A restored ledger compared with the witness of this machine; unknown if there is none."""


@dataclass(frozen=True)
class SiteBackup:
    """A backup whose files all match its manifest."""

    file: Path
    facts: BackupFacts
    contents: dict[str, bytes] = field(repr=False)


def read_backup(file: Path) -> SiteBackup:
    """Read a backup; raise RunError if it is damaged, not a backup, or readable by others."""
    try:
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise RunError(
                f"{file} holds a site's keys and other users may read it; run chmod 600 {file}"
            )
        with tarfile.open(file, "r:") as archive:
            members = [member for member in archive.getmembers() if member.isreg()]
            contents = {
                member.name: content.read()
                for member in members
                if is_inside(member.name) and (content := archive.extractfile(member))
            }
        tree = json.loads(contents.pop(MANIFEST))
        hashes = {name: hashlib.sha256(one).hexdigest() for name, one in contents.items()}
        if tree["version"] != VERSION or hashes != tree["files"]:
            raise ValueError("its files do not match its manifest")
        receipt = Receipt(int(tree["entries"]), bytes.fromhex(tree["head"]))
        runs = tuple(map(str, tree["open_runs"]))
        facts = BackupFacts(str(tree["site"]), str(tree["made"]), receipt, runs)
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{file} is not a whole backup of a site ({error}); use another copy of it"
        ) from None
    return SiteBackup(file, facts, contents)


def restore(backup: SiteBackup, folder: Path) -> Age:
    """Restore a backup into a new folder; return how its ledger compares with the witness here.

    The folder appears only once it is complete. Runs that were under way have ended in it. Unless
    the ledger is older than the witness, the restore becomes an entry of the ledger, and the
    witness follows it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is not empty; restore into a new folder")
    fresh = folder.with_name(f".{folder.name}{UNFINISHED}")
    shutil.rmtree(fresh, ignore_errors=True)
    make_private_folder(fresh)
    try:
        for name, content in backup.contents.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(path, content)
            path.chmod(0o600)
        _check_ledger(fresh, backup)
        if folder.exists():
            folder.rmdir()
        fresh.replace(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return _record_restore(folder, backup)


def find_age(folder: Path, backup: SiteBackup) -> Age:
    """Compare the ledger in a restored folder with this machine's witness of it."""
    witness = open_witness(folder, read_site_settings(folder))
    try:
        known = witness.receipt()
    except LedgerError:
        return "older"
    if not known.counter:
        return "unknown" if backup.facts.receipt.counter else "newest"
    return "newest" if _holds(folder / LEDGER, known) else "older"


def _record_restore(folder: Path, backup: SiteBackup) -> Age:
    age = find_age(folder, backup)
    if age == "older" or not backup.facts.receipt.counter:
        return age
    with closing(_open_ledger(folder / LEDGER)) as book:
        book.record_restore(backup.facts.made, backup.facts.receipt)
        receipt = book.receipt()
    witness: Witness = open_witness(folder, read_site_settings(folder))
    witness.advance(receipt)
    return age


def _check_ledger(folder: Path, backup: SiteBackup) -> None:
    """Raise LedgerError unless the ledger is intact and the one that the manifest names."""
    if LEDGER in backup.contents:
        with closing(_open_ledger(folder / LEDGER)) as book:
            book.verify()
            if book.receipt() != backup.facts.receipt:
                raise LedgerError(f"{backup.file}: its ledger is not the one of its manifest")
    elif backup.facts.receipt.counter:
        raise LedgerError(f"{backup.file}: the ledger is missing; use another copy of the backup")


def _holds(file: Path, known: Receipt) -> bool:
    """Whether a ledger exists and is not older than a receipt."""
    if not file.exists():
        return False
    with closing(_open_ledger(file)) as book:
        try:
            book.check_receipt(*known)
        except LedgerError:
            return False
    return True


def _open_ledger(file: Path) -> SiteLedger:
    return SiteLedger(file, limits=Limits(), delta=1e-5)  # unused: nothing is charged here
