"""PartFed's Tables 1 and 2 as cells: times as ratios within the paper and on our machine."""

from __future__ import annotations

from tacit.reproduction import Scale
from tacit_papers.partfed import printed
from tacit_papers.partfed.measured import AVERAGING, ONE_PLACE
from tacit_papers.partfed.settings import CENTRAL, FEDAVG, plan, time_trial
from tacit_papers.partfed.tables import threshold
from tacit_papers.published import PaperCell, PaperTable, PaperTrial

_Part = tuple[str, str, float | None]
"""Column, metric and printed share."""

TOTAL, OVERLAPPED, ON_THE_LINK = "total", "max + transfer", "transfer, of the total"
SLOW_TOTAL = "total, transfer as short as in the paper"


def _cells(name: str, parts: list[_Part], trial: PaperTrial) -> list[PaperCell]:
    """A row's cells; the paper prints too few digits of the seconds on the link for three digits of
    a ratio.
    """
    return [
         PaperCell( row=name, column=column, paper=paper, trial=trial, metric=f"{name}: {metric}",
        digits=2 if column == "transfer" else 3, ) for column, metric, paper in parts
    ]  # fmt: skip


def row(rule: str, k: int) -> str:
    """The name of a row."""
    return {CENTRAL: ONE_PLACE, FEDAVG: AVERAGING}.get(k, threshold(rule, k))


def equal_power(scale: Scale) -> PaperTable:
    """Table 1, without cells that are one by definition, or zero because nobody works there."""
    trial = time_trial({row(*key): plan(scale, *key) for key in printed.TIMES}, scale)
    one, averaging = (printed.TIMES["k_anonymity", k] for k in (CENTRAL, FEDAVG))
    whole = printed.TOTALS["k_anonymity", CENTRAL][0]
    cells = []
    for (rule, k), (server, client, transfer) in printed.TIMES.items():
        name, total = row(rule, k), printed.TOTALS[rule, k][0]
        both: list[_Part] = [(TOTAL, "total", total / whole), (OVERLAPPED, "overlapped", None)]
        parts: list[_Part] = [
            ("server", "server", server / one[0]),
            ("client", "client", client / averaging[1]),
            ("transfer", "transfer", transfer / one[2]),
        ]
        link: list[_Part] = [(ON_THE_LINK, "transfer_share", transfer / total)]
        cells += _cells(name, {CENTRAL: link, FEDAVG: both}.get(k, [*parts, *both]), trial)
    note = (
        "Ratios within the paper next to ratios on our machine, never seconds. Server, transfer and"
        " totals are relative to central training; client is relative to the slowest client of"
        " federated averaging. The total adds server and client as the paper does; the next column"
        " assumes that they work in parallel. Transfer: the largest client's rows, as the bytes of"
        " the real message, at 500 KB/s; its share of the total depends on how fast a machine"
        " trains."
    )
    return PaperTable(
        name="1",
        title="Running time, the server as fast as a client",
        cells=tuple(cells),
        note=note,
    )


def strong_server(scale: Scale) -> PaperTable:
    """Table 2, which differs from Table 1 in the totals only."""
    trial = time_trial({row(*key): plan(scale, *key) for key in printed.TIMES}, scale)
    whole = printed.TOTALS["k_anonymity", CENTRAL][1]
    cells = []
    for (rule, k), (_, strong) in printed.TOTALS.items():
        name = row(rule, k)
        both: list[_Part] = [
            (TOTAL, "strong_total", strong / whole),
            (OVERLAPPED, "strong_overlapped", None),
            (SLOW_TOTAL, "strong_total_slow", None),
        ]
        link: list[_Part] = [
            (ON_THE_LINK, "strong_transfer_share", printed.TIMES[rule, k][2] / strong)
        ]
        cells += _cells(name, link if k == CENTRAL else both, trial)
    note = (
        "As in Table 1; the ratios of server, client and transfer do not change. In the last column"
        " the transfer takes as small a part of central training's time as in the paper, whose"
        " training is slower."
    )
    return PaperTable(
        name="2",
        title="Running time, the server ten times as fast as a client",
        cells=tuple(cells),
        note=note,
    )
