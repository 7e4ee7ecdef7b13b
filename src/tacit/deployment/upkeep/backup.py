"""Back up a site's folder into one private file.

The file holds the keys, the policy, the settings, the ledger as it is at one moment, and the models
and private parameters of clients. It holds neither rows nor the noise keys of runs, so a run that
is under way ends with a restore and no noise can be drawn twice.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tacit.deployment.site.client_parts import LEFT_OUT
from tacit.deployment.site.contacts import CONTACTS
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.rows.held_out import FILE as HELD_OUT
from tacit.deployment.site.site_folder import (
    KEY,
    LEDGER,
    POLICY,
    SECRET,
    SETTINGS,
    SIGNS,
    SiteSettings,
    load_owner,
    read_site_settings,
)
from tacit.deployment.site.site_side import PRIVATE
from tacit.deployment.site.stored_runs import ENDED, TERMS, build_tombstone, list_open_runs
from tacit.errors import RunError
from tacit.files import UNFINISHED, sync_folder
from tacit.log_lines import get_utc_time
from tacit.plan import Plan
from tacit.privacy.policy import Limits, Policy, Receipt, SiteLedger
from tacit.runs.client_numbers import CLIENTS

MANIFEST, VERSION = "manifest.json", 1
MODELS = "models"
"""The folder of models that a site received."""
_OF_A_SITE = (SETTINGS, POLICY, KEY, f"{KEY}.pub", SIGNS, SECRET, HELD_OUT, CONTACTS)
_OF_A_RUN = (ENDED, TERMS, CLIENTS, LEFT_OUT, CONTACTS)


class BackupFacts(NamedTuple):
    """What a backup says about itself: the site, when it was made, its ledger's receipt, and the
    runs that were under way.
    """

    site: str
    made: str
    receipt: Receipt
    open_runs: tuple[str, ...]


def back_up(folder: Path, file: Path) -> BackupFacts:
    """Write a backup of the site in a folder to a new file that only its owner can read.

    The site may be running. The file appears under its name only once it is complete.
    """
    if file.exists():
        raise RunError(f"{file} exists; choose another name, and keep older backups until then")
    owner, settings = load_owner(folder), read_site_settings(folder)
    unfinished = file.with_name(f".{file.name}{UNFINISHED}")
    ledger = file.with_name(f".{file.name}-ledger{UNFINISHED}")
    for path in (unfinished, ledger):
        path.unlink(missing_ok=True)
    try:
        files = dict(_collect(folder, settings))
        opened = list_open_runs(owner)
        files |= {f"runs/{run}/{ENDED}": build_tombstone(folder / "runs" / run) for run in opened}
        receipt = Receipt(0, bytes(32))
        if (folder / LEDGER).exists():  # last, so that it is not older than the other files
            receipt = _copy_ledger(owner, ledger)
            files[LEDGER] = ledger.read_bytes()
        facts = BackupFacts(settings.name, get_utc_time(), receipt, tuple(opened))
        _write_archive(unfinished, _build_manifest(facts, files), files)
        unfinished.replace(file)
        sync_folder(file.parent)
    finally:
        unfinished.unlink(missing_ok=True)
        for path in file.parent.glob(f"{ledger.name}*"):
            path.unlink(missing_ok=True)
    return facts


def _copy_ledger(owner: Owner, target: Path) -> Receipt:
    """Copy the ledger, verify the copy, and return its receipt."""
    with closing(owner.open_ledger(owner.policy() or Policy(), Plan())) as book:
        book.copy_to(target)
    with closing(SiteLedger(target, limits=Limits(), delta=1e-5)) as copy:
        copy.verify()
        return copy.receipt()


def _collect(folder: Path, settings: SiteSettings) -> Iterator[tuple[str, bytes]]:
    """Files of a site by their path in its folder, without rows, logs, locks and noise keys."""
    named = [name for name in (settings.authority, settings.agreed) if name]
    paths = [folder / name for name in (*_OF_A_SITE, *named)]
    paths += [path for path in (folder / MODELS).rglob("*") if path.is_file()]
    for run in sorted((folder / "runs").glob("*")):
        paths += [run / name for name in _OF_A_RUN]
        paths += [path for path in (run / PRIVATE).rglob("*") if path.is_file()]
    for path in paths:
        inside = os.path.relpath(path, folder)
        if path.is_file() and not path.is_symlink() and is_inside(inside):
            yield Path(inside).as_posix(), path.read_bytes()


def is_inside(path: str) -> bool:
    """Whether a relative path stays inside its folder."""
    parts = Path(path).parts
    return bool(parts) and not Path(path).is_absolute() and ".." not in parts


def _build_manifest(facts: BackupFacts, files: dict[str, bytes]) -> bytes:
    tree: dict[str, Any] = {
        "version": VERSION,
        "site": facts.site,
        "made": facts.made,
        "entries": facts.receipt.counter,
        "head": facts.receipt.head.hex(),
        "open_runs": facts.open_runs,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    return json.dumps(tree).encode()


def _write_archive(path: Path, manifest: bytes, files: dict[str, bytes]) -> None:
    """Write manifest and files as a tar archive, forced to the disk, readable by its owner only."""
    number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(number, "wb") as raw:
        with tarfile.open(fileobj=raw, mode="w") as archive:
            for name, content in {MANIFEST: manifest, **files}.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(content), 0o600
                archive.addfile(member, io.BytesIO(content))
        raw.flush()
        os.fsync(raw.fileno())
