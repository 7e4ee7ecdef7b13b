"""Charts of a running run that the report does not have: epsilon against the budget, clients, votes."""

from __future__ import annotations

from tacit.privacy.claim import Total
from tacit.privacy.statement import prose
from tacit.report.figures import Summary
from tacit.report.pages.charts import Figure, build_charts, build_figure
from tacit.runs.record import RUN
from tacit.ui.records.index import RecordIndex
from tacit.ui.records.summaries import find_budget

Charts = dict[str, dict[str, Figure]]
NAMES = ("metric", "epsilon", "bytes", "clients", "rejected", "loss", "spread")
"""Charts of the page, in its order."""


def build_live_charts(index: RecordIndex, run: Summary) -> Charts:
    """All charts of a run by name; a chart without data is an empty choice."""
    known = build_charts(run)
    own = run.arm(RUN)
    last = own.planned if own else 1
    found: Charts = {name: known.get(name, {}) for name in ("metric", "bytes", "loss", "spread")}
    found["epsilon"] = _keep({"epsilon": _chart_epsilon(index, last)})
    found["clients"] = _keep({"clients": _chart_clients(index, last)})
    found["rejected"] = _keep({"rejected": _chart_rejected(index, last)})
    return found


def _keep(choices: dict[str, Figure]) -> dict[str, Figure]:
    return {choice: figure for choice, figure in choices.items() if figure["data"]}


def build_line(
    name: str, colour: str, points: list[tuple[int, float]], dash: str = "solid"
) -> Figure:
    """A line by round."""
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(points) == 1 else "lines",
        "name": name,
        "meta": colour,
        "line": {"width": 2.5, "dash": dash},
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "hovertemplate": "%{y:.4~g}",
    }


def _by_round(lines: list[Figure], title: str, last: int) -> Figure:
    axis = {
        "title": {"text": "round"},
        "tickformat": "d",
        "range": [1 - last * 0.01, max(2.0, last * 1.01)],
        "nticks": min(last + 1, 9),
    }
    return build_figure(lines, axis, {"title": {"text": title}, "rangemode": "tozero"})


def _chart_epsilon(index: RecordIndex, last: int) -> Figure:
    """Epsilon per run by round; where that is not a useful bound, per update or per bit."""
    spent = index.spent.by_round()
    unit = choose_unit(spent[-1][1]) if spent else None
    if unit is None:
        return _by_round([], "epsilon", last)
    points = [
        (number, total.epsilon)
        for number, totals in spent
        for total in totals[::-1]
        if total.unit == unit and total.epsilon is not None
    ]
    single = dict(points)
    lines = [build_line(f"epsilon per {unit}, spent", RUN, sorted(single.items()))]
    budget = find_budget(index.plan)
    if budget and unit == "run":
        lines.append(
            build_line("budget per run", "fedavg", [(1, budget), (max(2, last), budget)], "dash")
        )
    return _by_round(lines, f"epsilon per {unit}", last)


def choose_unit(totals: tuple[Total, ...]) -> str | None:
    """The unit whose epsilon says most: the run, if its bound is meaningful, else the smallest."""
    if prose.find_run_total(totals) is not None:
        return "run"
    known = [(total.epsilon, total.unit) for total in totals if total.epsilon is not None]
    return min(known)[1] if known else None


def _chart_clients(index: RecordIndex, last: int) -> Figure:
    """Clients that were asked and clients that took part, by round."""
    curves = index.arms.get(RUN)
    took_part = [(one.round_no, one.cohort) for one in curves.every.points()] if curves else []
    if not took_part:
        return _by_round([], "clients", last)
    asked: dict[int, float] = {}
    for one in index.asked.points():
        if one.round_no > 0:
            asked[one.round_no] = max(asked.get(one.round_no, 0), one.clients)
    lines = [build_line("took part", RUN, [(x, float(y)) for x, y in took_part])]
    if asked:
        lines.insert(0, build_line("asked", "central", sorted(asked.items()), "dot"))
    return _by_round(lines, "clients", last)


def _chart_rejected(index: RecordIndex, last: int) -> Figure:
    points = [(one.round_no, float(one.rejected)) for one in index.voted.points()]
    lines = [build_line("rejected by votes", "fedavg", points)] if points else []
    return _by_round(lines, "clients rejected", last)


def describe_cohort(index: RecordIndex) -> str:
    """How many of the clients that were asked took part in the last round; empty before it."""
    curves, voted = index.arms.get(RUN), index.voted.last
    last = curves.last if curves else None
    if last is None:
        return ""
    sentence = f"Round {last.round_no:,}: {last.cohort:,}"
    asked = index.asked_by_round.get(last.round_no, 0)
    if asked <= last.cohort:
        return f"{sentence} clients took part."
    rejected = voted.rejected if voted and voted.round_no == last.round_no else 0
    parts = [f"{sentence} of {asked:,} clients took part"]
    if rejected:
        parts.append(f"votes rejected {rejected:,}")
    if asked - last.cohort > rejected:
        parts.append(f"{asked - last.cohort - rejected:,} dropped out")
    return ", ".join(parts) + "."
