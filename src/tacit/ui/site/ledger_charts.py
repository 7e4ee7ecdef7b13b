"""The ledger as pictures and tables: how much clients were charged, in all runs and run by run, against the
limits of the policy. No client appears.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.deployment.site.approval.budget import Budget
from tacit.deployment.upkeep.run_status import RunStatus
from tacit.privacy.policy import Policy
from tacit.privacy.site_ledger.spending import MILLION, format_micro
from tacit.report.pages.charts import Figure, build_figure
from tacit.report.phrasing import NONE
from tacit.runs.record import RUN

_STEPS = (1, 2, 5)
_MOST_BINS = 30
_MOST_RUNS = 30
_NEAR = 100
"""A limit further away than this multiple of the largest charge is not drawn."""


@dataclass(frozen=True, kw_only=True)
class SpendingBin:
    """Clients that were charged from `low` to below `high`, in millionths of epsilon."""

    low: int
    high: int
    clients: int

    @property
    def words(self) -> str:
        """The range as text."""
        return f"{format_micro(self.low)} to {format_micro(self.high)}"


def divide_spending(budget: Budget) -> list[SpendingBin]:
    """The distribution of charges in bins of one width, the last of which holds the largest charge. The
    width suits the limit, if that is drawn.
    """
    charged = budget.charged
    if not charged:
        return []
    near = budget.limit if _is_near(budget.limit, budget.largest) else None
    width = _choose_width(max(budget.largest, near or 0))
    counts = [0] * (max(charged) // width + 1)
    for one in charged:
        counts[one // width] += 1
    return [
        SpendingBin(low=place * width, high=(place + 1) * width, clients=count)
        for place, count in enumerate(counts)
    ]


def _choose_width(largest: int) -> int:
    """The smallest round width with which there are few bins."""
    power = 1
    while True:
        for step in _STEPS:
            if largest // (step * power) < _MOST_BINS:
                return step * power
        power *= 10


def chart_distribution(budget: Budget) -> Figure:
    """Number of clients by charge in all runs, with the limit as a line if it is near."""
    bins = divide_spending(budget)
    if not bins:
        return build_figure([], {}, {})
    traces: list[Figure] = [
        {
            "type": "bar",
            "name": "clients",
            "meta": RUN,
            "x": [(one.low + one.high) / 2 / MILLION for one in bins],
            "y": [one.clients for one in bins],
            "width": (bins[0].high - bins[0].low) / MILLION * 0.96,
            "customdata": [one.words for one in bins],
            "hovertemplate": "epsilon %{customdata}: %{y} clients",
        }
    ]
    if _is_near(budget.limit, budget.largest):
        assert budget.limit is not None
        limit, tallest = budget.limit / MILLION, max(one.clients for one in bins)
        traces.append(_line("limit for all runs", [limit, limit], [0, tallest]))
    axis = {"title": {"text": "epsilon charged in all runs, per client"}, "rangemode": "tozero"}
    return build_figure(traces, axis, {"title": {"text": "clients"}, "rangemode": "tozero"})


def chart_runs(runs: list[RunStatus], policy: Policy | None) -> Figure:
    """Largest charge of a client in each of the last runs, with the limit per run if it is near."""
    shown = [one for one in runs if one.epsilon > 0][-_MOST_RUNS:]
    if not shown:
        return build_figure([], {}, {})
    names = [_shorten(one.run) for one in shown]
    traces: list[Figure] = [
        {
            "type": "bar",
            "name": "most charged client",
            "meta": RUN,
            "x": list(range(1, len(shown) + 1)),
            "y": [one.epsilon for one in shown],
            "width": min(0.7, 0.1 * len(shown)),
            "customdata": [one.run for one in shown],
            "hovertemplate": "%{customdata}: epsilon %{y:.4~g}",
        }
    ]
    limit = policy.limits.max_epsilon_per_run if policy else None
    if limit is not None and limit <= _NEAR * max(one.epsilon for one in shown):
        traces.append(_line("limit per run", [0.5, len(shown) + 0.5], [limit, limit]))
    axis: Figure = {"title": {"text": "run"}, "range": [0.4, len(shown) + 0.6]}
    axis |= {"tickvals": list(range(1, len(shown) + 1)), "ticktext": names}
    return build_figure(
        traces, axis, {"title": {"text": "epsilon per client"}, "rangemode": "tozero"}
    )


def _shorten(name: str) -> str:
    """A run's name for an axis; `<` would be read as markup by the chart library."""
    text = name.replace("&", "").replace("<", "")
    return text if len(text) <= 18 else f"{text[:11]}…{text[-6:]}"


def _is_near(limit: int | None, largest: int) -> bool:
    return limit is not None and limit <= _NEAR * largest


def _line(name: str, x: list[float], y: list[float]) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "meta": "fedavg",
        "line": {"width": 2.5, "dash": "dash"},
        "x": x,
        "y": y,
        "hoverinfo": "name",
    }


def list_limits(
    policy: Policy | None, budget: Budget, runs: list[RunStatus]
) -> list[tuple[str, ...]]:
    """Each limit with the largest charge against it, and what is left."""
    limits = policy.limits if policy else None
    per_run = limits.max_epsilon_per_run if limits else None
    most = max((one.epsilon for one in runs), default=0.0)
    life = budget.limit
    return [
        (
            "epsilon per client in one run",
            _format(per_run),
            f"{most:.6g}",
            "new in each run",
        ),
        (
            "epsilon per client in all runs",
            _format(None if life is None else life / MILLION),
            format_micro(budget.largest),
            format_micro(budget.left) if life is not None else NONE,
        ),
    ]


def _format(limit: float | None) -> str:
    """A limit; without one nothing may be charged."""
    if limit is None:
        return "0: none is set"
    return f"{limit:g}" if math.isfinite(limit) else NONE
