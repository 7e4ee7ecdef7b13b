"""What a finished run came to, in plain words, and what to change: folded from the record like every other figure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

from tacit.record import RUN
from tacit.report import phrasing
from tacit.report.figures import Arm, Summary

NEAR = 0.02
"""A run is near central training if it lacks at most this much of the leading figure: two points of accuracy, 0.02 of AUC."""
_RISING, _FALLING = 0.005, 0.03
_FEWEST_MEASURED = 8
_LEFT_BEHIND = 0.05
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing about a run's result: of which kind, what is so, and what to change (nothing if all is well)."""

    kind: str
    says: str
    change: str = ""

    @property
    def sentence(self) -> str:
        """Both halves as one paragraph."""
        return f"{self.says} {self.change}".strip()


def verdict(run: Summary) -> list[Finding]:
    """Return what is to be said of a finished run, the weightiest first; nothing before it has ended.

    Each kind has a rule of its own: `diverging` three points below its own best quarter, `at chance` no better than always
    naming the largest class, `still rising` half a point over the last quarter of the rounds, `clients left behind`
    three standard errors and ten points below the mean on their own rows.
    """
    ours = run.arm(RUN)
    if ours is None or not ours.finished or run.leading not in ours.metrics:
        return []
    found = [
        _chance(run, ours),
        _diverging(run, ours),
        _compared(run, ours),
        _rising(run, ours),
        _never_predicted(run, ours),
        _left_behind(run, ours),
    ]
    return [one for one in found if one]


def _chance(run: Summary, ours: Arm) -> Finding | None:
    counts, accuracy = ours.by_class, ours.metrics.get("accuracy")
    if counts is None or accuracy is None or not sum(counts.rows):
        return None
    largest = max(counts.rows) / sum(counts.rows)
    noise = 2 * math.sqrt(largest * (1 - largest) / sum(counts.rows))
    if accuracy > largest + noise or ours.metrics.get("auc", 0.5) > 0.6:
        return None
    return Finding(
        kind="at chance",
        says=f"At chance: accuracy {phrasing.metric('accuracy', accuracy)}, and always naming the largest class gives "
        f"{phrasing.metric('accuracy', largest)}.",
        change="Nothing was learned. Does FedAvg learn (baselines = ['fedavg'])? If so, this is too much noise for so few clients: "
        "take more or a larger epsilon. If not, check the columns and raise local.lr.",
    )


def _quarters(run: Summary, ours: Arm) -> list[float]:
    """Return the mean of the leading figure in each quarter of the measured rounds, none if there are too few."""
    values = [one.metrics[run.leading] for one in ours.course if run.leading in one.metrics]
    if len(values) < _FEWEST_MEASURED:
        return []
    size = len(values) // 4
    return [fmean(values[-size * (4 - place) : len(values) - size * (3 - place)]) for place in range(4)]


def _diverging(run: Summary, ours: Arm) -> Finding | None:
    quarters = _quarters(run, ours)
    if not quarters or max(quarters) - quarters[-1] < _FALLING or run.leading == "loss":
        return None
    best, last = (phrasing.metric(run.leading, value) for value in (max(quarters), quarters[-1]))
    return Finding(
        kind="diverging",
        says=f"Diverging: {phrasing.METRICS[run.leading]} fell from {best} to {last} while training went on.",
        change="Halve local.lr or server.lr, or take fewer rounds.",
    )


def _rising(run: Summary, ours: Arm) -> Finding | None:
    quarters = _quarters(run, ours)
    if not quarters or ours.stopped_early or run.leading == "loss" or quarters[-1] - quarters[-2] < _RISING:
        return None
    gained = phrasing.gap(run.leading, quarters[-1], quarters[-2])
    budgeted = run.privacy.total("run") is not None
    cost = (
        " The promise then covers more rounds, so each one gets more noise: `tacit sweep` shows what is best." if budgeted else ""
    )
    return Finding(
        kind="still rising",
        says=f"Still rising: {gained} of {phrasing.METRICS[run.leading]} over the last quarter of the rounds.",
        change=f"Try server.rounds = {2 * ours.rounds}.{cost}",
    )


def _compared(run: Summary, ours: Arm) -> Finding | None:
    lead = run.leading
    central, fedavg = run.arm("central"), run.arm("fedavg")
    reference = next((arm for arm in (central, fedavg) if arm and arm.finished and arm.best(lead) is not None), None)
    if lead == "loss":
        return None
    if reference is None:
        return Finding(
            kind="not compared",
            says="Nothing to compare with: the plan has no finished baseline.",
            change="baselines = ['central', 'fedavg'] says how much the division into clients and the protection cost.",
        )
    name, theirs = ("central training" if reference is central else "unprotected FedAvg"), reference.best(lead) or 0.0
    gap, figure = theirs - ours.metrics[lead], phrasing.metric(lead, theirs)
    distance = phrasing.gap(lead, ours.metrics[lead], theirs)
    kind = "central" if reference is central else "FedAvg"
    compared = f"{distance} of {phrasing.METRICS[lead]} ({figure} there{_both(reference, lead)})."
    if gap <= NEAR:
        return Finding(kind=f"near {kind}", says=f"Near {name}: {compared}")
    return Finding(
        kind=f"below {kind}",
        says=f"Below {name}: {compared}",
        change=_why_below(run, ours, gap, fedavg if reference is central else None),
    )


def _both(reference: Arm, lead: str) -> str:
    """Return both figures of a baseline of which validation rows chose a pass."""
    if reference.kept_round is None:
        return ""
    if reference.kept_round == reference.rounds:
        return ""
    kept, last = (phrasing.metric(lead, reference.metrics.get(name)) for name in (lead, f"last_{lead}"))
    return f"; {kept} after pass {reference.kept_round}, which validation rows chose, {last} after the last"


def _why_below(run: Summary, ours: Arm, gap: float, fedavg: Arm | None) -> str:
    """Return whose the gap is: what protects the updates, or the division into clients."""
    lead = run.leading
    if fedavg is None or lead not in fedavg.metrics:
        return "More rounds, a larger epsilon or more clients may close it; the baseline 'fedavg' would say which."
    protection = fedavg.metrics[lead] - ours.metrics[lead]
    if protection >= gap / 2:
        share = phrasing.gap(lead, ours.metrics[lead], fedavg.metrics[lead])
        return f"Most of it is what protects the updates ({share} against FedAvg): more clients or a larger epsilon close it."
    return (
        "FedAvg without protection lacks about as much, so it is the division into clients: more rounds, or local.epochs and "
        "local.lr that fit it."
    )


def _never_predicted(run: Summary, ours: Arm) -> Finding | None:
    counts = ours.by_class
    if counts is None or run.data is None:
        return None
    missed = [place for place, (rows, taken) in enumerate(zip(counts.rows, counts.predicted, strict=True)) if rows and not taken]
    if not missed:
        return None
    names = ", ".join(run.data.classes[place] for place in missed[:_NAMED])
    more = f" and {len(missed) - _NAMED:,} more" if len(missed) > _NAMED else ""
    held = f"{100 * sum(counts.rows[place] for place in missed) / max(1, sum(counts.rows)):.1f} % of the test rows"
    return Finding(
        kind="classes never predicted",
        says=f"{len(missed):,} of {len(counts.rows):,} classes never predicted: {names}{more} ({held}).",
        change="Join rare classes or gather more of their rows; more rounds help where accuracy is still rising.",
    )


def _left_behind(run: Summary, ours: Arm) -> Finding | None:
    if not ours.spread or run.data is None or run.plan.get("data", {}).get("divide_test"):
        return None
    share = float(run.plan.get("data", {}).get("local_test") or 1.0)
    held = run.data.rows_per_client
    if len(held) != len(ours.spread):
        return None
    mean = sum(right * rows for right, rows in zip(ours.spread, held, strict=True)) / max(1, sum(held))
    behind = 0
    for right, rows in zip(ours.spread, held, strict=True):
        noise = math.sqrt(mean * (1 - mean) / max(1.0, rows * share))
        behind += mean - right > max(0.1, 3 * noise)
    if behind < max(1, _LEFT_BEHIND * len(held)):
        return None
    return Finding(
        kind="clients left behind",
        says=f"{behind:,} of {len(held):,} clients left behind: on their own rows the model is far below its mean of "
        f"{phrasing.metric('accuracy', mean)}.",
        change="local.method = 'fedprox' with local.proximal = 0.1, or fewer local epochs, keep clients close; a [private] table "
        "gives each a part of its own.",
    )
