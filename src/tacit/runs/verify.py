"""Verify that a run's folder is unchanged: the record's hash chain, signatures and completeness, and
the files that record and checkpoint refer to.

The record is signed with a key whose public half is in its first entry and whose private half is
deleted when the run ends. This detects edits, truncated files and files of other runs. A folder that
was forged as a whole has another key; only a reader who knows the key, or a head of the record, from
elsewhere detects that. A signature does not show that the server recorded the truth.
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

RECORD_COPY = "record-copy"
"""File in a folder that holds a copy of a run's record and plan without the model."""

State = Literal["intact", "not intact", "not checked"]


@dataclass(frozen=True, kw_only=True)
class FileCheck:
    """State of one file of a run, with the reason."""

    file: str
    state: State
    why: str


def verify_files(folder: Path, *, key: str = "", head: str = "") -> list[FileCheck]:
    """Check every file of a run that has a hash, a checksum or a signature.

    `key` is the public key that must have signed the record, `head` the checksum of a line that it
    must contain; both come from elsewhere, such as a site.
    """
    try:
        entries = list(run_folder.entries(folder))
    except TacitError as error:
        return [
            FileCheck(file=run_folder.RECORD, state="not intact", why=str(error)),
            *_check_checkpoint(folder),
        ]
    started = record.select_entries(entries, record.Started)
    return [
        _check_record(folder, entries, key, head),
        *_check_checkpoint(folder),
        _check_plan(folder, started),
        *_check_stored(folder, entries),
        *_check_keys(folder),
    ]


def _check_record(folder: Path, entries: list[record.Entry], key: str, head: str) -> FileCheck:
    started = record.select_entries(entries, record.Started)
    if not started and not (key or head):
        missing = not (folder / run_folder.RECORD).exists()
        why = "there is no record yet" if missing else "it has no first entry"
        return FileCheck(file=run_folder.RECORD, state="not checked", why=why)
    wrong = [*_check_signatures(folder, started, key, head), *list_missing(entries)]
    if wrong:
        return FileCheck(file=run_folder.RECORD, state="not intact", why="; ".join(wrong))
    why = f"{len(entries):,} entries in an unbroken hash chain, signed with key {started[0].key}"
    return FileCheck(
        file=run_folder.RECORD,
        state="intact",
        why=f"{why}{_describe_unsigned_end(folder)}; every round has its releases",
    )


def _check_signatures(
    folder: Path, started: list[record.Started], key: str, head: str
) -> list[str]:
    """List what is wrong with a record's signatures."""
    path = folder / run_folder.RECORD
    own = started[0].key if started else ""
    if not own:
        return ["it is not signed: its first entry has no key"]
    if key and own != key:
        return [f"it is signed with key {own}, not with the given key"]
    signed = record.read_signed_heads(path)
    wrong = [
        f"the signature at byte {one.length:,} is not by its key"
        for one in signed
        if not one.is_by(own)
    ]
    if head and head not in [one.head for one in signed]:
        wrong.append("it does not contain the given head, so it was truncated or rewritten since")
    covered = checkpoint.count_covered_bytes(folder)
    if any(
        begins < covered or isinstance(entry, record.Finished)
        for begins, entry in _list_unsigned(path)
    ):
        wrong.append("entries of finished rounds are not signed")
    return wrong


def _list_unsigned(path: Path) -> list[tuple[int, record.Entry]]:
    """Entries after the last signature, each with the offset of its first byte."""
    found: list[tuple[int, record.Entry]] = []
    for begins, entry in record.read_lines(path):
        found = [] if isinstance(entry, record.Signed) else [*found, (begins, entry)]
    return found


def _describe_unsigned_end(folder: Path) -> str:
    later = len(_list_unsigned(folder / run_folder.RECORD))
    return f" except the last {later:,}" if later else ""


def _check_keys(folder: Path) -> list[FileCheck]:
    """Name keys that a finished run no longer needs."""
    try:
        done = checkpoint.read(folder).progress.arm == checkpoint.ALL_DONE
    except TacitError:
        return []
    if not done:
        return []
    why = (
        "the run has finished, but its key still exists; `tacit resume` or `tacit deploy run"
        " --resume` deletes it"
    )
    return [FileCheck(file=name, state="not checked", why=why) for name in list_keys(folder)]


def list_damage(folder: Path) -> list[str]:
    """List the files that are not intact, one sentence each."""
    return [f"{one.file}: {one.why}" for one in verify_files(folder) if one.state == "not intact"]


def _check_checkpoint(folder: Path) -> list[FileCheck]:
    """Check the checkpoint, and that it belongs to the record."""
    if not (folder / checkpoint.NAME).exists():
        return []
    try:
        last = checkpoint.read(folder)
    except TacitError as error:
        return [FileCheck(file=checkpoint.NAME, state="not intact", why=str(error))]
    intact = FileCheck(
        file=checkpoint.NAME,
        state="intact",
        why="its checksum and the record that it covers match",
    )
    try:
        record.verify(folder / run_folder.RECORD, last.mark)
    except TacitError as error:
        return [
            FileCheck(
                file=checkpoint.NAME,
                state="not intact",
                why=f"it does not belong to this record ({error})",
            )
        ]
    return [intact]


def _check_plan(folder: Path, started: list[record.Started]) -> FileCheck:
    recorded = started[0].plan_fingerprint if started else ""
    if not (folder / run_folder.PLAN).exists():
        return FileCheck(file=run_folder.PLAN, state="not intact", why="it is missing")
    if not recorded:
        return FileCheck(
            file=run_folder.PLAN,
            state="not checked",
            why="the record contains no fingerprint of it",
        )
    try:
        same = fingerprint_plan(run_folder.read_plan(folder)) == recorded
    except TacitError:
        return FileCheck(file=run_folder.PLAN, state="not intact", why="it is not a valid plan")
    if not same:
        return FileCheck(
            file=run_folder.PLAN,
            state="not intact",
            why="its settings differ from those in the record",
        )
    return FileCheck(
        file=run_folder.PLAN, state="intact", why="its settings are those in the record"
    )


def _check_stored(folder: Path, entries: list[record.Entry]) -> list[FileCheck]:
    stored = record.select_entries(entries, record.Stored)
    if not stored:
        there = (folder / run_folder.MODEL).exists()
        return (
            [
                FileCheck(
                    file=run_folder.MODEL,
                    state="not checked",
                    why="the record contains no hash of it",
                )
            ]
            if there
            else []
        )
    return [_check_hash(folder, name, digest) for name, digest in stored[-1].sha256.items()]


def _check_hash(folder: Path, name: str, digest: str) -> FileCheck:
    path = folder / Path(name).name
    if not path.exists() and (folder / RECORD_COPY).exists():
        why = "this folder is a copy of the record alone"
        return FileCheck(file=name, state="not checked", why=why)
    if not path.exists():
        return FileCheck(file=name, state="not intact", why="it is missing")
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        return FileCheck(
            file=name,
            state="not intact",
            why="it does not match its hash in the record: edited, truncated or replaced",
        )
    return FileCheck(file=name, state="intact", why=f"SHA-256 {digest[:16]}…, as in the record")
