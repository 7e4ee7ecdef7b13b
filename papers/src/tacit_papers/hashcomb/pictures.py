"""HashComb's Figures 2 and 4 to 6. The paper draws curves without numbers; those of its tables are
drawn at their ends.
"""

from __future__ import annotations

from tacit_papers.hashcomb import printed
from tacit_papers.hashcomb.curves import NOISE
from tacit_papers.hashcomb.ours import COINS, MOST_LEVELS
from tacit_papers.pictures import Line, Panel, Picture
from tacit_papers.published import At

_Ends = dict[str, str]
"""Arm → the column that has its figure after the last round next to the printed number."""
_TENTHS = tuple(range(10, 100, 10))


def _panels(
    across: str, rounds: tuple[tuple[float, str], ...], ends: _Ends, curves: str, table: str
) -> tuple[Panel, ...]:
    """One panel per data set: each arm by round from one table, and its end from the other, which
    has printed numbers.
    """
    last = 100.0 if across.startswith("%") else rounds[-1][0] + 1
    return tuple(
         Panel( title=row, across=across, up="F1", lines=tuple( Line( label=arm, points=(*((x,
        At(curves, f"{row}, {arm}", column)) for x, column in rounds), (last, At(table, row, end))),
        ) for arm, end in ends.items() ), ) for row in printed.SETS.values()
    )  # fmt: skip


_BY_TENTH = tuple((float(x), f"{x} %") for x in _TENTHS)
PICTURES = (
     Picture( name="fig2", title="Figure 2: the probability of a head at which the mean level is 8",
    panels=( Panel( title="", across="levels L", up="probability of a head", lines=tuple(
    Line(label=coins, points=tuple((float(levels), At("fig2", f"L={levels}", coins)) for levels in
    MOST_LEVELS)) for coins in COINS ), ), ), ), Picture( name="fig4",
    title="Figure 4: F1 after each of four rounds, with the numbers of Table 3 at the last",
    panels=_panels( "round", tuple((float(number), f"round {number}") for number in (1, 2, 3)),
    {arm: arm for arm in ("NoHC", "HC4", "HC6", "HC8", "HC10")}, "fig4", "3", ), ), Picture(
    name="fig5",
    title="Figure 5: F1 over many rounds, with the numbers of Table 4 (of the paper's best round) at the end",
    panels=_panels( "% of the rounds", _BY_TENTH, {arm: f"{arm}, last round" for arm in ("NoHC",
    "HC6", "HC8", "HC10")}, "fig5", "4" ), ), Picture( name="fig6",
    title="Figure 6: F1 over many rounds next to Gaussian noise, with the numbers of Table 5 at the end",
    panels=_panels( "% of the rounds", _BY_TENTH, {"NoHC": "NoHC, last round", "HC8":
    "HC8, last round", NOISE: "noise of variance .08, last round"}, "fig5", "5", ), ),
)  # fmt: skip
