"""A paper's figures as SVG: its points next to ours."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tacit_papers.published import At, CellOutcome

_COLOURS = ("#1f5fa8", "#c4541d", "#3b8545", "#7a4aa0", "#8a6d1d", "#5a5a5a", "#b0306a", "#2a8a8a")
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "tacit",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve: positions on the x-axis, each with the cell whose values are drawn there."""

    label: str
    points: tuple[tuple[float, At], ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    up: str
    lines: tuple[Line, ...]
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One published figure."""

    name: str  # the end of its file's name
    title: str
    panels: tuple[Panel, ...]


def draw(picture: Picture, outcomes: Mapping[At, CellOutcome]) -> str:
    """Draw the picture as SVG: ours as lines with 95 % intervals, the paper's points as circles of
    the same colour.

    The same values give the same bytes. Lines without any value are left out.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with matplotlib.rc_context(_STYLE):
        wide = len(picture.panels)
        drawn, axes = pyplot.subplots(
            1, wide, figsize=(4.4 * wide, 3.4), squeeze=False, layout="constrained"
        )
        for panel, axis in zip(picture.panels, axes[0], strict=True):
            _panel(axis, panel, outcomes)
        shown = io.StringIO()
        drawn.savefig(shown, format="svg", metadata={"Date": None, "Title": picture.title})
        pyplot.close(drawn)
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines()) + "\n"


def _panel(axis: Any, panel: Panel, outcomes: Mapping[At, CellOutcome]) -> None:
    points = 0
    for line, colour in zip(panel.lines, _COLOURS * len(panel.lines), strict=False):
        _ours(axis, line, colour, outcomes)
        printed = [
            (x, outcomes[at].cell.paper)
            for x, at in line.points
            if at in outcomes and outcomes[at].cell.paper is not None
        ]
        points += len(printed)
        if printed:
            axis.plot(
                *zip(*printed, strict=True),
                "o",
                color=colour,
                markerfacecolor="white",
                markersize=5,
                linestyle="none",
            )
    if points:
        axis.plot(
            [], [], "o", color="#444444", markerfacecolor="white", linestyle="none", label="printed"
        )
    axis.set(title=panel.title, xlabel=panel.across, ylabel=panel.up, xscale=panel.scale)
    axis.grid(color="#e4e4e4", linewidth=0.6)
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=7, frameon=False)


def _ours(axis: Any, line: Line, colour: str, outcomes: Mapping[At, CellOutcome]) -> None:
    found = [(x, outcomes[at].ours) for x, at in line.points if at in outcomes]
    known = [(x, ours) for x, ours in found if ours is not None]
    if not known:
        return
    places, means = [x for x, _ in known], [ours.mean for _, ours in known]
    half = [0.0 if ours.interval is None else ours.mean - ours.interval[0] for _, ours in known]
    axis.errorbar(
        places,
        means,
        yerr=half,
        color=colour,
        marker=".",
        markersize=4,
        linewidth=1.4,
        capsize=2,
        label=line.label,
    )
