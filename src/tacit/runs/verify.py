"""Whether a run's folder is as it was written: the record's chain, its signatures and what must
stand in it, and the files that the record and the checkpoint speak of.

The record is signed with a key whose public half stands in its first entry and whose private half
is deleted when the run ends. This finds edits, cut files and files of another run. Somebody who
writes a whole folder anew signs it with a key of their own: only who knows the key, or a head of
the record, from elsewhere finds that out. Nothing here shows that a server wrote down the truth.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.errors import TacitError
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.completeness import list_missing
from tacit.runs.fingerprint import fingerprint_plan
from tacit.runs.run_keys import list_keys

State = Literal["intact", "not intact", "not checked"]


@dataclass(frozen=True, kw_only=True)
class FileCheck:
    """One file of a run, its state, and why."""

    file: str
    state: State
    why: str


def verify_files(folder: Path, *, key: str = "", head: str = "") -> list[FileCheck]:
    """Return every file of a run that something vouches for, and whether it is as it was written.

    `key` is the public key that must have signed the record, `head` a checksum of a line it must
    contain, as others know them.
    """
    try:
        entries = list(run_folder.entries(folder))
    except TacitError as error:
        return [
            FileCheck(file=run_folder.RECORD, state="not intact", why=str(error)),
            *_checkpoint(folder),
        ]
    started = record.select_entries(entries, record.Started)
    return [
        _record(folder, entries, key, head),
        *_checkpoint(folder),
        _plan(folder, started),
        *_stored(folder, entries),
        *_keys(folder),
    ]


def _record(folder: Path, entries: list[record.Entry], key: str, head: str) -> FileCheck:
    started = record.select_entries(entries, record.Started)
    if not started and not (key or head):
        missing = not (folder / run_folder.RECORD).exists()
        why = "there is none yet" if missing else "it has no first entry"
        return FileCheck(file=run_folder.RECORD, state="not checked", why=why)
    wrong = [*_unsigned(folder, started, key, head), *list_missing(entries)]
    if wrong:
        return FileCheck(file=run_folder.RECORD, state="not intact", why="; ".join(wrong))
    why = (
        f"{len(entries):,} entries, each vouching for the one before, signed with key"
        f" {started[0].key}"
    )
    return FileCheck(
        file=run_folder.RECORD,
        state="intact",
        why=f"{why}{_added_later(folder)}; every round has its releases",
    )


def _unsigned(folder: Path, started: list[record.Started], key: str, head: str) -> list[str]:
    """Return what is wrong with a record's signatures."""
    path = folder / run_folder.RECORD
    own = started[0].key if started else ""
    if not own:
        return ["it is not signed: its first entry has no key"]
    if key and own != key:
        return [f"it is signed with key {own}, not with the key that was given"]
    signed = record.read_signed_heads(path)
    wrong = [
        f"the signature at byte {one.length:,} is not by its key"
        for one in signed
        if not one.is_by(own)
    ]
    if head and head not in [one.head for one in signed]:
        wrong.append(
            "it does not contain the head that was given, so it was cut short or rewritten since"
        )
    covered = checkpoint.count_covered_bytes(folder)
    if any(
        begins < covered or isinstance(entry, record.Finished)
        for begins, entry in _after_last_signature(path)
    ):
        wrong.append("entries of finished rounds are not signed")
    return wrong


def _after_last_signature(path: Path) -> list[tuple[int, record.Entry]]:
    """Return the entries that no signature covers yet, each with the byte it begins at."""
    found: list[tuple[int, record.Entry]] = []
    for begins, entry in record.read_lines(path):
        found = [] if isinstance(entry, record.Signed) else [*found, (begins, entry)]
    return found


def _added_later(folder: Path) -> str:
    later = len(_after_last_signature(folder / run_folder.RECORD))
    return f" but for the last {later:,}" if later else ""


def _keys(folder: Path) -> list[FileCheck]:
    """Name keys that a finished run no longer needs."""
    try:
        done = checkpoint.read(folder).progress.arm == checkpoint.ALL_DONE
    except TacitError:
        return []
    if not done:
        return []
    why = (
        "the run has finished, and the key is still there; `tacit resume` or `tacit deploy"
        " --resume` deletes it"
    )
    return [FileCheck(file=name, state="not checked", why=why) for name in list_keys(folder)]


def list_damage(folder: Path) -> list[str]:
    """Return one sentence for each file that is not as it was written; none if all are."""
    return [f"{one.file}: {one.why}" for one in verify_files(folder) if one.state == "not intact"]


def _checkpoint(folder: Path) -> list[FileCheck]:
    """Return the state of the checkpoint, and of the record if it is not the one the checkpoint was
    made with.
    """
    if not (folder / checkpoint.NAME).exists():
        return []
    try:
        last = checkpoint.read(folder)
    except TacitError as error:
        return [FileCheck(file=checkpoint.NAME, state="not intact", why=str(error))]
    intact = FileCheck(
        file=checkpoint.NAME,
        state="intact",
        why="its checksum fits, and so does the record it covers",
    )
    try:
        record.verify(folder / run_folder.RECORD, last.mark)
    except TacitError as error:
        return [
            FileCheck(
                file=checkpoint.NAME,
                state="not intact",
                why=f"it does not belong to the record beside it ({error})",
            )
        ]
    return [intact]


def _plan(folder: Path, started: list[record.Started]) -> FileCheck:
    told = started[0].plan_fingerprint if started else ""
    if not (folder / run_folder.PLAN).exists():
        return FileCheck(file=run_folder.PLAN, state="not intact", why="it is missing")
    if not told:
        return FileCheck(
            file=run_folder.PLAN, state="not checked", why="the record holds no fingerprint of it"
        )
    try:
        same = fingerprint_plan(run_folder.read_plan(folder)) == told
    except TacitError:
        return FileCheck(file=run_folder.PLAN, state="not intact", why="it is no plan any more")
    if not same:
        return FileCheck(
            file=run_folder.PLAN,
            state="not intact",
            why="its settings are not those the record began with",
        )
    return FileCheck(
        file=run_folder.PLAN, state="intact", why="its settings are those the record began with"
    )


def _stored(folder: Path, entries: list[record.Entry]) -> list[FileCheck]:
    told = record.select_entries(entries, record.Stored)
    if not told:
        there = (folder / run_folder.MODEL).exists()
        return (
            [
                FileCheck(
                    file=run_folder.MODEL, state="not checked", why="the record holds no hash of it"
                )
            ]
            if there
            else []
        )
    return [_hashed(folder, name, digest) for name, digest in told[-1].sha256.items()]


def _hashed(folder: Path, name: str, digest: str) -> FileCheck:
    path = folder / Path(name).name
    if not path.exists():
        return FileCheck(file=name, state="not intact", why="it is missing")
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        return FileCheck(
            file=name,
            state="not intact",
            why="it is not the file the record names: edited, cut short or swapped",
        )
    return FileCheck(file=name, state="intact", why=f"SHA-256 {digest[:16]}…, as the record says")
