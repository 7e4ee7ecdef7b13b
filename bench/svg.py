"""A small log-log plot as SVG: a few lines, both axes in powers of ten."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDE, _HIGH, _LEFT, _BELOW, _ABOVE, _RIGHT = 620, 320, 64, 48, 34, 250
_COLOURS = ("#1f5fa8", "#c4541d", "#3b8545", "#7a4aa0")


def fitted_exponent(points: Points) -> float:
    """Slope of the least-squares line through the points' logarithms."""
    x, y = [math.log(a) for a, _ in points], [math.log(b) for _, b in points]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - middle_x) ** 2 for a in x)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / spread


def plot(title: str, across: str, lines: Mapping[str, Points]) -> str:
    """Plot; every line is named at its right end, with its fitted exponent."""
    everything = [point for points in lines.values() for point in points]
    x_axis, y_axis = (
        _LogAxis([x for x, _ in everything], _LEFT, _WIDE - _RIGHT),
        _LogAxis([y for _, y in everything], _HIGH - _BELOW, _ABOVE),
    )
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}"'
            ' font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{_WIDE}" height="{_HIGH}" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-weight="bold">{escape(title)}</text>',
        (
            f'<text x="{(_LEFT + _WIDE - _RIGHT) / 2}" y="{_HIGH - 10}"'
            f' text-anchor="middle">{escape(across)}</text>'
        ),
    ]
    for x, name in x_axis.marks():
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ABOVE}" y2="{_HIGH - _BELOW}" stroke="#ddd"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{_HIGH - _BELOW + 16}" text-anchor="middle">{name}</text>'
        )
    for y, name in y_axis.marks():
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
    for colour, (name, points) in zip(_COLOURS, lines.items(), strict=False):
        parts += _line(name, points, colour, x_axis, y_axis)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(name: str, points: Points, colour: str, x_axis: _LogAxis, y_axis: _LogAxis) -> list[str]:
    places = [(x_axis.place(x), y_axis.place(y)) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    label = f"{name}, exponent {fitted_exponent(points):.2f}"
    end_x, end_y = places[-1]
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        f'<text x="{end_x + 8:.1f}" y="{end_y + 4:.1f}" fill="{colour}">{escape(label)}</text>',
    ]


class _LogAxis:
    """One axis in powers of ten, from one place on the page to another."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, self.high = (
            math.floor(math.log10(min(values))),
            math.ceil(math.log10(max(values))),
        )
        self.high = max(self.high, self.low + 1)
        self.begin, self.end = begin, end

    def place(self, value: float) -> float:
        return self.begin + (math.log10(value) - self.low) / (self.high - self.low) * (
            self.end - self.begin
        )

    def marks(self) -> list[tuple[float, str]]:
        raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
        return [
            (self.place(10.0**power), "10" + str(power).translate(raised))
            for power in range(self.low, self.high + 1)
        ]
