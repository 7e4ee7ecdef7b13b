"""The harness' own arithmetic: interleave repeats, take medians, form ratios, hold them against the
bars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from bench.clock import Taken

Repeat = Callable[[], Taken]
Better = Literal["lower", "higher"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One figure against one peer. `ratio` is ours / theirs; whether that should be small or large
    says `better`.
    """

    figure: str
    peer: str
    ours: float
    theirs: float | None
    unit: str
    kind: Literal["wall", "cpu", "count"] = "wall"
    better: Better = "lower"
    bar: float | None = None
    repeats: int = 1
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Return ours / theirs, or None when there is nothing to compare with."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        """Whether the ratio reaches its bar, or None without a bar."""
        if self.bar is None or self.ratio is None:
            return None
        return self.ratio <= self.bar if self.better == "lower" else self.ratio >= self.bar

    def as_dict(self) -> dict[str, Any]:
        """The result as it is written to disk."""
        return {
            "figure": self.figure,
            "peer": self.peer,
            "ours": self.ours,
            "theirs": self.theirs,
            "ratio": self.ratio,
            "unit": self.unit,
            "kind": self.kind,
            "better": self.better,
            "bar": self.bar,
            "met": self.met,
            "repeats": self.repeats,
            "note": self.note,
        }


def interleave(ours: Repeat, theirs: Repeat, repeats: int) -> tuple[Taken, Taken]:
    """Median of each side over repeats taken in turns, so that noise hits both alike."""
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    return middle([first for first, _ in pairs]), middle([second for _, second in pairs])


def middle(many: list[Taken]) -> Taken:
    """Medians of wall and CPU seconds, each by itself."""
    return Taken(median(one.wall for one in many), median(one.cpu for one in many))


def seconds(
    figure: str,
    peer: str,
    pair: tuple[Taken, Taken],
    *,
    repeats: int,
    wall_bar: float | None = None,
    cpu_bar: float | None = None,
    unit: str = "s",
    note: str = "",
) -> list[Result]:
    """Wall and CPU result of a pair of medians."""
    ours, theirs = pair
    same: dict[str, Any] = {
        "figure": figure,
        "peer": peer,
        "unit": unit,
        "repeats": repeats,
        "note": note,
    }
    return [
        Result(kind="wall", ours=ours.wall, theirs=theirs.wall, bar=wall_bar, **same),
        Result(kind="cpu", ours=ours.cpu, theirs=theirs.cpu, bar=cpu_bar, **same),
    ]


def speeds(
    figure: str,
    peer: str,
    pair: tuple[Taken, Taken],
    amounts: tuple[float, float],
    *,
    unit: str,
    repeats: int,
    bar: float,
) -> list[Result]:
    """Wall and CPU result as amounts per second, both held against the bar."""
    same: dict[str, Any] = {
        "figure": figure,
        "peer": peer,
        "unit": unit,
        "repeats": repeats,
        "better": "higher",
        "bar": bar,
    }
    (ours, theirs), (amount, their_amount) = pair, amounts
    return [
        Result(kind="wall", ours=amount / ours.wall, theirs=their_amount / theirs.wall, **same),
        Result(kind="cpu", ours=amount / ours.cpu, theirs=their_amount / theirs.cpu, **same),
    ]
