"""A short search for better settings on validation rows, by successive halving: a quarter of the
rounds, half, then all.

The plan itself runs to the end too. Another setting is chosen only if it is better by more than one
standard error, so the result is never worse than the plan on validation rows. All runs together take
less than ten times the rounds of one. Validation on rows of real clients is a release that the
plan's epsilon does not cover; tune on public or simulated rows.
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
from tacit.plan.tables.rows.data import VALIDATION_SHARE
from tacit.runs import record, run_folder
from tacit.runs.sweep import Outcome
from tacit.simulation.advice.client_count import count_with_validation, is_at_hand, require_room

Settings = dict[str, str]
Runner = Callable[[list[Plan], list[str]], list[Outcome]]
"""Runs plans, each with a title, and returns their outcomes."""

VALIDATION = VALIDATION_SHARE
_LONGEST = 300
_LONGER = 1.5
_FIRST, _SECOND, _LAST = 4, 4, 1
"""Divisor of the rounds in the first stage; number of settings in the second and in the last."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of the search: its settings, its accuracy on validation rows, and their number.

    If the run failed, its accuracy is None and `error` says why.
    """

    settings: Settings
    folder: Path | None
    accuracy: float | None
    rows: int
    error: str = ""

    @property
    def rank(self) -> float:
        """Accuracy for sorting; failed runs come last."""
        return -1.0 if self.accuracy is None else self.accuracy

    @property
    def standard_error(self) -> float:
        """Standard error of the accuracy, from the number of rows."""
        return (
            0.0
            if self.accuracy is None
            else math.sqrt(self.accuracy * (1 - self.accuracy) / self.rows)
        )


@dataclass(frozen=True, kw_only=True)
class TuneResult:
    """All runs in the order of the search, the plan's own full run, the best, and its plan as TOML.

    `clients` is the number of clients of the runs if validation rows leave fewer than the plan has;
    else None.
    """

    trials: list[Trial]
    planned: Trial
    best: Trial
    text: str
    clients: int | None = None

    @property
    def failed(self) -> list[Trial]:
        """Runs that failed."""
        return [trial for trial in self.trials if trial.accuracy is None]


def tune(path: Path, overrides: Sequence[str], run: Runner) -> TuneResult:
    """Search for better settings. A repeated search continues where it stopped, since finished runs
    are reused.
    """
    tree = toml.read(path)
    for setting in overrides:
        toml.override(tree, setting)
    plan = resolve_files(path, parse(copy.deepcopy(tree)))
    if plan.regime != "federated" or plan.personal:
        raise PlanError(
            f"{path.name}: tune supports only plans with regime = 'federated' and one model for all"
            f" clients, got regime = {plan.regime!r}"
            + (" with personal models" if plan.personal else "")
        )
    rounds, own = plan.server.rounds, _list_own_settings(plan)
    clients, trials = _count_trial_clients(plan), list[Trial]()

    def run_all(wanted: list[Settings], share: float) -> list[Trial]:
        cut = [
            {**one, "server.rounds": str(max(1, round(int(one["server.rounds"]) * share)))}
            for one in wanted
        ]
        plans = [resolve_files(path, _build_trial_plan(tree, one, clients)) for one in cut]
        outcomes = run(plans, [", ".join(f"{k}={v}" for k, v in one.items()) for one in cut])
        found = [_read_trial(one, outcome) for one, outcome in zip(wanted, outcomes, strict=True)]
        trials.extend(replace(trial, settings=one) for one, trial in zip(cut, found, strict=True))
        return found

    first = run_all([own, *_list_neighbours(own)], 1 / _FIRST)
    if all(trial.accuracy is None for trial in first):
        raise _build_error(path, trials)
    second = run_all(
        _remove_duplicates([_combine_improvements(own, first), *_select_best(first, _SECOND)]),
        1 / 2,
    )
    longer = {**_select_best(second, 1)[0], "server.rounds": str(round(_LONGER * rounds))}
    last = run_all(_remove_duplicates([own, *_select_best(second, _LAST), longer]), 1)
    best = _choose(last)
    if best.accuracy is None:
        raise _build_error(path, trials)
    chosen = {
        **_apply_settings(tree, best.settings, own),
        "selected_by": _describe_selection(plan, len(trials)),
    }
    return TuneResult(
        trials=trials, planned=last[0], best=best, text=toml.write(chosen), clients=clients
    )


def _build_error(path: Path, trials: list[Trial]) -> PlanError:
    why = next((trial.error for trial in reversed(trials) if trial.error), "`tacit run` says why")
    return PlanError(f"{path.name}: all runs of the search failed: {why}")


def _count_trial_clients(plan: Plan) -> int | None:
    """Number of clients of the runs if validation rows, taken from the training rows, leave too few
    rows for the plan's.

    Each run is then a plan for that many clients, with the noise for the same guarantee per client.
    """
    if not is_at_hand(plan) or plan.data.partition == "client":
        return None
    require_room(plan)
    most = count_with_validation(plan, VALIDATION)
    return most if most < plan.data.clients else None


def _describe_selection(plan: Plan, runs: int) -> str:
    """Value of `selected_by` in a plan whose settings were chosen here."""
    before = f"{plan.selected_by}; then " if plan.selected_by else ""
    share = plan.data.validation or VALIDATION
    said = (
        f"{before}tacit plan tune: the best of {runs} runs by accuracy on {share:.0%} of the training"
        " rows, held out"
    )
    return said if len(said) <= _LONGEST else said[len(before) :]


def _choose(last: list[Trial]) -> Trial:
    """Choose the best full run; the plan's own, the first, unless another is better by a standard
    error.
    """
    planned, best = last[0], max(last, key=lambda trial: trial.rank)
    return best if best.rank > planned.rank + planned.standard_error else planned


def _list_own_settings(plan: Plan) -> Settings:
    """Settings that are searched over, with the plan's values."""
    found = {"server.lr": f"{plan.server.lr:g}", "server.rounds": str(plan.server.rounds)}
    if not plan.local.normalise:  # normalised updates depend on neither rate nor clip
        found["local.lr"] = f"{plan.local.lr:g}"
        if hasattr(plan.codec, "clip"):
            found["codec.clip"] = f"{plan.codec.clip:g}"
    columns = plan.data.columns
    if not columns.label:  # those of a named data set
        columns = data.resolve_columns(plan.data, import_code=True)
    if columns.text and plan.features.text in ("binary", "listed"):
        found["features.buckets"] = str(plan.features.buckets)
    return found


def _list_neighbours(own: Settings) -> list[Settings]:
    """List variants with one setting decreased or increased."""
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


def _combine_improvements(own: Settings, trials: list[Trial]) -> Settings:
    """Combine all single changes that improved on the plan; of two for one key, the better."""
    better = sorted(
        (trial for trial in trials[1:] if trial.rank > trials[0].rank), key=lambda trial: trial.rank
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


def _select_best(trials: list[Trial], count: int) -> list[Settings]:
    return [
        trial.settings
        for trial in sorted(trials, key=lambda trial: trial.rank, reverse=True)[:count]
    ]


def _remove_duplicates(wanted: list[Settings]) -> list[Settings]:
    return [one for number, one in enumerate(wanted) if one not in wanted[:number]]


def _apply_settings(
    tree: dict[str, Any], settings: Settings, own: Settings | None = None
) -> dict[str, Any]:
    """Apply settings to a plan's tables; with `own`, only those that differ from it."""
    made = copy.deepcopy(tree)
    for key, value in settings.items():
        if own is None or own[key] != value:
            toml.override(made, f"{key}={value}")
    return made


def _build_trial_plan(tree: dict[str, Any], settings: Settings, clients: int | None) -> Plan:
    """Build the plan of one trial, evaluated after its last round on held-out training rows."""
    made = _apply_settings(tree, {**settings, "server.evaluate_every": settings["server.rounds"]})
    made["selected_by"] = (
        "tacit plan tune: one of its runs, to choose from by accuracy on held-out training rows"
    )
    if not made.get("data", {}).get("validation"):
        toml.override(made, f"data.validation={VALIDATION}")
    if clients is not None:
        toml.override(made, f"data.clients={clients}")
    return parse(made)


def _read_trial(settings: Settings, outcome: Outcome) -> Trial:
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
