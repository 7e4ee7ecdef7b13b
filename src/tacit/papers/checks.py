"""Checks that decide a claim: order, course, best of several, agreement with what is printed or predicted, ratio.

Each looks at figures with their seeds. Differences count only where a 95 % interval says so; a check whose figures are
missing, have fewer than three seeds, or lie too close to tell apart decides nothing. No check has a tolerance of its own:
`AtLeast`, `AtMost` and `Alike` take the number the claim itself names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Protocol

from tacit.interval import CONFIDENCE
from tacit.papers.estimate import Estimate, difference, ratio
from tacit.papers.published import At
from tacit.papers.wording import number, with_interval

Found = Mapping[At, Estimate]

_CLOSE = ": too close to tell apart by these seeds"


class Decision(NamedTuple):
    """Whether a check passed (None: it cannot be said), and the figures that decided it."""

    passed: bool | None
    words: str


class Check(Protocol):
    """Decides one part of a claim."""

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the cells it looks at."""

    def decide(self, found: Found) -> Decision:
        """Return its decision by the figures there are."""


@dataclass(frozen=True)
class Above:
    """The first figure is above the second, by as much as is printed: the interval of their difference lies above that."""

    at: At
    than: At
    by: float = 0.0

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the two cells."""
        return self.at, self.than

    def decide(self, found: Found) -> Decision:
        """Return whether the whole interval is above the number, or below; None if the number is in it."""
        ends = _difference(found, self.at, self.than)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)} against {_words(found, self.than)}"
        words += f", {number(self.by)} more asked" if self.by else ""
        return _decision(words, yes=ends[0] > self.by, no=ends[1] < self.by)


@dataclass(frozen=True)
class Alike:
    """The first figure is as good as the second, give or take what the claim names: the whole interval lies inside."""

    at: At
    than: At
    apart: float

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the two cells."""
        return self.at, self.than

    def decide(self, found: Found) -> Decision:
        """Return whether the difference is certainly small; None if its interval is too wide to say."""
        ends = _difference(found, self.at, self.than)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)} against {_words(found, self.than)}, {number(self.apart)} allowed"
        outside = ends[0] > self.apart or ends[1] < -self.apart
        return _decision(words, yes=-self.apart <= ends[0] and ends[1] <= self.apart, no=outside)


@dataclass(frozen=True)
class AtLeast:
    """The figure reaches a number that the claim names: its whole interval does."""

    at: At
    least: float

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the cell."""
        return (self.at,)

    def decide(self, found: Found) -> Decision:
        """Return whether the whole interval reaches the number, or stays below it; None if the number is inside."""
        ends = _ends(found, self.at)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)}, at least {number(self.least)} asked"
        return _decision(words, yes=ends[0] >= self.least, no=ends[1] < self.least)


@dataclass(frozen=True)
class AtMost:
    """The figure does not exceed a number that the claim names: no part of its interval does."""

    at: At
    most: float

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the cell."""
        return (self.at,)

    def decide(self, found: Found) -> Decision:
        """Return whether the whole interval stays within the number, or exceeds it; None if the number is inside."""
        ends = _ends(found, self.at)
        if ends is None:
            return _missing(found, self.cells)
        words = f"{_words(found, self.at)}, at most {number(self.most)} allowed"
        return _decision(words, yes=ends[1] <= self.most, no=ends[0] > self.most)


@dataclass(frozen=True)
class Rises:
    """Figures rise from the first to the last: no step is a fall beyond its interval, and the last is above the first."""

    course: tuple[At, ...]

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the cells in order."""
        return self.course

    def decide(self, found: Found) -> Decision:
        """Return whether every step and the whole way go up."""
        steps = [_difference(found, after, before) for before, after in zip(self.course, self.course[1:], strict=False)]
        whole = _difference(found, self.course[-1], self.course[0])
        if whole is None or any(step is None for step in steps):
            return _missing(found, self.cells)
        falls = [after for step, after in zip(steps, self.course[1:], strict=True) if step is not None and step[1] < 0]
        words = f"{_words(found, self.course[0])} to {_words(found, self.course[-1])}"
        if falls:
            words += f", with a fall at {_name(falls[0])}"
        return _decision(words, yes=whole[0] > 0 and not falls, no=whole[1] < 0 or bool(falls))


@dataclass(frozen=True)
class Best:
    """One figure is the best of several: none is above it beyond the interval, and it is above the worst."""

    at: At
    among: tuple[At, ...]

    @property
    def cells(self) -> tuple[At, ...]:
        """Return all of them, the best first."""
        return (self.at, *(one for one in self.among if one != self.at))

    def decide(self, found: Found) -> Decision:
        """Return whether nothing is certainly better, and something certainly worse."""
        ends = {one: _difference(found, one, self.at) for one in self.cells[1:]}
        if not ends or any(one is None for one in ends.values()):
            return _missing(found, self.cells)
        top = max(self.cells, key=lambda one: found[one].mean)
        better = [one for one, end in ends.items() if end is not None and end[0] > 0]
        worse = [one for one, end in ends.items() if end is not None and end[1] < 0]
        words = f"{_words(found, self.at)}, best {_words(found, top)}" if top != self.at else f"{_words(found, self.at)} is best"
        return _decision(words, yes=bool(worse) and not better, no=bool(better))


@dataclass(frozen=True)
class Printed:
    """Ours agrees with what is printed: each printed number could be that of one more seed; counts are equal."""

    numbers: tuple[tuple[At, float], ...]
    digits: int = 3

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the cells."""
        return tuple(at for at, _ in self.numbers)

    def decide(self, found: Found) -> Decision:
        """Return whether all agree, and the one that lies furthest away."""
        half, off = 0.5 * 10.0**-self.digits + 1e-12, dict[At, float]()
        for at, paper in self.numbers:
            mine = found.get(at)
            if mine is None or mine.one_more is None:
                return _missing(found, (at,))
            off[at] = max(mine.one_more[0] - paper - half, paper - half - mine.one_more[1])
        worst, paper = max(self.numbers, key=lambda one: off[one[0]])
        outside = sum(one > 0 for one in off.values())
        count = f"{len(off) - outside} of {len(off)} agree, " if len(off) > 1 else ""
        return Decision(not outside, f"{count}{_words(found, worst)} printed {number(paper)}")


@dataclass(frozen=True)
class AsPredicted:
    """Figures that count standard errors from a prediction are about zero: their mean over seeds could be chance.

    Their spread is known, one for a single seed, and need not be guessed from seeds: those of rare events are often all alike.
    """

    cells: tuple[At, ...]

    def decide(self, found: Found) -> Decision:
        """Return whether every mean lies within the 95 % interval of chance, and the one that lies furthest away."""
        if any(at not in found or not found[at].seeds for at in self.cells):
            return _missing(found, self.cells)
        off = {at: abs(found[at].mean) * found[at].seeds ** 0.5 for at in self.cells}
        worst = max(self.cells, key=lambda at: off[at])
        most = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        words = f"{_name(worst)} {number(found[worst].mean)}, {number(off[worst])} standard errors of {found[worst].seeds} seeds"
        return Decision(off[worst] <= most, words)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two figures is the printed one: that could be the ratio of one more seed of each."""

    at: At
    over: At
    printed: float

    @property
    def cells(self) -> tuple[At, ...]:
        """Return the two cells."""
        return self.at, self.over

    def decide(self, found: Found) -> Decision:
        """Return whether the printed ratio lies where one more seed would."""
        mine, other = found.get(self.at), found.get(self.over)
        ends = None if mine is None or other is None else ratio(mine, other)
        if ends is None or mine is None or other is None:
            return _missing(found, self.cells)
        words = f"{_name(self.at)} is {number(mine.mean / other.mean)} of {_name(self.over)}, printed {number(self.printed)}"
        return Decision(ends[0] <= self.printed <= ends[1], words)


def _decision(words: str, *, yes: bool, no: bool) -> Decision:
    """Return what an interval shows; where it shows neither, nothing is decided."""
    return Decision(yes, words) if yes or no else Decision(None, words + _CLOSE)


def _ends(found: Found, at: At) -> tuple[float, float] | None:
    mine = found.get(at)
    return None if mine is None or not mine.comparable else mine.interval or (mine.mean, mine.mean)


def _difference(found: Found, mine: At, other: At) -> tuple[float, float] | None:
    return None if mine not in found or other not in found else difference(found[mine], found[other])


def _name(at: At) -> str:
    return ", ".join(part for part in (at.row, at.column) if part)


def _words(found: Found, at: At) -> str:
    return f"{_name(at)} {with_interval(found[at])}"


def _missing(found: Found, cells: tuple[At, ...]) -> Decision:
    absent = next((at for at in cells if at not in found), None)
    if absent is not None:
        return Decision(None, f"not run: {_name(absent)} (table {absent.table})")
    few = next((at for at in cells if not found[at].comparable), cells[0])
    seeds = found[few].seeds
    return Decision(None, f"{'one seed' if seeds == 1 else f'{seeds} seeds'} of {_words(found, few)} decide nothing")
