"""A short search for better settings on validation rows: each for a quarter of the rounds, fewer
for half, the best to the end.

The plan itself is among those that run to the end. The best of these is chosen if it is ahead of
the plan by more than a standard error: a smaller lead is as likely luck of the rows. So on
validation rows it is never worse than the plan. All runs together take less than ten times the
rounds of one. Looking at validation rows of real clients is a release like any other, which no
epsilon of the plan covers; tune on rows that are public or simulated.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit import data
from tacit.errors import PlanError
from tacit.plan import Plan, parse, toml
from tacit.plan.load import resolve_files
from tacit.plan.tables.data import VALIDATION_SHARE
from tacit.runs import record, run_folder
from tacit.runs.sweep import Outcome
from tacit.simulation.advice.client_count import count_with_validation, is_at_hand, require_room

Settings = dict[str, str]
Runner = Callable[[list[Plan], list[str]], list[Outcome]]
"""Runs plans, each with a title, and returns what became of each."""

VALIDATION = VALIDATION_SHARE
_LONGEST = 300
_LONGER = 1.5
_FIRST, _SECOND, _LAST = 4, 4, 1
"""Rounds are divided by it at first; then so many of the best go on for half the rounds, and then
so many to the end.
"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of the search: its settings, how good it was on validation rows, and how many those
    were.

    Without an accuracy the run failed, and `error` says why.
    """

    settings: Settings
    folder: Path | None
    accuracy: float | None
    rows: int
    error: str = ""

    @property
    def rank(self) -> float:
        """Return what the best has most of."""
        return -1.0 if self.accuracy is None else self.accuracy

    @property
    def standard_error(self) -> float:
        """Return how far the accuracy on so many rows lies from that on all, as a rule."""
        return (
            0.0
            if self.accuracy is None
            else math.sqrt(self.accuracy * (1 - self.accuracy) / self.rows)
        )


@dataclass(frozen=True, kw_only=True)
class TuneResult:
    """Every run in the order of the search, the plan's own to the end, the best, and that plan's
    tables as TOML.

    `clients` is how many clients the runs had, where validation rows leave room for fewer than the
    plan has; else None.
    """

    trials: list[Trial]
    planned: Trial
    best: Trial
    text: str
    clients: int | None = None

    @property
    def failed(self) -> list[Trial]:
        """The runs that did not end."""
        return [trial for trial in self.trials if trial.accuracy is None]


def tune(path: Path, overrides: Sequence[str], run: Runner) -> TuneResult:
    """Return the better plan; the same search goes on where it was stopped, since runs that are
    there are not run again.
    """
    tree = toml.read(path)
    for setting in overrides:
        toml.override(tree, setting)
    plan = resolve_files(path, parse(copy.deepcopy(tree)))
    if plan.regime != "federated" or plan.personal:
        raise PlanError(
            f"tune({path.name}) needs regime = 'federated' and one model for all clients; got"
            " another plan"
        )
    rounds, own = plan.server.rounds, _own_settings(plan)
    clients, trials = _clients_of_trials(plan), list[Trial]()

    def tried(wanted: list[Settings], share: float) -> list[Trial]:
        cut = [
            {**one, "server.rounds": str(max(1, round(int(one["server.rounds"]) * share)))}
            for one in wanted
        ]
        plans = [resolve_files(path, _validated(tree, one, clients)) for one in cut]
        outcomes = run(plans, [", ".join(f"{k}={v}" for k, v in one.items()) for one in cut])
        found = [_trial(one, outcome) for one, outcome in zip(wanted, outcomes, strict=True)]
        trials.extend(replace(trial, settings=one) for one, trial in zip(cut, found, strict=True))
        return found

    first = tried([own, *_neighbours(own)], 1 / _FIRST)
    if all(trial.accuracy is None for trial in first):
        raise _nothing_ended(path, trials)
    second = tried(_distinct([_joined(own, first), *_best(first, _SECOND)]), 1 / 2)
    longer = {**_best(second, 1)[0], "server.rounds": str(round(_LONGER * rounds))}
    last = tried(_distinct([own, *_best(second, _LAST), longer]), 1)
    best = _chosen(last)
    if best.accuracy is None:
        raise _nothing_ended(path, trials)
    chosen = {**_changed(tree, best.settings, own), "selected_by": _selected_by(plan, len(trials))}
    return TuneResult(
        trials=trials, planned=last[0], best=best, text=toml.write(chosen), clients=clients
    )


def _nothing_ended(path: Path, trials: list[Trial]) -> PlanError:
    why = next((trial.error for trial in reversed(trials) if trial.error), "`tacit run` says why")
    return PlanError(f"tune({path.name}) needs a run that ends, got none: {why}")


def _clients_of_trials(plan: Plan) -> int | None:
    """How many clients the runs have, where validation rows, taken from the train rows, leave room
    for fewer than the plan has.

    Each run is then a plan for that many clients, with the noise that keeps the same promise to
    each of them.
    """
    if not is_at_hand(plan) or plan.data.partition == "client":
        return None
    require_room(plan)
    most = count_with_validation(plan, VALIDATION)
    return most if most < plan.data.clients else None


def _selected_by(plan: Plan, runs: int) -> str:
    """Return what a plan must say whose settings were chosen here."""
    before = f"{plan.selected_by}; then " if plan.selected_by else ""
    share = plan.data.validation or VALIDATION
    said = (
        f"{before}tacit tune: the best of {runs} runs by accuracy on {share:.0%} of the training"
        " rows, held out"
    )
    return said if len(said) <= _LONGEST else said[len(before) :]


def _chosen(last: list[Trial]) -> Trial:
    """Return the best of the runs that went to the end, the first of which is the plan's, unless
    its lead is within the error.
    """
    planned, best = last[0], max(last, key=lambda trial: trial.rank)
    return best if best.rank > planned.rank + planned.standard_error else planned


def _own_settings(plan: Plan) -> Settings:
    """Return what is searched over, as the plan has it."""
    found = {"server.lr": f"{plan.server.lr:g}", "server.rounds": str(plan.server.rounds)}
    if not plan.local.normalise:  # else neither the rate nor the clip changes anything
        found["local.lr"] = f"{plan.local.lr:g}"
        if hasattr(plan.codec, "clip"):
            found["codec.clip"] = f"{plan.codec.clip:g}"
    named = {entry.name: entry.columns for entry in data.list_data_sets()}
    columns = (
        plan.data.columns
        if plan.data.columns.label
        else named.get(plan.data.source, plan.data.columns)
    )
    if columns.text and plan.features.text in ("binary", "listed"):
        found["features.buckets"] = str(plan.features.buckets)
    return found


def _neighbours(own: Settings) -> list[Settings]:
    """Return the settings with one changed, to less and to more."""
    found = []
    for key, factor in (
        ("local.lr", 3.0),
        ("codec.clip", 3.0),
        ("server.lr", 2.0),
        ("features.buckets", 2.0),
    ):
        if key in own:
            values = (float(own[key]) / factor, float(own[key]) * factor)
            found += [
                {
                    **own,
                    key: str(max(2, round(value))) if key == "features.buckets" else f"{value:.3g}",
                }
                for value in values
            ]
    return found


def _joined(own: Settings, tried: list[Trial]) -> Settings:
    """Return every single change that was better than the plan, made at once; of two of one key the
    better.
    """
    better = sorted(
        (trial for trial in tried[1:] if trial.rank > tried[0].rank), key=lambda trial: trial.rank
    )
    return {
        **own,
        **{
            key: value
            for trial in better
            for key, value in trial.settings.items()
            if value != own[key]
        },
    }


def _best(tried: list[Trial], count: int) -> list[Settings]:
    return [
        trial.settings
        for trial in sorted(tried, key=lambda trial: trial.rank, reverse=True)[:count]
    ]


def _distinct(wanted: list[Settings]) -> list[Settings]:
    return [one for number, one in enumerate(wanted) if one not in wanted[:number]]


def _changed(
    tree: dict[str, Any], settings: Settings, own: Settings | None = None
) -> dict[str, Any]:
    """Return a plan's tables with settings, or with those only that differ from its own."""
    made = copy.deepcopy(tree)
    for key, value in settings.items():
        if own is None or own[key] != value:
            toml.override(made, f"{key}={value}")
    return made


def _validated(tree: dict[str, Any], settings: Settings, clients: int | None) -> Plan:
    """Return the plan of one trial, measured after its last round on train rows that are
    held out.
    """
    made = _changed(tree, {**settings, "server.evaluate_every": settings["server.rounds"]})
    made["selected_by"] = (
        "tacit tune: one of its runs, to choose from by accuracy on held-out training rows"
    )
    if not made.get("data", {}).get("validation"):
        toml.override(made, f"data.validation={VALIDATION}")
    if clients is not None:
        toml.override(made, f"data.clients={clients}")
    return parse(made)


def _trial(settings: Settings, outcome: Outcome) -> Trial:
    folder = outcome.folder
    entries = list(run_folder.entries(folder)) if folder else []
    rounds, prepared = (
        record.select_entries(entries, record.Round, record.RUN),
        record.select_entries(entries, record.Prepared),
    )
    accuracy = rounds[-1].metrics.get("accuracy") if rounds else None
    error = (
        outcome.error
        if folder is None
        else ""
        if accuracy is not None
        else "no accuracy was measured"
    )
    return Trial(
        settings=settings,
        folder=folder,
        accuracy=accuracy,
        rows=prepared[0].rows_test if prepared else 0,
        error=error,
    )
