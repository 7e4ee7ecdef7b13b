"""Figures 2 to 5; figure 1 is a diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tacit_papers.pictures import Line, Panel, Picture
from tacit_papers.published import At
from tacit_papers.rr_ldp import printed
from tacit_papers.rr_ldp.by_clients import COURSE, TABLE_3, TABLE_4, ByClip
from tacit_papers.rr_ldp.printed import CLIENTS


def _draw_by_clients(
    table: str, row: Callable[[float], str], places: Iterable[float]
) -> tuple[Line, ...]:
    """One line per number of clients over the rows of a table."""
    rows = [(place, row(place)) for place in places]
    return tuple(
        Line(
            label=f"N = {clients}",
            points=tuple((place, At(table, name, f"N={clients}")) for place, name in rows),
        )
        for clients in CLIENTS
    )


def _rounds(table: str, title: str) -> Panel:
    return Panel(
        title=title,
        across="rounds",
        up="AUC",
        lines=_draw_by_clients(table, lambda one: f"R={one:g}", printed.ROUNDS),
    )


def _clips(table: ByClip, title: str) -> Panel:
    lines = _draw_by_clients(table.name, lambda clip: table.row("full", clip), table.printed)
    return Panel(title=title, across="clip q", up="AUC", lines=lines, scale="log")


def _epsilons(table: str, title: str) -> Panel:
    lines = _draw_by_clients(table, lambda one: f"epsilon {one:g} per bit", printed.TABLE_5)
    return Panel(title=title, across="epsilon per bit", up="AUC", lines=lines, scale="log")


def _embedding(metric: str) -> Panel:
    rows = [(float(buckets), f"{buckets:,} buckets") for buckets in printed.TABLE_9]
    lines = tuple(
        Line(
            label=f"size {size}",
            points=tuple((buckets, At("9", row, f"{size} {metric}")) for buckets, row in rows),
        )
        for size in (100, 200, 300)
    )
    return Panel(title=metric, across="buckets", up=metric, lines=lines, scale="log")


def _course() -> Panel:
    lines = tuple(
        Line(
            label=f"q = {clip:g}",
            points=tuple((float(one), At("3-rounds", f"q={clip:g}", f"R={one}")) for one in COURSE),
        )
        for clip in (1e-4, 1e-5)
    )
    return Panel(title="IMDB, N = 100, server rate 1", across="rounds", up="AUC", lines=lines)


PICTURES = (
    Picture(
        name="fig2",
        title="Figure 2: AUC by rounds and clients",
        panels=(_rounds("1", "IMDB"), _rounds("2", "MovieLens")),
    ),
    Picture(
        name="fig3",
        title="Figure 3: AUC by clip and clients, epsilon 10 per bit",
        panels=(_clips(TABLE_3, "IMDB"), _clips(TABLE_4, "MovieLens")),
    ),
    Picture(
        name="fig4",
        title="Figure 4: AUC by epsilon per bit and clients",
        panels=(_epsilons("5", "IMDB"), _epsilons("6", "MovieLens")),
    ),
    Picture(
        name="fig5",
        title="Figure 5: a trained embedding by buckets and size",
        panels=(_embedding("accuracy"), _embedding("auc")),
    ),
    Picture(
        name="rounds",
        title="Ours: the number of rounds that a small clip requires",
        panels=(_course(),),
    ),
)
