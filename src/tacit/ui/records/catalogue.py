"""The runs of a folder: names, indexes of the runs that are looked at, and rows of the list."""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tacit.errors import RunError, TacitError
from tacit.privacy.statement import prose
from tacit.report import phrasing
from tacit.report.figures import Summary
from tacit.report.privacy import PrivacyFigures, summarise_privacy
from tacit.runs import record
from tacit.runs.run_folder import LOCK, PLAN, RECORD, is_running
from tacit.ui.records.hostile import reading
from tacit.ui.records.index import RecordIndex
from tacit.ui.records.safe_files import (
    is_plain_name,
    list_plain_folders,
    open_inside,
    read_text_inside,
)
from tacit.ui.records.summaries import find_budget, state_recorded, summarise_index

MAX_INDEXES = 24
LONG_RECORD = 8 << 20
"""The list reads only both ends of a longer record, and no page states its guarantee in words."""
DAMAGED = "damaged record"
SPARK_WIDTH, SPARK_HEIGHT, _SPARK_POINTS = 100.0, 24.0, 40


class NoSuchRun(TacitError):  # noqa: N818 - the page says that there is none
    """There is no run of this name in the folder."""

    status = 404


@dataclass(frozen=True)
class _StatedPrivacy:
    """A guarantee in words, for a record of some size and the releases that it had."""

    size: int
    releases: tuple[int, bool]
    figures: PrivacyFigures | None

    def is_current(self, size: int, index: RecordIndex) -> bool:
        """Whether nothing was released since; baselines of a finished run release nothing of it."""
        return self.size == size or (self.releases[1] and self.releases == _mark_releases(index))


def _mark_releases(index: RecordIndex) -> tuple[int, bool]:
    """Count the rounds of the run that were charged, and tell whether it has finished."""
    return index.spent.lines.count, index.finished() is not None


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run in the list."""

    name: str
    state: str
    is_open: bool
    result: str
    value: float | None
    epsilon: str
    bytes_up: int | None
    seconds: float
    when: float
    spark: str
    fraction: float
    selected_by: str = ""
    plan: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)


class RunCatalogue:
    """Reads a runs folder for many requests at the same time."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.RLock()
        self._indexes: OrderedDict[str, RecordIndex] = OrderedDict()
        self._rows: dict[str, tuple[tuple[float, ...], RunRow]] = {}
        self._privacy: OrderedDict[str, _StatedPrivacy] = OrderedDict()

    def names(self) -> list[str]:
        """Names of all runs."""
        return [name for name in list_plain_folders(self.root) if self._contains_run(name)]

    def find(self, name: str) -> str:
        """Return the name if there is such a run; else raise NoSuchRun."""
        if is_plain_name(name) and self._contains_run(name):
            return name
        raise NoSuchRun("There is no run of this name here.")

    def index(self, name: str) -> RecordIndex:
        """The index of a run, extended by what was appended since."""
        with self._lock:
            self.find(name)
            index = self._indexes.setdefault(name, RecordIndex(self.root, name))
            self._indexes.move_to_end(name)
            while len(self._indexes) > MAX_INDEXES:
                self._indexes.popitem(last=False)
            with reading(name):
                index.update()
            return index

    def summary(self, name: str, *, in_words: bool = False) -> Summary:
        """Figures of a run; `in_words` also states its guarantee, if the record is not long."""
        with self._lock:
            index = self.index(name)
            with reading(name):
                stated = self.state_privacy(name) if in_words else None
                return summarise_index(index, self.is_running(name), stated)

    def version(self, name: str) -> tuple[int, int, bool]:
        """Changes whenever the page of a run may have changed. It reads no content."""
        return (*self._measure(name), self.is_running(name))

    def is_running(self, name: str) -> bool:
        """Whether a process works on the run. The lock of a run that works is only looked at: its
        file is empty otherwise.
        """
        if not read_text_inside(self.root, name, LOCK):
            return False
        return is_running(self.root / name)

    def state_privacy(self, name: str) -> PrivacyFigures | None:
        """The guarantee of a run in words, from its releases; None if the record is long or damaged.

        While the run itself trains, only its totals are current, so there is no statement in words.
        """
        index, size = self.index(name), self._measure(name)[0]
        trains = index.finished() is None and self.is_running(name)
        known = self._privacy.get(name)
        if known is None or not (trains or known.is_current(size, index)):
            known = _StatedPrivacy(size, _mark_releases(index), self._compute_privacy(name, size))
            self._privacy[name] = known
            while len(self._privacy) > MAX_INDEXES:
                self._privacy.popitem(last=False)
        found = known.figures
        if found is None or not trains:
            return found
        totals = state_recorded(index.spent.last)
        return replace(totals, owners=found.owners, unprotected=found.unprotected)

    def _compute_privacy(self, name: str, size: int) -> PrivacyFigures | None:
        if not 0 < size <= LONG_RECORD:
            return None
        try:
            return summarise_privacy(list(self.read_entries(name)))
        except TacitError:
            return None

    def read_entries(self, name: str) -> list[record.Entry]:
        """All valid entries of a record, with its checksums verified; raise RunError if damaged."""
        self.find(name)
        try:
            with open_inside(self.root, name, RECORD) as handle:
                size = os.fstat(handle).st_size
                content = b"".join(_read_all(handle, size))
        except FileNotFoundError:
            return []
        return list(record.parse(content, self.root / name / RECORD))

    def read_plan_text(self, name: str) -> str:
        """The plan of a run as TOML; empty if it is missing."""
        return read_text_inside(self.root, self.find(name), PLAN)

    def rows(self) -> list[RunRow]:
        """All runs, newest first."""
        names = self.names()
        with self._lock:
            self._rows = {name: row for name, row in self._rows.items() if name in set(names)}
            found = [self._row(name) for name in names]
        return sorted(found, key=lambda row: (-row.when, row.name))

    def _row(self, name: str) -> RunRow:
        size, changed = self._measure(name)
        running = self.is_running(name)
        state = (float(size), float(changed), float(running))
        known = self._rows.get(name)
        if known is None or known[0] != state:
            try:
                with reading(name):
                    row = self._build_row(name, size, changed / 1e9, running)
                    _check_shown(row)
            except RunError:
                row = _build_damaged_row(name, changed / 1e9)
            self._rows[name] = state, row
            return row
        return known[1]

    def _build_row(self, name: str, size: int, when: float, running: bool) -> RunRow:
        index = self._indexes.get(name)
        if index is None and size > LONG_RECORD:
            index = RecordIndex(self.root, name, brief=True)
            index.peek()
        elif index is None and running:
            index = self.index(name)
        elif index is None:
            index = RecordIndex(self.root, name, brief=True)
            index.update()
        else:
            index.update()
        return build_row(index, summarise_index(index, running), when)

    def _contains_run(self, name: str) -> bool:
        return any(self._stat(name, file) is not None for file in (RECORD, PLAN))

    def _measure(self, name: str) -> tuple[int, int]:
        """Size of the record, and time of the last change of record or plan in nanoseconds."""
        facts = self._stat(name, RECORD)
        if facts is None:
            facts = self._stat(name, PLAN)
            return (0, facts.st_mtime_ns if facts else 0)
        return facts.st_size, facts.st_mtime_ns

    def _stat(self, name: str, file: str) -> os.stat_result | None:
        """Facts about a regular file of a run; None if it, or the run's folder, is anything else."""
        try:
            folder = os.stat(self.root / name, follow_symlinks=False)
            facts = os.stat(self.root / name / file, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        return facts if stat.S_ISDIR(folder.st_mode) and stat.S_ISREG(facts.st_mode) else None


def _read_all(handle: int, size: int) -> list[bytes]:
    blocks, place = [], 0
    while place < size and (block := os.pread(handle, min(1 << 22, size - place), place)):
        blocks.append(block)
        place += len(block)
    return blocks


def build_row(index: RecordIndex, run: Summary, when: float) -> RunRow:
    """The row of a run in the list."""
    own = run.arm(record.RUN)
    lead = run.leading
    value = own.metrics.get(lead) if own else None
    planned = own.planned if own else 0
    return RunRow(
        name=run.name,
        state=DAMAGED if index.damage else run.state,
        is_open=not run.finished,
        result=phrasing.NONE
        if value is None
        else f"{phrasing.METRICS[lead]} {phrasing.format_metric(lead, value)}",
        value=value,
        epsilon=_describe_epsilon(index),
        bytes_up=own.bytes_up if own else None,
        seconds=sum(arm.seconds for arm in run.arms),
        when=when,
        spark=draw_spark(index, lead),
        fraction=1.0 if run.finished else own.rounds / planned if own and planned else 0.0,
        selected_by=str(run.plan.get("selected_by") or "")[:300],
        plan=run.plan,
    )


def _check_shown(row: RunRow) -> None:
    """Raise the error that showing the figures of a row would cause."""
    phrasing.format_size(row.bytes_up)
    phrasing.format_duration(row.seconds)


def _build_damaged_row(name: str, when: float) -> RunRow:
    return RunRow(
        name=name,
        state=DAMAGED,
        is_open=False,
        result=phrasing.NONE,
        value=None,
        epsilon=phrasing.NONE,
        bytes_up=None,
        seconds=0.0,
        when=when,
        spark="",
        fraction=0.0,
    )


def _describe_epsilon(index: RecordIndex) -> str:
    totals = index.spent.last
    whole = prose.find_run_total(totals)
    if whole is not None:
        budget = find_budget(index.plan)
        limit = f" of {prose.format_bound(budget)}" if budget else ""
        return f"{prose.format_bound(whole.epsilon or 0)}{limit} per run"
    known = [total for total in totals if total.epsilon is not None]
    if known:
        return prose.format_total(known[0])
    return "no protection" if totals else phrasing.NONE


def draw_spark(index: RecordIndex, metric: str) -> str:
    """Points of a small curve of a metric, as an SVG polyline takes them."""
    curves = index.arms.get(record.RUN)
    lines = curves.evaluated.points() if curves else []
    points = [(line.round_no, line.metrics[metric]) for line in lines if metric in line.metrics]
    points = points[:: max(1, len(points) // _SPARK_POINTS)]
    if len(points) < 2:
        return ""
    low, high = min(y for _, y in points), max(y for _, y in points)
    first, last = points[0][0], points[-1][0]
    wide, tall = (last - first) or 1, (high - low) or 1.0
    inner = SPARK_HEIGHT - 4
    return " ".join(
        f"{SPARK_WIDTH * (x - first) / wide:.1f},{2 + inner * (1 - (y - low) / tall):.1f}"
        for x, y in points
    )
