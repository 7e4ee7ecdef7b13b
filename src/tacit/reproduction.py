"""The interface of `tacit reproduce` to published papers. Papers are not part of Tacit: they are
found as entry points of the group `tacit.papers`, such as those of the distribution tacit-papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from tacit.errors import PlanError, did_you_mean

GROUP = "tacit.papers"
Scale = Literal["smoke", "quick", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "full")
Verdict = Literal[
    "holds", "holds with a correction", "does not hold here", "inconclusive", "not tested"
]
VERDICTS: tuple[Verdict, ...] = (
    "holds",
    "holds with a correction",
    "does not hold here",
    "inconclusive",
    "not tested",
)
UNDECIDED: tuple[Verdict, ...] = ("inconclusive", "not tested")
"""*Inconclusive*: the runs exist, but more seeds must separate the figures. *Not tested*: something is
missing.
"""


@dataclass(frozen=True, kw_only=True)
class ReproductionOptions:
    """Which tables of a paper to reproduce, at which scale, and where results go."""

    scale: Scale
    cache: Path  # one file per finished run
    jobs: int  # runs at the same time; 0: run nothing, use the cache only
    table: str | None = None  # None: every table
    row: str | None = None  # None: every row
    min_seeds: int | None = None  # of each run; None: as many as the scale has
    page: Path | None = None  # the folder of the paper's page, if it is to be written
    figures: Path | None = (
        None  # the folder for the paper's figures as SVG, if they are to be drawn
    )


class TableSummary(NamedTuple):
    """A table in a listing."""

    name: str
    title: str
    scales: Sequence[Scale]  # those at which it exists


class ComparedRow(NamedTuple):
    """One cell of a table as text: the printed number and ours."""

    row: str
    column: str
    printed: str
    ours: str
    seeds: str
    place: str  # where ours lies relative to the printed number; empty if it cannot be said


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """A published table next to ours."""

    name: str
    title: str
    note: str
    rows: Sequence[ComparedRow]


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim of a paper with its verdict."""

    claim: str
    where: str
    verdict: Verdict
    reason: str  # in one line; names what is missing if the claim is not tested
    figures: Sequence[str] = ()  # what decided it, check by check
    size: Sequence[str] = ()  # printed sizes next to ours, which decide nothing
    seeds: int | None = None  # that would decide an inconclusive claim; None: no number is enough


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The result of reproducing a paper."""

    tables: Sequence[ComparedTable]
    claims: Sequence[JudgedClaim]  # none at the smoke scale, which decides nothing
    cells: Sequence[
        dict[str, Any]
    ]  # JSON: table, row, column, paper, ours, low, high, seeds, place
    drawn: Sequence[Path]  # files of figures


class OnRun(Protocol):
    """Observer of a reproduction's progress."""

    def __call__(self, done: int, total: int, next_run: str | None) -> None:
        """`done` of `total` runs have finished; `next_run` describes the one that starts."""


class ReproduciblePaper(Protocol):
    """A paper whose tables can be run again."""

    @property
    def name(self) -> str:
        """Name of the paper on the command line."""

    @property
    def title(self) -> str:
        """Title, authors, where it was published."""

    def list_tables(self) -> list[TableSummary]:
        """List every table at its largest scale."""

    def reproduce(self, options: ReproductionOptions, on_run: OnRun) -> Reproduction:
        """Run what is missing and compare. Raise PlanError for an unknown table or row."""


def list_papers() -> list[ReproduciblePaper]:
    """Load every installed paper, in alphabetical order."""
    return [_load(entry) for _, entry in sorted(_find_entries().items())]


def find_paper(name: str, other_words: Sequence[str] = ()) -> ReproduciblePaper:
    """Load the installed paper of this name; an error lists `other_words` among the names."""
    entries = _find_entries()
    if name not in entries:
        known = [*sorted(entries), *other_words]
        raise PlanError(
            f"reproduce {name}: no such paper is installed; choose one of"
            f" {', '.join(known)}.{did_you_mean(name, known)}"
        )
    return _load(entries[name])


def _find_entries() -> dict[str, EntryPoint]:
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    if not entries:
        raise PlanError("no papers are installed; pip install tacit-papers")
    return entries


def _load(entry: EntryPoint) -> ReproduciblePaper:
    paper: ReproduciblePaper = entry.load()
    return paper
