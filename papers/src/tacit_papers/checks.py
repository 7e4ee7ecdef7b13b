"""Checks that decide a claim: order, trend, best of several, agreement with a printed or predicted
number, ratio.

Each compares estimates over seeds. A difference counts only if a 95 % interval confirms it. A check
decides nothing if estimates are missing, have fewer than three seeds, or are too close to
distinguish. No check has a tolerance of its own: `AtLeast`, `AtMost` and `Alike` take the number
that the claim itself names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Protocol

from tacit.interval import CONFIDENCE
from tacit_papers.estimate import Estimate, difference, ratio
from tacit_papers.published import At
from tacit_papers.wording import format_estimate, format_number

Found = Mapping[At, Estimate]

_CLOSE = ": too close for these seeds to separate"


class CheckResult(NamedTuple):
    """Whether a check passed (None: undecided), and the estimates that decided it."""

    passed: bool | None
    words: str


class Check(Protocol):
    """Decides one part of a claim."""

    @property
    def cells(self) -> tuple[At, ...]:
        """The cells it reads."""

    def decide(self, found: Found) -> CheckResult:
        """Decide by the estimates that exist."""


@dataclass(frozen=True)
class Above:
    """The first estimate exceeds the second by at least `by`: the interval of their difference lies
    above it.
    """

    at: At
    than: At
    by: float = 0.0

    @property
    def cells(self) -> tuple[At, ...]:
        """The two cells."""
        return self.at, self.than

    def decide(self, found: Found) -> CheckResult:
        """Whether the whole interval is above the number, or below; None if it contains the number."""
        ends = _difference(found, self.at, self.than)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)} against {_words(found, self.than)}"
        words += f", {format_number(self.by)} more required" if self.by else ""
        return _decision(words, yes=ends[0] > self.by, no=ends[1] < self.by)


@dataclass(frozen=True)
class Alike:
    """Two estimates agree within the margin that the claim names: the whole interval of their
    difference lies inside.
    """

    at: At
    than: At
    apart: float

    @property
    def cells(self) -> tuple[At, ...]:
        """The two cells."""
        return self.at, self.than

    def decide(self, found: Found) -> CheckResult:
        """Whether the difference is certainly small; None if its interval is too wide."""
        ends = _difference(found, self.at, self.than)
        if ends is None:
            return _missing(found, self.cells)
        words = (
            f"{_words(found, self.at)} against {_words(found, self.than)},"
            f" {format_number(self.apart)} allowed"
        )
        outside = ends[0] > self.apart or ends[1] < -self.apart
        return _decision(words, yes=-self.apart <= ends[0] and ends[1] <= self.apart, no=outside)


@dataclass(frozen=True)
class AtLeast:
    """The estimate reaches a number that the claim names: its whole interval does."""

    at: At
    least: float

    @property
    def cells(self) -> tuple[At, ...]:
        """The cell."""
        return (self.at,)

    def decide(self, found: Found) -> CheckResult:
        """Whether the whole interval reaches the number, or stays below it; None if it contains the
        number.
        """
        ends = _ends(found, self.at)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)}, at least {format_number(self.least)} required"
        return _decision(words, yes=ends[0] >= self.least, no=ends[1] < self.least)


@dataclass(frozen=True)
class AtMost:
    """The estimate does not exceed a number that the claim names: no part of its interval does."""

    at: At
    most: float

    @property
    def cells(self) -> tuple[At, ...]:
        """The cell."""
        return (self.at,)

    def decide(self, found: Found) -> CheckResult:
        """Whether the whole interval stays within the number, or exceeds it; None if it contains
        the number.
        """
        ends = _ends(found, self.at)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)}, at most {format_number(self.most)} allowed"
        return _decision(words, yes=ends[1] <= self.most, no=ends[0] > self.most)


@dataclass(frozen=True)
class Rises:
    """Estimates rise from the first to the last: no step falls significantly, and the last is above
    the first.
    """

    course: tuple[At, ...]

    @property
    def cells(self) -> tuple[At, ...]:
        """The cells in order."""
        return self.course

    def decide(self, found: Found) -> CheckResult:
        """Whether every step and the whole course rise."""
        steps = [
            _difference(found, after, before)
            for before, after in zip(self.course, self.course[1:], strict=False)
        ]
        whole = _difference(found, self.course[-1], self.course[0])
        if whole is None or any(step is None for step in steps):
            return _missing(found, self.cells)
        falls = [
            after
            for step, after in zip(steps, self.course[1:], strict=True)
            if step is not None and step[1] < 0
        ]
        words = f"{_words(found, self.course[0])} to {_words(found, self.course[-1])}"
        if falls:
            words += f", with a fall at {_name(falls[0])}"
        return _decision(words, yes=whole[0] > 0 and not falls, no=whole[1] < 0 or bool(falls))


@dataclass(frozen=True)
class Best:
    """One estimate is the best of several: none is significantly above it, and it is above the
    worst.
    """

    at: At
    among: tuple[At, ...]

    @property
    def cells(self) -> tuple[At, ...]:
        """All cells, the best first."""
        return (self.at, *(one for one in self.among if one != self.at))

    def decide(self, found: Found) -> CheckResult:
        """Whether nothing is certainly better, and something certainly worse."""
        ends = {one: _difference(found, one, self.at) for one in self.cells[1:]}
        if not ends or any(one is None for one in ends.values()):
            return _missing(found, self.cells)
        top = max(self.cells, key=lambda one: found[one].mean)
        better = [one for one, end in ends.items() if end is not None and end[0] > 0]
        worse = [one for one, end in ends.items() if end is not None and end[1] < 0]
        words = (
            f"{_words(found, self.at)}, best {_words(found, top)}"
            if top != self.at
            else f"{_words(found, self.at)} is best"
        )
        return _decision(words, yes=bool(worse) and not better, no=bool(better))


@dataclass(frozen=True)
class Printed:
    """Ours agree with the printed numbers: each lies in the prediction interval of one more seed;
    counts are equal.
    """

    numbers: tuple[tuple[At, float], ...]
    digits: int = 3

    @property
    def cells(self) -> tuple[At, ...]:
        """The cells."""
        return tuple(at for at, _ in self.numbers)

    def decide(self, found: Found) -> CheckResult:
        """Whether all agree; names the cell that is furthest away."""
        half, off = 0.5 * 10.0**-self.digits + 1e-12, dict[At, float]()
        for at, paper in self.numbers:
            mine = found.get(at)
            if mine is None or mine.prediction_interval is None:
                return _missing(found, (at,))
            off[at] = max(
                mine.prediction_interval[0] - paper - half,
                paper - half - mine.prediction_interval[1],
            )
        worst, paper = max(self.numbers, key=lambda one: off[one[0]])
        outside = sum(one > 0 for one in off.values())
        count = f"{len(off) - outside} of {len(off)} agree, " if len(off) > 1 else ""
        return CheckResult(
            not outside, f"{count}{_words(found, worst)} printed {format_number(paper)}"
        )


@dataclass(frozen=True)
class AsPredicted:
    """Deviations from a prediction, in standard errors, are about zero: their mean over seeds is
    compatible with chance.

    The standard deviation of a single seed is known to be one and is not estimated: seeds of rare
    events are often all equal.
    """

    cells: tuple[At, ...]

    def decide(self, found: Found) -> CheckResult:
        """Whether every mean lies within the 95 % interval of chance; names the cell that is
        furthest away.
        """
        if any(at not in found or not found[at].seeds for at in self.cells):
            return _missing(found, self.cells)
        off = {at: abs(found[at].mean) * found[at].seeds ** 0.5 for at in self.cells}
        worst = max(self.cells, key=lambda at: off[at])
        most = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        words = (
            f"{_name(worst)} {format_number(found[worst].mean)}, {format_number(off[worst])}"
            f" standard errors of {found[worst].seeds} seeds"
        )
        return CheckResult(off[worst] <= most, words)


@dataclass(frozen=True)
class Ratio:
    """The printed ratio lies in the prediction interval of the ratio of one more seed of each."""

    at: At
    over: At
    printed: float

    @property
    def cells(self) -> tuple[At, ...]:
        """The two cells."""
        return self.at, self.over

    def decide(self, found: Found) -> CheckResult:
        """Whether the printed ratio lies in the prediction interval."""
        mine, other = found.get(self.at), found.get(self.over)
        ends = None if mine is None or other is None else ratio(mine, other)
        if ends is None or mine is None or other is None:
            return _missing(found, self.cells)
        words = (
            f"{_name(self.at)} is {format_number(mine.mean / other.mean)} of {_name(self.over)},"
            f" printed {format_number(self.printed)}"
        )
        return CheckResult(ends[0] <= self.printed <= ends[1], words)


def _decision(words: str, *, yes: bool, no: bool) -> CheckResult:
    """What an interval decides; nothing if it contains the limit."""
    return CheckResult(yes, words) if yes or no else CheckResult(None, words + _CLOSE)


def _ends(found: Found, at: At) -> tuple[float, float] | None:
    mine = found.get(at)
    return (
        None if mine is None or not mine.is_comparable else mine.interval or (mine.mean, mine.mean)
    )


def _difference(found: Found, mine: At, other: At) -> tuple[float, float] | None:
    return (
        None if mine not in found or other not in found else difference(found[mine], found[other])
    )


def _name(at: At) -> str:
    return ", ".join(part for part in (at.row, at.column) if part)


def _words(found: Found, at: At) -> str:
    return f"{_name(at)} {format_estimate(found[at])}"


def _missing(found: Found, cells: tuple[At, ...]) -> CheckResult:
    absent = next((at for at in cells if at not in found), None)
    if absent is not None:
        return CheckResult(None, f"not run: {_name(absent)} (table {absent.table})")
    few = next((at for at in cells if not found[at].is_comparable), cells[0])
    seeds = found[few].seeds
    return CheckResult(
        None,
        f"{'one seed' if seeds == 1 else f'{seeds} seeds'} of {_words(found, few)} decide nothing",
    )
