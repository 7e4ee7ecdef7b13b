"""An index of a record that is extended as the file grows.

Blocks of complete lines are scanned for their kinds. Rounds are parsed for exact totals; of lines
that a curve needs, those that the curve keeps. Checksums are not verified: `tacit runs verify` does.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tacit.errors import RunError
from tacit.runs.record import (
    RUN,
    Abandoned,
    Audited,
    Entry,
    Finished,
    Prepared,
    Refused,
    Resumed,
    SiteMissing,
    Started,
    Stored,
    Voted,
    parse_entry,
)
from tacit.runs.run_folder import RECORD
from tacit.ui.records.arm_curves import ArmCurves, RoundLine
from tacit.ui.records.safe_files import open_inside
from tacit.ui.records.scan import ScannedBlock, scan_block
from tacit.ui.records.series import Series
from tacit.ui.records.spent_totals import SpentTotals

_BLOCK = 4 << 20
MAX_LINE = 64 << 20
"""A longer line is none of ours; the record counts as damaged from there on."""
_MAX_ARMS, _MAX_REASONS, _MAX_NAMES, _RECENT = 16, 100, 16, 50
_RECENT_RELEASES = 16
_SINGLE = ("started", "prepared", "disclosed_rows", "corrupted", "warm_started", "abandoned")
_LAST_BY_ARM = ("finished", "spread", "by_class")


@dataclass(frozen=True)
class _VotedLine:
    """The last votes: round, rejected contributors, and the whole entry."""

    round_no: int
    rejected: int
    entry: Voted


class _ReleasedLine(msgspec.Struct, frozen=True, gc=False):
    """The parts of a release that say how many clients were asked."""

    round_no: int
    exchange: str
    clients: int


class _RefusedLine(msgspec.Struct, frozen=True):
    """The parts of a refusal that are counted."""

    reason: str = ""
    exchange: str = ""


class RecordIndex:
    """What pages need of one record. `update` reads what was appended."""

    def __init__(self, root: Path, run: str, *, brief: bool = False) -> None:
        """With `brief`, only what a list of runs shows: the run's own rounds and last totals."""
        self.root, self.run, self.brief = root, run, brief
        self.path = root / run / RECORD
        self.version = 0
        """Increases whenever something new was read."""
        self._skips: list[tuple[int, int]] = []
        self._identity: tuple[int, int] = (0, 0)
        self._reset()

    def _reset(self) -> None:
        self.position = 0
        self.entries = 0
        self.unreadable = 0
        self.damage = ""
        self.arms: dict[str, ArmCurves] = {}
        self.single: dict[str, Entry] = {}
        self.by_arm: dict[tuple[str, str], Entry] = {}
        self.audits: dict[str, Audited] = {}
        self.stored: deque[Stored] = deque(maxlen=_MAX_NAMES)
        self.spent = SpentTotals(self.path)
        self.voted: Series[_VotedLine] = Series()
        self.asked: Series[_ReleasedLine] = Series()
        self.asked_by_round: dict[int, int] = {}
        """Most clients that an exchange of a round asked, for the last rounds."""
        self.refused: Counter[str] = Counter()
        self.absent: Counter[tuple[str, str]] = Counter()
        self.recent_absences: deque[SiteMissing] = deque(maxlen=_RECENT)
        self.recent_refusals: deque[Refused] = deque(maxlen=_RECENT)
        self.resumes = 0

    def update(self) -> bool:
        """Read what was appended; return whether anything was.

        A record that became shorter or was replaced is read again from its beginning.
        """
        try:
            with open_inside(self.root, self.run, RECORD) as handle:
                return self._update(handle)
        except FileNotFoundError:
            return False
        except OSError as error:
            self.damage = f"the record cannot be read ({error.strerror})"
            return False

    def peek(self, head: int = 1 << 19, tail: int = 1 << 19) -> None:
        """Read only the beginning and the end of a long record; totals are then those of the end."""
        try:
            with open_inside(self.root, self.run, RECORD) as handle:
                size = os.fstat(handle).st_size
                first = os.pread(handle, head, 0)
                last = os.pread(handle, tail, max(0, size - tail))
        except OSError:
            return
        self._add(scan_block(first[: first.rfind(b"\n") + 1]))
        self._add(scan_block(last[last.find(b"\n") + 1 : last.rfind(b"\n") + 1]))

    def _update(self, handle: int) -> bool:
        facts = os.fstat(handle)
        identity = (facts.st_dev, facts.st_ino)
        if identity != self._identity or facts.st_size < self.position:
            self._identity, self._skips = identity, []
            self._reset()
        if facts.st_size == self.position or self.damage:
            return False
        if not self._read(handle):
            self._reset()  # a resume superseded what was read; the skips are known now
            self._read(handle)
        self.version += 1
        return True

    def _read(self, handle: int) -> bool:
        """Read complete lines to the end; return False if a resume supersedes earlier ones."""
        known, size = len(self._skips), _BLOCK
        while block := os.pread(handle, size, self.position):
            whole = block.rfind(b"\n") + 1
            if whole:
                self._add(scan_block(block, whole))
                self.position += whole
                size = _BLOCK
            elif len(block) > MAX_LINE:
                self.damage = "a line of the record is too long"
                break
            elif len(block) < size:
                break  # the end of the file, within a line
            else:
                size *= 2
        return len(self._skips) == known

    def _add(self, block: ScannedBlock) -> None:
        if self._skips:
            block = self._without_skips(block)
        self.entries += len(block.codes)
        self.unreadable += int((block.codes == 0).sum())
        for begin, end in block.places("resumed"):
            self._resume(block.content[begin:end], self.position + begin)
        self._add_rounds(block)
        self._add_spent(block)
        if not self.brief:
            self._add_asked(block)
            self._add_voted(block)
            self._add_refusals(block)
        for kind in _SINGLE:
            for entry in self._parse(block, kind, last=kind != "started"):
                self.single.setdefault(kind, entry)
        for kind in _LAST_BY_ARM[:1] if self.brief else _LAST_BY_ARM:
            for entry in self._parse(block, kind):
                if len(self.by_arm) < 3 * _MAX_ARMS:
                    self.by_arm[kind, str(getattr(entry, "arm", RUN))] = entry
        for entry in self._parse(block, "audited"):
            if isinstance(entry, Audited) and (
                entry.name in self.audits or len(self.audits) < _MAX_NAMES
            ):
                self.audits[entry.name] = entry
        for entry in self._parse(block, "stored"):
            if isinstance(entry, Stored):
                self.stored.append(entry)

    def _without_skips(self, block: ScannedBlock) -> ScannedBlock:
        keep = block.codes == block.codes
        for begin, end in self._skips:
            where = block.begins + self.position
            keep &= ~((where >= begin) & (where < end))
        return ScannedBlock(block.content, block.begins[keep], block.ends[keep], block.codes[keep])

    def _resume(self, line: bytes, where: int) -> None:
        entry = self._parse_line(line)
        if isinstance(entry, Resumed):
            self.resumes += 1
            skip = (entry.length or 0, where)
            if entry.length is not None and skip[0] < where and skip not in self._skips:
                self._skips.append(skip)

    def _add_rounds(self, block: ScannedBlock) -> None:
        places = block.places("round", _ROUND_OF_RUN if self.brief else b"")
        lines = [block.content[begin:end] for begin, end in places]
        if not lines:
            return
        by_arm: dict[str, list[RoundLine]] = {}
        for line in self._decode_rounds(lines):
            by_arm.setdefault(line.arm, []).append(line)
        for arm, found in by_arm.items():
            if arm in self.arms or len(self.arms) < _MAX_ARMS:
                self.arms.setdefault(arm, ArmCurves()).extend(found)

    def _decode_rounds(self, lines: list[bytes]) -> list[RoundLine]:
        try:
            return _ROUNDS.decode(b"[" + b",".join(lines) + b"]")
        except (msgspec.MsgspecError, ValueError):
            pass
        found = []
        for line in lines:
            try:
                found.append(_ROUND.decode(line))
            except (msgspec.MsgspecError, ValueError):
                self.unreadable += 1
        return found

    def _add_spent(self, block: ScannedBlock) -> None:
        """Totals of the run itself; they are parsed when a page asks for them."""
        places = block.places("spent", _SPENT_OF_RUN)
        chosen = [
            (place, block.content[slice(*places[place])])
            for place in self.spent.lines.select(len(places))
        ]
        self.spent.lines.extend_selected(chosen, len(places))

    def _add_asked(self, block: ScannedBlock) -> None:
        places, chosen = block.places("released", _RELEASED_BY_RUN), []
        for place in self.asked.select(len(places)):
            begin, end = places[place]
            try:
                chosen.append((place, _RELEASED.decode(block.content[begin:end])))
            except (msgspec.MsgspecError, ValueError):
                self.unreadable += 1
        self.asked.extend_selected(chosen, len(places))
        for begin, end in places[-_RECENT_RELEASES:]:
            try:
                line = _RELEASED.decode(block.content[begin:end])
            except (msgspec.MsgspecError, ValueError):
                continue
            most = self.asked_by_round.pop(line.round_no, 0)
            self.asked_by_round[line.round_no] = max(most, line.clients)
        while len(self.asked_by_round) > _RECENT_RELEASES:
            self.asked_by_round.pop(next(iter(self.asked_by_round)))

    def _add_voted(self, block: ScannedBlock) -> None:
        places, chosen = block.places("voted"), []
        for place in self.voted.select(len(places)):
            entry = self._parse_line(block.content[slice(*places[place])])
            if isinstance(entry, Voted) and entry.arm == RUN:
                chosen.append((place, _VotedLine(entry.round_no, len(entry.rejected), entry)))
        self.voted.extend_selected(chosen, len(places))

    def _add_refusals(self, block: ScannedBlock) -> None:
        for begin, end in block.places("refused"):
            try:
                line = _REFUSED.decode(block.content[begin:end])
            except (msgspec.MsgspecError, ValueError):
                self.unreadable += 1
                continue
            known = line.reason in self.refused or len(self.refused) < _MAX_REASONS
            self.refused[line.reason if known else "other reasons"] += 1
        for entry in self._parse(block, "refused", newest=_RECENT):
            if isinstance(entry, Refused):
                self.recent_refusals.append(entry)
        for entry in self._parse(block, "site_missing"):
            if isinstance(entry, SiteMissing):
                key = (entry.site, entry.cause)
                known = key in self.absent or len(self.absent) < _MAX_REASONS
                self.absent[key if known else ("other sites", entry.cause)] += 1
                self.recent_absences.append(entry)

    def _parse(
        self, block: ScannedBlock, kind: str, *, last: bool = False, newest: int | None = None
    ) -> list[Entry]:
        places = block.places(kind)
        places = places[-1:] if last else places[-newest:] if newest else places
        found = [self._parse_line(block.content[begin:end]) for begin, end in places]
        return [entry for entry in found if entry is not None]

    def _parse_line(self, line: bytes) -> Entry | None:
        try:
            return parse_entry(line, self.path)
        except RunError:
            self.unreadable += 1
            return None

    # What pages ask for

    @property
    def plan(self) -> dict[str, Any]:
        """The plan of the run; empty before the first entry."""
        started = self.single.get("started")
        return started.plan if isinstance(started, Started) else {}

    @property
    def prepared(self) -> Prepared | None:
        """Facts about the data, once they are known."""
        found = self.single.get("prepared")
        return found if isinstance(found, Prepared) else None

    @property
    def is_abandoned(self) -> bool:
        """Whether the run was abandoned."""
        return isinstance(self.single.get("abandoned"), Abandoned)

    def finished(self, arm: str = RUN) -> Finished | None:
        """The end of an arm, if it has ended."""
        found = self.by_arm.get(("finished", arm))
        return found if isinstance(found, Finished) else None


_ROUND, _ROUNDS = msgspec.json.Decoder(RoundLine), msgspec.json.Decoder(list[RoundLine])
_REFUSED = msgspec.json.Decoder(_RefusedLine)
_RELEASED = msgspec.json.Decoder(_ReleasedLine)
_RELEASED_BY_RUN = b'{"kind": "released", "arm": "run"'
_ROUND_OF_RUN = b'{"kind": "round", "arm": "run"'
_SPENT_OF_RUN = b'{"kind": "spent", "arm": "run"'
