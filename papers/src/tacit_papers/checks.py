"""Checks that decide a claim: sign, order, trend, best of several, agreement with a printed or
predicted number.

Each compares estimates over seeds, seed by seed where single seeds are known. A difference counts
only if a 95 % interval confirms it. A check that cannot decide says why: what is missing, or how many
seeds would decide. No check has a tolerance of its own: `AtLeast`, `AtMost` and `Alike` take the
number that the claim itself names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Protocol

from tacit.interval import CONFIDENCE
from tacit_papers.estimate import Difference, Ends, Estimate, compare, count_seeds_needed
from tacit_papers.published import At, measure_effect
from tacit_papers.wording import format_difference, format_estimate, format_number

Found = Mapping[At, Estimate]


class CheckResult(NamedTuple):
    """Whether a check passed (None: undecided), and the estimates that decided it."""

    passed: bool | None
    words: str
    seeds: int | None = None  # that would decide an undecided check; None: no number is enough
    missing: str = ""  # what an undecided check lacks: runs, or seeds
    leans: bool = True  # whether an undecided check would pass by its estimates alone


class Check(Protocol):
    """Decides one part of a claim."""

    @property
    def cells(self) -> tuple[At, ...]:
        """The cells it reads."""

    def decide(self, found: Found) -> CheckResult:
        """Decide by the estimates that exist."""


@dataclass(frozen=True)
class Above:
    """The first estimate exceeds the second by more than `by`: the interval of their difference
    lies above it.
    """

    at: At
    than: At
    by: float = 0.0

    @property
    def cells(self) -> tuple[At, ...]:
        """The two cells."""
        return self.at, self.than

    def decide(self, found: Found) -> CheckResult:
        """Whether the whole interval is above the number, or not above it; None if it contains the
        number. Estimates that are equal in every seed are not above each other.
        """
        apart = _difference(found, self.at, self.than)
        if apart is None:
            return _missing(found, self.cells)
        words = f"{_compared(found, self.at, self.than, apart)}{_required(self.by, 'more')}"
        low, high = apart.ends
        seeds = count_seeds_needed(apart.mean - self.by, apart.deviation)
        leans = apart.mean > self.by
        return _decide(words, seeds, leans, yes=low > self.by, no=high < self.by or high == low)


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
        apart = _difference(found, self.at, self.than)
        if apart is None:
            return _missing(found, self.cells)
        words = (
            f"{_compared(found, self.at, self.than, apart)}; a margin of"
            f" {format_number(self.apart)} is claimed"
        )
        low, high = apart.ends
        outside = low > self.apart or high < -self.apart
        seeds = count_seeds_needed(abs(apart.mean) - self.apart, apart.deviation)
        inside = -self.apart <= low and high <= self.apart
        return _decide(words, seeds, abs(apart.mean) <= self.apart, yes=inside, no=outside)


@dataclass(frozen=True)
class Positive:
    """A difference is above zero: the whole interval is."""

    at: At

    @property
    def cells(self) -> tuple[At, ...]:
        """The cell."""
        return (self.at,)

    def decide(self, found: Found) -> CheckResult:
        """Whether the whole interval is above zero, or not above it; None if it contains zero."""
        ends = _ends(found, self.at)
        if ends is None:
            return _missing(found, self.cells)
        seeds = _seeds_for(found[self.at], 0.0)
        words = _words(found, self.at, signed=True)
        return _decide(words, seeds, found[self.at].mean > 0, yes=ends[0] > 0, no=ends[1] <= 0)


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
        words = f"{_words(found, self.at)}{_required(self.least, 'at least')}"
        seeds = _seeds_for(found[self.at], self.least)
        leans = found[self.at].mean >= self.least
        return _decide(words, seeds, leans, yes=ends[0] >= self.least, no=ends[1] < self.least)


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
        words = f"{_words(found, self.at)}{_required(self.most, 'at most')}"
        seeds = _seeds_for(found[self.at], self.most)
        leans = found[self.at].mean <= self.most
        return _decide(words, seeds, leans, yes=ends[1] <= self.most, no=ends[0] > self.most)


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
            if step is not None and step.ends[1] < 0
        ]
        words = (
            f"{_words(found, self.course[0])} to {_words(found, self.course[-1])}:"
            f" {format_difference(whole)}"
        )
        if falls:
            words += f", with a fall at {_name(falls[0])}"
        seeds = count_seeds_needed(whole.mean, whole.deviation)
        low, high = whole.ends
        rises, fell = low > 0 and not falls, high <= 0 or bool(falls)
        return _decide(words, seeds, whole.mean > 0, yes=rises, no=fell)


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
        apart = [_difference(found, self.at, one) for one in self.cells[1:]]
        known = [one for one in apart if one is not None]
        if not known or len(known) < len(apart):
            return _missing(found, self.cells)
        top = max(self.cells, key=lambda one: found[one].mean)
        words = (
            f"{_words(found, self.at)}, best {_words(found, top)}"
            if top != self.at
            else f"{_words(found, self.at)} is best"
        )
        better = any(one.ends[1] < 0 for one in known)
        worse = any(one.ends[0] > 0 for one in known)
        most = max(known, key=lambda one: abs(one.mean))
        seeds = count_seeds_needed(most.mean, most.deviation)
        return _decide(words, seeds, top == self.at, yes=worse and not better, no=better)


@dataclass(frozen=True)
class Printed:
    """Ours agree with the printed numbers: each lies in the prediction interval of one more seed;
    counts are equal. An interval wider than the effect that the numbers show agrees with nothing.
    """

    numbers: tuple[tuple[At, float], ...]
    digits: int = 3
    effect: float | None = None  # the range of the printed numbers, if it is not stated

    @property
    def cells(self) -> tuple[At, ...]:
        """The cells."""
        return tuple(at for at, _ in self.numbers)

    def decide(self, found: Found) -> CheckResult:
        """Whether all agree; names the cell that is furthest away."""
        half, off = 0.5 * 10.0**-self.digits + 1e-12, dict[At, float]()
        effect = self.effect or measure_effect([paper for _, paper in self.numbers])
        for at, paper in self.numbers:
            mine = found.get(at)
            if mine is None or mine.prediction_interval is None:
                return _missing(found, (at,))
            if mine.width > effect:
                words = f"{_words(found, at)}, printed {format_number(paper)}: too wide an interval"
                return CheckResult(None, words, _seeds_for_width(mine, effect))
            off[at] = max(
                mine.prediction_interval[0] - paper - half,
                paper - half - mine.prediction_interval[1],
            )
        worst, paper = max(self.numbers, key=lambda one: off[one[0]])
        outside = sum(one > 0 for one in off.values())
        count = f"{len(off) - outside} of {len(off)} agree, " if len(off) > 1 else ""
        return CheckResult(
            not outside, f"{count}{_words(found, worst)}, printed {format_number(paper)}"
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


def _decide(words: str, seeds: int | None, leans: bool, *, yes: bool, no: bool) -> CheckResult:
    """What an interval decides; nothing if it contains the limit."""
    if yes or no:
        return CheckResult(yes, words)
    return CheckResult(None, words, seeds, leans=leans)


def _required(limit: float, how: str) -> str:
    """What the claim asks for; a limit of zero needs no words."""
    return f"; {how} {format_number(limit)} is claimed" if limit else ""


def _ends(found: Found, at: At) -> Ends | None:
    mine = found.get(at)
    return (
        None if mine is None or not mine.is_comparable else mine.interval or (mine.mean, mine.mean)
    )


def _seeds_for(mine: Estimate, limit: float) -> int | None:
    return count_seeds_needed(mine.mean - limit, mine.deviation or 0.0)


def _seeds_for_width(mine: Estimate, effect: float) -> int | None:
    """The number of seeds at which the interval of an estimate becomes as narrow as an effect."""
    return count_seeds_needed(effect / 2, mine.deviation or 0.0)


def _difference(found: Found, mine: At, other: At) -> Difference | None:
    return None if mine not in found or other not in found else compare(found[mine], found[other])


def _name(at: At) -> str:
    return ", ".join(part for part in (at.row, at.column) if part)


def _words(found: Found, at: At, *, signed: bool = False) -> str:
    sign = "+" if signed and found[at].mean > 0 else ""
    return f"{_name(at)} {sign}{format_estimate(found[at])}"


def _compared(found: Found, at: At, than: At, apart: Difference) -> str:
    """Both means with their difference; an interval of each would invite a comparison by eye."""
    return (
        f"{_name(at)} {format_number(found[at].mean)} against {_name(than)}"
        f" {format_number(found[than].mean)}: {format_difference(apart)}"
    )


def _missing(found: Found, cells: tuple[At, ...]) -> CheckResult:
    absent = next((at for at in cells if at not in found), None)
    if absent is not None:
        missing = f"not run: {_name(absent)} (table {absent.table})"
        return CheckResult(None, missing, missing=missing)
    few = next((at for at in cells if not found[at].is_comparable), cells[0])
    seeds = found[few].seeds
    missing = (
        f"only {'one seed' if seeds == 1 else f'{seeds} seeds'} of {_words(found, few)}"
        f" (table {few.table})"
    )
    return CheckResult(None, missing, missing=missing)
