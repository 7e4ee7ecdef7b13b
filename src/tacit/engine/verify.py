"""Whether a run's folder is as it was written: the record's chain, and the files the record and the checkpoint speak of.

Checksums have no key: they find accidents, cut files, careless edits and files of another run. They do not find
somebody who writes a whole folder anew.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit import record
from tacit.engine import checkpoint, run_folder
from tacit.engine.fingerprint import plan_fingerprint
from tacit.errors import TacitError

State = Literal["intact", "not intact", "not checked"]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One file of a run, its state, and why."""

    file: str
    state: State
    why: str


def verified(folder: Path) -> list[Checked]:
    """Return every file of a run that something vouches for, and whether it is as it was written."""
    try:
        entries = list(run_folder.entries(folder))
    except TacitError as error:
        return [Checked(file=run_folder.RECORD, state="not intact", why=str(error)), *_checkpoint(folder)]
    chain = Checked(file=run_folder.RECORD, state="intact", why=f"{len(entries):,} entries, each vouching for the one before")
    started = record.of_kind(entries, record.Started)
    if not started:
        missing = not (folder / run_folder.RECORD).exists()
        chain = Checked(
            file=run_folder.RECORD, state="not checked", why="there is none yet" if missing else "it has no first entry"
        )
    elif started[0].version < record.VERSION:
        chain = Checked(file=run_folder.RECORD, state="not checked", why="an early version wrote no checksums")
    return [chain, *_checkpoint(folder), _plan(folder, started), *_stored(folder, entries)]


def damage(folder: Path) -> list[str]:
    """Return one sentence for each file that is not as it was written; none if all are."""
    return [f"{one.file}: {one.why}" for one in verified(folder) if one.state == "not intact"]


def _checkpoint(folder: Path) -> list[Checked]:
    """Return the state of the checkpoint, and of the record if it is not the one the checkpoint was made with."""
    if not (folder / checkpoint.NAME).exists():
        return []
    try:
        last = checkpoint.read(folder)
    except TacitError as error:
        return [Checked(file=checkpoint.NAME, state="not intact", why=str(error))]
    intact = Checked(file=checkpoint.NAME, state="intact", why="its checksum fits, and so does the record it covers")
    try:
        record.verify(folder / run_folder.RECORD, last.mark)
    except TacitError as error:
        return [Checked(file=checkpoint.NAME, state="not intact", why=f"it does not belong to the record beside it ({error})")]
    return [intact]


def _plan(folder: Path, started: list[record.Started]) -> Checked:
    told = started[0].plan_fingerprint if started else ""
    if not (folder / run_folder.PLAN).exists():
        return Checked(file=run_folder.PLAN, state="not intact", why="it is missing")
    if not told:
        return Checked(file=run_folder.PLAN, state="not checked", why="the record holds no fingerprint of it")
    try:
        same = plan_fingerprint(run_folder.plan_of(folder)) == told
    except TacitError:
        return Checked(file=run_folder.PLAN, state="not intact", why="it is no plan any more")
    if not same:
        return Checked(file=run_folder.PLAN, state="not intact", why="its settings are not those the record began with")
    return Checked(file=run_folder.PLAN, state="intact", why="its settings are those the record began with")


def _stored(folder: Path, entries: list[record.Entry]) -> list[Checked]:
    told = record.of_kind(entries, record.Stored)
    if not told:
        there = (folder / run_folder.MODEL).exists()
        return [Checked(file=run_folder.MODEL, state="not checked", why="the record holds no hash of it")] if there else []
    return [_hashed(folder, name, digest) for name, digest in told[-1].sha256.items()]


def _hashed(folder: Path, name: str, digest: str) -> Checked:
    path = folder / Path(name).name
    if not path.exists():
        return Checked(file=name, state="not intact", why="it is missing")
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        return Checked(file=name, state="not intact", why="it is not the file the record names: edited, cut short or swapped")
    return Checked(file=name, state="intact", why=f"SHA-256 {digest[:16]}…, as the record says")
